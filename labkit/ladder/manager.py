"""The ladder in a live agent: append what happened, take the next request, in time that does not grow.

Nothing is counted twice: each block is counted when it is appended, each stub when its result becomes
stale, and sums are kept up to date. So n turns cost O(n), apart from copying the requests out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from labkit.errors import ContextOverflow, EditRefused
from labkit.ladder.events import Event, Step
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summarizer, stub, summary_block
from labkit.record.tokens import MESSAGE_OVERHEAD, get_counter
from labkit.record.trace import Block

__all__ = ["ContextManager"]


class _Slot:
    """A place in the history: the block, what it weighs, and what the rungs need to know of it."""

    __slots__ = ("block", "call", "overhead", "position", "size", "stub", "stub_size")

    def __init__(self, block: Block, size: int, overhead: int, position: int) -> None:
        self.block = block
        self.size = size
        self.overhead = overhead
        self.position = position
        self.call: _Slot | None = None  # of a result: its call
        self.stub: Block | None = None
        self.stub_size = 0


def _extractive() -> Summarizer:
    from labkit.ladder.summaries import ExtractiveSummarizer  # here, so that import labkit stays light

    return ExtractiveSummarizer()


@dataclass
class ContextManager:
    """Keeps a conversation within its budget by climbing the ladder, cheapest rung first.

    Parameters
    ----------
    system : str
        System prompt (and tool schemas, if they are counted with it).
    policy : Policy
        The thresholds.
    summarizer : Summarizer, optional
        Writes the summary of a compaction; default :class:`ExtractiveSummarizer`.
    read_notes : callable
        Returns the text of the notes file, which a summary ends with.
    count : callable, optional
        Tokens of a text; default the counter in use.
    thinking_bound : bool
        Whether the model binds its thinking to the exact prefix (``CacheRules.thinking_bound``).
    prefix_tokens : int, optional
        Size of what precedes the messages; default: ``system`` counted, and 4 tokens of overhead.

    Examples
    --------
    >>> manager = ContextManager("Be brief.", Policy(trigger=60, floor=0, keep=0, compact_above=None))
    >>> manager.append(Block("text", "user", "How long is the log?"))
    >>> manager.append(Block("call", "assistant", "read_file(app.log)", tool="read_file", args="app.log"))
    >>> manager.append(Block("result", "tool", "a line of the log\\n" * 40, tool="read_file", args="app.log"))
    >>> [block.kind for block in manager.prepare()]
    ['text', 'call', 'result']
    >>> print(manager.events[0])
    request 1: cleared 1 tool results (-218)
    """

    system: str = ""
    policy: Policy = field(default_factory=Policy)
    summarizer: Summarizer | None = None
    read_notes: Callable[[], str] = lambda: ""
    count: Callable[[str], int] | None = None
    thinking_bound: bool = False
    prefix_tokens: int | None = None
    events: list[Event] = field(default_factory=list, init=False)
    requests: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._count: Callable[[str], int] = self.count or get_counter().count
        self._summarizer = self.summarizer or _extractive()
        if self.prefix_tokens is None:
            self.prefix_tokens = self._count(self.system) + MESSAGE_OVERHEAD if self.system else 0
        self._slots: list[_Slot] = []
        self._total = self.prefix_tokens
        self._fresh: deque[_Slot] = deque()  # results that keep protects
        self._stale: list[_Slot] = []  # results that may be cleared, with their stubs
        self._saving = 0  # what clearing all of the stale ones would free
        self._waiting: dict[str | None, list[_Slot]] = {}  # calls without a result, by id
        self._thinking = 0
        self._spoke: _Slot | None = None  # the newest text of the user
        # What the next step reports. It outlives a step that failed: the edits made before the failure
        # happened all the same.
        self._removed: list[tuple[Block, int]] = []
        self._added: list[tuple[Block, int]] = []
        self._kept = 0  # of the previous request's tokens, those before the first edit
        self._edited_from = 0  # the position of that edit; without one, the previous request's length
        self._reported = 0  # events that earlier steps reported
        self._retry_above = 0  # a summary was not smaller: wait until there is more to summarize
        self._last_message: int | None = None

    # -- what an agent calls ------------------------------------------------------------------

    def append(self, block: Block, size: int | None = None) -> None:
        """Add what was said, called or returned.

        Parameters
        ----------
        block : Block
            ``request`` 0 is set to the next request.
        size : int, optional
            Its tokens, message overhead included, where known; counted otherwise.
        """
        if block.request == 0:
            block = replace(block, request=self.requests + 1)
        first = block.message is None or block.message != self._last_message or not self._slots
        self._last_message = block.message
        overhead = MESSAGE_OVERHEAD if first else 0
        if size is None:
            size = self._count(block.text) + overhead
        slot = _Slot(block, size, min(overhead, size), len(self._slots))
        self._slots.append(slot)
        self._total += size
        if block.kind == "call":
            self._waiting.setdefault(block.call_id, []).append(slot)
        elif block.kind == "result":
            self._pair(slot)
            if block.edited is None and block.tool not in self.policy.pinned:
                self._fresh.append(slot)
                if len(self._fresh) > self.policy.keep:
                    self._age(self._fresh.popleft())
        elif block.kind == "thinking":
            self._thinking += 1
        elif block.role == "user":
            self._spoke = slot

    def total(self) -> int:
        """Tokens of the context as it stands, before the next request's edits."""
        return self._total

    def prepare(self) -> list[Block]:
        """Climb the ladder and return the messages of the next request.

        Returns
        -------
        list of Block
            Without the system prompt: every provider takes that apart.

        Raises
        ------
        ContextOverflow
            If the context does not fit the window after every rung.
        EditRefused
            If an edit would invalidate thinking and the policy says to refuse.
        """
        self._climb()
        window = self.policy.window
        if window is not None and self._total > window:
            self.requests -= 1  # it cannot be sent
            raise ContextOverflow(self._total, window)
        self._report()
        return self.blocks()

    def blocks(self) -> list[Block]:
        """The messages as they stand, as a new list."""
        return [slot.block for slot in self._slots]

    def blocks_from(self, position: int) -> list[Block]:
        """The messages from a position on."""
        return [slot.block for slot in self._slots[position:]]

    def step(self) -> Step:
        """Climb the ladder for the next request; :meth:`prepare` without the copy and the overflow error."""
        self._climb()
        return self._report()

    def _climb(self) -> None:
        self.requests += 1
        policy = self.policy
        if policy.trigger is None or self._total <= policy.trigger:
            return
        try:
            self._clear()
            if policy.compact_above is not None and self._total > policy.compact_above:
                self._compact()
        except BaseException:
            self.requests -= 1  # refused, or the summarizer failed: the request was not made
            raise

    def _report(self) -> Step:
        step = Step(
            self.requests,
            self._total,
            self._kept,
            self._edited_from,
            len(self._slots),
            tuple(self._removed),
            tuple(self._added),
            tuple(self.events[self._reported :]),
        )
        self._removed, self._added, self._reported = [], [], len(self.events)
        self._kept, self._edited_from = self._total, len(self._slots)
        return step

    # -- clear ----------------------------------------------------------------------------------

    def _age(self, slot: _Slot) -> None:
        """A newer result pushed this one out of ``keep``: make its stub once, when it becomes stale."""
        replacement = stub(slot.block, slot.size, self.policy.stub_chars)
        size = self._count(replacement.text) + slot.overhead
        if size >= slot.size and self.policy.stub_if_smaller:
            return
        slot.stub, slot.stub_size = replacement, size
        self._stale.append(slot)
        self._saving += slot.size - size

    def _clear(self) -> None:
        if not self._stale or self._saving < self.policy.floor:
            return
        first = min(slot.position for slot in self._stale)
        self._drop(self._bound_after(first))
        kept = self._intact_before(first)
        unread = sum(slot.block.request >= self.requests for slot in self._stale)
        for slot in self._stale:
            assert slot.stub is not None
            self._replace(slot, slot.stub, slot.stub_size)
        self.events.append(Event(self.requests, "cleared", len(self._stale), self._saving, kept, unread))
        self._stale, self._saving = [], 0

    def _replace(self, slot: _Slot, block: Block, size: int) -> None:
        self._removed.append((slot.block, slot.size))
        self._added.append((block, size))
        self._total += size - slot.size
        slot.block, slot.size, slot.stub = block, size, None

    # -- compact --------------------------------------------------------------------------------

    def _compact(self) -> None:
        cut = self._cut()
        weight = self._total - (self.prefix_tokens or 0) - sum(slot.size for slot in self._slots[cut:])
        if cut == 0 or weight < max(self.policy.floor, self._retry_above):
            return
        old = self._slots[:cut]
        bound = self._bound_after(cut)
        blocks = [slot.block for slot in old]
        summary = self._summarizer.summarize(blocks, self.read_notes())
        block = summary_block(summary, blocks)
        size = self._count(block.text) + MESSAGE_OVERHEAD
        if size >= weight:
            # Summarizing again at every request would cost time, and with a model money, for nothing.
            self._retry_above = weight + max(self.policy.floor, weight // 4, 1)
            if summary.usage is not None:
                self.events.append(Event(self.requests, "compacted", 0, 0, self._kept, usage=summary.usage))
            return
        self._retry_above = 0
        self._drop(bound)
        messages = sum(not self._same_message(slot.position) for slot in old)
        unread = sum(b.kind == "result" and b.edited is None and b.request >= self.requests for b in blocks)
        kept = self._intact_before(0)
        self._forget(cut, block, size)
        event = Event(self.requests, "compacted", messages, weight - size, kept, unread, summary.dropped, summary.usage)
        self.events.append(event)

    def _forget(self, cut: int, summary: Block, size: int) -> None:
        old = self._slots[:cut]
        self._removed += [(slot.block, slot.size) for slot in old]
        self._added.append((summary, size))
        self._total += size - sum(slot.size for slot in old)
        self._thinking -= sum(slot.block.kind == "thinking" for slot in old)
        for slot in old:
            slot.position = -1
        self._set_slots([_Slot(summary, size, MESSAGE_OVERHEAD, 0), *self._slots[cut:]])
        self._fresh = deque(s for s in self._fresh if s.position >= 0)
        self._stale = [s for s in self._stale if s.position >= 0]
        self._saving = sum(s.size - s.stub_size for s in self._stale)
        left = {i: [s for s in slots if s.position >= 0] for i, slots in self._waiting.items()}
        self._waiting = {i: slots for i, slots in left.items() if slots}

    def _cut(self) -> int:
        """How many slots a summary may replace; see :func:`labkit.ladder.rungs.summary_cut`."""
        slots = self._slots
        cut = self._recent_from(self.policy.keep_recent)
        spoke = -1 if self._spoke is None else self._spoke.position
        for waiting in self._waiting.values():
            cut = min([cut, *(slot.position for slot in waiting if slot.position > spoke)])
        looked_to = len(slots)
        while cut > 0:
            calls = [s.call.position for s in slots[cut:looked_to] if s.call is not None and s.call.position >= 0]
            lower = min([cut, *calls])
            while lower < len(slots) and self._same_message(lower):
                lower -= 1
            if lower == cut:
                break
            cut, looked_to = lower, cut
        return cut

    def _recent_from(self, messages: int) -> int:
        """Position at which the newest ``messages`` messages begin."""
        position = len(self._slots)
        while messages > 0 and position > 0:
            position -= 1
            while self._same_message(position):
                position -= 1
            messages -= 1
        return position

    def _same_message(self, position: int) -> bool:
        """Whether a slot goes on with the message of the slot before it."""
        if position == 0:
            return False
        here, before = self._slots[position].block, self._slots[position - 1].block
        return here.message is not None and here.message == before.message

    # -- shared -----------------------------------------------------------------------------------

    def _pair(self, slot: _Slot) -> None:
        waiting = self._waiting.get(slot.block.call_id)
        if waiting:
            slot.call = waiting.pop()
            if not waiting:
                del self._waiting[slot.block.call_id]

    def _set_slots(self, slots: list[_Slot]) -> None:
        self._slots = slots
        for position, slot in enumerate(slots):
            slot.position = position

    def _intact_before(self, position: int) -> int:
        """Tokens of the previous request that stand unchanged, once a position is edited.

        Called before the edit: between the position and the earlier edits nothing has changed yet.
        """
        if position < self._edited_from:
            self._kept -= sum(slot.size for slot in self._slots[position : self._edited_from])
            self._edited_from = position
        return self._kept

    def _bound_after(self, position: int) -> list[_Slot]:
        """Thinking that an edit before it would invalidate; refuses if the policy says so."""
        if not self.thinking_bound or self.policy.edits_at == "server" or not self._thinking:
            return []
        bound = [slot for slot in self._slots[position:] if slot.block.kind == "thinking"]
        if bound and self.policy.bound_thinking == "refuse":
            raise EditRefused(
                f"an edit at request {self.requests} would invalidate {len(bound)} thinking "
                f"block{'s' if len(bound) > 1 else ''} that this model binds to the exact prefix: "
                "edit on the server (edits_at='server'), or drop the thinking (bound_thinking='drop')"
            )
        return bound

    def _drop(self, bound: list[_Slot]) -> None:
        if not bound:
            return
        kept = self._intact_before(bound[0].position)
        before = self._total
        for slot in bound:
            following = slot.position + 1
            if slot.overhead and following < len(self._slots) and self._same_message(following):
                # The message goes on without its first block, so its overhead moves to the next one.
                heir = self._slots[following]
                self._removed.append((heir.block, heir.size))
                heir.size, heir.overhead = heir.size + slot.overhead, heir.overhead + slot.overhead
                self._added.append((heir.block, heir.size))
                self._total += slot.overhead
            self._removed.append((slot.block, slot.size))
            self._total -= slot.size
        gone, first = {id(slot) for slot in bound}, bound[0].position
        self._slots[first:] = [slot for slot in self._slots[first:] if id(slot) not in gone]
        for position in range(first, len(self._slots)):
            self._slots[position].position = position
        self._thinking -= len(bound)
        self.events.append(Event(self.requests, "dropped_thinking", len(bound), before - self._total, kept))
