"""Build the executed course as pages that need no server and no network.

    python scripts/book.py [OUT] [--only NAME ...]

The default is build/book. Panels stand as figures; solutions are left out; plotly.js lies beside the pages.
"""

from __future__ import annotations

import argparse
import html
import shutil
from pathlib import Path
from typing import Any

import nbformat
import plotly.io as pio
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from plotly.offline import get_plotlyjs
from traitlets.config import Config

ROOT = Path(__file__).resolve().parent.parent
FIGURE = "application/vnd.plotly.v1+json"
STATIC = "import labkit as _lk\n\n_lk.panels.mode = 'static'"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="book.css">
<script src="plotly.min.js"></script>
</head>
<body>
<nav>{nav}</nav>
<main>
{body}
</main>
</body>
</html>
"""

CSS = """:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; }
nav { padding: .6rem 1rem; border-bottom: 1px solid #8a8a8a; }
nav a { margin-right: 1rem; }
nav a[aria-current] { font-weight: 600; text-decoration: none; }
main { max-width: 56rem; margin: 0 auto; padding: 1rem; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #c8c8c8; border-radius: 4px; font-size: .85rem; }
.output pre { border-style: dashed; }
table { border-collapse: collapse; }
td, th { border: 1px solid #8a8a8a; padding: .2rem .6rem; text-align: left; }
img { max-width: 100%; }
.figure { background: #fff; }
"""


def executed(path: Path) -> nbformat.NotebookNode:
    """A notebook, run from top to bottom, with panels as figures and without its solutions."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(STATIC))
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", coalesce_streams=True, resources=resources).execute()
    del notebook.cells[0]
    notebook.cells = [c for c in notebook.cells if "solution" not in c.metadata.get("tags", [])]
    return notebook


def page(notebook: nbformat.NotebookNode) -> str:
    """The body of a page."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_shown(output) for output in cell.outputs]
    exporter = HTMLExporter(template_name="basic", config=Config({"HTMLExporter": {"exclude_anchor_links": True}}))
    exporter.exclude_input_prompt = exporter.exclude_output_prompt = True
    body, _ = exporter.from_notebook_node(notebook)
    return str(body)


def _shown(output: Any) -> Any:
    data = output.get("data", {})
    if FIGURE not in data:
        return output
    figure = pio.to_html(data[FIGURE], full_html=False, include_plotlyjs=False, validate=False)
    return nbformat.v4.new_output(
        output.output_type, data={"text/html": f'<div class="figure">{figure}</div>'}, metadata={}
    )


def build(out: Path, only: list[str]) -> None:
    """Write the pages, an index and what they need."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    names = [p.stem for p in sorted((ROOT / "notebooks").glob("*.ipynb")) if not only or p.stem in only]
    (out / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")
    (out / "book.css").write_text(CSS, encoding="utf-8")
    shutil.copytree(ROOT / "notebooks" / "pictures", out / "pictures")
    for name in names:
        body = page(executed(ROOT / "notebooks" / f"{name}.ipynb"))
        links = []
        for other in names:
            here = ' aria-current="page"' if other == name else ""
            links.append(f'<a href="{other}.html"{here}>{html.escape(other.replace("_", " "))}</a>')
        text = PAGE.format(title=html.escape(f"Context Lab: {name}"), nav="".join(links), body=body)
        (out / f"{name}.html").write_text(text, encoding="utf-8")
        print(f"wrote {name}.html")
    first = f'<meta http-equiv="refresh" content="0; url={names[0]}.html"><a href="{names[0]}.html">Context Lab</a>'
    (out / "index.html").write_text(PAGE.format(title="Context Lab", nav="", body=first), encoding="utf-8")


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "build" / "book")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    options = parser.parse_args()
    build(options.out, options.only)


if __name__ == "__main__":
    main()
