"""Sizes of the blocks of a session, by a fit of its growth: one set for the audit and for every what-if."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labkit.record.growth import SHARE, TOKENS, Growth, Step, steps_of
from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Block, Trace

__all__ = ["filled_sizes", "grown_sizes"]


def grown_sizes(trace: Trace, growth: Growth, sizes: Sizes | None = None) -> Sizes:
    """Sizes of the blocks by the fit, and by what each request's prompt is recorded to have grown.

    Parameters
    ----------
    trace : Trace
    growth : Growth
    sizes : Sizes, optional
        Unscaled sizes; default: :func:`labkit.measure`.

    Returns
    -------
    Sizes
        ``scale``, for texts that a policy makes, is that of ordinary text.

    Notes
    -----
    What came with one request adds up to its growth where that is between half and half as much again
    of what the fit gives. Beyond that a block takes the half, or the half more: the rest is what a
    harness slipped in and did not log, and is in no block (:func:`filled_sizes` puts it somewhere).
    """
    sizes = sizes or measure(trace)
    blocks = [_grown(trace.blocks[i], size, growth) for i, size in enumerate(sizes.blocks)]
    for step in steps_of(trace, sizes):
        own = _own(step, trace)
        if own:
            blocks[own[0]] += growth.terms[5]
        if own and step.grows:
            ratio = (step.grown or 0) / sum(blocks[i] for i in own)
            for i in own:
                blocks[i] *= min(max(ratio, 0.5), 1.5)
    error = (
        f"{sizes.counter.name}, scaled by kind to {growth.steps} growing requests and to each one's own growth; "
        f"what is not recorded is off by at most {SHARE:.0%} and {TOKENS} tokens in most requests"
    )
    return replace(sizes, blocks=_whole_numbers(blocks), scale=round(growth.terms[0], 3), error=error)


def filled_sizes(trace: Trace, sizes: Sizes) -> Sizes:
    """The same sizes, and what is in no block put on one, so that every growing prompt adds up to its record.

    Parameters
    ----------
    trace : Trace
    sizes : Sizes
        Fitted sizes, as of :func:`labkit.record.calibrate.calibrate`.

    Returns
    -------
    Sizes
        Results stay as they are. What is beyond them goes to the blocks before them in the request, because
        what a harness slips in beside a result stays when the result is cleared.

    Examples
    --------
    A call and a result of 7 tokens each came with a prompt that grew by 100.

    >>> from labkit.record.trace import Block, Request, Usage
    >>> kinds = (("text", "user", 1), ("call", "assistant", 2), ("result", "tool", 2))
    >>> blocks = tuple(Block(kind, role, "a b c", request=i) for kind, role, i in kinds)
    >>> trace = Trace("tiny", blocks, tuple(Request(i, usage=Usage(100 * i)) for i in (1, 2)))
    >>> measure(trace).blocks, filled_sizes(trace, measure(trace)).blocks
    ((7, 7, 7), (7, 93, 7))
    """
    blocks = list(sizes.blocks)
    for step in steps_of(trace, sizes):
        own = _own(step, trace)
        if own and step.grows:
            others = [i for i in own if trace.blocks[i].kind != "result"]
            rest = (step.grown or 0) - sum(blocks[i] for i in own if trace.blocks[i].kind == "result")
            if not others or rest < 0:  # less than half of what was counted: all shrink alike
                others, rest = own, step.grown or 0
            share = rest / max(sum(blocks[i] for i in others), 1)
            for i, size in zip(others, _whole_numbers([blocks[i] * share for i in others]), strict=True):
                blocks[i] = size
    return replace(sizes, blocks=tuple(blocks))


def _own(step: Step, trace: Trace) -> list[int]:
    return [i for i in step.blocks if trace.blocks[i].kind != "image"]


def _grown(block: Block, size: int, growth: Growth) -> float:
    text, call, thinking, result, per_call, _ = growth.terms
    scale = {"call": call, "thinking": thinking, "result": result, "image": 1.0}.get(block.kind, text)
    return size * scale + (per_call if block.kind == "call" else 0.0)


def _whole_numbers(values: Sequence[float]) -> tuple[int, ...]:
    """Round so that every running sum stays within half a token of its own."""
    out, exact, given = [], 0.0, 0
    for value in values:
        exact += value
        out.append(max(round(exact) - given, 0))
        given += out[-1]
    return tuple(out)
