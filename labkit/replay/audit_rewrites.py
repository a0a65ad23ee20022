"""What had to be written again after each recorded edit, predicted and recorded."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from labkit.record.calibrate import calibrate
from labkit.record.grown import filled_sizes
from labkit.record.trace import Block, Edit, Trace

__all__ = ["Rewrite", "rewrites"]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The first request after a recorded edit; tokens.

    Parameters
    ----------
    request : int
        Index from 1.
    kind : str
        The rung: ``clear``, ``summary``, ``evict`` or ``cap``.
    blocks : int
        How many blocks it changed.
    read : int
        Recorded cache read.
    written : int
        Recorded: everything but the read.
    predicted : int or None
        After a clear, an evict or a cap: the prompt before it, less what left, with what was new, less the
        read. ``None`` where the record holds neither the prompt before nor what was changed, and after a
        summary, where the next number stands instead.
    reattached : int or None
        After a summary: what was written beyond the blocks in the record. The harness attaches files and
        reminders again and does not log them.
    """

    request: int
    kind: str
    blocks: int
    read: int
    written: int
    predicted: int | None
    reattached: int | None


def rewrites(trace: Trace) -> tuple[Rewrite, ...]:
    """Each recorded edit with what it made the next request write.

    Parameters
    ----------
    trace : Trace
        A session with recorded usage; edits before a request without one are left out.

    Examples
    --------
    >>> from labkit.record.trace import Request, Usage
    >>> blocks = [Block("result", "tool", "word " * 996, request=i, tool="Read") for i in (1, 2, 3)]
    >>> usages = [Usage(cache_write_5m=9_000), Usage(3, 9_000, 1_000), Usage(3, 8_000, 2_100)]
    >>> requests = tuple(Request(i, usage=u) for i, u in enumerate(usages, 1))
    >>> edit = Edit("clear", 3, (1,), stub="cleared")
    >>> only, = rewrites(Trace("tiny", tuple(blocks), requests, edits=(edit,)))
    >>> only.written, only.predicted
    (2103, 2003)
    """
    sizes = filled_sizes(trace, calibrate(trace).sizes)
    new = {request.index: positions for request, positions in trace.new_blocks()}
    size = dict(enumerate(sizes.blocks))  # as the blocks stand; an edit changes them
    found = []
    for index, group in groupby(trace.edits, key=lambda e: e.request):
        edits = list(group)
        before = sum(size[i] for i in size if trace.blocks[i].request < index)
        for edit in edits:
            _apply(edit, size, trace.blocks, sizes.count(edit.stub) if edit.stub else 0)
        if not 1 <= index <= len(trace.requests) or trace.requests[index - 1].usage is None:
            continue
        usage = trace.requests[index - 1].usage
        assert usage is not None
        last = trace.requests[index - 2].usage if index > 1 else None
        left = sum(size[i] for i in size if trace.blocks[i].request < index)
        added = sum(size.get(i, 0) for i in new[index])
        written = usage.total_input - usage.cache_read
        summed = any(e.kind == "summary" for e in edits)
        empty = not any(e.blocks for e in edits)  # the record does not hold what was changed
        predicted = (
            None if summed or empty or last is None else last.total_input - (before - left) + added - usage.cache_read
        )
        found.append(
            Rewrite(
                request=index,
                kind="summary" if summed else edits[-1].kind,
                blocks=sum(len(e.blocks) for e in edits),
                read=usage.cache_read,
                written=written,
                predicted=predicted,
                reattached=max(written - left - added, 0) if summed else None,
            )
        )
    return tuple(found)


def _apply(edit: Edit, size: dict[int, int], blocks: tuple[Block, ...], stub: int) -> None:
    for i in edit.blocks:
        if i in size and edit.kind == "clear":
            size[i] = min(stub, size[i])
        else:
            size.pop(i, None)
