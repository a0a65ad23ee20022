"""Two lanes, compact and hand off: facts in sight over the requests of a run, and where the process is killed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.handoff.lanes import Lane, Lanes, lanes
from labkit.record.trace import Trace
from labkit.show.setup import Control, Setup, View
from labkit.show.style import INK, Spec, count, spec

__all__ = ["describe_lanes", "draw_lanes", "fig_lanes", "handoff"]

_COLORS = {"compact": ("#A85483", "/"), "hand off": ("#0072B2", "")}
_MISSING = "#E4E4E4"


def fig_lanes(both: Lanes) -> go.Figure:
    """Facts in sight in both lanes.

    Parameters
    ----------
    both : Lanes
    """
    return go.Figure(draw_lanes(both))


def draw_lanes(both: Lanes) -> Spec:
    """The figure of :func:`fig_lanes` as plain values."""
    traces: list[dict[str, Any]] = []
    top = max(both.compact.said)
    for lane, axis in ((both.compact, "y2"), (both.hand_off, "y")):
        traces += _bars(lane, axis, both.kill)
    xs: list[float | None] = []
    ys: list[float | None] = []
    for axis in ("y2", "y"):
        at = None if both.kill is None else both.kill + 0.5
        xs, ys = ([], []) if at is None else ([at, at], [0, top])
        traces.append(
            {
                "type": "scatter",
                "x": xs,
                "y": ys,
                "yaxis": axis,
                "mode": "lines",
                "name": "killed",
                "line": {"color": INK, "width": 3},  # darker than the bars, in grey too
                "hoverinfo": "skip",
                "showlegend": axis == "y" and bool(xs),
            }
        )
    n, end = len(both.compact.facts), -1
    shared = {"range": [0, top + 0.5], "showgrid": False}
    heading = f"After {count(n, 'request')}: {both.compact.facts[end]} facts in sight with compact, "
    return spec(
        f"{heading}{both.hand_off.facts[end]} with hand off",
        traces,
        bargap=0,
        barmode="stack",
        xaxis={"title": {"text": "request"}, "range": [0.5, n + 0.5], "anchor": "y"},
        yaxis={**shared, "domain": [0, 0.44], "title": {"text": "hand off"}},
        yaxis2={**shared, "domain": [0.56, 1], "title": {"text": "compact"}, "anchor": "x"},
    )


def _bars(lane: Lane, axis: str, kill: int | None) -> list[dict[str, Any]]:
    color, pattern = _COLORS[lane.name]
    x = list(range(1, len(lane.facts) + 1))
    missing = [said - seen for said, seen in zip(lane.said, lane.facts, strict=True)]
    marked = [r for r in lane.edits if r <= len(x)]
    return [
        {
            "type": "bar",
            "x": x,
            "y": list(lane.facts),
            "yaxis": axis,
            "name": f"in sight, {lane.name}",
            "marker": {
                "color": color,
                "pattern": {"shape": pattern, "fgcolor": "#FFFFFF", "size": 5, "solidity": 0.2, "fillmode": "overlay"},
            },
            "hovertemplate": f"{lane.name}, request %{{x}}: %{{y}} facts in sight<extra></extra>",
        },
        {
            "type": "bar",
            "x": x,
            "y": missing,
            "yaxis": axis,
            "name": "said, not in sight",
            "marker": {"color": _MISSING, "line": {"color": "#8A8A8A", "width": 0.5}},
            "hovertemplate": f"{lane.name}, request %{{x}}: %{{y}} facts not in sight<extra></extra>",
            "showlegend": axis == "y",
        },
        {
            "type": "scatter",
            "x": marked,
            "y": [0.25] * len(marked),
            "yaxis": axis,
            "mode": "markers",
            "name": "summarized" if lane.name == "compact" else "begun afresh",
            "marker": {"color": "#FFFFFF", "size": 7, "symbol": "diamond", "line": {"color": INK, "width": 1}},
            "hovertemplate": f"{lane.name} before request %{{x}}<extra></extra>",
        },
    ]


def _writes(requests: Sequence[int], top: int) -> dict[str, Any]:
    """Ticks above the lower lane where the record is written by the clock; at a fresh start it is written too."""
    return {
        "type": "scatter",
        "x": list(requests),
        "y": [top + 0.25] * len(requests),
        "mode": "markers",
        "name": "record written",
        "marker": {"color": INK, "size": 6, "symbol": "line-ns-open"},
        "hovertemplate": "record written at request %{x}<extra></extra>",
    }


def describe_lanes(both: Lanes) -> str:
    """The figure in words.

    Parameters
    ----------
    both : Lanes
    """
    last = len(both.compact.facts)
    before = last if both.kill is None else both.kill
    seen = [
        (lane.facts[before - 1], len([r for r in lane.edits if r <= before])) for lane in (both.compact, both.hand_off)
    ]
    behind = sum(a < b for a, b in zip(both.compact.facts[:before], both.hand_off.facts[:before], strict=True))
    said = both.compact.said[before - 1]
    first = (
        f"At request {before}, of {count(said, 'fact')} said, compact has {seen[0][0]} in sight after "
        f"{count(seen[0][1], 'summary', 'summaries')}, hand off {seen[1][0]} after {count(seen[1][1], 'fresh start')}."
    )
    first += f"\nCompact was behind at {behind or 'no'} request{'' if behind == 1 else 's'}."
    if both.kill is None:
        return first
    if both.record is None:
        return f"{first}\nKilled after request {both.kill}, before anything was written: both lanes are empty."
    lines = [
        first,
        f"Killed after request {both.kill}: the summary is gone with its process, and that lane is empty.",
        f"The record, written at request {both.written}, gives a new process {count(len(both.hand_off.left), 'fact')}.",
        f"At request {last} it has {both.hand_off.facts[-1]} in sight.",
    ]
    return "\n".join(lines)


def handoff(trace: Trace) -> Setup:
    """Kill the process where you like: choose the turn, and how often the record is written.

    Parameters
    ----------
    trace : Trace
        With facts.
    """
    last = len(trace.requests)

    def draw(values: Mapping[str, Any]) -> View:
        both = lanes(trace, 20_000, values["kill"], every=values["every"], errors=values["errors"])
        after = values["kill"]
        numbers = (
            ("compact, before", f"{both.compact.facts[after - 1]}", f"of {both.compact.said[after - 1]} facts said"),
            ("hand off, before", f"{both.hand_off.facts[after - 1]}", f"of {both.compact.said[after - 1]} facts said"),
            ("compact, after", f"{both.compact.facts[after]}", "its summary is gone"),
            (
                "hand off, after",
                f"{both.hand_off.facts[after]}",
                f"written at request {both.written}" if both.record else "nothing was written",
            ),
        )
        figure = draw_lanes(both)
        figure["data"].append(_writes(range(values["every"], after + 1, values["every"]), max(both.compact.said)))
        kept = f"written every {count(values['every'], 'request')}, {count(values['errors'], 'error')} carried"
        figure["layout"]["title"]["text"] += f" ({kept})"
        return View(figure, numbers, f"{describe_lanes(both)} The record is {kept}.".replace("\n", " "))

    controls = (
        Control("kill", "killed after request", last // 2, 1, last - 1),
        Control("every", "written every", 1, 1, last - 1),
        Control("errors", "errors carried", 0, 0, 20),
    )
    note = (
        "The same actions are replayed, and both act past 20,000 tokens. After the kill the record starts a new "
        "process; with no record nobody knows what to do, so that lane is empty."
    )
    return Setup(f"handoff {trace.name}", controls, draw, "lk.plots.fig_lanes(lk.lanes(trace, kill=30))", note)
