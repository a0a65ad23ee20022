"""What the tests of single formats share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parent.parent / "data"


@pytest.fixture(scope="session")
def made() -> Path:
    """Folder of small made-up files, one folder a format."""
    return DATA


@pytest.fixture(scope="session")
def index(corpus: Path) -> dict[str, dict[str, Any]]:
    """What the corpus says about each of its files, by path."""
    rows = json.loads((corpus / "INDEX.json").read_text(encoding="utf-8"))
    return {row["file"]: row for row in rows}
