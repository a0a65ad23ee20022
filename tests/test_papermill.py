"""The commands of notebooks/SCALE.md: parameters that exist, and copies that run."""

from __future__ import annotations

import ast
import os
import re
import shlex
from pathlib import Path
from typing import Any

import nbformat
import pytest

papermill = pytest.importorskip("papermill", reason="the extra scale is not installed")

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "notebooks" / "SCALE.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(line) for line in re.findall(r"(?m)^papermill .*$", PAGE)]
LONG = bool(os.environ.get("LABKIT_LONG"))


def given(command: list[str]) -> dict[str, Any]:
    return dict(zip(command[4::3], command[5::3], strict=True))


def parameters(name: str) -> set[str]:
    notebook = nbformat.read(ROOT / "notebooks" / name, as_version=4)
    (cell,) = (c for c in notebook.cells if "parameters" in c.metadata.get("tags", []))
    return {ast.unparse(node.targets[0]) for node in ast.parse(cell.source).body if isinstance(node, ast.Assign)}


def test_the_page_has_a_command_for_three_notebooks() -> None:
    assert [command[1][:2] for command in COMMANDS] == ["02", "03", "08"]
    said = {
        name: set(re.findall(r"`([a-z_]+)`", line)) for name, line in re.findall(r"(?m)^- \*\*(\d\d)\*\* (.*)$", PAGE)
    }
    for command in COMMANDS:
        known = parameters(command[1])
        assert set(given(command)) <= known
        assert said[command[1][:2]] <= known


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[1][:2])
@pytest.mark.filterwarnings("default")
def test_a_copy_with_other_parameters_runs(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not LONG and not command[1].startswith("03"):
        pytest.skip("long: runs with LABKIT_LONG=1")
    monkeypatch.setenv("LABKIT_HOME", str(tmp_path / "home"))
    values = {name: int(v) if v.isdigit() else v for name, v in given(command).items()}
    made = papermill.execute_notebook(
        ROOT / "notebooks" / command[1],
        tmp_path / "copy.ipynb",
        values,
        cwd=ROOT / "notebooks",
        progress_bar=False,
        kernel_name="python3",
    )
    (injected,) = (c for c in made.cells if "injected-parameters" in c.metadata.get("tags", []))
    assert all(f"{name} = " in injected.source for name in values)
    printed = [o.text for c in made.cells if c.cell_type == "code" for o in c.outputs if o.output_type == "stream"]
    before = nbformat.read(ROOT / "notebooks" / command[1], as_version=4)
    kept = [o.text for c in before.cells if c.cell_type == "code" for o in c.outputs if o.output_type == "stream"]
    assert not set(kept) <= set(printed), "nothing came out otherwise"
