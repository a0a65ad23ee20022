"""The exercises as a learner meets them: the cells of the notebooks, run, against the registry."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import labkit as lk
from anatomy import Notebook, code, source, tags
from labkit.course.judge import judge
from labkit.course.registry import exercises

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
HEADING = re.compile(r"^### Exercise (\d\d\.\d)( \(extra\))?: (.+)$", re.M)
EFFORT = re.compile(r"Difficulty (\d)/5 · Worth it (\d)/5 · about (\d+) min")


@dataclass(frozen=True)
class Group:
    """The cells of one exercise."""

    id: str
    extra: bool
    title: str
    prompt: str
    stub: str
    check: str
    solution: str

    @property
    def name(self) -> str:
        """What the learner's answer is called."""
        found = re.search(r"lk\.check\(\"[\d.]+\", (\w+)\)", self.check)
        assert found, self.check
        return found.group(1)


def groups(notebook: Notebook) -> list[Group]:
    """Every exercise of a notebook, in order."""
    found = []
    cells = notebook["cells"]
    for place, cell in enumerate(cells):
        opened = HEADING.search(source(cell)) if cell["cell_type"] == "markdown" else None
        if not opened:
            continue
        parts = {}
        for following in cells[place + 1 :]:
            for tag in ("exercise", "check", "solution"):
                if following["cell_type"] == "code" and tag in tags(following):
                    parts.setdefault(tag, source(following))
            if "solution" in parts:
                break
        found.append(
            Group(
                opened.group(1),
                bool(opened.group(2)),
                opened.group(3),
                source(cell),
                parts["exercise"],
                parts["check"],
                parts["solution"],
            )
        )
    return found


def read(path: Path) -> Notebook:
    return json.loads(path.read_text(encoding="utf-8"))


ALL = [pytest.param(g, id=g.id) for path in NOTEBOOKS for g in groups(read(path))]


def run(*sources: str) -> dict[str, Any]:
    space: dict[str, Any] = {"lk": lk}
    for text in sources:
        exec(text, space)
    return space


@pytest.fixture(autouse=True)
def own_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_HOME", str(tmp_path))


def test_notebooks_and_registry_have_the_same_exercises() -> None:
    assert [p.values[0].id for p in ALL if p.values[0].id in exercises()] != []
    assert sorted(p.values[0].id for p in ALL) == sorted(exercises())


@pytest.mark.parametrize("group", ALL)
def test_the_heading_says_what_the_registry_says(group: Group) -> None:
    exercise = exercises()[group.id]
    effort = EFFORT.search(group.prompt)
    assert effort, group.prompt
    assert [int(n) for n in effort.groups()] == [exercise.difficulty, exercise.worth, exercise.minutes]
    assert (group.title, group.extra) == (exercise.title, exercise.extra)


@pytest.mark.parametrize("group", ALL)
def test_the_stub_is_not_started(group: Group) -> None:
    assert str(judge(exercises()[group.id], run(group.stub)[group.name])) == f"{group.id}  not started"


@pytest.mark.parametrize("group", ALL)
def test_the_hidden_solution_passes(group: Group, capsys: pytest.CaptureFixture[str]) -> None:
    space = run(group.stub, group.solution)
    printed = capsys.readouterr().out
    total = len(exercises()[group.id].cases())
    assert printed.startswith(f"{group.id}  PASS {total}/{total}")
    # Under a name of its own, so that it cannot stand in for the learner's answer in a later cell.
    assert space[group.name] is not space[f"{group.name}_solution"]
    assert "solution=True" in group.solution


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_minutes_hold_the_core_exercises(path: Path) -> None:
    notebook = read(path)
    promised = int(re.search(r"\*\*(\d+) minutes\.\*\*", source(notebook["cells"][0]))[1])  # type: ignore[index]
    core = sum(exercises()[g.id].minutes for g in groups(notebook) if not g.extra)
    assert core <= 0.6 * promised, f"{core} of {promised} minutes are exercises: too little is left to read"


def test_the_checks_can_fail(capsys: pytest.CaptureFixture[str]) -> None:
    """A stub that is already solved, and a solution that is wrong, are seen."""
    solved = "def acts(total, clearable, trigger, floor):\n    return total > trigger and clearable >= floor"
    assert str(judge(exercises()["02.1"], run(solved)["acts"])) != "02.1  not started"
    run("def acts_solution(*a):\n    return True\n\n\nlk.check('02.1', acts_solution, solution=True)")
    assert not capsys.readouterr().out.startswith("02.1  PASS")


def test_every_exercise_cell_belongs_to_a_group() -> None:
    for path in NOTEBOOKS:
        notebook = read(path)
        assert len(code(notebook, "exercise")) == len(groups(notebook)), path.name
