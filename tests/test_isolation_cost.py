"""Both ways in dollars: by hand, and the formula against the replay."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.ladder.policy import Policy
from labkit.price.cache import ARTICLE_RULES, cache_rules
from labkit.price.prices import Band, Prices
from labkit.record.sizes import measure
from labkit.record.trace import Block, Request, Trace, Usage
from labkit.replay.bill import bill
from labkit.replay.isolation import How, Isolation, fold, refolded
from labkit.replay.isolation_cost import sides
from labkit.replay.isolation_form import BreakEven, Variable, Work, break_even, difference, parts
from labkit.replay.replay import replay

CARD = Prices.from_multipliers()


def worked(work: Work, how: How, card_step: float = 0.0) -> Isolation:
    """A run of the formula's plain case: so many calls of one size, then requests that add nothing."""
    n, left = int(work.calls), int(work.left)
    each, call = int(work.stretch) // n, int(work.said) // n
    blocks, sizes = [Block("text", "user", "Go.", 1)], [int(work.parent) - 1_000]
    for i in range(2, n + 2):
        more = {"tool": "look", "args": f"{i}", "call_id": f"{i}"}
        blocks += [Block("call", "assistant", f"look {i}", i, **more), Block("result", "tool", f"seen {i}", i, **more)]
        sizes += [call, each - call]
    requests = tuple(Request(i, start=card_step * i) for i in range(1, n + left + 1))
    run = Trace("plain", tuple(blocks), requests)
    sized = replace(measure(run), blocks=tuple(sizes), system=(1_000,), tools=(0,))
    brief, returned = int(work.brief), int(work.returned)
    if how == "script":
        made = fold(run, 1, n, how=how, sizes=sized)
        errand = replace(made.errand, call_size=brief, result_size=returned)
        parent = list(made.parent.sizes.blocks)
        parent[1:3] = [brief, returned]
        return replace(
            made,
            errand=errand,
            parent=replace(made.parent, sizes=replace(made.parent.sizes, blocks=tuple(parent))),
        )
    return fold(run, 1, n, how=how, brief=brief, returned=returned, prefix=int(work.prefix), sizes=sized)


@pytest.mark.parametrize(("parent", "inline", "isolated"), [(20_000, 0.426, 0.46299), (120_000, 1.221, 0.98799)])
def test_ten_calls_by_hand(parent: int, inline: float, isolated: float) -> None:
    """Ten calls that add 40,000, a child's prefix of 20,000, a return of 200, five requests left.

    $3 a million in, 15 out, 0.30 read, 3.75 written; each call is 100 tokens of output.

    Inline, P = 20,000: the request that begins the work writes 20,000 ($0.075). The ten after it read
    20,000, 24,000, ... 56,000 = 380,000 and write 4,000 each = 40,000; the tenth is the first of the five left.
    Four more read 60,000 each = 240,000. Output: 10 x 100.
        0.075 + 620,000 x 0.30 + 40,000 x 3.75 + 1,000 x 15   = 0.075 + 0.186 + 0.150 + 0.015 = 0.426
    Isolated: the parent's same request writes 20,000. The child writes its 20,000; then ten requests read
    20,000, 24,000, ... 56,000 = 380,000 and write 40,000; output 1,000 and a return of 200. The parent's five
    read 20,000 and four times 20,200 = 100,800 and write 200.
        0.075 + 60,000 x 3.75 + 380,000 x 0.30 + 1,200 x 15 + 200 x 3.75 + 100,800 x 0.30
            = 0.075 + 0.225 + 0.114 + 0.018 + 0.00075 + 0.03024                               = 0.46299
    So at 20,000 inline is cheaper, by 0.03699.

    P = 120,000: inline, the first writes 120,000 ($0.45), ten read 1,380,000, four read 640,000.
        0.45 + 2,020,000 x 0.30 + 0.150 + 0.015                                               = 1.221
    Isolated, the child is the same; the parent's five read 120,000 and four times 120,200 = 600,800.
        0.45 + 0.225 + 0.114 + 0.018 + 0.00075 + 600,800 x 0.30                               = 0.98799
    So at 120,000 the child is cheaper, by 0.23301.
    """
    work = Work(parent, 40_000, 10, 200, 5, said=1_000)
    made = sides(worked(work, "fresh"), CARD)
    assert made.inline_dollars == pytest.approx(inline, abs=1e-12)
    assert made.isolated_dollars == pytest.approx(isolated, abs=1e-12)
    assert made.difference == pytest.approx(difference(work, CARD), abs=1e-12)
    # Each request, spelled out.
    assert [(s.who, s.usage.cache_read, s.usage.cache_write_5m, s.usage.output) for s in made.inline] == [
        ("inline", 0, parent, 100),
        *(("inline", parent + 4_000 * j, 4_000, 100) for j in range(9)),
        ("inline", parent + 36_000, 4_000, 0),
        *[("inline", parent + 40_000, 0, 0)] * 4,
    ]
    assert [(s.who, s.usage.cache_read, s.usage.cache_write_5m, s.usage.output) for s in made.isolated] == [
        ("parent", 0, parent, 0),
        ("child", 0, 20_000, 100),
        *(("child", 20_000 + 4_000 * j, 4_000, 100) for j in range(9)),
        ("child", 56_000, 4_000, 200),
        ("parent", parent, 200, 0),
        *[("parent", parent + 200, 0, 0)] * 4,
    ]
    assert str(made).splitlines()[-1].startswith(f"isolated ${isolated:.4f}, ")


def test_at_a_read_price_of_a_fortieth_the_large_parent_is_cheaper_inline_too() -> None:
    """25,250 x 1.25-writes in all, less 1,039,200 reads at 0.025: 26,250 - 25,980 = 270 tokens' worth."""
    work = Work(120_000, 40_000, 10, 200, 5)
    assert difference(work, Prices.from_multipliers(read=0.025)) == pytest.approx(270 * 3e-6, abs=1e-12)


PLAIN = st.builds(
    lambda parent, each, calls, call, returned, left, prefix, brief: Work(
        parent, each * calls, calls, returned, left, prefix, brief, min(call, each) * calls
    ),
    st.integers(1_024, 200_000),
    st.integers(1, 9_000),
    st.integers(1, 12),
    st.integers(0, 500),
    st.integers(0, 5_000),
    st.integers(1, 30),
    st.integers(1_024, 40_000),
    st.integers(0, 2_000),
)


@given(PLAIN, st.sampled_from(["fresh", "fork", "script"]), st.sampled_from([0.1, 0.05, 0.025, 1.0]))
def test_the_formula_is_the_replay(work: Work, how: How, read: float) -> None:
    card = Prices.from_multipliers(read=read)
    priced = sides(worked(work, how), card).difference
    assert priced == pytest.approx(difference(work, card, how), abs=1e-9)
    assert math.fsum(parts(work, card, how).values()) == pytest.approx(priced, abs=1e-9)
    # Breakpoints at the end of each request change nothing here: every entry ends where the next begins.
    rules = replace(cache_rules("claude-sonnet-4-5"), minimum=1_024)
    assert sides(worked(work, how), card, rules).difference == pytest.approx(priced, abs=1e-9)


@given(PLAIN, st.sampled_from(["parent", "returned", "left", "prefix", "calls"]), st.sampled_from(["fresh", "fork"]))
def test_break_even_is_where_the_replays_change_places(work: Work, name: Variable, how: How) -> None:
    """Replayed at the whole numbers on either side of the break-even."""
    found = break_even(work, CARD, name, how)
    least = {"parent": 1_024, "returned": 0, "left": 1, "prefix": 1_024, "calls": 1}[name]
    each = work.stretch / work.calls

    def priced(value: int) -> float:
        changed = {name: value} if name != "calls" else {"calls": value, "stretch": each * value, "said": 0}
        return sides(worked(replace(work, **changed), how), CARD).difference

    if found.cheaper in ("always", "never"):
        sign = 1 if found.cheaper == "never" else -1
        assert sign * priced(least) >= -1e-12 and sign * priced(least + 5) >= -1e-12
        return
    below, above = math.floor(found.at), math.ceil(found.at)
    if below < least or above > (60 if name in ("calls", "left") else 10**6):
        return
    sign = -1 if found.cheaper == "above" else 1
    assert sign * priced(above) >= -1e-9 and sign * priced(below) <= 1e-9


def test_break_even_by_hand() -> None:
    """Of the ten calls, in units of the input price.

    parent: 26,250 + 0.1 (200,000 - 159,200) = 0.9 P, so P = 33,700.
    returned: at 200 the child is 77,670 cheaper, each token more costs 1.25 + 5 + 0.4: 200 + 77,670 / 6.65.
    calls: a call more spares 0.1 (120,000 - 20,000) + 0.4 x 4,000 = 11,600: 10 - 77,670 / 11,600.
    left: a request more spares 0.1 x 39,800, so it would take 5 - 77,670 / 3,980 requests, below 1: always.
    A fork costs 24,000 + 1,250 more for two requests of 120,000 and the return, and spares 3,980 for each later
    request: 1 + (24,000 + 1,250) / 3,980.
    """
    work = Work(120_000, 40_000, 10, 200, 5)
    expected = {
        "parent": BreakEven(33_700, "above"),
        "returned": BreakEven(200 + 77_670 / 6.65, "below"),
        "calls": BreakEven(10 - 77_670 / 11_600, "above"),
        "left": BreakEven(5 - 77_670 / 3_980, "always"),
    }
    for name, at in expected.items():
        found = break_even(work, CARD, name)  # type: ignore[arg-type]
        assert (found.at, found.cheaper) == (pytest.approx(at.at), at.cheaper)
    found = break_even(work, CARD, "left", "fork")
    assert (found.at, found.cheaper) == (pytest.approx(1 + 25_250 / 3_980), "above")
    # At the first request left nothing is carried yet, so the return's size is all that differs with one left.
    assert break_even(replace(work, left=1), CARD, "parent", "fork").cheaper == "never"
    with pytest.raises(InputError, match="square"):
        break_even(work, CARD, "calls", "script")
    with pytest.raises(InputError, match="variable is 'size'"):
        break_even(work, CARD, "size")  # type: ignore[arg-type]


def test_a_fork_never_spares_the_reading_of_the_parent() -> None:
    """Two requests more, each reads all of the parent: 2 x 120,000 x 0.30 a million."""
    work = Work(120_000, 40_000, 10, 200, 5)
    assert parts(work, CARD, "fork")["parent not re-read"] == pytest.approx(0.072)
    assert parts(work, CARD)["parent not re-read"] == pytest.approx(-9 * 0.036)
    fresh = worked(work, "fresh")
    forked = sides(refolded(fresh, "fork"), CARD)
    assert forked.difference == pytest.approx(difference(work, CARD, "fork"), abs=1e-12)
    first = next(s for s in forked.isolated if s.who == "child")
    assert first.usage == Usage(cache_read=120_000, output=0)
    assert sides(refolded(refolded(fresh, "fork"), "fresh"), CARD) == sides(fresh, CARD)


def test_while_a_child_works_the_parents_cache_ages() -> None:
    """A request a minute: the child of ten calls takes over five minutes, and the parent comes back cold."""
    work = Work(120_000, 40_000, 10, 200, 5)
    made = worked(work, "fresh", card_step=60.0)
    warm, cold = sides(made, CARD), sides(made, CARD, cold=True)
    assert cold.inline_dollars == pytest.approx(warm.inline_dollars, abs=1e-12)
    # Its 120,000 are written and not read: 120,000 x (3.75 - 0.30).
    assert cold.isolated_dollars - warm.isolated_dollars == pytest.approx(0.414, abs=1e-12)
    # A fork reads the parent's entry at each request and keeps it alive.
    forked = refolded(made, "fork")
    assert sides(forked, CARD, cold=True).difference == pytest.approx(sides(forked, CARD).difference, abs=1e-12)


def test_a_siblings_cache_and_another_model() -> None:
    work = Work(120_000, 40_000, 10, 200, 5, said=1_000, warm=10_000)
    made = worked(work, "fresh")
    assert sides(made, CARD, warm=10_000).difference == pytest.approx(difference(work, CARD), abs=1e-12)
    # A child at a third of the price: 0.357 of the isolated side's 0.98799 are its own.
    small = Prices.from_multipliers(1.0, 5.0)
    child = sum(s.dollars for s in sides(made, CARD).isolated if s.who == "child")
    assert child == pytest.approx(0.357)
    cheaper = sides(made, CARD, child_prices=small)
    assert cheaper.isolated_dollars == pytest.approx(0.98799 - 0.357 * 2 / 3, abs=1e-12)
    with pytest.raises(InputError, match="which another model cannot"):
        sides(refolded(made, "fork"), CARD, child_prices=small)
    with pytest.raises(InputError, match="more than the child's prefix"):
        sides(made, CARD, warm=20_001)


def test_before_is_the_same_both_ways(invoice: Trace) -> None:
    made = fold(invoice, 41, 50)
    priced = sides(made, CARD, ARTICLE_RULES)
    assert [s.request for s in priced.inline] == list(range(41, 61))
    assert [(s.who, s.request) for s in priced.isolated] == [
        ("parent", 41),
        *(("child", i) for i in range(1, 12)),
        *(("parent", i) for i in range(42, 52)),
    ]
    assert priced.inline[0].usage.cache_read == priced.isolated[0].usage.cache_read
    whole = priced.before + priced.inline_dollars
    assert whole == pytest.approx(bill(replay(invoice, Policy.nothing()), CARD).cached, abs=1e-12)


def test_what_the_formula_refuses() -> None:
    banded = replace(CARD, bands=(Band(200_000, 6, 22, 0.6, 7.5, 12),))
    with pytest.raises(InputError, match="give one price"):
        parts(Work(1, 1, 1, 1, 1), banded)
    with pytest.raises(InputError, match="how is 'spoon'"):
        parts(Work(1, 1, 1, 1, 1), CARD, "spoon")
    with pytest.raises(InputError, match="left is 0: give 1 or more"):
        Work(1, 1, 1, 1, 0)
    with pytest.raises(InputError, match="warm is 3, over the prefix of 2"):
        Work(1, 1, 1, 1, 1, prefix=2, warm=3)
