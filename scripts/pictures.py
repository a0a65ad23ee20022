"""Take the README's pictures from the running lab.

    python scripts/pictures.py [NAME ...]

Starts JupyterLab on a copy of the notebooks, runs them in a browser and writes notebooks/pictures/NAME.png. Look at
them afterwards: the README says in words what each shows.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "notebooks" / "pictures"
LIMIT = 150_000  # bytes: a README with four of them still opens at once
sys.path[:0] = [str(ROOT / "tests" / "browser")]


@dataclass(frozen=True)
class Picture:
    """One picture: the first panel of a notebook, or the whole window with that panel in it."""

    notebook: str
    whole: bool = False


PICTURES = {
    "lab": Picture("02_compaction_ladder.ipynb", whole=True),
    "billed": Picture("00_start_here.ipynb"),
    "results": Picture("01_context_budget.ipynb"),
    "session": Picture("08_your_own_session.ipynb"),
}


def take(names: list[str], out: Path = OUT) -> None:
    """Write the pictures."""
    # Here, because the list above is read where no browser is.
    from playwright.sync_api import sync_playwright

    import chromium
    import lab

    with tempfile.TemporaryDirectory(prefix="pictures-") as folder, sync_playwright() as driver:
        notebooks = Path(folder) / "lab" / "notebooks"
        shutil.copytree(ROOT / "notebooks", notebooks, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        browser = driver.chromium.launch(executable_path=chromium.find(install=True), args=lab.CHROMIUM_FLAGS)
        with lab.serve(notebooks, Path(folder) / "log") as server:
            for name in names:
                picture = PICTURES[name]
                page = browser.new_context(viewport=lab.VIEWPORT).new_page()
                notebook = lab.Notebook(page, server, picture.notebook)
                notebook.run_all()
                panel = notebook.panels()[0]
                panel.show()
                page.mouse.move(0, 0)  # no hover text
                path = out / f"{name}.png"
                if picture.whole:  # what stands under the panel is left out
                    box = panel.box.bounding_box()
                    below = int(box["y"] + box["height"]) + 8 if box else lab.VIEWPORT["height"]
                    page.screenshot(path=path, clip={"x": 0, "y": 0, "width": lab.VIEWPORT["width"], "height": below})
                else:
                    panel.box.screenshot(path=path)
                print(f"wrote {path.relative_to(ROOT)}, {path.stat().st_size / 1000:.0f} kB", flush=True)
                page.context.close()
        browser.close()


def main() -> None:
    """Read the command line and take the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    names = parser.parse_args().names or list(PICTURES)
    if unknown := sorted(set(names) - PICTURES.keys()):
        parser.error(f"unknown: {', '.join(unknown)}; the pictures are {', '.join(PICTURES)}")
    take(names)


if __name__ == "__main__":
    main()
