"""What a notebook of the course must have: each rule takes a notebook and yields its faults."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

Notebook = dict[str, Any]
Rule = Callable[[Notebook, str], Iterator[str]]

TAGS = {
    "setup",
    "predict",
    "parameters",
    "figure",
    "panel",
    "exercise",
    "check",
    "hint",
    "solution",
    "extra",
    "keep_output",
    "nbval-check-output",
    "nbval-ignore-output",
    "raises-exception",
}
MAX_LINES = 15
CELLS = range(20, 36)
# No downloads, no shell, no path tricks, no key, no silenced warnings: a cell runs anywhere and says what it does.
FORBIDDEN = {
    r"^\s*[!%]": "a shell or magic command",
    r"\bsys\.path\b": "a change of sys.path",
    r"\bwarnings\.(filterwarnings|simplefilter)": "silenced warnings",
    r"https?://": "an address in code",
    r"^\s*(import|from)\s+(requests|urllib|httpx)\b": "the network",
    r"api_?key": "an API key",
    r"\bpio\.renderers\b": "a renderer set by hand",
}


def source(cell: dict[str, Any]) -> str:
    """The text of a cell, also when stored as lines."""
    text = cell["source"]
    return text if isinstance(text, str) else "".join(text)


def tags(cell: dict[str, Any]) -> set[str]:
    """The tags of a cell."""
    return set(cell["metadata"].get("tags", []))


def code(notebook: Notebook, tag: str | None = None) -> list[dict[str, Any]]:
    """Code cells, all or those with a tag."""
    return [c for c in notebook["cells"] if c["cell_type"] == "code" and (tag is None or tag in tags(c))]


def prose(notebook: Notebook) -> str:
    """All markdown in one text."""
    return "\n\n".join(source(c) for c in notebook["cells"] if c["cell_type"] == "markdown")


def headings(notebook: Notebook) -> list[str]:
    """Heading lines of the markdown, fenced code left out."""
    text = re.sub(r"```.*?```", "", prose(notebook), flags=re.S)
    return re.findall(r"^#{1,6} .*$", text, flags=re.M)


def title(notebook: Notebook, number: str) -> Iterator[str]:
    """One H1 in the first cell, with minutes, needs and the promise of no key."""
    first = notebook["cells"][0]
    if sum(h.startswith("# ") for h in headings(notebook)) != 1 or not source(first).startswith("# "):
        yield "there must be one H1, and it opens the first cell"
    head = source(first) + source(notebook["cells"][1])
    for pattern, what in (
        (r"\d+ min", "its minutes"),
        (r"(?i)needs", "what it needs"),
        (r"(?i)no API key", "'no API key'"),
    ):
        if not re.search(pattern, head):
            yield f"the first two cells do not say {what}"


def objectives(notebook: Notebook, number: str) -> Iterator[str]:
    """Questions and objectives near the top."""
    head = "\n".join(source(c) for c in notebook["cells"][:4])
    for word in ("Questions", "Objectives"):
        if not re.search(rf"(?i)\b{word}\b", head):
            yield f"the first four cells have no {word}"


def start_and_progress(notebook: Notebook, number: str) -> Iterator[str]:
    """``start`` in the first code cell, ``progress`` in the last, with the notebook's own number."""
    cells = code(notebook)
    if "setup" not in tags(cells[0]) or not re.search(rf"""start\(["']{number}["']\)""", source(cells[0])):
        yield f'the first code cell must be tagged setup and call start("{number}")'
    if not re.search(rf"""progress\(["']{number}["']\)""", source(cells[-1])):
        yield f'the last code cell must call progress("{number}")'


def predictions(notebook: Notebook, number: str) -> Iterator[str]:
    """A prediction before the first figure, and each number asked for once before it is shown."""
    whole = "\n".join(source(cell) for cell in code(notebook))
    calls = re.findall(rf"""lk\.(predict|reveal)\(\s*["']({number}\.p\d+)["']""", whole)
    for id in sorted({id for _, id in calls}):
        if [call for call, of in calls if of == id] != ["predict", "reveal"]:
            yield f"{id} must be predicted once, and then revealed once"
    before = []
    for cell in code(notebook):
        if tags(cell) & {"figure", "panel"}:
            break
        before.append(source(cell))
    if not re.search(rf"""predict\(\s*["']{number}\.p\d+["']""", "\n".join(before)):
        yield f'no predict("{number}.p1", ...) before the first figure'


def parameters(notebook: Notebook, number: str) -> Iterator[str]:
    """One cell of plain literals."""
    cells = code(notebook, "parameters")
    if len(cells) != 1:
        yield f"{len(cells)} cells are tagged parameters, there must be one"
    for cell in cells:
        for node in ast.parse(source(cell)).body:
            try:
                assert isinstance(node, ast.Assign)
                ast.literal_eval(node.value)
            except (AssertionError, ValueError):
                yield f"the parameters cell holds more than plain literals: {ast.unparse(node)}"


def figures(notebook: Notebook, number: str) -> Iterator[str]:
    """A figure, a panel in one line, and a list of things to try after it."""
    if not code(notebook, "figure"):
        yield "no cell is tagged figure"
    panels = code(notebook, "panel")
    if not panels:
        yield "no cell is tagged panel"
    for cell in panels:
        lines = [line for line in source(cell).splitlines() if line.strip() and not line.lstrip().startswith("#")]
        if len(lines) > 1:
            yield f"a panel cell has {len(lines)} lines, one is enough"
    if panels:
        after = notebook["cells"][notebook["cells"].index(panels[-1]) + 1 :]
        if not any(c["cell_type"] == "markdown" and re.search(r"(?m)\bTry\b", source(c)) for c in after[:2]):
            yield "no list of things to try follows the panel"


def exercises(notebook: Notebook, number: str) -> Iterator[str]:
    """At least two core exercises, each a complete group: stub, check, two hints, hidden solution."""
    marks = [(i, c) for i, c in enumerate(notebook["cells"]) if c["cell_type"] == "markdown"]
    found = [(i, m) for i, c in marks for m in re.findall(rf"(?m)^### Exercise {number}\.(\d+)(.*)$", source(c))]
    opened = [(place, k) for place, (k, _) in found]
    core = [place for place, (_, rest) in found if not rest.startswith(" (extra)")]
    if len(core) < 2:
        yield f"{len(core)} core exercises, two are promised"
    ends = [place for place, _ in opened[1:]] + [len(notebook["cells"])]
    for (begin, k), end in zip(opened, ends, strict=True):
        group = notebook["cells"][begin:end]
        ids = f"{number}.{k}"
        for tag in ("exercise", "check", "solution"):
            if not any(tag in tags(c) for c in group if c["cell_type"] == "code"):
                yield f"exercise {ids} has no cell tagged {tag}"
        if not any(
            re.search(rf"""check\(\s*["']{re.escape(ids)}["']""", source(c)) for c in group if "check" in tags(c)
        ):
            yield f'exercise {ids} never calls check("{ids}", ...)'
        hints = sum(len(re.findall(r"<summary>\s*Hint", source(c))) for c in group if c["cell_type"] == "markdown")
        if hints < 2:
            yield f"exercise {ids} has {hints} hints, two are promised"
        for cell in group:
            if "solution" in tags(cell) and cell["cell_type"] == "code" and not _hidden(cell):
                yield f"the solution of {ids} is not hidden (jupyter.source_hidden)"


def _hidden(cell: dict[str, Any]) -> bool:
    return bool(cell["metadata"].get("jupyter", {}).get("source_hidden"))


def endings(notebook: Notebook, number: str) -> Iterator[str]:
    """Where the model is wrong, and key points with dated sources."""
    found = " ".join(headings(notebook)).lower()
    if "wrong" not in found:
        yield "no heading says where the model is wrong"
    if "key points" not in found:
        yield "no heading Key points"
    elif not re.search(r"20\d\d", prose(notebook)[prose(notebook).lower().rindex("key points") :]):
        yield "the key points name no dated source"


def sizes(notebook: Notebook, number: str) -> Iterator[str]:
    """Few cells, short cells."""
    if len(notebook["cells"]) not in CELLS:
        yield f"{len(notebook['cells'])} cells, allowed are {CELLS[0]} to {CELLS[-1]}"
    for cell in code(notebook):
        if len(source(cell).splitlines()) > MAX_LINES:
            yield f"a code cell of {len(source(cell).splitlines())} lines: {source(cell).splitlines()[0]}"


def stored(notebook: Notebook, number: str) -> Iterator[str]:
    """Only what nbval compares is stored, in the order of an undisturbed run."""
    metadata = notebook["metadata"]
    if "widgets" in metadata:
        yield "metadata.widgets is stored"
    if metadata.get("kernelspec", {}).get("name") != "python3":
        yield "the kernel is not named python3"
    cells = [c for c in code(notebook) if source(c).strip()]
    counts = [c["execution_count"] for c in cells]
    if counts != list(range(1, len(cells) + 1)):
        yield f"execution counts are not 1 to {len(cells)}: run scripts/refresh_notebooks.py"
    for cell in code(notebook):
        if cell["outputs"] and "keep_output" not in tags(cell):
            yield f"an output is stored without keep_output: {source(cell)[:60]}"
        if ("keep_output" in tags(cell)) != ("nbval-check-output" in tags(cell)):
            yield f"keep_output and nbval-check-output belong together: {source(cell)[:60]}"
        if any(o["output_type"] == "error" for o in cell["outputs"]):
            yield f"an error is stored: {source(cell)[:60]}"
    ids = [c.get("id") for c in notebook["cells"]]
    if None in ids or len(set(ids)) != len(ids):
        yield "a cell has no id of its own"


def formulas(text: str) -> list[str]:
    """Paragraphs in which JupyterLab would set what stands between two dollar signs as a formula."""
    plain = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S)
    return [paragraph for paragraph in re.split(r"\n\s*\n", plain) if paragraph.count("$") > 1]


def vocabulary(notebook: Notebook, number: str) -> Iterator[str]:
    """Known tags, plain code, pictures with words, dollars that stay dollars."""
    for paragraph in formulas(prose(notebook)):
        yield f"two dollar signs in one paragraph are shown as a formula: {paragraph[:60]}"
    for cell in notebook["cells"]:
        if tags(cell) - TAGS:
            yield f"unknown tags {sorted(tags(cell) - TAGS)}"
    for cell in code(notebook):
        for pattern, what in FORBIDDEN.items():
            if re.search(pattern, source(cell), flags=re.M | re.I):
                yield f"code holds {what}: {source(cell)[:60]}"
    if re.search(r"!\[\s*\]\(", prose(notebook)) or re.search(r"<img(?![^>]*\balt=[\"'][^\"']+)", prose(notebook)):
        yield "a picture has no alt text"


RULES: tuple[Rule, ...] = (
    title,
    objectives,
    start_and_progress,
    predictions,
    parameters,
    figures,
    exercises,
    endings,
    sizes,
    stored,
    vocabulary,
)
