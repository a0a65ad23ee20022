"""Every notebook of the course has the anatomy it promises."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anatomy import RULES, Notebook, Rule, code, formulas

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
WRITTEN = [
    "00_start_here",
    "01_context_budget",
    "02_compaction_ladder",
    "03_cache_costs",
    "04_memory",
    "05_handoff_artifacts",
    "06_subagent_isolation",
    "07_bench1",
    "08_your_own_session",
    "09_parameter_sweeps",
]


def read(path: Path) -> Notebook:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_notebooks_are_there() -> None:
    assert [p.stem for p in NOTEBOOKS] == WRITTEN


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_anatomy(path: Path, rule: Rule) -> None:
    assert list(rule(read(path), path.stem[:2])) == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_dollars_of_a_page_stay_dollars(path: Path) -> None:
    assert formulas(path.read_text(encoding="utf-8")) == []


def cell(kind: str, text: str, *tags: str, **metadata: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "source": text, "metadata": {"tags": list(tags), **metadata}}
    if kind == "code":
        made |= {"outputs": [], "execution_count": None}
    return made


def sample() -> Notebook:
    """A notebook 07 that has everything."""
    cells = [
        cell("markdown", "# A title\n\n20 min. Needs: 06. No API key, no network."),
        cell("markdown", "**Questions**\n\n**Objectives**"),
        cell("code", 'import labkit as lk\n\nlk.start("07")', "setup"),
        cell("markdown", "A story."),
        cell("markdown", "What do you expect?"),
        cell("code", 'lk.predict("07.p1", 1, 2)', "predict"),
        cell("code", 'size = 1_000\nnames = ["a"]', "parameters"),
        cell("code", "print(42)", "keep_output", "nbval-check-output"),
        cell("code", 'lk.reveal("07.p1", 42)\nfigure', "figure"),
        cell("code", "# one line\nlk.panel()", "panel"),
        cell("markdown", "**Try**\n\n1. This"),
        cell("markdown", "## Where this model is wrong"),
        cell("markdown", "## Key points\n\nA source, 2026-11-30."),
    ]
    for k in (1, 2):
        cells += [
            cell("markdown", f"### Exercise 07.{k}"),
            cell("code", "def f():\n    ...", "exercise"),
            cell("code", f'lk.check("07.{k}", f)', "check"),
            cell(
                "markdown", "<details><summary>Hint 1</summary></details><details><summary>Hint 2</summary></details>"
            ),
            cell("code", "def g():\n    return 1", "solution", jupyter={"source_hidden": True}),
        ]
    cells.append(cell("code", 'lk.progress("07")'))
    notebook = {"cells": cells, "metadata": {"kernelspec": {"name": "python3"}}}
    for number, one in enumerate(cells):
        one["id"] = f"c{number}"
    for number, one in enumerate(code(notebook), start=1):
        one["execution_count"] = number
    return notebook


def faults(notebook: Notebook) -> list[str]:
    return [fault for rule in RULES for fault in rule(notebook, "07")]


def test_the_sample_is_without_fault() -> None:
    assert faults(sample()) == []


def replace(old: str, new: str) -> Callable[[Notebook], None]:
    def change(notebook: Notebook) -> None:
        hits = [c for c in notebook["cells"] if old in c["source"]]
        assert hits
        for hit in hits:
            hit["source"] = hit["source"].replace(old, new)

    return change


def drop(tag: str) -> Callable[[Notebook], None]:
    def change(notebook: Notebook) -> None:
        for one in notebook["cells"]:
            one["metadata"]["tags"] = [t for t in one["metadata"]["tags"] if t != tag]

    return change


def put(key: str, value: Any, place: int = 7) -> Callable[[Notebook], None]:
    def change(notebook: Notebook) -> None:
        notebook["cells"][place][key] = value

    return change


BROKEN: dict[str, tuple[Callable[[Notebook], None], str]] = {
    "no title": (replace("# A title", "A title"), "one H1"),
    "two titles": (replace("A story.", "# Another"), "one H1"),
    "no minutes": (replace("20 min", "soon"), "minutes"),
    "no needs": (replace("Needs", "After"), "needs"),
    "a key": (replace("No API key", "Free"), "no API key"),
    "no objectives": (replace("**Objectives**", ""), "Objectives"),
    "no start": (replace('start("07")', 'start("08")'), "call start"),
    "no progress": (replace("lk.progress", "lk.other"), "call progress"),
    "no prediction": (replace('"07.p1"', '"07.1"'), "predict"),
    "a prediction without its number": (replace('lk.reveal("07.p1", 42)', ""), "revealed once"),
    "a number that nobody was asked for": (replace('lk.reveal("07.p1"', 'lk.reveal("07.p2"'), "revealed once"),
    "a computed parameter": (replace("1_000", "len([])"), "plain literals"),
    "no parameters": (drop("parameters"), "tagged parameters"),
    "no figure": (drop("figure"), "tagged figure"),
    "no panel": (drop("panel"), "tagged panel"),
    "a long panel": (replace("# one line", "x = 1"), "a panel cell has 2 lines"),
    "nothing to try": (replace("**Try**", ""), "things to try"),
    "one exercise": (replace("### Exercise 07.2", "### More"), "two are promised"),
    "no stub": (drop("exercise"), "tagged exercise"),
    "another check": (replace('check("07.2"', 'check("07.1"'), 'never calls check("07.2"'),
    "one hint": (replace("<summary>Hint 2", "<summary>More"), "has 1 hints"),
    "an open solution": (lambda n: n["cells"][17]["metadata"].pop("jupyter"), "not hidden"),
    "a perfect model": (replace("wrong", "right"), "where the model is wrong"),
    "no date": (replace("2026-11-30", "last year"), "dated source"),
    "too few cells": (lambda n: n["cells"].__delitem__(slice(3, 8)), "cells, allowed are"),
    "a long cell": (replace("print(42)", "x = 1\n" * 16), "a code cell of 16 lines"),
    "widget state": (lambda n: n["metadata"].update(widgets={}), "metadata.widgets"),
    "another kernel": (lambda n: n["metadata"]["kernelspec"].update(name="mine"), "python3"),
    "run out of order": (put("execution_count", 99), "execution counts"),
    "a stray output": (put("outputs", [{"output_type": "stream", "text": "x"}], 8), "without keep_output"),
    "kept but unchecked": (drop("nbval-check-output"), "belong together"),
    "a stored error": (put("outputs", [{"output_type": "error"}]), "an error is stored"),
    "a double id": (put("id", "c1"), "id of its own"),
    "an unknown tag": (lambda n: n["cells"][3]["metadata"]["tags"].append("hide"), "unknown tags"),
    "a magic": (replace("print(42)", "%pip install x"), "magic"),
    "the network": (replace("print(42)", "import requests"), "the network"),
    "a bare picture": (replace("A story.", "![](a.png)"), "alt text"),
    "two dollar signs": (replace("A story.", "It was $2.\nIt is $3."), "as a formula"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_rule_can_fail(name: str) -> None:
    change, expected = BROKEN[name]
    notebook = copy.deepcopy(sample())
    change(notebook)
    assert any(expected in fault for fault in faults(notebook)), faults(notebook)
