"""Which call of a parent started a recorded child."""

from __future__ import annotations

import json
import re

from labkit.errors import InputError
from labkit.record.trace import Trace

__all__ = ["call_of"]

# An agent's id as it stands in a result: some harnesses give a child's file a longer name that ends with it.
_ID = re.compile(r"[\w-]{12,}")


def call_of(parent: Trace, child: Trace) -> tuple[int, int | None]:
    """Positions of the call that started a child, and of its result.

    Parameters
    ----------
    parent, child : Trace

    Returns
    -------
    int
        The call with one of the child's first messages among its arguments; of several such, or where
        there is none, the one whose result names the child. Where no child's first message was recorded, the calls
        of a tool for agents are the children's in their order, if there are as many.
    int or None
        Its result; ``None`` where none is recorded.

    Raises
    ------
    InputError
        If there is no such call, or if its result came in a later request.
    """
    told = [b.text for b in child.blocks if b.request <= 1 and b.role == "user" and b.text.strip()]
    told += [json.dumps(text, ensure_ascii=False)[1:-1] for text in told]
    name = child.name.removeprefix("agent-")
    calls = [i for i, b in enumerate(parent.blocks) if b.kind == "call"]
    results = {b.call_id: i for i, b in enumerate(parent.blocks) if b.kind == "result" and b.call_id is not None}

    def result(i: int) -> int | None:
        return results.get(parent.blocks[i].call_id or "")

    def named(i: int) -> bool:
        at = result(i)
        if at is None:
            return False
        text = parent.blocks[at].text
        return name in text or any(name.endswith(word) for word in _ID.findall(text))

    asked = [i for i in calls if any(text in parent.blocks[i].text for text in told)]
    found = [i for i in asked if named(i)] or asked or [i for i in calls if named(i)]
    found = found or _in_order(parent, child, calls)
    if not found:
        raise InputError(f"no call of {parent.name} started {child.name}: its brief stands in no call's arguments")
    at = found[0]
    back = result(at)
    if back is not None and parent.blocks[back].request != parent.blocks[at].request:
        raise InputError(f"the result of {child.name} came in a later request: a child in the background has no place")
    return at, back


def _in_order(parent: Trace, child: Trace, calls: list[int]) -> list[int]:
    """The call of a child whose brief is not in the record, by its place among the children."""
    kin = [c for c in parent.children if c.kind == "subagent"]
    silent = not any(b.request <= 1 and b.role == "user" and b.text.strip() for c in kin for b in c.blocks)
    tools = {parent.blocks[i].tool or "" for i in calls}
    for tool in sorted(t for t in tools if "agent" in t.lower() or t == "Task"):
        started = [i for i in calls if parent.blocks[i].tool == tool]
        names = [c.name for c in kin]
        if silent and len(started) == len(kin) and child.name in names:
            return [started[names.index(child.name)]]
    return []
