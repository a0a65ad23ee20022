"""Replay, bill and loss on small traces whose numbers are worked out by hand."""

from __future__ import annotations

import pytest

from labkit.errors import EditRefused, InputError
from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.price.prices import Prices
from labkit.record.lines import LINE_ITEMS
from labkit.record.sizes import measure
from labkit.record.tokens import Counter
from labkit.record.trace import Block, Fact, Need, Prefix, Request, Trace, Usage
from labkit.replay.bill import bill
from labkit.replay.compare import compare
from labkit.replay.net import net
from labkit.replay.replay import replay

# One token a character makes every size readable in the test itself.
LETTERS = Counter("letters", "exact", len)
CARD = Prices.from_multipliers(1.0, 10.0, read=0.1, write_5m=1.25)


def call(turn: int, text: str = "c" * 6, **more) -> Block:
    return Block("call", "assistant", text, request=turn + 1, tool="read", args=f"f{turn}", **more)


def result(turn: int, text: str, tool: str = "read", **more) -> Block:
    return Block("result", "tool", text, request=turn + 1, tool=tool, args=f"f{turn}", **more)


def run(*blocks: Block, turns: int = 3, starts=None, **more) -> Trace:
    requests = tuple(Request(t, start=None if starts is None else starts[t - 1]) for t in range(1, turns + 1))
    return Trace("hand", blocks, requests, (Prefix("s" * 16),), kind="scripted", **more)


@pytest.fixture
def trace() -> Trace:
    task = Block("text", "user", "t" * 36, request=1)
    return run(task, call(1), result(1, "r" * 496), call(2), result(2, "q" * 96), call(3), result(3, "p" * 46))


def test_nothing_grows_by_what_was_said(trace):
    # 20 prefix + 40 task; + 10 call + 500 result; + 10 call + 100 result.
    rows = replay(trace, Policy.nothing(), sizes=measure(trace, LETTERS)).rows
    assert [r.input for r in rows] == [60, 570, 680]
    assert [r.output for r in rows] == [10, 10, 10]
    # Nothing is read below the minimum of 1,024.
    assert [r.read for r in rows] == [0, 0, 0]


def test_reads_are_the_shared_prefix(trace):
    rules = CacheRules("test", minimum=50)
    rows = replay(trace, Policy.nothing(), rules, sizes=measure(trace, LETTERS)).rows
    assert [r.read for r in rows] == [0, 60, 570]
    assert [r.fresh for r in rows] == [60, 510, 110]


def test_clearing_breaks_the_prefix_at_the_result(trace):
    policy = Policy(trigger=600, floor=0, keep=1, compact_above=None)
    rules = CacheRules("test", minimum=0)
    out = replay(trace, policy, rules, sizes=measure(trace, LETTERS))
    stub = "[cleared: read(f1) returned 500 tokens. Call it again if you need it.]"
    freed = 500 - len(stub) - 4
    assert [(e.request, e.messages, e.freed, e.kept_prefix) for e in out.events] == [(3, 1, freed, 70)]
    assert [r.input for r in out.rows] == [60, 570, 680 - freed]
    assert [r.read for r in out.rows] == [0, 60, 70]


def test_lines_add_up_and_follow_edits(trace):
    policy = Policy(trigger=600, floor=0, keep=1, compact_above=None)
    out = replay(trace, policy, sizes=measure(trace, LETTERS))
    for row in out.rows:
        assert sum(row.lines) == row.input
    last = dict(zip(LINE_ITEMS, out.rows[-1].lines, strict=True))
    assert (last["system"], last["history"], last["tool_schemas"]) == (20, 60, 0)
    assert last["tool_output"] == out.rows[-1].input - 80


def test_a_pause_longer_than_the_ttl_is_cold(trace):
    paused = run(*trace.blocks, starts=[0.0, 300.0, 600.1])
    rules = CacheRules("test", minimum=0, ttl=300)
    rows = replay(paused, Policy.nothing(), rules, sizes=measure(paused, LETTERS)).rows
    # Exactly 300 s still reads; 300.1 s does not.
    assert [r.read_cold for r in rows] == [0, 60, 0]
    assert [r.read for r in rows] == [0, 60, 570]


def test_bill_by_hand(trace):
    rules = CacheRules("test", minimum=0)
    charged = bill(replay(trace, Policy.nothing(), rules, sizes=measure(trace, LETTERS)), CARD)
    # 1,310 in, 30 out; read 630, written 680.
    assert charged.plain == pytest.approx((1310 + 300) / 1e6)
    assert charged.cached == pytest.approx((630 * 0.1 + 680 * 1.25 + 300) / 1e6)
    assert (charged.cold, charged.summaries) == (charged.cached, 0)


def test_unread_counts_results_no_request_carried(trace):
    policy = Policy(trigger=1, floor=0, keep=0, compact_above=None, stub_if_smaller=True)
    out = replay(trace, policy, sizes=measure(trace, LETTERS))
    # At request 2 result 1 goes unseen, at request 3 result 2; result 3 is smaller than its stub.
    assert [r.unread for r in out.rows] == [0, 1, 2]
    kept = replay(trace, Policy(trigger=1, floor=0, keep=1, compact_above=None), sizes=measure(trace, LETTERS))
    assert kept.unread == 0


def test_facts_are_lost_and_found_again():
    trace = run(
        Block("text", "user", "find the port", request=1),
        call(1),
        result(1, "x" * 300 + " port 5432"),
        call(2),
        result(2, "y" * 300),
        call(3),
        result(3, "again port 5432 " + "z" * 50),
        turns=4,
        facts=(Fact("the port", "port 5432"), Fact("never said", "port 1")),
    )
    policy = Policy(trigger=400, floor=0, keep=1, compact_above=None)
    out = replay(trace, policy, sizes=measure(trace, LETTERS))
    assert [r.facts_lost for r in out.rows] == [0, 0, 1, 0]
    assert out.facts_lost == 1
    assert [f[2] for f in out.facts] == [True, False]


def test_a_need_is_charged_once_per_source():
    trace = run(
        Block("text", "user", "go", request=1),
        call(1),
        result(1, "a" * 200 + " alpha beta"),
        call(2),
        result(2, "b" * 200),
        turns=4,
        needs=(Need(2, 2, "alpha"), Need(2, 3, "alpha"), Need(2, 4, "beta")),
    )
    policy = Policy(trigger=300, floor=0, keep=1, compact_above=None)
    out = replay(trace, policy, sizes=measure(trace, LETTERS))
    # Request 2 still sees it. Request 3 clears it: 10 for the call and 215 for the result, once.
    assert [r.uses_after_clear for r in out.rows] == [0, 0, 1, 2]
    assert [r.reread_tokens for r in out.rows] == [0, 0, 225, 225]
    assert bill(out, CARD).reread == pytest.approx(225 * 1.25 / 1e6)


def test_overflow_is_a_column_not_an_exception(trace):
    out = replay(trace, Policy(window=600, trigger=None, compact_above=None), sizes=measure(trace, LETTERS))
    assert out.overflow == 3


def test_a_recorded_output_beats_the_estimate(trace):
    requests = (Request(1, usage=Usage(output=77)), Request(2, usage=Usage(output=1, output_quality="placeholder")))
    recorded = Trace("recorded", trace.blocks[:5], requests, trace.prefixes, kind="scripted")
    assert [r.output for r in replay(recorded, Policy.nothing(), sizes=measure(recorded, LETTERS)).rows] == [77, 10]


def test_thinking_bound_models_refuse_or_drop():
    trace = run(
        Block("text", "user", "go", request=1),
        call(1),
        result(1, "a" * 300),
        Block("thinking", "assistant", "h" * 96, request=3),
        call(2),
        result(2, "b" * 300),
        call(3),
        result(3, "b" * 300),
    )
    bound = CacheRules("bound", minimum=0, thinking_bound=True)
    policy = Policy(trigger=300, floor=0, keep=1, compact_above=None)
    sizes = measure(trace, LETTERS)
    with pytest.raises(EditRefused, match="edits_at='server'"):
        replay(trace, policy, bound, sizes=sizes)
    from dataclasses import replace

    dropped = replay(trace, replace(policy, bound_thinking="drop"), bound, sizes=sizes)
    assert [e.kind for e in dropped.events] == ["dropped_thinking", "cleared", "cleared"]
    assert dropped.events[0].freed == 100
    served = replay(trace, replace(policy, edits_at="server"), bound, sizes=sizes)
    assert [e.kind for e in served.events] == ["cleared", "cleared"]


def test_frame_has_a_row_a_request(trace):
    frame = replay(trace, Policy.nothing(), sizes=measure(trace, LETTERS)).frame()
    assert list(frame["input"]) == [60, 570, 680]
    assert (frame[list(LINE_ITEMS)].sum(axis=1) == frame["input"]).all()
    assert (frame["fresh"] == frame["input"] - frame["read"]).all()


def test_a_trace_without_requests_cannot_be_replayed():
    with pytest.raises(InputError, match="no requests"):
        replay(Trace("none", (), ()), Policy())


def test_a_session_is_not_a_what_if(trace):
    session = Trace("real", trace.blocks, trace.requests, trace.prefixes, kind="session")
    with pytest.raises(InputError, match="labkit whatif"):
        compare(session, Policy(), ARTICLE_RULES)


def test_what_cannot_be_replayed_or_priced_is_a_sentence(trace):
    done = replay(trace, Policy.nothing())
    for act, sentence in (
        (lambda: replay(trace, "article"), "policy is 'article': give a Policy, load_policy"),
        (lambda: replay("run.jsonl", Policy()), "trace is 'run.jsonl': give a Trace, load"),
        (lambda: replay(trace, Policy(), "anthropic"), "rules is 'anthropic': give a CacheRules"),
        (lambda: bill(done, "article"), "prices is 'article': give a Prices, prices"),
        (lambda: bill(trace, CARD), "run is Trace.*: give a Replay, replay"),
        (lambda: net(done, trace, CARD), "nothing is Trace.*: give a Replay"),
        (lambda: net(done, done, None), "prices is None: give a Prices"),
        (lambda: ContextManager(policy="article"), "policy is 'article': give a Policy"),
    ):
        with pytest.raises(InputError, match=sentence):
            act()
