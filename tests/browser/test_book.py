"""The course as pages and as slides: figures draw from files alone, with the network blocked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import book
import slides

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

SCREEN = {"width": 1280, "height": 720}


@pytest.fixture
def offline(browser: Browser) -> Iterator[Callable[[Path], Page]]:
    """A function that opens a file where only files are to be had; at the end nothing else was asked for."""
    page = browser.new_page(viewport=SCREEN)  # type: ignore[arg-type]
    asked: list[str] = []
    faults: list[str] = []

    def only_files(route: Route) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    page.route("**/*", only_files)
    page.on("pageerror", lambda error: faults.append(str(error)))

    def opened(path: Path) -> Page:
        page.goto(path.as_uri())
        return page

    yield opened
    page.close()
    assert (asked, faults) == ([], [])


def test_a_page_draws_its_figures_without_a_network(offline: Callable[[Path], Page], tmp_path: Path) -> None:
    out = tmp_path / "book"
    book.build(out, ["00_start_here", "glossary", "api"])
    page = offline(out / "00_start_here.html")
    page.wait_for_selector(".js-plotly-plot .main-svg", timeout=30_000)
    assert page.locator(".js-plotly-plot").count() >= 2  # the figure, and the panel as one
    assert page.locator(".js-plotly-plot path.js-line").count() > 0
    assert "_solution" not in page.content()

    page.locator("main a", has_text="glossary").click()
    assert page.locator("h1").inner_text() == "Glossary"
    page = offline(out / "index.html")
    page.locator("main a", has_text="api").click()
    page.locator("main a", has_text="sweep").first.click()
    assert page.url.endswith("api.html#sweep")
    assert page.locator("[id='sweep']").bounding_box()["y"] < SCREEN["height"]  # type: ignore[index]


@pytest.mark.long
def test_every_page_draws_its_figures_without_a_network(offline: Callable[[Path], Page], tmp_path: Path) -> None:
    out = tmp_path / "book"
    book.build(out, [])
    names = [path.stem for path in book.NOTEBOOKS.glob("*.ipynb")]
    assert {path.stem for path in out.glob("*.html")} == {*names, *book.documents(), "index"}
    for name in names:
        page = offline(out / f"{name}.html")
        page.wait_for_selector(".js-plotly-plot .main-svg", timeout=30_000)
        assert page.locator(".js-plotly-plot").count() >= 2, name
        for figure in page.locator(".js-plotly-plot").all():
            assert figure.locator(".main-svg").first.is_visible(), name
            assert figure.locator(".cartesianlayer .trace, .cartesianlayer image").count() > 0, name


def test_slides_move_by_keyboard_and_draw_without_a_network(offline: Callable[[Path], Page], tmp_path: Path) -> None:
    out = tmp_path / "slides"
    slides.build(out, ["00_start_here"])
    page = offline(out / "00_start_here.html")
    count = page.locator("section").count()
    assert count > 10
    drawn = 0
    for index in range(1, count + 1):
        assert page.locator("section:visible").count() == 1
        assert page.locator("footer").inner_text() == f"{index} / {count}"
        for figure in page.locator("section.now .js-plotly-plot .main-svg:first-child").all():
            assert figure.bounding_box()["width"] > 600  # type: ignore[index]
            drawn += 1
        page.keyboard.press("ArrowRight")
    assert drawn >= 2
    page.evaluate("document.querySelector('section.now').insertAdjacentHTML('beforeend', '<p style=height:900px>')")
    page.keyboard.press("PageDown")  # through what does not fit the screen, and not on
    assert page.evaluate("slides[now].scrollTop") > 0
    page.keyboard.press("PageUp")
    assert page.evaluate("slides[now].scrollTop") == 0
    assert page.locator("footer").inner_text() == f"{count} / {count}"
    page.keyboard.press("PageUp")
    assert page.locator("footer").inner_text() == f"{count - 1} / {count}"
    page.keyboard.press("Home")
    assert page.locator("section:visible h1").inner_text() == "00 Start here"
    assert "_solution" not in page.content()
