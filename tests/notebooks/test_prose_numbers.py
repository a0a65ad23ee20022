"""No number in a notebook's prose without a checked output or a dated fact behind it."""

from __future__ import annotations

import copy
import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import labkit as lk
from prose import claims, unfounded

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FACTS: dict[str, Any] = json.loads((ROOT / "data" / "facts.json").read_text(encoding="utf-8"))


def facts(number: str) -> list[str]:
    """The numbers that data/facts.json holds for a notebook."""
    return [n for fact in FACTS["facts"] if number in fact["notebooks"] for n in fact["numbers"]]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_each_number_in_prose_was_printed_or_has_a_source(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert unfounded(notebook, facts(path.stem[:2])) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_made_up_number_is_found(path: Path) -> None:
    notebook = copy.deepcopy(json.loads(path.read_text(encoding="utf-8")))
    made_up = "It took 7,654,321 tokens, $98.76 and 7.654 million more, a saving of 93.217%."
    notebook["cells"].append({"cell_type": "markdown", "metadata": {}, "source": made_up})
    found = [line.partition(":")[0] for line in unfounded(notebook, facts(path.stem[:2]))]
    assert found == ["7,654,321", "$98.76", "7.654 million", "93.217%"]


def test_what_counts_as_a_claim() -> None:
    text = (
        "On 2026-08-21 (2025), in August 2026, exercise 02.1 and prediction 03.p1 took 60 turns, `lk.clear(9_999)` and "
        "[a page](https://x.example/1234), version 2.1.243, 0.1 of it; but 1,234 tokens, 5.86 million, $3, 12 %, "
        "0.0262 and a 200K window."
    )
    assert [c.text for c in claims(text)] == ["1,234", "5.86 million", "$3", "12 %", "0.0262", "200K"]


def test_rounding_is_allowed_only_to_the_digits_that_are_written() -> None:
    def notebook(said: str) -> dict[str, Any]:
        output = {"output_type": "stream", "text": "billed 5,863,120 tokens, saved 0.527"}
        return {
            "cells": [
                {"cell_type": "markdown", "metadata": {}, "source": said},
                {"cell_type": "code", "metadata": {}, "source": "", "outputs": [output]},
            ]
        }

    assert unfounded(notebook("5.86 million, 52.7 %, 5,863,120"), []) == []
    assert len(unfounded(notebook("5.87 million, 53.9 %, 5,863,121"), [])) == 3
    # A percentage is not borne out by tokens or minutes of the same digits.
    assert len(unfounded(notebook("22 %"), ["22", "2,200"])) == 1
    assert unfounded(notebook("22 %"), ["22 per cent"]) == []


def test_each_fact_has_a_use_a_date_and_a_source() -> None:
    text = {p.stem[:2]: json.loads(p.read_text(encoding="utf-8")) for p in NOTEBOOKS}
    for fact in FACTS["facts"]:
        assert set(fact) == {"notebooks", "numbers", "what", "kind", "source", "as_of"}, fact
        assert fact["kind"] in FACTS["kinds"], fact
        assert fact["source"] and fact["what"]
        datetime.date.fromisoformat(fact["as_of"])
        for number in fact["notebooks"]:
            # A fact that no claim needs any more is out of date.
            without = [n for f in FACTS["facts"] if f is not fact and number in f["notebooks"] for n in f["numbers"]]
            assert unfounded(text[number], without), f"{number} no longer needs: {fact['what']}"


def test_what_is_read_off_a_panel_is_what_labkit_computes() -> None:
    """The facts of kind computed, each from the run that the notebook shows."""
    invoice = lk.load(lk.data_path("traces", "invoice-60.jsonl"))
    rare = replace(lk.load_policy("article"), trigger=60_000, floor=40_000, keep=10, compact_above=None)
    told = [f"{lk.replay(invoice, rare).events[0].kept_prefix:,}"]
    usage = [r.usage for r in lk.load(lk.data_path("sessions", "sample")).requests if r.usage]
    after_pause = next(k for k, u in enumerate(usage) if k and not u.cache_read)
    before = usage[after_pause - 1]
    told += [f"{before.cache_read + before.cache_write_5m:,}", f"{min(u.cache_read for u in usage if u.cache_read):,}"]
    assert told == [n for fact in FACTS["facts"] if fact["kind"] == "computed" for n in fact["numbers"]]
