"""The pages around the course: the API from the docstrings, links that lead somewhere, cells that make slides."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

import api
import book
import labkit as lk
import slides

API = api.page()


def test_every_public_name_is_on_the_api_page_with_its_signature() -> None:
    for name in lk.__all__:
        assert f"### `{name}`\n" in API, name
    assert "replay(trace, policy, rules=ARTICLE_RULES, *, sizes=None, summarizer=None)" in API
    assert "#### `plots.fig_sweep(" in API
    assert "#### `Usage.total_input`\n" in API
    assert re.findall(r"<(?:function|object|labkit|class)[^>]*>| at 0x", API) == []


def test_a_docstring_is_read_by_its_sections() -> None:
    entry = API.partition("### `measure`\n")[2].partition("\n### ")[0]
    assert re.findall(r"(?m)^\*\*(\w+)\*\*$", entry)[:2] == ["Parameters", "Returns"]
    assert "- `trace` : " in entry
    assert "```pycon\n>>> " in entry
    assert ":class:" not in API and ":func:" not in API and "``" not in API.replace("```", "")


@pytest.mark.parametrize("name", book.documents())
def test_links_of_a_page_lead_somewhere(name: str) -> None:
    pages = {path.stem for path in book.NOTEBOOKS.glob("*.ipynb")} | book.documents().keys() | {"index"}
    body = book.document(book.documents()[name])
    for target, _, place in (link.partition("#") for link in re.findall(r'href="([^"]+)"', body)):
        if target.startswith("https://"):
            continue
        assert target == "" or Path(target).stem in pages, target
        if not target and place:
            assert f'id="{place}"' in body, place


def test_links_of_the_notebooks_lead_somewhere() -> None:
    pages = {path.stem for path in book.NOTEBOOKS.glob("*.ipynb")} | book.documents().keys()
    for path in book.NOTEBOOKS.glob("*.ipynb"):
        text = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown")
        for target in re.findall(r'href="([^"]+)"', book.document(text)):
            assert target.startswith(("https://", "#")) or Path(target).stem in pages, f"{path.name}: {target}"


def cell(kind: str, text: str, *tags: str, **settings: Any) -> Any:
    make = nbformat.v4.new_markdown_cell if kind == "m" else nbformat.v4.new_code_cell
    return make(text, metadata={"tags": list(tags), **settings})


def deck(*cells: Any) -> list[list[str]]:
    return [[c.source for c in slide] for slide in slides.slides(nbformat.v4.new_notebook(cells=list(cells)))]


def test_a_slide_begins_at_a_heading_a_figure_and_after_a_prediction() -> None:
    assert deck(
        cell("m", "# Title\n\ntext\n\n## Story\n\nmore"),
        cell("c", "setup()", "setup"),
        cell("m", "**Predict.** How many?"),
        cell("c", "predict()", "predict"),
        cell("c", "print(42)"),
        cell("c", "figure()", "figure"),
        cell("c", "print(words)"),
    ) == [
        ["# Title\n\ntext"],
        ["## Story\n\nmore"],
        ["**Predict.** How many?", "predict()"],
        ["print(42)"],
        ["figure()", "print(words)"],
    ]


def test_hints_solutions_checks_and_progress_are_left_out() -> None:
    assert deck(
        cell("m", "## Your turn"),
        cell("m", "### Exercise\n\ntask"),
        cell("c", "def stub(): ...", "exercise"),
        cell("c", "lk.check('1', stub)", "check"),
        cell("m", "<details><summary>Hint 1</summary>\n\nno\n\n</details>"),
        cell("c", "def stub_solution(): ...", "solution"),
        cell("c", 'lk.progress("00")'),
    ) == [["## Your turn", "### Exercise\n\ntask", "def stub(): ..."]]


def test_settings_of_a_cell_come_first() -> None:
    def set_to(kind: str) -> dict[str, Any]:
        return {"slideshow": {"slide_type": kind}}

    assert deck(
        cell("m", "# Title"),
        cell("m", "## on the same slide", **set_to("-")),
        cell("m", "for the speaker", **set_to("notes")),
        cell("m", "a slide without a heading", **set_to("slide")),
        cell("c", "check()", "check", **set_to("fragment")),
    ) == [["# Title", "## on the same slide"], ["a slide without a heading", "check()"]]
