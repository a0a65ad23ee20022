"""Reading JSON lines written by programs that crash, append and disagree.

One bad line costs one line: it is skipped, counted and named by its number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from labkit.errors import InputError
from labkit.record.formats.packed import damage_of, open_plain, read_of

__all__ = [
    "decode",
    "each_line",
    "first_object",
    "first_objects",
    "forget_head",
    "parse",
    "read_lines",
    "read_text",
    "read_watched",
    "watched",
]

_decoder = json.JSONDecoder()

_BOM = b"\xef\xbb\xbf"
# How many bytes are read between two words to the watcher.
_STEP = 4_000_000
# How many bytes of the first lines are read at a time.
_AHEAD = 65_536

Watcher = Callable[[int, int], None]
"""Called with the bytes of a file that were read, and its size."""

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """Tell ``watcher`` how far a file has been read; what it raises ends the reading."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def parse(data: bytes | bytearray) -> Any:
    """The value of bytes that are one JSON value.

    orjson takes a fifth of the time; what it refuses and Python's own reader takes (a lone surrogate, NaN,
    a bad byte, a byte order mark) is read as before.

    Raises
    ------
    ValueError, RecursionError
        If it is not one value.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data.decode("utf-8-sig", errors="replace").strip(" \t\r\n\0"))


def read_text(path: Path) -> str:
    """Text of a file: UTF-8 with or without a byte order mark, bad bytes replaced.

    Raises
    ------
    InputError
        If the file cannot be read, is binary, or is packed and torn.
    """
    try:
        with open_plain(path) as file:
            data = file.read()
            damage = damage_of(file)
    except OSError as error:
        raise InputError(_unreadable(path, error)) from None
    if damage:
        raise InputError(f"{path} is a damaged packed file ({damage}): give it whole, or unpacked")
    return decode(data, path)


def _unreadable(path: Path, error: OSError) -> str:
    return f"{path} cannot be read ({error.strerror or error}): check the path and its permissions"


def decode(data: bytes, path: Path) -> str:
    """Decode the bytes of a session; see :func:`read_text`."""
    refuse_binary(data[:4096], path)
    return data.decode("utf-8-sig", errors="replace")


def refuse_binary(head: bytes | bytearray, path: Path) -> None:
    """Raise InputError if the first bytes of a file are not text in UTF-8."""
    zeros = sorted((head[::2].count(0), head[1::2].count(0)))
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or (zeros[1] > len(head) // 3 and zeros[0] < len(head) // 20):
        raise InputError(f"{path} is in UTF-16: save it as UTF-8, for example with 'iconv -f UTF-16 -t UTF-8'")
    # A crash can leave a hole of NUL bytes in a good log, so a run of them counts once.
    head = re.sub(rb"\0+", b"\0", head)
    control = sum(byte < 32 and byte not in b"\t\n\r\x1b" for byte in head)
    if control > len(head) // 10 or head[:2] in (b"\x1f\x8b", b"PK") or head[:4] == b"\x89PNG":
        raise InputError(f"{path} is a binary file: give a session in JSON or JSON lines")


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
    warnings: list[str] = []
    return list(each_line(path, warnings)), warnings


def each_line(path: Path, warnings: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON-lines file one by one, for readers that need each only once; see :func:`read_lines`."""
    for number, raw in enumerate(_raw_lines(path, warnings), 1):
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError:
            yield from ((number, o) for o in _odd_line(number, raw, warnings))
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            warnings.append(_NO_OBJECT.format(number))


_NO_OBJECT = "line {}: JSON, but not an object; skipped"


def _raw_lines(path: Path, warnings: list[str]) -> Iterator[bytes]:
    """The lines of a file one after the other: a long session is never held whole as bytes."""
    watcher = _watcher.get()
    try:
        with open_plain(path) as file:
            size = path.stat().st_size
            refuse_binary(file.read(4_096), path)
            file.seek(0)
            if file.read(3) != _BOM:
                file.seek(0)
            if watcher is None:
                yield from file
            else:
                yield from _watching(file, size, watcher)
            if damage_of(file):
                warnings.append(f"the packed file is damaged ({damage_of(file)}): what comes after that is not read")
    except OSError as error:
        raise InputError(_unreadable(path, error)) from None


def read_watched(file: BinaryIO, size: int) -> bytes | bytearray:
    """All bytes of a file, with a word to the watcher on the way."""
    watcher = _watcher.get()
    if watcher is None:
        return file.read()
    data = bytearray()
    while piece := file.read(_STEP):
        data += piece
        watcher(read_of(file, len(data)), size)
    return data


def _watching(file: BinaryIO, size: int, watcher: Watcher) -> Iterator[bytes]:
    done = said = 0
    for raw in file:
        yield raw
        done += len(raw)
        if done - said >= _STEP:
            said = done
            watcher(read_of(file, done), size)


def _odd_line(number: int, raw: bytes, warnings: list[str]) -> list[dict[str, Any]]:
    """Objects of a line that is not one plain JSON value: empty, torn, or several in one."""
    line = raw.decode("utf-8", errors="replace").strip("\r\n \t\0")
    if not line:
        return []
    values, rest = _objects(line)
    objects = [v for v in values if isinstance(v, dict)]
    if len(objects) < len(values):
        warnings.append(_NO_OBJECT.format(number))
    if len(values) > 1:
        warnings.append(f"line {number}: {len(values)} values on one line, a newline is missing; all read")
    if rest:
        warnings.append(f"line {number}: not valid JSON from character {rest}; skipped from there")
    return objects


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
        self._raw: list[bytes] = []
        self._lines: list[list[Any]] = []
        self._ended = False

    def line(self, number: int) -> list[Any] | None:
        """The values on a line, from 0; ``None`` after the end. Raises OSError."""
        while number >= len(self._raw) and not self._ended:
            self._more()
        while len(self._lines) <= number < len(self._raw):
            self._lines.append(_values(self._raw[len(self._lines)]))
        return self._lines[number] if number < len(self._lines) else None

    def _more(self) -> None:
        """Read the next few lines: opening the file for each would cost more than parsing it."""
        start = self._offset
        with open_plain(self._path) as file:
            file.seek(start)
            while self._offset - start < _AHEAD and not self._ended:
                data = file.readline(8_000_000)
                self._offset += len(data)
                self._ended = not data
                if data:
                    self._raw.append(data)


def _values(line: bytes) -> list[Any]:
    try:
        return [orjson.loads(line)]
    except orjson.JSONDecodeError:
        return _objects(line.decode("utf-8-sig", errors="replace").strip("\r\n \t\0"))[0]


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
