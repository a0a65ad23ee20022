"""What a policy costs beside doing nothing, for every price of a cached read: figure and words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.price.economics import crossing_read_multiplier
from labkit.price.prices import PER, Prices, models
from labkit.price.prices import prices as price_card
from labkit.record.sizes import measure
from labkit.record.trace import Trace
from labkit.replay.bill import bill
from labkit.replay.replay import Replay, replay
from labkit.show.style import INK, STYLES, Spec, round_up, spec

__all__ = [
    "ReadPrice",
    "describe_read_price",
    "draw_read_price",
    "fig_read_price",
    "read_price",
    "with_pauses",
]

_LOW, _HIGH = 0.01, 0.5
_POINTS = 60
_STEP, _PAUSE = 30.0, 1_800.0


@dataclass(frozen=True)
class ReadPrice:
    """Two runs whose bills are compared at any price of a cached read.

    Parameters
    ----------
    managed, naive : Replay
        Under the policy, and under :meth:`Policy.nothing`, by the same cache rules.
    prices : Prices
        Everything but the price of a read.
    cold : bool
        Whether cache entries expire during the pauses of the run.
    """

    managed: Replay
    naive: Replay
    prices: Prices
    cold: bool = True

    def ratio(self, read: float) -> float:
        """Cost of the managed run as a multiple of doing nothing's, at a read price.

        Parameters
        ----------
        read : float
            As a multiple of the input price.
        """
        (rest, tokens), (rest_naive, tokens_naive) = self._parts
        each = self.prices.input * read / PER
        return (rest + tokens * each) / (rest_naive + tokens_naive * each)

    @cached_property
    def _parts(self) -> tuple[tuple[float, int], tuple[float, int]]:
        """Of either run the dollars of everything but reads, and the tokens read: so a price is one sum."""
        free = replace(self.prices, cache_read=0.0, bands=())
        parts = []
        for run in (self.managed, self.naive):
            charged = bill(run, free)
            parts.append((charged.cold if self.cold else charged.cached, self._totals(run)[1]))
        return parts[0], parts[1]

    @property
    def plain(self) -> float:
        """The same without a cache."""
        card = replace(self.prices, bands=())
        return bill(self.managed, card).plain / bill(self.naive, card).plain

    @property
    def crossing(self) -> float:
        """The read price, as a multiple of the input price, at which the two bills are equal."""
        (fresh, read), (fresh_naive, read_naive) = self._totals(self.managed), self._totals(self.naive)
        return crossing_read_multiplier(fresh_naive, read_naive, fresh, read, write=self.prices.write_multiplier)

    def _totals(self, run: Replay) -> tuple[int, int]:
        read = sum(row.read_cold if self.cold else row.read for row in run.rows)
        return run.input - read, read


def read_price(
    trace: Trace,
    policy: str | Path | Mapping[str, Any] | Policy = "article",
    *,
    rules: CacheRules = ARTICLE_RULES,
    prices: Prices | None = None,
    cold: bool = False,
) -> ReadPrice:
    """Replay a trace with and without a policy, to be compared at any read price.

    Parameters
    ----------
    trace : Trace
    policy : Policy, name, file or mapping
    rules : CacheRules
    prices : Prices, optional
        Default: the ctxkit article's card.
    cold : bool
        Whether cache entries expire during the run's pauses.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> pair = read_price(load(data_path("traces", "invoice-60.jsonl")))
    >>> round(1 / pair.plain, 1), round(1 / pair.ratio(0.1), 1), round(pair.ratio(0.025), 3), round(pair.crossing, 4)
    (4.4, 1.6, 1.012, 0.0262)
    """
    sizes = measure(trace)
    return ReadPrice(
        replay(trace, load_policy(policy), rules, sizes=sizes),
        replay(trace, Policy.nothing(), rules, sizes=sizes),
        prices or price_card("article"),
        cold,
    )


def with_pauses(trace: Trace, pauses: int) -> Trace:
    """The same run on another clock: a request every 30 seconds, and so many pauses of half an hour.

    Parameters
    ----------
    trace : Trace
    pauses : int
        Spread evenly over the run.

    Examples
    --------
    >>> from labkit.record.trace import Request
    >>> [r.start for r in with_pauses(Trace("four", (), tuple(Request(i) for i in range(1, 5))), 1).requests]
    [0.0, 30.0, 1830.0, 1860.0]
    """
    n = len(trace.requests)
    before = [round((k + 1) * n / (pauses + 1)) for k in range(min(pauses, n - 1))]
    now, requests = 0.0, []
    for i, request in enumerate(trace.requests):
        if i:
            now += _PAUSE if i in before else _STEP
        requests.append(replace(request, start=now))
    return replace(trace, requests=tuple(requests))


@lru_cache(maxsize=1)
def _ticks() -> tuple[tuple[float, str], ...]:
    """Read prices on sale today, and who sells at each: the two newest of the list, and how many more."""
    sellers: dict[float, list[str]] = {}
    for model in models():
        card = price_card(model)
        if card.provider and card.valid_until is None and card.input and _LOW <= card.read_multiplier <= _HIGH:
            sellers.setdefault(round(card.read_multiplier, 4), []).append(model)
    return tuple(sorted((r, _few(names)) for r, names in sellers.items() if len(names) > 1 or r < 0.09))


def _few(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def fig_read_price(pair: ReadPrice) -> go.Figure:
    """Managed cost as a multiple of doing nothing's, over the price of a cached read.

    Parameters
    ----------
    pair : ReadPrice
    """
    return go.Figure(draw_read_price(pair))


def draw_read_price(pair: ReadPrice) -> Spec:
    """The figure of :func:`fig_read_price` as plain values."""
    xs = [_LOW * (_HIGH / _LOW) ** (i / (_POINTS - 1)) for i in range(_POINTS)]
    xs = sorted({*xs, *(r for r, _ in _ticks())})
    ys = [pair.ratio(x) for x in xs]
    top = max(round_up(1.1 * max(ys)), 1.2)
    style = STYLES["managed"]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "x": xs,
            "y": ys,
            "mode": "lines",
            "name": "managed / do nothing",
            "line": {"color": style.line, "width": 3},
            "hovertemplate": "read price %{x:.3f} x input: %{y:.2f} of doing nothing<extra></extra>",
        },
        {
            "type": "scatter",
            "x": [_LOW, _HIGH],
            "y": [1, 1],
            "mode": "lines",
            "name": "do nothing",
            "line": {"color": STYLES["naive"].line, "width": 2, "dash": "dash"},
            "hoverinfo": "skip",
        },
    ]
    ticks = _ticks()
    traces.append(
        {
            "type": "scatter",
            "x": [r for r, _ in ticks],
            "y": [pair.ratio(r) for r, _ in ticks],
            "mode": "markers",
            "name": "on sale",
            "marker": {"symbol": "circle", "size": 9, "color": style.line},
            "customdata": [who for _, who in ticks],
            "hovertemplate": "%{customdata}: read price %{x:.3f} x input, %{y:.2f} of doing nothing<extra></extra>",
        }
    )
    cross = pair.crossing
    seen = _LOW <= cross <= _HIGH
    traces.append(
        {
            "type": "scatter",
            "x": [cross] if seen else [],
            "y": [1] if seen else [],
            "text": [f"  crosses at {cross:.4f}"] if seen else [],
            "mode": "markers+text",
            "textposition": "top right",
            "name": "equal",
            "marker": {"symbol": "x", "size": 12, "color": STYLES["used_later"].line},
            "textfont": {"color": INK},
            "hoverinfo": "skip",
        }
    )
    marks = [0.01, 0.025, 0.05, 0.1, 0.2, 0.5]
    return spec(
        _title(pair),
        traces,
        showlegend=False,
        xaxis={
            "title": {"text": "price of a cached read, as a multiple of the input price (dots: on sale)"},
            "type": "log",
            "range": [math.log10(_LOW), math.log10(_HIGH)],
            "tickvals": marks,
            "ticktext": [f"{m:g}" for m in marks],
        },
        yaxis={"title": {"text": "cost / cost of doing nothing"}, "range": [0, top]},
    )


def _title(pair: ReadPrice) -> str:
    cross = pair.crossing
    if cross == 0:
        return "The policy is never dearer than doing nothing"
    if math.isinf(cross):
        return "The policy is never cheaper than doing nothing"
    return f"Below a read price of {cross:.4f} x input the policy costs more than doing nothing"


def describe_read_price(pair: ReadPrice) -> str:
    """The figure in words: without a cache, with one, and where the two bills are equal.

    Parameters
    ----------
    pair : ReadPrice
    """
    (fresh, read), (fresh_naive, read_naive) = pair._totals(pair.managed), pair._totals(pair.naive)
    more = f"{abs(fresh - fresh_naive):,} tokens {'more' if fresh >= fresh_naive else 'fewer'}"
    return (
        f"Without a cache the policy costs {_times(pair.plain)}; with reads at 0.1 of the input price\n"
        f"{_times(pair.ratio(0.1))}, at 0.05 {_times(pair.ratio(0.05))}, at 0.025 {_times(pair.ratio(0.025))}.\n"
        f"It writes {more} and reads {read_naive - read:,} fewer.\n{_title(pair)}."
    )


def _times(ratio: float) -> str:
    return f"{1 / ratio:.1f} times less" if ratio < 0.995 else f"{ratio - 1:.1%} more" if ratio > 1.0005 else "the same"
