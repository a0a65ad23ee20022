"""What was sent to a provider and what it answered, put together to conversations.

Several conversations in one record (agents, other runs) come apart by what they begin with; each is
followed by :mod:`labkit.record.formats.traffic_thread`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labkit.record.formats.several import several
from labkit.record.formats.traffic_thread import Exchange, Message, Thread, key_of
from labkit.record.trace import Prefix, Trace

__all__ = ["Exchange", "Traffic"]


class Traffic:
    """Collects calls in the order of sending; :meth:`trace` makes the Trace.

    Examples
    --------
    >>> from labkit.record.trace import Block
    >>> ask, answer = Block("text", "user", "Two and two?"), Block("text", "assistant", "Four.")
    >>> traffic = Traffic()
    >>> traffic.add(Exchange([[ask]], [answer]))
    >>> traffic.add(Exchange([[ask], [answer], [Block("text", "user", "And one?")]], [Block("text", "assistant", "5")]))
    >>> [(b.request, b.text) for b in traffic.trace("sums", "made up").blocks]
    [(1, 'Two and two?'), (2, 'Four.'), (2, 'And one?'), (3, '5')]
    """

    def __init__(self, single: bool = False) -> None:
        self._single = single  # whether all calls are known to be of one conversation
        self._threads: list[Thread] = []
        self._count = 0

    def __bool__(self) -> bool:
        """Whether there was any call."""
        return self._count > 0

    def add(self, exchange: Exchange) -> None:
        """Take one call."""
        self._count += 1
        thread = self._thread_of(exchange)
        thread.last = self._count
        thread.add(exchange)

    def trail(self, messages: Sequence[Message], first: int) -> None:
        """Take what followed the last answer, from message ``first`` on: no request that carries it is known."""
        if self._threads and self._threads[-1].open is not None and messages[first:]:
            thread = self._threads[-1]
            thread.settle()
            thread.say([[(key_of(b), b) for b in message] for message in messages[first:] if message])

    def history(self, messages: Sequence[Message], prefix: Prefix | None = None) -> None:
        """Take a conversation by itself: each of the model's messages was an answer without recorded usage."""
        self._count += 1
        self._threads.append(Thread(self._count, self._count))
        run = self._threads[-1].run
        if prefix is not None:
            run.prefix(prefix.system, prefix.tools)
        for blocks in messages:
            if any(b.role == "assistant" for b in blocks):
                run.respond(blocks)
            else:
                run.say(blocks)

    def _thread_of(self, exchange: Exchange) -> Thread:
        if self._threads and (self._single or exchange.asked is None or exchange.more):
            return self._threads[-1]
        keys = [key_of(b) for m in exchange.asked or () for b in m]
        for thread in reversed(self._threads):
            context = [key for key, _ in thread.context]
            # The beginning of a longer conversation and nothing else is another run of the same task.
            again = len(keys) < len(context) and keys == context[: len(keys)]
            if keys and context and keys[0] == context[0] and not again:
                return thread
        known = set(keys)
        for thread in reversed(self._threads):
            # After a compaction the beginning is new, but the newest words are still there.
            if known & thread.newest():
                return thread
        self._threads.append(Thread(self._count))
        return self._threads[-1]

    def trace(self, name: str, source: str, warnings: Sequence[str] = ()) -> Trace:
        """The Trace: of several conversations, those within the time of the longest are its children."""
        for thread in self._threads:
            thread.settle()
        if not self._threads:
            return Trace(name, (), (), source=source, warnings=tuple(warnings))
        main = max(self._threads, key=lambda t: len(t.run.requests))
        inside = [t for t in self._threads if t is not main and main.first < t.first and t.last < main.last]
        agents = tuple(t.trace(f"{name}-{i}", source, "subagent") for i, t in enumerate(inside, 1))
        runs: list[Trace] = []
        for thread in (t for t in self._threads if t not in inside):
            alone = len(self._threads) == len(inside) + 1
            trace = thread.trace(name if alone else f"{name}-{len(runs) + 1}", source, "session")
            if thread is main and agents:
                said = f"{len(agents)} conversations within the time of this one are kept apart as its children"
                trace = replace(trace, children=(*trace.children, *agents), warnings=(*trace.warnings, said))
            runs.append(trace)
        return several(runs, name, source, tuple(warnings))
