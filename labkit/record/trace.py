"""The values everything else works on: blocks, requests and the Trace that holds them.

All values are frozen. Blocks carry text and never token counts: a count depends on a counter, so it
lives in :class:`labkit.record.sizes.Sizes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "Block",
    "Edit",
    "Fact",
    "Kind",
    "Need",
    "Prefix",
    "Request",
    "Role",
    "Trace",
    "Usage",
]

Kind = Literal["text", "thinking", "call", "result", "image", "summary"]
Role = Literal["system", "user", "assistant", "tool"]
EditKind = Literal["clear", "cap", "evict", "summary"]
Quality = Literal["exact", "placeholder", "absent"]
TraceKind = Literal["scripted", "session", "subagent", "compaction"]


@dataclass(frozen=True, slots=True)
class Block:
    """The smallest piece of a context.

    Parameters
    ----------
    kind : {"text", "thinking", "call", "result", "image", "summary"}
        What the block is.
    role : {"system", "user", "assistant", "tool"}
        Who speaks. A summary has the role ``user``, as in the harnesses that write one.
    text : str
        What the model reads.
    request : int
        Index (from 1) of the first request whose input could carry the block. A call made by
        request ``t`` and its result first appear in request ``t + 1``. 0 means not yet known.
    message : int, optional
        Number of the message the block belongs to; ``None`` makes the block a message of its own.
    tool, args, call_id : str, optional
        For a call or a result: the tool, its arguments in short form, the id that pairs the two.
    edited : {"clear", "cap", "evict", "summary"}, optional
        Which edit made this block; ``None`` for what was really said.
    """

    kind: Kind
    role: Role
    text: str
    request: int = 0
    message: int | None = None
    tool: str | None = None
    args: str | None = None
    call_id: str | None = None
    edited: EditKind | None = None

    @property
    def turn(self) -> int:
        """The exchange the block belongs to: a user's text opens it, a call and its result end it."""
        return self.request if self.role == "user" else max(self.request - 1, 0)


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one response, disjoint, as the provider billed them.

    The prompt total is ``uncached + cache_read + cache_write_5m + cache_write_1h``.

    Parameters
    ----------
    uncached, cache_read, cache_write_5m, cache_write_1h, output : int
        Tokens.
    input_quality, output_quality : {"exact", "placeholder", "absent"}
        Whether the record holds the final number, a stream's placeholder, or nothing.

    Examples
    --------
    >>> Usage(uncached=4_000, cache_read=1_100_000, cache_write_5m=90_000).total_input
    1194000
    """

    uncached: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    input_quality: Quality = "exact"
    output_quality: Quality = "exact"

    @property
    def total_input(self) -> int:
        """Size of the prompt in tokens: everything but the output."""
        return self.uncached + self.cache_read + self.cache_write_5m + self.cache_write_1h

    def __add__(self, other: Usage) -> Usage:
        """Add the counts; the sum is as good as its worse part."""
        return Usage(
            self.uncached + other.uncached,
            self.cache_read + other.cache_read,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
            self.output + other.output,
            _worse(self.input_quality, other.input_quality),
            _worse(self.output_quality, other.output_quality),
        )


def _worse(a: Quality, b: Quality) -> Quality:
    order: tuple[Quality, ...] = ("exact", "placeholder", "absent")
    return max(a, b, key=order.index)


@dataclass(frozen=True, slots=True)
class Prefix:
    """What precedes the messages of a request; ``None`` where the record does not hold it."""

    system: str | None = None
    tools: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the model.

    Parameters
    ----------
    index : int
        From 1, in the order of sending.
    start : float, optional
        Time of sending in seconds; in a recorded session since the epoch (UTC), in a scripted run
        since its start.
    model : str, optional
        Name as recorded.
    prefix : int
        Position in ``Trace.prefixes``.
    usage : Usage, optional
        What the provider reported for it.
    id : str, optional
        The provider's id of the response.
    """

    index: int
    start: float | None = None
    model: str | None = None
    prefix: int = 0
    usage: Usage | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to what was already sent, as a session recorded it.

    Parameters
    ----------
    kind : {"clear", "cap", "evict", "summary"}
        Which rung.
    request : int
        Index of the first request sent after it.
    blocks : tuple of int
        Positions in ``Trace.blocks`` of what it removed or replaced.
    summary : int, optional
        For a summary: position of the block that stands for the removed ones.
    stub : str
        For a clear: the text each removed result was replaced by, where known.
    trigger : str
        What set it off, as recorded (``auto``, ``manual``).
    """

    kind: EditKind
    request: int
    blocks: tuple[int, ...]
    summary: int | None = None
    stub: str = ""
    trigger: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something the run must not forget: a label for people and the text that proves it is visible."""

    label: str
    probe: str


@dataclass(frozen=True, slots=True)
class Need:
    """An excerpt of a tool result that a later turn relies on.

    Parameters
    ----------
    source : int
        Position in ``Trace.blocks`` of the result that holds the excerpt.
    request : int
        Index of the request that must still see it.
    excerpt : str
        The text relied on.
    """

    source: int
    request: int
    excerpt: str


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened: a scripted run or a recorded session.

    Parameters
    ----------
    name : str
        Short name for people.
    blocks : tuple of Block
        In the order in which they entered the context.
    requests : tuple of Request
        In order of sending, ``requests[i].index == i + 1``.
    prefixes : tuple of Prefix
        The different system prompts and tool lists of the run.
    edits : tuple of Edit
        What the harness itself changed.
    children : tuple of Trace
        Subagents, and calls that only wrote a summary (``kind == "compaction"``).
    facts : tuple of Fact
        What a scripted run must remember.
    needs : tuple of Need
        Which later request relies on which excerpt.
    kind : {"scripted", "session", "subagent", "compaction"}
        Where it comes from.
    source : str
        The format it was read from, and the file.
    warnings : tuple of str
        What the reader had to skip or guess, one sentence each.
    counts : mapping
        For a redacted session: tokens of the original texts by name of the counter and digest, from the
        file beside it.

    Notes
    -----
    Two traces are equal only if they are the same object: a trace may hold megabytes of text, and
    caches are keyed by it.
    """

    name: str
    blocks: tuple[Block, ...]
    requests: tuple[Request, ...]
    prefixes: tuple[Prefix, ...] = (Prefix(),)
    edits: tuple[Edit, ...] = ()
    children: tuple[Trace, ...] = ()
    facts: tuple[Fact, ...] = ()
    needs: tuple[Need, ...] = ()
    kind: TraceKind = "session"
    source: str = ""
    warnings: tuple[str, ...] = field(default=())
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict, repr=False)

    def new_blocks(self) -> Iterator[tuple[Request, range]]:
        """Yield each request with the positions of the blocks that are new in it.

        Blocks that came after the last request are not yielded; they start at
        ``len(self.blocks) - self.trailing``.
        """
        position = 0
        for request in self.requests:
            start = position
            while position < len(self.blocks) and self.blocks[position].request <= request.index:
                position += 1
            yield request, range(start, position)

    @property
    def trailing(self) -> int:
        """Number of blocks that came after the last request: what it answered, and the results."""
        last = len(self.requests)
        count = 0
        for block in reversed(self.blocks):
            if block.request <= last:
                break
            count += 1
        return count

    @property
    def usage(self) -> Usage | None:
        """Sum of the recorded usages of the main thread, or ``None`` when there are none."""
        usages = [r.usage for r in self.requests if r.usage is not None]
        total = None
        for usage in usages:
            total = usage if total is None else total + usage
        return total
