"""Closed forms against numbers worked by hand and against bills added up request by request."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.ladder.policy import Policy
from labkit.price.economics import (
    break_cost_multiplier,
    compaction_break_even,
    compaction_cost,
    crossing_read_multiplier,
    economic_batch,
    requests_to_repay,
    ttl_break_even,
    ttl_choice,
)
from labkit.price.prices import Prices, prices
from labkit.record.sizes import measure
from labkit.record.trace import Block, Request, Trace
from labkit.replay.bill import bill
from labkit.replay.replay import replay

ARTICLE = prices("article")


def at(read: float) -> Prices:
    return Prices.from_multipliers(read=read)


cards = st.builds(
    lambda read, write: Prices.from_multipliers(1.0, 5.0, read=read, write_5m=write),
    st.floats(0.01, 0.9),
    st.floats(1.0, 1.5),
)
sizes = st.integers(1, 200_000)


@pytest.mark.parametrize(
    ("model", "times"),
    [("article", 12.5), ("claude-opus-5-5", 25), ("claude-fable-5-1", 50), ("claude-fable-5-2", 50), ("gpt-4o", 2)],
)
def test_break_cost_multiplier(model: str, times: float) -> None:
    assert break_cost_multiplier(prices(model)) == pytest.approx(times)


def test_requests_to_repay_by_hand() -> None:
    # 20,000 x (1.25 - 0.1) / (20,000 x 0.1) = 11.5; at 0.025: 1.225 / 0.025 = 49.
    assert requests_to_repay(20_000, 20_000, ARTICLE) == pytest.approx(11.5)
    assert math.ceil(requests_to_repay(20_000, 20_000, ARTICLE)) == 12
    assert requests_to_repay(20_000, 20_000, at(0.025)) == pytest.approx(49)
    # Half as much behind is half as long; with 1,000 of stubs 21,000 x 1.15 / (19,000 x 0.1).
    assert requests_to_repay(20_000, 10_000, ARTICLE) == pytest.approx(5.75)
    assert requests_to_repay(20_000, 20_000, ARTICLE, stubs=1_000) == pytest.approx(24_150 / 1_900)
    assert requests_to_repay(20_000, 0, ARTICLE) == 0
    assert requests_to_repay(1_000, 5, ARTICLE, stubs=1_000) == math.inf
    assert requests_to_repay(0, 5, ARTICLE) == math.inf


def clearing_bill(n: int, cleared: int, behind: int, stubs: int, card: Prices) -> tuple[float, float]:
    """Dollars of n requests left alone, and of the same n after a clear before the first of them."""
    alone = sum(card.cost(read=cleared + behind) for _ in range(n))
    edited = card.cost(write_5m=stubs + behind) + sum(card.cost(read=stubs + behind) for _ in range(n - 1))
    return alone, edited


@given(sizes, sizes, st.integers(0, 5_000), cards)
def test_requests_to_repay_is_where_the_bills_cross(cleared: int, behind: int, stubs: int, card: Prices) -> None:
    assume(stubs < cleared)
    n = requests_to_repay(cleared, behind, card, stubs=stubs)
    assume(1 < n < 300 and abs(n - round(n)) > 1e-6)
    alone, edited = clearing_bill(math.ceil(n), cleared, behind, stubs, card)
    assert edited <= alone
    alone, edited = clearing_bill(math.floor(n), cleared, behind, stubs, card)
    assert edited >= alone


def test_compaction_by_hand() -> None:
    # 0.1 x 80,000 + 5 x 3,500 + 1.25 x 3,500; cold: 80,000 instead of 8,000.
    assert compaction_cost(80_000, 3_500, ARTICLE) == pytest.approx(29_875)
    assert compaction_cost(80_000, 3_500, ARTICLE, warm=False) == pytest.approx(101_875)
    # 10,000 kept behind are written, not read: 11,500 more; 5,000 ahead are read by the call: 500 more.
    assert compaction_cost(80_000, 3_500, ARTICLE, ahead=5_000, behind=10_000) == pytest.approx(41_875)
    # 29,525 / 7,650, 25,700 / 3,825 and 23,787.5 / 1,912.5: rounded up 4, 7 and 13.
    for read, requests in ((0.1, 29_525 / 7_650), (0.05, 25_700 / 3_825), (0.025, 23_787.5 / 1_912.5)):
        assert compaction_break_even(80_000, 3_500, at(read)) == pytest.approx(requests)
    assert compaction_break_even(3_500, 3_500, ARTICLE) == math.inf


def test_the_warm_summary_that_anthropic_measured() -> None:
    # Sonnet 5, 81,000 tokens: $0.04 with a warm cache, $0.21 when the same request broke it. Our plain
    # form gives 81,000 x 0.2 + summary warm; cold the span alone bills 81,000 x 2 = $0.162, as input
    # and not as a write, so it stays below the measured figure.
    card = prices("claude-sonnet-5")
    warm, cold = (compaction_cost(81_000, 2_000, card, warm=w) * card.input / 1e6 for w in (True, False))
    assert warm == pytest.approx(0.0412)
    assert cold == pytest.approx(0.187)


@given(sizes, st.integers(1, 20_000), st.integers(0, 20_000), cards)
def test_compaction_break_even_is_where_the_bills_cross(span: int, summary: int, behind: int, card: Prices) -> None:
    assume(summary < span)
    n = compaction_break_even(span, summary, card, behind=behind)
    assume(1 < n < 300 and abs(n - round(n)) > 1e-6)
    call = card.cost(read=span, output=summary)

    def bills(count: int) -> tuple[float, float]:
        alone = count * card.cost(read=span + behind)
        rest = (count - 1) * card.cost(read=summary + behind)
        return alone, call + card.cost(write_5m=summary + behind) + rest

    alone, compacted = bills(math.ceil(n))
    assert compacted <= alone
    alone, compacted = bills(math.floor(n))
    assert compacted >= alone


def test_the_crossing_of_the_published_run() -> None:
    # (310,929 - 213,241) x 1.25 = 122,110; (5,643,136 - 975,224) = 4,667,912; their ratio is 0.02616.
    crossing = crossing_read_multiplier(213_241, 5_643_136, 310_929, 975_224)
    assert crossing == pytest.approx(122_110 / 4_667_912)
    for read, dearer in ((crossing * 1.01, False), (crossing * 0.99, True)):
        card = at(read)
        naive = card.cost(write_5m=213_241, read=5_643_136)
        managed = card.cost(write_5m=310_929, read=975_224)
        assert (managed > naive) is dearer
    assert crossing_read_multiplier(100, 500, 90, 400) == 0
    assert crossing_read_multiplier(100, 500, 110, 500) == math.inf


def test_lifetimes_by_hand() -> None:
    # 2,500 x (2 - 1.25) / (50,000 x 1.15) = 0.0326: about 1 request in 31, where Anthropic measured 1 in 30.
    assert ttl_break_even(50_000, 2_500, ARTICLE) == pytest.approx(1_875 / 57_500)
    assert ttl_choice(50_000, 2_500, 0.04, ARTICLE) == "1h"
    assert ttl_choice(50_000, 2_500, 0.03, ARTICLE) == "5m"
    assert ttl_choice(50_000, 2_500, 0.0, ARTICLE) == "5m"
    assert ttl_choice(0, 2_500, 1.0, ARTICLE) == "5m"
    with pytest.raises(InputError, match=r"pause_share is 1\.5"):
        ttl_choice(1, 1, 1.5, ARTICLE)


@given(sizes, sizes, st.floats(0, 1), cards)
def test_ttl_choice_is_the_cheaper_bill(prefix: int, growth: int, share: float, card: Prices) -> None:
    pause, run = share, 1 - share
    short = run * card.cost(read=prefix, write_5m=growth) + pause * card.cost(write_5m=prefix + growth)
    long = card.cost(read=prefix, write_1h=growth)
    assume(abs(short - long) > 1e-12)
    assert ttl_choice(prefix, growth, share, card) == ("1h" if long < short else "5m")


def test_a_size_below_zero_is_refused() -> None:
    with pytest.raises(InputError, match="behind is -1"):
        requests_to_repay(1, -1, ARTICLE)
    with pytest.raises(InputError, match="summary is nan"):
        compaction_cost(1, math.nan, ARTICLE)


def test_economic_batch_by_hand() -> None:
    # n x n = 2 x 1.15 x 20,000 / (0.1 x 2,000) = 230, so 15.17 requests of 2,000.
    assert economic_batch(20_000, 2_000, ARTICLE) == pytest.approx(230**0.5 * 2_000)
    # One in ten cold: 2 x 1.035 x 20,000 / (0.215 x 2,000) = 96.28.
    assert economic_batch(20_000, 2_000, ARTICLE, cold=0.1) == pytest.approx((41_400 / 430) ** 0.5 * 2_000)
    assert economic_batch(0, 2_000, ARTICLE) == economic_batch(20_000, 2_000, ARTICLE, cold=1.0) == 0
    assert economic_batch(20_000, 2_000, at(0.0)) == math.inf
    with pytest.raises(InputError, match="cold is 2"):
        economic_batch(1, 1, ARTICLE, cold=2)


def steady(requests: int, size: int) -> Trace:
    """A run that gets one result of the same size for every request, after a task large enough to be cached."""
    blocks = [Block("text", "user", "word " * 2_000, request=1)]
    for i in range(2, requests + 1):
        blocks.append(Block("call", "assistant", "look", request=i, tool="look", call_id=f"c{i}"))
        blocks.append(Block("result", "tool", "word " * (size - 1), request=i, tool="look", call_id=f"c{i}"))
    return Trace("steady", tuple(blocks), tuple(Request(i) for i in range(1, requests + 1)))


@pytest.mark.parametrize("keep", [2, 10])
def test_economic_batch_is_the_best_of_a_sweep(keep: int) -> None:
    """Floors of so many results on a run that meets the assumptions; the form names the cheapest."""
    requests, trace = 300, steady(300, 400)
    sizes = measure(trace)
    call, result = sizes.blocks[1], sizes.blocks[2]
    stub = sizes.count("[gone]") + result - sizes.count(trace.blocks[2].text)
    stale = result - stub
    # The newest of the kept results is new to the request that clears, and is written in any case.
    behind = (keep - 1) * (call + result) - call
    runs = {}
    for n in (*range(1, 26), 30, 35, 40):
        policy = Policy(window=None, trigger=1, floor=n * stale, keep=keep, stub_text="[gone]", compact_above=None)
        runs[n] = replay(trace, policy, sizes=sizes)
    for read in (0.1, 0.05, 0.025):
        card = at(read)
        costs = {n: bill(run, card).cached for n, run in runs.items()}
        best = min(costs, key=lambda n: costs[n])
        formula = economic_batch(behind, stale, card) / stale
        assert costs[round(formula)] <= costs[best] * 1.005
        assert abs(best - formula) <= max(1.5, 0.1 * formula)

        # Not only the place of the least: what another batch costs more, too.
        def extra(n: int, card: Prices = card) -> float:
            broken = card.cost(write_5m=behind) - card.cost(read=behind)
            return requests * (card.cost(read=stale) * (n - 1) / 2 + broken / n)

        assert costs[1] - costs[best] == pytest.approx(extra(1) - extra(best), rel=0.06)


def test_what_cannot_be_reckoned_with_is_a_sentence() -> None:
    with pytest.raises(InputError, match="cleared is 'x': it counts tokens"):
        requests_to_repay("x", 5, ARTICLE)
    with pytest.raises(InputError, match="prices is 'article': give a price card"):
        requests_to_repay(1, 5, "article")
    with pytest.raises(InputError, match="prices is None: give a price card"):
        break_cost_multiplier(None)
    with pytest.raises(InputError, match="write is -1: it is a multiple"):
        crossing_read_multiplier(1, 10, 2, 3, write=-1)
    for form in (compaction_cost, compaction_break_even):
        with pytest.raises(InputError, match=r"input price of .* is 0"):
            form(80_000, 3_500, Prices.from_multipliers(input=0))
