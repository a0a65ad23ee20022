"""The as-run check: small sessions by hand, then the real ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.record.load import load
from labkit.record.trace import Block, Edit, Request, Trace, Usage
from labkit.replay.asrun import reproduce
from labkit.replay.audit import audit
from labkit.replay.audit_notes import thinking_switched
from labkit.replay.causes import causes, writes_by_cause

OPUS, SONNET = "claude-opus-4-5", "claude-sonnet-4-6"


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


def spoken(*usages: Usage, source: str = "Claude Code: a.jsonl") -> Trace:
    """Three user turns of one answer each: 400 tokens, counted offline."""
    answer = "word " * 395 + "x"
    blocks = []
    for i in range(1, len(usages) + 1):
        blocks += [Block("text", "user", "Go on.", request=i), Block("text", "assistant", answer, request=i + 1)]
    trace = session(*usages)
    models = tuple(replace(r, model=OPUS) for r in trace.requests)
    return replace(trace, blocks=tuple(blocks), requests=models, source=source)


def test_what_a_harness_asks_by_itself_shows_in_the_next_read():
    usages = Usage(3, 0, 100_000), Usage(3, 100_460, 500), Usage(3, 100_960, 900), Usage(3, 104_000, 10)
    run = reproduce(spoken(*usages))
    # 400 counted tokens are at most 540 of Claude's. The last read is more than any answer explains.
    assert [(p.low, p.high, p.cause) for p in run.predictions] == [
        (100_000, 100_543, "reproduced"),
        (100_960, 101_503, "reproduced"),
        (101_860, 102_403, "unexplained"),
    ]
    assert run.beyond == (2,)
    (said,) = [w for w in audit(spoken(*usages)).warnings if "asks by itself" in w]
    # 100,000 tokens read at 0.5 and 460 written at 6.25, a million.
    assert "request 2: " in said and f"at least ${0.05 + 460 * 6.25e-6:.2f}" in said
    # Where the record says how long the answer was, that is the most.
    known = replace(usages[0], output=300), *usages[1:]
    assert next((p.high, p.cause) for p in reproduce(spoken(*known)).predictions) == (100_303, "reproduced")
    assert reproduce(spoken(*known)).beyond == ()


def test_other_harnesses_are_not_taken_to_ask_by_themselves():
    usages = Usage(3, 0, 100_000), Usage(3, 100_460, 500)
    run = reproduce(spoken(*usages, source="Pi or OpenClaw: a.jsonl"))
    assert [(p.low, p.high) for p in run.predictions] == [(100_000, 100_000)]
    assert run.beyond == ()


def test_a_turn_that_goes_on_reads_no_answer():
    usages = Usage(3, 0, 100_000), Usage(3, 100_460, 500)
    trace = spoken(*usages)
    result = Block("result", "tool", "42", request=2, tool="Bash", call_id="c")
    goes_on = replace(trace, blocks=(*trace.blocks[:2], result, *trace.blocks[2:]))
    assert [(p.low, p.high) for p in reproduce(goes_on).predictions] == [(100_000, 100_000)]


def test_a_record_that_starts_midway_says_less_of_the_first_rewrite():
    answer = Block("result", "tool", "of a call before it", request=1, call_id="lost")
    trace = session(Usage(3, 150_000, 5_000), Usage(3, 18_591, 20_000), edits=(Edit("summary", 2, ()),))
    assert [(p.low, p.right) for p in reproduce(trace).predictions] == [(150_000, False)]
    midway = replace(trace, blocks=(answer,))
    assert [(p.low, p.high, p.right) for p in reproduce(midway).predictions] == [(0, 155_000, True)]


def test_a_fall_without_a_cause_stays_unexplained():
    run = reproduce(session(Usage(3, 0, 90_000), Usage(3, 18_000, 70_000)))
    assert run.predictions[0].cause == "unexplained"
    assert not run.predictions[0].right


def test_requests_without_usage_are_passed_over():
    run = reproduce(session(Usage(3, 0, 9_000), Usage(), Usage(3, 9_000, 10)))
    assert [p.request for p in run.predictions] == [3]
    assert reproduce(Trace("none", (), (Request(1), Request(2)))).score is None


def by_models(*given: tuple[str | None, float, Usage], edits: tuple[Edit, ...] = ()) -> Trace:
    requests = tuple(Request(i, start=at, model=model, usage=u) for i, (model, at, u) in enumerate(given, 1))
    return Trace("hand", (), requests, edits=edits)


def test_each_model_has_a_cache_of_its_own():
    planned = [(OPUS, 0, Usage(3, 0, 9_000)), (OPUS, 20, Usage(3, 9_000, 400))]
    done = [(SONNET, 40, Usage(3, 0, 9_900)), (SONNET, 60, Usage(3, 9_900, 100))]
    run = reproduce(by_models(*planned, *done, (OPUS, 80, Usage(3, 9_400, 700)), (SONNET, 100, Usage(3, 10_000, 200))))
    assert [(p.low, p.read, p.cause, p.pause) for p in run.predictions] == [
        (9_000, 9_000, "reproduced", 20),
        (0, 0, "edit", None),  # the first to another model
        (9_900, 9_900, "reproduced", 20),
        (9_400, 9_400, "reproduced", 60),  # since the last one to the same model
        (10_000, 10_000, "reproduced", 40),
    ]
    assert (run.switched, run.score) == ((3,), 1.0)
    assert run.baseline == pytest.approx(3 / 4)
    assert causes(run.predictions)["edit"] == 9_900


def test_a_models_cache_dies_while_another_is_asked():
    asked = [(OPUS, 0, Usage(3, 0, 9_000)), (SONNET, 200, Usage(3, 0, 9_500)), (OPUS, 400, Usage(3, 0, 9_900))]
    assert [p.cause for p in reproduce(by_models(*asked)).predictions] == ["edit", "expired"]
    # An edit changes the context of every model.
    alive = [*asked[:2], (OPUS, 250, Usage(3, 8_000, 900)), (SONNET, 260, Usage(3, 8_100, 900))]
    edited = reproduce(by_models(*alive, edits=(Edit("clear", 3, ()),)))
    assert [p.cause for p in edited.predictions] == ["edit", "edit", "edit"]


def test_two_spellings_are_one_model_and_none_is_no_other():
    asked = [(None, 0, Usage(3, 0, 9_000)), ("claude-opus-4-5-20251101", 20, Usage(3, 9_000, 400))]
    asked += [("anthropic/claude-opus-4.5", 40, Usage(3, 9_400, 9)), (None, 60, Usage(3, 9_409))]
    run = reproduce(by_models(*asked))
    assert (run.switched, [p.cause for p in run.predictions]) == ((), ["reproduced"] * 3)


def test_a_change_of_the_model_is_said():
    trace = by_models((OPUS, 0, Usage(3, 0, 9_000)), (SONNET, 40, Usage(3, 0, 9_900)))
    (said,) = [w for w in audit(trace).warnings if "another model" in w]
    assert said.startswith("request 2 went to another model, whose cache did not hold the context")
    assert writes_by_cause(trace)["edit"] == 9_900


def turns(*thinks: bool) -> tuple[Block, ...]:
    """A user's text a request, answered with thinking or without."""
    blocks = []
    for i, thinking in enumerate(thinks, 1):
        blocks.append(Block("text", "user", "Go on.", request=i))
        blocks += [Block("thinking", "assistant", "Hm.", request=i + 1)] if thinking else []
        blocks.append(Block("text", "assistant", "Done.", request=i + 1))
    return tuple(blocks)


@pytest.mark.parametrize(
    ("thinks", "reads", "found"),
    [
        ((False, True, True), (18_000, 88_500), [2]),  # switched on: only system prompt and tools are read
        ((True, False, False), (18_000, 88_500), [2]),  # and off
        ((True, True, True), (18_000, 88_500), []),  # a fall for another reason
        ((False, True, True), (90_000, 90_500), []),  # no fall
        ((False, True, True), (0, 88_500), []),  # nothing was read at all: not this
    ],
)
def test_thinking_that_was_switched_is_a_guess_and_no_cause(thinks, reads, found):
    usages = [Usage(3, 0, 90_000), *(Usage(3, read, 90_500 - read) for read in reads)]
    trace = replace(session(*usages), blocks=turns(*thinks))
    run = reproduce(trace)
    assert [p.request for p in thinking_switched(trace, run)] == found
    said = [w for w in audit(trace).warnings if "thinking seems to have been switched" in w]
    assert len(said) == len(found)
    assert all("72,500 of the tokens that stand as unexplained" in w for w in said)
    if found:
        assert next(p for p in run.predictions if p.request == 2).cause == "unexplained"


def test_real_sessions_in_which_thinking_was_switched(real, capsys):
    runs = [(trace, reproduce(trace)) for trace in real]
    guessed = sum(p.written for trace, run in runs for p in thinking_switched(trace, run))
    nothing = sum(writes_by_cause(trace, run)["unexplained"] for trace, run in runs)
    with capsys.disabled():
        print(f"\nunexplained writes: {nothing:,} tokens, of which {guessed:,} where thinking was perhaps switched")
    assert 0.5 * nothing < guessed < nothing


def test_a_real_session_that_changes_models(corpus):
    (path,) = (corpus / "other").glob("openclaw-lru_demo-b2e732c1*.jsonl")
    run = reproduce(load(path))
    assert run.switched == (28,)
    back = next(p for p in run.predictions if p.request == 30)
    assert (back.cause, back.read, back.low) == ("reproduced", 29_900, 29_900)


def openai(*usages: Usage, pauses: list[float] | None = None) -> Trace:
    trace = session(*usages, pauses=pauses)
    return replace(trace, requests=tuple(replace(r, model="gpt-5.3-codex") for r in trace.requests))


def test_openai_keeps_the_prompt_and_perhaps_the_answer():
    # 10,000 rounded down to 128s is 9,984; with an answer of 500 it is 10,496
    run = reproduce(openai(Usage(10_000, output=500), Usage(1_016, 9_984), Usage(2_000, 6_000)))
    first, second = run.predictions
    assert (first.low, first.high, first.cause) == (9_984, 10_496, "reproduced")
    assert (second.low, second.high, second.cause) == (10_880, 10_880, "unexplained")
    assert reproduce(openai(Usage(10_000, output=500), Usage(504, 10_496))).predictions[0].right


def test_openai_entries_die_after_the_longer_lifetime():
    usages = Usage(10_000), Usage(11_000, 0)
    assert reproduce(openai(*usages, Usage(9, 11_008), pauses=[0, 86_500, 60])).predictions[0].cause == "expired"
    assert reproduce(openai(*usages, Usage(9, 11_008), pauses=[0, 86_300, 60])).predictions[0].cause == "unexplained"


def test_a_short_prompt_is_not_cached_by_openai():
    run = reproduce(openai(Usage(1_000), Usage(1_100, 0), Usage(300, 1_024)))
    assert [(p.low, p.high) for p in run.predictions] == [(0, 0), (1_024, 1_024)]


def test_without_a_rule_there_is_a_reason():
    gemini = session(Usage(100, 900), Usage(100, 950))
    gemini = replace(gemini, requests=tuple(replace(r, model="gemini-2.5-flash") for r in gemini.requests))
    assert "no published rule" in reproduce(gemini).reason
    assert reproduce(session(Usage(100), Usage(200))).reason == "no cache reads or writes are recorded"
    assert reproduce(session(Usage(3, 0, 9))).reason == "fewer than two requests have a recorded usage"
    assert "the model is unknown" in reproduce(session(Usage(3, 9), Usage(3, 9))).reason


def test_every_written_token_has_a_cause():
    usages = Usage(3, 0, 9_000), Usage(3, 9_000, 400), Usage(3, 0, 9_500), Usage(3, 2_000, 0, 7_000)
    trace = session(*usages, pauses=[0, 60, 400, 60])
    assert writes_by_cause(trace) == {"growth": 9_400, "expired": 9_500, "edit": 0, "unexplained": 7_000}


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


def by_baseline(p):
    return abs(p.read - p.baseline) <= 0.01 * max(p.read, p.baseline)


def test_real_sessions_are_reproduced(real, capsys):
    every = [p for trace in real for p in reproduce(trace).predictions]
    edits = [p for p in every if p.cause == "edit"]
    plain = [p for p in every if p.cause != "edit"]
    # Which stratum a request is in follows from what was known before it: the edits, and what was predicted.
    expired = [p for p in plain if p.high == 0 < p.baseline]
    append = [p for p in plain if p not in expired]
    right, baseline = (sum(map(judge, plain)) / len(plain) for judge in (lambda p: p.right, by_baseline))
    # Over all three strata, since a logged edit is what the prediction without a model cannot know.
    whole = sum(map(by_baseline, every)) / len(every)
    with capsys.disabled():
        for name, rows in (("append", append), ("expired", expired), ("logged edit", edits)):
            print(f"\nas-run, {name}: {sum(p.right for p in rows)} of {len(rows)} within 1 %", end="")
            print(f"; without a model {sum(map(by_baseline, rows))}", end="")
        print(f"\nappend and expired: {right:.2%} of {len(plain)}; without a model {baseline:.2%}", end="")
        print(f", a gain of {(right - baseline) * 100:.2f} points; over all three strata it has {whole:.2%}")
    assert right >= 0.98
    assert right > baseline
    assert whole == pytest.approx(0.945, abs=0.005)
    assert all(p.right for p in edits)
    assert sum(p.right for p in expired) > sum(map(by_baseline, expired))


def test_real_rewrites_read_the_system_prompt(corpus):
    run = reproduce(load(corpus / "claude-code" / "entire-microcompact2-compact1.jsonl"))
    edits = [p for p in run.predictions if p.cause == "edit"]
    assert edits[0].low <= edits[0].read <= edits[0].high
    assert [(p.low, p.high, p.read) for p in edits[1:]] == [(18_591, 18_591, 18_591)] * 2


def test_most_writes_of_a_real_session_follow_a_pause(corpus):
    trace = load(corpus / "claude-code" / "entire-three-compactions.jsonl")
    assert causes(reproduce(trace).predictions)["expired"] == 1_207_360
    written = writes_by_cause(trace)
    assert written["expired"] == 1_207_360
    assert sum(written.values()) == 1_618_146


def test_real_codex_sessions_are_reproduced_where_nothing_was_lost(corpus):
    scores = {}
    for file in sorted((corpus / "codex").glob("localpush-*.jsonl")):
        run = reproduce(load(file))
        scores[file.name[31:36]] = run.score
        assert run.score is not None and run.baseline is not None and run.score >= run.baseline
    assert list(scores.values()) == [1.0, pytest.approx(0.599, abs=0.001), 1.0]
