"""What the lab remembers of a learner, in one small file of theirs.

A missing, damaged or read-only file is never an error: the course then remembers nothing and goes on.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from labkit.errors import LabError
from labkit.files import atomic_write, home

__all__ = ["forget", "path", "recall", "remember"]

_LARGEST = 1e100
SHELVES = ("checks", "predictions")


def path() -> Path:
    """Where the file is, whether or not it exists."""
    try:
        folder = home()
    except RuntimeError:  # LABKIT_HOME names a user who is not there: then the path is as bad as any that is missing
        folder = Path(os.environ["LABKIT_HOME"])
    return folder / "progress.json"


def recall() -> dict[str, dict[str, dict[str, Any]]]:
    """Everything remembered: a shelf for checks and one for predictions, each by id.

    Returns
    -------
    dict
        With both shelves always there. What does not have the expected shape is left out.
    """
    try:
        stored = json.loads(path().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        stored = {}
    shelves: dict[str, dict[str, dict[str, Any]]] = {}
    for shelf in SHELVES:
        entries = stored.get(shelf) if isinstance(stored, dict) else None
        fits = FITS[shelf]
        shelves[shelf] = {k: v for k, v in entries.items() if fits(v)} if isinstance(entries, dict) else {}
    return shelves


def remember(shelf: str, key: str, entry: dict[str, Any]) -> bool:
    """Keep one entry, read back with :func:`recall`.

    The file is read again first, so that two open notebooks do not forget each other's entries.

    Returns
    -------
    bool
        Whether it could be written.
    """
    shelves = recall()
    shelves[shelf][key] = entry
    return _write(shelves)


def forget(notebook: str | None = None) -> bool:
    """Forget one notebook's entries, or everything.

    Returns
    -------
    bool
        Whether it could be written.
    """
    shelves = recall()
    for entries in shelves.values():
        for key in [k for k in entries if notebook is None or k.split(".")[0] == notebook]:
            del entries[key]
    return _write(shelves)


def _write(shelves: dict[str, dict[str, dict[str, Any]]]) -> bool:
    try:
        atomic_write(path(), json.dumps({"version": 1, **shelves}, indent=1, sort_keys=True) + "\n")
    except (OSError, LabError):  # a folder may stand where the file should be
        return False
    return True


def _is_check(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    counts = [entry.get("passed"), entry.get("total"), entry.get("tries", 0)]
    return all(isinstance(n, int) and n >= 0 for n in counts) and isinstance(entry.get("solved"), bool)


def _is_prediction(entry: object) -> bool:
    """A range, its number perhaps shown; or no range (both ends ``None``), and the number shown."""
    if not isinstance(entry, dict) or not {"low", "high"} <= entry.keys():
        return False
    low, high, value = entry["low"], entry["high"], entry.get("value")
    if low is None and high is None:
        return _is_number(value)
    first = entry.get("first", [low, high])
    ends = [low, high, *first] if isinstance(first, list) and len(first) == 2 else [None]
    return all(map(_is_number, ends)) and (value is None or _is_number(value))


def _is_number(value: object) -> bool:
    # Bounded, so that no sum or share of two of them leaves the floats.
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST < value < _LARGEST


FITS = {"checks": _is_check, "predictions": _is_prediction}
