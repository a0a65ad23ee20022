"""One conversation, followed from request to request.

Each request holds its whole conversation, so what is new in it is found by comparing it with the one
before; what is missing from it was taken out by the client and becomes an edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from labkit.record.formats.builder import TraceBuilder
from labkit.record.trace import Block, Edit, Prefix, Trace, TraceKind, Usage

__all__ = ["Exchange", "Message", "Thread", "key_of"]

Key = tuple[str, str, str, str | None]
Message = Sequence[Block]


@dataclass(frozen=True)
class Exchange:
    """One call of the model.

    Parameters
    ----------
    asked : sequence of messages, optional
        The whole conversation as sent, without the system prompt; ``None`` if it was not recorded.
    answered : sequence of Block
        What came back; empty if that was not recorded.
    more : bool
        Whether ``asked`` holds only what is new, because the provider keeps the rest.
    cleared : int
        How many results in all the provider cleared in this request, the oldest first.
    spared : frozenset of str
        Tools whose results it never clears.
    summarized : bool
        Whether the provider summarized what was sent; the summary is the first block of the answer.
    beside : tuple of Trace
        Other calls of a model that the provider made, and billed, for this one.
    """

    asked: Sequence[Message] | None = None
    answered: Message = ()
    prefix: Prefix | None = None
    start: float | None = None
    model: str | None = None
    usage: Usage | None = None
    id: str | None = None
    more: bool = False
    cleared: int = 0
    spared: frozenset[str] = frozenset()
    summarized: bool = False
    beside: tuple[Trace, ...] = ()


def key_of(block: Block) -> Key:
    """What makes two blocks the same, whoever wrote them down."""
    # Clients parse a call's arguments and write them again, with other white space.
    text = "".join(block.text.split()) if block.kind == "call" else block.text.strip()
    return block.kind, block.role, text, block.call_id


@dataclass
class Thread:
    """One conversation; ``context`` is what its last request carried, in order, with the positions."""

    first: int
    last: int = 0
    run: TraceBuilder = field(default_factory=TraceBuilder)
    context: list[tuple[Key, int]] = field(default_factory=list)
    open: Exchange | None = None  # its answer is placed when it is known how the client sent it back
    beside: list[Trace] = field(default_factory=list)
    blind: int = 0
    unrecorded: int = 0
    changed: int = 0
    thoughts: int = 0
    lost: int = 0
    cleared: set[int] = field(default_factory=set)

    def add(self, exchange: Exchange) -> None:
        """Take the next call of this conversation."""
        if exchange.asked is None:
            self.settle()
            self.blind += 1
        else:
            self._take([[(key_of(b), b) for b in m] for m in exchange.asked], exchange.more)
        self.beside += exchange.beside
        self.open = exchange

    def newest(self) -> set[Key]:
        """What was said last and is not said by chance in another conversation too."""
        keys = [key for key, _ in self.context[-8:]]
        keys += [key_of(b) for b in self.open.answered] if self.open is not None else []
        return {k for k in keys if k[0] in ("call", "result", "summary") or (k[0] == "text" and len(k[2]) >= 40)}

    def settle(self, sent_back: Message | None = None) -> None:
        """Add the open request with its answer, as it was sent back or else as it came."""
        exchange, self.open = self.open, None
        if exchange is None:
            return
        if exchange.prefix is not None:
            self.run.prefix(exchange.prefix.system, exchange.prefix.tools)
        self._clear(exchange)
        answer = list(exchange.answered if sent_back is None else sent_back)
        if exchange.summarized and answer and answer[0].kind == "summary":
            self.run.summarize([p for _, p in self.context], answer[:1], summary=0, trigger="provider")
            self.context = self._since(len(self.run.blocks) - 1)
            answer = answer[1:]
        first = len(self.run.blocks)
        self.run.respond(answer, start=exchange.start, model=exchange.model, usage=exchange.usage, id=exchange.id)
        self.context += self._since(first)
        at = next((n for n in range(len(self.context) - 1, -1, -1) if self.context[n][0][0] == "summary"), 0)
        if at and (exchange.more or exchange.asked is None) and self.context[at][1] >= first:
            # The provider keeps the context, so it is the one to replace it.
            self.run.remove(
                "summary", [p for _, p in self.context[:at]], summary=self.context[at][1], trigger="provider"
            )
            self.context = self.context[at:]

    def _since(self, first: int) -> list[tuple[Key, int]]:
        """What was placed from a position on: less than was given, where a call is answered twice."""
        return [(key_of(self.run.blocks[p]), p) for p in range(first, len(self.run.blocks))]

    def _clear(self, exchange: Exchange) -> None:
        """Clear in the record what the provider cleared: its answer tells only how many."""
        results = [p for (kind, *_), p in self.context if kind == "result"]
        due = [p for p in results if self.run.blocks[p].tool not in exchange.spared][: exchange.cleared]
        self.lost += exchange.cleared - len(due)
        new = [p for p in due if p not in self.cleared]
        if new:
            self.run.edits.append(_cleared(len(self.run.requests) + 1, tuple(new)))
            self.cleared.update(new)

    def _take(self, asked: list[list[tuple[Key, Block]]], more: bool) -> None:
        messages = [message for message in asked if message]
        flat = [key for message in messages for key, _ in message]
        if more:
            self.settle()
            self.say(messages)
            return
        shared = 0
        while shared < min(len(flat), len(self.context)) and flat[shared] == self.context[shared][0]:
            shared += 1
        if shared < len(self.context):
            answered = self.open.answered if self.open is not None else ()
            sent = [b for b in answered if b.kind != "thinking" or key_of(b) in flat]
            self.thoughts += len(sent) < len(answered)
            self.settle(sent)
            self._merge(messages)
            return
        rest = _after(messages, shared)
        if self.open is not None:
            rest = self._answer(rest)
        self.say(rest)

    def _answer(self, rest: list[list[tuple[Key, Block]]]) -> list[list[tuple[Key, Block]]]:
        """Settle the open answer with the form in which it was sent back; returns what follows it."""
        assert self.open is not None
        given = [key_of(b) for b in self.open.answered]
        flat = [pair for message in rest for pair in message]
        if given and [key for key, _ in flat[: len(given)]] == given:
            self.settle([b for _, b in flat[: len(given)]])
            return _after(rest, len(given))
        said = [key for key in given if key[0] != "thinking"]
        if said and said != given and [key for key, _ in flat[: len(said)]] == said:
            self.thoughts += 1
            self.settle([b for _, b in flat[: len(said)]])
            return _after(rest, len(said))
        if rest and rest[0][0][1].role == "assistant":
            self.changed += bool(given)
            self.settle([b for _, b in rest[0]])
            return rest[1:]
        before = list(self.context)
        self.settle()
        left = [p for _, p in self.context[len(before) :]]
        if left:
            self.run.remove("evict", left, trigger="not sent again")
        self.context = before
        return rest

    def say(self, messages: list[list[tuple[Key, Block]]]) -> None:
        """Add messages that are new, in the form in which they were sent."""
        for i, message in enumerate(messages):
            blocks = [b for _, b in message]
            first = len(self.run.blocks)
            # The model wrote it; only the last message may be a beginning that the client gave it.
            if blocks[0].role == "assistant" and i < len(messages) - 1:
                self.unrecorded += 1
                self.run.respond(blocks)
            else:
                self.run.say(blocks)
            self.context += self._since(first)

    def _merge(self, messages: list[list[tuple[Key, Block]]]) -> None:
        """Take a request from which something is missing."""
        old = self.context
        new = [(key, b, n) for n, message in enumerate(messages) for key, b in message]
        self.context = []
        matcher = SequenceMatcher(None, [key for key, _ in old], [key for key, _, _ in new], autojunk=False)
        for step, a, b, c, d in matcher.get_opcodes():
            gone, come = old[a:b], new[c:d]
            if step == "equal":
                self.context += gone
            elif step == "delete" and b < len(old) and old[b][0][0] == "summary":
                self.run.remove("summary", [p for _, p in gone], summary=old[b][1])
            elif _rewritten(gone, come):
                for (_, position), (key, block, _) in zip(gone, come, strict=True):
                    self.run.remove("clear", [position], stub=block.text)
                    self.context.append((key, position))
            elif gone and 0 < len(come) < len(gone) and come[0][1].role == "user":
                first = len(self.run.blocks)
                self.run.summarize([p for _, p in gone], [block for _, block, _ in come], summary=0)
                self.context += [(key, first + i) for i, (key, _, _) in enumerate(come)]
            else:
                if gone:
                    self.run.remove("evict", [p for _, p in gone], trigger="not sent again")
                by_message: dict[int, list[tuple[Key, Block]]] = {}
                for key, block, number in come:
                    by_message.setdefault(number, []).append((key, block))
                self.say([*by_message.values()])

    def trace(self, name: str, source: str, kind: TraceKind) -> Trace:
        """The Trace, with a remark for each guess."""
        self.settle()
        trace = self.run.trace(name, source, kind, self.beside)
        remarks = [
            (self.blind, "answers are recorded without what was sent: the trace holds the model's side of them"),
            (self.unrecorded, "answers are known only from later requests: they have no usage and no time"),
            (self.changed, "answers were sent back in another form; that form is kept"),
            (self.thoughts, "answers were sent back without their thoughts, which are left out"),
            (self.lost, "results were cleared by the provider that are not in the record; not applied"),
        ]
        return replace(trace, warnings=(*trace.warnings, *(f"{n} {what}" for n, what in remarks if n)))


def _cleared(request: int, positions: tuple[int, ...]) -> Edit:
    return Edit("clear", request, positions, trigger="provider")


def _after(messages: list[list[tuple[Key, Block]]], count: int) -> list[list[tuple[Key, Block]]]:
    """The messages without their first ``count`` blocks."""
    rest = []
    for message in messages:
        if count < len(message):
            rest.append(message[count:])
        count = max(count - len(message), 0)
    return rest


def _rewritten(gone: list[tuple[Key, int]], come: list[tuple[Key, Block, int]]) -> bool:
    """Whether results were only replaced by other words, each in its place."""
    return (
        bool(gone)
        and [(k[0], k[3]) for k, _ in gone] == [(k[0], k[3]) for k, _, _ in come]
        and {k[0] for k, _ in gone} == {"result"}
    )
