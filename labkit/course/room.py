"""A room's predictions together: who said what is not kept, and a dot plot shows how far apart they were."""

from __future__ import annotations

import json
import math
import re
import secrets
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.course import memory
from labkit.course.predict import plain
from labkit.errors import InputError
from labkit.files import atomic_write

__all__ = ["Pool", "Room", "collect", "share"]

_ID = re.compile(r"\d\d\.p\d{1,2}")
_MOST_FILES, _MOST_BYTES = 1_000, 1_000_000
_WIDTH = 60


@dataclass(frozen=True)
class Room:
    """What a room said to one question.

    Parameters
    ----------
    id : str
        Of the question, for example ``"03.p1"``.
    ranges : tuple of (float, float)
        In the order of their middles, which tells nothing about whose they are.
    value : float, optional
        The number, as most of them were shown it; ``None`` if nobody was.
    held : int
        Ranges that held the number which their own notebook showed.
    """

    id: str
    ranges: tuple[tuple[float, float], ...]
    value: float | None
    held: int

    def words(self) -> str:
        """How many ranges, and how many held the number."""
        said = f"{len(self.ranges)} range{'s' if len(self.ranges) != 1 else ''}"
        return said + ("" if self.value is None else f", {self.held} held {plain(self.value)}")

    def lines(self) -> list[str]:
        """A dot a range, at its middle, over a scale; ``^`` under the number.

        Examples
        --------
        >>> print(*Room("01.p1", ((40, 60), (70, 90), (90, 99)), 95.4, 1).lines(), sep=chr(10))
        01.p1  3 ranges, 1 held 95.4
               o                                      o                 o
               ----------------------------------------------------------
               50                                                    95.4
                                                                        ^
        """
        lines = [f"{self.id}  {self.words()}"]
        dots = [_middle(low, high) for low, high in self.ranges]
        points = dots if self.value is None else [*dots, self.value]
        least, most = min(points), max(points)
        log = least > 0 and most > 20 * least

        def at(value: float) -> int:
            if most == least:
                return 0
            share = math.log(value / least) / math.log(most / least) if log else (value - least) / (most - least)
            return round(share * (_WIDTH - 3))

        stacks = Counter(at(dot) for dot in dots)
        levels = range(max(stacks.values()), 0, -1)
        lines += [_row("o" if stacks[column] >= level else " " for column in range(_WIDTH)) for level in levels]
        lines.append(_row("-" * (_WIDTH - 2)))
        ends = f"{plain(least)}{' ' * max(1, _WIDTH - 2 - len(plain(least)) - len(plain(most)))}{plain(most)}"
        lines.append(_row(ends) + (" (each step to the right multiplies)" if log else ""))
        if self.value is not None:
            lines.append(_row(" " * at(self.value) + "^"))
        return lines


@dataclass(frozen=True)
class Pool:
    """What was found in a folder.

    Parameters
    ----------
    rooms : tuple of Room
        A question each, in the order of the course.
    files, unread : int
        Files that were read, and files that could not be.
    """

    rooms: tuple[Room, ...]
    files: int
    unread: int

    def lines(self) -> list[str]:
        """Everything as text."""
        lines = [f"{self.files} file{'s' if self.files != 1 else ''} read, without names"]
        if self.unread:
            lines[0] += f"; {self.unread} passed over, which hold{'s' if self.unread == 1 else ''} no progress"
        for room in self.rooms:
            lines += ["", *room.lines()]
        return lines if self.rooms else [*lines, "There is no range in them."]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        rooms = [
            {"id": r.id, "ranges": [list(p) for p in r.ranges], "value": r.value, "held": r.held} for r in self.rooms
        ]
        return {"files": self.files, "unread": self.unread, "questions": rooms}


def share(folder: str | Path) -> Path:
    """Put this learner's ranges into a folder, under a name made of chance.

    Returns
    -------
    Path
        The file: the ranges and the numbers that were shown, nothing about exercises.

    Raises
    ------
    InputError
        If there is no range, or no such folder.
    """
    target = Path(folder).expanduser()
    if not target.is_dir():
        raise InputError(f"{folder} is no folder: give one that exists")
    said = {id: entry for id, entry in memory.recall()["predictions"].items() if entry["low"] is not None}
    if not said:
        raise InputError(f"there is no range in {memory.path()} yet: run lk.predict in a notebook first")
    path = target / f"ranges-{secrets.token_hex(4)}.json"
    atomic_write(path, json.dumps({"version": 1, "predictions": said}, indent=1, sort_keys=True) + "\n")
    return path


def collect(folder: str | Path) -> Pool:
    """Pool the ranges of every progress file in a folder.

    Parameters
    ----------
    folder : str or Path
        With files of :func:`share`, or copies of ``progress.json``; what is no such file is counted and passed over.

    Raises
    ------
    InputError
        If there is no such folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.json").write_text('{"predictions": {"01.p1": {"low": 1, "high": 3, "value": 2}}}')
    ...     _ = Path(folder, "b.json").write_text("no JSON")
    ...     pool = collect(folder)
    >>> pool.files, pool.unread, pool.rooms[0].held
    (1, 1, 1)
    """
    source = Path(folder).expanduser()
    if not source.is_dir():
        raise InputError(f"{folder} is no folder: give one with the progress files of a room")
    said: dict[str, list[tuple[float, float, float | None]]] = {}
    files = unread = 0
    for path in sorted(source.glob("*.json"))[:_MOST_FILES]:
        entries = _entries(path)
        files, unread = files + (entries is not None), unread + (entries is None)
        for id, entry in (entries or {}).items():
            low, high = entry["low"], entry["high"]
            if _ID.fullmatch(id) and low is not None and low <= high:
                said.setdefault(id, []).append((low, high, entry.get("value")))
    return Pool(tuple(_room(id, said[id]) for id in sorted(said, key=_place)), files, unread)


def _entries(path: Path) -> dict[str, dict[str, Any]] | None:
    """The predictions of a file; ``None`` if it is none of ours."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    entries = stored.get("predictions") if isinstance(stored, dict) else None
    if not isinstance(entries, dict):
        return None
    return {id: entry for id, entry in entries.items() if memory.FITS["predictions"](entry)}


def _room(id: str, said: list[tuple[float, float, float | None]]) -> Room:
    values = Counter(value for _, _, value in said if value is not None)
    held = sum(value is not None and low <= value <= high for low, high, value in said)
    ranges = sorted(((low, high) for low, high, _ in said), key=lambda pair: (_middle(*pair), pair))
    return Room(id, tuple(ranges), values.most_common(1)[0][0] if values else None, held)


def _place(id: str) -> tuple[str, int]:
    notebook, _, number = id.partition(".p")
    return notebook, int(number)


def _middle(low: float, high: float) -> float:
    return low + (high - low) / 2


def _row(cells: Any) -> str:
    return ("       " + "".join(cells)).rstrip()
