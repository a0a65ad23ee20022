"""The learners' copy: no solution, and still a course."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import learner
from anatomy import RULES, code, source, tags

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("learner")
    learner.main(out)
    return out / "notebooks"


@pytest.mark.parametrize("name", NAMES)
def test_no_solution_is_left(copy: Path, name: str) -> None:
    whole = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    given = json.loads((copy / f"{name}.ipynb").read_text(encoding="utf-8"))
    text = json.dumps(given)
    solutions = [source(c) for c in code(whole, "solution")]
    assert solutions
    for solution in solutions:
        assert json.dumps(solution.splitlines()[-1]).strip('"') not in text
    assert "_solution" not in text
    assert [source(c) for c in code(given, "solution")] == [learner.INSTEAD] * len(solutions)
    assert len(given["cells"]) == len(whole["cells"])


@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_the_anatomy(copy: Path, name: str) -> None:
    notebook = json.loads((copy / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert [fault for rule in RULES for fault in rule(notebook, name[:2])] == []
    for cell in code(notebook):
        assert not cell["outputs"] and not tags(cell) & {"keep_output", "nbval-check-output"}
