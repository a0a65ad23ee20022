"""The shapes in which requests and responses are kept in files: pairs, one after the other, streams, folders."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.record.formats.common import as_dict, epoch, timestamp
from labkit.record.formats.jsonl import first_objects, read_lines, read_text
from labkit.record.formats.packed import open_plain
from labkit.record.formats.traffic import Traffic
from labkit.record.formats.whole import whole_json

__all__ = [
    "Api",
    "Pair",
    "entries_of",
    "first_entry",
    "folder_files",
    "name_of",
    "pairs",
    "refuse_empty",
    "start_of",
]

Object = dict[str, Any]


@dataclass(frozen=True)
class Api:
    """How one interface's objects are known.

    Parameters
    ----------
    request, response, event : callable
        Whether an object is one.
    assemble : callable
        The responses that events add up to, each with whether it ran to its end.
    """

    request: Callable[[Object], bool]
    response: Callable[[Object], bool]
    event: Callable[[Object], bool]
    assemble: Callable[[list[Object]], list[tuple[Object, bool]]]

    def knows(self, entry: Any) -> bool:
        """Whether an entry of a file belongs to the interface."""
        found = as_dict(entry)
        if self.event(found):
            return True
        request, responses = self.parts(found)
        answered = any(self.event(r) or self.response(r) for r in responses)
        return answered or (not responses and request is not None)

    def parts(self, entry: Object) -> tuple[Object | None, list[Object]]:
        """A request in an entry, and its response: one object, or events."""
        request = next((r for r in map(as_dict, _inner(entry, "request")) if self.request(r)), None)
        for given in _inner(entry, "response"):
            found = list(map(as_dict, given)) if isinstance(given, list) else [as_dict(given)]
            found = [r for r in found if self.event(r) or self.response(r)]
            if found:
                return request, found
        return request, []


def _inner(entry: Object, key: str) -> Iterator[Any]:
    """Where one side of an exchange may lie: under its name, in a body under it, or bare."""
    given = _parsed(entry.get(key))
    yield _parsed(as_dict(given).get("body"))
    yield given
    yield _parsed(entry.get(f"{key}_body"))
    yield entry


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.lstrip()
    if text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None
    return _sse(text)[0] if text.startswith(("data:", "event:")) else None


def _sse(text: str) -> tuple[list[Object], int]:
    """Events of a stream as it goes over the wire, and how many lines of data do not parse."""
    events, bad = [], 0
    for line in text.split("\n"):
        data = line.removeprefix("data:").strip("\r \t\0") if line.startswith("data:") else ""
        if data and data != "[DONE]":
            try:
                events.append(as_dict(json.loads(data)))
            except (ValueError, RecursionError):
                bad += 1
    return events, bad


def first_entry(path: Path) -> Any:
    """What a file begins with, or ``None``: a first object, the first item of a document, a first event."""
    head = next(first_objects(path, lines=1), None)
    if head is not None:
        return head
    document = whole_json(path)
    if document is not None:
        return (document or [None])[0] if isinstance(document, list) else document
    try:
        with open_plain(path) as file:
            text = file.read(65_536).decode("utf-8-sig", errors="replace").lstrip()
    except (OSError, ValueError):
        return None
    return next(iter(_sse(text)[0]), None) if text.startswith(("data:", "event:")) else None


def entries_of(path: Path) -> tuple[list[Object], list[str]]:
    """All entries of a file, and a warning for each line that is none."""
    document = whole_json(path)
    if document is not None:
        return list(map(as_dict, document if isinstance(document, list) else [document])), []
    text = read_text(path)
    if text.lstrip().startswith(("data:", "event:")):
        events, bad = _sse(text)
        return events, [f"{bad} lines of data do not parse; skipped"] if bad else []
    lines, warnings = read_lines(path)
    return [line for _, line in lines], warnings


@dataclass(frozen=True)
class Pair:
    """A request with its response; either may be missing. ``entry`` is what the file keeps around them."""

    request: Object | None
    response: Object | None
    entry: Object
    whole: bool = True


def pairs(entries: Iterable[Object], api: Api, warnings: list[str]) -> Iterator[Pair]:
    """Match requests and responses that follow each other, and put streams together."""
    waiting: Pair | None = None
    events: list[Object] = []
    skipped = 0

    def answered(responses: list[tuple[Object, bool]], request: Object | None, entry: Object) -> Iterator[Pair]:
        for response, whole in responses:
            yield Pair(request, response, entry, whole)
            request = None

    def ended() -> Iterator[Pair]:
        nonlocal waiting, events
        if events:
            before, waiting = waiting, None
            request, entry = (before.request, before.entry) if before is not None else (None, {})
            yield from answered(_assembled(api, events, warnings), request, entry)
            events = []

    for entry in entries:
        if api.event(entry):
            events.append(entry)
            continue
        yield from ended()
        request, found = api.parts(entry)
        if request is None and not found:
            skipped += 1
            continue
        if waiting is not None and (request is not None or not found):
            yield waiting
            waiting = None
        if not found:
            waiting = Pair(request, None, entry)
            continue
        if request is None and waiting is not None:
            request, entry, waiting = waiting.request, {**waiting.entry, **entry}, None
        streamed = [r for r in found if api.event(r)]
        whole = [(r, True) for r in found if not api.event(r)]
        yield from answered(whole or _assembled(api, streamed, warnings), request, entry)
    yield from ended()
    if waiting is not None:
        yield waiting
    if skipped:
        warnings.append(f"{skipped} entries are neither request nor response; skipped")


def _assembled(api: Api, events: list[Object], warnings: list[str]) -> list[tuple[Object, bool]]:
    try:
        return api.assemble(events)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        warnings.append(f"a stream of {len(events)} events is damaged and does not add up to an answer; skipped")
        return []


def start_of(entry: Object) -> float | None:
    """When a request was sent, as far as the log beside it tells: it may note when the answer was there."""
    for key in ("start", "start_time", "timestamp", "time", "created"):
        value = entry.get(key)
        time = epoch(value) if not isinstance(value, str) else timestamp(value)
        if time is not None:
            took = entry.get("latency_sec") if key == "timestamp" else None
            number = isinstance(took, (int, float)) and not isinstance(took, bool) and 0 <= took < 86_400
            return time - took if took is not None and number else time
    return None


def folder_files(folder: Path, matches: Callable[[Path], bool]) -> list[Path]:
    """The files of a folder that keeps one request a file, if all of its JSON files are of that kind."""
    try:
        found = sorted(p for p in folder.glob("*.json") if p.is_file())
    except OSError:
        return []
    return found if len(found) > 1 and all(map(matches, found)) else []


def name_of(path: Path) -> str:
    """Short name of a recording for people."""
    return path.name.removesuffix(".txt").removesuffix(".chunks").removesuffix(".json").removesuffix(".jsonl")


def refuse_empty(traffic: Traffic, path: Path, name: str) -> None:
    """Refuse a file in which nothing was readable.

    Raises
    ------
    InputError
        If there was no call of the model.
    """
    if not traffic:
        raise InputError(f"{path} holds no readable request or response of {name}: give a whole recording")
