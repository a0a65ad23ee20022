"""Sweeps against one replay of the reference engine, side by side in one run."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from labkit.ladder.presets import load_policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import ARTICLE_RULES
from labkit.record.generate import scripted_run
from labkit.record.sizes import measure
from labkit.replay import fastpath
from labkit.replay.replay import replay

pytest.importorskip("numba", reason="the extra fast is not installed")

BASE = replace(load_policy("default"), window=None)


def test_ten_thousand_policies(invoice, ratio):
    """10,000 policies on invoice-60 take about as long as twenty replays of the reference engine."""
    sizes = measure(invoice)
    policies = [
        replace(BASE, trigger=trigger, keep=keep, floor=floor)
        for trigger in range(2_000, 102_000, 2_000)
        for keep in range(20)
        for floor in range(0, 20_000, 2_000)
    ]
    one = ratio("one replay, reference", lambda: replay(invoice, BASE, sizes=sizes, summarizer=SizedSummarizer()))
    many = ratio(
        "10,000 policies", lambda: fastpath.run(invoice, sizes, policies, ARTICLE_RULES, SizedSummarizer()), rounds=5
    )
    assert many / one < 60


def test_cost_of_a_turn_does_not_grow(ratio, capsys):
    """From 1,000 to 5,000 turns a turn costs about the same."""
    policies = [replace(BASE, trigger=t, keep=k) for t in range(10_000, 60_000, 1_000) for k in range(10)]
    costs = []
    for turns in (1_000, 5_000):
        trace = scripted_run(turns, seed=1)
        sizes = measure(trace)
        began = time.perf_counter()
        fastpath.run(trace, sizes, policies[:1], ARTICLE_RULES, SizedSummarizer())
        ready = time.perf_counter() - began
        took = ratio(
            f"{len(policies)} policies, {turns:,} turns",
            lambda t=trace, s=sizes: fastpath.run(t, s, policies, ARTICLE_RULES, SizedSummarizer()),
            rounds=5,
        )
        with capsys.disabled():
            print(f"\n{turns:,} turns: made ready in {ready:.2f} s")
        costs.append(took / turns)
    assert costs[1] / costs[0] < 1.5
