"""Published recall: what is read, how far it was measured, and what the figure shows of it."""

from __future__ import annotations

import json

import pytest

from labkit.bench1.recall import Published, published, usable
from labkit.errors import InputError
from labkit.files import load_data
from labkit.show.recall_plots import describe_recall, draw_recall, fig_recall

BY_NAME = {row.name: row for row in published()}


def test_every_row_has_a_source_and_ends_where_it_was_measured() -> None:
    data = load_data("recall.json")
    assert set(BY_NAME) == {row["name"] for row in (*data["curves"], *data["values"])}
    for row in published():
        assert row.source
        assert row.test in ("NoLiMa", "RULER", "MRCR v2")
        assert 2_023 <= row.year <= 2_026
        if row.recall is None:
            assert [t for t, _ in row.values] == sorted({t for t, _ in row.values})
            assert row.reach == row.values[-1][0]
            assert all(0 < per_cent <= 100 for _, per_cent in row.values)


@pytest.mark.parametrize(
    ("name", "tokens", "measured"),
    [
        # half * (1 / 0.8 - 1) ** (1 / k), and no more than was measured
        ("Claude 3.5 Sonnet, NoLiMa", 5_938, True),
        ("GPT-4o, NoLiMa", 18_000, True),
        ("Llama 3.1 70B, RULER", 99_063, True),
        ("GPT-5.4, MRCR v2", 180_044, True),
        ("GPT-4-1106, RULER", 128_000, False),  # 154,541 by the fit
    ],
)
def test_four_fifths_of_the_recall(name: str, tokens: int, measured: bool) -> None:
    row = BY_NAME[name]
    assert usable(row) == (tokens, measured)
    assert usable(row, 0.99)[0] < tokens
    if measured:
        assert row.accuracy(tokens) == pytest.approx(0.8 * row.top, abs=0.01)
    else:
        assert row.accuracy(tokens) > 0.8 * row.top


def test_what_cannot_be_said() -> None:
    row = BY_NAME["GPT-5.5, MRCR v2"]
    with pytest.raises(InputError, match="no fit"):
        usable(row)
    with pytest.raises(InputError, match="8 published values"):
        row.accuracy(1_000)
    for share in (0.0, 1.0):
        with pytest.raises(InputError, match="share is"):
            usable(BY_NAME["GPT-4o, NoLiMa"], share)


def test_solid_as_far_as_measured_and_dashed_beyond() -> None:
    drawn = draw_recall(marks={"a run": 5_000})
    for row in published():
        lines = [t for t in drawn["data"] if t["name"].startswith(row.name) and t["mode"] != "markers+text"]
        solid = [t for t in lines if "dash" not in t["line"]]
        dashed = [t for t in lines if "dash" in t["line"]]
        assert len(solid) == 1
        assert solid[0]["x"][-1] == row.reach
        assert len(dashed) == (row.recall is not None and row.reach < 1_000_000)
        for t in dashed:
            assert t["x"][0] == row.reach
            assert t["y"][0] == solid[0]["y"][-1]
            assert t["x"][-1] == 1_000_000
    # Told apart without colour: each is named where it ends, and each test has its own mark.
    names = [text for t in drawn["data"] for text in t.get("text", []) if text]
    assert sorted(names) == sorted([*(f"{r.name} ({r.year})" for r in published()), "a run"])
    assert drawn["data"][-1]["x"] == [5_000, 5_000]
    assert fig_recall((BY_NAME["GPT-5.5, MRCR v2"],)).layout.title.text == "Recall by length of the context"


def test_the_words() -> None:
    lines = describe_recall().splitlines()
    assert len(lines) == 1 + len(BY_NAME)
    assert "2023  GPT-4-1106, RULER             128,000  at least: not measured beyond 128,000" in lines
    assert any("GPT-6 Astra" in line and "96.3 % at 1,000K" in line for line in lines)
    hostile = Published("<b>x</b>, NoLiMa", 2_024, "NoLiMa", 9, 1.0, None, ((9, 1.0),), "s")
    assert "<b>" not in json.dumps(draw_recall((hostile,)))
