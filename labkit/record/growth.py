"""How much a recorded prompt grows for what was added to it: a scale for each kind of text.

A provider's tokenizer, the wrapping of calls and the reminders a harness slips in are not in a
record; the growth of the recorded prompts is. A fit on it sizes blocks better than one scale for
all, and the second half of a session says how well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Trace

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
    """Sizes of the blocks by a fit: scaled by kind, with what comes with each call and request.

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
    """
    sizes = sizes or measure(trace)
    text, call, thinking, result, per_call, per_request = growth.terms
    by_kind = {"call": call, "thinking": thinking, "result": result, "image": 1.0}
    blocks = []
    opened = 0
    for block, size in zip(trace.blocks, sizes.blocks, strict=True):
        grown = size * by_kind.get(block.kind, text) + (per_call if block.kind == "call" else 0.0)
        if block.request != opened and block.kind != "image":  # the first block of each request carries its share
            opened = block.request
            grown += per_request
        blocks.append(int(grown + 0.5))
    error = (
        f"{sizes.counter.name}, scaled by kind to {growth.steps} growing requests; growth is off by at most "
        f"{SHARE:.0%} and {TOKENS} tokens in most requests"
    )
    return replace(sizes, blocks=tuple(blocks), scale=round(text, 3), error=error)


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
    edited = {e.request for e in trace.edits}
    steps = []
    parts = [0.0] * len(TERMS)
    changed = image = False
    for request, new in trace.new_blocks():
        changed |= request.index in edited
        for i in new:
            block = trace.blocks[i]
            if block.kind == "image":
                image = True
                continue
            kind = TERMS.index(block.kind) if block.kind in ("call", "thinking", "result") else 0
            parts[kind] += sizes.blocks[i]
            parts[4] += block.kind == "call"
        if request.usage is None or not request.usage.total_input:
            continue  # what it added is in the growth of the next request with a usage
        parts[5] = 1.0
        steps.append(_Step(request.index, request.usage.total_input, tuple(parts), changed, image))
        parts = [0.0] * len(TERMS)
        changed = image = False
    return steps


def _fit(steps: Sequence[_Step]) -> Growth:
    size = len(TERMS)
    # Ridge: each term's start value counts as one observation with the term's spread.
    left = [[1 / _SPREAD[i] ** 2 if i == j else 0.0 for j in range(size)] for i in range(size)]
    right = [_START[i] / _SPREAD[i] ** 2 for i in range(size)]
    used = 0
    for before, step in zip(steps, steps[1:], strict=False):
        grown = step.total - before.total
        if grown <= 0 or step.edited or step.image:
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
        step.request
        for before, step in zip(steps, steps[1:], strict=False)
        if step.total < (1 - _FALL) * before.total and not step.edited
    ]
    if falls:
        flags.append(f"a fall without a recorded cause at request {', '.join(map(str, falls[:3]))}")
    return tuple(flags)
