"""Find a Chromium for the browser tests, or install one where that is possible.

    python tests/browser/chromium.py [--install]

prints its path, or says what to do and exits with status 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/usr/bin/chromium",
    "/usr/lib/chromium/chromium",
    "/snap/bin/chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)


def find(install: bool = False) -> str | None:
    """Path of a Chromium, or ``None``.

    ``LABKIT_CHROMIUM`` decides when it is set. Otherwise: the usual names and places, then Playwright's own
    download; with ``install`` also Playwright's downloader, and as root the system's package.
    """
    given = os.environ.get("LABKIT_CHROMIUM")
    if given:
        if not Path(given).is_file():
            raise SystemExit(f"LABKIT_CHROMIUM={given} is not a file: give the path of a Chromium or Chrome")
        return given
    path = _present()
    if path or not install:
        return path
    print("No Chromium found; trying to install one for the browser tests ...", flush=True)
    if _run([sys.executable, "-m", "playwright", "install", "chromium"]) and (path := _present()):
        return path
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root and shutil.which("apt-get"):
        command = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
        if _run(command) or (_run(["apt-get", "update"]) and _run(command)):
            return _present()
    return None


def _present() -> str | None:
    for candidate in (*filter(None, map(shutil.which, NAMES)), *PLACES, _playwrights_own()):
        if candidate and Path(candidate).is_file():
            return candidate
    return None


def _playwrights_own() -> str | None:
    """Where Playwright would put the Chromium that fits it."""
    try:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            return playwright.chromium.executable_path
    except Exception:
        return None


def _run(command: list[str]) -> bool:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(command, env=env, timeout=300, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"  {command[0]}: {error}", flush=True)
        return False
    return done.returncode == 0


if __name__ == "__main__":
    found = find(install="--install" in sys.argv)
    print(found or "no Chromium: install one, or set LABKIT_CHROMIUM to its path")
    sys.exit(0 if found else 1)
