"""What a harness did to its own context: each request as it was sent, and the record without any edit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from labkit.record.trace import Block, Edit, Request, Trace

__all__ = ["as_sent", "unedited"]

STUB = "[cleared]"
"""Stands for a cleared result where the harness did not record the words it used."""


def as_sent(trace: Trace) -> Iterator[tuple[Request, tuple[Block, ...]]]:
    """Each request with the messages it carried, the recorded edits applied.

    Parameters
    ----------
    trace : Trace

    Yields
    ------
    Request
    tuple of Block
        Without the prefix. A cleared result has its stub's text, a summary stands in the place of
        the first block it replaced.

    Examples
    --------
    >>> said = [Block("text", "user", w, request=r) for w, r in (("a", 1), ("b", 2), ("a and b", 3), ("c", 3))]
    >>> edit = Edit("summary", 3, (0, 1), summary=2)
    >>> trace = Trace("tiny", tuple(said), (Request(1), Request(2), Request(3)), edits=(edit,))
    >>> [[b.text for b in blocks] for _, blocks in as_sent(trace)]
    [['a'], ['a', 'b'], ['a and b', 'c']]
    """
    due: dict[int, list[Edit]] = {}
    for edit in trace.edits:
        due.setdefault(edit.request, []).append(edit)
    context: dict[int, Block] = {}  # by position, in the order in which the model reads them
    for request, new in trace.new_blocks():
        context.update((i, trace.blocks[i]) for i in new)
        for edit in due.get(request.index, ()):
            context = _apply(edit, context)
        yield request, tuple(context.values())


def _apply(edit: Edit, context: dict[int, Block]) -> dict[int, Block]:
    gone = set(edit.blocks)
    if edit.kind == "clear":
        return {i: replace(b, text=edit.stub or STUB, edited="clear") if i in gone else b for i, b in context.items()}
    summary = None if edit.summary is None else context.get(edit.summary)
    edited: dict[int, Block] = {}
    for i, block in context.items():
        if i in gone:
            if summary is not None and edit.summary is not None:
                edited.setdefault(edit.summary, summary)
        elif i not in edited:
            edited[i] = block
    return edited


def unedited(trace: Trace) -> Trace:
    """The whole record, as if the harness had never edited: what a what-if starts from.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    Trace
        Without edits, without the summaries they wrote and without what was attached again after
        one; cleared results stand in full. Where
        what a summary replaced is not in the record, a warning says so, and the summary stays: it is
        all there is of what came before.

    Examples
    --------
    >>> said = [Block("text", "user", w, request=r) for w, r in (("a", 1), ("b", 2))]
    >>> summary = Block("summary", "user", "a and b", request=3, edited="summary")
    >>> edit = Edit("summary", 3, (0, 1), summary=2)
    >>> trace = Trace("tiny", (*said, summary), (Request(1), Request(2), Request(3)), edits=(edit,))
    >>> [b.text for b in unedited(trace).blocks]
    ['a', 'b']
    """
    warnings = list(trace.warnings)
    replaced = {e.summary for e in trace.edits if e.kind == "summary" and e.summary is not None and e.blocks}
    rewritten = {e.request for e in trace.edits if e.kind == "summary" and e.blocks}
    kept: list[int] = []
    for i, block in enumerate(trace.blocks):
        # What a harness attaches again after a summary stands in the record before it, whole.
        attached = block.edited == "summary" and block.kind != "summary" and block.request in rewritten
        if i in replaced or attached:
            continue
        if block.kind == "summary":
            warnings.append(
                f"what the summary before request {block.request} stands for is not in the record: it starts there"
            )
        kept.append(i)
    moved = {old: new for new, old in enumerate(kept)}
    return replace(
        trace,
        blocks=tuple(trace.blocks[i] for i in kept),
        edits=(),
        needs=tuple(replace(n, source=moved[n.source]) for n in trace.needs if n.source in moved),
        warnings=tuple(warnings),
    )
