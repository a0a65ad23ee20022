"""Several sweeps as small maps side by side, on one scale: the same policies at other prices, or on other runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from labkit.errors import InputError
from labkit.show.style import Spec, share, spec
from labkit.show.sweep_plots import draw_sweep

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["describe_sweeps", "draw_sweeps", "fig_sweeps"]


def fig_sweeps(frames: Mapping[str, pd.DataFrame], x: str = "trigger", y: str = "keep") -> go.Figure:
    """Saving over two fields, a map a sweep.

    Parameters
    ----------
    frames : mapping of str to DataFrame
        By the words above each map, two to five of them.
    x, y : str
        The two fields.
    """
    return go.Figure(draw_sweeps(frames, x, y))


def draw_sweeps(frames: Mapping[str, pd.DataFrame], x: str = "trigger", y: str = "keep") -> Spec:
    """The figure of :func:`fig_sweeps` as plain values."""
    if not 2 <= len(frames) <= 5:
        raise InputError(f"{len(frames)} sweeps were given: give two to five, they stand side by side")
    maps = {name: draw_sweep(frame, x, y) for name, frame in frames.items()}
    values = [v for m in maps.values() for line in m["data"][0]["z"] for v in line if v is not None] or [0.0]
    wide = (1 - 0.03 * (len(maps) - 1)) / len(maps)
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"annotations": [], "margin": {"l": 60, "r": 16, "t": 70, "b": 46}}
    for k, (name, drawn) in enumerate(maps.items()):
        end = "" if k == 0 else str(k + 1)
        for trace in drawn["data"]:
            traces.append({**trace, "xaxis": f"x{end}", "yaxis": f"y{end}"})
            if "z" in trace and trace.get("showscale", True):
                traces[-1] |= {"zmin": min(values), "zmax": max(values), "showscale": k == len(maps) - 1}
                traces[-1]["contours"] = {**trace["contours"], "showlabels": False}
        left = k * (wide + 0.03)
        layout[f"xaxis{end}"] = {**drawn["layout"]["xaxis"], "domain": [left, left + wide], "anchor": f"y{end}"}
        layout[f"xaxis{end}"] |= {"nticks": 4, "tickformat": "~s"}
        layout[f"yaxis{end}"] = {"anchor": f"x{end}", "showticklabels": k == 0}
        if k == 0:
            layout["yaxis"] |= drawn["layout"]["yaxis"]
        layout["annotations"].append(
            {
                "text": name,
                "x": left + wide / 2,
                "y": 1,
                "xref": "paper",
                "yref": "paper",
                "yanchor": "bottom",
                "showarrow": False,
            }
        )
    counts = " and ".join(f"{_winners(frame):,}" for frame in frames.values())
    return spec(f"{counts} policies beat doing nothing", traces, **layout)


def describe_sweeps(frames: Mapping[str, pd.DataFrame]) -> str:
    """A line a sweep: how many policies cost less than doing nothing, and what the best saves.

    Parameters
    ----------
    frames : mapping of str to DataFrame
        As for :func:`fig_sweeps`.
    """
    width = max(len(name) for name in frames)
    lines = []
    for name, frame in frames.items():
        good = frame[(frame["disqualified"] == "") & (frame["policy"] > 0)]
        base = float(frame.loc[frame["policy"] == 0, "cold"].iloc[0])
        best = max(float(good["net_low"].max()) if len(good) else 0.0, 0.0)
        lines.append(
            f"{name:<{width}}  {_winners(frame):>6,} of {len(frame) - 1:,} beat doing nothing (${base:.2f}); "
            f"the best saves {share(best, base)}"
        )
    return "\n".join(lines)


def _winners(frame: pd.DataFrame) -> int:
    return int(((frame["disqualified"] == "") & (frame["net_low"] > 1e-9)).sum())
