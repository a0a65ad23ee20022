"""How much a recorded prompt grows for what was added to it: a scale for each kind of text.

A provider's tokenizer, the wrapping of calls and the reminders a harness slips in are not in a
record; the growth of the recorded prompts is. A fit on it sizes blocks better than one scale for
all, and the second half of a session says how well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Trace

__all__ = ["SHARE", "TERMS", "TOKENS", "Growth", "GrowthCheck", "Step", "check_growth", "fit_growth", "steps_of"]

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
# The weights of the fit are found in so many rounds, or until no term moves.
_ROUNDS, _STILL = 12, 1e-4
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
        return _dot(self.terms, step)


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
class Step:
    """A request with a usage, with all that was added since the one before."""

    request: int
    total: int
    parts: tuple[float, ...]
    edited: bool
    image: bool
    grown: int | None  # None for the first
    blocks: tuple[int, ...]

    @property
    def grows(self) -> bool:
        """Whether its growth is that of its blocks, as far as the record tells."""
        return self.grown is not None and self.grown > 0 and not self.edited and not self.image


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
        Weighted least squares around values that hold for most sessions; steps that are far off count
        less. Steps with images, after an edit, and falls are left out.

    Examples
    --------
    >>> from labkit.record.trace import Block, Request, Usage
    >>> blocks = tuple(Block("result", "tool", "word " * 4_000, request=i, tool="Read") for i in range(1, 9))
    >>> requests = tuple(Request(i, usage=Usage(uncached=9_000 + 5_000 * i)) for i in range(1, 9))
    >>> [round(term, 2) for term in fit_growth(Trace("tiny", blocks, requests)).terms]
    [1.15, 1.15, 1.3, 1.19, 60.0, 34.04]
    """
    return _fit(steps_of(trace, sizes or measure(trace)))


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
    steps = steps_of(trace, sizes or measure(trace))
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


def steps_of(trace: Trace, sizes: Sizes) -> list[Step]:
    """The requests with a usage, each with all that was added since the one before."""
    edited = {e.request for e in trace.edits}
    steps: list[Step] = []
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
        steps.append(Step(request.index, total, tuple(parts), changed, image, grown, tuple(own)))
        own, changed = [], False
    return steps


def _fit(steps: Sequence[Step]) -> Growth:
    used = [(step, float(step.grown)) for step in steps if step.grows and step.grown is not None]
    terms = list(_START)
    trust = [1.0] * len(used)
    # Huber: what lies far off has something in it that is not recorded, and counts less the further it lies.
    for _ in range(_ROUNDS):
        before, terms = terms, _weighted(used, trust)
        trust = [1 / max(abs(_dot(terms, s.parts) - grown) / _spread(grown), 1.0) for s, grown in used]
        if max(abs(a - b) for a, b in zip(before, terms, strict=True)) < _STILL:
            break
    return Growth(tuple(terms), len(used))


def _weighted(used: Sequence[tuple[Step, float]], trust: Sequence[float]) -> list[float]:
    size = len(TERMS)
    # Ridge: each term's start value counts as one observation with the term's spread.
    left = [[1 / _SPREAD[i] ** 2 if i == j else 0.0 for j in range(size)] for i in range(size)]
    right = [_START[i] / _SPREAD[i] ** 2 for i in range(size)]
    for (step, grown), share in zip(used, trust, strict=True):
        weight = share / _spread(grown) ** 2
        for i in range(size):
            right[i] += weight * step.parts[i] * grown
            for j in range(size):
                left[i][j] += weight * step.parts[i] * step.parts[j]
    return [max(term, 0.0) for term in _solve(left, right)]


def _spread(grown: float) -> float:
    return 0.1 * grown + 30  # a step is off by a part of itself and by some reminders


def _dot(terms: Sequence[float], parts: Sequence[float]) -> float:
    return sum(t * x for t, x in zip(terms, parts, strict=True))


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


def _flags(trace: Trace, steps: Sequence[Step]) -> tuple[str, ...]:
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
