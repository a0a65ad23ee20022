"""The kernel for every rung and every cache equals the reference engine on every column."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.errors import EditRefused, InputError, LabError
from labkit.files import data_path
from labkit.ladder.policy import SUPERSEDED, Policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import CacheRules
from labkit.record.edits import unedited
from labkit.record.generate import scripted_run
from labkit.record.load import load
from labkit.record.sizes import measure
from labkit.record.trace import Block, Fact, Prefix, Request, Trace
from labkit.replay import fastpath
from labkit.replay.replay import replay
from labkit.replay.sweep_part import columns_of
from runs import exchanges

pytest.importorskip("numba", reason="the extra fast is not installed")

LONG = bool(os.environ.get("LABKIT_LONG"))
PAIRS = 10_000 if LONG else 1_000


def a_policy(rng: Random, peak: int) -> Policy:
    """Any policy at all, most of them such that something happens."""
    pick = rng.choice
    while True:
        by = pick(["tokens", "tokens", "tool_uses", "fraction"])
        window = pick([None, rng.randint(peak // 2, peak + 10)])
        trigger = {
            "tokens": rng.randint(1, max(peak * 2 // 3, 1)),
            "tool_uses": rng.randint(1, 20),
            "fraction": 1 - rng.random(),
        }[by]
        top = min(peak, window or peak)
        recent = pick(["messages", "messages", "tokens"])
        try:
            return Policy(
                window=window or (peak if by == "fraction" else None),
                trigger=pick([None, *[trigger] * 6]),
                trigger_by=by,
                strict=rng.random() < 0.7,
                count_prefix=rng.random() < 0.8,
                only_cold=pick([None, None, None, 30.0, 600.0]),
                remembers=rng.random() < 0.8,
                edits_at=pick(["client", "server", "server"]),
                bound_thinking=pick(["refuse", "drop"]),
                floor=pick([0, 0, 0, 500, 3_000]),
                floor_is=pick(["minimum", "minimum", "target"]),
                cap=pick([None, None, None, rng.randint(1, 3_000)]),
                cap_by=pick(["tokens", "characters"]),
                cap_of=pick([(), (), {"read_file": None, "run_tests": 300}]),
                cap_preview=pick([None, None, 0, 100]),
                cap_tail=pick([0.0, 0.5, 1.0]),
                offload=rng.random() < 0.5,
                evict=frozenset(pick([[], [], ["same_call"], ["edited"], ["wider_read"], list(SUPERSEDED)])),
                keep=pick([None, 0, 1, 3, 10]) if rng.random() < 0.8 else pick([500, 5_000]),
                keep_by=pick(["results", "results", "groups", "user_turns", "tokens"]),
                pinned=frozenset(pick([[], ["notes_read"], ["read_file"]])),
                pinned_take_keep=rng.random() < 0.3,
                batch=pick([1, 1, 1, 2, 5]),
                clear_inputs=frozenset(pick([[], [], ["*"], ["run_tests", "search"]])),
                keep_thinking=pick([None, None, 0, 1, 3]),
                stub_text=pick([None, None, None, "[cleared]"]),
                stub_if_smaller=rng.random() < 0.5,
                stub_chars=pick([None, 200, 5]),
                compact_above=pick([None, *[rng.randint(1, max(top // 2, 1))] * 6]),
                keep_recent=pick([0, 1, 4, 10]) if recent == "messages" else pick([0, 4, 200, 3_000]),
                keep_recent_by=recent,
                keep_first=pick([0, 0, 1, 2, 5]),
                compact_before_pause=rng.random() < 0.3,
                hand_off_above=pick([None, None, rng.randint(1, top)]),
                lifetime=pick(["5m", "1h"]),
                keep_alive=pick([0, 0, 1, 5]),
            )
        except InputError:
            continue


def some_rules(rng: Random) -> CacheRules:
    """A cache that reads what is the same, or one with breakpoints."""
    pick = rng.choice
    plain = CacheRules(minimum=pick([0, 1_024]), ttl=300, ttl_1h=3_600, thinking_bound=rng.random() < 0.3)
    return pick(
        [
            plain,
            replace(
                plain,
                mode="breakpoints",
                minimum=pick([0, 1_024, 20_000]),
                lookback=pick([None, 20, 5, 2, 1]),
                placement=pick([("last",), ("system", "last"), ("system",)]),
                step=pick([1, 128]),
            ),
        ]
    )


def some_summarizer(rng: Random) -> SizedSummarizer:
    return SizedSummarizer(rng.choice([0, 50, 800]), rng.choice([0.0, 0.05]), rng.choice(["warm", "cold", "free"]))


def check(trace: Trace, policies: list[Policy], rules: CacheRules, summarizer: SizedSummarizer) -> Counter[str]:
    """Every column of every policy; returns how many runs saw which event."""
    seen: Counter[str] = Counter()
    made = fastpath.run(trace, measure(trace), policies, rules, summarizer)
    for policy, row in zip(policies, made, strict=True):
        found = dict(zip(fastpath.COLUMNS, map(int, row), strict=True))
        try:
            run = replay(trace, policy, rules, summarizer=summarizer)
        except EditRefused as refused:
            expected = dict.fromkeys(fastpath.COLUMNS, 0)
            words = str(refused).split()
            expected["refused"], expected["bound"] = int(words[4]), int(words[7])
            seen["refused"] += 1
        else:
            expected = {**columns_of(run), "refused": 0, "bound": 0}
            seen.update({e.kind for e in run.events if e.request <= len(run.rows) and e.messages})
        assert found == expected, policy
    return seen


def test_every_column_of_random_pairs() -> None:
    rng = Random(None if LONG else 9)
    runs = [load(data_path("traces", f"{name}.jsonl")) for name in ("invoice-60", "support-40")]
    runs += [scripted_run(turns, seed=turns) for turns in (1, 6, 12, 25, 60)]
    runs.append(replace(runs[0], needs=(), facts=()))
    peaks = [replay(trace, Policy.nothing()).peak for trace in runs]
    seen: Counter[str] = Counter()
    for _ in range(PAIRS // 10):
        at = rng.randrange(len(runs))
        policies = [a_policy(rng, peaks[at]) for _ in range(10)]
        seen += check(runs[at], policies, some_rules(rng), some_summarizer(rng))
    assert seen["compacted"] >= 0.3 * PAIRS
    for kind in ("capped", "evicted", "cleared", "dropped_thinking", "handed_off"):
        assert seen[kind] >= 0.08 * PAIRS, kind
    assert seen["refused"] >= 0.003 * PAIRS


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(exchanges(), st.integers(0, 2**32))
def test_runs_with_interrupted_calls_and_ids_used_twice(parts: list[list[Block]], seed: int) -> None:
    rng = Random(seed)
    blocks = tuple(block for part in parts for block in part)
    start, requests = 0.0, []
    for i in range(len(parts)):
        requests.append(Request(i + 1, start=rng.choice([start, start, None])))
        start += rng.choice([10.0, 200.0, 400.0, 4_000.0])
    facts = tuple(Fact(b.text[:9], b.text) for b in rng.sample(blocks, min(3, len(blocks))))
    trace = Trace("random", blocks, tuple(requests), (Prefix("Be brief."),), facts=facts)
    policies = [a_policy(rng, replay(trace, Policy.nothing()).peak) for _ in range(5)]
    policies += [replace(p, floor=rng.choice([0, 20, 90])) for p in policies]
    some = {"window": None, "floor": rng.choice([0, 20]), "keep": rng.choice([0, 1]), "keep_recent": rng.choice([0, 2])}
    policies += [Policy(trigger=t, compact_above=t, **some) for t in (1, 60, 200)]  # for the short kernel
    rules = some_rules(rng)
    policies = [p for p in policies if not fastpath.supports(p, rules, trace)]
    if policies:
        check(trace, policies, replace(rules, minimum=rng.choice([0, 40])), SizedSummarizer(rng.choice([0, 8]), 0.1))


@pytest.mark.long
def test_every_real_session(corpus) -> None:
    rng = Random()
    refused = done = 0
    for path in sorted(corpus.rglob("*")):
        if not path.is_file() or path.suffix not in (".jsonl", ".json"):
            continue
        try:
            trace = unedited(load(path))
        except LabError:  # not a session, or one of the damaged files
            continue
        if not trace.requests or not trace.blocks:
            continue
        rules = some_rules(rng)
        peak = max(replay(trace, Policy.nothing()).peak, 10)
        policies = [a_policy(rng, peak) for _ in range(200)]
        policies = [p for p in policies if not fastpath.supports(p, rules, trace)]
        refused += not policies
        done += bool(policies)
        if policies:
            check(trace, policies, rules, some_summarizer(rng))
    print(f"{done} sessions, {refused} that the compiled engine leaves to the reference")
    assert done
