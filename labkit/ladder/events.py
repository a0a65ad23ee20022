"""What the manager reports: an event for each edit, a step for each request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from labkit.ladder.policy import Side
from labkit.record.trace import Block, Usage

__all__ = ["Event", "EventKind", "Step"]

EventKind = Literal["capped", "evicted", "cleared", "dropped_thinking", "compacted", "trimmed", "handed_off"]


@dataclass(frozen=True)
class Event:
    """One edit the manager made.

    Parameters
    ----------
    request : int
        Index of the request before which it happened.
    kind : {"capped", "evicted", "cleared", "dropped_thinking", "compacted", "trimmed", "handed_off"}
        What was done.
    messages : int
        How many results were capped, evicted or cleared, thinking blocks dropped, or messages summarized,
        trimmed or left behind; 0 where a model was paid for a summary that was no smaller and so was not used.
    freed : int
        Tokens by which the context shrank.
    kept_prefix : int
        Tokens of the previous request that still stand unchanged before the edit: what a cache can
        still read.
    unread : int
        Results that no request had carried whole when the edit took them.
    offloaded : int
        Those of them that are kept in a file whose path the context names.
    side : {"client", "server"}
        Who edited.
    removed, added : int
        Tokens taken out of the context and put into it; ``freed`` is the difference.
    dropped : tuple of str
        Entries a summarizer's caps left out.
    usage : Usage, optional
        What the summarizer's own model call was billed.
    """

    request: int
    kind: EventKind
    messages: int
    freed: int
    kept_prefix: int = 0
    unread: int = 0
    dropped: tuple[str, ...] = ()
    usage: Usage | None = None
    offloaded: int = 0
    side: Side = "client"
    removed: int = 0
    added: int = 0

    def __str__(self) -> str:
        """One line, as an event log prints it.

        Examples
        --------
        >>> print(Event(12, "cleared", 8, 21_903))
        request 12: cleared 8 tool results (-21,903)
        """
        words = ("compacted", "trimmed", "handed_off")
        what = {**dict.fromkeys(words, "messages"), "dropped_thinking": "thinking blocks"}
        verb = {"dropped_thinking": "dropped", "handed_off": "handed off"}.get(self.kind, self.kind)
        return f"request {self.request}: {verb} {self.messages} {what.get(self.kind, 'tool results')} (-{self.freed:,})"


@dataclass(frozen=True)
class Step:
    """What one request looks like from outside, without a copy of its blocks.

    Parameters
    ----------
    request : int
        Index of the request.
    total : int
        Its input in tokens.
    shared : int
        Tokens at its start that equal the start of the previous request.
    intact : int
        Number of leading blocks that equal the previous request's.
    blocks : int
        Number of blocks in it.
    removed, added : tuple of (Block, int)
        Blocks that an edit took out of the context or put into it, with their tokens.
    events : tuple of Event
    """

    request: int
    total: int
    shared: int
    intact: int
    blocks: int
    removed: tuple[tuple[Block, int], ...] = ()
    added: tuple[tuple[Block, int], ...] = ()
    events: tuple[Event, ...] = ()
