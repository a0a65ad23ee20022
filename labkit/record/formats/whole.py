"""A file that is one JSON value, parsed once however many formats look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.record.formats.jsonl import forget_head, parse, read_watched, refuse_binary
from labkit.record.formats.packed import open_plain

__all__ = ["forget", "whole_json"]

# The one document in hand. A session may hold hundreds of megabytes, so no second one is kept.
_kept: dict[tuple[str, int, int], Any] = {}


def whole_json(path: Path) -> Any:
    """The value of a file that is one JSON value, or ``None``; never raises.

    Every format asks this in turn, so the last answer is kept until :func:`forget`.
    """
    try:
        state = path.stat()
        key = (str(path), state.st_mtime_ns, state.st_size)
    except (OSError, ValueError):
        return None
    if key not in _kept:
        _kept.clear()
        _kept[key] = _parse(path)
    return _kept[key]


def forget() -> None:
    """Let the document in hand go, and the first lines with it."""
    _kept.clear()
    forget_head()


def _parse(path: Path) -> Any:
    try:
        if _is_lines(path):
            return None
        with open_plain(path) as file:
            data = read_watched(file, path.stat().st_size)
        refuse_binary(data[:4_096], path)
    except (InputError, OSError):
        return None
    # Prose is told apart from a document without parsing all of it.
    head, tail = (end.strip(b" \t\r\n\0") for end in (data[:4_096].removeprefix(b"\xef\xbb\xbf"), data[-4_096:]))
    if head[:1] not in (b"{", b"[") or tail[-1:] not in (b"}", b"]"):
        return None
    try:
        return parse(data)
    except (ValueError, RecursionError):
        return None


def _is_lines(path: Path) -> bool:
    """Whether the first line is a value of its own and more follows: a long session is not read whole here."""
    with open_plain(path) as file:
        first = file.readline(8_000_000).strip(b"\r\n \t\0")
        more = file.read(4_096).strip(b" \t\r\n\0")
    if not more or first[-1:] not in (b"}", b"]"):
        return False
    try:
        parse(first)
    except (ValueError, RecursionError):
        return False
    return True
