"""Figures made of horizontal bars: the results of a run, and the line items of a session."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from labkit.record.trace import Trace
from labkit.replay.audit import Audit, ResultLife, audit
from labkit.show.style import DRAWN, INK, STYLES, Spec, about, count, label, share, spec, title_case
from labkit.show.words import ranked, telling

__all__ = ["draw_results", "fig_audit", "fig_results"]

PALE = "#F6DDA6"


def fig_results(trace: Trace | Audit, rank_by: str = "tokens", show: int = 10) -> go.Figure:
    """Tool results as bars: how large they are, and what they add to the bill.

    Parameters
    ----------
    trace : Trace or Audit
    rank_by : {"tokens", "size"}
        ``tokens``: by size times the requests that carried it.
    show : int
        How many. The largest one, and the one the title compares with it, are always there.

    Raises
    ------
    InputError
        If there are no tool results, or ``rank_by`` is neither.
    """
    return go.Figure(draw_results(trace if isinstance(trace, Audit) else audit(trace), rank_by, show))


def draw_results(report: Audit, rank_by: str = "tokens", show: int = 10) -> Spec:
    """The figure of :func:`fig_results` as plain values."""
    largest, costliest, small = telling(report.results)
    dear = small or costliest
    title = "The largest result is also the costliest"
    if dear is not largest and largest.tokens:
        times = dear.tokens / largest.tokens
        title = f"A result of {dear.size:,} tokens costs {times:.1f} times the largest one ({largest.size:,})"
    results = list(ranked(report, rank_by, show))
    ys: list[float] = list(range(len(results)))
    for result in (dear, largest):
        if result not in results:
            results.append(result)
            ys.append(ys[-1] + (1.5 if len(ys) == show else 1))  # below a gap
    sizes, tokens = [r.size for r in results], [r.tokens for r in results]
    notes = [f"{r.tokens:,} = {r.size:,} x {r.requests:,}" for r in results]
    colors = [STYLES["tool_output"].color if r in (dear, largest) else PALE for r in results]
    hovers = [_hover(r) for r in results]

    def bars(values: list[int], texts: list[str], axis: str) -> dict[str, Any]:
        return {
            "type": "bar",
            "orientation": "h",
            "x": values,
            "y": ys,
            "xaxis": axis,
            "text": texts,
            "textposition": "auto",
            "insidetextanchor": "start",
            "constraintext": "none",
            "textfont": {"size": 11, "color": INK},
            "marker": {"color": colors, "line": {"color": STYLES["tool_output"].line, "width": 1}},
            "customdata": hovers,
            "hovertemplate": "%{customdata}<extra></extra>",
        }

    def axis(name: str, values: list[int], domain: list[float]) -> dict[str, Any]:
        top = 1.03 * (max(values) or 1)
        return {"title": {"text": name}, "range": [0, top], "domain": domain, "tickformat": ",", "nticks": 5}

    return spec(
        title,
        [bars(sizes, [f"{size:,}" for size in sizes], "x"), bars(tokens, notes, "x2")],
        showlegend=False,
        bargap=0.2,
        margin={"l": 150},
        xaxis=axis("size (tokens)", sizes, [0, 0.475]),
        xaxis2={**axis("size x requests that carried it (tokens)", tokens, [0.525, 1]), "anchor": "y"},
        yaxis=_names(ys, [f"turn {r.turn:,} {label(r.tool or 'tool', 16)}" for r in results]),
    )


def _hover(result: ResultLife) -> str:
    return (
        f"turn {result.turn:,}: {label(result.tool or 'tool', 40)}({label(result.args, 60)})<br>"
        f"{result.size:,} tokens, carried by {count(result.requests, 'request')}: {result.tokens:,} billed"
    )


def _names(ys: list[float], names: list[str]) -> dict[str, Any]:
    """An axis of names, the first at the top."""
    return {
        "range": [ys[-1] + 0.6, -0.6],
        "tickmode": "array",
        "tickvals": ys,
        "ticktext": names,
        "ticks": "",
        "ticklabelstandoff": 5,
        "showgrid": False,
    }


def fig_audit(report: Audit) -> go.Figure:
    """What a recorded run was billed for, by line item; subagents and what is not explained stand apart.

    Parameters
    ----------
    report : Audit
    """
    billed = report.lines_billed
    total = sum(billed.values())
    lines = [line for line in DRAWN if billed[line] or line == "residual"]
    top = max(lines, key=lambda line: billed[line])
    bars = [(STYLES[n].label, billed[n], STYLES[n], f"{billed[n]:,} ({share(abs(billed[n]), total)})") for n in lines]
    kinds = {"subagents, apart": False, "summary calls, apart": True}
    for name, compaction in kinds.items():
        children = [c for c in report.children if (c.kind == "compaction") is compaction]
        if children:
            tokens = sum(c.usage.total_input for c in children)
            bars.append((f"{name} ({len(children)})", tokens, STYLES["children"], f"{tokens:,}"))
    values = [b[1] for b in bars]
    ys: list[float] = list(range(len(bars)))
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": ys,
        "text": [b[3] for b in bars],
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"size": 11, "color": INK},
        "marker": {
            "color": [b[2].color for b in bars],
            "line": {"color": [b[2].line for b in bars], "width": 1},
            "pattern": {
                "shape": [b[2].pattern for b in bars],
                "fgcolor": [b[2].line for b in bars],
                "size": 6,
                "fillmode": "overlay",
            },
        },
        "hovertemplate": "%{x:,} tokens<extra></extra>",
    }
    ends = [min([*values, 0]) * 1.3, max([*values, 1]) * 1.3]
    return go.Figure(
        spec(
            f"{title_case(STYLES[top].label)} is {share(billed[top], total)} of {about(total)} input tokens billed",
            [trace],
            showlegend=False,
            bargap=0.25,
            xaxis={"title": {"text": "input tokens billed over the session"}, "range": ends, "tickformat": ","},
            yaxis=_names(ys, [b[0] for b in bars]),
        )
    )
