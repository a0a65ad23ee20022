"""Slides from the notebooks themselves: pages that need no server and no network.

    python scripts/slides.py [OUT] [--only NAME ...]

The default is build/slides. A slide begins at a heading, a prediction, a figure or a panel, and what comes after a
prediction is on the next one. The code is left out but for the cells of predictions and exercises; hints, solutions
and checks are left out. A cell's own ``slideshow`` settings, as JupyterLab writes them, come first. Arrow keys,
space, Home and End move; without scripts, and on paper, the slides stand one below the other.
"""

from __future__ import annotations

import argparse
import html
import re
import shutil
from itertools import pairwise
from pathlib import Path

import nbformat
from plotly.offline import get_plotlyjs

from book import DRAWS, NOTEBOOKS, ROOT, executed, page

LEFT_OUT = {"setup", "solution", "check", "hint"}
WITH_CODE = {"predict", "exercise", "parameters"}
BEGINS = {"figure", "panel"}

# What begins a slide in a text: a heading, or one of the bold words that every notebook has.
HEADING = re.compile(r"(?m)^(?:#{1,3} |\*\*(?:Predict|Try|Questions|Objectives)\b)")

DECK = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="slides.css">
{head}
</head>
<body>
{body}
<footer aria-live="polite"></footer>
<script src="slides.js"></script>
</body>
</html>
"""
CSS = """:root { color-scheme: light dark; }
body { font: 21px/1.4 system-ui, sans-serif; margin: 0; }
section { box-sizing: border-box; max-width: 64rem; margin: 0 auto; padding: 1.2rem 2rem 2.5rem; }
section:focus { outline: none; }
h1 { font-size: 2.2rem; } h2 { font-size: 1.8rem; } h3 { font-size: 1.5rem; }
pre { overflow-x: auto; padding: .5rem; border: 1px solid #8a8a8a; border-radius: 4px; font-size: .8rem; }
table { border-collapse: collapse; }
td, th { border: 1px solid #8a8a8a; padding: .2rem .8rem; text-align: left; }
.figure { background: #fff; }
footer { position: fixed; right: 1rem; bottom: .6rem; font-size: .9rem; }
.moves section { display: none; height: 100vh; overflow-y: auto; }
.moves section.now { display: block; }
@media print {
  section, .moves section { display: block; height: auto; break-after: page; }
  footer { display: none; }
}
"""
JS = """const slides = [...document.querySelectorAll("section")];
const place = document.querySelector("footer");
let now = -1;
function show(index) {
  index = Math.min(Math.max(index, 0), slides.length - 1);
  if (index === now) return;
  now = index;
  slides.forEach((slide, i) => slide.classList.toggle("now", i === now));
  place.textContent = `${now + 1} / ${slides.length}`;
  history.replaceState(null, "", `#${now + 1}`);
  slides[now].scrollTop = 0;
  slides[now].focus();
  // A figure that was drawn while its slide was hidden does not know its width.
  slides[now].querySelectorAll(".js-plotly-plot").forEach(figure => Plotly.Plots.resize(figure));
}
// Down, up and the like first go through what does not fit the screen.
function scrolled(sign) {
  const slide = slides[now];
  const left = sign > 0 ? slide.scrollHeight - slide.clientHeight - slide.scrollTop : slide.scrollTop;
  if (left > 4) slide.scrollBy(0, sign * 0.8 * slide.clientHeight);
  return left > 4;
}
function step(sign) { if (!scrolled(sign)) show(now + sign); }
const keys = {
  ArrowRight: () => show(now + 1), ArrowDown: () => step(1), PageDown: () => step(1), " ": () => step(1),
  ArrowLeft: () => show(now - 1), ArrowUp: () => step(-1), PageUp: () => step(-1),
  Home: () => show(0), End: () => show(slides.length - 1),
};
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});
addEventListener("hashchange", () => show(parseInt(location.hash.slice(1)) - 1 || 0));
document.body.classList.add("moves");
show(parseInt(location.hash.slice(1)) - 1 || 0);
"""


def slides(notebook: nbformat.NotebookNode) -> list[list[nbformat.NotebookNode]]:
    """The cells of each slide."""
    found: list[list[nbformat.NotebookNode]] = []
    for cell in (part for whole in notebook.cells for part in _parts(whole)):
        wanted = cell.metadata.get("slideshow", {}).get("slide_type", "")
        tags = set(cell.metadata.get("tags", []))
        aside = tags & LEFT_OUT or _folded(cell) or cell.source.startswith("lk.progress(")
        if wanted in ("skip", "notes") or (not wanted and aside):
            continue
        begins = tags & BEGINS or (cell.cell_type == "markdown" and HEADING.match(cell.source))
        if found and (_is_title(found[-1]) or wanted in ("fragment", "-")):
            begins = False
        elif found and "predict" in found[-1][-1].metadata.get("tags", []):
            begins = True  # the answer
        if not found or wanted in ("slide", "subslide") or (not wanted and begins):
            found.append([])
        found[-1].append(cell)
    return found


def _is_title(slide: list[nbformat.NotebookNode]) -> bool:
    """Whether a slide is nothing but a heading so far, such as *Your turn* over the first exercise."""
    return len(slide) == 1 and re.fullmatch(r"## [^\n]+", slide[0].source) is not None


def _parts(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """A cell of text in parts that begin with a heading; what has fences or settings of its own stays whole."""
    if cell.cell_type != "markdown" or "```" in cell.source or "slideshow" in cell.metadata or _folded(cell):
        return [cell]
    starts = sorted({0, *(found.start() for found in HEADING.finditer(cell.source))})
    texts = [cell.source[a:b].strip() for a, b in pairwise([*starts, len(cell.source)])]
    return [nbformat.v4.new_markdown_cell(text, metadata=cell.metadata) for text in texts if text]


def _folded(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell holds nothing but what a learner unfolds: hints, and why."""
    return cell.cell_type == "markdown" and cell.source.lstrip().startswith("<details>")


def section(cells: list[nbformat.NotebookNode]) -> str:
    """One slide."""
    parts = []
    for cell in cells:
        tags = set(cell.metadata.get("tags", []))
        if "predict" in tags:
            cell.outputs = []  # that no range was given yet
        if "panel" in tags:
            cell.outputs = [output for output in cell.outputs if output.output_type != "stream"]
        parts.append(page(nbformat.v4.new_notebook(cells=[cell]), code=bool(WITH_CODE & tags)))
    return '<section tabindex="-1">\n' + "\n".join(parts) + "\n</section>"


def build(out: Path, only: list[str]) -> None:
    """Write a deck a notebook, and what they need."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name, text in (("plotly.min.js", get_plotlyjs()), ("slides.css", CSS), ("slides.js", JS)):
        (out / name).write_text(text, encoding="utf-8")
    names = [p.stem for p in sorted(NOTEBOOKS.glob("*.ipynb")) if not only or p.stem in only]
    for name in names:
        deck = slides(executed(NOTEBOOKS / f"{name}.ipynb"))
        body = "\n".join(section(cells) for cells in deck)
        text = DECK.format(title=html.escape(f"Context Lab: {name}"), body=body, head=DRAWS)
        (out / f"{name}.html").write_text(text, encoding="utf-8")
        print(f"wrote {name}.html, {len(deck)} slides", flush=True)
    links = "\n".join(f'<li><a href="{name}.html">{html.escape(name.replace("_", " "))}</a></li>' for name in names)
    index = f'<section class="now"><h1>Context Lab</h1><ul>{links}</ul></section>'
    text = DECK.format(title="Context Lab", body=index, head="").replace('<script src="slides.js"></script>', "")
    (out / "index.html").write_text(text, encoding="utf-8")


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "build" / "slides")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    options = parser.parse_args()
    build(options.out, options.only)


if __name__ == "__main__":
    main()
