"""The figure, the words and the panel of a child against doing it inline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import labkit as lk
from labkit.price.prices import Prices
from labkit.replay.isolation_form import Work, difference
from labkit.show import panels
from labkit.show.isolation_views import describe_isolation, draw_isolation, isolation

WORK = Work(0, 40_000, 10, 200, 5)
CARD = Prices.from_multipliers()


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(panels, "mode", "widgets")
    yield
    for panel in panels._open.values():
        panel.close()
    panels._open.clear()


def test_the_figure_shows_the_formula() -> None:
    shown = draw_isolation(WORK, CARD)
    fresh, fork, zero, equal, halves = shown["data"]
    assert halves["text"][1] == "the child is cheaper" and halves["y"][1] < 0
    for line, how in ((fresh, "fresh"), (fork, "fork")):
        assert line["y"] == [difference(replace(WORK, parent=x), CARD, how) for x in line["x"]]
    assert set(zero["y"]) == {0}
    assert (equal["x"], equal["text"]) == ([pytest.approx(33_700)], ["  equal at 33,700"])
    low, high = shown["layout"]["yaxis"]["range"]
    assert all(low < y < high for y in (*fresh["y"], *fork["y"]))


@pytest.mark.parametrize(
    ("work", "title"),
    [
        (WORK, "Above a parent of 33,700 tokens a child is cheaper"),
        (replace(WORK, left=40), "A child is cheaper at every size of the parent"),
        (replace(WORK, calls=1), "A child is never cheaper, up to a parent of 200,000 tokens"),
        (replace(WORK, calls=2, left=1, stretch=8_000), "A child is never cheaper, up to a parent of 200,000 tokens"),
    ],
)
def test_the_title_says_where(work: Work, title: str) -> None:
    shown = draw_isolation(work, CARD)
    assert shown["layout"]["title"]["text"] == title
    assert bool(shown["data"][3]["x"]) == ("33,700" in title)


def test_the_words() -> None:
    said = describe_isolation(WORK, CARD)
    assert "20,000 tokens a fresh child costs $0.04 more, at 120,000 $0.23 less" in said
    assert "spares $0.32 because 9 requests of the work" in said
    assert "$0.05 because 4 later requests" in said
    assert "It costs $0.14 for its own prefix" in said
    assert "A fork costs $0.03 more there" in said
    longer = describe_isolation(Work(0, 4_000, 1, 20_000, 50), CARD)
    assert "spares $0.00 because 0 requests" in longer and "-$0.24 because 49 later requests" in longer


def test_the_panel_moves() -> None:
    lk.panels.isolation()
    panel = next(reversed(panels._open.values()))
    before = panel.figure.spec["data"][0]["y"]
    assert "33,700" in panel.numbers.value and "87%" in panel.numbers.value
    panel.controls["left"].value = 40
    assert panel.figure.spec["data"][0]["y"] != before
    assert "always" in panel.numbers.value
    panel.controls["left"].value = 5
    panel.controls["read"].value = 25
    # At a fortieth 120,000 is dearer too: 270 tokens' worth, which rounds to nothing.
    assert "always" not in panel.numbers.value
    assert "at 120,000 the same" in panel.figure.alt
    panel.controls["returned"].value = 20_000
    assert "A child is never cheaper" in panel.figure.alt
    panel.reset.click()
    assert panel.figure.spec["data"][0]["y"] == before


def test_the_controls_start_where_the_work_says() -> None:
    setup = isolation(Work(0, 9_000, 3, 400, 7, prefix=5_000))
    values = {c.name: c.value for c in setup.controls}
    assert values == {"returned": 400, "left": 7, "calls": 3, "each": 3_000, "prefix": 5_000, "read": 100}
    view = setup.draw(values)
    assert view.figure == draw_isolation(Work(0, 9_000, 3, 400, 7, prefix=5_000), lk.prices("article"))
    assert view.figure["data"][0]["y"][0] == difference(Work(0, 9_000, 3, 400, 7, prefix=5_000), lk.prices("article"))
