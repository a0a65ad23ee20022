"""A sweep as a map: two thresholds, the saving by level, and the line at which doing nothing is as good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from labkit.errors import InputError
from labkit.replay.choose import choose
from labkit.replay.rows import Replay
from labkit.show.style import INK, STYLES, Spec, round_up, share, spec

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["describe_sweep", "draw_sweep", "fig_sweep", "row_at"]


def fig_sweep(
    frame: pd.DataFrame,
    x: str = "trigger",
    y: str = "keep",
    *,
    at: tuple[Any, Any] | None = None,
    runs: tuple[Replay, Replay] | None = None,
) -> go.Figure:
    """Saving over two fields of a sweep of one run.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`labkit.sweep`, over ``x`` and ``y``.
    x, y : str
        The two fields.
    at : (x, y), optional
        A place to mark.
    runs : (Replay, Replay), optional
        Drawn below the map: the run under the policy of that place, and under none.
    """
    return go.Figure(draw_sweep(frame, x, y, at=at, runs=runs))


def draw_sweep(
    frame: pd.DataFrame,
    x: str = "trigger",
    y: str = "keep",
    *,
    at: tuple[Any, Any] | None = None,
    runs: tuple[Replay, Replay] | None = None,
) -> Spec:
    """The figure of :func:`fig_sweep` as plain values."""
    xs, ys, z, barred, _ = _table(frame, x, y)
    chosen = choose(frame)
    best = None if chosen.nothing else frame[frame["policy"] == chosen.policy].iloc[0]
    traces: list[dict[str, Any]] = [
        {
            "type": "contour",
            "x": xs,
            "y": ys,
            "z": z,
            "contours": {"coloring": "heatmap", "showlabels": True, "labelfont": {"size": 10, "color": INK}},
            "colorscale": [[0, "#D55E00"], [0.5, "#F7F7F7"], [1, "#0072B2"]],
            "zmid": 0,
            "line": {"width": 0.5, "color": "#595959"},
            "connectgaps": False,
            "colorbar": {"title": {"text": "saved, %"}, "thickness": 12},
            "hovertemplate": f"{_name(x)} %{{x:,}}, {_name(y)} %{{y}}: %{{z:.1f}} % saved<extra></extra>",
            "name": "saving",
            "meta": {"controls": {x: "x", y: "y"}},
            "showlegend": False,
        },
        {
            "type": "contour",
            "x": xs,
            "y": ys,
            "z": z,
            "contours": {"coloring": "none", "start": 0, "end": 0, "size": 1, "showlabels": False},
            "line": {"width": 3, "color": INK, "dash": "dash"},
            "showscale": False,
            "hoverinfo": "skip",
            "name": "as good as doing nothing",
            "showlegend": False,
        },
        {
            "type": "scatter",
            "x": [b[0] for b in barred],
            "y": [b[1] for b in barred],
            "mode": "markers",
            "marker": {"symbol": "x-thin", "size": 6, "color": "#595959", "line": {"width": 1, "color": "#595959"}},
            "customdata": [b[2] for b in barred],
            "hovertemplate": f"{_name(x)} %{{x:,}}, {_name(y)} %{{y}}: %{{customdata}}<extra></extra>",
            "name": "disqualified",
            "meta": {"controls": {x: "x", y: "y"}},
            "showlegend": False,
        },
    ]
    place = None if best is None else (best[x], best[y])
    traces.append(
        {
            "type": "scatter",
            "x": [] if place is None else [place[0]],
            "y": [] if place is None else [place[1]],
            "mode": "markers",
            "marker": {"symbol": "star", "size": 14, "color": "#FFFFFF", "line": {"width": 2, "color": INK}},
            "hoverinfo": "skip",
            "name": "chosen",
            "showlegend": False,
        }
    )
    traces.append(
        {
            "type": "scatter",
            "x": [] if at is None else [at[0]],
            "y": [] if at is None else [at[1]],
            "mode": "markers",
            "marker": {"symbol": "circle-open", "size": 18, "color": INK, "line": {"width": 3, "color": INK}},
            "hoverinfo": "skip",
            "name": "this point",
            "showlegend": False,
        }
    )
    winners = sum(saving is not None and saving > 0 for line in z for saving in line)
    title = f"{winners:,} of {len(frame) - 1:,} policies beat doing nothing; dashed: as good, crosses: disqualified"
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": f"{_name(x)} (tokens)" if x in _TOKENS else _name(x)}, "tickformat": ","},
        "yaxis": {"title": {"text": _name(y)}},
        "margin": {"l": 60, "r": 16, "t": 44, "b": 46},
    }
    if runs is not None:
        below, layout = _below(runs, layout)
        traces += below
        traces[0]["colorbar"] |= {"len": 0.62, "y": 1, "yanchor": "top"}
    return spec(title, traces, **layout)


def _below(runs: tuple[Replay, Replay], layout: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The two replays under the map, and the layout with room for them."""
    traces = []
    for key, run in zip(("managed", "naive"), runs, strict=True):
        style = STYLES[key]
        traces.append(
            {
                "type": "scatter",
                "x": [row.request for row in run.rows],
                "y": [row.input for row in run.rows],
                "xaxis": "x2",
                "yaxis": "y2",
                "mode": "lines",
                "line": {"color": style.line, "dash": style.dash, "width": 2, "shape": "hvh"},
                "name": "this point, replayed" if key == "managed" else style.label,
                "hovertemplate": f"turn %{{x}}: %{{y:,}} tokens, {style.label}<extra></extra>",
                "showlegend": False,
            }
        )
    top = round_up(min(2.5 * max(row.input for row in runs[0].rows), max(row.input for row in runs[1].rows)))
    axes = {
        "xaxis": {**layout["xaxis"], "anchor": "y", "title": {**layout["xaxis"]["title"], "standoff": 2}},
        "yaxis": {**layout["yaxis"], "domain": [0.45, 1], "anchor": "x"},
        "xaxis2": {"anchor": "y2", "title": {"text": "turn", "standoff": 2}},
        "yaxis2": {"domain": [0, 0.24], "anchor": "x2", "title": {"text": "tokens"}, "range": [0, top], "nticks": 4},
    }
    return traces, {**layout, **axes, "height": 380, "margin": {**layout["margin"], "b": 40}}


_TOKENS = ("trigger", "floor", "compact_above", "cap", "hand_off_above")


def _table(
    frame: Any, x: str, y: str
) -> tuple[list[Any], list[Any], list[list[Any]], list[tuple[Any, Any, str]], float]:
    for name in (x, y):
        if name not in frame.columns:
            raise InputError(f"the sweep does not vary {name}: sweep it over {x} and {y}")
    if frame["trace"].nunique() != 1:
        raise InputError(f"the sweep has {frame['trace'].nunique()} traces: take one, frame[frame.trace == name]")
    base = float(frame.loc[frame["policy"] == 0, "cold"].iloc[0])
    rows = frame[frame["policy"] > 0]
    xs, ys = sorted(rows[x].unique().tolist()), sorted(rows[y].unique().tolist())
    column, line = {v: i for i, v in enumerate(xs)}, {v: i for i, v in enumerate(ys)}
    z: list[list[Any]] = [[None] * len(xs) for _ in ys]
    barred = []
    for a, b, saving, why in zip(rows[x], rows[y], rows["net_low"], rows["disqualified"], strict=True):
        if why:
            barred.append((a, b, why))
        else:
            z[line[b]][column[a]] = round(100 * saving / base, 3)
    return xs, ys, z, barred, base


def describe_sweep(
    frame: pd.DataFrame, x: str = "trigger", y: str = "keep", *, at: tuple[Any, Any] | None = None
) -> str:
    """The map in words: how many policies help, which is chosen, and what it gives.

    Parameters
    ----------
    frame, x, y, at
        As for :func:`fig_sweep`.
    """
    _, _, _, barred, base = _table(frame, x, y)
    rows = frame[frame["policy"] > 0]
    good = rows[(rows["disqualified"] == "") & (rows["net_low"] > 1e-9)]
    fewer = f"{len(good):,} cost less than doing nothing (${base:.2f}) with every re-read paid"
    lines = [f"Of {len(rows):,} policies {fewer}; {len(barred):,} are disqualified."]
    chosen = choose(frame)
    if chosen.nothing:
        lines.append("Chosen: do nothing.")
    else:
        lines.append(f"Chosen: {_words(frame[frame['policy'] == chosen.policy].iloc[0], x, y, base)}")
    if at is not None:
        lines.append(f"This point: {_words(row_at(frame, at, x, y), x, y, base)}")
    return "\n".join(lines)


def row_at(frame: pd.DataFrame, at: tuple[Any, Any], x: str = "trigger", y: str = "keep") -> Any:
    """The row of the first policy at a place of the map.

    Raises
    ------
    InputError
        If none was swept there.
    """
    found = frame[(frame["policy"] > 0) & (frame[x] == at[0]) & (frame[y] == at[1])]
    if found.empty:
        raise InputError(f"no policy was swept at {_name(x)} {at[0]:,}, {_name(y)} {at[1]}: take a place of the map")
    return found.iloc[0]


def _words(row: Any, x: str, y: str, base: float) -> str:
    where = f"{_name(x)} {row[x]:,}, {_name(y)} {row[y]}"
    cost = f"${row['cold'] + row['reread_dear']:.2f}"
    if row["disqualified"]:
        return f"{where}: {cost}, disqualified: {row['disqualified']}."
    saved = share(abs(row["net_low"]), base)
    said = f"{saved} saved" if row["net_low"] > 0 else "nothing saved" if row["net_low"] > -1e-9 else f"{saved} dearer"
    return f"{where}: {cost}, {said}, {row['uses_after_clear']} excerpts missing when needed."


def _name(field: str) -> str:
    return field.replace("_", " ")
