"""The panels of the course: controls over a replay. The only module that imports ipywidgets.

A panel is small: at most three controls in one row, one figure, four numbers, a few words, and the rest under
"more". What it shows comes from :mod:`labkit.show.views`; here it is only wired.

``mode`` decides what a panel is: ``"auto"`` draws widgets in JupyterLab and a plain figure elsewhere,
``"static"`` always the plain figure, ``"widgets"`` always the widgets.
"""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

from labkit.errors import LabError
from labkit.ladder.policy import Policy
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.price.prices import Prices
from labkit.record.trace import Trace
from labkit.replay.audit import Audit
from labkit.replay.isolation_form import Work
from labkit.show import (
    bench_views,
    cache_views,
    frontier_views,
    handoff_views,
    isolation_views,
    memory_views,
    sweep_views,
    views,
    views_session,
)
from labkit.show.setup import Control, Setup, View
from labkit.show.style import HEIGHT, Spec, template

__all__ = [
    "bench1",
    "billed",
    "cache",
    "frontier",
    "handoff",
    "isolation",
    "ladder",
    "memory",
    "mode",
    "results",
    "session",
    "sweeps",
]

MODES = ("auto", "static", "widgets")
mode = os.environ.get("LABKIT_PANELS", "auto")
"""``"auto"``, ``"static"`` or ``"widgets"``; set it before a panel is made: ``lk.panels.mode = "static"``, or for a
whole session in the environment: ``LABKIT_PANELS=static``."""

_open: dict[str, Panel] = {}

PICTURE = Path(__file__).with_name("panel.js")

OTHER_FRONT_ENDS = {
    "COLAB_RELEASE_TAG": "Colab",
    "KAGGLE_KERNEL_RUN_TYPE": "Kaggle",
    "VSCODE_PID": "VS Code",
    "VSCODE_CWD": "VS Code",
}


def billed(trace: Trace) -> Any:
    """Tokens billed so far against tokens ever created, with a scrubber over the turns.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    ipywidgets.VBox or plotly.graph_objects.Figure
        The figure where widgets will not show, with one line that says why.
    """
    return _panel(lambda: views.billed(trace))


def bench1(results: Mapping[str, Any]) -> Any:
    """BENCH-1 over the slope of recall: choose the stop hazard, the window and the record.

    Parameters
    ----------
    results : mapping
        ``data/results/bench1.json``.

    Returns
    -------
    ipywidgets.VBox or plotly.graph_objects.Figure
        As for :func:`billed`.
    """
    return _panel(lambda: bench_views.bench1(results))


def results(trace: Trace) -> Any:
    """Tool results as bars: by size, and by size times the requests that carried them.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    ipywidgets.VBox or plotly.graph_objects.Figure
        As for :func:`billed`.
    """
    return _panel(lambda: views.results(trace))


def ladder(
    trace: Trace,
    policy: str | Path | Mapping[str, Any] | Policy = "default",
    *,
    rules: CacheRules = ARTICLE_RULES,
    prices: Prices | None = None,
) -> Any:
    """The window under a policy: move the thresholds, see what is saved and what is lost.

    Parameters
    ----------
    trace : Trace
    policy : Policy, name, file or mapping
        Where the controls stand at the start.
    rules : CacheRules
    prices : Prices, optional
        Default: the ctxkit article's card. The panel prices tokens without a cache.

    Returns
    -------
    ipywidgets.VBox or plotly.graph_objects.Figure
        As for :func:`billed`. A policy that is wrong or refused is a sentence in the panel.
    """
    return _panel(lambda: views.ladder(trace, policy, rules=rules, prices=prices))


def cache(
    trace: Trace,
    policy: str | Path | Mapping[str, Any] | Policy = "article",
    *,
    rules: CacheRules = ARTICLE_RULES,
    prices: Prices | None = None,
) -> Any:
    """The read price at which a policy stops paying: move the trigger, add pauses.

    Parameters
    ----------
    trace : Trace
    policy : Policy, name, file or mapping
        Where the controls stand at the start.
    rules : CacheRules
    prices : Prices, optional
        Default: the ctxkit article's card.

    Returns
    -------
    ipywidgets.VBox or plotly.graph_objects.Figure
        As for :func:`billed`.
    """
    return _panel(lambda: cache_views.cache(trace, policy, rules=rules, prices=prices))


def handoff(trace: Trace) -> Any:
    """Compact and hand off as two lanes: choose where the process is killed, and how often the record is written.

    Parameters
    ----------
    trace : Trace
        With facts.

    Returns
    -------
    ipywidgets.VBox or plotly.graph_objects.Figure
        As for :func:`billed`.
    """
    return _panel(lambda: handoff_views.handoff(trace))


def isolation(work: Work | None = None, *, prices: Prices | None = None) -> Any:
    """A child against doing it inline, for every size of the parent: move the return and the requests left.

    Parameters
    ----------
    work : Work, optional
        Where the controls stand at the start.
    prices : Prices, optional
        Default: the ctxkit article's card.

    Returns
    -------
    ipywidgets.VBox or plotly.graph_objects.Figure
        As for :func:`billed`.
    """
    return _panel(lambda: isolation_views.isolation(work, prices))


def memory(trace: Trace) -> Any:
    """What becomes of each fact when a run is summarized: choose the summarizer, and how often it runs.

    Parameters
    ----------
    trace : Trace
        With facts.

    Returns
    -------
    ipywidgets.VBox or plotly.graph_objects.Figure
        As for :func:`billed`.
    """
    return _panel(lambda: memory_views.memory(trace))


def frontier(frame: Any) -> Any:
    """The policies of a sweep that are worth looking at: click one, in the figure or in the list.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`labkit.sweep`, with one trace.

    Returns
    -------
    ipywidgets.VBox or plotly.graph_objects.Figure
        As for :func:`billed`.
    """
    return _panel(lambda: frontier_views.frontier_setup(frame))


def sweeps(traces: Sequence[Trace], base: Any = "article", *, prices: Prices | None = None) -> Any:
    """A map of trigger and keep over the replay at one point of it: move the point, or click on the map.

    Parameters
    ----------
    traces : sequence of Trace
    base : Policy, name, file or mapping
        Where all other fields come from.
    prices : Prices, optional
        Default: the ctxkit article's card.

    Returns
    -------
    ipywidgets.VBox or plotly.graph_objects.Figure
        As for :func:`billed`.
    """
    return _panel(lambda: sweep_views.sweeps(traces, base, prices=prices))


def session(source: Audit | Trace) -> Any:
    """A recorded session over the clock: click one of its largest writes to see why it was written.

    Parameters
    ----------
    source : Audit or Trace

    Returns
    -------
    ipywidgets.VBox or plotly.graph_objects.Figure
        As for :func:`billed`; nothing but a line where no usage was recorded.
    """
    return _panel(lambda: views_session.session(source))


def _panel(prepare: Any) -> Any:
    try:
        setup: Setup = prepare()
    except LabError as error:
        print(f"No panel: {error}.")
        return None
    why = _why_plain()
    if why:
        view, trouble = _try(setup, {c.name: c.value for c in setup.controls})
        print(trouble or f"A plain figure: {why}. To change it: {setup.code}")
        return go.Figure(view.figure if view else setup.fallback)
    if setup.key in _open:
        _open.pop(setup.key).close()
    panel = _open[setup.key] = Panel(setup)
    return panel.box


def _why_plain() -> str:
    """Why widgets will not show here; empty if they will."""
    if mode == "static":
        return "lk.panels.mode is 'static'"
    if mode not in MODES:
        return f"lk.panels.mode, or LABKIT_PANELS, is {mode!r}; allowed are {', '.join(MODES)}"
    try:
        import anywidget  # noqa: F401
        import ipywidgets  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed"
    # A kernel that a Jupyter server started has this name set, wherever the server itself was started from.
    if mode == "widgets" or os.environ.get("JPY_SESSION_NAME"):
        return ""
    found = next((name for variable, name in OTHER_FRONT_ENDS.items() if os.environ.get(variable)), "")
    return f"{found} may not show panels, JupyterLab does" if found else ""


def _try(setup: Setup, values: Mapping[str, Any]) -> tuple[View | None, str]:
    """A view, or the sentence that says why there is none."""
    try:
        return setup.draw(values), setup.trouble
    except LabError as error:
        return None, f"{error}."
    except Exception as error:  # in a callback nobody would see it
        return None, f"This setting cannot be shown ({type(error).__name__}: {error}). Press Reset."


class Panel:
    """A setup wired to widgets: ``box`` is what a notebook shows.

    Parameters
    ----------
    setup : Setup
    """

    def __init__(self, setup: Setup) -> None:
        import ipywidgets as w

        self.setup = setup
        self.controls: dict[str, Any] = {}
        self.boxes: dict[str, Any] = {}
        self._holding = False
        rows: dict[bool, list[Any]] = {False: [], True: []}
        for control in setup.controls:
            rows[control.more].append(self._control(control))
        self.reset = w.Button(description="Reset", tooltip="Back to where the panel started", layout={"width": "72px"})
        self.reset.on_click(lambda _: self._reset())
        view, trouble = _try(setup, self.values())
        shown = view.figure if view else setup.fallback or {"data": [], "layout": {}}
        self.figure = _picture(shown, {c.name: c.label for c in setup.controls})
        self.figure.observe(lambda change: self._clicked(change["new"]), "clicked")
        self.numbers = w.HTML(layout={"margin": "0"})
        self.words = w.HTML(layout={"margin": "0"})
        self.words.add_class("labkit-words")
        wrap = {"flex_flow": "row wrap", "align_items": "center"}
        parts = [w.Box([*rows[False], self.reset], layout=wrap), self.numbers, self.figure, self.words]
        if rows[True] or setup.note:
            note = w.HTML(f"<p style='margin:0;line-height:1.4'>{html.escape(setup.note)}</p>")
            # A button, because the title of ipywidgets' Accordion cannot be reached from the keyboard.
            self.more = w.ToggleButton(description="more", icon="caret-right", layout={"width": "72px"})
            self.more.add_class("labkit-more")
            self.inside = w.VBox([w.Box(rows[True], layout=wrap), note], layout={"display": "none"})
            self.more.observe(self._fold, "value")
            parts += [self.more, self.inside]
        self.box = w.VBox(parts, layout={"width": "100%", "max_width": "900px"})
        self.box.add_class("labkit-panel")
        self._say(view, trouble)

    def values(self) -> dict[str, Any]:
        """What the controls stand at."""
        return {name: control.value for name, control in self.controls.items()}

    def close(self) -> None:
        """Free the widgets; a cell that runs again makes new ones."""
        for widget in (*self.controls.values(), *self.boxes.values(), self.figure, self.numbers, self.words, self.box):
            widget.close()

    def _control(self, control: Control) -> Any:
        import ipywidgets as w

        wide = {"description_width": "initial"}
        if control.choices:
            kind, shape = (w.Select, {"rows": control.rows}) if control.rows else (w.Dropdown, {})
            choice = kind(
                options=list(control.choices.items()),
                value=control.value,
                description=control.label,
                style=wide,
                layout={"width": "480px" if control.rows else "220px"},
                **shape,
            )
            choice.observe(self._moved, "value")
            self.controls[control.name] = choice
            return choice
        limits = {"value": control.value, "min": control.low, "max": control.high, "step": control.step}
        width = f"{85 + 7 * len(control.label)}px"
        # The box carries the label, because a browser ties a label to a box and not to a slider.
        box = w.BoundedIntText(**limits, description=control.label, style=wide, layout={"width": width})
        slider = w.IntSlider(**limits, continuous_update=False, readout=False, layout={"width": "130px"})
        slider.add_class(f"labkit-slider-{control.name}")
        w.link((slider, "value"), (box, "value"))
        slider.observe(self._moved, "value")
        self.controls[control.name], self.boxes[control.name] = slider, box
        return w.HBox([box, slider], layout={"align_items": "center"})

    def _fold(self, change: Any) -> None:
        self.inside.layout.display = "" if change["new"] else "none"
        self.more.icon = "caret-down" if change["new"] else "caret-right"

    def _moved(self, _: Any) -> None:
        if self._holding:
            return
        view, trouble = _try(self.setup, self.values())
        if view:
            self.figure.spec = _whole(view.figure)
        self._say(view, trouble if not view else "")

    def _clicked(self, point: Mapping[str, Any]) -> None:
        """Move the controls that a clicked point of the figure stands for."""
        known = {control.name: control for control in self.setup.controls}
        self._holding = True
        try:
            for name, value in point.items():
                control = known.get(name)
                if control is None or (control.choices and value not in control.choices.values()):
                    continue
                self.controls[name].value = value if control.choices else round(value)
        finally:
            self._holding = False
        self._moved(None)

    def _reset(self) -> None:
        self._holding = True
        try:
            self.setup.reset()
            for control in self.setup.controls:
                self.controls[control.name].value = control.value
        finally:
            self._holding = False
        self._moved(None)

    def _say(self, view: View | None, trouble: str) -> None:
        words = trouble or (view.words if view else "")
        color = "#B03A00" if trouble else "inherit"
        self.words.value = f"<p style='margin:0;line-height:1.35;color:{color}'>{html.escape(words)}</p>"
        self.figure.alt = words
        if view:
            self.numbers.value = _cells(view.numbers)


def _picture(shown: Spec, labels: dict[str, str]) -> Any:
    """A figure in the browser; see ``panel.js`` for why it is not plotly's FigureWidget."""
    import anywidget
    import traitlets

    class Picture(anywidget.AnyWidget):
        _esm = PICTURE.read_text(encoding="utf-8")
        spec = traitlets.Dict().tag(sync=True)
        alt = traitlets.Unicode().tag(sync=True)
        labels = traitlets.Dict().tag(sync=True)
        height = traitlets.Int(HEIGHT).tag(sync=True)
        clicked = traitlets.Dict().tag(sync=True)

    picture = Picture(spec=_whole(shown), labels=labels)
    picture.on_msg(lambda _, message, __: _send_library(picture) if message == {"ask": "library"} else None)
    if not _open:
        _send_library(picture)
    return picture


def _send_library(picture: Any) -> None:
    """Give the page plotly.js: with the first panel of a kernel, and again if a reloaded page asks for it."""
    from plotly.offline import get_plotlyjs

    picture.send({"library": "plotly"}, buffers=[get_plotlyjs().encode()])


def _whole(shown: Spec) -> Spec:
    """A spec that needs no Python to be read: the template in full instead of its name."""
    layout = {**shown["layout"], "template": pio.templates[template()].to_plotly_json()}
    return {"data": shown["data"], "layout": layout}


def _cells(numbers: tuple[tuple[str, str, str], ...]) -> str:
    cells = "".join(
        f"<div style='flex:1 1 150px;padding:0 12px 0 0;line-height:1.25'><div>{html.escape(name)}</div>"
        f"<div style='font-size:1.25em;font-weight:600'>{html.escape(value)}</div><div>{html.escape(note)}</div></div>"
        for name, value, note in numbers
    )
    return f"<div class='labkit-numbers' style='display:flex;flex-wrap:wrap'>{cells}</div>"
