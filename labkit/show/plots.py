"""The figures of the course: values in, a ``go.Figure`` out. Each has its words, ``describe_*``.

Thresholds are traces and not shapes, because a panel's figure does not forget a shape when it is updated.
A figure always has the same traces in the same order, empty ones included, so that a panel can update
one it drew before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go

from labkit.record.lines import LINE_ITEMS
from labkit.record.trace import Trace
from labkit.replay.audit import Audit
from labkit.replay.replay import Replay
from labkit.show.allocation_plots import describe_allocation, fig_allocation
from labkit.show.bars import fig_audit, fig_results
from labkit.show.bench_views import describe_bench1, fig_bench1
from labkit.show.cache_plots import describe_read_price, fig_read_price, read_price, with_pauses
from labkit.show.frontier_plots import describe_frontier, fig_frontier
from labkit.show.handoff_views import describe_lanes, fig_lanes
from labkit.show.isolation_views import describe_isolation, fig_isolation
from labkit.show.memory_plots import describe_memory, fig_memory
from labkit.show.options import describe_decision, describe_options, fig_options
from labkit.show.recall_plots import describe_recall, fig_recall
from labkit.show.style import DRAWN, INK, STYLES, Spec, about, count, round_up, share, spec, title_case
from labkit.show.sweep_multiples import describe_sweeps, fig_sweeps
from labkit.show.sweep_plots import describe_sweep, fig_sweep
from labkit.show.timeline import describe_session, fig_session
from labkit.show.words import (
    Growth,
    describe_audit,
    describe_billed,
    describe_ladder,
    describe_lines,
    describe_results,
    growth,
    lines_billed,
)

__all__ = [
    "describe_allocation",
    "describe_audit",
    "describe_bench1",
    "describe_billed",
    "describe_decision",
    "describe_frontier",
    "describe_isolation",
    "describe_ladder",
    "describe_lanes",
    "describe_lines",
    "describe_memory",
    "describe_options",
    "describe_read_price",
    "describe_recall",
    "describe_results",
    "describe_session",
    "describe_sweep",
    "describe_sweeps",
    "fig_allocation",
    "fig_audit",
    "fig_bench1",
    "fig_billed",
    "fig_frontier",
    "fig_isolation",
    "fig_ladder",
    "fig_lanes",
    "fig_lines",
    "fig_memory",
    "fig_options",
    "fig_read_price",
    "fig_recall",
    "fig_results",
    "fig_session",
    "fig_sweep",
    "fig_sweeps",
    "read_price",
    "with_pauses",
]


def fig_billed(source: Trace | Replay | Growth, turn: int | None = None) -> go.Figure:
    """Tokens billed so far against tokens ever created.

    Parameters
    ----------
    source : Trace or Replay
    turn : int, optional
        Where the reader stands; the last turn by default.

    Examples
    --------
    >>> fig_billed(Growth([100, 200], [100, 300], 50, "turn")).layout.title.text
    '200 input tokens created, 300 billed by turn 2'
    """
    return go.Figure(draw_billed(source if isinstance(source, Growth) else growth(source), turn))


def draw_billed(g: Growth, turn: int | None = None) -> Spec:
    """The figure of :func:`fig_billed` as plain values."""
    t = g.at(turn)
    xs = list(range(1, len(g.billed) + 1))
    created, billed = g.created[t - 1], g.billed[t - 1]
    traces: list[dict[str, Any]] = []
    for key, ys in (("created", g.created), ("billed", g.billed)):
        style = STYLES[key]
        traces.append(
            {
                "type": "scatter",
                "x": xs,
                "y": list(ys),
                "name": style.label,
                "mode": "lines",
                "line": {"color": style.line, "dash": style.dash, "width": 2.5},
                "fill": "tonexty" if key == "billed" else "none",
                "fillcolor": "rgba(0,114,178,0.10)",
                "hovertemplate": f"{g.unit} %{{x}}: %{{y:,}} tokens {style.label}<extra></extra>",
            }
        )
    top = round_up(g.billed[-1] * 1.08)
    texts, sides = _names(created, billed, t / len(xs), top)
    traces.append(
        {
            "type": "scatter",
            "x": [t, t],
            "y": [created, billed],
            "mode": "markers+text",
            "text": texts,
            "textposition": sides,
            "marker": {
                "size": 10,
                "color": [STYLES["created"].line, STYLES["billed"].line],
                "symbol": ["diamond", "circle"],
            },
            "cliponaxis": False,
            "hoverinfo": "skip",
        }
    )
    here = {"color": INK, "width": 1, "dash": "dot"}
    traces.append({"type": "scatter", "x": [t, t], "y": [0, top], "mode": "lines", "line": here, "hoverinfo": "skip"})
    return spec(
        f"{about(created)} input tokens created, {about(billed)} billed by {g.unit} {t:,}",
        traces,
        showlegend=False,
        xaxis={"title": {"text": g.unit}, "range": [0, len(xs) + 1]},
        yaxis={"title": {"text": "input tokens"}, "range": [0, top], "tickformat": ","},
    )


def _names(created: int, billed: int, along: float, top: float) -> tuple[list[str], list[str]]:
    """The names of the two points and where they stand: off the curve, inside the frame, not on each other."""
    names = [f"created {about(created)}", f"billed {about(billed)}"]
    if billed - created < 0.12 * top:
        return ["", "<br>".join(reversed(names))], ["top right", "top right"]
    return names, [f"top {'right' if along < 0.75 else 'left'}", f"top {'right' if along < 0.15 else 'left'}"]


def fig_lines(source: Replay | Audit, unit: str = "turn") -> go.Figure:
    """The prompt of every request, stacked by line item.

    Parameters
    ----------
    source : Replay or Audit
    unit : {"turn", "request"}
        What a request is called.
    """
    billed = lines_billed(source)
    total = sum(billed.values())
    top = max(billed, key=lambda line: billed[line])
    if isinstance(source, Audit):
        traces = _stack(DRAWN, [(row.request, [row.lines[line] for line in DRAWN]) for row in source.rows], unit)
    else:
        traces = _stack(LINE_ITEMS, [(row.request, row.lines) for row in source.rows], unit)
    return go.Figure(
        spec(
            f"{title_case(STYLES[top].label)} is {share(billed[top], total)} of {about(total)} input tokens billed",
            traces,
            barmode="relative",  # what is not explained can be negative
            xaxis={"title": {"text": unit}},
            yaxis={"title": {"text": "tokens in the request"}, "rangemode": "tozero", "tickformat": ","},
        )
    )


def fig_ladder(
    run: Replay, naive: Replay | None = None, *, best: Sequence[int] | None = None, unit: str = "turn"
) -> go.Figure:
    """The window of every request under a policy, with what was removed standing above it.

    Parameters
    ----------
    run : Replay
    naive : Replay, optional
        The same trace under :meth:`Policy.nothing`; worked out from the events when not given.
    best : sequence of int, optional
        Prompt sizes of the best policy so far, drawn as a dotted line.
    unit : {"turn", "request"}
        What a request is called.
    """
    return go.Figure(draw_ladder(run, naive, best=best, unit=unit))


def draw_ladder(
    run: Replay, naive: Replay | None = None, *, best: Sequence[int] | None = None, unit: str = "turn"
) -> Spec:
    """The figure of :func:`fig_ladder` as plain values."""
    xs = [row.request for row in run.rows]
    inputs = [row.input for row in run.rows]
    whole = [row.input for row in naive.rows] if naive is not None else list(growth(run).created)
    billed = sum(whole)
    # Tall enough to read the stack; doing nothing leaves the frame where it is much larger.
    top = min(round_up(2 * max([*inputs, 1])), round_up(max([*whole, *inputs, 1])))
    traces = _stack(LINE_ITEMS, [(row.request, row.lines) for row in run.rows], unit)
    traces.append(
        {
            "type": "bar",
            "x": xs,
            "y": [max(w - i, 0) for w, i in zip(whole, inputs, strict=True)],
            "name": STYLES["removed"].label,
            "marker": {"color": STYLES["removed"].color, "line": {"width": 0}},
            "opacity": 0.6,
            "hovertemplate": f"{unit} %{{x}}: %{{y:,}} tokens removed<extra></extra>",
            "showlegend": run.input < billed,
        }
    )
    traces.append(_line("naive", xs, whole))
    ends = [xs[0] - 0.5, xs[-1] + 0.5]
    traces += [_threshold(run, "trigger", "dash", ends), _threshold(run, "compact_above", "dashdot", ends)]
    # Two marks at one request stand apart, so that both are seen.
    traces += [
        _marks(run, "used_later", "uses_after_clear", 0, unit),
        _marks(run, "unread", "unread", 0.05 * top, unit),
    ]
    traces.append(_line("best", xs if best else [], best or []))
    return spec(
        f"{about(run.input)} input tokens billed, {share(run.input, billed)} of doing nothing{_toll(run)}",
        traces,
        barmode="stack",
        xaxis={"title": {"text": f"{unit} (the same actions, replayed)"}, "range": ends},
        yaxis={"title": {"text": "tokens in the window"}, "range": [0, top], "tickformat": ","},
    )


def _toll(run: Replay) -> str:
    if run.unread:
        return f"; {count(run.unread, 'result')} never read"
    if run.uses_after_clear:
        return f"; {count(run.uses_after_clear, 'excerpt')} missed"
    return f"; {count(run.facts_lost, 'fact')} lost" if run.facts_lost else ""


def _threshold(run: Replay, field: str, dash: str, ends: list[float]) -> dict[str, Any]:
    value = getattr(run.policy, field)
    shown = value is not None and run.policy.trigger is not None
    name = field.replace("_", " ")
    return {
        "type": "scatter",
        "x": ends if shown else [],
        "y": [value, value] if shown else [],
        "name": name,
        "mode": "lines",
        "line": {"color": INK, "width": 1.5, "dash": dash},
        "hovertemplate": f"{name}: %{{y:,}} tokens<extra></extra>",
        "showlegend": shown,
    }


def _marks(run: Replay, key: str, field: str, up: float, unit: str) -> dict[str, Any]:
    """A mark at each request at which a running count of the rows grew."""
    totals = [0, *(getattr(row, field) for row in run.rows)]
    grew = [after - before for before, after in pairwise(totals)]
    marks = [(row.request, row.input + up, n) for row, n in zip(run.rows, grew, strict=True) if n]
    style = STYLES[key]
    return {
        "type": "scatter",
        "x": [m[0] for m in marks],
        "y": [m[1] for m in marks],
        "name": style.label,
        "mode": "markers",
        "marker": {
            "symbol": style.pattern,
            "size": 10,
            "color": style.line,
            "line": {"width": 2, "color": style.line},
        },
        "customdata": [m[2] for m in marks],
        "hovertemplate": f"{unit} %{{x}}: %{{customdata:,}} {style.label}<extra></extra>",
        "showlegend": bool(marks),
    }


def _line(key: str, xs: Sequence[int], ys: Sequence[int]) -> dict[str, Any]:
    style = STYLES[key]
    return {
        "type": "scatter",
        "x": list(xs),
        "y": list(ys),
        "name": style.label,
        "mode": "lines",
        "line": {"color": style.line, "dash": style.dash, "width": 2, "shape": "hvh"},  # steps, as the bars are
        "hovertemplate": f"{style.label}: %{{y:,}} tokens<extra></extra>",
        "showlegend": bool(len(xs)),
    }


def _stack(names: Sequence[str], rows: Sequence[tuple[int, Sequence[int]]], unit: str) -> list[dict[str, Any]]:
    """A bar trace a line item; one that never holds a token stays in the figure without a legend."""
    xs = [request for request, _ in rows]
    traces = []
    for i, name in enumerate(names):
        style, ys = STYLES[name], [lines[i] for _, lines in rows]
        pattern = {"shape": style.pattern, "fgcolor": style.line, "size": 6, "solidity": 0.25, "fillmode": "overlay"}
        traces.append(
            {
                "type": "bar",
                "x": xs,
                "y": ys,
                "name": style.label,
                "marker": {"color": style.color, "line": {"width": 0}, "pattern": pattern},
                "hovertemplate": f"{unit} %{{x}}: %{{y:,}} tokens of {style.label}<extra></extra>",
                "showlegend": any(ys),
            }
        )
    return traces
