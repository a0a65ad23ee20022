"""BENCH-1 over the slope of recall: figure, words and panel, from results that are on file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.bench1.bench import Cell, difference
from labkit.errors import InputError
from labkit.files import load_data
from labkit.show.setup import Control, Setup, View
from labkit.show.style import STYLES, Spec, spec

__all__ = ["bench1", "cells_of", "describe_bench1", "draw_bench1", "fig_bench1"]

RECORDS = {"faithful": "faithful", "early": "faithful, early hand offs", "careless": "careless, early hand offs"}


def cells_of(
    results: Mapping[str, Any], hazard: float = 0.0, window: int = 200_000, record: str = "faithful"
) -> list[Cell]:
    """The cells of the map that share a stop hazard, a window and a kind of record.

    Parameters
    ----------
    results : mapping
        ``data/results/bench1.json``.
    hazard : float
    window : int
        In tokens.
    record : {"faithful", "early", "careless"}
        Faithful, and the budgeted configuration's own thresholds; faithful, and a hand off past 4,000 tokens; the
        same, and an open site left out at each hand off.

    Raises
    ------
    InputError
        If there are none.
    """
    if record not in RECORDS:
        raise InputError(f"record is {record!r}: give {', '.join(map(repr, RECORDS))}")
    rows = results["map" if record == "faithful" else record]
    found = [
        Cell(**{name: value for name, value in row.items() if name != "verdict"})
        for row in rows
        if (row["hazard"], row["window"]) == (hazard, window)
    ]
    if not found:
        raise InputError(
            f"nothing on file for hazard {hazard:g}, window {window:,} and the record {record!r}: "
            "early hand offs were run at hazard 0 and a window of 200,000 only"
        )
    return found


def fig_bench1(cells: Sequence[Cell]) -> go.Figure:
    """Pass rate, budgeted less unbounded, over the slope of recall.

    Parameters
    ----------
    cells : sequence of Cell
    """
    return go.Figure(draw_bench1(cells))


def draw_bench1(cells: Sequence[Cell]) -> Spec:
    """The figure of :func:`fig_bench1` as plain values."""
    shown = sorted((c for c in cells if c.half), key=lambda c: -(c.half or 0))
    xs = [100_000 / (c.half or 1) for c in shown]
    made = [difference(c.budgeted, c.unbounded, c.runs) for c in shown]
    style = STYLES["managed"]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "x": xs,
            "y": [100 * d for d, _, _ in made],
            "error_y": {
                "type": "data",
                "array": [100 * (high - d) for d, _, high in made],
                "arrayminus": [100 * (d - low) for d, low, _ in made],
                "color": style.line,
            },
            "mode": "lines+markers",
            "name": "budgeted less unbounded",
            "line": {"color": style.line, "width": 2},
            "hovertemplate": "slope %{x:.2f}: %{y:+.0f} points<extra></extra>",
        },
        {
            "type": "scatter",
            "x": [0.1, 15],
            "y": [0, 0],
            "mode": "lines",
            "name": "equal",
            "line": {"color": STYLES["naive"].line, "width": 2, "dash": "dot"},
            "hoverinfo": "skip",
        },
    ]
    curves = load_data("recall.json")["curves"]
    traces.append(
        {
            "type": "scatter",
            "x": [100_000 / c["half"] for c in curves],
            "y": [-100] * len(curves),
            "text": [f"{c['name']} ({c['year']}), k {c['k']:g}" for c in curves],
            "mode": "markers",
            "name": "published models",
            "marker": {"symbol": "line-ns-open", "size": 14, "color": STYLES["used_later"].line},
            "hovertemplate": "%{text}<extra></extra>",
        }
    )
    return spec(
        _title(shown),
        traces,
        xaxis={
            "title": {"text": "slope of recall: 100,000 / tokens at which half is recalled (log)"},
            "type": "log",
            "range": [-1, 1.18],
        },
        yaxis={"title": {"text": "pass rate, difference in points"}, "range": [-108, 108]},
    )


def _title(cells: Sequence[Cell]) -> str:
    counts = [sum(c.verdict == verdict for c in cells) for verdict in ("wins", "ties", "loses")]
    return f"Budgeted wins at {counts[0]}, ties at {counts[1]}, loses at {counts[2]} of {len(cells)} slopes"


def describe_bench1(cells: Sequence[Cell]) -> str:
    """The figure in words, the shallowest slope first."""
    shown = sorted((c for c in cells if c.half), key=lambda c: -(c.half or 0))
    lines = [f"{_title(shown)}. Simulated: the curve is put in by hand."]
    for c in shown:
        rate, low, high = difference(c.budgeted, c.unbounded, c.runs)
        lines.append(
            f"half recalled at {c.half:,.0f} tokens: budgeted {c.budgeted}, unbounded {c.unbounded} of {c.runs}; "
            f"{100 * rate:+.0f} points, {100 * low:+.0f} to {100 * high:+.0f}: {c.verdict}"
        )
    return "\n".join(lines)


def bench1(results: Mapping[str, Any]) -> Setup:
    """Choose the stop hazard, the window and the record.

    Parameters
    ----------
    results : mapping
        ``data/results/bench1.json``.
    """

    def draw(values: Mapping[str, Any]) -> View:
        cells = cells_of(results, values["hazard"], values["window"], values["record"])
        counts = {verdict: sum(c.verdict == verdict for c in cells) for verdict in ("wins", "ties", "loses")}
        numbers = (
            *((name, str(number), f"of {len(cells)} slopes") for name, number in counts.items()),
            ("runs", str(cells[0].runs), "seeds a configuration and slope"),
        )
        return View(draw_bench1(cells), numbers, describe_bench1(cells).split("\n")[0])

    hazards, windows = (sorted({row[name] for row in results["map"]}) for name in ("hazard", "window"))
    controls = (
        Control("hazard", "stop hazard", hazards[0], choices={f"{h:g}": h for h in hazards}),
        Control("window", "window", windows[-1], choices={f"{w:,} tokens": w for w in windows}),
        Control("record", "record", "faithful", choices={said: name for name, said in RECORDS.items()}),
    )
    note = (
        "Simulated, from a file: data/results/bench1.json. k is 1 on the axis; the ticks stand at the published fits' "
        "half, whatever their k. Early hand offs, past 4,000 tokens, were run at hazard 0 and a window of 200,000 only."
    )
    return Setup("bench1", controls, draw, "lk.plots.fig_bench1(cells_of(results, hazard=0.1))", note)
