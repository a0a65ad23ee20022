"""The recipes run as they stand, offline, and print what the page says."""

from __future__ import annotations

import socket
from typing import Any

import pytest

import recipes

TEXT = recipes.PAGE.read_text(encoding="utf-8")
FOUND = recipes.recipes(TEXT)
WANTED = {
    "Sweep my sessions",
    "Compare two harnesses",
    "Price a model change",
    "Export a configuration",
    "Measure again after the change",
}


@pytest.fixture
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a recipe asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_all_are_there() -> None:
    assert FOUND.keys() >= WANTED


@pytest.mark.usefixtures("_offline")
@pytest.mark.parametrize("title", FOUND)
def test_a_recipe_runs_and_prints_what_the_page_says(title: str) -> None:
    recipe = FOUND[title]
    assert "```python" in recipe
    assert "```text" in recipe
    assert recipes.run(recipe) == recipe


@pytest.mark.parametrize("title", FOUND)
def test_its_lines_fit_a_page(title: str) -> None:
    code = "".join(block for kind, block in recipes.BLOCK.findall(FOUND[title]) if kind in ("python", "sh"))
    assert [line for line in code.splitlines() if len(line) > 120] == []


def test_the_check_can_fail() -> None:
    recipe = "\n```python\nprint(6 * 7)\n```\n\n```text\n41\n```\n"
    assert recipes.run(recipe) == recipe.replace("41", "42")
    with pytest.raises(ZeroDivisionError):
        recipes.run("```python\n1 / 0\n```\n")
    with pytest.raises(RuntimeError, match="ended with 2"):
        recipes.run("```sh\nlabkit audit nowhere\n```\n")
    with pytest.raises(ValueError, match="those of labkit"):
        recipes.run("```sh\nrm -r .\n```\n")
