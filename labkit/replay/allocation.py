"""Retrieval as allocation: what a fixed room in the window buys when documents and tool output compete for it.

A search that finds more is not free: what a document takes, another result cannot have. Here the room is parted
before the run, a share for retrieved documents and the rest for what other tools returned, and each part holds
the newest results that fit into it whole. Counted is how often a later turn finds what it relies on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.errors import InputError
from labkit.record.lines import line_of
from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Need, Trace
from labkit.replay.uses import needs_of

__all__ = ["Division", "Document", "divide", "documents"]


@dataclass(frozen=True)
class Document:
    """A retrieved document over its life.

    Parameters
    ----------
    turn : int
    name : str
        The arguments of the call that fetched it.
    size : int
        Tokens.
    requests : int
        How many requests carry it if nothing is ever removed.
    uses : int
        Excerpts of it that later turns rely on.
    """

    turn: int
    name: str
    size: int
    requests: int
    uses: int

    @property
    def billed(self) -> int:
        """Input tokens that it adds to the bill."""
        return self.size * self.requests


@dataclass(frozen=True)
class Division:
    """One way to part a room.

    Parameters
    ----------
    budget : int
        The room, in tokens.
    share : int
        Per cent of it that is kept for documents.
    documents, output : int
        Uses of documents, and of other results, that were in the window when a turn needed them.
    needed : int
        All uses, of both.
    """

    budget: int
    share: int
    documents: int
    output: int
    needed: int

    @property
    def found(self) -> int:
        """Uses that were in the window."""
        return self.documents + self.output


def documents(trace: Trace, sizes: Sizes | None = None) -> tuple[Document, ...]:
    """The retrieved documents of a run, in order.

    Parameters
    ----------
    trace : Trace
    sizes : Sizes, optional
        Default: :func:`labkit.measure`.

    Returns
    -------
    tuple of Document
        One for each time that one was fetched. A use counts for the newest result that showed the excerpt.
    """
    sizes = sizes or measure(trace)
    relied = [need.source for need in needs_of(trace)]
    last = len(trace.requests)
    return tuple(
        Document(b.turn, b.args or "", sizes.blocks[i], max(last - b.request + 1, 0), relied.count(i))
        for i, b in enumerate(trace.blocks)
        if b.kind == "result" and line_of(b) == "retrieved_docs"
    )


def divide(
    trace: Trace,
    budget: int,
    shares: Sequence[int] = tuple(range(0, 101, 10)),
    *,
    without: Sequence[int] = (),
    sizes: Sizes | None = None,
) -> tuple[Division, ...]:
    """What a room buys, for each share of it that is kept for documents.

    Parameters
    ----------
    trace : Trace
    budget : int
        Tokens for documents and tool output together.
    shares : sequence of int
        Per cent for documents.
    without : sequence of int
        Turns whose documents are not fetched at all.
    sizes : Sizes, optional
        Default: :func:`labkit.measure`.

    Returns
    -------
    tuple of Division
        In the order of ``shares``.

    Raises
    ------
    InputError
        If the budget is negative or a share is not 0 to 100.

    Notes
    -----
    An excerpt counts as found where any result in the window shows it. The same calls are replayed: what the agent
    would have done without a document is not known.

    Examples
    --------
    >>> from labkit.record.trace import Block, Need, Request
    >>> doc = Block("result", "tool", "rule 7 " * 40, 2, tool="fetch_doc")
    >>> log = Block("result", "tool", "row 9 " * 40, 3, tool="read_file")
    >>> needs = (Need(0, 4, "rule 7"), Need(1, 4, "row 9"))
    >>> run = Trace("two", (doc, log), tuple(map(Request, range(1, 5))), needs=needs)
    >>> [(d.share, d.documents, d.output) for d in divide(run, 260, (0, 50, 100))]
    [(0, 0, 1), (50, 1, 1), (100, 1, 0)]
    """
    if budget < 0:
        raise InputError(f"budget is {budget}: it counts tokens, so give 0 or more")
    for share in shares:
        if not 0 <= share <= 100:
            raise InputError(f"a share is {share}: it is in per cent of the budget, so give 0 to 100")
    sizes = sizes or measure(trace)
    lines = {i: line_of(b) for i, b in enumerate(trace.blocks) if b.kind == "result"}
    lookup = {i: line == "retrieved_docs" for i, line in lines.items() if line in ("retrieved_docs", "tool_output")}
    needs = [need for need in needs_of(trace) if need.source in lookup]
    results = [(i, doc) for i, doc in lookup.items() if not (doc and trace.blocks[i].turn in set(without))]
    made = []
    for share in shares:
        room = {True: budget * share // 100, False: budget - budget * share // 100}
        found = [lookup[need.source] for need in needs if _stands(trace, sizes, results, room, need)]
        made.append(Division(budget, share, found.count(True), found.count(False), len(needs)))
    return tuple(made)


def _stands(trace: Trace, sizes: Sizes, results: list[tuple[int, bool]], room: dict[bool, int], need: Need) -> bool:
    """Whether a result that shows the excerpt is in its part of the window at the request that needs it."""
    left = dict(room)
    for position, doc in reversed(results):
        block = trace.blocks[position]
        if block.request > need.request or sizes.blocks[position] > left[doc]:
            continue
        left[doc] -= sizes.blocks[position]
        if need.excerpt in block.text:
            return True
    return False
