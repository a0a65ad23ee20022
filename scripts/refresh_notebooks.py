"""Run the notebooks from top to bottom and store what belongs into the repository.

    python scripts/refresh_notebooks.py [--check] [NOTEBOOK ...]

Kept are execution counts and the outputs of cells tagged ``keep_output``; every other output goes, and
so does ``metadata.widgets`` (megabytes of state, and GitHub refuses to show it). ``--check`` writes
nothing and fails if a notebook would change.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
TIMEOUT = 120


def execute(path: Path) -> NotebookNode:
    """Run a notebook in its own folder, as a learner would."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    return notebook


def strip(notebook: NotebookNode) -> NotebookNode:
    """Keep what is checked; the rest of the outputs would only rot."""
    notebook.metadata = NotebookNode(kernelspec=NotebookNode(KERNEL), language_info=NotebookNode(name="python"))
    for cell in notebook.cells:
        # Front ends leave their own marks; tags and a hidden source are ours.
        kept = {k: v for k, v in cell.metadata.items() if k in ("tags", "jupyter")}
        if cell.cell_type == "code" and "keep_output" not in kept.get("tags", []):
            cell.outputs = []
        cell.metadata = NotebookNode(kept)
    return notebook


def faults(notebook: NotebookNode) -> list[str]:
    """What a stored notebook must not show: warnings, and checked cells that print nothing."""
    found = []
    for number, cell in enumerate(notebook.cells):
        outputs = cell.get("outputs", [])
        errors = [o.text.strip() for o in outputs if o.output_type == "stream" and o.name == "stderr"]
        found += [f"cell {number} ({cell.id}) wrote to stderr: {text[:200]}" for text in errors]
        if "keep_output" in cell.metadata.get("tags", []) and not outputs:
            found.append(f"cell {number} ({cell.id}) is tagged keep_output and prints nothing")
    return found


def refresh(path: Path, check: bool) -> list[str]:
    """Run one notebook, store it unless ``check``, and return its faults."""
    try:
        notebook = execute(path)
    except CellExecutionError as error:
        return [f"stopped at an error, nothing is stored\n{error}"]
    found = faults(notebook)
    text = nbformat.writes(strip(notebook), indent=1) + "\n"
    if text != path.read_text(encoding="utf-8"):
        if check:
            found.append("would change: run scripts/refresh_notebooks.py and look at the difference")
        else:
            path.write_text(text, encoding="utf-8", newline="\n")
    return found


def main() -> int:
    """Refresh the notebooks named, or all of them; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if something would change")
    options = parser.parse_args()
    paths = options.notebooks or sorted((ROOT / "notebooks").glob("*.ipynb"))
    failed = False
    with tempfile.TemporaryDirectory(prefix="context-lab-") as home:
        os.environ["LABKIT_HOME"] = home  # a learner's own progress has no part in this
        for path in paths:
            found = refresh(path.resolve(), options.check)
            failed = failed or bool(found)
            print(f"{path.name}: {'; '.join(found) or 'good'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
