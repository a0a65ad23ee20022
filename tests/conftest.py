"""What all tests share: the real sessions, and how hard hypothesis tries."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from labkit.record.load import load
from labkit.record.trace import Trace

ROOT = Path(__file__).resolve().parent.parent

# A check must give the same answer twice, so CI draws the same examples; the long run draws new ones.
settings.register_profile(
    "ci", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("long" if os.environ.get("LABKIT_LONG") else "ci")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked long unless it was asked for."""
    if os.environ.get("LABKIT_LONG"):
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="long: runs with LABKIT_LONG=1"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Folder of real recorded sessions: ``LABKIT_CORPUS``, or ``../shared/traces`` beside the repository.

    They are not part of the repository; tests that need them are skipped without them.
    """
    given = os.environ.get("LABKIT_CORPUS")
    folder = Path(given) if given else ROOT.parent / "shared" / "traces"
    if folder.is_dir():
        return folder
    if given:
        pytest.fail(f"LABKIT_CORPUS={given} is not a folder")
    pytest.skip("no corpus: set LABKIT_CORPUS to a folder of recorded sessions")


@pytest.fixture(scope="session")
def invoice() -> Trace:
    """The published 60-turn run."""
    return load(ROOT / "data" / "traces" / "invoice-60.jsonl")
