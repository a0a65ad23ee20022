"""What a session cost at list price, and what the dollars went for."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from labkit.errors import InputError
from labkit.price.prices import PER, Prices, prices
from labkit.record.calibrate import Calibration, calibrate
from labkit.record.sizes import measure
from labkit.record.trace import Request, Trace, Usage
from labkit.replay.asrun import AsRun, reproduce
from labkit.replay.causes import why

__all__ = ["COSTS", "Cost", "cost_of", "price_on", "subscription", "unpriced"]

COSTS = ("reads", "growth", "expired", "edit", "unexplained", "uncached", "output", "children", "summaries")
"""What dollars go for: cache reads; writes by cause; the uncached rest; output; subagents; recorded calls that
wrote summaries. Where a provider bills no writes, what was not read stands under the four causes."""

# A placeholder stands for an output of at least the text that the record holds, counted; hidden thinking adds to it.
# Of the recorded sessions with final numbers, the output is 0.5 to 1.35 times the counted text, 1.6 for some responses.
_LOW, _HIGH = 1.0, 1.6


@dataclass(frozen=True)
class Cost:
    """Dollars of a session at the list prices of each request's day.

    Parameters
    ----------
    exact : float or None
        All that the record holds exact counts of, children included; ``None`` if a model has no price.
    estimated_low, estimated_high : float or None
        What comes on top: outputs of which the record holds a placeholder or nothing, estimated from
        their text.
    by_cause : dict of str to float
        The exact dollars by name of ``COSTS``.
    untouchable : float
        Of the exact dollars of the main thread, those that no policy for its messages can change: the fixed
        prefix, the first write of what was new, the output.
    main : float
        The exact dollars of the main thread.
    unpriced : tuple of str
        Models without a price.
    as_of : str
        Date of the price list.
    subscription : bool
        Whether the harness is usually paid by subscription: then this is an equivalent, not a bill.
    """

    exact: float | None
    estimated_low: float | None
    estimated_high: float | None
    by_cause: dict[str, float]
    untouchable: float
    main: float
    unpriced: tuple[str, ...]
    as_of: str
    subscription: bool

    def to_json(self) -> dict[str, Any]:
        """One object for programs, without rounding."""
        known = self.exact is not None
        return {
            "exact": self.exact,
            "estimated_low": self.estimated_low,
            "estimated_high": self.estimated_high,
            "by_cause": dict(self.by_cause) if known else None,
            "untouchable": self.untouchable if known else None,
            "unpriced_models": list(self.unpriced),
            "prices_as_of": self.as_of,
            "list_price_equivalent": self.subscription,
        }


def cost_of(trace: Trace, *, fit: Calibration | None = None, run: AsRun | None = None) -> Cost:
    """Price a session request by request, each at its own model, day and prompt size.

    Parameters
    ----------
    trace : Trace
    fit : Calibration, optional
        Default: :func:`labkit.record.calibrate.calibrate`; tells the fixed prefix.
    run : AsRun, optional
        Default: :func:`labkit.replay.asrun.reproduce`; tells the causes.

    Examples
    --------
    >>> usage = Usage(uncached=10, cache_read=100_000, cache_write_5m=2_000, output=500)
    >>> cost = cost_of(Trace("tiny", (), (Request(1, model="claude-opus-4-5", usage=usage),)))
    >>> {name: round(dollars, 6) for name, dollars in cost.by_cause.items() if dollars}
    {'reads': 0.05, 'growth': 0.0125, 'uncached': 5e-05, 'output': 0.0125}
    """
    ledger = _Ledger()
    ledger.add(trace, fit or calibrate(trace), run or reproduce(trace))
    main = ledger.exact
    for child in trace.children:
        ledger.add_child(child)
    priced = not ledger.unpriced
    return Cost(
        exact=ledger.exact if priced else None,
        estimated_low=ledger.low if priced else None,
        estimated_high=ledger.high if priced else None,
        by_cause=dict(ledger.spent),
        untouchable=ledger.untouchable,
        main=main,
        unpriced=tuple(sorted(ledger.unpriced)),
        as_of=ledger.as_of,
        subscription=subscription(trace),
    )


def subscription(trace: Trace) -> bool:
    """Whether the harness that recorded the session is usually paid by subscription."""
    return trace.source.startswith(("Claude Code", "Codex"))


def unpriced(trace: Trace) -> tuple[str, ...]:
    """Models with recorded usage that the price list does not know, children's too."""
    used = {r.model or "not recorded" for r in trace.requests if r.usage is not None and _counts(r.usage)}
    found = {name for child in trace.children for name in unpriced(child)}
    for model in used:
        try:
            prices(model)
        except InputError:
            found.add(model)
    return tuple(sorted(found))


def _counts(usage: Usage) -> bool:
    return usage.total_input + usage.output > 0


def price_on(request: Request) -> Prices:
    """The price card of a request's model on its day.

    Raises
    ------
    InputError
        If the model is unknown.
    """
    return prices(request.model or "not recorded", _day(request.start))


def _day(start: float | None) -> date | None:
    # A scripted run counts seconds from its start, which is no date.
    return None if start is None or start < 1e9 else datetime.fromtimestamp(start, UTC).date()


class _Ledger:
    def __init__(self) -> None:
        self.spent = dict.fromkeys(COSTS, 0.0)
        self.low = self.high = self.untouchable = 0.0
        self.unpriced: set[str] = set()
        self.as_of = ""

    @property
    def exact(self) -> float:
        return math.fsum(self.spent.values())

    def add(self, trace: Trace, fit: Calibration, run: AsRun) -> None:
        cause = why(trace, run)
        answers = _answers(trace)
        bills_writes = trace.usage is not None and trace.usage.cache_write_5m + trace.usage.cache_write_1h > 0
        before = 0
        for request in trace.requests:
            usage = request.usage
            if usage is None:
                continue
            card = self._card(request)
            if card is None:
                before = usage.total_input
                continue
            card = card.at(usage.total_input)
            prefix = fit.prefix + fit.sizes.prefix(request.prefix)
            new = max(usage.total_input - before, 0)
            self._one(usage, card, cause[request.index] if bills_writes or run.predictions else "", bills_writes)
            self._fixed(usage, card, min(prefix, usage.total_input), new, bills_writes)
            self._output(usage, card, answers[request.index], "output")
            before = usage.total_input

    def add_child(self, child: Trace) -> None:
        name = "summaries" if child.kind == "compaction" else "children"
        answers = _answers(child)
        for request in child.requests:
            card = None if request.usage is None else self._card(request)
            if card is None or request.usage is None:
                continue
            at = card.at(request.usage.total_input)
            self.spent[name] += at.request_cost(_without_output(request.usage))
            self._output(request.usage, at, answers[request.index], name)
        for inner in child.children:
            self.add_child(inner)

    def _card(self, request: Request) -> Prices | None:
        if request.usage is not None and not _counts(request.usage):
            return None
        try:
            card = price_on(request)
        except InputError:
            self.unpriced.add(request.model or "not recorded")
            return None
        self.as_of = card.as_of
        return card

    def _one(self, usage: Usage, card: Prices, cause: str, bills_writes: bool) -> None:
        self.spent["reads"] += card.cost(read=usage.cache_read)
        if bills_writes:
            self.spent[cause] += card.cost(write_5m=usage.cache_write_5m, write_1h=usage.cache_write_1h)
            cause = "uncached"
        self.spent[cause or "uncached"] += card.cost(uncached=usage.uncached)

    def _fixed(self, usage: Usage, card: Prices, prefix: int, new: int, bills_writes: bool) -> None:
        """Dollars of the prefix and of the first sight of new tokens, of what was not read at its own price."""
        read = min(prefix, usage.cache_read)
        written = usage.cache_write_5m + usage.cache_write_1h
        if bills_writes:
            once, dear = written, card.cost(write_5m=usage.cache_write_5m, write_1h=usage.cache_write_1h)
            self.untouchable += card.cost(uncached=usage.uncached)
        else:
            once, dear = usage.uncached, card.cost(uncached=usage.uncached)
        part = min(max(prefix - read, new), once) if read < prefix else min(new, once)
        self.untouchable += card.cost(read=read) + (dear * part / once if once else 0.0)

    def _output(self, usage: Usage, card: Prices, answered: int, name: str) -> None:
        if usage.output_quality == "exact":
            self.spent[name] += card.cost(output=usage.output)
            if name == "output":
                self.untouchable += card.cost(output=usage.output)
            return
        self.low += max(usage.output, _LOW * answered) * card.output / PER
        self.high += max(usage.output, _HIGH * answered) * card.output / PER


def _answers(trace: Trace) -> Counter[int]:
    """Counted tokens of what the assistant answered to each request."""
    answers: Counter[int] = Counter()
    for block, size in zip(trace.blocks, measure(trace).blocks, strict=True):
        if block.role == "assistant":
            answers[block.request - 1] += size
    return answers


def _without_output(usage: Usage) -> Usage:
    return Usage(usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h)
