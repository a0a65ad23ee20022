"""Panels in a plain Python process: controls move, and figure, numbers and words follow."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import pytest

import labkit as lk
from labkit.record.trace import Block, Request, Trace
from labkit.show import panels, style, views
from labkit.show.panels import Panel


@pytest.fixture(scope="module")
def run() -> Trace:
    return lk.load(lk.data_path("traces", "invoice-60.jsonl"))


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No panel open, no front end known."""
    monkeypatch.setattr(panels, "mode", "auto")
    for variable in (*panels.OTHER_FRONT_ENDS, "JPY_SESSION_NAME"):
        monkeypatch.delenv(variable, raising=False)
    panels._open.clear()
    yield
    for panel in panels._open.values():
        panel.close()
    panels._open.clear()


def opened() -> Panel:
    return next(reversed(panels._open.values()))


def words(panel: Panel) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", panel.words.value))


def numbers(panel: Panel) -> list[str]:
    return [html.unescape(found) for found in re.findall(r"font-weight:600'>([^<]*)<", panel.numbers.value)]


def title(panel: Panel) -> str:
    return str(panel.figure.spec["layout"]["title"]["text"])


def series(panel: Panel, name: str) -> dict[str, Any]:
    return next(t for t in panel.figure.spec["data"] if t.get("name") == name)


# -- the three panels ---------------------------------------------------------------------------


def test_the_scrubber_moves_figure_numbers_and_words(run: Trace) -> None:
    box = lk.panels.billed(run)
    panel = opened()
    assert "labkit-panel" in box._dom_classes
    assert panel.values() == {"turn": 30}
    panel.controls["turn"].value = 60
    assert title(panel) == "213 thousand input tokens created, 5.86 million billed by turn 60"
    assert numbers(panel)[:3] == ["212,592", "5,856,377", "27.5 times"]
    assert words(panel).startswith("By turn 60 the run had created 212,592")
    panel.controls["turn"].value = 10
    assert set(panel.figure.spec["data"][3]["x"]) == {10}
    assert panel.figure.alt == words(panel)


def test_ranking_changes_the_order(run: Trace) -> None:
    lk.panels.results(run)
    panel = opened()
    assert panel.figure.spec["data"][0]["x"][0] == 7_836
    panel.controls["rank_by"].value = "size"
    assert panel.figure.spec["data"][0]["x"][0] == 7_972
    assert "Largest first: turns 49, 7, 41." in words(panel)
    panel.controls["show"].value = 3
    assert len(panel.figure.spec["data"][0]["x"]) == 3 + 1  # and the small dear one below the gap
    assert "The first 3 make up" in words(panel)


def test_the_ladder_follows_its_thresholds(run: Trace) -> None:
    lk.panels.ladder(run, "article")
    panel = opened()
    assert numbers(panel)[0] == "1,286,153"
    assert list(series(panel, "trigger")["y"]) == [30_000, 30_000]
    panel.controls["keep"].value = 0
    expected = lk.replay(run, replace(lk.load_policy("article"), keep=0))
    assert numbers(panel)[0] == f"{expected.input:,}"
    assert numbers(panel)[3] == "8 unread"
    assert title(panel).endswith("; 8 results never read")
    assert "8 results went before the agent had read them" in words(panel)
    drawn = [t for t in panel.figure.spec["data"] if t["type"] == "bar"][:6]
    assert [sum(t["y"][i] for t in drawn) for i in range(60)] == [row.input for row in expected.rows]


def test_the_best_so_far_stays_as_a_ghost(run: Trace) -> None:
    """Keep 0 is cheaper and disqualified: the agent has not read what was cleared."""
    lk.panels.ladder(run, "article")
    panel = opened()
    first = list(series(panel, "best so far")["y"])
    assert first == [row.input for row in lk.replay(run, lk.load_policy("article")).rows]
    panel.controls["keep"].value = 0
    assert list(series(panel, "best so far")["y"]) == first
    assert "Best so far with nothing unread and no fact lost: trigger 30,000, keep 3" in words(panel)
    panel.controls["keep"].value = 3
    panel.controls["trigger"].value = 20_000
    better = lk.replay(run, replace(lk.load_policy("article"), trigger=20_000))
    assert better.unread == 0
    assert list(series(panel, "best so far")["y"]) == [row.input for row in better.rows]
    panel.reset.click()
    assert list(series(panel, "best so far")["y"]) == first


def test_controls_under_more_count_too(run: Trace) -> None:
    lk.panels.ladder(run, "article")
    panel = opened()
    panel.controls["floor"].value = 0
    expected = lk.replay(run, replace(lk.load_policy("article"), floor=0))
    assert numbers(panel)[0] == f"{expected.input:,}"
    assert "floor 0" in words(panel)
    assert panel.inside.layout.display == "none"
    panel.more.value = True
    assert panel.inside.layout.display == ""
    note = panel.inside.children[1].value
    assert "as of 2026-11-30" in note
    assert "above the window of 200,000" in note  # the run alone would need 213,000


def test_at_the_end_of_the_slider_nothing_acts(run: Trace) -> None:
    """None means never; the slider shows it as the largest value there is."""
    lk.panels.ladder(run, lk.Policy.nothing())
    panel = opened()
    assert panel.values()["trigger"] == 213_000
    assert "At 213,000 tokens a threshold never acts" in panel.inside.children[1].value
    assert numbers(panel)[0] == "5,856,377"
    panel.controls["trigger"].value = 213_000 - 1_000
    panel.controls["trigger"].value = 213_000
    assert numbers(panel)[0] == "5,856,377"


def test_a_floor_equal_to_the_end_of_the_trigger_is_still_a_floor() -> None:
    """A start of 0 is not None."""
    blocks = (
        Block("call", "assistant", "read(a)", request=1, tool="read", args="a", call_id="1"),
        Block("result", "tool", "word " * 1_500, request=1, tool="read", args="a", call_id="1"),
        Block("text", "assistant", "more", request=2),
    )
    trace = Trace("small", blocks, (Request(1), Request(2)), kind="scripted")
    view = views.ladder(trace, lk.Policy(trigger=1_000, floor=0, keep=0, compact_above=None))
    values = {c.name: c.value for c in view.controls}
    assert values["compact_above"] == 2_000
    assert "1 result never read" in view.draw(values).figure["layout"]["title"]["text"]
    assert "100 % of doing nothing" in view.draw({**values, "floor": 2_000}).figure["layout"]["title"]["text"]


# -- wiring -------------------------------------------------------------------------------------


def test_every_slider_has_a_box_with_its_label(run: Trace) -> None:
    lk.panels.ladder(run, "article")
    panel = opened()
    for name, box in panel.boxes.items():
        slider = panel.controls[name]
        assert box.description
        assert not slider.continuous_update
        assert (box.min, box.max) == (slider.min, slider.max)
        box.value = box.min + 1
        assert slider.value == box.min + 1
    assert set(panel.figure.labels) == set(panel.controls)


def test_at_most_three_controls_outside_more_and_a_figure_of_at_most_380_pixels(run: Trace) -> None:
    for setup in (views.billed(run), views.results(run), views.ladder(run)):
        assert 1 <= sum(not c.more for c in setup.controls) <= 3
        view = setup.draw({c.name: c.value for c in setup.controls})
        assert len(view.numbers) == 4
        assert view.figure["layout"].get("height", style.HEIGHT) <= 380


def test_a_move_redraws_once(run: Trace) -> None:
    lk.panels.ladder(run, "article")
    panel = opened()
    seen: list[Any] = []
    panel.figure.observe(lambda change: seen.append(change["new"]), "spec")
    panel.boxes["keep"].value = 5
    assert len(seen) == 1
    panel.controls["trigger"].value = 50_000
    seen.clear()
    panel.reset.click()
    assert len(seen) == 1
    assert panel.values()["trigger"] == 30_000
    assert panel.values()["keep"] == 3
    assert panel.boxes["keep"].value == 3


def test_the_spec_needs_no_python(run: Trace) -> None:
    lk.panels.ladder(run, "article")
    spec = opened().figure.spec
    assert json.loads(json.dumps(spec)) == spec
    assert spec["layout"]["template"]["layout"]["separators"] == ".,"


def test_a_panel_replaces_the_one_before(run: Trace) -> None:
    lk.panels.billed(run)
    first = opened()
    lk.panels.ladder(run, "article")
    lk.panels.billed(run)
    assert len(panels._open) == 2
    assert first.box.comm is None
    assert opened().box.comm is not None


def test_plotly_comes_with_the_first_panel_and_on_demand(run: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(panels, "_send_library", sent.append)
    lk.panels.billed(run)
    first = opened().figure
    lk.panels.results(run)
    assert sent == [first]
    second = opened().figure
    second._handle_custom_msg({"ask": "library"}, [])
    second._handle_custom_msg({"ask": "something else"}, [])
    assert sent == [first, second]


# -- what goes wrong ----------------------------------------------------------------------------


def test_a_bad_policy_is_a_sentence_in_the_panel(run: Trace) -> None:
    lk.panels.ladder(run, {"keep": -1})
    panel = opened()
    assert words(panel).startswith("keep is -1: it counts tool results, so give 0 or more, or None for never.")
    assert numbers(panel)[0]
    panel.controls["keep"].value = 4
    assert words(panel).startswith("At trigger 30,000, keep 4: billed")


def test_a_refused_policy_is_a_sentence_in_the_panel() -> None:
    blocks = (
        Block("text", "user", "go", request=1),
        Block("call", "assistant", "read(a)", request=2, tool="read", args="a", call_id="1"),
        Block("result", "tool", "word " * 3_000, request=2, tool="read", args="a", call_id="1"),
        Block("thinking", "assistant", "hm", request=3),
        Block("call", "assistant", "read(b)", request=3, tool="read", args="b", call_id="2"),
        Block("result", "tool", "short", request=3, tool="read", args="b", call_id="2"),
    )
    trace = Trace("bound", blocks, tuple(Request(i) for i in range(1, 5)), kind="scripted")
    policy = lk.Policy(window=None, trigger=3_002, floor=0, keep=5, compact_above=None)
    lk.panels.ladder(trace, policy, rules=replace(lk.ARTICLE_RULES, thinking_bound=True))
    panel = opened()
    before = numbers(panel)
    assert "acted" in words(panel)
    panel.controls["keep"].value = 1
    assert words(panel).startswith("an edit at request 3 would invalidate 1 thinking block ")
    assert numbers(panel) == before  # what it shows belongs to the last setting that could be priced
    panel.reset.click()
    assert "acted" in words(panel)


def test_any_other_failure_is_a_sentence_too(run: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    lk.panels.ladder(run, "article")
    panel = opened()
    monkeypatch.setattr(views, "replay", lambda *a, **k: 1 / 0)
    panel.controls["keep"].value = 1
    assert words(panel) == "This setting cannot be shown (ZeroDivisionError: division by zero). Press Reset."


def test_nothing_to_show_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    empty = Trace("nothing", (), ())
    assert lk.panels.billed(empty) is None
    assert lk.panels.results(empty) is None
    assert lk.panels.ladder(empty) is None
    out = capsys.readouterr().out
    assert out.count("No panel: ") == 3
    assert "Traceback" not in out


def test_text_of_a_session_is_no_markup() -> None:
    nasty = "<img src=x onerror=alert(1)>"
    blocks = (
        Block("result", "tool", "word " * 50, request=1, tool=nasty, args=nasty),
        Block("result", "tool", "word " * 90, request=2, tool=nasty, args=nasty),
    )
    lk.panels.results(Trace("t", blocks, (Request(1), Request(2)), kind="scripted"))
    panel = opened()
    assert "<img" not in panel.words.value + panel.numbers.value
    assert "<img" not in json.dumps(panel.figure.spec)
    assert nasty[:20] in words(panel)


# -- without widgets ----------------------------------------------------------------------------


def plain(figure: Any, out: str, why: str) -> None:
    assert isinstance(figure, go.Figure)
    assert out.count("\n") == 1
    assert why in out
    assert "lk.plots.fig_" in out
    assert not panels._open


def test_static_by_wish(run: Trace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(lk.panels, "mode", "static")
    plain(lk.panels.ladder(run, "article"), capsys.readouterr().out, "mode is 'static'")


@pytest.mark.parametrize("missing", ["anywidget", "ipywidgets"])
def test_static_without_packages(
    run: Trace, missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    plain(lk.panels.billed(run), capsys.readouterr().out, f"{missing} is not installed")


def test_static_elsewhere(run: Trace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLAB_RELEASE_TAG", "1")
    plain(lk.panels.results(run), capsys.readouterr().out, "Colab may not show panels")
    monkeypatch.setenv("JPY_SESSION_NAME", "x.ipynb")  # a Jupyter server, whatever it was started from
    lk.panels.results(run)
    assert capsys.readouterr().out == ""
    assert panels._open


def test_a_bad_policy_without_widgets_is_one_line(
    run: Trace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lk.panels, "mode", "static")
    assert isinstance(lk.panels.ladder(run, "artikel"), go.Figure)
    assert "did you mean 'article'?" in capsys.readouterr().out
