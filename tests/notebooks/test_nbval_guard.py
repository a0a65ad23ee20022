"""nbval compares something: it skips cells without a count or an output, and stays green."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from anatomy import Notebook, code, tags

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def uncompared(notebook: Notebook) -> list[str]:
    """Why nbval would compare nothing."""
    checked = code(notebook, "nbval-check-output")
    found = [] if checked else ["no cell is tagged nbval-check-output"]
    for cell in checked:
        if not cell["outputs"]:
            found.append(f"no stored output: {cell['source']}")
        if cell["execution_count"] is None:
            found.append(f"no execution count: {cell['source']}")
        if "nbval-ignore-output" in tags(cell) or "nbval-skip" in tags(cell):
            found.append(f"ignored all the same: {cell['source']}")
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_checked_cell_is_compared(path: Path) -> None:
    assert uncompared(json.loads(path.read_text(encoding="utf-8"))) == []


def nbval(path: Path) -> subprocess.CompletedProcess[str]:
    """Run one notebook as the check does."""
    options = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=120", "-p", "no:python", "-W", "default"]
    command = [sys.executable, "-m", "pytest", "-q", *options, "-p", "no:cacheprovider", str(path)]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True)


def small(path: Path, stored: str) -> Path:
    """A notebook that prints 42 and remembers something."""
    cell = v4.new_code_cell("print(42)", execution_count=1, metadata={"tags": ["nbval-check-output"]})
    cell.outputs = [v4.new_output("stream", name="stdout", text=stored)]
    notebook = v4.new_notebook(cells=[cell], metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    nbformat.write(notebook, path)
    return path


def test_nbval_tells_equal_from_different(tmp_path: Path) -> None:
    assert nbval(small(tmp_path / "same.ipynb", "42\n")).returncode == 0
    different = nbval(small(tmp_path / "other.ipynb", "43\n"))
    assert different.returncode == 1
    assert "mismatch" in different.stdout


def alter(notebook: Notebook) -> str:
    """Change the last digit of the first stored number; return the text it stood in."""
    for cell in code(notebook, "nbval-check-output"):
        for output in cell["outputs"]:
            holder, key = (output, "text") if "text" in output else (output.get("data", {}), "text/plain")
            text = "".join(holder.get(key, ""))
            if re.search(r"\d", text):
                holder[key] = re.sub(r"\d", lambda m: str((int(m[0]) + 1) % 10), text, count=1)
                return text
    raise AssertionError("no stored number")


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=[] if p.stem.startswith("00") else pytest.mark.long) for p in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_altering_one_stored_number_turns_it_red(path: Path, tmp_path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    alter(notebook)
    copy = tmp_path / path.name
    copy.write_text(json.dumps(notebook), encoding="utf-8")
    done = nbval(copy)
    assert done.returncode == 1, done.stdout
    assert "mismatch" in done.stdout
    assert re.search(r"\b1 failed", done.stdout), done.stdout
