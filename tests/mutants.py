"""Damaged copies of a log, and what must hold of any Trace read from one."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from labkit.errors import LabError
from labkit.record.load import load
from labkit.record.trace import Trace
from labkit.replay.audit import Audit, audit

__all__ = ["mutants", "read_damaged", "sound"]

_nested: Any = "x"
for _ in range(60):
    _nested = [{"content": _nested}]

VALUES = st.sampled_from(
    [
        None,
        True,
        -1,
        10**30,
        -(10**30),
        float("nan"),
        float("inf"),
        1.5,
        "",
        "x",
        "\ud800",
        "a\u2028b\0c",
        "../../etc",
        [],
        {},
        [None, 1, "a", {}],
        {"type": "message", "id": 3, "content": [{}]},
        _nested,
    ]
)


def _paths(value: Any, depth: int = 0) -> list[tuple[Any, ...]]:
    """Ways to every place in a JSON value."""
    found: list[tuple[Any, ...]] = [()]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items if depth < 12 else ():
        found += [(key, *rest) for rest in _paths(inner, depth + 1)]
    return found


def _changed(draw: st.DrawFn, value: Any) -> Any:
    """The value with one place replaced, removed or said twice."""
    value = copy.deepcopy(value)
    *way, last = draw(st.sampled_from(_paths(value)[1:] or [("",)]))
    holder = value
    for key in way:
        holder = holder[key]
    if not isinstance(holder, (dict, list)) or (isinstance(holder, dict) and last not in holder):
        return draw(VALUES)
    what = draw(st.sampled_from(["set", "set", "remove", "twice"]))
    if what == "remove":
        del holder[last]
    elif what == "twice" and isinstance(holder, list):
        holder.insert(last, copy.deepcopy(holder[last]))
    else:
        holder[last] = draw(VALUES)
    return value


@st.composite
def mutants(draw: st.DrawFn, original: bytes) -> bytes:
    """Damaged copies of a file of JSON lines, or of one JSON document: bytes, lines, structure, types."""
    text = original.decode()
    whole = text[:2] in ("{\n", "[\n")
    values = [json.loads(text)] if whole else [json.loads(line) for line in text.split("\n") if line]
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(values) - 1))
        what = draw(st.sampled_from(["change", "change", "change", "drop", "twice", "swap"]))
        if what == "change":
            values[place] = _changed(draw, values[place])
        elif what == "drop" and len(values) > 1:
            del values[place]
        elif what == "twice":
            values.insert(place, values[place])
        else:
            values[0], values[place] = values[place], values[0]
    data = "\n".join(json.dumps(v) for v in values).encode()
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(data)))
        cut = draw(st.sampled_from([0, 1, 40]))
        data = (
            data[:at]
            + draw(st.sampled_from([b"", b"\0", b"\xff", b"\n", b'"', b"}{", b"\xe2\x80\xa8"]))
            + data[at + cut :]
        )
    return data if not draw(st.booleans()) else data[: draw(st.integers(1, max(len(data), 1)))]


def read_damaged(path: Path, data: bytes) -> Trace | None:
    """Load a damaged file: a sound Trace, or a refusal in one line; nothing else may come out."""
    path.write_bytes(data)
    trace, refusal = None, ""
    try:
        trace = load(path)
    except LabError as error:
        refusal = str(error)
    assert "\n" not in refusal
    if trace is not None:
        sound(trace)
    return trace


def sound(trace: Trace) -> Audit:
    """What every Trace promises, and its children too; returns the audit it was judged by."""
    assert [r.index for r in trace.requests] == list(range(1, len(trace.requests) + 1))
    steps = [b.request for b in trace.blocks]
    assert steps == sorted(steps)
    for edit in trace.edits:
        assert all(0 <= p < len(trace.blocks) for p in edit.blocks)
        assert 1 <= edit.request <= len(trace.requests) + 1
        assert edit.summary is None or trace.blocks[edit.summary].kind == "summary"
    report = audit(trace)
    for row in report.rows:
        assert sum(row.lines.values()) == row.total
    assert all(isinstance(w, str) and "\n" not in w for w in trace.warnings)
    for child in trace.children:
        sound(child)
    return report
