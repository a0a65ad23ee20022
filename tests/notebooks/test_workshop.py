"""The workshop's page: timetables that add up from the notebooks' own minutes, and tables that name real cells."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import labkit as lk
from anatomy import code, prose, source, tags
from labkit.price.economics import requests_to_repay
from labkit.record.trace import Usage
from prose import claims, printed, values

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
TEXT = (FOLDER / "WORKSHOP.md").read_text(encoding="utf-8")
BOOKS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.ipynb"))}
NUMBERS = [name[:2] for name in BOOKS if name[:2] != "00"]  # 00 is homework


def promised(name: str) -> int:
    """The minutes that a notebook's first cell promises."""
    found = re.search(r"\*\*(\d+) minutes\.\*\*", source(BOOKS[name]["cells"][0]))
    assert found, name
    return int(found.group(1))


def section(title: str, level: str = "##") -> str:
    """The text under a heading, up to the next of the same level or above."""
    found = re.search(rf"(?ms)^{level} {re.escape(title)}$(.*?)(?=^#{{2,{len(level)}}} |\Z)", TEXT)
    assert found, title
    return found.group(1)


def rows(text: str) -> list[list[str]]:
    """The rows of a table, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize(
    ("title", "minutes", "books"),
    [("Half a day", 210, ["01", "02", "03", "08"]), ("A full day", 450, NUMBERS)],
)
def test_a_timetable_adds_up(title: str, minutes: int, books: list[str]) -> None:
    text, clock, named = section(title), 0, {}
    for at, length, what, _ in rows(text):
        assert at == f"{clock // 60}:{clock % 60:02}", what
        clock += int(length)
        if found := re.search(r"`(\w+)`", what):
            named[found.group(1)] = int(length)
    assert clock == minutes
    assert f"{minutes} minutes in all" in text
    assert sorted(name[:2] for name in named) == books
    assert {name: promised(name) for name in named} == named


@pytest.mark.parametrize("name", BOOKS)
def test_a_facilitators_table_names_cells_in_their_order(name: str) -> None:
    table, book = rows(section(name[:2], "###")), BOOKS[name]
    places = {}
    for number, cell in enumerate(book["cells"]):
        for found in re.findall(r'lk\.(?:predict|check)\(\s*"([^"]+)"', source(cell)):
            places.setdefault(found, number)
        if "panel" in tags(cell):
            places["panel"] = number
    minutes = [int(row[0]) for row in table]
    assert minutes == sorted(set(minutes))
    assert minutes[-1] < promised(name)
    asked = [row[1].strip("`") for row in table]
    order = [places[cell] for cell in asked]
    assert order == sorted(order)
    core = {
        c for cell in code(book, "check") if "extra" not in tags(cell) for c in re.findall(r'"([^"]+)"', source(cell))
    }
    assert core | {c for c in places if ".p" in c} | {"panel"} <= set(asked)
    assert all(all(row) for row in table)


@pytest.mark.parametrize("name", BOOKS)
def test_what_to_say_is_what_the_notebook_shows(name: str) -> None:
    book = BOOKS[name]
    known = values(printed(book)) | values(prose(book))
    said = " ".join(row[4] for row in rows(section(name[:2], "###")))
    shown = {part for number in re.findall(r"\d[\d,]*(?:\.\d+)?", said) for part in values(number)}
    assert {number for number in shown if number not in known} == set()
    for claim in claims(said):
        assert any(abs(k * s - claim.value) <= claim.slack for k in known for s in (1, 100)), claim


@pytest.mark.parametrize("number", [name[:2] for name in BOOKS])
def test_three_misconceptions_a_notebook(number: str) -> None:
    found = re.search(r"(?m)^Usual misconceptions: (.*)\.$", section(number, "###"))
    assert found
    assert len(found.group(1).split("; ")) == 3


def unfounded_claims(text: str) -> list[str]:
    """Numbers of the page that no notebook prints or says with a source, and that are no sum of minutes or question."""
    known = set()
    for book in BOOKS.values():
        known |= values(printed(book)) | values(prose(book))
    questions = section("The five questions, before and after")
    known |= values(questions) | values("210 450")  # both are worked out by tests of their own
    return [c.text for c in claims(text) if not any(abs(k * s - c.value) <= c.slack for k in known for s in (1, 100))]


def test_each_number_of_the_page_is_a_notebooks() -> None:
    assert unfounded_claims(TEXT) == []


def test_a_made_up_number_of_the_page_is_found() -> None:
    made_up = "It took 7,654,321 tokens, $98.76 and 7.654 million more, a saving of 93.217%."
    assert unfounded_claims(TEXT + made_up) == ["7,654,321", "$98.76", "7.654 million", "93.217%"]


def test_every_notebook_and_section_it_names_is_there() -> None:
    for name in set(re.findall(r"`(\d\d_\w+)`", TEXT)):
        assert name in BOOKS, name
    cut = section("What to cut first")
    for title, number in re.findall(r"\*([^*]+)\* in (\d\d)", cut):
        book = next(b for name, b in BOOKS.items() if name.startswith(number))
        assert f"## {title}" in prose(book), title


def test_every_command_it_names_is_there() -> None:
    makefile = (FOLDER.parent / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"`make (\w+)`", TEXT)):
        assert re.search(rf"(?m)^{target}:", makefile), target
    from labkit.cli import app

    known = {command.name for command in app.registered_commands}
    assert set(re.findall(r"labkit (\w+)", TEXT)) <= known


def test_the_answers_are_right() -> None:
    assert Usage(uncached=4_000, cache_read=1_100_000, cache_write_5m=90_000).total_input == 1_194_000
    assert 2_000 * 55 > 10_000 * 10
    assert round(requests_to_repay(20_000, 20_000, lk.Prices.from_multipliers(read=1 / 40)), 6) == 49
    questions = section("The five questions, before and after")
    assert re.findall(r"(?m)^(\d)\. ", questions) == list("12345")


def test_the_closing_sheet_has_its_columns() -> None:
    head = section("The closing sheet").split("|")
    assert {"policy or setting", "owner", "metric", "measure again on"} <= {cell.strip() for cell in head}


def test_the_readme_adds_up_its_routes() -> None:
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    listed = {name: int(m) for name, m in re.findall(r"(?m)^\| `(\d\d_\w+)` \| (\d+) \|", readme)}
    assert listed == {name: promised(name) for name in BOOKS}
    learner = re.search(r"\*\*a learner\*\*.*\((\d+) minutes\)", readme)
    practitioner = re.search(r"\*\*a practitioner\*\*: 00, 08, 03, 09 \((\d+) minutes\)", readme)
    assert learner and int(learner.group(1)) == sum(listed.values())
    short = sum(m for name, m in listed.items() if name[:2] in ("00", "03", "08", "09"))
    assert practitioner and int(practitioner.group(1)) == short
