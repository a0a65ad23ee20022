"""The workshop's timetable adds up, from the notebooks' own minutes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import labkit as lk
from labkit.price.economics import requests_to_repay
from labkit.record.trace import Usage

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
TEXT = (FOLDER / "WORKSHOP.md").read_text(encoding="utf-8")


def promised(name: str) -> int:
    """The minutes that a notebook's first cell promises."""
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    found = re.search(r"\*\*(\d+) minutes\.\*\*", "".join(notebook["cells"][0]["source"]))
    assert found, name
    return int(found.group(1))


def test_half_a_day() -> None:
    table = TEXT.split("## Half a day")[1].split("##")[0]
    rows = re.findall(r"(?m)^\| (\d+) \| ([^|]+) \|", table)
    total = re.search(r"(\d+) minutes in all", table)
    assert total and sum(int(minutes) for minutes, _ in rows) == int(total.group(1)) == 210
    named = [(re.search(r"`(\w+)`", what), int(minutes)) for minutes, what in rows]
    books = {found.group(1): minutes for found, minutes in named if found}
    assert set(books) == {"01_context_budget", "02_compaction_ladder", "03_cache_costs", "08_your_own_session"}
    assert {name: promised(name) for name in books} == books


def test_every_notebook_it_names_is_there() -> None:
    for name in set(re.findall(r"`(\d\d_\w+)`", TEXT)):
        assert (FOLDER / f"{name}.ipynb").is_file(), name


def test_the_answers_are_right() -> None:
    assert Usage(uncached=4_000, cache_read=1_100_000, cache_write_5m=90_000).total_input == 1_194_000
    assert 2_000 * 55 > 10_000 * 10
    assert round(requests_to_repay(20_000, 20_000, lk.Prices.from_multipliers(read=1 / 40)), 6) == 49


def test_the_readme_adds_up_its_routes() -> None:
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    rows = {name: int(m) for name, m in re.findall(r"(?m)^\| `(\d\d_\w+)` \| (\d+) \|", readme)}
    assert rows == {path.stem: promised(path.stem) for path in FOLDER.glob("*.ipynb")}
    learner = re.search(r"\*\*a learner\*\*.*\((\d+) minutes\)", readme)
    practitioner = re.search(r"\*\*a practitioner\*\*: 00, 08, 03, 09 \((\d+) minutes\)", readme)
    assert learner and int(learner.group(1)) == sum(rows.values())
    short = sum(m for name, m in rows.items() if name[:2] in ("00", "03", "08", "09"))
    assert practitioner and int(practitioner.group(1)) == short
