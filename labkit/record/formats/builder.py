"""Putting a Trace together from a log: what was said, what was answered, what was taken out.

A reader hands over the parts in the order in which they happened; the builder numbers requests and
messages, pairs results with calls, and keeps what is in the context, so that an edit can name the
positions it removed.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from labkit.record.formats.quick import placed
from labkit.record.trace import Block, Edit, EditKind, Prefix, Request, Trace, TraceKind, Usage

__all__ = ["TraceBuilder"]


class TraceBuilder:
    """Collects one thread of a run; :meth:`trace` makes the Trace.

    Attributes
    ----------
    live : dict of int to None
        Positions of the blocks that are in the context now, in order.
    warnings : list of str
        One sentence for each kind of thing that was skipped or guessed.
    skipped : Counter of str
        How many entries of which unknown type were passed over.

    Examples
    --------
    >>> run = TraceBuilder()
    >>> run.say([Block("text", "user", "How many files?")])
    range(0, 1)
    >>> run.respond([Block("call", "assistant", "ls {}", tool="ls", args="", call_id="c1")])
    1
    >>> run.say([Block("result", "tool", "3", call_id="c1")])
    range(2, 3)
    >>> run.respond([Block("text", "assistant", "Three.")])
    2
    >>> [(b.request, b.message, b.tool) for b in run.trace("tiny", "made up").blocks]
    [(1, 0, None), (2, 1, 'ls'), (2, 2, 'ls'), (3, 3, None)]
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.requests: list[Request] = []
        self.edits: list[Edit] = []
        self.prefixes: list[Prefix] = []
        self.live: dict[int, None] = {}
        self.warnings: list[str] = []
        self.skipped: Counter[str] = Counter()
        self._message = -1
        self._open: dict[str, list[Block]] = {}
        self._answered: set[str] = set()
        self._again = 0
        self._orphans: list[int] = []

    def say(self, blocks: Iterable[Block]) -> range:
        """Put one message into the input of the next request; returns the new positions.

        Results that follow each other are one message, as the answers to parallel calls are. A result
        gets tool and arguments of the nearest earlier call of its id that is not answered yet; a second
        answer to a call is dropped and counted.
        """
        said = blocks if isinstance(blocks, list) else list(blocks)
        goes_on = bool(self.blocks) and self.blocks[-1].role == "tool" and all(b.role == "tool" for b in said)
        return self._pair(said, goes_on)

    def respond(
        self,
        blocks: Sequence[Block] = (),
        *,
        start: float | None = None,
        model: str | None = None,
        usage: Usage | None = None,
        id: str | None = None,
    ) -> int:
        """Add a request and what it answered; returns its index.

        The prefix is the last one given to :meth:`prefix`.
        """
        prefix = max(len(self.prefixes) - 1, 0)
        self.requests.append(Request(len(self.requests) + 1, start, model, prefix, usage, id))
        self._pair(blocks, goes_on=False)
        return len(self.requests)

    def go_on(self, blocks: Sequence[Block]) -> None:
        """Add more blocks to the last response."""
        goes_on = bool(self.blocks) and self.blocks[-1].role == "assistant"
        self._pair(blocks, goes_on)

    def set_usage(self, index: int, usage: Usage | None) -> None:
        """Note the usage of a request that was added before."""
        r = self.requests[index - 1]
        self.requests[index - 1] = Request(r.index, r.start, r.model, r.prefix, usage, r.id)

    def bring_back(self, positions: Iterable[int]) -> range:
        """Put blocks that had left the context into it again, as new blocks of the same messages."""
        first, message = len(self.blocks), -1
        for block in [self.blocks[p] for p in positions]:
            self._place(block, block, goes_on=block.message == message)
            message = block.message if block.message is not None else -1
        return range(first, len(self.blocks))

    def prefix(self, system: str | None, tools: str | None = None) -> None:
        """System prompt and tool schemas of the requests from here on."""
        prefix = Prefix(system, tools)
        if not self.prefixes or self.prefixes[-1] != prefix:
            self.prefixes.append(prefix)

    def remove(
        self,
        kind: EditKind,
        positions: Collection[int],
        *,
        summary: int | None = None,
        stub: str = "",
        trigger: str = "",
    ) -> None:
        """Note an edit that the log holds; it takes effect with the next request."""
        found = tuple(sorted(p for p in set(positions) if p in self.live))
        self.edits.append(Edit(kind, len(self.requests) + 1, found, summary, stub, trigger))
        if not stub:
            for position in found:
                del self.live[position]

    def summarize(
        self, positions: Collection[int], blocks: Sequence[Block], *, summary: int = -1, trigger: str = ""
    ) -> None:
        """Note a compaction: ``blocks`` stand for what was at ``positions``.

        The one at ``summary`` is the summary itself; others came into the context with it.
        """
        self.remove("summary", positions, trigger=trigger)
        if not blocks:
            return
        made = [replace(b, edited="summary") for b in blocks]
        made[summary] = replace(made[summary], kind="summary", role="user")
        # Not said but placed: results among them were answers before, and still are.
        places = [self._place(block, block, goes_on=False) for block in made]
        self.edits[-1] = replace(self.edits[-1], summary=places[summary])

    def match(self, blocks: Iterable[Block]) -> tuple[set[int], list[Block]]:
        """Tell blocks that are in the context already, by what they say, from new ones.

        Returns
        -------
        kept : set of int
            Positions of the blocks that are there.
        new : list of Block
            The others, in order.
        """
        where: defaultdict[tuple[str, str, str], deque[int]] = defaultdict(deque)
        for position in self.live:
            block = self.blocks[position]
            where[block.kind, block.role, block.text].append(position)
        kept: set[int] = set()
        new: list[Block] = []
        for block in blocks:
            same = where.get((block.kind, block.role, block.text))
            if same:
                kept.add(same.popleft())
            else:
                new.append(block)
        return kept, new

    def _pair(self, blocks: Iterable[Block], goes_on: bool) -> range:
        """Place the blocks of one message: calls wait for their results, results find their calls."""
        first = len(self.blocks)
        for block in blocks:
            call = self._call_of(block) if block.kind == "result" else block
            if call is None:
                continue
            if block.kind == "call" and block.call_id:
                self._open.setdefault(block.call_id, []).append(block)
            self._place(block, call, goes_on)
            goes_on = True
        return range(first, len(self.blocks))

    def _call_of(self, result: Block) -> Block | None:
        """The call that a result answers, the result itself if it has none, ``None`` for a second answer."""
        waiting = self._open.get(result.call_id or "")
        if waiting:
            self._answered.add(result.call_id or "")
            return waiting.pop()
        if result.call_id in self._answered:
            self._again += 1
            return None
        self._orphans.append(len(self.requests) + 1)
        return result

    def _place(self, block: Block, call: Block, goes_on: bool) -> int:
        """Put a block at the end; ``call`` names its tool: itself, or for a result its call."""
        position = len(self.blocks)
        if not goes_on:
            self._message += 1
        self.live[position] = None
        self.blocks.append(placed(block, len(self.requests) + 1, self._message, call))
        return position

    def answered(self, call_id: str) -> bool:
        """Whether a result of this id has come and no call of it waits."""
        return call_id in self._answered and not self._open.get(call_id)

    def trace(self, name: str, source: str, kind: TraceKind = "session", children: Sequence[Trace] = ()) -> Trace:
        """The Trace of everything so far."""
        warnings = list(self.warnings)
        if self._orphans:
            warnings.append(
                f"{len(self._orphans)} results have no call in this file (the first before request "
                f"{self._orphans[0]}); kept"
            )
        if self._again:
            warnings.append(f"{self._again} results answer a call that was answered before; dropped")
        unanswered = sum(map(len, self._open.values()))
        if unanswered:
            warnings.append(f"{unanswered} calls have no result in this file; kept")
        if self.skipped:
            kinds = ", ".join(f"{n} {k!r}" for k, n in sorted(self.skipped.items()))
            warnings.append(f"entries of unknown types were skipped: {kinds}")
        return Trace(
            name=name,
            blocks=tuple(self.blocks),
            requests=tuple(self.requests),
            prefixes=tuple(self.prefixes) or (Prefix(),),
            edits=tuple(self.edits),
            children=tuple(children),
            kind=kind,
            source=source,
            warnings=tuple(warnings),
        )
