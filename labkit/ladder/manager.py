"""The ladder in a live agent: append what happened, take the next request, in time that does not grow.

Nothing is counted twice: each block is counted when it is appended, each stub when its result becomes
stale, and sums are kept up to date. So n turns cost O(n), apart from copying the requests out. A policy
that forgets its edits begins anew at each request, and costs what that costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from labkit.errors import ContextOverflow
from labkit.ladder.cap import capped, offload_path
from labkit.ladder.clear import Clearing
from labkit.ladder.compact import Compaction
from labkit.ladder.context import Context, Slot
from labkit.ladder.events import Event, Step
from labkit.ladder.evict import Eviction
from labkit.ladder.gate import bound_after, cold_enough, past_trigger, seen
from labkit.ladder.given import given
from labkit.ladder.hand_off import hand_off
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summarizer
from labkit.ladder.trim import trim
from labkit.record.tokens import MESSAGE_OVERHEAD, get_counter
from labkit.record.trace import Block

__all__ = ["ContextManager"]


def _extractive() -> Summarizer:
    from labkit.ladder.summaries import ExtractiveSummarizer  # here, so that import labkit stays light

    return ExtractiveSummarizer()


def _extracting() -> Summarizer:
    from labkit.ladder.artifact_writer import ArtifactWriter  # here, for the same reason

    return ArtifactWriter()


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
    writer : Summarizer, optional
        Writes the record of a hand off. The default is :class:`labkit.ladder.artifact_writer.ArtifactWriter`,
        or the summarizer where that only models a size.
    read_notes : callable
        Returns the text of the notes file, which a summary ends with.
    count : callable, optional
        Tokens of a text; default the counter in use.
    thinking_bound : bool
        Whether the model binds its thinking to the exact prefix (``CacheRules.thinking_bound``).
    offload : callable
        Keeps a capped result whole and returns the path that its preview names. The default only names a
        path; ``Offload(folder).keep`` of :class:`labkit.ladder.offload.Offload` writes the file.
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
    writer: Summarizer | None = None
    offload: Callable[[Block], str] = offload_path
    events: list[Event] = field(default_factory=list, init=False)
    requests: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        given("policy", self.policy, Policy, "load_policy(name) makes one")
        self._count: Callable[[str], int] = self.count or get_counter().count
        self._summarizer = self.summarizer or _extractive()
        sized = self._summarizer if hasattr(self._summarizer, "of_size") else None
        self._writer = self.writer or sized or _extracting()
        if self.prefix_tokens is None:
            self.prefix_tokens = self._count(self.system) + MESSAGE_OVERHEAD if self.system else 0
        self._context = Context(self.prefix_tokens)
        self._begin()
        self._record: list[tuple[Block, int, int]] = []  # for a policy that forgets its edits
        self._reported = 0  # events that earlier steps reported
        self._last_message: int | None = None

    def _begin(self) -> None:
        self._eviction = Eviction(self.policy, self._count)
        self._clearing = Clearing(self.policy, self._count)
        self._compaction = Compaction(self.policy, self._summarizer, self.read_notes, self._count)

    # -- what an agent calls ------------------------------------------------------------------

    def append(self, block: Block, size: int | None = None) -> None:
        """Add what was said, called or returned; a result larger than the cap is shaped first.

        Parameters
        ----------
        block : Block
            ``request`` 0 is set to the next request.
        size : int, optional
            Its tokens, message overhead included, where known; counted otherwise.
        """
        if block.request == 0:
            block = replace(block, request=self.requests + 1)
        first = block.message is None or block.message != self._last_message or not self._context.slots
        self._last_message = block.message
        overhead = MESSAGE_OVERHEAD if first else 0
        if size is None:
            size = self._count(block.text) + overhead
        if block.kind == "result" and block.edited is None and (self.policy.cap or self.policy.cap_of):
            block, size = self._cap(block, size, min(overhead, size))
        if not self.policy.remembers:
            self._record.append((block, size, overhead))
        self._enter(self._context, block, size, overhead)

    def _cap(self, block: Block, size: int, overhead: int) -> tuple[Block, int]:
        shaped = capped(block, size - overhead, self.policy, self._count, self.offload)
        if shaped is None:
            return block, size
        preview, tokens = shaped[0], shaped[1] + overhead
        self._context.removed.append((block, size))
        self._context.added.append((preview, tokens))
        self.events.append(
            Event(
                self.requests + 1,
                "capped",
                1,
                size - tokens,
                self._context.kept,
                unread=1,
                offloaded=int(self.policy.offload),
                removed=size,
                added=tokens,
            )
        )
        return preview, tokens

    def _enter(self, context: Context, block: Block, size: int, overhead: int) -> None:
        slot = context.append(block, size, overhead)
        self._clearing.appended(slot)
        self._eviction.appended(slot)

    def total(self) -> int:
        """Tokens of the context as it stands, before the next request's edits."""
        return self._context.total

    def prepare(self, *, idle: float | None = None, warm: int | None = None, before_pause: bool = False) -> list[Block]:
        """Climb the ladder and return the messages of the next request.

        Parameters
        ----------
        idle, warm, before_pause
            As in :meth:`step`.

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
        self._climb(idle, warm, before_pause)
        window = self.policy.window
        if window is not None and self._context.total > window:
            self.requests -= 1  # it cannot be sent
            raise ContextOverflow(self._context.total, window)
        self._report()
        return self.blocks()

    def blocks(self) -> list[Block]:
        """The messages as they stand, as a new list."""
        return [slot.block for slot in self._context.slots]

    def blocks_from(self, position: int) -> list[Block]:
        """The messages from a position on."""
        return [slot.block for slot in self._context.slots[position:]]

    def step(self, *, idle: float | None = None, warm: int | None = None, before_pause: bool = False) -> Step:
        """Climb the ladder for the next request; :meth:`prepare` without the copy and the overflow error.

        Parameters
        ----------
        idle : float, optional
            Seconds since the request before, for ``Policy.only_cold``.
        warm : int, optional
            Tokens of the prompt that the cache would still read, for the same.
        before_pause : bool
            Whether the next pause will outlive the cache, for ``Policy.compact_before_pause``.
        """
        self._climb(idle, warm, before_pause)
        return self._report()

    # -- the ladder -----------------------------------------------------------------------------

    def _climb(self, idle: float | None, warm: int | None, before_pause: bool) -> None:
        self.requests += 1
        cold = cold_enough(self.policy, idle, warm)
        made = len(self.events)
        try:
            if self.policy.remembers:
                self._rungs(self._context, cold, before_pause)
                return
            self._begin()
            anew = Context(self._context.prefix_tokens)
            for entry in self._record:
                self._enter(anew, *entry)
            self._rungs(anew, cold, before_pause)
            self._context.adopt(anew)
            self.events[made:] = [replace(event, kept_prefix=self._context.kept) for event in self.events[made:]]
        except BaseException:
            self.requests -= 1  # refused, or the summarizer failed: the request was not made
            raise

    def _rungs(self, context: Context, cold: bool, before_pause: bool) -> None:
        policy = self.policy
        if policy.evict and cold:
            self._evict(context)
        if cold and past_trigger(context, policy):
            self._clear(context)
            if policy.compact_above is not None and seen(context, policy) > policy.compact_above:
                self._compact(context)
            if policy.trim is not None:
                self._trim(context)
        elif (
            policy.compact_before_pause
            and before_pause
            and policy.compact_above is not None
            and seen(context, policy) > policy.compact_above
        ):
            self._compact(context)
        if policy.hand_off_above is not None and seen(context, policy) > policy.hand_off_above:
            event = hand_off(context, self.requests, self._writer, self.read_notes, self._count)
            if event is not None:
                self.events.append(event)
                self._clearing.rebuild(context)

    def _evict(self, context: Context) -> None:
        found: list[Slot] = []
        event = self._eviction.act(context, self.requests, self._check(context, found))
        self._made(context, [event] if event else [], found)

    def _clear(self, context: Context) -> None:
        found: list[Slot] = []
        self._made(context, self._clearing.act(context, self.requests, self._check(context, found)), found)

    def _compact(self, context: Context) -> None:
        found: list[Slot] = []
        check = self._check(context, found)
        event = self._compaction.act(
            context, self.requests, lambda start, cut: check(cut), lambda: self._drop(context, found)
        )
        if event is not None:
            self.events.append(event)
            if event.messages:
                self._clearing.rebuild(context)

    def _trim(self, context: Context) -> None:
        found: list[Slot] = []
        event = trim(context, self.policy, self.requests, self._check(context, found))
        if event is not None:
            self._made(context, [event], found)
            self._clearing.rebuild(context)

    def _check(self, context: Context, found: list[Slot]) -> Callable[[int], None]:
        """Refuse an edit in front of bound thinking, or note the thinking that has to go."""

        def check(position: int) -> None:
            found[:] = bound_after(context, position, self.policy, bound=self.thinking_bound, request=self.requests)

        return check

    def _made(self, context: Context, events: list[Event], bound: list[Slot]) -> None:
        self._drop(context, [slot for slot in bound if slot.position >= 0])
        self.events += events

    def _drop(self, context: Context, bound: list[Slot]) -> None:
        if not bound:
            return
        kept = context.intact_before(bound[0].position)
        freed = context.drop(bound)
        self.events.append(Event(self.requests, "dropped_thinking", len(bound), freed, kept, removed=freed))

    def _report(self) -> Step:
        context = self._context
        step = Step(
            self.requests,
            context.total,
            context.kept,
            context.edited_from,
            len(context.slots),
            tuple(context.removed),
            tuple(context.added),
            tuple(self.events[self._reported :]),
        )
        context.sent()
        self._reported = len(self.events)
        return step
