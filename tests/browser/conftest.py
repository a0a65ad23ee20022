"""One server and one browser for all browser tests; skipped, with a reason, where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from lab import Notebook, Server


@pytest.fixture(scope="session")
def results(root: Path) -> Path:
    """Where screenshots and the server's log go."""
    folder = root / "test-results"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no browser: playwright is not installed")
    from lab import CHROMIUM_FLAGS

    path = chromium.find()
    if path is None:
        pytest.skip("no browser: no Chromium was found, set LABKIT_CHROMIUM to its path")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, headless=True, args=CHROMIUM_FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def server(browser: Browser, root: Path, results: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """JupyterLab on a copy of the notebooks; asked for only where there is a browser."""
    import lab

    folder = tmp_path_factory.mktemp("lab") / "notebooks"
    lab.copy_notebooks(root, folder)
    with lab.serve(folder, results / "jupyterlab.log") as running:
        yield running


@pytest.fixture
def open_notebook(
    browser: Browser, server: Server, results: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], Notebook]]:
    """A function that opens a notebook by its name; a picture of its end is kept."""
    import lab

    context = browser.new_context(viewport=lab.VIEWPORT)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield lambda name: lab.Notebook(page, server, name)
    page.screenshot(path=results / f"{request.node.name.replace('/', '_')}.png")
    context.close()
    if faults:
        print("errors in the page:", *faults[:5], sep="\n  ")
