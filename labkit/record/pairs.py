"""Which result answers which call."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.record.trace import Block

__all__ = ["answers"]


def answers(blocks: Sequence[Block]) -> dict[int, int]:
    """Position of each result mapped to the position of its call.

    A result belongs to the nearest earlier unanswered call of its id: real runs use ids twice. A
    result whose call is not there is left out.

    Examples
    --------
    >>> answers([Block("call", "assistant", "a", call_id="1"), Block("result", "tool", "b", call_id="1")])
    {1: 0}
    """
    waiting: dict[str | None, list[int]] = {}
    found = {}
    for i, block in enumerate(blocks):
        if block.kind == "call":
            waiting.setdefault(block.call_id, []).append(i)
        elif block.kind == "result" and waiting.get(block.call_id):
            found[i] = waiting[block.call_id].pop()
    return found
