"""Can the cache model reproduce what the provider really read? Only then may it answer a what-if.

Each request's cache read is predicted from what was sent before it and from the clock, never from its
own record, and then compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from labkit.errors import InputError
from labkit.price.cache import CacheRules, cache_rules
from labkit.price.prices import find_model, prices
from labkit.record.calibrate import starts_midway
from labkit.record.trace import Request, Trace, Usage

__all__ = ["CAUSES", "AsRun", "Prediction", "causes", "reproduce", "why", "writes_by_cause"]

Cause = Literal["reproduced", "expired", "edit", "unexplained"]

CAUSES = ("growth", "expired", "edit", "unexplained")
"""Why tokens were written: they were new; the entry had died; the context was changed; not known."""

TOLERANCE = 0.01
"""A prediction counts as right within this share of the larger of the two numbers."""

SHORT, LONG = 300.0, 3_600.0
"""Lifetimes of Anthropic's two kinds of cache entry, in seconds."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One request's cache read, predicted and recorded; tokens.

    Parameters
    ----------
    request : int
        Index from 1.
    read : int
        Recorded.
    low, high : int
        Predicted; a point is an interval of no length.
    baseline : int
        What the previous request read and wrote: the prediction without a model.
    written : int
        Recorded writes, of both lifetimes.
    pause : float or None
        Seconds since the start of the previous request.
    cause : {"reproduced", "expired", "edit", "unexplained"}
        ``reproduced``: the prefix was read again as predicted. ``expired``: predicted to have died of
        age, and so it was. ``edit``: a recorded edit came before it. ``unexplained``: anything else.
    """

    request: int
    read: int
    low: int
    high: int
    baseline: int
    written: int
    pause: float | None
    cause: Cause

    @property
    def right(self) -> bool:
        """Whether the record lies in the predicted interval, give or take the tolerance."""
        return _near(self.read, self.low, self.high)


@dataclass(frozen=True)
class AsRun:
    """How well the cache model reproduces a session.

    Parameters
    ----------
    predictions : tuple of Prediction
        For every request after the first that has a usage, as has the one before it.
    reason : str
        Why there are none; empty if there are some.
    """

    predictions: tuple[Prediction, ...]
    reason: str = ""

    def count(self, cause: Cause) -> int:
        """Requests of one cause."""
        return sum(p.cause == cause for p in self.predictions)

    @property
    def score(self) -> float | None:
        """Share of the requests without a recorded edit that were predicted right; ``None`` if there are none."""
        plain = [p for p in self.predictions if p.cause != "edit"]
        return sum(p.right for p in plain) / len(plain) if plain else None

    @property
    def baseline(self) -> float | None:
        """The same share for the prediction without a model: what the previous request read and wrote."""
        plain = [p for p in self.predictions if p.cause != "edit"]
        return sum(_near(p.read, p.baseline, p.baseline) for p in plain) / len(plain) if plain else None


def reproduce(trace: Trace) -> AsRun:
    """Predict every request's cache read from what came before it.

    Parameters
    ----------
    trace : Trace
        A session with recorded usage.

    Returns
    -------
    AsRun
        Empty, with the reason, where no usage was recorded or the provider publishes no rule.

    Notes
    -----
    Without an edit a request reads what the previous one read and wrote, unless more time has passed
    than the entry lives: 5 minutes, or an hour if the session's writes are 1-hour writes. After an
    edit it reads the entry at the end of the system prompt. How large that is is not known before the
    first such rewrite: it lies between the first request's read and its read and write (between 0 and
    these where the record starts in the middle of a session); from then on it is known.

    OpenAI keeps the whole previous prompt, and often what it answered, so the read lies between the
    two; older models report it rounded down to 128 and no writes. An entry is taken to live the
    longer of its published lifetimes.

    Examples
    --------
    >>> usages = [Usage(cache_write_5m=9_000), Usage(cache_read=9_000, cache_write_5m=500), Usage(cache_write_5m=9_900)]
    >>> starts = [0.0, 60.0, 900.0]
    >>> requests = tuple(Request(i + 1, start=s, usage=u) for i, (s, u) in enumerate(zip(starts, usages)))
    >>> [p.cause for p in reproduce(Trace("tiny", (), requests)).predictions]
    ['reproduced', 'expired']
    """
    rules = _rules(trace)
    if isinstance(rules, str):
        return AsRun((), rules)
    edits = {edit.request for edit in trace.edits}
    predictions: list[Prediction] = []
    known_prefix: int | None = None
    before: Request | None = None
    lives = SHORT if rules is None else rules.ttl_1h or rules.ttl
    first: Usage | None = None
    rewritten, midway = False, starts_midway(trace)
    for request in trace.requests:
        usage = request.usage
        if request.index in edits:
            rewritten = True
        if usage is None or usage.total_input == 0:
            continue
        if before is not None and before.usage is not None and first is not None:
            baseline = _cached(before.usage) if rules is None else before.usage.total_input
            pause = None if request.start is None or before.start is None else request.start - before.start
            expired = pause is not None and pause > lives
            low, high = (baseline, baseline) if rules is None else _kept(before.usage, rules)
            if rewritten:
                low, high = _after_rewrite(first, known_prefix, midway)
            elif expired:
                low = high = 0
            right = _near(usage.cache_read, low, high)
            cause: Cause = "edit" if rewritten else "unexplained"
            if right and not rewritten:
                cause = "expired" if expired else "reproduced"
            written = usage.cache_write_5m + usage.cache_write_1h
            predictions.append(Prediction(request.index, usage.cache_read, low, high, baseline, written, pause, cause))
            if rewritten and usage.cache_read:
                known_prefix = usage.cache_read
        first = first or usage
        if rules is None and usage.cache_write_1h:
            lives = LONG
        elif rules is None and usage.cache_write_5m:
            lives = SHORT
        before, rewritten = request, False
    few = "" if predictions else "fewer than two requests have a recorded usage"
    return AsRun(tuple(predictions), few)


def _rules(trace: Trace) -> CacheRules | str | None:
    """OpenAI's rules, ``None`` for Anthropic's as Claude Code uses them, or why there are none."""
    usage = trace.usage
    if usage is None:
        return "no usage is recorded"
    if not usage.cache_read and not usage.cache_write_5m and not usage.cache_write_1h:
        return "no cache reads or writes are recorded"
    for model in dict.fromkeys(r.model for r in trace.requests if r.model):
        try:
            provider = prices(model).provider
        except InputError:
            continue
        if provider == "openai":
            return cache_rules(find_model(model))
        if provider == "google":
            return "Gemini's implicit cache follows no published rule, so its reads cannot be predicted"
        return None
    # An unknown model: only Anthropic's API reports writes beside reads in nearly every response.
    return None if usage.cache_write_5m or usage.cache_write_1h else "the model is unknown, and with it its cache rules"


def _kept(before: Usage, rules: CacheRules) -> tuple[int, int]:
    prompt, answered = before.total_input, before.total_input + before.output
    if prompt < rules.minimum:
        prompt = answered = 0
    return prompt // rules.step * rules.step, answered // rules.step * rules.step


def _cached(usage: Usage) -> int:
    return usage.cache_read + usage.cache_write_5m + usage.cache_write_1h


def _after_rewrite(first: Usage, known: int | None, midway: bool) -> tuple[int, int]:
    if known is not None:
        return known, known
    # Where the record starts in the middle, the first request read more than the system prompt.
    return (0 if midway else first.cache_read), _cached(first)


def _near(recorded: int, low: int, high: int) -> bool:
    if low <= recorded <= high:
        return True
    nearest = low if recorded < low else high
    return abs(recorded - nearest) <= TOLERANCE * max(recorded, nearest)


def causes(predictions: Sequence[Prediction]) -> dict[str, int]:
    """Written tokens by what made them necessary.

    Examples
    --------
    >>> causes([Prediction(2, 0, 0, 0, 9_000, 9_500, 900.0, "expired")])["expired"]
    9500
    """
    written = dict.fromkeys(("growth", "expired", "edit", "unexplained"), 0)
    for p in predictions:
        written["growth" if p.cause == "reproduced" else p.cause] += p.written
    return written


def why(trace: Trace, run: AsRun | None = None) -> dict[int, str]:
    """The cause, one of ``CAUSES``, of what each request had to write, by the request's index.

    What was never predicted, such as the first request, counts as growth: all of it was new.
    """
    named = {p.request: "growth" if p.cause == "reproduced" else p.cause for p in (run or reproduce(trace)).predictions}
    return {r.index: named.get(r.index, "growth") for r in trace.requests}


def writes_by_cause(trace: Trace, run: AsRun | None = None) -> dict[str, int]:
    """All tokens the main thread wrote to the cache, by cause.

    Parameters
    ----------
    trace : Trace
    run : AsRun, optional
        Default: :func:`reproduce`.

    Returns
    -------
    dict
        A count for each of ``CAUSES``; together the recorded writes. A request counts whole, so what
        was new after a pause stands under ``expired``.

    Examples
    --------
    >>> usages = [Usage(cache_write_5m=9_000), Usage(cache_read=9_000, cache_write_5m=500), Usage(cache_write_5m=9_900)]
    >>> starts = [0.0, 60.0, 900.0]
    >>> requests = tuple(Request(i + 1, start=s, usage=u) for i, (s, u) in enumerate(zip(starts, usages)))
    >>> writes_by_cause(Trace("tiny", (), requests))
    {'growth': 9500, 'expired': 9900, 'edit': 0, 'unexplained': 0}
    """
    cause = why(trace, run)
    written = dict.fromkeys(CAUSES, 0)
    for request in trace.requests:
        if request.usage is not None:
            written[cause[request.index]] += request.usage.cache_write_5m + request.usage.cache_write_1h
    return written
