"""Hand off: a fresh context that starts from a written record and from what nobody has read yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from labkit.ladder.compact import summarize, summary_size
from labkit.ladder.context import Context, Slot
from labkit.ladder.events import Event
from labkit.ladder.rungs import Summarizer, summary_block
from labkit.record.tokens import MESSAGE_OVERHEAD

__all__ = ["hand_off"]


def hand_off(
    context: Context,
    request: int,
    writer: Summarizer,
    read_notes: Callable[[], str],
    count: Callable[[str], int],
) -> Event | None:
    """Leave everything behind that an earlier request carried, and begin again from a record of it.

    Parameters
    ----------
    context : Context
    request : int
        Index of the request that opens the fresh context. What it is the first to carry goes with it:
        the newest calls, their results, and what a user has just said.
    writer : Summarizer
        Writes the record.
    read_notes : callable
        Text of the notes file.
    count : callable
        Tokens of a text.

    Returns
    -------
    Event or None
        ``None`` where there is nothing to leave behind, or the record would be no smaller. The client
        does it, and it edits nothing that was sent: it starts another conversation.
    """
    cut = next((s.position for s in context.slots if s.block.request >= request), len(context.slots))
    calls = [s.call.position for s in context.slots[cut:] if s.call is not None and s.call.position >= 0]
    # A call that still waits stays with its answer; once the user has spoken past it, none will come.
    spoke = -1 if context.spoke is None else context.spoke.position
    waiting = [s.position for slots in context.waiting.values() for s in slots if s.position > spoke]
    cut = min([cut, *calls, *waiting])
    while cut > 0 and cut < len(context.slots) and context.same_message(cut):
        cut -= 1
    old = context.slots[:cut]
    weight = sum(slot.size for slot in old)
    if not old:
        return None
    blocks = [slot.block for slot in old]
    record = summarize(writer, blocks, read_notes, weight)
    block = replace(summary_block(record, blocks))
    size = summary_size(record, block, count)
    if size >= weight:
        return None
    messages = sum(not context.same_message(slot.position) for slot in old)
    kept = context.intact_before(0)
    context.splice(0, cut, [Slot(block, size, MESSAGE_OVERHEAD, 0)])
    return Event(
        request,
        "handed_off",
        messages,
        weight - size,
        kept,
        0,
        record.dropped,
        record.usage,
        removed=weight,
        added=size,
    )
