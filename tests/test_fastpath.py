"""The compiled engine equals the reference engine on every column."""

from __future__ import annotations

import os
from dataclasses import replace
from random import Random

import pytest

from labkit.files import data_path
from labkit.ladder.policy import Policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import ARTICLE_RULES, CacheRules, cache_rules
from labkit.record.generate import scripted_run
from labkit.record.load import load
from labkit.record.sizes import measure
from labkit.record.trace import Block, Fact
from labkit.replay import fastpath
from labkit.replay.replay import replay
from labkit.replay.sweep_part import columns_of

pytest.importorskip("numba", reason="the extra fast is not installed")

PAIRS = 10_000 if os.environ.get("LABKIT_LONG") else 1_000


def a_policy(rng: Random, peak: int) -> Policy:
    """One of the policies that the engine can express, most of them such that something happens."""
    trigger = rng.choice([None, *[rng.randint(1, peak)] * 8])
    window = rng.choice([None, rng.randint(max(peak // 2, trigger or 1), peak + 10)])
    return Policy(
        window=window,
        trigger=trigger,
        strict=rng.random() < 0.7,
        floor=rng.choice([0, 0, 500, 3_000, 10_000]),
        keep=rng.choice([None, 0, 1, 3, 10]),
        compact_above=rng.choice([None, *[rng.randint(1, trigger)] * 4]) if trigger else None,
        keep_recent=rng.choice([0, 1, 4, 10, 30]),
        stub_if_smaller=rng.random() < 0.5,
        stub_chars=rng.choice([None, 200]),
        pinned=rng.choice([frozenset(), frozenset({"notes_read"})]),
        count_prefix=rng.random() < 0.8,
        lifetime=rng.choice(["5m", "1h"]),
        keep_alive=rng.choice([0, 0, 1, 5]),
    )


def test_every_column_of_random_pairs() -> None:
    rng = Random(20)
    runs = [load(data_path("traces", f"{name}.jsonl")) for name in ("invoice-60", "support-40")]
    runs += [scripted_run(turns, seed=turns) for turns in (1, 6, 12, 25, 60)]
    runs.append(replace(runs[0], needs=(), facts=()))
    compacted = 0
    each = PAIRS // len(runs)
    for trace in runs:
        peak = replay(trace, Policy.nothing()).peak
        policies = [a_policy(rng, peak) for _ in range(each)]
        rules = CacheRules(minimum=rng.choice([0, 1_024]), ttl=300, ttl_1h=3_600)
        summarizer = SizedSummarizer(
            rng.choice([0, 50, 800]), rng.choice([0.0, 0.05]), rng.choice(["warm", "cold", "free"])
        )
        made = fastpath.run(trace, measure(trace), policies, rules, summarizer)
        for policy, row in zip(policies, made, strict=True):
            assert fastpath.supports(policy, rules, trace) == "" and fastpath.plain(policy, rules, trace)
            run = replay(trace, policy, rules, summarizer=summarizer)
            expected = {**columns_of(run), "refused": 0, "bound": 0}
            assert dict(zip(fastpath.COLUMNS, map(int, row), strict=True)) == expected, policy
            compacted += any(e.kind == "compacted" and e.messages and e.request <= len(run.rows) for e in run.events)
    assert compacted >= 0.3 * each * len(runs)


def test_what_the_short_kernel_cannot_express_goes_to_the_other() -> None:
    trace = scripted_run(6)
    for field, value in {
        "cap": 100,
        "evict": frozenset({"edited"}),
        "keep_by": "groups",
        "batch": 2,
        "floor_is": "target",
        "remembers": False,
        "only_cold": 60.0,
        "keep_first": 1,
        "hand_off_above": 1_000,
        "compact_before_pause": True,
        "clear_inputs": frozenset({"*"}),
        "keep_thinking": 1,
        "trigger_by": "tool_uses",
        "keep_recent_by": "tokens",
        "cap_of": (("read", 5),),
    }.items():
        assert not fastpath.plain(replace(Policy(), **{field: value}), ARTICLE_RULES, trace), field
    assert fastpath.plain(Policy(), ARTICLE_RULES, trace)
    assert not fastpath.plain(Policy(), cache_rules("claude-sonnet-4-5"), trace)


def test_what_no_kernel_can_follow_is_named() -> None:
    def why(*blocks: Block, **more: object) -> str:
        trace = replace(scripted_run(1), blocks=blocks, facts=(), needs=(), **more)
        return fastpath.supports(Policy(), ARTICLE_RULES, trace)

    call, result = Block("call", "assistant", "a", 1, call_id="x"), Block("result", "tool", "b", 1, call_id="x")
    user = Block("text", "user", "stop", 1)
    assert why(call, result) == ""
    assert why(call, user, result) == ""
    assert why(call, call, user, result) == "calls that share an id"
    assert why(call, replace(result, edited="clear")) == "an edited trace"
    thought = Block("thinking", "assistant", "hm", 1, message=1)
    assert why(call, thought, replace(result, message=1)) == "a result behind thinking in one message"
    for probe, reason in (("only its size", True), ("of 1,500 tokens", True), ("4711", False), ("order 7", False)):
        told = replace(scripted_run(1), facts=(Fact("a", probe),), needs=())
        assert bool(fastpath.supports(Policy(), ARTICLE_RULES, told)) == reason, probe
    assert fastpath.supports(Policy(lifetime="1h"), ARTICLE_RULES, scripted_run(1))


def test_the_order_of_policies_and_threads_do_not_matter() -> None:
    trace = load(data_path("traces", "invoice-60.jsonl"))
    rng = Random(1)
    policies = [a_policy(rng, 200_000) for _ in range(300)]
    sizes = measure(trace)
    rules = CacheRules(minimum=1_024, ttl=300, ttl_1h=3_600)
    whole = fastpath.run(trace, sizes, policies, rules, SizedSummarizer())
    back = fastpath.run(trace, sizes, policies[::-1], rules, SizedSummarizer())
    assert (whole == back[::-1]).all()
