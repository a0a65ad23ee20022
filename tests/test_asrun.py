"""The as-run check: small sessions by hand, then the real ones."""

from __future__ import annotations

import pytest

from labkit.record.load import load
from labkit.record.trace import Edit, Request, Trace, Usage
from labkit.replay.asrun import causes, reproduce


def session(*usages: Usage, pauses: list[float] | None = None, edits: tuple[Edit, ...] = ()) -> Trace:
    start, requests = 0.0, []
    for i, usage in enumerate(usages):
        start += 60.0 if pauses is None else pauses[i]
        requests.append(Request(i + 1, start=start, usage=usage))
    return Trace("hand", (), tuple(requests), edits=edits)


def test_growth_is_reproduced():
    run = reproduce(session(Usage(3, 0, 9_000), Usage(3, 9_000, 400), Usage(3, 9_400, 100)))
    assert [(p.low, p.read, p.cause) for p in run.predictions] == [
        (9_000, 9_000, "reproduced"),
        (9_400, 9_400, "reproduced"),
    ]
    assert run.score == 1.0
    assert causes(run.predictions) == {"growth": 500, "expired": 0, "edit": 0, "unexplained": 0}


def test_a_pause_longer_than_the_lifetime_expires():
    usages = Usage(3, 0, 9_000), Usage(3, 0, 9_400)
    assert reproduce(session(*usages, pauses=[0, 300.5])).predictions[0].cause == "expired"
    # The same record within the lifetime has no cause that is known.
    short = reproduce(session(*usages, pauses=[0, 299.5]))
    assert short.predictions[0].cause == "unexplained"
    assert (short.score, short.baseline) == (0.0, 0.0)


def test_one_hour_writes_live_an_hour():
    hour = [Usage(3, 0, 0, 9_000), Usage(3, 9_000, 0, 400), Usage(3, 0, 0, 9_900)]
    run = reproduce(session(*hour, pauses=[0, 3_000, 3_700]))
    assert [p.cause for p in run.predictions] == ["reproduced", "expired"]


def test_the_first_rewrite_is_an_interval_and_later_ones_are_exact():
    edits = (Edit("clear", 3, ()), Edit("summary", 5, ()))
    usages = [
        Usage(3, 15_000, 5_000),
        Usage(3, 20_000, 40_000),
        Usage(3, 18_591, 20_000),
        Usage(3, 38_591, 900),
        Usage(3, 18_591, 3_000),
    ]
    predictions = reproduce(session(*usages, edits=edits)).predictions
    assert [(p.low, p.high, p.cause) for p in predictions] == [
        (20_000, 20_000, "reproduced"),
        (15_000, 20_000, "edit"),
        (38_591, 38_591, "reproduced"),
        (18_591, 18_591, "edit"),
    ]
    assert all(p.right for p in predictions)
    assert causes(predictions)["edit"] == 23_000


def test_a_fall_without_a_cause_stays_unexplained():
    run = reproduce(session(Usage(3, 0, 90_000), Usage(3, 18_000, 70_000)))
    assert run.predictions[0].cause == "unexplained"
    assert not run.predictions[0].right


def test_requests_without_usage_are_passed_over():
    run = reproduce(session(Usage(3, 0, 9_000), Usage(), Usage(3, 9_000, 10)))
    assert [p.request for p in run.predictions] == [3]
    assert reproduce(Trace("none", (), (Request(1), Request(2)))).score is None


@pytest.fixture(scope="module")
def real(corpus):
    """Each real Claude Code session once, children beside it."""
    traces = []
    for file in sorted((corpus / "claude-code").glob("**/*.jsonl")):
        if "subagents" in file.parts or file.name == "entire-overlap-b.jsonl":
            continue
        trace = load(file)
        traces += [trace, *trace.children]
    return traces


def test_real_sessions_are_reproduced(real, capsys):
    plain = [p for trace in real for p in reproduce(trace).predictions if p.cause != "edit"]
    right = sum(p.right for p in plain) / len(plain)
    baseline = sum(abs(p.read - p.baseline) <= 0.01 * max(p.read, p.baseline) for p in plain) / len(plain)
    with capsys.disabled():
        print(f"\nas-run, append and expired: {right:.2%} of {len(plain)} within 1 %; without a model {baseline:.2%}")
    assert right >= 0.975
    assert right > baseline


def test_real_rewrites_read_the_system_prompt(corpus):
    run = reproduce(load(corpus / "claude-code" / "entire-microcompact2-compact1.jsonl"))
    edits = [p for p in run.predictions if p.cause == "edit"]
    assert edits[0].low <= edits[0].read <= edits[0].high
    assert [(p.low, p.high, p.read) for p in edits[1:]] == [(18_591, 18_591, 18_591)] * 2


def test_most_writes_of_a_real_session_follow_a_pause(corpus):
    written = causes(reproduce(load(corpus / "claude-code" / "entire-three-compactions.jsonl")).predictions)
    assert written["expired"] == 1_207_360
