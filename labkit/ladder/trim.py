"""Trim: the oldest messages go, and nothing stands for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from labkit.ladder.context import Context
from labkit.ladder.events import Event
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import newest_thought, speaks
from labkit.record.trace import Block

__all__ = ["left_by_trim", "trim"]


def trim(context: Context, policy: Policy, request: int, check: Callable[[int], None]) -> Event | None:
    """Cut the oldest messages off, where that frees the floor.

    Parameters
    ----------
    context : Context
    policy : Policy
        Uses ``trim``, ``floor`` and ``edits_at``.
    request : int
        Index of the request.
    check : callable
        Is told the first position that would change, and refuses where the edit is not allowed.

    Notes
    -----
    A summary that stands where the task stood is not cut: another rung put it there, and Inspect has no such case.
    Nor is the newest answer's thinking, where something else of that answer stays.
    """
    assert policy.trim is not None
    left = set(left_by_trim([slot.block for slot in context.slots], policy.trim))
    left |= _never_cut(context, left)
    gone = [slot for slot in context.slots if slot.position not in left]
    if not gone or sum(slot.size for slot in gone) < policy.floor:
        return None
    check(gone[0].position)
    messages = len({slot.position if slot.block.message is None else -1 - slot.block.message for slot in gone})
    results = [slot.block for slot in gone if slot.block.kind == "result"]
    unread = sum(b.edited is None and b.request >= request for b in results)
    kept = context.intact_before(gone[0].position)
    freed = context.drop(gone)
    return Event(request, "trimmed", messages, freed, kept, unread, side=policy.edits_at, removed=freed)


def _never_cut(context: Context, left: set[int]) -> set[int]:
    """The summary that holds the task, and the thinking of a newest answer of which something else stays."""
    blocks = [slot.block for slot in context.slots]
    kept: set[int] = set()
    summary = next((i for i, block in enumerate(blocks) if block.kind == "summary"), None)
    if summary is not None and not any(speaks(block) for block in blocks[:summary]):
        kept.add(summary)
    first, last = newest_thought(blocks)
    if first >= 0 and not left.isdisjoint(range(first, last + 1)):
        kept |= {i for i in range(first, last + 1) if blocks[i].kind == "thinking"}
    return kept


def left_by_trim(blocks: Sequence[Block], share: float) -> list[int]:
    """Positions of what is left of a context when its oldest messages are cut off.

    Parameters
    ----------
    blocks : sequence of Block
    share : float
        Of the messages after the first one of the user, 0 to 1, so many stay; the newest do.

    Returns
    -------
    list of int
        System text, everything up to the first message of the user, and of the newest messages those in which
        each result has its call and each call its result. An answer of the assistant is never the last message.

    Notes
    -----
    After ``CompactionTrim`` of Inspect 0.3.285 (https://pypi.org/project/inspect-ai/0.3.285/), compared with it on
    random cases.

    Examples
    --------
    >>> task = Block("text", "user", "Mend it.", message=1)
    >>> pairs = [
    ...     Block(kind, role, "x", message=2 * n + late, call_id=str(n))
    ...     for n in (1, 2) for kind, role, late in (("call", "assistant", 0), ("result", "tool", 1))
    ... ]
    >>> left_by_trim([task, *pairs], 0.5)
    [0, 3, 4]
    >>> left_by_trim([task, *pairs], 0.75)  # three messages, the first of which is a result that lost its call
    [0, 3, 4]
    """
    groups = groupby(enumerate(blocks), lambda pair: -1 - pair[0] if pair[1].message is None else pair[1].message)
    messages = [list(group) for _, group in groups]
    system = [m for m in messages if m[0][1].role == "system"]
    rest = [m for m in messages if m[0][1].role != "system"]
    first = 0
    while first < len(rest) and rest[first][0][1].kind != "summary":
        first += 1
        if rest[first - 1][0][1].role == "user":
            break
    head, talk = rest[:first], rest[first:]
    kept = _answered(talk[int(len(talk) * (1 - share)) :])
    if kept and kept[-1][0][1].role == "assistant":
        kept.pop()
    return sorted(position for message in (*system, *head, *kept) for position, _ in message)


def _answered(messages: list[list[tuple[int, Block]]]) -> list[list[tuple[int, Block]]]:
    """Without results whose call is not in the last answer before them, and without calls that have no result."""
    calls: set[str | None] = set()
    found: set[str | None] = set()
    whole = []
    for message in messages:
        if message[0][1].role == "tool":
            message = [pair for pair in message if pair[1].call_id in calls]
            found |= {block.call_id for _, block in message}
        else:
            calls = {block.call_id for _, block in message if block.kind == "call"}
        whole.append(message)
    whole = [[pair for pair in m if pair[1].kind != "call" or pair[1].call_id in found] for m in whole]
    return [message for message in whole if message]
