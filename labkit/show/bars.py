"""Figures made of horizontal bars: the results of a run, and the line items of a session."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from labkit.record.trace import Trace
from labkit.replay.audit import Audit, ResultLife, audit
from labkit.show.style import DRAWN, INK, STYLES, about, count, dress, label, new_figure, share
from labkit.show.words import ranked, telling

__all__ = ["fig_audit", "fig_results"]


def fig_results(trace: Trace | Audit, rank_by: str = "tokens", show: int = 10) -> go.Figure:
    """Tool results as bars: how large they are, and what they add to the bill.

    Parameters
    ----------
    trace : Trace or Audit
    rank_by : {"tokens", "size"}
        ``tokens``: by size times the requests that carried it.
    show : int
        How many.

    Raises
    ------
    InputError
        If there are no tool results, or ``rank_by`` is neither.
    """
    report = trace if isinstance(trace, Audit) else audit(trace)
    largest, costliest, small = telling(report.results)
    dear = small or costliest
    title = "The largest result is also the costliest"
    if dear is not largest and largest.tokens:
        times = dear.tokens / largest.tokens
        title = f"A result of {dear.size:,} tokens costs {times:.1f} times the largest one ({largest.size:,})"
    results = list(ranked(report, rank_by, show))
    ys: list[float] = list(range(len(results)))
    # The two that the title compares are always there, below a gap if their rank is lower.
    for result in (dear, largest):
        if result not in results:
            results.append(result)
            ys.append(ys[-1] + (1.5 if len(ys) == show else 1))
    figure = make_subplots(1, 2, shared_yaxes=True, horizontal_spacing=0.05)
    dress(figure, title)
    named = {largest.position, dear.position}
    style = STYLES["tool_output"]
    for column, (values, notes) in enumerate(
        (
            ([r.size for r in results], [f"{r.size:,}" for r in results]),
            ([r.tokens for r in results], [f"{r.tokens:,} = {r.size:,} x {r.requests:,}" for r in results]),
        ),
        start=1,
    ):
        figure.add_bar(
            x=values,
            y=ys,
            orientation="h",
            text=notes,
            textposition="auto",
            insidetextanchor="start",
            constraintext="none",
            textfont={"size": 11, "color": INK},
            marker={
                "color": [style.color if r.position in named else "#F6DDA6" for r in results],
                "line": {"color": style.line, "width": 1},
            },
            customdata=[_hover(r) for r in results],
            hovertemplate="%{customdata}<extra></extra>",
            row=1,
            col=column,
        )
    figure.update_layout(showlegend=False, bargap=0.2, margin={"l": 150})
    for column, name, values in (
        (1, "size (tokens)", [r.size for r in results]),
        (2, "size x requests that carried it (tokens)", [r.tokens for r in results]),
    ):
        figure.update_xaxes(title_text=name, range=[0, 1.03 * (max(values) or 1)], tickformat=",", nticks=5, col=column)
    figure.update_yaxes(
        range=[ys[-1] + 0.6, -0.6],
        tickmode="array",
        tickvals=ys,
        ticktext=[_tick(r) for r in results],
        ticks="",
        ticklabelstandoff=5,
        showgrid=False,
    )
    return figure


def _tick(result: ResultLife) -> str:
    return f"turn {result.turn:,} {label(result.tool or 'tool', 16)}"


def _hover(result: ResultLife) -> str:
    return (
        f"turn {result.turn:,}: {label(result.tool or 'tool', 40)}({label(result.args, 60)})<br>"
        f"{result.size:,} tokens, carried by {count(result.requests, 'request')}: {result.tokens:,} billed"
    )


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
    name = STYLES[top].label
    bars = [
        (STYLES[line].label, billed[line], STYLES[line], f"{billed[line]:,} ({share(abs(billed[line]), total)})")
        for line in lines
    ]
    kinds = {"subagent": "subagents, apart", "compaction": "summary calls, apart"}
    for kind, title in kinds.items():
        children = [c for c in report.children if (c.kind == "compaction") == (kind == "compaction")]
        if children:
            tokens = sum(c.usage.total_input for c in children)
            bars.append((f"{title} ({len(children)})", tokens, STYLES["children"], f"{tokens:,}"))
    figure = new_figure(
        f"{name[0].upper()}{name[1:]} is {share(billed[top], total)} of {about(total)} input tokens billed"
    )
    ys = list(range(len(bars)))
    figure.add_bar(
        x=[b[1] for b in bars],
        y=ys,
        orientation="h",
        text=[b[3] for b in bars],
        textposition="outside",
        cliponaxis=False,
        textfont={"size": 11, "color": INK},
        marker={
            "color": [b[2].color for b in bars],
            "line": {"color": [b[2].line for b in bars], "width": 1},
            "pattern": {
                "shape": [b[2].pattern for b in bars],
                "fgcolor": [b[2].line for b in bars],
                "size": 6,
                "fillmode": "overlay",
            },
        },
        hovertemplate="%{x:,} tokens<extra></extra>",
    )
    values = [b[1] for b in bars]
    figure.update_layout(showlegend=False, bargap=0.25)
    figure.update_xaxes(
        title_text="input tokens billed over the session",
        range=[min([*values, 0]) * 1.3, max([*values, 1]) * 1.3],
        tickformat=",",
    )
    figure.update_yaxes(
        range=[len(bars) - 0.4, -0.6],
        tickmode="array",
        tickvals=ys,
        ticktext=[b[0] for b in bars],
        ticks="",
        ticklabelstandoff=5,
        showgrid=False,
    )
    return figure
