"""Sweeps against one replay of the reference engine, side by side in one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import ARTICLE_RULES, CacheRules, cache_rules
from labkit.record.generate import scripted_run
from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Trace
from labkit.replay import fastpath
from labkit.replay.replay import replay
from labkit.replay.sweep import sweep

pytest.importorskip("numba", reason="the extra fast is not installed")

BASE = replace(load_policy("default"), window=None)


def policies(triggers: range, keeps: int, floors: range) -> list[Policy]:
    """Clear and compact, over three thresholds."""
    return [replace(BASE, trigger=t, keep=k, floor=f) for t in triggers for k in range(keeps) for f in floors]


@cache
def made(turns: int) -> tuple[Trace, Sizes]:
    trace = scripted_run(turns, seed=1)
    return trace, measure(trace)


def run(trace: Trace, sizes: Sizes, some: list[Policy], rules: CacheRules = ARTICLE_RULES) -> None:
    fastpath.run(trace, sizes, some, rules, SizedSummarizer())


def test_ten_thousand_policies(invoice: Trace, ratio: Callable[..., float], say: Callable[[str], None]) -> None:
    """10,000 policies on invoice-60 take less than twenty replays of the reference engine."""
    sizes = measure(invoice)
    some = policies(range(2_000, 102_000, 2_000), 20, range(0, 20_000, 2_000))
    many = ratio("10,000 policies on invoice-60, every column", lambda: run(invoice, sizes, some))
    one = ratio("one replay, reference", lambda: replay(invoice, BASE, sizes=sizes, summarizer=SizedSummarizer()))
    say(f"a policy: the compiled engine is {10_000 * one / many:,.0f} times as fast as the reference")
    assert many / one < 20


def test_ten_thousand_policies_by_the_long_kernel(invoice, ratio, say) -> None:
    """With a cap and a provider's cache rules, which the short kernel does not know."""
    sizes, rules = measure(invoice), cache_rules("claude-sonnet-4-5")
    some = [replace(p, cap=4_000) for p in policies(range(2_000, 102_000, 2_000), 20, range(0, 20_000, 2_000))]
    many = ratio("10,000 policies, provider's cache and a cap", lambda: run(invoice, sizes, some, rules), rounds=5)
    one = ratio(
        "one replay of them, reference",
        lambda: replay(invoice, some[0], rules, sizes=sizes, summarizer=SizedSummarizer()),
    )
    say(f"a policy: the compiled engine is {10_000 * one / many:,.0f} times as fast as the reference")
    assert many / one < 400


def test_a_whole_sweep_on_either_engine(invoice, say, benchmark) -> None:
    """What a learner waits for: the frame and all, and what it takes without the extra."""
    axes = {"trigger": range(2_000, 102_000, 2_000), "keep": range(20), "floor": range(0, 20_000, 2_000)}
    few = {"trigger": range(2_000, 102_000, 10_000), "keep": [1, 5, 10], "floor": [0, 8_000]}
    sweep(invoice, few)
    benchmark.pedantic(lambda: sweep(invoice, axes), rounds=5, warmup_rounds=1)
    started = time.perf_counter()
    rows = len(sweep(invoice, few, engine="reference"))
    slow = (time.perf_counter() - started) / rows
    fast = benchmark.stats.stats.median / 10_001
    say(
        f"a sweep of 10,001 rows: {fast * 10_001 * 1e3:.0f} ms, {fast * 1e6:.1f} microseconds a row; "
        f"reference: {slow * 1e3:.1f} ms a row, {slow / fast:,.0f} times as long"
    )
    assert slow / fast > 100


def test_a_thousand_policies_on_five_thousand_turns(ratio: Callable[..., float]) -> None:
    trace, sizes = made(5_000)
    some = policies(range(10_000, 60_000, 1_000), 20, range(0, 1))
    assert ratio("1,000 policies, 5,000 turns", lambda: run(trace, sizes, some), rounds=7) < 4


def test_cost_of_a_turn_does_not_grow(say: Callable[[str], None]) -> None:
    """From 60 to 20,000 turns a turn costs about the same; in time of the processor, the least of some rounds."""
    some = policies(range(10_000, 60_000, 1_000), 10, range(0, 1))
    costs = {}
    for turns in (60, 300, 1_000, 5_000, 20_000):
        trace, sizes = made(turns)
        began = time.perf_counter()
        run(trace, sizes, some[:1])
        ready = time.perf_counter() - began
        # A short run is swept several times over, so that starting threads does not count.
        repeated = some * max(2_000 // turns, 1)
        took = min(spent(lambda t=trace, s=sizes, r=repeated: run(t, s, r)) for _ in range(5))  # type: ignore[misc]
        costs[turns] = took / len(repeated) / turns
        say(f"{turns:,} turns: {costs[turns] * 1e9:.0f} ns a turn and policy on one core; made ready in {ready:.2f} s")
    say("cost of a turn against that of 60: " + ", ".join(f"{n:,}: {c / costs[60]:.2f}" for n, c in costs.items()))
    assert max(costs.values()) / min(costs.values()) < 1.5


def spent(work: Callable[[], object]) -> float:
    """Seconds of the processor, over all threads: other programs do not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def test_how_far_from_the_machine(invoice: Trace, say: Callable[[str], None]) -> None:
    """The short kernel against the least that a replay must do, and what it reads against what memory can give."""
    from numba import njit

    @njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
    def least(triggers: Any, size: Any, stop: Any, out: Any) -> None:
        """Add each block once, compare once a request."""
        for p in range(triggers.shape[0]):
            total, end, past = 0, 0, 0
            for r in range(stop.shape[0]):
                first, end = end, stop[r]
                for i in range(first, end):
                    total += size[i]
                if total > triggers[p]:
                    past += 1
            out[p] = past

    big = np.zeros(32_000_000)
    other = np.empty_like(big)
    np.copyto(other, big)
    bandwidth = 2 * big.nbytes / min(spent(lambda: np.copyto(other, big)) for _ in range(5))
    some = policies(range(2_000, 102_000, 2_000), 20, range(0, 20_000, 2_000))
    for name, (trace, sizes), part in (
        ("60 turns", (invoice, measure(invoice)), some),
        ("5,000 turns", made(5_000), some[::20]),
    ):
        size = np.array(sizes.blocks, dtype=np.int64)
        stop = np.array([new.stop for _, new in trace.new_blocks()], dtype=np.int64)
        triggers, out = np.array([float(p.trigger or 0) for p in part]), np.zeros(len(part), np.int64)
        least(triggers, size, stop, out)
        bare = min(spent(lambda: least(triggers, size, stop, out)) for _ in range(5))  # noqa: B023
        own = min(spent(lambda: run(trace, sizes, part)) for _ in range(5))  # noqa: B023
        # Twelve numbers of eight bytes are looked at for a block, four for a request.
        read = len(part) * 8 * (12 * len(size) + 4 * len(stop))
        say(
            f"{name}: {own / bare:.1f} times the least work; reads {read / own / 1e9:.2f} GB/s of the "
            f"{bandwidth / 1e9:.1f} a core copies ({read / own / bandwidth:.0%}): arithmetic is the limit"
        )
        assert read / own < 0.5 * bandwidth
