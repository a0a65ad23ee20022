"""What a child costs beside doing it inline, for every size of the parent: figure, words and panel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go

from labkit.price.prices import Prices
from labkit.price.prices import prices as price_card
from labkit.replay.isolation_form import BreakEven, Work, break_even, difference, parts
from labkit.show.setup import Control, Setup, View
from labkit.show.style import INK, STYLES, Spec, count, round_up, spec

__all__ = ["describe_isolation", "draw_isolation", "fig_isolation", "isolation"]

_SIZES = (20_000, 120_000)
_LARGEST = 200_000


def fig_isolation(work: Work, prices: Prices | None = None) -> go.Figure:
    """Child less inline in dollars over the parent's size, for a fresh child and a fork.

    Parameters
    ----------
    work : Work
        ``parent`` is what the figure varies.
    prices : Prices, optional
        Default: the ctxkit article's card.

    Examples
    --------
    >>> fig_isolation(Work(0, 40_000, 10, 200, 5)).layout.title.text
    'Above a parent of 33,700 tokens a child is cheaper'
    """
    return go.Figure(draw_isolation(work, prices or price_card("article")))


def draw_isolation(work: Work, prices: Prices) -> Spec:
    """The figure of :func:`fig_isolation` as plain values."""
    xs = list(range(0, _LARGEST + 1, 10_000))
    lines = {how: [difference(replace(work, parent=x), prices, how) for x in xs] for how in ("fresh", "fork")}
    reach = round_up(1.15 * max(abs(y) for ys in lines.values() for y in ys))
    traces: list[dict[str, Any]] = []
    for how, name, key in (("fresh", "fresh child", "managed"), ("fork", "fork", "created")):
        style = STYLES[key]
        traces.append(
            {
                "type": "scatter",
                "x": xs,
                "y": lines[how],
                "mode": "lines",
                "name": name,
                "line": {"color": style.line, "width": 3, "dash": style.dash},
                "hovertemplate": f"parent %{{x:,}} tokens: {name} less inline %{{y:$.3f}}<extra></extra>",
            }
        )
    zero = {"color": STYLES["naive"].line, "width": 2, "dash": "dot"}
    traces.append(
        {"type": "scatter", "x": [0, _LARGEST], "y": [0, 0], "mode": "lines", "name": "inline", "line": zero}
        | {"hoverinfo": "skip"}
    )
    found = break_even(work, prices)
    seen = found.cheaper in ("above", "below") and found.at <= _LARGEST
    traces.append(
        {
            "type": "scatter",
            "x": [found.at] if seen else [],
            "y": [0] if seen else [],
            "text": [f"  equal at {found.at:,.0f}"] if seen else [],
            "mode": "markers+text",
            "textposition": "top right" if found.at < 0.7 * _LARGEST else "top left",
            "name": "equal",
            "marker": {"symbol": "x", "size": 12, "color": STYLES["used_later"].line},
            "textfont": {"color": INK},
            "showlegend": False,
            "hoverinfo": "skip",
        }
    )
    traces.append(
        {
            "type": "scatter",
            "x": [0.99 * _LARGEST] * 2,
            "y": [0.88 * reach, -0.88 * reach],
            "text": ["the child is dearer", "the child is cheaper"],
            "mode": "text",
            "textposition": "middle left",
            "textfont": {"color": INK},
            "showlegend": False,
            "hoverinfo": "skip",
        }
    )
    return spec(
        _title(found),
        traces,
        xaxis={
            "title": {"text": "tokens of the parent's prompt when the work begins"},
            "range": [0, _LARGEST],
            "tickformat": ",",
        },
        yaxis={
            "title": {"text": "child less inline, $"},
            "range": [-reach, reach],
            "tickformat": ".2f",
        },
    )


def _title(found: BreakEven) -> str:
    if found.cheaper == "always":
        return "A child is cheaper at every size of the parent"
    if found.cheaper == "never" or (found.at > _LARGEST and found.cheaper == "above"):
        return f"A child is never cheaper, up to a parent of {_LARGEST:,} tokens"
    return f"{found.cheaper.capitalize()} a parent of {found.at:,.0f} tokens a child is cheaper"


def describe_isolation(work: Work, prices: Prices | None = None) -> str:
    """The figure in words: at two sizes of the parent, where both are equal, and what makes the difference.

    Parameters
    ----------
    work : Work
    prices : Prices, optional
        Default: the ctxkit article's card.
    """
    card = prices or price_card("article")
    small, large = (replace(work, parent=size) for size in _SIZES)
    cause = parts(large, card)
    spared = ("parent not re-read", "stretch not carried")
    rest = math.fsum(v for name, v in cause.items() if name not in spared)
    again, later = int(work.calls) - 1, int(work.left) - 1
    return (
        f"At a parent of {_SIZES[0]:,} tokens a fresh child costs {_beside(difference(small, card))}, at "
        f"{_SIZES[1]:,} {_beside(difference(large, card))}. {_title(break_even(work, card))}.\n"
        f"At {_SIZES[1]:,} it spares {_signed(-cause[spared[0]], '')} because {count(again, 'request')} of the work "
        f"did not read the parent again, and {_signed(-cause[spared[1]], '')} because "
        f"{count(later, 'later request')} did not carry the work. It costs ${rest:.2f} for its own prefix, the brief "
        "and the return.\n"
        f"A fork costs {_beside(difference(large, card, 'fork'))} there: it reads the parent all the same."
    )


def _beside(dollars: float) -> str:
    if abs(dollars) < 0.005:
        return "the same"
    return f"${abs(dollars):.2f} {'more' if dollars > 0 else 'less'}"


def isolation(work: Work | None = None, prices: Prices | None = None) -> Setup:
    """Child against inline: how much comes back, and how many requests are left.

    Parameters
    ----------
    work : Work, optional
        Where the controls stand at the start. Default: ten calls that add 40,000 tokens, a return of 200, five
        requests left.
    prices : Prices, optional
        Default: the ctxkit article's card.
    """
    card = prices or price_card("article")
    start = work or Work(0, 40_000, 10, 200, 5)

    def draw(values: Mapping[str, Any]) -> View:
        now = Work(
            parent=0,
            stretch=values["each"] * values["calls"],
            calls=values["calls"],
            returned=values["returned"],
            left=values["left"],
            prefix=values["prefix"],
            brief=start.brief,
        )
        at = replace(card, cache_read=card.input * values["read"] / 1_000)
        large = replace(now, parent=_SIZES[1])
        found, cause = break_even(now, at), parts(large, at)
        equal = f"{found.at:,.0f}" if found.cheaper in ("above", "below") else found.cheaper
        again, carried = cause["parent not re-read"], cause["stretch not carried"]
        share = f"{again / (again + carried):.0%}" if again < 0 and carried <= 0 else "none"
        numbers = (
            (f"at {_SIZES[0]:,}", _signed(difference(replace(now, parent=_SIZES[0]), at)), "child less inline"),
            (f"at {_SIZES[1]:,}", _signed(difference(large, at)), "child less inline"),
            ("cheaper above" if found.cheaper != "below" else "cheaper below", equal, "tokens of the parent"),
            ("not re-reading the parent", share, f"of what is spared at {_SIZES[1]:,}"),
        )
        return View(draw_isolation(now, at), numbers, describe_isolation(now, at).replace("\n", " "))

    each = round(start.stretch / start.calls)
    read = round(1_000 * card.read_multiplier)
    controls = (
        Control("returned", "return (tokens)", int(start.returned), 0, 20_000, 200),
        Control("left", "requests left", int(start.left), 1, 60),
        Control("calls", "calls", int(start.calls), 1, 40, more=True),
        Control("each", "tokens a call", each, 100, 10_000, 100, more=True),
        Control("prefix", "child's prefix", int(start.prefix), 0, 60_000, 1_000, more=True),
        Control(
            "read",
            "read price",
            read,
            choices={f"{r / 1_000:g} x input": r for r in sorted({25, 50, 100, 200, read}, reverse=True)},
            more=True,
        ),
    )
    note = (
        "A formula, equal to a replay where the cache is warm and all calls are of one size. The child does what the "
        "parent would have done; whether its return is enough is another question. "
        f"Prices: card {card.model}, as of {card.as_of}; the price of a read is varied."
    )
    code = "lk.plots.fig_isolation(Work(0, stretch=40_000, calls=10, returned=200, left=5))"
    return Setup("isolation", controls, draw, code, note)


def _signed(dollars: float, plus: str = "+") -> str:
    return f"{plus if dollars >= 0.005 else '-' if dollars <= -0.005 else ''}${abs(dollars):.2f}"
