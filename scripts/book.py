"""Build the executed course as pages that need no server and no network.

    python scripts/book.py [OUT] [--only NAME ...]

The default is build/book. Panels stand as figures; solutions are left out; plotly.js lies beside the pages. The
glossary, the recipes, the workshop's page and the API follow the notebooks.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import nbformat
import plotly.io as pio
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from plotly.offline import get_plotlyjs
from traitlets.config import Config

import api

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
FIGURE = "application/vnd.plotly.v1+json"
STATIC = "import labkit as _lk\n\n_lk.panels.mode = 'static'"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="book.css">
{head}
</head>
<body>
<nav>{nav}</nav>
<main>
{body}
</main>
</body>
</html>
"""
DRAWS = '<script src="plotly.min.js"></script>'

CSS = """:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; }
nav { padding: .6rem 1rem; border-bottom: 1px solid #8a8a8a; }
nav a { margin-right: 1rem; display: inline-block; }
nav a[aria-current] { font-weight: 600; text-decoration: none; }
main { max-width: 56rem; margin: 0 auto; padding: 1rem; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #c8c8c8; border-radius: 4px; font-size: .85rem; }
.output pre { border-style: dashed; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border: 1px solid #8a8a8a; padding: .2rem .6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; }
h3 { margin-top: 2.2rem; }
.anchor-link { display: none; }
.figure { background: #fff; }
"""


def executed(path: Path) -> nbformat.NotebookNode:
    """A notebook, run from top to bottom, with panels as figures and without its solutions."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(STATIC))
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", coalesce_streams=True, resources=resources)
    # Or each kernel warns that it talks over this machine's own ports.
    client.extra_arguments = ["--IPKernelApp.log_level=ERROR"]
    # What somebody solved and predicted on this machine is no part of a page.
    with tempfile.TemporaryDirectory(prefix="book-") as home:
        client.execute(env={**os.environ, "LABKIT_HOME": home})
    del notebook.cells[0]
    notebook.cells = [c for c in notebook.cells if "solution" not in c.metadata.get("tags", [])]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_shown(output) for output in cell.outputs]
    return notebook


def _shown(output: Any) -> Any:
    data = output.get("data", {})
    if FIGURE not in data:
        return output
    figure = pio.to_html(
        data[FIGURE], config={"showSendToCloud": False}, full_html=False, include_plotlyjs=False, validate=False
    )
    return nbformat.v4.new_output(
        output.output_type, data={"text/html": f'<div class="figure">{figure}</div>'}, metadata={}
    )


def page(notebook: nbformat.NotebookNode, code: bool = True) -> str:
    """The body of a page, with or without the cells' code."""
    exporter = HTMLExporter(template_name="basic", config=Config({"HTMLExporter": {"exclude_anchor_links": True}}))
    exporter.exclude_input_prompt = exporter.exclude_output_prompt = True
    exporter.exclude_input = not code
    body, _ = exporter.from_notebook_node(notebook)
    return linked(str(body))


def document(text: str) -> str:
    """The body of a page that is markdown."""
    return linked(str(markdown2html_mistune(text)))


def linked(body: str) -> str:
    """Links between notebooks and pages as they are called in the book."""
    body = re.sub(r'href="(\w+)\.ipynb', r'href="\1.html', body)
    return re.sub(r'href="([A-Z]+)\.md', lambda found: f'href="{found[1].lower()}.html', body)


def documents() -> dict[str, str]:
    """The pages that are no notebooks: name to markdown."""
    pages = {path.stem.lower(): path.read_text(encoding="utf-8") for path in sorted(NOTEBOOKS.glob("*.md"))}
    return {**pages, "api": api.page()}


def build(out: Path, only: list[str]) -> None:
    """Write the pages, an index and what they need."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    books = [p.stem for p in sorted(NOTEBOOKS.glob("*.ipynb")) if not only or p.stem in only]
    told = {name: text for name, text in documents().items() if not only or name in only}
    (out / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")
    (out / "book.css").write_text(CSS, encoding="utf-8")
    shutil.copytree(NOTEBOOKS / "pictures", out / "pictures")

    def write(name: str, body: str, head: str = "") -> None:
        links = [("index", "Context Lab"), *((other, other.replace("_", " ")) for other in (*books, *told))]
        nav = "".join(
            f'<a href="{other}.html"{" aria-current=" + chr(34) + "page" + chr(34) if other == name else ""}>'
            f"{html.escape(label)}</a>"
            for other, label in links
        )
        text = PAGE.format(title=html.escape(f"Context Lab: {name}"), nav=nav, body=body, head=head)
        (out / f"{name}.html").write_text(text, encoding="utf-8")
        print(f"wrote {name}.html", flush=True)

    for name in books:
        write(name, page(executed(NOTEBOOKS / f"{name}.ipynb")), DRAWS)
    for name, text in told.items():
        write(name, document(text))
    write("index", document(contents(books, list(told))))


def contents(books: list[str], told: list[str]) -> str:
    """The first page, in markdown."""
    about = {
        "glossary": "the words, one meaning each",
        "recipes": "short programs for what comes after the course",
        "scale": "many runs on many machines, and what that takes",
        "workshop": "for whoever stands in front of a room; it says the answers",
        "api": "what the package `labkit` offers",
    }
    rows = []
    for name in books:
        minutes = re.search(r"\*\*(\d+) minutes", (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
        rows.append(f"- [{name.replace('_', ' ')}]({name}.html), {minutes[1] if minutes else '?'} minutes")
    rows += [f"- [{name}]({name}.html): {about.get(name, 'more')}" for name in told]
    head = "The course as it looks after a run. Panels stand as figures here: to move them, start the lab."
    return f"# Context Lab\n\n{head}\n\n" + "\n".join(rows) + "\n"


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "build" / "book")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    options = parser.parse_args()
    build(options.out, options.only)


if __name__ == "__main__":
    main()
