"""A session over the clock, its what-ifs as ranges, its panel, and the decision at the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import pytest

import labkit as lk
from labkit.course.exercises_08 import cause, one_hour_saves
from labkit.errors import InputError
from labkit.price.prices import prices
from labkit.record.trace import Edit, Request, Trace, Usage
from labkit.replay.advice import Advice
from labkit.replay.audit import Audit
from labkit.replay.causes import why
from labkit.replay.decision import break_even, decide
from labkit.show import panels, views_session
from labkit.show.options import describe_decision, describe_options, fig_options
from labkit.show.timeline import describe_session, fig_session, moments

NOON = 1_790_000_400.0  # 2026-09-21 14:20:00 UTC


def made(**changed: object) -> Trace:
    """Five requests: new, new, after 20 minutes, after an edit, and a fall that nothing explains."""
    usages = [
        Usage(cache_write_5m=10_000),
        Usage(cache_read=10_000, cache_write_5m=2_000),
        Usage(cache_write_5m=13_000),
        Usage(cache_read=4_000, cache_write_5m=5_000),
        Usage(cache_read=1_000, cache_write_5m=8_500),
    ]
    starts = [0, 60, 1_260, 1_300, 1_340]
    requests = tuple(
        Request(i, model="claude-sonnet-4-6", start=NOON + s, usage=u)
        for i, (s, u) in enumerate(zip(starts, usages, strict=True), 1)
    )
    trace = Trace("made up", (), requests, edits=(Edit("clear", 4, (), stub="gone"),))
    return replace(trace, **changed)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def sample() -> Audit:
    return lk.audit(lk.load(lk.data_path("sessions", "sample")))


# -- the clock ----------------------------------------------------------------------------------


def test_each_request_has_its_cause_its_pause_and_its_dollars() -> None:
    found = moments(lk.audit(made()))
    assert [m.cause for m in found] == ["growth", "growth", "expired", "edit", "unexplained"]
    assert [m.pause for m in found] == [None, 60, 1_200, 40, 40]
    assert [(m.read, m.new) for m in found][2:] == [(0, 13_000), (4_000, 5_000), (1_000, 8_500)]
    assert found[2].dollars == pytest.approx(13_000 * 3.75e-6)


def test_reads_stand_above_writes_below_each_in_its_colour() -> None:
    figure = fig_session(made())
    ends = {t.name: list(t.y[1::3]) for t in figure.data[:5]}
    assert ends == {
        "read from the cache": [0, 10_000, 0, 4_000, 1_000],
        "new in the context": [-10_000, -2_000],
        "again: after a pause": [-13_000],
        "again: after an edit": [-5_000],
        "again: unexplained": [-8_500],
    }
    assert len({t.line.color for t in figure.data[:5]}) == 5
    assert len({t.marker.symbol for t in figure.data[1:5]}) == 4  # nothing rests on colour alone
    assert figure.layout.title.text == "3 of 5 requests wrote again: 69 % of 38 thousand tokens written"
    assert figure.data[1].x[0] == "2026-09-21 14:20:00.000"
    assert figure.layout.xaxis.title.text == "clock time (UTC)"


def test_the_pointer_stands_at_the_request_asked_for() -> None:
    assert list(fig_session(made()).data[-1].y) == [0, -13_000]
    assert list(fig_session(made(), request=4).data[-1].y) == [4_000, -5_000]
    assert "request 4, after 40 s" in fig_session(made(), request=4).data[-1].text[1]


def test_without_a_clock_requests_stand_in_a_row() -> None:
    timeless = made(requests=tuple(replace(r, start=None) for r in made().requests))
    assert fig_session(timeless).data[0].x[0] == 1
    assert "no times of day" in fig_session(timeless).layout.xaxis.title.text
    assert fig_session(made(), x="request").layout.xaxis.title.text == "request"
    with pytest.raises(InputError, match="x is 'clok': give 'clock' or 'request'"):
        fig_session(made(), x="clok")


def test_the_words_say_how_much_of_it_follows_pauses(sample: Audit) -> None:
    assert describe_session(made()).splitlines() == [
        "5 requests within 22 min read 15,000 tokens from the cache and wrote 38,500.",
        "After a pause: 1 request, 13,000 tokens, 34 % of them.",
        "After an edit: 1 request, 5,000 tokens, 13 % of them.",
        "Unexplained: 1 request, 8,500 tokens, 22 % of them.",
        "New in the context: 2 requests, 12,000 tokens, 31 %.",
        "Request 3 wrote 13,000 tokens, the most of all: the pause of 20 min outlived the cache entry.",
    ]
    by_cause = sample.writes_by_cause
    assert {c: sum(m.new for m in moments(sample) if m.cause == c) for c in by_cause} == by_cause


def test_where_no_writes_are_reported_the_uncached_rest_stands_below() -> None:
    usages = [Usage(uncached=5_000), Usage(uncached=700, cache_read=4_992)]
    requests = tuple(Request(i, model="gpt-5.1-codex", start=NOON + i, usage=u) for i, u in enumerate(usages, 1))
    trace = Trace("made up", (), requests, source="Codex CLI: x")
    assert [m.new for m in moments(lk.audit(trace))] == [5_000, 700]
    assert describe_session(trace).splitlines()[0].endswith("read 4,992 tokens from the cache and sent uncached 5,700.")


def test_a_run_without_usage_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    bare = Trace("bare", (), (Request(1),))
    assert describe_session(bare).startswith("No usage is recorded")
    assert not fig_session(bare).data
    assert lk.panels.session(bare) is None
    assert capsys.readouterr().out.startswith("No panel: bare has no recorded usage")


# -- the panel ----------------------------------------------------------------------------------


@pytest.fixture
def panel(monkeypatch: pytest.MonkeyPatch) -> Iterator[panels.Panel]:
    monkeypatch.setattr(panels, "mode", "widgets")
    panels._open.clear()
    lk.panels.session(made())
    (found,) = panels._open.values()
    yield found
    found.close()
    panels._open.clear()


def test_clicking_a_row_points_at_it(panel: panels.Panel) -> None:
    row = panel.controls["row"]
    assert type(row).__name__ == "Select"
    assert [value for _, value in row.options] == [3, 1, 5, 4, 2]  # the largest first
    assert row.options[0][0] == "14:41:00  request 3: 13,000 written, after a pause"
    assert "the pause of 20 min" in panel.words.value
    row.value = 5
    assert "Request 5 wrote 8,500 tokens, number 3 of 5: why is not in the record." in panel.words.value
    assert panel.figure.spec["data"][-1]["y"] == [1_000, -8_500]
    assert ">8,500<" in panel.numbers.value
    assert "the one before left 9,000" in panel.numbers.value
    panel.reset.click()
    assert row.value == 3


def test_the_panel_keeps_the_limits_of_all_panels(sample: Audit) -> None:
    setup = views_session.session(sample)
    view = setup.draw({c.name: c.value for c in setup.controls})
    assert sum(not c.more for c in setup.controls) <= 3
    assert len(view.numbers) == 4
    assert view.figure["layout"]["height"] <= 380
    assert json.loads(json.dumps(view.figure)) == view.figure
    other = setup.draw({"row": setup.controls[0].value, "x": "request"})
    assert other.figure["layout"]["xaxis"]["title"]["text"] == "request"


# -- what-ifs and the decision ------------------------------------------------------------------


def test_what_ifs_stand_side_by_side(sample: Audit) -> None:
    hour = lk.whatif(sample.trace, lifetime="1h")
    never = lk.whatif(sample.trace, lk.Policy(window=None, trigger=900_000))
    refused = replace(hour, refused="the replay reproduces 60.0% of the recorded cache reads")
    options = {"an hour": hour, "never acts": never, "refused": refused}
    table = describe_options(options).splitlines()
    assert table[1].split() == ["an", "hour", "-$0.12", "-$0.12", "-$0.12", "0", "0"]
    assert table[2].split() == ["never", "acts", "$0.00", "$0.00", "$0.00", "0", "0"]
    assert table[3].endswith("no what-if: the replay reproduces 60.0% of the recorded cache reads")
    assert table[4].startswith("cache reads reproduced: 100.0% (at least 90% is needed)")
    figure = fig_options(options)
    assert list(figure.data[1].y) == [0, 1]  # the refused one has a name and no range
    assert figure.layout.title.text == "0 of 3 what-ifs are sure to save"


def test_the_hour_pays_from_its_break_even_on() -> None:
    """At the share that ``break_even`` names, the exercise's saving changes its sign."""
    bar = break_even(prices("claude-sonnet-4-6"))
    assert bar == pytest.approx(0.75 / 1.9)
    expired = 100_000
    for written, sign in ((expired / (bar + 0.01), -1), (expired / (bar - 0.01), 1)):
        requests = [(0, 0, round(written) - expired), (1_200, expired, 0)]
        assert one_hour_saves(requests) * sign < 0


def test_a_decision_for_nothing_says_when_it_would_be_wrong(sample: Audit) -> None:
    decision = decide(sample, today=date(2026, 12, 1))
    assert (decision.change, decision.where, decision.saving) == ("nothing", "", None)
    assert decision.again == date(2026, 12, 15)
    assert "39% or more of the written tokens" in decision.wrong_if[0]
    assert "(here 29%)" in decision.wrong_if[0]
    record = describe_decision(decision)
    assert record.startswith("# Decision of 2026-12-01\n")
    assert "- measure again on 2026-12-15: labkit compare BEFORE AFTER" in record
    assert json.loads(json.dumps(decision.to_json()))["measure_again"] == "2026-12-15"


def test_a_decision_for_a_change_has_a_number_to_miss(sample: Audit) -> None:
    answer = lk.whatif(sample.trace, lk.Policy(window=None, trigger=50_000, keep=3))
    advice = Advice("clear above 50,000 tokens", "a setting, in a file", answer, "", "2026-11-30")
    decision = decide(sample, advice, today=date(2026, 12, 1), days=7)
    low, _, high = answer.against_recorded
    assert decision.saving == (low, high)
    assert f"more than ${(answer.recorded - low) / 40:,.4f} a request" in decision.wrong_if[0]
    assert "read again after the agent's own edit" in decision.wrong_if[1]
    record = describe_decision(decision)
    for field in ("change: clear", "where to set it: a setting", "expected saving: ", "loss: ", "wrong if: "):
        assert f"\n- {field}" in record
    assert "measure again on 2026-12-08" in record
    hour = Advice("keep entries", "a setting", lk.whatif(sample.trace, lifetime="1h"), "", "2026-11-30")
    assert decide(sample, hour).wrong_if[1].startswith("labkit compare shows 1,516 tokens a request or more")
    assert "\n- loss: none was found\n" in describe_decision(decide(sample, hour))
    with pytest.raises(InputError, match="days is 0"):
        decide(sample, advice, days=0)


# -- the exercises say what labkit does ---------------------------------------------------------


def test_the_exercise_names_the_causes_that_the_audit_names(sample: Audit) -> None:
    named = why(sample.trace)
    edited = {edit.request for edit in sample.trace.edits}
    for p in sample.as_run.predictions:
        assert cause(p.baseline, p.read, p.pause or 0.0, p.request in edited) == named[p.request]


def test_the_exercise_prices_the_hour_as_the_what_if_does(sample: Audit) -> None:
    """In dollars at 3 for a million, but for the edit's request, which is priced by its own writes."""
    requests = [(0.0, 0, 20_592)]
    for p in sample.as_run.predictions:
        kept = p.read if p.cause == "edit" else p.baseline
        requests.append((p.pause or 0.0, kept, p.read + p.written - kept))
    answer = lk.whatif(sample.trace, lifetime="1h")
    assert one_hour_saves(requests) * 3e-6 == pytest.approx(answer.saving[1])
