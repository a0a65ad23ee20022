"""How all figures look: one template, colours that mean something, numbers as people read them.

The colours are Okabe and Ito's, which stay apart with the common colour deficiencies, without their
light yellow. Each also has a pattern and a dash, so that nothing rests on colour alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from labkit.record.lines import LINE_ITEMS

__all__ = [
    "DRAWN",
    "HEIGHT",
    "INK",
    "STYLES",
    "Spec",
    "Style",
    "about",
    "count",
    "label",
    "plain",
    "round_up",
    "share",
    "spec",
    "template",
    "title_case",
    "unlinked",
]

HEIGHT = 340
"""Pixels; with controls, numbers and words a panel then fits a screen of 1280 x 720."""

INK = "#222222"


@dataclass(frozen=True)
class Style:
    """How one meaning is drawn.

    Parameters
    ----------
    label : str
        In a legend.
    color : str
        Of areas.
    line : str
        Of lines and edges: the same hue, dark enough to be seen on white (a contrast of at least 3).
    pattern : str
        Of areas, empty for none; of marks, their symbol.
    dash : str
        Of lines.
    """

    label: str
    color: str
    line: str
    pattern: str = ""
    dash: str = "solid"


STYLES: dict[str, Style] = {
    "system": Style("system prompt", "#0072B2", "#0072B2", "", "solid"),
    "tool_schemas": Style("tool schemas", "#56B4E9", "#2F7FAF", "\\", "longdash"),
    "fixed_prefix_unsplit": Style("system and schemas, not split", "#56B4E9", "#0072B2", "x", "longdash"),
    "retrieved_docs": Style("retrieved docs", "#009E73", "#007A59", "-", "dashdot"),
    "tool_output": Style("tool output", "#E69F00", "#A67200", "", "solid"),
    "history": Style("history", "#CC79A7", "#A85483", "/", "dash"),
    "scratchpad": Style("scratchpad", "#595959", "#404040", ".", "dot"),
    "residual": Style("not explained", "#FFFFFF", "#6B6B6B", "+", "longdashdot"),
    "naive": Style("do nothing", "#8C8C8C", "#6B6B6B", "", "dash"),
    "managed": Style("managed", "#0072B2", "#0072B2", "", "solid"),
    "removed": Style("removed", "#E4E4E4", "#8A8A8A", "", "dot"),
    "used_later": Style("needed later", "#D55E00", "#C04F00", "x"),
    "unread": Style("never read", "#D55E00", "#C04F00", "diamond-open"),
    "best": Style("best so far", "#007A59", "#007A59", "", "dot"),
    "billed": Style("billed so far", "#0072B2", "#0072B2", "", "solid"),
    "created": Style("ever created", "#009E73", "#007A59", "", "dash"),
    "children": Style("subagents, apart", "#C7D9E5", "#4F7790", "-", "dash"),
}


DRAWN = ("system", "tool_schemas", "fixed_prefix_unsplit", *LINE_ITEMS[2:], "residual")
"""The lines of an audit in the order of a request, the prefix first: from the bottom of a stack."""


def template() -> str:
    """Register the template ``labkit`` and return its name; it is applied by name, never globally.

    Examples
    --------
    >>> import plotly.io
    >>> template() in plotly.io.templates, plotly.io.templates.default == template()
    (True, False)
    """
    # Here and not above: tables and words are for people without plotly too.
    import plotly.graph_objects as go
    import plotly.io as pio

    if "labkit" not in pio.templates:
        axis = {
            "gridcolor": "#E6E6E6",
            "linecolor": "#8A8A8A",
            "zerolinecolor": "#8A8A8A",
            "ticks": "outside",
            "tickcolor": "#8A8A8A",
            "automargin": True,
            "title": {"font": {"size": 13}, "standoff": 8},
        }
        pio.templates["labkit"] = go.layout.Template(
            layout={
                "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
                "title": {"font": {"size": 15}, "x": 0.01, "xanchor": "left", "y": 0.97, "yanchor": "top"},
                "paper_bgcolor": "#FFFFFF",
                "plot_bgcolor": "#FFFFFF",
                "separators": ".,",
                "height": HEIGHT,
                "margin": {"l": 70, "r": 16, "t": 44, "b": 46},
                "xaxis": axis,
                "yaxis": axis,
                "hoverlabel": {"align": "left"},
                "legend": {"font": {"size": 11}, "traceorder": "reversed", "itemsizing": "constant"},
                "bargap": 0,
            }
        )
        # Plotly's button "Share chart..." sends a figure to a server of Plotly's. A figure may show somebody's session.
        for name in pio.renderers:
            config = getattr(pio.renderers[name], "config", None)
            if isinstance(config, dict):
                config.setdefault("showSendToCloud", False)
    return "labkit"


Spec = dict[str, Any]
"""A figure as plain values, ``data`` and ``layout``. ``go.Figure`` checks each of them, which takes ten times as
long as making them, so a panel goes on with these."""


def spec(title: str, traces: list[dict[str, Any]], **layout: Any) -> Spec:
    """A figure as plain values, with the template and a title."""
    return {"data": traces, "layout": {"template": template(), "title": {"text": title}, **layout}}


def title_case(text: str) -> str:
    """With a capital first letter.

    Examples
    --------
    >>> title_case("tool output")
    'Tool output'
    """
    return text[:1].upper() + text[1:]


def label(text: str | None, limit: int = 40) -> str:
    """Text of a session, safe and short enough for a figure.

    Plotly reads some tags, entities and dollar signs in labels; what a session holds must be shown as it stands.

    Examples
    --------
    >>> label('<a href="x">grep</a> $HOME')
    '&lt;a href="x"&gt;grep&lt;/a&gt; &#36;HOME'
    """
    return plain(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


def plain(text: str | None, limit: int = 40) -> str:
    """Text of a session on one line, shortened, without control characters.

    Examples
    --------
    >>> plain("tests/\\n  test_money.py", 12)
    'tests/ test…'
    """
    words = " ".join((text or "").split())
    words = "".join(c if c.isprintable() else "�" for c in words)
    return words if len(words) <= limit else words[: limit - 1] + "…"


def unlinked(text: str | None, limit: int = 40) -> str:
    """Text of a session for what a notebook prints: JupyterLab makes a link of every web address in it.

    Examples
    --------
    >>> unlinked("fetch https://example.org/a")
    'fetch https: //example.org/a'
    """
    return plain(plain(text, limit).replace("://", ": //").replace("www.", "www ."), limit)


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    Examples
    --------
    >>> count(1, "result"), count(1_200, "result")
    ('1 result', '1,200 results')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def about(tokens: float) -> str:
    """A number as one says it.

    Examples
    --------
    >>> about(9_285), about(212_592), about(5_856_377), about(-213_000)
    ('9,285', '213 thousand', '5.86 million', '-213 thousand')
    """
    size = abs(tokens)
    if size < 9_999.5:
        return f"{tokens:,.0f}"
    if size < 999_500:
        return f"{tokens / 1_000:,.0f} thousand"
    if size < 999_500_000:
        return f"{tokens / 1_000_000:,.2f} million"
    return f"{tokens / 1_000_000_000:,.2f} billion"


def share(part: float, whole: float) -> str:
    """A share in percent, without pretending that a little is nothing.

    Examples
    --------
    >>> share(1, 4), share(1, 5_000), share(0, 10), share(1, 0)
    ('25 %', 'under 1 %', '0 %', 'no share')
    """
    if not whole:
        return "no share"
    percent = 100 * part / whole
    if 0 < percent < 0.5:
        return "under 1 %"
    return f"{percent:.0f} %" if percent < 99.5 or part >= whole else "over 99 %"


def round_up(value: float) -> float:
    """The next round number, for the top of an axis.

    Examples
    --------
    >>> round_up(81_000), round_up(212_592), round_up(0)
    (100000.0, 250000.0, 1.0)
    """
    if value <= 0:
        return 1.0
    power: float = 10.0 ** math.floor(math.log10(value))
    return next(
        step * power for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= value * (1 - 1e-12)
    )
