"""The map over a replay, the frontier that is clicked, and maps side by side."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import pytest

import labkit as lk
from labkit.errors import InputError
from labkit.replay.choose import choose, frontier, knee
from labkit.show import panels
from labkit.show.sweep_multiples import draw_sweeps
from labkit.show.sweep_plots import draw_sweep

AXES = {"trigger": range(5_000, 100_000, 5_000), "keep": range(8)}
CLEARS = replace(lk.load_policy("article"), compact_above=None)


@pytest.fixture(scope="module")
def runs() -> list[Any]:
    return [lk.load(lk.data_path("traces", f"{name}.jsonl")) for name in ("invoice-60", "support-40")]


@pytest.fixture(scope="module")
def frame(runs: list[Any]) -> Any:
    return lk.sweep(runs[0], AXES, base=CLEARS)


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(panels, "mode", "widgets")
    panels._open.clear()
    yield
    for panel in panels._open.values():
        panel.close()
    panels._open.clear()


def opened() -> panels.Panel:
    return next(reversed(panels._open.values()))


def words(panel: panels.Panel) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", panel.words.value))


def series(panel: panels.Panel, name: str) -> dict[str, Any]:
    return next(t for t in panel.figure.spec["data"] if t.get("name") == name)


def test_the_map_starts_at_the_best_and_shows_its_run_below(runs: list[Any]) -> None:
    lk.panels.sweeps(runs, CLEARS)
    panel = opened()
    assert series(panel, "this point")["x"] == series(panel, "chosen")["x"] == [panel.values()["trigger"]]
    below = series(panel, "this point, replayed")
    expected = lk.replay(runs[0], replace(CLEARS, trigger=panel.values()["trigger"], keep=panel.values()["keep"]))
    assert below["y"] == [row.input for row in expected.rows]
    assert below["yaxis"] == "y2"
    assert len(series(panel, "do nothing")["x"]) == 60
    assert panel.figure.spec["layout"]["height"] <= 380


def test_a_click_on_the_map_moves_both_sliders_and_the_run_below(runs: list[Any]) -> None:
    lk.panels.sweeps(runs, CLEARS)
    panel = opened()
    before = series(panel, "this point, replayed")["y"]
    assert series(panel, "saving")["meta"] == {"controls": {"trigger": "x", "keep": "y"}}
    panel.figure.clicked = {"trigger": 10_000, "keep": 0, "": 1}
    assert (panel.values()["trigger"], panel.values()["keep"]) == (10_000, 0)
    assert "This point: trigger 10,000, keep 0" in words(panel)
    assert "disqualified: unread" in words(panel)
    assert series(panel, "this point, replayed")["y"] != before
    panel.figure.clicked = {"unknown": 5, "": 2}  # a figure of another time
    panel.reset.click()
    assert series(panel, "this point, replayed")["y"] == before


def test_the_frontier_is_moved_by_list_and_by_click(frame: Any) -> None:
    lk.panels.frontier(frame)
    panel = opened()
    front = frontier(frame)
    assert panel.values()["policy"] == knee(front)
    assert [p for _, p in panel.controls["policy"].options] == list(front["policy"])
    last = int(front["policy"].iloc[-1])
    panel.controls["policy"].value = last
    assert "None of the frontier loses less" in words(panel)
    first = int(front["policy"].iloc[0])
    panel.figure.clicked = {"policy": first, "": 1}
    assert panel.values()["policy"] == first
    row = front.iloc[0]
    assert series(panel, "this one")["x"] == [row["uses_after_clear"]]
    after = front.iloc[1]
    fewer = row["uses_after_clear"] - after["uses_after_clear"]
    assert f"misses {fewer} fewer and costs ${row['net_low'] - after['net_low']:.2f} more" in words(panel)
    panel.figure.clicked = {"policy": -5, "": 2}
    assert panel.values()["policy"] == first


def test_maps_side_by_side_have_one_scale(runs: list[Any]) -> None:
    card = lk.prices("article")
    frames = {
        f"reads at {read:g}": lk.sweep(runs[0], AXES, base=CLEARS, prices=replace(card, cache_read=card.input * read))
        for read in (0.1, 0.025)
    }
    drawn = draw_sweeps(frames)
    heats = [t for t in drawn["data"] if t.get("name") == "saving"]
    assert len(heats) == 2
    assert heats[0]["zmin"] == heats[1]["zmin"] < 0 < heats[1]["zmax"] == heats[0]["zmax"]
    assert [t["xaxis"] for t in heats] == ["x", "x2"]
    assert [a["text"] for a in drawn["layout"]["annotations"]] == list(frames)
    go.Figure(drawn)  # plotly knows every name
    lines = lk.plots.describe_sweeps(frames).splitlines()
    assert re.match(r"reads at 0.1 +\d+ of 152 beat doing nothing", lines[0])
    assert int(lines[0].split()[3]) > int(lines[1].split()[3])
    with pytest.raises(InputError, match="1 sweeps were given: give two to five"):
        lk.plots.fig_sweeps({"one": frames["reads at 0.1"]})


def test_words_of_the_frontier_and_of_a_place(frame: Any) -> None:
    go.Figure(draw_sweep(frame, at=(10_000, 3)))
    assert "This point: trigger 10,000, keep 3: $" in lk.plots.describe_sweep(frame, at=(10_000, 3))
    with pytest.raises(InputError, match="no policy was swept at trigger 7, keep 3"):
        lk.plots.describe_sweep(frame, at=(7, 3))
    assert "(the knee)" in lk.plots.describe_frontier(frame)
    lk.plots.fig_frontier(frame, choose(frame).policy)
    with pytest.raises(InputError, match="policy 12345 is not on the frontier: give one of"):
        lk.plots.fig_frontier(frame, 12_345)
