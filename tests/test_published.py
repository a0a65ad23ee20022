"""The published run: every figure the ctxkit article prints, from our own file by our own replay."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from labkit.files import data_path
from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.price.prices import prices
from labkit.record.load import load
from labkit.replay.bill import bill
from labkit.replay.replay import replay

# Printed by the article's simulate.py: turn, naive, managed.
CONTEXT = {
    1: (649, 649),
    5: (8826, 8826),
    10: (24950, 24950),
    15: (43753, 21850),
    20: (63403, 22804),
    25: (79622, 20491),
    30: (93418, 15497),
    35: (108138, 17992),
    40: (118983, 28837),
    45: (146066, 28298),
    50: (176486, 33041),
    55: (187866, 29429),
    60: (212592, 20965),
}
EVENTS = [
    (12, "cleared", 8, 21903),
    (18, "cleared", 6, 18696),
    (24, "cleared", 6, 18532),
    (30, "cleared", 6, 18790),
    (35, "cleared", 5, 12225),
    (41, "cleared", 6, 17048),
    (44, "cleared", 3, 10574),
    (46, "cleared", 2, 15562),
    (49, "cleared", 3, 10115),
    (52, "cleared", 3, 14992),
    (56, "cleared", 4, 10063),
    (59, "cleared", 3, 13393),
    (59, "compacted", 108, 9734),
]
SUMMARY_LINES = {
    "Summary of turns 1 to 53. Older tool output was dropped; re-read what you need.",
    "DECISION: (turn 16) tax rates load as Decimal from strings, never float",
    "ERROR: AssertionError: '10.010' != '10.01' (last seen turn 32)",
    "FILE: tests/test_invoice.py, last read_file at turn 49",
    "- export uses format_money(), never str(Decimal)",
}


@pytest.fixture(scope="module")
def trace():
    return load(data_path("traces", "invoice-60.jsonl"))


@pytest.fixture(scope="module")
def naive(trace):
    return replay(trace, Policy.nothing())


@pytest.fixture(scope="module")
def managed(trace):
    return replay(trace, load_policy("article"))


def test_context_at_every_printed_turn(naive, managed):
    assert {t: (naive.rows[t - 1].input, managed.rows[t - 1].input) for t in CONTEXT} == CONTEXT


def test_events(managed):
    assert [(e.request, e.kind, e.messages, e.freed) for e in managed.events] == EVENTS
    assert str(managed.events[0]) == "request 12: cleared 8 tool results (-21,903)"


def test_totals(naive, managed):
    assert (naive.input, managed.input) == (5_856_377, 1_286_153)
    assert (naive.peak, managed.peak) == (212_592, 36_936)
    assert (naive.fresh, managed.fresh) == (213_241, 310_929)
    assert (naive.cold, managed.cold) == (2, 2)
    assert (naive.passes(128_000), naive.passes(200_000)) == (42, 58)
    assert managed.context_tokens == 21_158
    assert managed.output == 9_285


def test_costs(naive, managed):
    card = prices("article")
    b = bill(naive, card)
    assert (b.plain, b.cached, b.cold) == pytest.approx((17.708406, 2.63187, 3.32691), abs=1e-6)
    b = bill(managed, card)
    assert (b.plain, b.cached, b.cold) == pytest.approx((3.997734, 1.597826, 1.7465), abs=1e-6)


def test_facts_survive_and_none_is_lost_on_the_way(managed):
    assert [visible for _, _, visible in managed.facts] == [True] * 8
    assert {row.facts_lost for row in managed.rows} == {0}


def test_summary(managed):
    assert managed.summary is not None
    assert set(managed.summary.split("\n")) >= SUMMARY_LINES
    assert len(managed.summary.split("\n")) == 27


def test_published_figures_whole(corpus):
    """Against the file of printed figures, word for word, through the command line."""
    published = corpus.parent / "published-run" / "published.json"
    if not published.exists():
        pytest.skip("no corpus: the published figures are not beside the recorded sessions")
    expected = json.loads(published.read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "labkit.cli", "replay", str(data_path("traces", "invoice-60.jsonl"))]
    done = subprocess.run([*command, "--policy", "article", "--json"], capture_output=True, text=True, check=True)
    given = json.loads(done.stdout)
    for key in ("context", "events", "naive_passes", "facts", "summary"):
        assert given[key] == expected[key], key
    for label, pair in expected["totals"].items():
        for side, value in pair.items():
            if isinstance(value, str):
                assert f"{given['totals'][label][side]:.2f}" == value
            else:
                assert given["totals"][label][side] == value


def test_the_default_policy_keeps_the_same_summary(trace, managed):
    """The mends change stubs, and so the totals, but nothing that the summary of this run needs."""
    mended = replay(trace, load_policy("default"))
    assert mended.summary == managed.summary
    assert mended.input < managed.input


def test_cheap_is_not_good(trace):
    """Trigger 5,000, floor 0, keep 0: cheap, and the agent never saw a result it had asked for."""
    hasty = replay(trace, Policy(trigger=5_000, floor=0, keep=0, compact_above=None, stub_if_smaller=False))
    assert bill(hasty, prices("article")).cached < bill(replay(trace, load_policy("article")), prices("article")).cached
    results = [b for b in trace.blocks if b.kind == "result" and b.tool != "notes_read"]
    assert hasty.unread > len(results) * 0.8
