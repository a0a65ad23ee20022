"""labkit's own format: JSON lines, the first of which says so.

``{"type": "trace", "format": "labkit", "version": 1, "name": ..., "kind": ..., "prefixes": [...], "facts": [...]}``
comes first; then blocks, requests and edits in the order in which they happened, each with its
``type``. A block that repeats a default leaves it out.
"""

from __future__ import annotations

import json
import types
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import MISSING, asdict, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from labkit.errors import InputError
from labkit.files import atomic_write
from labkit.record.formats.jsonl import first_object, read_lines
from labkit.record.trace import Block, Edit, Fact, Need, Prefix, Request, Trace, TraceKind, Usage

NAME = "labkit"
VERSION = 1


def matches(path: Path) -> bool:
    """Whether the first line is this format's header."""
    head = first_object(path)
    return head is not None and head.get("type") == "trace" and head.get("format") == NAME


def read(path: Path) -> Trace:
    """Read a trace; a bad line costs one line and one warning.

    Raises
    ------
    InputError
        If the header is missing or of a later version.
    """
    lines, warnings = read_lines(path)
    if not lines or lines[0][1].get("format") != NAME:
        raise InputError(f"{path} has no labkit header in its first line: save it with labkit.save")
    torn = bool(warnings)
    header = lines[0][1]
    version = header.get("version", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise InputError(f"{path} has version {version!r} of the format, this labkit reads {VERSION}: update it")
    blocks: list[Block] = []
    requests: list[Request] = []
    edits: list[Edit] = []
    for number, entry in lines[1:]:
        kind = entry.get("type")
        try:
            if kind == "block":
                blocks.append(_make(Block, entry))
            elif kind == "request":
                usage = entry.get("usage")
                requests.append(_make(Request, {**entry, "usage": None if usage is None else _make(Usage, usage)}))
            elif kind == "edit":
                edits.append(_make(Edit, {**entry, "blocks": _tuple(entry.get("blocks"))}))
            else:
                warnings.append(f"line {number}: unknown type {str(kind)[:40]!r}, skipped")
        except ValueError as error:
            warnings.append(f"line {number}: not a valid {kind} ({error}), skipped")
            if kind == "block":  # edits and needs name blocks by position, so its place stays
                blocks.append(Block("text", "user", ""))
    needs = _items(Need, header, "needs", warnings)
    blocks, requests = _in_order(blocks, requests, warnings)
    count = len(blocks)
    sound = [e for e in edits if all(0 <= p < count for p in (*e.blocks, e.summary or 0))]
    relied = [n for n in needs if 0 <= n.source < count]
    if len(sound) + len(relied) < len(edits) + len(needs):
        warnings.append("edits or needs that name blocks which are not in the file were skipped")
    if torn and (sound or relied):
        warnings.append("lines were skipped, so edits and needs may name the wrong blocks")
    made_as: Any = header.get("kind")
    return Trace(
        name=str(header.get("name", path.stem)),
        blocks=tuple(blocks),
        requests=tuple(requests),
        prefixes=tuple(_items(Prefix, header, "prefixes", warnings)) or (Prefix(),),
        edits=tuple(sound),
        facts=tuple(_items(Fact, header, "facts", warnings)),
        needs=tuple(relied),
        kind=made_as if made_as in get_args(TraceKind) else "session",
        source=f"{NAME}: {path.name}",
        warnings=tuple(warnings),
    )


def _in_order(blocks: list[Block], requests: list[Request], warnings: list[str]) -> tuple[list[Block], list[Request]]:
    """Number requests from 1 and let no block enter before the one ahead of it, as a Trace promises."""
    indices = sorted(r.index for r in requests)
    if indices != list(range(1, len(requests) + 1)):
        warnings.append("request indices are not 1, 2, 3, ...; renumbered in the order of the file")
        blocks = [replace(b, request=bisect_left(indices, b.request) + 1) for b in blocks]
    requests = [replace(r, index=i) for i, r in enumerate(requests, 1)]
    latest = 0
    placed = []
    for block in blocks:
        latest = max(latest, block.request)
        placed.append(block if block.request == latest else replace(block, request=latest))
    return placed, requests


def _items(cls: Any, header: dict[str, Any], key: str, warnings: list[str]) -> list[Any]:
    made = []
    listed = header.get(key, [])
    for entry in listed if isinstance(listed, list) else []:
        try:
            made.append(_make(cls, entry))
        except ValueError as error:
            warnings.append(f"header: not a valid entry of {key} ({error}), skipped")
    return made


def _make(cls: Any, entry: Any) -> Any:
    """An instance of one of the trace's classes; a ValueError names the first field that does not fit."""
    if not isinstance(entry, dict):
        raise ValueError(f"{type(entry).__name__} instead of an object")
    hints = _hints(cls)
    given = {k: v for k, v in entry.items() if k in hints}
    for name, value in given.items():
        if not _fits(value, hints[name]):
            raise ValueError(f"{name} is {str(value)[:40]!r}")
    try:
        return cls(**given)
    except TypeError:
        needed = [f.name for f in fields(cls) if f.default is MISSING and f.name not in given]
        raise ValueError(f"{', '.join(needed)} missing") from None


@lru_cache(maxsize=None)
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is Literal:
        return value in get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, h) for h in get_args(hint))
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(v, get_args(hint)[0]) for v in value)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, hint) and not isinstance(value, bool)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def save(trace: Trace, path: str | Path) -> None:
    """Write a trace as JSON lines that :func:`labkit.load` reads back.

    Parameters
    ----------
    trace : Trace
        Without children: those are written as files of their own.
    path : str or Path
        Replaced whole or not at all.
    """
    header = {
        "type": "trace",
        "format": NAME,
        "version": VERSION,
        "name": trace.name,
        "kind": trace.kind,
        "prefixes": [asdict(p) for p in trace.prefixes],
        "facts": [asdict(f) for f in trace.facts],
        "needs": [asdict(n) for n in trace.needs],
    }
    out = [header]
    position = 0
    edits = {r: [e for e in trace.edits if e.request == r] for r in {e.request for e in trace.edits}}
    for request, new in trace.new_blocks():
        out += [{"type": "block", **_compact(trace.blocks[i])} for i in new]
        out += [{"type": "edit", **asdict(e)} for e in edits.pop(request.index, [])]
        out.append({"type": "request", **_compact(request)})
        position = new.stop
    out += [{"type": "block", **_compact(b)} for b in trace.blocks[position:]]
    out += [{"type": "edit", **asdict(e)} for after in edits.values() for e in after]
    atomic_write(path, _dump(out))


def _dump(entries: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(e, ensure_ascii=False, separators=(",", ":")) + "\n" for e in entries)


def _compact(value: Any) -> dict[str, Any]:
    defaults = {f.name: f.default for f in fields(value) if f.default is not MISSING}
    return {k: v for k, v in asdict(value).items() if k not in defaults or v != defaults[k]}
