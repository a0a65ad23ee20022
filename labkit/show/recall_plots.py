"""How much of the window may be used: published recall over length, solid as far as it was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.bench1.recall import Published, published, usable
from labkit.show.style import INK, Spec, about, label, spec

__all__ = ["describe_recall", "draw_recall", "fig_recall"]

_SHORT, _LONG, _STEPS = 1_000, 1_000_000, 60
# A test has a colour and a mark; the row's name stands beside the mark at the end of what was measured.
_TESTS = {"NoLiMa": ("#C04F00", "circle"), "RULER": ("#007A59", "square"), "MRCR v2": ("#0072B2", "diamond")}


def fig_recall(rows: Sequence[Published] | None = None, marks: Mapping[str, int] | None = None) -> go.Figure:
    """Recall over the length of the context, by model and test.

    Parameters
    ----------
    rows : sequence of Published, optional
        Default: :func:`labkit.bench1.recall.published`.
    marks : mapping of str to int, optional
        Names and tokens of contexts to show as lines, for instance the last request of a run.
    """
    return go.Figure(draw_recall(rows, marks))


def draw_recall(rows: Sequence[Published] | None = None, marks: Mapping[str, int] | None = None) -> Spec:
    """The figure of :func:`fig_recall` as plain values."""
    shown = published() if rows is None else tuple(rows)
    ends = sorted(shown, key=lambda row: (row.reach, _at_reach(row)))
    traces: list[dict[str, Any]] = []
    for row in shown:
        color, symbol = _TESTS.get(row.test, (INK, "x"))
        name = f"{label(row.name, 40)} ({row.year})"
        xs, ys = _measured(row)
        line = {"color": color, "width": 2}
        shared = {"type": "scatter", "name": name, "line": line, "showlegend": False}
        hover = {"hovertemplate": f"{name}<br>%{{x:,}} tokens: %{{y:.0f}} %<extra></extra>"}
        marks_at = {"symbol": symbol, "size": 8, "color": color}
        # Below and above in turn, so that names which end near each other stand apart.
        side = "right" if row.reach < _LONG / 2 else "left"
        place = f"{'bottom' if ends.index(row) % 2 == 0 else 'top'} {side}"
        if row.recall is None:
            texts = [""] * (len(xs) - 1) + [name]
            traces.append({**shared, **hover, "x": xs, "y": ys, "mode": "lines+markers+text", "text": texts,
                           "textposition": place, "textfont": {"size": 10, "color": color},
                           "marker": {**marks_at, "symbol": f"{symbol}-open"}})  # fmt: skip
            continue
        traces.append({**shared, **hover, "x": xs, "y": ys, "mode": "lines"})
        traces.append({**shared, "x": [xs[-1]], "y": [ys[-1]], "mode": "markers+text", "text": [name],
                       "textposition": place, "textfont": {"size": 10, "color": color}, "marker": marks_at,
                       "hoverinfo": "skip"})  # fmt: skip
        beyond = [x for x in _lengths() if x > row.reach]
        if beyond:
            guess = [xs[-1], *beyond]
            traces.append({**shared, "x": guess, "y": [row.accuracy(x) for x in guess], "mode": "lines",
                           "line": {**line, "width": 1, "dash": "dash"}, "hoverinfo": "skip"})  # fmt: skip
    for name, tokens in (marks or {}).items():
        traces.append({"type": "scatter", "x": [tokens, tokens], "y": [0, 104], "mode": "lines+text",
                       "text": ["", label(name, 30)], "textposition": "top center", "name": label(name, 30),
                       "line": {"color": INK, "width": 1, "dash": "dot"}, "showlegend": False,
                       "textfont": {"size": 10, "color": INK}, "hoverinfo": "skip"})  # fmt: skip
    return spec(
        _title(shown),
        traces,
        xaxis={
            "title": {"text": "tokens in the context; dashed: nobody measured there"},
            "type": "log",
            "range": [2.95, 6.1],
            "tickvals": [1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000],
            "ticktext": ["1K", "4K", "16K", "64K", "256K", "1M"],
        },
        yaxis={"title": {"text": "right answers (%)"}, "range": [0, 113], "tickvals": [0, 20, 40, 60, 80, 100]},
    )


def _lengths() -> list[float]:
    return [_SHORT * (_LONG / _SHORT) ** (i / _STEPS) for i in range(_STEPS + 1)]


def _measured(row: Published) -> tuple[list[float], list[float]]:
    if row.recall is None:
        return [float(tokens) for tokens, _ in row.values], [per_cent for _, per_cent in row.values]
    xs = [x for x in _lengths() if x < row.reach] + [float(row.reach)]
    return xs, [row.accuracy(x) for x in xs]


def _at_reach(row: Published) -> float:
    return row.values[-1][1] if row.recall is None else row.accuracy(row.reach)


def _title(rows: Sequence[Published]) -> str:
    lengths = [usable(row)[0] for row in rows if row.recall is not None]
    if not lengths:
        return "Recall by length of the context"
    return f"80 % of its recall is kept up to {about(min(lengths))} tokens, or {about(max(lengths))}: by test and model"


def describe_recall(rows: Sequence[Published] | None = None, share: float = 0.8) -> str:
    """The figure in words: up to which length each row keeps a share of what it recalls in a short context.

    Parameters
    ----------
    rows : sequence of Published, optional
        Default: :func:`labkit.bench1.recall.published`.
    share : float
    """
    shown = published() if rows is None else tuple(rows)
    lines = [f"keeps {share:.0%} of its short-context recall up to so many tokens"]
    for row in shown:
        if row.recall is None:
            values = ", ".join(f"{per_cent:g} % at {tokens // 1000:,}K" for tokens, per_cent in row.values[-2:])
            lines.append(f"{row.year}  {row.name:27}{'no fit':>10}  published: {values}")
            continue
        tokens, measured = usable(row, share)
        note = "" if measured else f"  at least: not measured beyond {row.reach:,}"
        lines.append(f"{row.year}  {row.name:27}{tokens:>10,}{note}")
    return "\n".join(lines)
