"""The provider's cache: the documented examples, by hand, and what must always hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.price.cache import CacheRules, cache_rules
from labkit.price.cache_state import Breakpoint, Entry, Spent, spend
from labkit.record.sizes import measure
from labkit.record.tokens import Counter
from labkit.record.trace import Block, Prefix, Request, Trace
from labkit.replay.replay import replay

RULES = CacheRules("test", mode="breakpoints", minimum=1_000, ttl=300, ttl_1h=3_600, lookback=20)
LETTERS = Counter("letters", "exact", len)


def test_twenty_positions_the_breakpoint_counted_first():
    # Anthropic's example: written at 15, next breakpoint at 35, which looks at 35 to 16.
    _, held = spend((), [Breakpoint(15, 15, 5_000)], 5_000, RULES)
    missed, _ = spend(held, [Breakpoint(35, 35, 9_000)], 9_000, RULES)
    found, _ = spend(held, [Breakpoint(34, 34, 9_000)], 9_000, RULES)
    assert missed == Spent(0, 9_000, 0, 0)
    assert found == Spent(5_000, 4_000, 0, 0)


def test_below_the_minimum_nothing_is_cached_and_nothing_said():
    spent, held = spend((), [Breakpoint(1, 1, 999)], 999, RULES)
    assert (spent, held) == (Spent(0, 0, 0, 999), ())
    spent, held = spend((), [Breakpoint(1, 1, 1_000)], 1_000, RULES)
    assert (spent, len(held)) == (Spent(0, 1_000, 0, 0), 1)


def test_the_tail_behind_the_last_breakpoint_is_uncached():
    spent, _ = spend((), [Breakpoint(0, 0, 2_000)], 2_700, RULES)
    assert spent == Spent(0, 2_000, 0, 700)


def test_mixed_lifetimes_are_billed_in_three_parts():
    # A = 2,000 read; B = 5,000 the last long breakpoint; C = 9,000 the last one of all.
    held = (Entry(2, 2, 2_000, 0.0, 300.0),)
    points = [Breakpoint(2, 2, 2_000, long=True), Breakpoint(5, 5, 5_000, long=True), Breakpoint(9, 9, 9_000)]
    spent, after = spend(held, points, 9_500, RULES, now=100.0)
    assert spent == Spent(2_000, 4_000, 3_000, 500)
    assert {e.position: e.lives for e in after} == {2: 300.0, 5: 3_600.0, 9: 300.0}


def test_an_entry_dies_of_age_and_reading_refreshes_it():
    points = [Breakpoint(1, 1, 4_000)]
    _, held = spend((), points, 4_000, RULES, now=0.0)
    spent, refreshed = spend(held, points, 4_000, RULES, now=300.0)
    assert spent.read == 4_000
    assert spend(held, points, 4_000, RULES, now=300.5)[0].read == 0
    assert spend(refreshed, points, 4_000, RULES, now=600.0)[0].read == 4_000


def test_reading_a_long_entry_refreshes_the_short_ones_inside():
    points = [Breakpoint(0, 0, 2_000), Breakpoint(9, 9, 6_000)]
    _, held = spend((), points, 6_000, RULES, now=0.0)
    _, held = spend(held, points, 6_000, RULES, now=290.0)
    # An edit at block 3 leaves the system prompt's entry, 580 seconds after it was written.
    spent, _ = spend(held, points, 6_000, RULES, now=580.0, intact=3)
    assert spent == Spent(2_000, 4_000, 0, 0)


def test_counts_are_rounded_down_to_the_step():
    rules = CacheRules("openai", mode="breakpoints", minimum=1_024, step=128)
    _, held = spend((), [Breakpoint(1, 1, 1_300)], 1_300, rules)
    spent, _ = spend(held, [Breakpoint(2, 2, 2_000)], 2_000, rules)
    assert spent == Spent(1_280, 720, 0, 0)


points_strategy = st.lists(
    st.tuples(st.integers(0, 60), st.booleans()), min_size=1, max_size=4, unique_by=lambda p: p[0]
)


@given(
    st.lists(st.tuples(points_strategy, st.integers(0, 60), st.floats(0, 500)), min_size=1, max_size=8),
    st.sampled_from([None, 5, 20]),
)
def test_the_four_parts_always_add_up(requests, lookback):
    rules = CacheRules("any", mode="breakpoints", minimum=1_000, ttl=300, ttl_1h=3_600, lookback=lookback)
    entries: tuple[Entry, ...] = ()
    now = 0.0
    for points, intact, pause in requests:
        now += pause
        total = 6_500
        chosen = [Breakpoint(p, p, 100 * p, long) for p, long in sorted(points)]
        before = entries
        spent, entries = spend(entries, chosen, total, rules, now=now, intact=intact)
        assert spent.read + spent.write_5m + spent.write_1h + spent.uncached == total
        assert min(spent.read, spent.write_5m, spent.write_1h, spent.uncached) >= 0
        assert spent.read in {0, *(e.tokens for e in before if e.position <= intact and now - e.used <= e.lives)}


def trace_of(sizes: list[int]) -> Trace:
    blocks = [Block("text", "user", "t" * 2_000, request=1)]
    for t, size in enumerate(sizes, 1):
        blocks.append(Block("call", "assistant", "c" * 20, request=t + 1, tool="read", args=str(t)))
        blocks.append(Block("result", "tool", "r" * size, request=t + 1, tool="read", args=str(t)))
    return Trace(
        "g", tuple(blocks), tuple(Request(t) for t in range(1, len(sizes) + 1)), (Prefix("s" * 900),), kind="scripted"
    )


@given(st.lists(st.integers(1, 3_000), min_size=1, max_size=30))
def test_without_edits_a_breakpoint_at_the_end_is_the_append_only_cache(sizes):
    trace = trace_of(sizes)
    append = CacheRules("a", minimum=1_024)
    breakpoints = CacheRules("b", minimum=1_024, mode="breakpoints", lookback=20)
    one, two = (replay(trace, Policy.nothing(), r, sizes=measure(trace, LETTERS)) for r in (append, breakpoints))
    assert [r.read for r in one.rows] == [r.read for r in two.rows]


@given(st.lists(st.integers(1, 3_000), min_size=5, max_size=40), st.integers(0, 4))
def test_a_real_cache_never_reads_more_than_the_shared_prefix(sizes, keep):
    trace = trace_of(sizes)
    policy = Policy(trigger=6_000, floor=500, keep=keep, compact_above=9_000, keep_recent=4)
    append = CacheRules("a", minimum=0)
    breakpoints = CacheRules("b", minimum=0, mode="breakpoints", lookback=20, placement=("system", "last"))
    shared, real = (replay(trace, policy, r, sizes=measure(trace, LETTERS)) for r in (append, breakpoints))
    assert all(r.read <= s.read for r, s in zip(real.rows, shared.rows, strict=True))


def test_looking_back_makes_the_published_policy_dearer_than_the_article_says(invoice):
    """After a clear the article still reads all before it; a provider finds no entry there."""
    article = replay(invoice, load_policy("article"))
    real = replay(invoice, load_policy("article"), cache_rules("claude-sonnet-4-5"))
    assert article.fresh == 310_929
    assert real.fresh == 379_571
    assert replay(invoice, Policy.nothing(), cache_rules("claude-sonnet-4-5")).fresh == 213_241
