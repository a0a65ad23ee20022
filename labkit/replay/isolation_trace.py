"""Moving blocks between a parent and a child: the mechanics under :mod:`labkit.replay.isolation`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from labkit.errors import InputError
from labkit.record.sizes import Sizes
from labkit.record.trace import Block, Edit, Prefix, Request, Trace
from labkit.replay.isolation_call import call_of

__all__ = ["Errand", "Sized", "Stretch", "as_fork", "elapsed", "joined", "sooner", "split", "stretch_of"]


@dataclass(frozen=True, eq=False)
class Sized:
    """A trace with the sizes of its blocks."""

    trace: Trace
    sizes: Sizes

    def without_usage(self) -> Sized:
        """The same, its requests without recorded usage."""
        requests = tuple(replace(r, usage=None) for r in self.trace.requests)
        return Sized(replace(self.trace, requests=requests), self.sizes)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of a trace that a child could have done.

    Parameters
    ----------
    first, last : int
        The requests whose answers it holds.
    start, stop : int
        Positions of its blocks: from ``start`` up to but not including ``stop``.
    """

    first: int
    last: int
    start: int
    stop: int

    @property
    def calls(self) -> int:
        """Requests whose answers it holds."""
        return self.last - self.first + 1


@dataclass(frozen=True, eq=False)
class Errand:
    """What exists only where there is a child.

    Parameters
    ----------
    call, call_size : Block, int
        By which the parent starts it.
    result, result_size, result_after : Block or None, int, int
        What the parent gets back, and how many positions behind the call; ``None`` where nothing came.
    brief, brief_sizes : tuple
        The child's first messages.
    answer, answer_sizes : tuple
        What the child wrote last; empty where that is not recorded. Their requests are the child's.
    opening, closing : Request, tuple of Request
        The child's first request, and those that made no call: the one that wrote the return.
    prefixes, prefix_sizes : tuple
        The child's prefixes; tokens of their system prompts and of their tool schemas.
    name, source : str
        Of the child's trace.
    messages : int
        By how much the child's numbers of messages are raised inline, out of the way of the parent's.
    """

    call: Block
    call_size: int
    result: Block | None
    result_size: int
    result_after: int
    brief: tuple[Block, ...]
    brief_sizes: tuple[int, ...]
    answer: tuple[Block, ...]
    answer_sizes: tuple[int, ...]
    opening: Request
    closing: tuple[Request, ...]
    prefixes: tuple[Prefix, ...]
    prefix_sizes: tuple[tuple[int, ...], tuple[int, ...]]
    name: str
    source: str = ""
    messages: int = 0


def stretch_of(trace: Trace, first: int, last: int) -> Stretch:
    """What requests ``first`` to ``last`` answered: their calls, and the results.

    Raises
    ------
    InputError
        If it is empty or outside the trace, if the user spoke in between, or if it made no call.
    """
    n = len(trace.requests)
    if not 1 <= first <= last <= n:
        raise InputError(f"first is {first} and last is {last}: the trace has requests 1 to {n}, in this order")
    inside = [i for i, b in enumerate(trace.blocks) if first < b.request <= last + 1 and b.role != "user"]
    if not any(trace.blocks[i].kind == "call" for i in inside):
        raise InputError(f"requests {first} to {last} made no call: there is nothing that a child could do")
    start, stop = inside[0], inside[-1] + 1
    if len(inside) != stop - start:
        spoke = next(trace.blocks[i].request for i in range(start, stop) if trace.blocks[i].role == "user")
        raise InputError(f"the user spoke before request {spoke}, which a child would not hear: end at {spoke - 2}")
    return Stretch(first, last, start, stop)


def split(inline: Sized, stretch: Stretch, errand: Errand) -> tuple[Sized, Sized]:
    """The parent without the stretch, and the child that did it."""
    trace, sizes = inline.trace, inline.sizes
    first, last, more = stretch.first, stretch.last, stretch.calls - 1

    def down(request: int) -> int:
        return request if request <= first else max(first + 1, request - more)

    kept = [i for i in range(len(trace.blocks)) if not stretch.start <= i < stretch.stop]
    rows = [(replace(trace.blocks[i], request=down(trace.blocks[i].request)), sizes.blocks[i]) for i in kept]
    rows.insert(stretch.start, (replace(errand.call, request=first + 1), errand.call_size))
    call_at, result_at = stretch.start, None
    if errand.result is not None:
        result_at = stretch.start + errand.result_after
        rows.insert(result_at, (replace(errand.result, request=first + 1), errand.result_size))
    taken = {call_at, result_at}
    moved = dict(zip(kept, (i for i in range(len(rows)) if i not in taken), strict=True))

    def place(i: int) -> int | None:
        return moved.get(i, result_at if trace.blocks[i].kind == "result" else call_at)

    requests = [*trace.requests[:first], *trace.requests[last:]]
    parent = replace(
        trace,
        blocks=tuple(b for b, _ in rows),
        requests=_numbered(requests),
        edits=_moved(trace.edits, place, down),
        needs=tuple(
            replace(need, source=moved[need.source], request=down(need.request))
            for need in trace.needs
            if need.source in moved and not first < need.request <= last
        ),
    )
    inner = range(stretch.start, stretch.stop)
    blocks = (
        *errand.brief,
        *(_shifted(trace.blocks[i], 1 - first, -errand.messages) for i in inner),
        *errand.answer,
    )
    child = Trace(
        errand.name,
        blocks,
        _numbered([errand.opening, *(replace(r, prefix=0) for r in trace.requests[first:last]), *errand.closing]),
        errand.prefixes,
        kind="subagent",
        source=errand.source or trace.source,
    )
    own = (*errand.brief_sizes, *(sizes.blocks[i] for i in inner), *errand.answer_sizes)
    system, tools = errand.prefix_sizes
    return (
        Sized(parent, replace(sizes, blocks=tuple(size for _, size in rows))),
        Sized(child, replace(sizes, blocks=own, system=system, tools=tools)),
    )


def joined(parent: Sized, child: Sized) -> tuple[Sized, Stretch, Errand]:
    """The reverse of :func:`split`: the parent with the child's work in it, and what that leaves over."""
    whole, part = parent.trace, child.trace
    if part.edits:
        raise InputError(f"the context of {part.name} was edited: what it saw cannot be put into the parent as it is")
    calls = [b.request for b in part.blocks if b.kind == "call"]
    if not calls:
        raise InputError(f"{part.name} made no call: there is nothing to bring back into the parent")
    n = max(calls) - 1
    at, result_at = call_of(whole, part)
    call, first = whole.blocks[at], whole.blocks[at].request - 1
    inner = [i for i, b in enumerate(part.blocks) if 1 < b.request <= n + 1]
    brief = [i for i, b in enumerate(part.blocks) if b.request <= 1]
    answer = [i for i, b in enumerate(part.blocks) if b.request > n + 1]

    def up(request: int) -> int:
        return request if request <= first else request + n - 1

    before = list(range(at))
    behind = [i for i in range(at + 1, len(whole.blocks)) if i != result_at]
    offset = max((b.message for b in whole.blocks if b.message is not None), default=0) + 1
    rows = [(whole.blocks[i], parent.sizes.blocks[i]) for i in before]
    rows += [(_shifted(part.blocks[i], first - 1, offset), child.sizes.blocks[i]) for i in inner]
    rows += [(replace(whole.blocks[i], request=up(whole.blocks[i].request)), parent.sizes.blocks[i]) for i in behind]
    start, stop = at, at + len(inner)
    moved = {i: i for i in before} | {old: stop + k for k, old in enumerate(behind)}
    results = [start + k for k, i in enumerate(inner) if part.blocks[i].kind == "result"]
    others = [start + k for k, i in enumerate(inner) if part.blocks[i].kind != "result"]
    edits = tuple(
        replace(
            edit,
            request=up(edit.request),
            blocks=tuple(
                sorted(
                    j for i in edit.blocks for j in (others if i == at else results if i == result_at else [moved[i]])
                )
            ),
            summary=None if edit.summary is None else moved[edit.summary],
        )
        for edit in whole.edits
    )
    prefix = whole.requests[first - 1].prefix
    inserted = [replace(r, prefix=prefix) for r in part.requests[1:n]]
    trace = replace(
        whole,
        blocks=tuple(b for b, _ in rows),
        requests=_numbered([*whole.requests[:first], *inserted, *whole.requests[first:]]),
        edits=edits,
        children=tuple(c for c in whole.children if c.name != part.name),
        needs=tuple(
            replace(need, source=moved[need.source], request=up(need.request))
            for need in whole.needs
            if need.source in moved
        ),
    )
    errand = Errand(
        call=call,
        call_size=parent.sizes.blocks[at],
        result=None if result_at is None else whole.blocks[result_at],
        result_size=0 if result_at is None else parent.sizes.blocks[result_at],
        result_after=0 if result_at is None else result_at - at,
        brief=tuple(part.blocks[i] for i in brief),
        brief_sizes=tuple(child.sizes.blocks[i] for i in brief),
        answer=tuple(part.blocks[i] for i in answer),
        answer_sizes=tuple(child.sizes.blocks[i] for i in answer),
        opening=part.requests[0],
        closing=part.requests[n:],
        prefixes=part.prefixes,
        prefix_sizes=(child.sizes.system, child.sizes.tools),
        name=part.name,
        source=part.source,
        messages=offset,
    )
    sized = Sized(trace, replace(parent.sizes, blocks=tuple(size for _, size in rows)))
    return sized, Stretch(first, first + n - 1, start, stop), errand


def as_fork(inline: Sized, parent: Sized, child: Sized, stretch: Stretch, errand: Errand) -> tuple[Sized, Sized]:
    """The parent, and the child with the parent's context before its own blocks.

    Reading the parent's entry keeps it alive, so the parent waits only since the fork's last request.
    """
    first = stretch.first
    before = [i for i in range(stretch.start) if inline.trace.blocks[i].request <= first + 1]
    blocks = [inline.trace.blocks[i] for i in before]
    blocks += [replace(b, request=b.request + first) for b in child.trace.blocks]
    prefixes, source = inline.trace.prefixes, child.trace.source
    index = inline.trace.requests[first - 1].prefix
    requests = [*inline.trace.requests[:first], *(replace(r, prefix=index) for r in child.trace.requests)]
    fork = Trace(errand.name, tuple(blocks), _numbered(requests), prefixes, kind="subagent", source=source)
    sizes = (*(inline.sizes.blocks[i] for i in before), *child.sizes.blocks)
    took = elapsed(inline.trace.requests[first - 1], child.trace.requests[-1])
    return sooner(parent, first, took), Sized(fork, replace(inline.sizes, blocks=sizes))


def elapsed(a: Request, b: Request) -> float:
    """Seconds from one request to another; 0 where they are not known."""
    return 0.0 if a.start is None or b.start is None else b.start - a.start


def sooner(parent: Sized, first: int, seconds: float) -> Sized:
    """The parent with every request behind ``first`` so much earlier."""
    requests = tuple(
        r if r.start is None or r.index <= first else replace(r, start=r.start - seconds) for r in parent.trace.requests
    )
    return Sized(replace(parent.trace, requests=requests), parent.sizes)


def _shifted(block: Block, requests: int, messages: int) -> Block:
    message = None if block.message is None else block.message + messages
    return replace(block, request=block.request + requests, message=message)


def _numbered(requests: Sequence[Request]) -> tuple[Request, ...]:
    return tuple(replace(r, index=i) for i, r in enumerate(requests, start=1))


def _moved(
    edits: Sequence[Edit], place: Callable[[int], int | None], request: Callable[[int], int]
) -> tuple[Edit, ...]:
    made = []
    for edit in edits:
        blocks = {place(i) for i in edit.blocks}
        summary = None if edit.summary is None else place(edit.summary)
        standing = tuple(sorted(b for b in blocks if b is not None))
        made.append(replace(edit, request=request(edit.request), blocks=standing, summary=summary))
    return tuple(made)
