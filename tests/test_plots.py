"""The figures: right numbers, units, colours that are told apart, and text of a session that stays text."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import plotly.graph_objects as go
import plotly.io as pio
import pytest

import labkit as lk
from labkit.errors import InputError
from labkit.record.lines import LINE_ITEMS
from labkit.record.trace import Block, Need, Prefix, Request, Trace, Usage
from labkit.show import style, words
from labkit.show.plots import (
    describe_audit,
    describe_billed,
    describe_ladder,
    describe_lines,
    describe_results,
    fig_audit,
    fig_billed,
    fig_ladder,
    fig_lines,
    fig_results,
)


@pytest.fixture(scope="module")
def run() -> Trace:
    return lk.load(lk.data_path("traces", "invoice-60.jsonl"))


@pytest.fixture(scope="module")
def naive(run: Trace) -> lk.Replay:
    return lk.replay(run, lk.Policy.nothing())


@pytest.fixture(scope="module")
def managed(run: Trace) -> lk.Replay:
    return lk.replay(run, lk.load_policy("article"))


def session(tool: str = "Bash", args: str = "ls") -> Trace:
    """Two requests with recorded usage, one result, one subagent."""
    blocks = (
        Block("text", "user", "word " * 100, request=1),
        Block("call", "assistant", "ls", request=2, tool=tool, args=args, call_id="1"),
        Block("result", "tool", "word " * 300, request=2, tool=tool, args=args, call_id="1"),
    )
    requests = (
        Request(1, usage=Usage(uncached=1_000, output=5)),
        Request(2, usage=Usage(uncached=100, cache_read=1_300, output=6)),
    )
    child = Trace("helper", (), (Request(1, usage=Usage(uncached=70)),), kind="subagent")
    return Trace("made up", blocks, requests, children=(child,))


# -- numbers ------------------------------------------------------------------------------------


def test_billed_against_created(run: Trace, naive: lk.Replay) -> None:
    """213 thousand created, 5.86 million billed; both ways of getting there agree."""
    figure = fig_billed(run)
    assert figure.layout.title.text == "213 thousand input tokens created, 5.86 million billed by turn 60"
    assert figure.data[0].y[-1] == 212_592
    assert figure.data[1].y[-1] == 5_856_377
    assert words.growth(naive).created == words.growth(run).created
    assert words.growth(naive).billed == words.growth(run).billed
    assert words.growth(naive).output == words.growth(run).output == 9_285


def test_created_is_the_same_under_every_policy(run: Trace, naive: lk.Replay) -> None:
    """What a policy removed, added to what it kept, is what doing nothing carries."""
    for policy in (lk.load_policy("article"), lk.Policy(trigger=5_000, floor=0, keep=0), lk.Policy(trigger=60_000)):
        assert list(words.growth(lk.replay(run, policy)).created) == [row.input for row in naive.rows]


def test_the_scrubber_stands_where_it_is_put(run: Trace) -> None:
    figure = fig_billed(run, 30)
    assert set(figure.data[2].x) == set(figure.data[3].x) == {30}
    assert list(figure.data[2].y) == [93_418, 1_343_946]
    assert fig_billed(run, 999).data[2].x[0] == 60
    assert fig_billed(run, -5).data[2].x[0] == 1


def test_a_small_result_costs_more_than_the_largest(run: Trace) -> None:
    """3,654 tokens x 56 requests = 204,624; the largest, 7,972 x 11 = 87,692; 2.33 times."""
    figure = fig_results(run)
    assert figure.layout.title.text == "A result of 3,654 tokens costs 2.3 times the largest one (7,972)"
    sizes, lives = figure.data
    at = list(sizes.x).index(3_654)
    assert lives.x[at] == 3_654 * 56 == 204_624
    assert lives.x[list(sizes.x).index(7_972)] == 87_692
    assert list(lives.x[:10]) == sorted(lives.x[:10], reverse=True)
    assert "costs 2.3 times the largest one: 56 requests carried it" in describe_results(run)


def test_ranking_by_size_shows_the_small_one_below_a_gap(run: Trace) -> None:
    figure = fig_results(run, "size", show=5)
    sizes = list(figure.data[0].x)
    assert sizes[:5] == sorted(sizes[:5], reverse=True)
    assert sizes[0] == 7_972
    assert sizes[5:] == [3_654]
    assert figure.data[0].y[5] - figure.data[0].y[4] == 1.5


def test_ranking_by_something_else_is_a_sentence(run: Trace) -> None:
    with pytest.raises(InputError, match="rank_by is 'cost': give 'tokens'"):
        fig_results(run, "cost")


def test_a_run_without_results_is_a_sentence() -> None:
    empty = Trace("talk", (Block("text", "user", "hi", request=1),), (Request(1),), kind="scripted")
    with pytest.raises(InputError, match="no tool results"):
        fig_results(empty)
    with pytest.raises(InputError, match="no requests"):
        fig_billed(Trace("nothing", (), ()))


def test_the_lines_of_a_figure_add_up_to_the_prompt(managed: lk.Replay) -> None:
    figure = fig_lines(managed)
    assert [t.name for t in figure.data] == [style.STYLES[line].label for line in LINE_ITEMS]
    for i, row in enumerate(managed.rows):
        assert sum(t.y[i] for t in figure.data) == row.input
    assert "Tool output is 76 %" in figure.layout.title.text
    assert f"Of {managed.input:,} input tokens billed:\ntool output" in describe_lines(managed)


def test_removed_text_stands_on_top_up_to_what_doing_nothing_carries(managed: lk.Replay, naive: lk.Replay) -> None:
    figure = fig_ladder(managed, naive)
    stack = [t for t in figure.data if t.type == "bar"]
    for i, row in enumerate(naive.rows):
        assert sum(t.y[i] for t in stack) == row.input
    assert fig_ladder(managed).data[6].y == figure.data[6].y  # the events alone tell the same


def test_thresholds_are_traces_and_not_shapes(managed: lk.Replay) -> None:
    figure = fig_ladder(managed)
    lines = {t.name: t for t in figure.data if t.type == "scatter"}
    assert list(lines["trigger"].y) == [30_000, 30_000]
    assert list(lines["compact above"].y) == [20_000, 20_000]
    assert lines["trigger"].line.dash != lines["compact above"].line.dash
    assert not figure.layout.shapes


def test_never_has_no_threshold(naive: lk.Replay) -> None:
    lines = {t.name: t for t in fig_ladder(naive).data if t.type == "scatter"}
    assert not lines["trigger"].x
    assert not lines["trigger"].showlegend


def tiny(keep: int) -> lk.Replay:
    """One result of 100 tokens in request 2, relied on in request 3."""
    blocks = (
        Block("text", "user", "go", request=1),
        Block("call", "assistant", "read(a)", request=2, tool="read", args="a", call_id="1"),
        Block("result", "tool", "secret " + "word " * 95, request=2, tool="read", args="a", call_id="1"),
        Block("text", "assistant", "thanks", request=3),
    )
    needs = (Need(2, 3, "secret"),)
    requests = tuple(Request(i) for i in range(1, 4))
    trace = Trace("tiny", blocks, requests, (Prefix("Be brief."),), needs=needs, kind="scripted")
    return lk.replay(trace, lk.Policy(window=None, trigger=50, floor=0, keep=keep, compact_above=None))


def test_marks_stand_where_something_was_lost() -> None:
    lost = {t.name: t for t in fig_ladder(tiny(0)).data if t.type == "scatter"}
    assert list(lost["never read"].x) == [2]  # cleared in the request that would first have carried it
    assert list(lost["needed later"].x) == [3]
    kept = {t.name: t for t in fig_ladder(tiny(1)).data if t.type == "scatter"}
    assert not kept["never read"].x
    assert not kept["needed later"].x
    assert fig_ladder(tiny(0)).layout.title.text.endswith("; 1 result never read")


def test_words_of_the_ladder(managed: lk.Replay, naive: lk.Replay) -> None:
    assert describe_ladder(managed, naive).startswith(
        "Billed 1,286,153 input tokens, 22 % of doing nothing (5,856,377); the largest prompt has 36,936.\n"
        "The ladder acted 13 times: 12 clearings and 1 compaction."
    )
    assert "Lost: 1 result went before the agent had read it; 1 excerpt needed later" in describe_ladder(tiny(0))
    assert "Nothing went unread" in describe_ladder(tiny(1))
    assert "Request 42 no longer fits" in describe_ladder(replace(naive, policy=replace(naive.policy, window=128_000)))


def test_the_audit_shows_the_residual_and_children_apart() -> None:
    report = lk.audit(session())
    figure = fig_audit(report)
    bars = dict(zip(figure.layout.yaxis.ticktext, figure.data[0].x, strict=True))
    assert bars["subagents, apart (1)"] == 70
    assert "not explained" in bars
    assert sum(v for name, v in bars.items() if "apart" not in name) == 2_400  # 1,000 + 1,400 recorded
    assert "1 subagent or summary call billed 70 more" in describe_audit(report)


def test_a_session_speaks_of_requests() -> None:
    assert "By request 2" in describe_billed(session())
    assert fig_billed(session()).layout.xaxis.title.text == "request"


# -- looks --------------------------------------------------------------------------------------


def figures(run: Trace, naive: lk.Replay, managed: lk.Replay) -> list[go.Figure]:
    report = lk.audit(session())
    return [
        fig_billed(run),
        fig_results(run),
        fig_lines(naive),
        fig_lines(report),
        fig_ladder(managed, naive),
        fig_audit(report),
    ]


def test_every_figure_has_a_title_units_and_a_zero(run: Trace, naive: lk.Replay, managed: lk.Replay) -> None:
    for figure in figures(run, naive, managed):
        assert figure.layout.template == pio.templates["labkit"]
        assert len(figure.layout.title.text) <= 90
        axes = [figure.layout.xaxis, figure.layout.yaxis]
        titles = " ".join(str(axis.title.text) for axis in axes)
        assert "tokens" in titles
        for axis in (a for a in axes if a.tickformat):
            assert axis.tickformat == ","
            assert axis.rangemode == "tozero" or axis.range[0] <= 0


def test_the_template_is_not_set_for_everybody() -> None:
    style.template()
    assert pio.templates.default != "labkit"


def luminance(color: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_known() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)


@pytest.mark.parametrize("key", style.STYLES)
def test_lines_and_edges_are_seen_on_white(key: str) -> None:
    assert contrast(style.STYLES[key].line, "#FFFFFF") >= 3


def test_bars_can_be_told_apart_without_colour() -> None:
    """Neighbours in a stack differ in lightness or in pattern."""
    for names in (LINE_ITEMS, style.DRAWN):
        for one, other in pairwise(names):
            a, b = style.STYLES[one], style.STYLES[other]
            assert a.pattern != b.pattern or contrast(a.color, b.color) >= 1.5, (one, other)
    dashes = [style.STYLES[line].dash for line in ("naive", "best", "managed")]
    assert len(set(dashes)) == 3


def test_text_of_a_session_stays_text() -> None:
    nasty = "<a href='x'>rm</a> $x^2$ &lt; <b>" + "é" * 200
    figure = fig_results(session(nasty, nasty))
    shown = [*figure.layout.yaxis.ticktext, *figure.data[0].customdata]
    for text in shown:
        body = str(text).replace("<br>", "")
        assert "<" not in body
        assert "$" not in body
        assert len(body) < 300
    assert "%{" not in str(figure.data[0].customdata)
    assert "&lt;a href" in shown[0]


@pytest.mark.parametrize("text", ["", None, "\x00\x1b[31m", "a\nb", "\ud800"])
def test_any_text_can_be_a_label(text: str | None) -> None:
    assert "\n" not in style.label(text)
    assert "\x1b" not in style.plain(text)


def test_no_figure_offers_to_be_sent_away() -> None:
    """Plotly 7 puts a button on each figure that uploads it; nothing here leaves the machine."""
    figure = fig_lines(tiny(3))
    for name in ("plotly_mimetype", "notebook", "vscode", "browser"):
        assert pio.renderers[name].config["showSendToCloud"] is False, name
    shown = pio.renderers["plotly_mimetype"].to_mimebundle(figure.to_dict())
    assert shown["application/vnd.plotly.v1+json"]["config"]["showSendToCloud"] is False
