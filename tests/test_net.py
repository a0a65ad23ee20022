"""What a policy really saves, and what disqualifies it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.files import data_path
from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.price.economics import crossing_read_multiplier
from labkit.price.prices import Prices, prices
from labkit.record.generate import scripted_run
from labkit.record.load import load
from labkit.record.trace import Block, Need, Request, Trace
from labkit.replay.bill import bill
from labkit.replay.net import net
from labkit.replay.replay import replay
from labkit.replay.uses import found_needs, needs_of

RUNS = ("invoice-60", "support-40")
ARTICLE = load_policy("article")
CARD = prices("article")


@pytest.fixture(scope="module")
def runs() -> dict[str, Trace]:
    return {name: load(data_path("traces", f"{name}.jsonl")) for name in RUNS}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize(
    ("policy", "summarizer"),
    [
        (replace(ARTICLE, keep=0), None),
        (replace(Policy.nothing(), cap=50), None),
        (replace(Policy.nothing(), cap=50, offload=False), None),
        (Policy(trigger=1, floor=0, keep=None, compact_above=1, keep_recent=2), None),
        (Policy(trigger=1, floor=0, keep=None, compact_above=1, keep_recent=2), SizedSummarizer(1_500)),
    ],
    ids=["keep 0", "cap 50", "cap 50, rest lost", "compact every request", "the same, with a model's summaries"],
)
def test_what_looks_cheap_and_is_not(runs, name, policy, summarizer) -> None:
    """Each costs less than doing nothing at first sight, and is disqualified, or dearer once re-reads are paid."""
    nothing = replay(runs[name], Policy.nothing())
    run = replay(runs[name], policy, summarizer=summarizer)
    made = net(run, nothing, CARD, cold=False)
    assert bill(run, CARD).plain < bill(nothing, CARD).plain
    assert made.disqualified or made.low < 0


@pytest.mark.parametrize("name", RUNS)
def test_the_article_policy_is_neither(runs, name) -> None:
    made = net(replay(runs[name], ARTICLE), replay(runs[name], Policy.nothing()), CARD, cold=False)
    assert not made.disqualified
    assert 0 < made.low < made.high


@pytest.mark.parametrize("name", RUNS)
def test_the_crossing_from_four_totals_is_the_replays(runs, name) -> None:
    managed, naive = replay(runs[name], ARTICLE), replay(runs[name], Policy.nothing())
    four = crossing_read_multiplier(
        naive.fresh, naive.input - naive.fresh, managed.fresh, managed.input - managed.fresh
    )

    def dearer(read: float) -> bool:
        card = replace(CARD, cache_read=CARD.input * read)
        return bill(managed, card).cached > bill(naive, card).cached

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if dearer(middle) else (low, middle)
    assert low == pytest.approx(four, rel=1e-3)
    assert four == pytest.approx({"invoice-60": 0.0262, "support-40": 0.0129}[name], abs=5e-5)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 30),
    policy=st.builds(
        Policy,
        window=st.none(),
        trigger=st.sampled_from([2_000, 5_000, 20_000]),
        floor=st.sampled_from([0, 1_000]),
        keep=st.none() | st.integers(0, 4),
        compact_above=st.sampled_from([None, 3_000]),
        cap=st.sampled_from([None, 200]),
        lifetime=st.sampled_from(["5m", "1h"]),
        keep_alive=st.integers(0, 2),
    ),
    cold=st.booleans(),
    mode=st.sampled_from(["append_only", "breakpoints"]),
)
def test_the_parts_add_up(seed, policy, cold, mode) -> None:
    trace = scripted_run(12, seed=seed)
    rules = CacheRules(minimum=100, ttl_1h=3_600, mode=mode, lookback=20)
    card = Prices.from_multipliers()
    run = replay(trace, policy, rules, summarizer=SizedSummarizer(50, 0.05))
    made = net(run, replay(trace, Policy.nothing(), rules), card, cold=cold)
    total = made.reads + made.writes + made.inserted + made.summaries + made.kept_alive
    assert total == pytest.approx(made.nothing - made.managed, abs=1e-9)
    assert made.low <= made.high
    charged = bill(run, card)
    assert charged.reread <= charged.reread_high + 1e-12
    assert made.fresh * len(run.rows) + sum(r.read_cold if cold else r.read for r in run.rows) == pytest.approx(
        run.input
    )


def test_two_runs_cannot_be_compared(runs) -> None:
    first, second = (replay(run, Policy.nothing()) for run in runs.values())
    with pytest.raises(InputError, match="different runs"):
        net(first, second, CARD)
    with pytest.raises(InputError, match="other prices for larger prompts"):
        net(first, first, replace(prices("gemini-2.5-pro")))


# -- keeping the cache alive, by hand ---------------------------------------------------------------


def paused(*starts: float) -> Trace:
    """A block of 1,000 tokens a request."""
    blocks = tuple(Block("text", "user", "word " * 995, n) for n in range(1, len(starts) + 1))
    return Trace("paused", blocks, tuple(Request(n, start=s) for n, s in enumerate(starts, 1)))


@pytest.mark.parametrize(
    ("keep_alive", "lifetime", "read_cold", "pinged"),
    [
        # Pauses of 700 and 100 seconds; an entry lives 300. Two readings, at 300 and 600, bridge the first.
        (0, "5m", [0, 0, 2_000], [0, 0, 0]),
        (1, "5m", [0, 0, 2_000], [0, 1_000, 0]),
        (2, "5m", [0, 1_000, 2_000], [0, 2_000, 0]),
        (9, "5m", [0, 1_000, 2_000], [0, 2_000, 0]),
        (0, "1h", [0, 1_000, 2_000], [0, 0, 0]),
    ],
)
@pytest.mark.parametrize("mode", ["append_only", "breakpoints"])
def test_keeping_alive_and_the_longer_life(keep_alive, lifetime, read_cold, pinged, mode) -> None:
    rules = CacheRules(minimum=100, ttl=300, ttl_1h=3_600, mode=mode, lookback=20)
    policy = replace(Policy.nothing(), keep_alive=keep_alive, lifetime=lifetime)
    run = replay(paused(0, 700, 800), policy, rules)
    assert [row.input for row in run.rows] == [1_000, 2_000, 3_000]
    assert [row.read_cold for row in run.rows] == read_cold
    assert [row.pinged for row in run.rows] == pinged
    card = Prices.from_multipliers(input=1.0, output=0.0)
    written = 6_000 - sum(read_cold)
    price = 2.0 if lifetime == "1h" else 1.25
    expected = (written * price + 0.1 * (sum(read_cold) + sum(pinged))) / 1e6
    assert bill(run, card).cold == pytest.approx(expected)


def test_a_lifetime_that_is_not_sold() -> None:
    with pytest.raises(InputError, match="lifetime is '1h', but made up has no longer lifetime"):
        replay(paused(0, 1), replace(Policy.nothing(), lifetime="1h"), CacheRules())


def test_editing_only_when_cold() -> None:
    """Three results of 1,000; above the trigger from the second request on, but only the pause opens the gate."""
    blocks = tuple(Block("result", "tool", f"{n} " * 500, n, tool="read", args=str(n)) for n in range(1, 7))
    starts = (0, 10, 20, 30, 1_000, 1_010)
    trace = Trace("gate", blocks, tuple(Request(n, start=s) for n, s in enumerate(starts, 1)))
    eager = Policy(trigger=1_500, floor=0, keep=1, compact_above=None, window=None)
    rules = CacheRules(minimum=100, ttl=300)
    assert [e.request for e in replay(trace, eager, rules).events] == [2, 3, 4, 5, 6]
    patient = replay(trace, replace(eager, only_cold=300), rules)
    assert [e.request for e in patient.events] == [5]
    # Nothing is lost by it: that request would have written everything anyway.
    assert patient.rows[4].read_cold == 0
    # Where the cache is known to be empty, the gate is open however long the pause has to be.
    assert [e.request for e in replay(trace, replace(eager, only_cold=2_000), rules).events] == [5]


def test_compacting_before_a_pause() -> None:
    blocks = tuple(Block("text", "user", f"{n} " * 500, n) for n in range(1, 7))
    starts = (0, 10, 20, 30, 1_000, 1_010)
    trace = Trace("before", blocks, tuple(Request(n, start=s) for n, s in enumerate(starts, 1)))
    policy = Policy(
        window=None, trigger=None, floor=0, keep=None, compact_above=2_000, keep_recent=1, compact_before_pause=True
    )
    run = replay(trace, policy, CacheRules(minimum=100, ttl=300), summarizer=SizedSummarizer(100))
    assert [(e.request, e.kind) for e in run.events] == [(4, "compacted")]


# -- uses -------------------------------------------------------------------------------------------


def test_found_needs_of_the_scripted_runs_hold_nearly_all_listed_ones(runs) -> None:
    for name, run in runs.items():
        found = found_needs(run)
        assert needs_of(run) == run.needs
        by_request = {(n.request, n.excerpt) for n in found}
        plain = [
            n
            for n in run.needs
            if not any(n.request == r and (n.excerpt in e or e in n.excerpt) for r, e in by_request)
        ]
        # Ordinary words cannot be told from chance: "exempt" is not found, "FL-47018" is.
        assert len(plain) <= 6, (name, plain)
        for need in found:
            assert need.excerpt in run.blocks[need.source].text.replace("\\n", "\n")
            assert run.blocks[need.source].kind == "result"
            assert run.blocks[need.source].request <= need.request


@pytest.mark.parametrize("listed", [False, True])
def test_a_passage_of_plain_words_is_found_however_it_is_laid_out(listed) -> None:
    """Needs of a scripted run in which no word can be told from chance, listed or not."""
    said = "the customer keeps every parcel that arrived after the first of May"
    first = Block("result", "tool", f"Rule 7. {said.capitalize()}.\n" + "word " * 400, 2, tool="get", args="a")
    other = Block("result", "tool", "nothing here " + "word " * 400, 3, tool="get", args="b")
    again = Block("text", "assistant", f"As {said.replace(' that', chr(10) + 'that')}, we do nothing.", 5)
    small = Block("text", "assistant", "and so it is the one that is in here", 5)  # no telling word in it
    trace = Trace("passage", (first, other, again, small), tuple(Request(n) for n in range(1, 6)))
    if listed:
        trace = replace(trace, needs=(Need(0, 4, "keeps every parcel"),))
    assert [(n.source, n.request) for n in found_needs(trace)] == [(0, 4)]
    policy = Policy(window=None, trigger=100, floor=0, keep=1, compact_above=None)
    gone = replay(trace, policy)
    assert gone.uses_after_clear == 1
    assert gone.reread_tokens == gone.reread_high > 400
    # The stub names the call: had the call said it, nothing would be lost.
    named = replace(trace, blocks=(replace(first, args=said), other, again, small))
    assert replay(named, policy).uses_after_clear == 0


def test_an_excerpt_counts_only_while_nothing_shows_it() -> None:
    first = Block("result", "tool", "order FL-47018 " + "word " * 400, 2, tool="get", args="a")
    other = Block("result", "tool", "nothing here " + "word " * 400, 3, tool="get", args="b")
    again = Block("text", "assistant", "I look at FL-47018.", 5)
    trace = Trace("uses", (first, other, again), tuple(Request(n) for n in range(1, 6)))
    policy = Policy(window=None, trigger=100, floor=0, keep=1, compact_above=None)
    assert [(n.source, n.request) for n in needs_of(trace)] == [(0, 4)]
    gone = replay(trace, policy)
    assert (gone.uses_after_clear, gone.unread) == (1, 0)
    assert gone.reread_tokens == gone.reread_high > 400
    # The stub names the call; had the call named the order, the excerpt would still stand in sight.
    named = replace(trace, blocks=(replace(first, args="FL-47018"), other, again))
    assert replay(named, policy).uses_after_clear == 0


def test_listed_needs_count_and_found_ones_only_charge() -> None:
    first = Block("result", "tool", "order FL-47018 and XY-99 " + "word " * 400, 2, tool="get", args="a")
    other = Block("result", "tool", "nothing " + "word " * 400, 3, tool="get", args="b")
    again = Block("text", "assistant", "I look at FL-47018 and XY-99-1.", 5)
    trace = Trace(
        "both", (first, other, again), tuple(Request(n) for n in range(1, 6)), needs=(Need(0, 3, "order FL-47018"),)
    )
    policy = Policy(window=None, trigger=100, floor=0, keep=1, compact_above=None)
    run = replay(trace, policy)
    assert run.uses_after_clear == 1
    size = run.reread_tokens
    assert run.reread_high == 2 * size  # the listed need at request 3, the found one at request 4
    assert math.isclose(run.rows[-1].reread_prompts, run.rows[2].input + run.rows[3].input)


@pytest.mark.parametrize("seed", range(4))
def test_generated_runs_lose_exactly_what_was_planted(seed) -> None:
    """The generator plants excerpts of its own; a policy that removes everything misses each of them, and no other."""
    trace = scripted_run(40, seed=seed)
    planted = {(n.source, n.request) for n in trace.needs}
    found = {(n.source, n.request) for n in found_needs(trace)}
    assert planted
    assert planted == found


def test_what_is_compared_with_is_doing_nothing_under_the_same_rules(runs) -> None:
    run = runs["invoice-60"]
    managed, nothing = replay(run, ARTICLE), replay(run, Policy.nothing())
    with pytest.raises(InputError, match="the second replay of invoice-60 edits 13 times: give doing nothing"):
        net(nothing, managed, CARD)
    other = replay(run, Policy.nothing(), replace(ARTICLE_RULES, minimum=4_096))
    with pytest.raises(InputError, match="have different cache rules"):
        net(managed, other, CARD)
