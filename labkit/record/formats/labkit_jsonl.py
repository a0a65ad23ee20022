"""labkit's own format: JSON lines, the first of which says so.

``{"type": "trace", "format": "labkit", "version": 1, "name": ..., "kind": ..., "prefixes": [...], "facts": [...]}``
comes first; then blocks, requests and edits in the order in which they happened, each with its
``type``. A block that repeats a default leaves it out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.files import atomic_write
from labkit.record.formats.jsonl import first_object, read_lines
from labkit.record.trace import Block, Edit, Fact, Need, Prefix, Request, Trace, Usage

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
    header = lines[0][1]
    if int(header.get("version", 0)) > VERSION:
        raise InputError(f"{path} has version {header['version']} of the format, this labkit reads {VERSION}: update it")
    blocks: list[Block] = []
    requests: list[Request] = []
    edits: list[Edit] = []
    children: list[Trace] = []
    for number, entry in lines[1:]:
        try:
            kind = entry.get("type")
            if kind == "block":
                blocks.append(_make(Block, entry))
            elif kind == "request":
                usage = entry.get("usage")
                requests.append(_make(Request, {**entry, "usage": None if usage is None else _make(Usage, usage)}))
            elif kind == "edit":
                edits.append(_make(Edit, {**entry, "blocks": tuple(entry["blocks"])}))
            else:
                warnings.append(f"line {number}: unknown type {kind!r}, skipped")
        except (KeyError, TypeError, ValueError) as error:
            warnings.append(f"line {number}: not a valid {entry.get('type')} ({error}), skipped")
    return Trace(
        name=str(header.get("name", path.stem)),
        blocks=tuple(blocks),
        requests=tuple(requests),
        prefixes=tuple(_make(Prefix, p) for p in header.get("prefixes", [])) or (Prefix(),),
        edits=tuple(edits),
        children=tuple(children),
        facts=tuple(_make(Fact, f) for f in header.get("facts", [])),
        needs=tuple(_make(Need, n) for n in header.get("needs", [])),
        kind=header.get("kind", "session"),
        source=f"{NAME}: {path.name}",
        warnings=tuple(warnings),
    )


def _make(cls: Any, entry: dict[str, Any]) -> Any:
    names = {f.name for f in fields(cls)}
    return cls(**{k: v for k, v in entry.items() if k in names})


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
        out += [{"type": "edit", **asdict(e)} for e in edits.get(request.index, [])]
        out.append({"type": "request", **_compact(request)})
        position = new.stop
    out += [{"type": "block", **_compact(b)} for b in trace.blocks[position:]]
    atomic_write(path, _dump(out))


def _dump(entries: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(e, ensure_ascii=False, separators=(",", ":")) + "\n" for e in entries)


def _compact(value: Any) -> dict[str, Any]:
    defaults = {f.name: f.default for f in fields(value) if f.default is not MISSING}
    return {k: v for k, v in asdict(value).items() if k not in defaults or v != defaults[k]}
