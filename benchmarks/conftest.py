"""Timings as ratios: two workloads measured in turn in one process, so that the machine cancels out."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable

import pytest

from labkit.files import data_path
from labkit.record.load import load
from labkit.record.tokens import get_counter
from labkit.record.trace import Trace


def pytest_report_header() -> str:
    return f"machine: {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


@pytest.fixture(scope="session")
def invoice() -> Trace:
    return load(data_path("traces", "invoice-60.jsonl"))


@pytest.fixture(scope="session")
def tokenise(invoice: Trace) -> Callable[[], int]:
    """The fixed workload: count every block of invoice-60 once."""
    counter = get_counter("o200k_base")
    counter.count("load the vocabulary")
    return lambda: sum(counter.count(block.text) for block in invoice.blocks)


@pytest.fixture
def ratio(tokenise: Callable[[], int], capsys: pytest.CaptureFixture[str]) -> Callable[..., float]:
    """Median time of a workload over that of tokenising the run once, measured side by side."""

    def measure(name: str, work: Callable[[], object], rounds: int = 21) -> float:
        work()
        times: list[tuple[float, float]] = []
        for _ in range(rounds):
            start = time.perf_counter()
            work()
            middle = time.perf_counter()
            tokenise()
            times.append((middle - start, time.perf_counter() - middle))
        own, fixed = (statistics.median(t[i] for t in times) for i in (0, 1))
        with capsys.disabled():
            print(
                f"\n{name}: {own * 1e3:.2f} ms, tokenising the run once {fixed * 1e3:.1f} ms, ratio {own / fixed:.4f}"
            )
        return own / fixed

    return measure
