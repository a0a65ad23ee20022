"""Scripts, handlers and links in the fields of a session: none of them becomes active anywhere it is shown."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from labkit.cli import main
from labkit.record.load import load
from labkit.replay.audit import audit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from lab import Notebook, Server

pytestmark = pytest.mark.browser

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sessions" / "sample"

# Short ones first: a label keeps only the beginning of a text.
ATTACKS = (
    "https://e.test/ ",
    "<a href=//e.test>",
    "<img src=//e.test onerror=fired()>",
    "<script>fired()</script>",
    '"><svg onload=fired()>',
    "' onmouseover='fired()",
    "</title></style></pre><iframe src=javascript:fired()>",
    "[x](javascript:fired())<a href='javascript:fired()'>y</a>",
    "%{x}<extra></extra>${fired()}$$\\href{javascript:fired()}{z}$$",
)

# What a reader needs as it is to see a session at all.
KEPT = {"type", "role", "uuid", "parentUuid", "timestamp", "subtype", "stop_reason", "sessionId", "version"}

# Everything that could act, in a part of a page that shows a session; plotly's own buttons apart.
ACTIVE = """root => [...root.querySelectorAll('*')].filter(e => !e.closest('.modebar')).filter(e =>
    ['SCRIPT', 'IFRAME', 'OBJECT', 'EMBED', 'FORM', 'BASE', 'LINK'].includes(e.tagName.toUpperCase())
    || e.tagName.toUpperCase() === 'A' && (e.hasAttribute('href') || e.hasAttribute('xlink:href'))
    || [...e.attributes].some(a => /^on/i.test(a.name) || /javascript:|e\\.test/i.test(a.value)
      && !['aria-label', 'title', 'alt', 'data-unformatted'].includes(a.name))
  ).map(e => e.outerHTML.slice(0, 200))"""


def poisoned(value: Any, turn: list[int], key: str = "") -> Any:
    """The value with an attack at the beginning of every string a reader does not need."""
    if isinstance(value, dict):
        return {k: poisoned(v, turn, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(v, turn, key) for v in value]
    if not isinstance(value, str) or key in KEPT:
        return value
    if key in ("id", "tool_use_id"):  # two strings that must stay equal
        return ATTACKS[2] + value
    if key == "name":  # tools stand in words, labels and hovers
        return ATTACKS[0] + ATTACKS[1] + value
    turn[0] += 1
    return ATTACKS[turn[0] % len(ATTACKS)] + value


def hostile_session(folder: Path, model: bool) -> Path:
    """The sample session with attacks in it; with a known model it also has prices and a what-if."""
    turn = [0]
    for path in sorted(SAMPLE.rglob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        out = []
        for line in lines:
            line = {k: poisoned(v, turn, k) for k, v in line.items()}
            message = line.get("message")
            if model and isinstance(message, dict) and "model" in message:
                message["model"] = "claude-sonnet-4-6"
            out.append(json.dumps(line))
        target = folder / path.relative_to(SAMPLE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(out), encoding="utf-8")
    return next(folder.glob("*.jsonl"))


def watch(page: Page) -> list[str]:
    """What the page does that it must not: the attacks' function called, a dialog, a request for their host."""
    found: list[str] = []
    page.expose_function("fired", lambda *_: found.append("fired"))
    page.on("dialog", lambda dialog: (found.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: found.append(request.url) if "://e.test" in request.url else None)
    return found


@pytest.mark.parametrize("model", [True, False])
def test_a_report_holds_nothing_active(browser: Browser, tmp_path: Path, model: bool) -> None:
    path, report = hostile_session(tmp_path / "session", model), tmp_path / "report.html"
    if os.name == "posix":  # others allow no such name
        path = path.rename(path.with_name("'><img src=x onerror=fired()>.jsonl"))
    assert main(["audit", str(path), "--html", str(report)]) == 0
    page = browser.new_page()
    found = watch(page)
    page.on("request", lambda request: found.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(report.as_uri())
    assert page.locator("html").evaluate(ACTIVE) == []
    assert page.locator("img, base, link, [style*='url']").count() == 0
    words = page.locator("body").inner_text()
    assert "<a href=//e.test>" in words and "onerror=fired()>" in words, "the attacks are not shown at all"
    page.locator("svg").first.hover()
    assert found == []
    page.close()


# One cell a kind of output: a table, words, figures of plotly, panels, an error.
CELLS = (
    "import labkit as lk\ntrace = lk.load('hostile')\nreport = lk.audit(trace)\nreport.frame()",
    "import pandas as pd\npd.DataFrame([(r.tool, r.args) for r in report.results[:20]])",
    "print(lk.plots.describe_results(report), lk.plots.describe_session(report))",
    "print(lk.plots.describe_decision(lk.decide(report)))",
    """options = {"<a href=//e.test>one hour</a>": lk.whatif(trace, lifetime="1h")}
print(lk.plots.describe_options(options))
lk.plots.fig_options(options)""",
    "lk.plots.fig_results(report)",
    "lk.plots.fig_audit(report)",
    "lk.panels.results(trace)",
    "lk.panels.session(report)",
    "lk.panels.ladder(trace, '<img src=//e.test onerror=fired()>')",
    "lk.load('<img src=//e.test onerror=fired()>')",
)


def write_notebook(folder: Path) -> str:
    """A notebook that shows the session in every way there is."""
    cells = [
        {
            "cell_type": "code",
            "id": f"cell-{i}",
            "execution_count": None,
            "metadata": {"tags": ["raises-exception"]} if i == len(CELLS) - 1 else {},
            "outputs": [],
            "source": [source],
        }
        for i, source in enumerate(CELLS)
    ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    text = json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})
    (folder / "hostile.ipynb").write_text(text, encoding="utf-8")
    return "hostile.ipynb"


def test_no_output_panel_or_hover_holds_anything_active(
    open_notebook: Callable[[str], Notebook], server: Server
) -> None:
    session = hostile_session(server.folder / "hostile", model=True)
    results = audit(load(session)).results
    assert any("onerror" in (r.args or "") for r in results) and any("<a " in (r.tool or "") for r in results)
    notebook = open_notebook(write_notebook(server.folder))
    page = notebook.page
    found = watch(page)
    notebook.run_all()
    shown, hovers, active = "", "", []
    for place in range(len(CELLS)):
        page.evaluate("place => window.jupyterapp.shell.currentWidget.content.scrollToItem(place, 'start')", place)
        cell = page.locator(f".jp-Cell[data-windowed-list-index='{place}'] .jp-Cell-outputArea")
        cell.wait_for(state="attached", timeout=15_000)
        if "fig_" in CELLS[place] or "panels" in CELLS[place]:
            figure = cell.locator(".js-plotly-plot").first
            figure.wait_for(state="attached", timeout=30_000)
            figure.evaluate("figure => figure.scrollIntoView({block: 'center'})")
            figure.locator(".main-svg").first.wait_for(state="visible", timeout=30_000)
            hovers += sweep(page, figure)
        shown += cell.inner_text()
        # JupyterLab itself links the lines of a traceback to their files.
        active += [f"{CELLS[place]}: {part}" for part in cell.evaluate(ACTIVE) if not part.startswith('<a href="/')]
    assert active == []
    assert "<a href=//e.test>" in shown and "onerror=fired()>" in shown, "the attacks are not shown at all"
    assert "<a href=//e.test>" in hovers, "no hover shows an attack"
    assert found == []


def sweep(page: Page, figure: Any) -> str:
    """Move the mouse over a figure; return what the hovers say, and fail if one of them could act."""
    box = figure.bounding_box()
    said: list[str] = []
    for down in (0.3, 0.5, 0.7):
        for along in (0.2, 0.35, 0.6, 0.8):
            page.mouse.move(box["x"] + along * box["width"], box["y"] + down * box["height"])
            page.wait_for_timeout(80)
            layer = figure.locator(".hoverlayer")
            if layer.count():
                assert layer.first.evaluate(ACTIVE) == []
                said.append(layer.first.text_content() or "")
    return "\n".join(said)
