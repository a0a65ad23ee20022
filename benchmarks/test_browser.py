"""From the key that moves a slider to the painted figure, in JupyterLab and Chromium: what a person waits for."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "browser"))

import chromium  # noqa: E402

if TYPE_CHECKING:
    from lab import Notebook

# From the key to two frames after plotly has drawn: the first is the one in which it draws, the second shows that the
# first was painted.
MOVE = """([figure, handle, key]) => new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error("the figure was not drawn")), 15000);
  figure.once("plotly_afterplot", () => {
    const drawn = performance.now();
    requestAnimationFrame(() => requestAnimationFrame(() => resolve([drawn - began, performance.now() - began])));
  });
  handle.focus();
  const began = performance.now();
  handle.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
})"""


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[Callable[[str], Notebook]]:
    playwright = pytest.importorskip("playwright.sync_api", reason="no browser: playwright is not installed")
    import lab

    path = chromium.find()
    if path is None:
        pytest.skip("no browser: no Chromium was found, set LABKIT_CHROMIUM to its path")
    lab.copy_notebooks(ROOT, tmp_path / "notebooks")
    with playwright.sync_playwright() as driver, lab.serve(tmp_path / "notebooks", tmp_path / "log") as server:
        browser = driver.chromium.launch(executable_path=path, headless=True, args=lab.CHROMIUM_FLAGS)
        page = browser.new_page(viewport=lab.VIEWPORT)
        yield lambda name: lab.Notebook(page, server, name)
        browser.close()


@pytest.mark.parametrize("name", ["02_compaction_ladder", "09_parameter_sweeps"])
def test_slider_to_painted_figure(name: str, notebook: Any, say: Callable[[str], None]) -> None:
    opened = notebook(f"{name}.ipynb")
    opened.run_all()
    panel = opened.panels()[0]
    panel.show()
    handle = panel.box.locator(".noUi-handle").first
    times = []
    for turn in range(24):
        key = "ArrowRight" if turn % 8 < 4 else "ArrowLeft"
        places = [panel.figure.element_handle(), handle.element_handle(), key]
        times.append(panel.page.evaluate(MOVE, places))
        panel.page.wait_for_timeout(100)
    drawn, painted = (statistics.median(t[i] for t in times[4:]) for i in (0, 1))
    say(f"{name}: {drawn:.0f} ms from the key to the drawn figure, {painted:.0f} ms to the painted one (median of 20)")
    assert painted > drawn > 0
