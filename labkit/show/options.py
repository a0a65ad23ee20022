"""What-ifs of one session side by side, each as a range, and the decision at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from labkit.replay.decision import Decision
from labkit.replay.whatif import BAR, WhatIf
from labkit.show.session_report import dollars
from labkit.show.style import INK, STYLES, label, spec, unlinked

__all__ = ["describe_decision", "describe_options", "fig_options"]


def fig_options(options: Mapping[str, WhatIf]) -> go.Figure:
    """The saving of each what-if as a range from low to high, against what was recorded.

    Parameters
    ----------
    options : mapping of str to WhatIf
        By the name people read. Refused ones stay without a range.
    """
    names = list(options)
    ys = list(range(len(names)))
    given = [(y, _saves(options[n])) for y, n in zip(ys, names, strict=True) if not options[n].refused]
    style = STYLES["managed"]
    xs: list[float | None] = []
    lines: list[float | None] = []
    for y, (low, _, high) in given:
        xs += [low, high, None]
        lines += [y, y, None]
    sure = [n for n in names if not options[n].refused and _saves(options[n])[0] > 0]
    title = f"{len(sure)} of {len(names)} what-ifs {'is' if len(sure) == 1 else 'are'} sure to save"
    hovers = [f"{dollars(low)} to {dollars(high)}" for _, (low, _, high) in given]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "x": xs,
            "y": lines,
            "mode": "lines+markers",
            "line": {"color": style.line, "width": 4},
            "marker": {"symbol": "line-ns-open", "size": 14, "color": style.line, "line": {"width": 2}},
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "x": [middle for _, (_, middle, _) in given],
            "y": [y for y, _ in given],
            "mode": "markers+text",
            "marker": {"symbol": "circle", "size": 9, "color": style.line},
            "text": [dollars(middle) for _, (_, middle, _) in given],
            "textposition": "top center",
            "customdata": hovers,
            "hovertemplate": "%{customdata}<extra></extra>",
        },
        {
            "type": "scatter",
            "x": [0, 0],
            "y": [-0.6, len(names) - 0.4],
            "mode": "lines",
            "line": {"color": INK, "width": 1.5, "dash": "dash"},
            "hoverinfo": "skip",
        },
    ]
    ends = [v for _, three in given for v in three] or [0.0]
    pad = 0.15 * max(max(ends) - min(ends), 0.01)
    return go.Figure(
        spec(
            title,
            traces,
            showlegend=False,
            height=80 + 60 * len(names),
            xaxis={
                "title": {"text": "dollars saved against what was recorded; left of 0 it costs more"},
                "range": [min([*ends, 0]) - pad, max([*ends, 0]) + pad],
                "tickprefix": "$",
            },
            yaxis={
                "range": [len(names) - 0.4, -0.6],
                "tickmode": "array",
                "tickvals": ys,
                "ticktext": [label(n, 40) for n in names],
                "showgrid": False,
                "zeroline": False,
            },
        )
    )


def _saves(answer: WhatIf) -> tuple[float, float, float]:
    """Against what was recorded. A policy that never acts saves nothing, whatever the replay is off by."""
    return answer.saving if answer.changed is not None and not answer.events else answer.against_recorded


def describe_options(options: Mapping[str, WhatIf]) -> str:
    """A row a what-if: saving against what was recorded as a range, and the losses beside it.

    Parameters
    ----------
    options : mapping of str to WhatIf
    """
    lines = [f"{'saves against the record':<30}{'low':>9}{'middle':>9}{'high':>9}{'unread':>8}{'used later':>12}"]
    for name, answer in options.items():
        if answer.refused:
            lines.append(f"{unlinked(name, 29):<30}no what-if: {unlinked(answer.refused, 160)}")
            continue
        # Two ways to the same sum differ by a last bit, which is no saving.
        three = "".join(f"{dollars(v):>9}" for v in _saves(answer))
        uses = f"{answer.uses_low:,} to {answer.uses_high:,}" if answer.events else "0"
        lines.append(f"{unlinked(name, 29):<30}{three}{answer.unread:>8,}{uses:>12}")
    first = next(iter(options.values()), None)
    if first is not None:
        score = "not known" if first.score is None else f"{first.score:.1%}"
        error = "" if first.growth_error is None else f"; prompts predicted within {first.growth_error:.1%}"
        lines.append(f"cache reads reproduced: {score} (at least {BAR:.0%} is needed){error}")
    return "\n".join(lines)


def describe_decision(decision: Decision) -> str:
    """The decision as a record in Markdown, to be kept beside the settings it speaks of.

    Parameters
    ----------
    decision : Decision
    """
    d = decision
    paid = "not known" if d.recorded is None else f"{dollars(d.recorded)} for {d.requests:,} requests, at list price"
    lines = [f"# Decision of {d.today.isoformat()}", "", f"- session: {unlinked(d.session, 60)}; main thread {paid}"]
    lines.append(f"- change: {d.change}" + (f", because {d.reason}" if d.reason else ""))
    if d.where:
        lines.append(f"- where to set it: {d.where}")
    if d.saving is not None:
        lines.append(f"- expected saving: {dollars(d.saving[0])} to {dollars(d.saving[1])} on a session like this one")
        loss = f"{d.unread:,} results unread, {d.uses_low:,} to {d.uses_high:,} removed and used later"
        lines.append(f"- loss: {loss if d.unread or d.uses_high else 'none was found'}")
    else:
        lines += ["- where to set it: nowhere", "- expected saving: $0.00", "- loss: none"]
    lines.append(f"- cache reads reproduced: {'not known' if d.score is None else f'{d.score:.1%}'}")
    lines += [f"- wrong if: {reason}" for reason in d.wrong_if]
    lines.append(f"- measure again on {d.again.isoformat()}: labkit compare BEFORE AFTER")
    return "\n".join(lines)
