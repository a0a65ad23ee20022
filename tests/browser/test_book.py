"""The course as pages: figures draw from files alone, with the network blocked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import book

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route


def test_a_page_draws_its_figures_without_a_network(browser: Browser, tmp_path: Path) -> None:
    out = tmp_path / "book"
    book.build(out, ["00_start_here"])
    page = browser.new_page()
    asked: list[str] = []

    def only_files(route: Route) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    page.route("**/*", only_files)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto((out / "00_start_here.html").as_uri())
    page.wait_for_selector(".js-plotly-plot .main-svg", timeout=30_000)
    assert page.locator(".js-plotly-plot").count() >= 2  # the figure, and the panel as one
    assert page.locator(".js-plotly-plot path.js-line").count() > 0
    assert "_solution" not in page.content()
    assert (asked, faults) == ([], [])
    page.close()
