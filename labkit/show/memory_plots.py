"""What is remembered: a row a fact, filled while it is in sight, hatched while only the notes hold it."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from labkit.replay.memory import Memory
from labkit.show.style import INK, Spec, count, label, spec

__all__ = ["describe_memory", "draw_memory", "fig_memory"]

_SHOWN = {
    # state: what people read, colour, pattern
    "visible": ("in sight", "#0072B2", ""),
    "notes": ("only in the notes", "#56B4E9", "/"),
    "lost": ("lost", "#FFFFFF", "x"),
}


def fig_memory(memory: Memory) -> go.Figure:
    """A row a fact over the requests of a run.

    Parameters
    ----------
    memory : Memory
    """
    return go.Figure(draw_memory(memory))


def draw_memory(memory: Memory) -> Spec:
    """The figure of :func:`fig_memory` as plain values."""
    names = [label(fact.label, 44) for fact in memory.facts]
    traces: list[dict[str, Any]] = []
    for state, (words, color, pattern) in _SHOWN.items():
        ys, bases, widths, hovers = [], [], [], []
        for name, states in zip(names, memory.states, strict=True):
            at = 1
            for value, run in groupby(states):
                length = len(list(run))
                if value == state:
                    ys.append(name)
                    bases.append(at - 0.5)
                    widths.append(length)
                    hovers.append(f"requests {at} to {at + length - 1}: {words}")
                at += length
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "y": ys,
                "x": widths,
                "base": bases,
                "name": words,
                "marker": {
                    "color": color,
                    "line": {"color": "#404040", "width": 1},
                    "pattern": {"shape": pattern, "fgcolor": "#404040", "size": 6, "solidity": 0.3},
                },
                "customdata": hovers,
                "hovertemplate": "%{y}<br>%{customdata}<extra></extra>",
                "showlegend": bool(ys),
            }
        )
    xs: list[float | None] = []
    lines: list[str | None] = []
    for request in memory.compactions:
        xs += [request - 0.5, request - 0.5, None]
        lines += [names[-1], names[0], None]
    traces.append(
        {
            "type": "scatter",
            "x": xs,
            "y": lines,
            "mode": "lines",
            "name": "summarized",
            "line": {"color": INK, "width": 2, "dash": "dash"},
            "hoverinfo": "skip",
            "showlegend": bool(xs),
        }
    )
    seen, noted, lost = memory.left
    return spec(
        f"After {count(len(memory.compactions), 'compaction')}: {seen} of {len(names)} facts in sight, {noted} only in "
        f"the notes, {lost} lost",
        traces,
        barmode="overlay",
        bargap=0.25,
        xaxis={"title": {"text": "request"}, "range": [0.5, len(memory.states[0]) + 0.5]},
        yaxis={"categoryorder": "array", "categoryarray": names[::-1], "showgrid": False},
        margin={"l": 270, "r": 16, "t": 44, "b": 46},
    )


def describe_memory(memory: Memory) -> str:
    """The figure in words.

    Parameters
    ----------
    memory : Memory
    """
    seen, noted, lost = memory.left
    n = len(memory.facts)
    when = ", ".join(str(r) for r in memory.compactions)
    times = f"Summarized {count(len(memory.compactions), 'time')}{f', before requests {when}' if when else ''}"
    lines = [f"{times}."]
    lines += [f"Of {n} facts {seen} stand in the last prompt, {noted} only in the notes, and {lost} nowhere."]
    gone = [(memory.lost_at(k), fact.label) for k, fact in enumerate(memory.facts)]
    lines += [f"Lost from request {at} on: {name}." for at, name in sorted((a, x) for a, x in gone if a is not None)]
    return "\n".join(lines)
