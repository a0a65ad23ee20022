"""Copy the notebooks for learners, without the solutions.

    python scripts/learner.py [OUT]

The default is build/learner. Each solution gives way to a line that says where it is, and the stored numbers go: a
range is worth more where the answer does not stand below it yet.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
FACILITATORS = "WORKSHOP.md"  # it says the answers
INSTEAD = "# The solution is in the facilitator's copy."


def without_solutions(path: Path) -> nbformat.NotebookNode:
    """A notebook without stored outputs, in which one line stands for each solution and each cell that runs one."""
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    solutions = [cell for cell in code if "solution" in cell.metadata.get("tags", [])]
    names = [name for cell in solutions for name in re.findall(r"(?m)^def (\w+)", cell.source)]
    for cell in code:
        if cell in solutions or any(re.search(rf"\b{name}\b", cell.source) for name in names):
            cell.source = INSTEAD
        cell.outputs = []
        cell.metadata["tags"] = [
            tag for tag in cell.metadata.get("tags", []) if tag not in ("keep_output", "nbval-check-output")
        ]
    return notebook


def main(out: Path) -> None:
    """Write the copy."""
    target = out / "notebooks"
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    for path in sorted((ROOT / "notebooks").iterdir()):
        if path.suffix == ".ipynb":
            nbformat.write(without_solutions(path), target / path.name)
        elif path.is_dir() and not path.name.startswith("."):
            shutil.copytree(path, target / path.name)
        elif path.suffix == ".md" and path.name != FACILITATORS:
            shutil.copyfile(path, target / path.name)
    print(f"wrote {len(list(target.glob('*.ipynb')))} notebooks to {target}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "learner")
