"""Cost against loss: all policies of a sweep, and those that no other beats in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from labkit.errors import InputError
from labkit.replay.choose import frontier, knee
from labkit.show.style import INK, STYLES, Spec, share, spec

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["describe_frontier", "draw_frontier", "fig_frontier", "named"]

_MOST = 1_500  # points of the cloud: more take the browser longer and show no more


def fig_frontier(frame: pd.DataFrame, policy: int | None = None) -> go.Figure:
    """Net cost over excerpts missing when needed.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`labkit.sweep`, with one trace.
    policy : int, optional
        One of the frontier, to mark; default: its knee.
    """
    return go.Figure(draw_frontier(frame, policy))


def draw_frontier(frame: pd.DataFrame, policy: int | None = None) -> Spec:
    """The figure of :func:`fig_frontier` as plain values."""
    front = frontier(frame)
    chosen = _one(front, policy)
    good = frame[frame["disqualified"] == ""]
    cloud = good.iloc[:: max(len(good) // _MOST, 1)]
    bend = knee(front)
    base = float(frame.loc[frame["policy"] == 0, "cold"].iloc[0])
    names = [named(frame, int(p)) for p in front["policy"]]
    blue = STYLES["managed"].line
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "x": cloud["uses_after_clear"].tolist(),
            "y": [round(v, 4) for v in _paid(cloud)],
            "mode": "markers",
            "marker": {"size": 4, "color": "#B5B5B5"},
            "hoverinfo": "skip",
            "name": "other policies",
        },
        {
            "type": "scatter",
            "x": front["uses_after_clear"].tolist(),
            "y": [round(v, 4) for v in _paid(front)],
            "mode": "lines+markers",
            "line": {"color": blue, "width": 2, "shape": "vh"},
            "marker": {
                "size": 11,
                "color": blue,
                "symbol": ["diamond" if p == bend else "circle" for p in front["policy"]],
            },
            "customdata": front["policy"].tolist(),
            "text": names,
            "hovertemplate": "%{text}: $%{y:.2f}, %{x} missing<extra></extra>",
            "name": "the frontier (diamond: its knee)",
            "meta": {"controls": {"policy": "customdata"}},
        },
        {
            "type": "scatter",
            "x": [int(chosen["uses_after_clear"])],
            "y": [round(float(chosen["cold"] + chosen["reread_dear"]), 4)],
            "mode": "markers",
            "marker": {"symbol": "circle-open", "size": 20, "color": INK, "line": {"width": 3, "color": INK}},
            "hoverinfo": "skip",
            "name": "this one",
        },
    ]
    return spec(
        f"{len(front)} of {len(frame):,} policies are beaten by no other in cost and in loss",
        traces,
        xaxis={"title": {"text": "excerpts missing when needed"}, "rangemode": "tozero"},
        # Policies that cost far more than doing nothing would press the frontier flat.
        yaxis={"title": {"text": "cost with every re-read paid"}, "tickprefix": "$", "range": [0, 1.5 * base]},
        legend={"x": 1, "xanchor": "right", "y": 1, "bgcolor": "rgba(255,255,255,0.8)"},
    )


def describe_frontier(frame: pd.DataFrame, policy: int | None = None) -> str:
    """One policy of the frontier in words, and what the next step to less loss costs.

    Parameters
    ----------
    frame, policy
        As for :func:`fig_frontier`.
    """
    front = frontier(frame)
    row = _one(front, policy)
    base = float(frame.loc[frame["policy"] == 0, "cold"].iloc[0])
    kind = " (the knee)" if int(row["policy"]) == knee(front) else ""
    cost, saved = row["cold"] + row["reread_dear"], share(max(float(row["net_low"]), 0.0), base)
    missing = f"{row['uses_after_clear']} excerpts missing when needed"
    lines = [f"{named(frame, int(row['policy']))}{kind}: ${cost:.2f}, {saved} saved, {missing}."]
    place = list(front["policy"]).index(row["policy"])
    if place + 1 < len(front):
        after = front.iloc[place + 1]
        fewer = int(row["uses_after_clear"] - after["uses_after_clear"])
        dearer = float(row["net_low"] - after["net_low"])
        lines.append(
            f"The next one misses {fewer} fewer and costs ${dearer:.2f} more: {named(frame, int(after['policy']))}."
        )
    else:
        lines.append("None of the frontier loses less.")
    return "\n".join(lines)


def named(frame: pd.DataFrame, policy: int) -> str:
    """A policy of a sweep by the fields that vary."""
    if policy == 0:
        return "do nothing"
    columns = list(frame.columns)
    fields = columns[columns.index("policy") + 1 : columns.index("engine")]
    row = frame[frame["policy"] == policy].iloc[0]
    values = {field: row[field] for field in fields}
    return ", ".join(
        f"{field.replace('_', ' ')} {f'{value:,}' if type(value) is int else value}" for field, value in values.items()
    )


def _paid(rows: Any) -> list[float]:
    return [float(v) for v in rows["cold"] + rows["reread_dear"]]


def _one(front: Any, policy: int | None) -> Any:
    wanted = knee(front) if policy is None else policy
    found = front[front["policy"] == wanted]
    if found.empty:
        known = ", ".join(str(p) for p in front["policy"])
        raise InputError(f"policy {wanted} is not on the frontier: give one of {known}")
    return found.iloc[0]
