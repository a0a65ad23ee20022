"""Compact: a summary in place of old messages."""

from __future__ import annotations

from collections.abc import Callable

from labkit.ladder.context import Context, Slot
from labkit.ladder.events import Event
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summarizer, Summary, newest_thought, summary_block
from labkit.record.tokens import MESSAGE_OVERHEAD
from labkit.record.trace import Block

__all__ = ["Compaction", "summary_span", "thought_of_newest"]


class Compaction:
    """Replaces all but the oldest and newest messages, where that is worth the floor.

    Parameters
    ----------
    policy : Policy
        Uses ``keep_first``, ``keep_recent``, ``keep_recent_by``, ``floor`` and ``edits_at``.
    summarizer : Summarizer
    read_notes : callable
        Text of the notes file, which a summary ends with.
    count : callable
        Tokens of a text.
    """

    def __init__(
        self, policy: Policy, summarizer: Summarizer, read_notes: Callable[[], str], count: Callable[[str], int]
    ) -> None:
        self._policy, self._summarizer = policy, summarizer
        self._read_notes, self._count = read_notes, count
        self._retry_above = 0  # a summary was not smaller: wait until there is more to summarize

    def act(
        self, context: Context, request: int, check: Callable[[int, int], None], drop: Callable[[], None]
    ) -> Event | None:
        """Summarize, or leave the context as it was.

        Parameters
        ----------
        context : Context
        request : int
            Index of the request.
        check : callable
            Is told the stretch that would go, and refuses where the edit is not allowed.
        drop : callable
            Drops what the check found to be invalid after the edit.
        """
        policy = self._policy
        start, cut = summary_span(context, policy)
        old = context.slots[start:cut]
        weight = sum(slot.size for slot in old)
        if not old or weight < max(policy.floor, self._retry_above):
            return None
        check(start, cut)
        blocks = [slot.block for slot in old]
        summary = summarize(self._summarizer, blocks, self._read_notes, weight)
        block = summary_block(summary, blocks)
        size = summary_size(summary, block, self._count)
        if size >= weight:
            # Summarizing again at every request would cost time, and with a model money, for nothing.
            self._retry_above = weight + max(policy.floor, weight // 4, 1)
            if summary.usage is None:
                return None
            return Event(request, "compacted", 0, 0, context.kept, usage=summary.usage, side=policy.edits_at)
        self._retry_above = 0
        drop()
        messages = sum(not context.same_message(slot.position) for slot in old)
        unread = sum(b.kind == "result" and b.edited is None and b.request >= request for b in blocks)
        kept = context.intact_before(start)
        context.splice(start, cut, [Slot(block, size, MESSAGE_OVERHEAD, start)])
        return Event(
            request,
            "compacted",
            messages,
            weight - size,
            kept,
            unread,
            summary.dropped,
            summary.usage,
            side=policy.edits_at,
            removed=weight,
            added=size,
        )


def summarize(summarizer: Summarizer, blocks: list[Block], read_notes: Callable[[], str], weight: int) -> Summary:
    """Ask a summarizer, and a size model by the size of what it replaces."""
    modelled = getattr(summarizer, "of_size", None)
    return modelled(weight) if modelled is not None else summarizer.summarize(blocks, read_notes())


def summary_size(summary: Summary, block: Block, count: Callable[[str], int]) -> int:
    """Tokens of the block that carries a summary, its message's overhead included."""
    return (count(block.text) if summary.tokens is None else summary.tokens) + MESSAGE_OVERHEAD


def summary_span(context: Context, policy: Policy) -> tuple[int, int]:
    """Positions between which a summary may replace everything.

    It leaves the first and the newest messages whole, never parts a call from its result, nor the newest
    answer's thinking from the rest of it, and does not touch a call that still waits for its result; see
    :func:`labkit.ladder.rungs.summary_cut`.
    """
    slots = context.slots
    cut = _recent_from(context, policy)
    spoke = -1 if context.spoke is None else context.spoke.position
    for waiting in context.waiting.values():
        cut = min([cut, *(slot.position for slot in waiting if slot.position > spoke)])
    looked_to = len(slots)
    thought, last = thought_of_newest(context)
    while cut > 0:
        lower = min([cut, *_calls_before(slots[cut:looked_to])])
        lower = thought if thought < lower <= last else lower
        while lower < len(slots) and context.same_message(lower):
            lower -= 1
        if lower == cut:
            break
        cut, looked_to = lower, cut
    start = min(_first_until(context, policy.keep_first), cut)
    # A call among the first messages whose result would go is summarized with it.
    while start > 0:
        lower = min([start, *(p for p in _calls_before(slots[start:cut]) if p < start)])
        while 0 < lower < len(slots) and context.same_message(lower):
            lower -= 1
        if lower == start:
            break
        start = lower
    return start, cut


def thought_of_newest(context: Context) -> tuple[int, int]:
    """As :func:`labkit.ladder.rungs.newest_thought`, without a walk over the whole context."""
    begin = len(context.slots)
    for assistant in (False, True):
        while begin and (context.slots[begin - 1].block.role == "assistant") is assistant:
            begin -= 1
    first, last = newest_thought([slot.block for slot in context.slots[begin:]])
    return (begin + first, begin + last) if first >= 0 else (-1, -1)


def _calls_before(slots: list[Slot]) -> list[int]:
    return [s.call.position for s in slots if s.call is not None and s.call.position >= 0]


def _first_until(context: Context, messages: int) -> int:
    """Position after so many messages at the start."""
    position = 0
    while messages > 0 and position < len(context.slots):
        position += 1
        while position < len(context.slots) and context.same_message(position):
            position += 1
        messages -= 1
    return position


def _recent_from(context: Context, policy: Policy) -> int:
    """Position at which the newest messages begin that are left word for word."""
    position, left = len(context.slots), policy.keep_recent
    while position > 0:
        first = position - 1
        while context.same_message(first):
            first -= 1
        cost = 1 if policy.keep_recent_by == "messages" else sum(s.size for s in context.slots[first:position])
        if cost > left and (policy.keep_recent_by == "messages" or position < len(context.slots)):
            break
        position, left = first, left - cost
    return position
