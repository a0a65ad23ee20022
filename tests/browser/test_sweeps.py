"""The panels of 09: a click on the map moves both sliders, a click on the frontier its list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lab import Notebook, Panel

pytestmark = pytest.mark.browser

# Where a value of an axis stands on the page; the figure's own axes know.
PLACE = """([f, x, y]) => {
  const {_fullLayout: l} = f, box = f.getBoundingClientRect();
  return [box.x + l.xaxis._offset + l.xaxis.l2p(x), box.y + l.yaxis._offset + l.yaxis.l2p(y)];
}"""


def click(panel: Panel, x: float, y: float) -> None:
    """Click a point of a figure by its values, and wait until the words have changed."""
    before = panel.read()
    place = panel.page.evaluate(PLACE, [panel.figure.element_handle(), x, y])
    panel.page.mouse.move(place[0] - 4, place[1])
    panel.page.mouse.move(*place, steps=4)
    panel.page.mouse.click(*place)
    panel.page.wait_for_function(
        "([box, words]) => box.innerText !== words", arg=[panel.words.element_handle(), before[0]], timeout=20_000
    )


def values(panel: Panel) -> list[str]:
    return [box.input_value() for box in panel.box.locator("input[type=number]").all()]


def test_points_are_clicked(open_notebook: Callable[[str], Notebook], results: Path) -> None:
    notebook = open_notebook("09_parameter_sweeps.ipynb")
    notebook.run_all()
    sweeps, frontier = notebook.panels()
    sweeps.show()
    sweeps.box.screenshot(path=results / "09-map.png")
    click(sweeps, 10_000, 12)
    assert values(sweeps)[:2] == ["10000", "12"]
    assert "This point: trigger 10,000, keep 12:" in sweeps.words.inner_text()
    frontier.show()
    frontier.box.screenshot(path=results / "09-frontier.png")
    point: dict[str, Any] = frontier.figure.evaluate(
        "f => { const t = f.data.find(t => t.meta); return {x: t.x[0], y: t.y[0], name: t.text[0]}; }"
    )
    click(frontier, point["x"], point["y"])
    assert frontier.words.inner_text().startswith(point["name"])
    assert frontier.box.locator("select").first.evaluate("s => s.selectedIndex") == 0
