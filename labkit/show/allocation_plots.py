"""Retrieval as allocation: what a fixed room buys for each share of it that documents get. Figure and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.errors import InputError
from labkit.replay.allocation import Division
from labkit.show.style import INK, STYLES, Spec, count, spec

__all__ = ["describe_allocation", "draw_allocation", "fig_allocation"]


def fig_allocation(divisions: Sequence[Division]) -> go.Figure:
    """Uses found in the window over the share of the room that is kept for documents.

    Parameters
    ----------
    divisions : sequence of Division
        Of :func:`labkit.replay.allocation.divide`.

    Raises
    ------
    InputError
        If there are none.
    """
    return go.Figure(draw_allocation(divisions))


def draw_allocation(divisions: Sequence[Division]) -> Spec:
    """The figure of :func:`fig_allocation` as plain values."""
    best = _best(divisions)
    xs = [d.share for d in divisions]
    parts = (
        ("of tool output", [d.output for d in divisions], "tool_output", ""),
        ("of retrieved documents", [d.documents for d in divisions], "retrieved_docs", "/"),
    )
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "x": xs,
            "y": ys,
            "name": name,
            "marker": {
                "color": STYLES[style].color,
                "line": {"color": STYLES[style].line, "width": 1},
                "pattern": {"shape": pattern, "fgcolor": STYLES[style].line, "size": 6, "fillmode": "overlay"},
            },
            "hovertemplate": f"%{{x}} % for documents: %{{y}} {name}<extra></extra>",
        }
        for name, ys, style, pattern in parts
    ]
    traces.append(
        {
            "type": "scatter",
            "x": xs,
            "y": [d.found for d in divisions],
            "text": [f"{d.found}" for d in divisions],
            "mode": "text",
            "textposition": "top center",
            "textfont": {"size": 12, "color": INK},
            "name": "together",
            "showlegend": False,
            "hoverinfo": "skip",
        }
    )
    needed = best.needed
    return spec(
        f"{best.budget:,} tokens: {best.share} % for documents finds most, {best.found} of {needed}",
        traces,
        barmode="stack",
        bargap=0.25,
        xaxis={"title": {"text": "share of the room for retrieved documents (%)"}, "tickvals": xs},
        yaxis={"title": {"text": "uses found in the window"}, "range": [0, needed * 1.12 + 1], "nticks": 6},
    )


def _best(divisions: Sequence[Division]) -> Division:
    if not divisions:
        raise InputError("no division was given: make some with labkit.replay.allocation.divide(trace, budget)")
    return max(divisions, key=lambda d: d.found)  # of equal ones the smallest share


def describe_allocation(divisions: Sequence[Division]) -> str:
    """The figure in words.

    Parameters
    ----------
    divisions : sequence of Division
    """
    best, first, last = _best(divisions), divisions[0], divisions[-1]
    lines = [
        f"A room of {best.budget:,} tokens; later turns rely on {count(best.needed, 'excerpt')} of what it could hold.",
        f"With {first.share} % for documents {first.found} are found, with {last.share} % {last.found}.",
        f"Most are found with {best.share} %: {best.found}, of them {best.documents} of documents.",
    ]
    return "\n".join(lines)
