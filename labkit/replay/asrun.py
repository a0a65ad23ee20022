"""Can the cache model reproduce what the provider really read? Only then may it answer a what-if.

Each request's cache read is predicted from what was sent before it and from the clock, never from its
own record, and then compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Literal

from labkit.errors import InputError
from labkit.price.cache import CacheRules, cache_rules
from labkit.price.prices import find_model, prices
from labkit.record.calibrate import starts_midway
from labkit.record.sizes import measure
from labkit.record.trace import Request, Trace, Usage

__all__ = ["LONG", "SHORT", "AsRun", "Prediction", "reproduce"]

Cause = Literal["reproduced", "expired", "edit", "unexplained"]

TOLERANCE = 0.01
"""A prediction counts as right within this share of the larger of the two numbers."""

# Claude's tokenizers give up to so many tokens for one of ours.
_DENSE = 1.35

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
        What the previous request read and wrote: the prediction without a model of the cache.
    written : int
        Recorded writes, of both lifetimes.
    pause : float or None
        Seconds since the start of the request whose entry it could read: the last one to the same model.
    cause : {"reproduced", "expired", "edit", "unexplained"}
        ``reproduced``: the prefix was read again as predicted. ``expired``: predicted to have died of
        age, and so it was. ``edit``: a recorded edit came before it, or it is the first to another
        model, whose cache is its own. ``unexplained``: anything else.
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
    switched : tuple of int
        Requests that were the first to another model.
    beyond : tuple of int
        Requests that read more than any request before them had sent: the answer to the one before too.
    """

    predictions: tuple[Prediction, ...]
    reason: str = ""
    switched: tuple[int, ...] = ()
    beyond: tuple[int, ...] = ()

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
    these where the record starts in the middle of a session); from then on it is known. Each model has
    a cache of its own: back at a model, a request reads what the last one to that model left.

    Some versions of Claude Code ask by themselves after an answer that ended a user turn, and do not log
    it; the next request then reads that answer too. So there the read lies between the two, as with OpenAI.

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
    run = _Run(rules, {edit.request for edit in trace.edits}, starts_midway(trace), _answered(trace))
    predictions = tuple(p for request in trace.requests if (p := run.next(request)) is not None)
    few = "" if predictions else "fewer than two requests have a recorded usage"
    return AsRun(predictions, few, tuple(run.switched), tuple(run.beyond))


class _Run:
    """What is known of the caches before each request: what each model was sent last, and when."""

    def __init__(self, rules: CacheRules | None, edits: set[int], midway: bool, answers: dict[int, int]) -> None:
        self._rules, self._edits, self._midway, self._answers = rules, edits, midway, answers
        self._lives = SHORT if rules is None else rules.ttl_1h or rules.ttl
        self._first: Usage | None = None
        self._before: Usage | None = None
        self._model: str | None = None
        self._last: dict[str | None, Request] = {}  # by model
        self._rewritten: set[str | None] = set()  # models that were not asked since an edit
        self._prefix: dict[str | None, int] = {}  # tokens of the system prompt, once they are known
        self.switched: list[int] = []
        self.beyond: list[int] = []

    def next(self, request: Request) -> Prediction | None:
        """The prediction for a request, ``None`` for the first; then its record is known."""
        if request.index in self._edits:
            self._rewritten |= {*self._last, self._model}
        usage = request.usage
        if usage is None or usage.total_input == 0:
            return None
        model = self._model if request.model is None else _model(request.model)
        if None in self._last and model is not None:  # which it was is known from here on
            self._last[model] = self._last.pop(None)
            self._rewritten = {model if name is None else name for name in self._rewritten}
        found = None
        if self._before is not None and self._first is not None:
            found = self._predict(request, usage, model, self._before, self._first)
        self._first, self._before, self._model = self._first or usage, usage, model
        self._last[model] = request
        self._rewritten.discard(model)
        if self._rules is None and usage.cache_write_1h:
            self._lives = LONG
        elif self._rules is None and usage.cache_write_5m:
            self._lives = SHORT
        return found

    def _predict(self, request: Request, usage: Usage, model: str | None, before: Usage, first: Usage) -> Prediction:
        own = self._last.get(model)
        pause = None if own is None or request.start is None or own.start is None else request.start - own.start
        expired = pause is not None and pause > self._lives
        changed = own is None or model in self._rewritten
        if own is None:
            self.switched.append(request.index)
            low, high = 0, first.total_input  # at most a system prompt that another session sent to it
        elif changed:
            low, high = _after_rewrite(first, self._prefix.get(model), self._midway)
        elif expired or own.usage is None:
            low = high = 0
        elif self._rules is None:
            low, high = _cached(own.usage), _cached(own.usage)
            if request.index in self._answers:
                high = own.usage.total_input + self._answered(request, own.usage)
        else:
            low, high = _kept(own.usage, self._rules)
        right = _near(usage.cache_read, low, high)
        cause: Cause = "edit" if changed else "unexplained"
        if right and not changed:
            cause = "expired" if expired else "reproduced"
        if changed and usage.cache_read:
            self._prefix[model] = usage.cache_read
        sent = usage.cache_read if own is None or own.usage is None else own.usage.total_input
        if not changed and 20 < usage.cache_read - sent <= self._answered(request, before):
            self.beyond.append(request.index)
        baseline = _cached(before) if self._rules is None else before.total_input
        written = usage.cache_write_5m + usage.cache_write_1h
        return Prediction(request.index, usage.cache_read, low, high, baseline, written, pause, cause)

    def _answered(self, request: Request, before: Usage) -> int:
        """Tokens of the answer before a request, at most; 0 where no user turn ended with it."""
        answer = self._answers.get(request.index, 0)
        return before.output if answer and before.output and before.output_quality == "exact" else answer


def _answered(trace: Trace) -> dict[int, int]:
    """The answer that ended a user turn, in tokens, by the request that carries it first; of Claude Code only."""
    # Its prompt suggestions send the whole conversation: https://github.com/hyparam/hypaware/issues/95
    if not trace.source.startswith("Claude Code"):
        return {}
    sizes, found = measure(trace).blocks, {}
    for request, new in trace.new_blocks():
        said = [trace.blocks[i] for i in new]
        if any(b.kind == "result" for b in said) or not any(b.kind == "text" and b.role == "user" for b in said):
            continue
        found[request.index] = ceil(_DENSE * sum(sizes[i] for i in new if trace.blocks[i].role == "assistant"))
    return found


@cache
def _model(name: str) -> str:
    """One name for a model however a session spells it."""
    try:
        return find_model(name)
    except InputError:
        return name


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
