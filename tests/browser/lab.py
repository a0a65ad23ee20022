"""A JupyterLab of our own, and one notebook in it as a person at the keyboard sees it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

VIEWPORT = {"width": 1280, "height": 720}

# What a panel says: its words, and its picture as drawing commands.
Reading = tuple[str, str]

# A slider's handle, or a choice; the number box beside a slider is the same control once more.
CONTROLS = ".noUi-handle, select"

# No sandbox: containers seldom allow one. The rest keeps Chromium from calling home.
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]

# What the cells of the open notebook look like now, from JupyterLab's own model: cells out of sight are
# not in the page.
CELLS = """() => {
  const panel = window.jupyterapp.shell.currentWidget;
  const cells = panel?.content?.model?.cells;
  if (!cells || panel.context.isReady === undefined) return null;
  return Array.from(cells).map(cell => ({
    type: cell.type,
    source: cell.sharedModel.getSource(),
    count: cell.type === 'code' ? cell.executionCount : null,
    state: cell.type === 'code' ? cell.executionState : null,
    tags: cell.getMetadata('tags') ?? [],
    errors: cell.type === 'code'
      ? cell.outputs.toJSON().filter(o => o.output_type === 'error').map(o => o.ename + ': ' + o.evalue)
      : [],
  }));
}"""


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: its address, its token and the folder it shows."""

    address: str
    token: str
    folder: Path


def free_port() -> int:
    """A port of the loopback interface that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def serve(folder: Path, log: Path) -> Iterator[Server]:
    """Start JupyterLab on a folder, with settings that are nobody's, and stop it at the end."""
    token, port = secrets.token_hex(16), free_port()
    home = folder.parent / "jupyter-home"
    env = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "LABKIT_HOME": str(home / "labkit"),
    }
    news = home / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    news.parent.mkdir(parents=True)
    news.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--ServerApp.port_retries=0", f"--ServerApp.root_dir={folder}", f"--IdentityProvider.token={token}"]
    command += ["--LabApp.expose_app_in_browser=True", "--allow-root"]
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=output, stderr=subprocess.STDOUT)
        try:
            server = Server(f"http://127.0.0.1:{port}", token, folder)
            _wait_for_answer(server, process, log)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_answer(server: Server, process: subprocess.Popen[bytes], log: Path, seconds: float = 90) -> None:
    # A proxy in the environment must not be asked for this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with opener.open(f"{server.address}/api/status?token={server.token}", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (OSError, urllib.error.URLError):
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start; its last lines:\n{log.read_text()[-2000:]}")


def copy_notebooks(root: Path, folder: Path) -> None:
    """Put the course's notebooks, and our own small one, where the server may write."""
    shutil.copytree(root / "notebooks", folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    for path in (root / "tests" / "browser" / "fixtures").glob("*.ipynb"):
        shutil.copy(path, folder)


class Notebook:
    """One open notebook."""

    def __init__(self, page: Page, server: Server, name: str) -> None:
        self.page = page
        page.goto(f"{server.address}/lab/tree/{name}?token={server.token}&reset", wait_until="domcontentloaded")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
        page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.context?.isReady", timeout=90_000)
        # A kernel that is still starting swallows the first Run All.
        page.wait_for_function(
            "() => window.jupyterapp.shell.currentWidget.sessionContext?.session?.kernel?.status === 'idle'",
            timeout=90_000,
        )

    def cells(self) -> list[dict[str, Any]]:
        """Type, source, execution count, tags and errors of each cell."""
        found: list[dict[str, Any]] = self.page.evaluate(CELLS)
        return found

    def run_all(self, seconds: float = 120) -> None:
        """Choose Run All Cells from the menu and wait until the last cell has run without error."""
        self.page.evaluate(
            """() => { for (const cell of window.jupyterapp.shell.currentWidget.content.model.cells)
                if (cell.type === 'code') { cell.executionCount = null; } }"""
        )
        self.page.locator(".lm-MenuBar-item", has_text="Run").first.click()
        self.page.locator(".lm-Menu-itemLabel", has_text="Run All Cells").first.click()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            cells = [c for c in self.cells() if c["type"] == "code" and c["source"].strip()]
            failed = [c for c in cells if c["errors"] and "raises-exception" not in c["tags"]]
            if failed:
                raise AssertionError(f"a cell failed: {failed[0]['errors'][0]}\n{failed[0]['source']}")
            if all(c["count"] is not None and c["state"] == "idle" for c in cells):
                return
            time.sleep(0.2)
        waiting = [c["source"] for c in cells if c["count"] is None or c["state"] != "idle"]
        raise AssertionError(f"{len(waiting)} cells had not run after {seconds:.0f} s, the first:\n{waiting[0]}")

    def panels(self) -> list[Panel]:
        """The panels, each scrolled into view once so that it is drawn."""
        places = [i for i, c in enumerate(self.cells()) if c["type"] == "code"]
        for place in places:
            self.page.evaluate(
                "place => window.jupyterapp.shell.currentWidget.content.scrollToItem(place, 'smart')", place
            )
        found = self.page.locator(".labkit-panel")
        if places:
            found.first.wait_for(state="attached", timeout=15_000)
        return [Panel(self.page, found.nth(i)) for i in range(found.count())]


class Panel:
    """A figure, its controls and its words."""

    def __init__(self, page: Page, box: Locator) -> None:
        self.page = page
        self.box = box
        self.control = box.locator(CONTROLS).first
        self.figure = box.locator(".js-plotly-plot").first
        self.words = box.locator(".labkit-words").first

    def show(self) -> None:
        """Scroll to the panel and wait until all three parts are drawn and stand still."""
        self._scroll()
        for part in (self.control, self.figure, self.words):
            part.wait_for(state="visible", timeout=20_000)
        self.figure.locator(".main-svg").first.wait_for(state="visible", timeout=20_000)
        # A figure can stand there with axes and no data: the traces come by messages of their own.
        drawn = self.figure.element_handle()
        self.page.wait_for_function("f => (f.data ? f.data.length : 1) > 0", arg=drawn, timeout=30_000)
        self._settle()

    def _scroll(self) -> None:
        self.box.evaluate("box => box.scrollIntoView({block: 'center'})")

    def _settle(self, seconds: float = 10, still: int = 4) -> None:
        """Scroll again until the panel has kept its place for a while.

        JupyterLab draws the cells above while one scrolls, and each that grows pushes the panel down; on a
        busy machine that goes on after the figure is there.
        """
        until, place, count = time.monotonic() + seconds, None, 0
        while time.monotonic() < until and count < still:
            self._scroll()
            self.page.wait_for_timeout(150)
            now = self.box.bounding_box()
            place, count = now, count + 1 if now == place else 0

    def read(self) -> Reading:
        """The words, and the picture as the drawing commands of its traces and its title."""
        drawing = self.figure.evaluate(
            """f => JSON.stringify([f.data, f.querySelector('.main-svg .plot')?.innerHTML,
                                    f.querySelector('.gtitle')?.textContent])"""
        )
        return self.words.inner_text(), drawing

    def controls(self) -> list[Locator]:
        """Every slider and choice, those under "more" too, which is opened by keyboard."""
        more = self.box.locator(".labkit-more")
        if more.count():
            self.press(more.first, "Enter")
        found = self.box.locator(CONTROLS)
        for control in (found.nth(i) for i in range(found.count())):
            control.wait_for(state="visible", timeout=10_000)
        self._settle()
        return [found.nth(i) for i in range(found.count())]

    def name(self, control: Locator) -> str:
        """What a screen reader says before the value."""
        said: str = control.evaluate(
            "c => c.getAttribute('aria-label') ?? Array.from(c.labels ?? [], l => l.innerText).join(' ')"
        )
        return said.strip()

    def press(self, control: Locator, key: str) -> None:
        """Press a key on a control, reached with the keyboard's focus and not with the mouse."""
        control.focus()
        assert control.evaluate("control => document.activeElement === control"), "the control takes no focus"
        self.page.keyboard.press(key)

    def change(self, control: Locator | None = None, seconds: float = 30) -> tuple[Reading, Reading]:
        """Move a control by keyboard until words and figure have changed; return before and after."""
        control = control or self.control
        menu = control.evaluate("control => control.tagName") == "SELECT"
        keys = ("ArrowDown", "ArrowUp", "ArrowUp") if menu else ("ArrowRight", "ArrowLeft", "ArrowLeft", "End", "Home")
        before = after = self.read()
        for key in keys:
            self.press(control, key)
            until = time.monotonic() + seconds / len(keys)
            while time.monotonic() < until:
                after = self.read()
                if after[0] != before[0] and after[1] != before[1]:
                    return before, after
                self.page.wait_for_timeout(100)
        return before, after

    def reset(self, words: str, seconds: int = 20) -> None:
        """Press Reset by keyboard and wait for the words of the start."""
        self.press(self.box.get_by_role("button", name="Reset"), "Enter")
        self.page.wait_for_function(
            "([box, words]) => box.innerText === words",
            arg=[self.words.element_handle(), words],
            timeout=1000 * seconds,
        )

    def faults(self) -> list[str]:
        """What axe-core finds inside the panel and calls serious or critical."""
        from axe_playwright_python.sync_playwright import Axe

        self.page.evaluate(
            "() => document.querySelectorAll('[data-look]').forEach(b => b.removeAttribute('data-look'))"
        )
        self.box.evaluate("box => box.setAttribute('data-look', 'yes')")
        found = Axe().run(self.page, context="[data-look=yes]", options={"resultTypes": ["violations"]})
        return [
            f"{fault['id']}: {node['html'][:200]}"
            for fault in found.response["violations"]
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]

    def hidden(self) -> list[str]:
        """Parts that are not wholly inside the part of the notebook one sees."""
        seen = self.page.locator(".jp-WindowedPanel-outer:visible").first.bounding_box()
        assert seen is not None
        out = []
        for name, part in (("control", self.control), ("figure", self.figure), ("words", self.words)):
            box = part.bounding_box()
            if box is None or not _within(box, seen):
                out.append(f"{name} at {box}, seen {seen}")
        return out


def _within(inner: Any, outer: Any, slack: float = 1.0) -> bool:
    bottom = min(outer["y"] + outer["height"], VIEWPORT["height"])
    right = min(outer["x"] + outer["width"], VIEWPORT["width"])
    return bool(
        inner["x"] >= outer["x"] - slack
        and inner["y"] >= outer["y"] - slack
        and inner["x"] + inner["width"] <= right + slack
        and inner["y"] + inner["height"] <= bottom + slack
    )
