"""Reading JSON lines written by programs that crash, append and disagree.

One bad line costs one line: it is skipped, counted and named by its number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labkit.errors import InputError

__all__ = ["decode", "first_object", "first_objects", "forget_head", "read_lines", "read_text"]

_decoder = json.JSONDecoder()


def read_text(path: Path) -> str:
    """Text of a file: UTF-8 with or without a byte order mark, bad bytes replaced.

    Raises
    ------
    InputError
        If the file cannot be read, or is binary.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror or error}): check the path and its permissions"
        ) from None
    return decode(data, path)


def decode(data: bytes, path: Path) -> str:
    """Decode the bytes of a session; see :func:`read_text`."""
    # A crash can leave a hole of NUL bytes in a good log, so a run of them counts once.
    head = re.sub(rb"\0+", b"\0", data[:4096])
    control = sum(byte < 32 and byte not in b"\t\n\r\x1b" for byte in head)
    if control > len(head) // 10 or head[:2] in (b"\x1f\x8b", b"PK") or head[:4] == b"\x89PNG":
        raise InputError(f"{path} is a binary file: give a session in JSON or JSON lines")
    return data.decode("utf-8-sig", errors="replace")


def read_lines(path: Path) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    r"""Parse a JSON-lines file.

    Lines are split on ``\n`` only: other Unicode line ends are legal inside JSON strings.

    Returns
    -------
    lines : list of (int, dict)
        Line number from 1 and the object; two objects on one line give two entries.
    warnings : list of str
        One sentence for each line that is not one object.
    """
    lines: list[tuple[int, dict[str, Any]]] = []
    warnings: list[str] = []
    text = read_text(path)
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip("\r \t\0")
        if not line:
            continue
        objects, rest = _objects(line)
        lines += [(number, o) for o in objects if isinstance(o, dict)]
        others = sum(not isinstance(o, dict) for o in objects)
        if others:
            warnings.append(f"line {number}: JSON, but not an object; skipped")
        if len(objects) > 1:
            warnings.append(f"line {number}: {len(objects)} values on one line, a newline is missing; all read")
        if rest:
            warnings.append(f"line {number}: not valid JSON from character {rest}; skipped from there")
    return lines, warnings


def _objects(line: str) -> tuple[list[Any], int]:
    """All JSON values on a line, and the position from 1 of what does not parse (0: nothing)."""
    values: list[Any] = []
    position = 0
    while position < len(line):
        try:
            value, position = _decoder.raw_decode(line, position)
        except (ValueError, RecursionError):
            return values, position + 1
        values.append(value)
        while position < len(line) and line[position] in " \t\r,\0":
            position += 1
    return values, 0


class _Head:
    """The values on the first lines of a file, each line parsed once however many formats look at it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._lines: list[list[Any]] = []
        self._ended = False

    def line(self, number: int) -> list[Any] | None:
        """The values on a line, from 0; ``None`` after the end. Raises OSError."""
        while number >= len(self._lines) and not self._ended:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.readline(8_000_000)
                self._offset = file.tell()
            if data:
                self._lines.append(_objects(data.decode("utf-8-sig", errors="replace").strip("\r\n \t\0"))[0])
            else:
                self._ended = True
        return self._lines[number] if number < len(self._lines) else None


# The head in hand: all formats look at one file before the next is opened.
_heads: dict[tuple[str, int, int], _Head] = {}


def first_objects(path: Path, lines: int = 50) -> Iterator[dict[str, Any]]:
    """JSON objects among the first lines of a file: enough to recognise a format; never raises."""
    try:
        state = path.stat()
        key = (str(path), state.st_mtime_ns, state.st_size)
        if key not in _heads:
            _heads.clear()
            _heads[key] = _Head(path)
        head = _heads[key]
        for number in range(lines):
            values = head.line(number)
            if values is None:
                return
            yield from (value for value in values if isinstance(value, dict))
    except (OSError, ValueError):
        return


def forget_head() -> None:
    """Let the first lines in hand go."""
    _heads.clear()


def first_object(path: Path) -> dict[str, Any] | None:
    """The first JSON object among the first lines of a file, or ``None``."""
    return next(first_objects(path), None)
