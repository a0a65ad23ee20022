"""How much a recorded prompt grows for what was added to it: a scale for each kind of text.

A provider's tokenizer, the wrapping of calls and the reminders a harness slips in are not in a
record; the growth of the recorded prompts is. A fit on it sizes blocks better than one scale for
all, and the second half of a session says how well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Block, Trace

__all__ = ["TERMS", "Growth", "GrowthCheck", "check_growth", "fit_growth", "grown_sizes"]

TERMS = ("text", "call", "thinking", "result", "per call", "per request")
"""What a step is made of: counted tokens of four kinds, its calls, and the step itself."""

SHARE, TOKENS = 0.15, 150
"""The stated interval: a predicted growth is off by at most this part of it and so many tokens.

On the recorded Claude Code sessions it holds for over 80 % of the second halves' requests.
"""

# Where the fit starts, and how far it may be pulled from there (one standard deviation). The scales
# are the usual ratio of Claude's older tokenizer to o200k_base; the tokens a call and a request were
# read off recorded sessions. A short session stays close to them, a long one finds its own.
_START = (1.15, 1.15, 1.3, 1.15, 60.0, 30.0)
_SPREAD = (0.1, 0.15, 0.5, 0.05, 40.0, 30.0)
_FEWEST = 4
# A fall larger than this part of the prompt means that something left it.
_FALL = 0.05


@dataclass(frozen=True)
class Growth:
    """A fit of the recorded growth.

    Parameters
    ----------
    terms : tuple of float
        In the order of ``TERMS``: recorded tokens for each counted one, then tokens a call and a
        request.
    steps : int
        Requests whose growth it rests on.
    """

    terms: tuple[float, ...]
    steps: int

    def predict(self, step: Sequence[float]) -> float:
        """Growth of a step made of so much of each term."""
        return sum(t * x for t, x in zip(self.terms, step, strict=True))


@dataclass(frozen=True)
class GrowthCheck:
    """The fit of a session's first half against its second.

    Parameters
    ----------
    error : float or None
        Mean distance of the predicted from the recorded prompt, as a part of the prompt; ``None``
        where there are too few requests to tell.
    covered : float or None
        Part of the predicted requests whose prompt lies in the stated interval.
    requests : int
        How many were predicted.
    flags : tuple of str
        What the record lacks of the predicted half; the fit leaves such steps of its own half out.
    """

    error: float | None
    covered: float | None
    requests: int
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    request: int
    total: int
    parts: tuple[float, ...]
    edited: bool
    image: bool
    grown: int | None  # None for the first
    blocks: tuple[int, ...]


def fit_growth(trace: Trace, sizes: Sizes | None = None) -> Growth:
    """Fit what a prompt grows by to what was added to it.

    Parameters
    ----------
    trace : Trace
        A session with recorded usage.
    sizes : Sizes, optional
        Unscaled sizes; default: :func:`labkit.measure`.

    Returns
    -------
    Growth
        Weighted least squares around values that hold for most sessions. Steps with images, after
        an edit, and falls are left out.

    Examples
    --------
    >>> from labkit.record.trace import Block, Request, Usage
    >>> blocks = tuple(Block("result", "tool", "word " * 4_000, request=i, tool="Read") for i in range(1, 9))
    >>> requests = tuple(Request(i, usage=Usage(uncached=9_000 + 5_000 * i)) for i in range(1, 9))
    >>> [round(term, 2) for term in fit_growth(Trace("tiny", blocks, requests)).terms]
    [1.15, 1.15, 1.3, 1.19, 60.0, 34.04]
    """
    return _fit(_steps(trace, sizes or measure(trace)))


def grown_sizes(trace: Trace, growth: Growth, sizes: Sizes | None = None) -> Sizes:
    """Sizes of the blocks: what came with one request adds up to what its prompt is recorded to have grown.

    Parameters
    ----------
    trace : Trace
    growth : Growth
        Shares a request's growth out among its blocks, and sizes what has no growth of its own: the
        blocks of an edited or first request, and the last ones.
    sizes : Sizes, optional
        Unscaled sizes; default: :func:`labkit.measure`.

    Returns
    -------
    Sizes
        ``scale``, for texts that a policy makes, is that of ordinary text.

    Notes
    -----
    A result takes at most half as much again as the fit gives it, and at least half. The rest goes to
    the block before it, because what a harness slips in beside a result stays when the result is
    cleared.
    """
    sizes = sizes or measure(trace)
    blocks = [_grown(trace.blocks[i], size, growth) for i, size in enumerate(sizes.blocks)]
    for step in _steps(trace, sizes):
        own = [i for i in step.blocks if trace.blocks[i].kind != "image"]
        if own:
            blocks[own[0]] += growth.terms[5]
        if step.grown is not None and own and step.grown > 0 and not step.edited and not step.image:
            _share_out(step.grown, own, blocks, trace)
    error = (
        f"{sizes.counter.name}, scaled by kind to {growth.steps} growing requests and to each one's own growth; "
        f"what is not recorded is off by at most {SHARE:.0%} and {TOKENS} tokens in most requests"
    )
    whole = _whole_numbers(blocks)
    return replace(sizes, blocks=whole, scale=round(growth.terms[0], 3), error=error)


def _grown(block: Block, size: int, growth: Growth) -> float:
    text, call, thinking, result, per_call, _ = growth.terms
    scale = {"call": call, "thinking": thinking, "result": result, "image": 1.0}.get(block.kind, text)
    return size * scale + (per_call if block.kind == "call" else 0.0)


def _share_out(grown: float, own: list[int], blocks: list[float], trace: Trace) -> None:
    ratio = grown / sum(blocks[i] for i in own)
    results = [i for i in own if trace.blocks[i].kind == "result"]
    others = [i for i in own if trace.blocks[i].kind != "result"]
    for i in results if others else ():
        blocks[i] *= min(max(ratio, 0.5), 1.5)
    rest = grown - sum(blocks[i] for i in results) if others else grown
    if rest < 0:  # less than half of what was counted: all shrink alike
        rest, others = grown, own
    others = others or own
    known = sum(blocks[i] for i in others)
    for i in others:
        blocks[i] *= rest / known


def _whole_numbers(values: Sequence[float]) -> tuple[int, ...]:
    """Round so that every running sum stays within half a token of its own."""
    out, exact, given = [], 0.0, 0
    for value in values:
        exact += value
        out.append(max(round(exact) - given, 0))
        given += out[-1]
    return tuple(out)


def check_growth(trace: Trace, sizes: Sizes | None = None) -> GrowthCheck:
    """Fit the first half of a session, predict the second, and compare.

    Parameters
    ----------
    trace : Trace
    sizes : Sizes, optional
        Unscaled sizes; default: :func:`labkit.measure`.

    Returns
    -------
    GrowthCheck
        Each prompt of the second half is predicted from the last known one: the recorded prompt in
        the middle, or the first after a recorded edit.
    """
    steps = _steps(trace, sizes or measure(trace))
    half = len(steps) // 2
    flags = _flags(trace, steps[half:])
    if half < _FEWEST:
        return GrowthCheck(None, None, 0, flags)
    growth = _fit(steps[:half])
    known, grown = float(steps[half].total), 0.0
    errors, covered = [], 0
    for step in steps[half + 1 :]:
        if step.edited:
            known, grown = float(step.total), 0.0
            continue
        grown += growth.predict(step.parts)
        off = abs(known + grown - step.total)
        errors.append(off / step.total)
        covered += off <= SHARE * grown + TOKENS
    if not errors:
        return GrowthCheck(None, None, 0, flags)
    return GrowthCheck(sum(errors) / len(errors), covered / len(errors), len(errors), flags)


def _steps(trace: Trace, sizes: Sizes) -> list[_Step]:
    """The requests with a usage, each with all that was added since the one before."""
    edited = {e.request for e in trace.edits}
    steps: list[_Step] = []
    own: list[int] = []
    changed = False
    for request, new in trace.new_blocks():
        changed |= request.index in edited
        own += new
        if request.usage is None or not request.usage.total_input:
            continue
        total = request.usage.total_input
        parts = [0.0] * len(TERMS)
        parts[5] = 1.0
        for i in own:
            kind = trace.blocks[i].kind
            if kind != "image":
                parts[TERMS.index(kind) if kind in ("call", "thinking", "result") else 0] += sizes.blocks[i]
                parts[4] += kind == "call"
        image = any(trace.blocks[i].kind == "image" for i in own)
        grown = total - steps[-1].total if steps else None
        steps.append(_Step(request.index, total, tuple(parts), changed, image, grown, tuple(own)))
        own, changed = [], False
    return steps


def _fit(steps: Sequence[_Step]) -> Growth:
    size = len(TERMS)
    # Ridge: each term's start value counts as one observation with the term's spread.
    left = [[1 / _SPREAD[i] ** 2 if i == j else 0.0 for j in range(size)] for i in range(size)]
    right = [_START[i] / _SPREAD[i] ** 2 for i in range(size)]
    used = 0
    for step in steps:
        grown = step.grown
        if grown is None or grown <= 0 or step.edited or step.image:
            continue
        used += 1
        weight = 1 / (0.1 * grown + 30) ** 2  # a step is off by a part of itself and by some reminders
        for i in range(size):
            right[i] += weight * step.parts[i] * grown
            for j in range(size):
                left[i][j] += weight * step.parts[i] * step.parts[j]
    return Growth(tuple(max(term, 0.0) for term in _solve(left, right)), used)


def _solve(matrix: list[list[float]], values: list[float]) -> list[float]:
    """Gaussian elimination; the matrix is positive definite, so no pivot is 0."""
    rows = [[*row, value] for row, value in zip(matrix, values, strict=True)]
    for i, pivot in enumerate(rows):
        for other in rows[i + 1 :]:
            factor = other[i] / pivot[i]
            for j in range(i, len(other)):
                other[j] -= factor * pivot[j]
    solved = [0.0] * len(rows)
    for i in reversed(range(len(rows))):
        known = sum(rows[i][j] * solved[j] for j in range(i + 1, len(rows)))
        solved[i] = (rows[i][-1] - known) / rows[i][i]
    return solved


def _flags(trace: Trace, steps: Sequence[_Step]) -> tuple[str, ...]:
    flags = []
    begin = steps[0].request if steps else 0
    if any(s.image for s in steps[1:]):
        flags.append("images, whose size is a guess")
    if any(b.kind == "result" and b.tool is None and b.request > begin for b in trace.blocks):
        flags.append("results of calls that the record does not hold")
    falls = [
        step.request for before, step in pairwise(steps) if step.total < (1 - _FALL) * before.total and not step.edited
    ]
    if falls:
        flags.append(f"a fall without a recorded cause at request {', '.join(map(str, falls[:3]))}")
    return tuple(flags)
