"""Claims about policies on recorded sessions: the trials priced anew, the table counted by hand, the real sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.files import data_path
from labkit.ladder.policy import Policy
from labkit.price.prices import Prices
from labkit.record.edits import unedited
from labkit.record.load import load
from labkit.replay.bill import bill
from labkit.replay.claims import READS, TRIALS, Outcome, claim_lines, outcomes, why_not
from labkit.replay.replay import replay
from labkit.replay.session_sizes import session_sizes
from labkit.replay.whatif import session_rules


def test_every_trial_is_the_share_of_two_bills() -> None:
    trace = load(data_path("sessions", "sample"))
    assert why_not(trace) == ""
    found = {(o.claim, o.trial, o.read): o for o in outcomes(trace)}
    assert set(found) == {(claim, trial, read) for claim, trial, _ in TRIALS for read in READS}
    base = unedited(trace)
    sizes, rules, card = session_sizes(trace, base), session_rules(trace), Prices.from_multipliers(read=0.05)
    nothing = bill(replay(base, Policy.nothing(), rules, sizes=sizes), card).cold
    for claim, trial, policy in TRIALS:
        if claim == "compact":
            continue
        charged = bill(replay(base, policy, rules, sizes=sizes), card)
        one = found[claim, trial, 0.05]
        assert one.low == pytest.approx(1 - (charged.cold + charged.reread_high) / nothing)
        assert one.high == pytest.approx(1 - (charged.cold + charged.reread) / nothing)
        if claim == "lifetime":
            assert one.low == one.high != 0


def test_the_table_counts_what_pays_and_what_costs() -> None:
    claim, trial, _ = TRIALS[0]
    ranges = [(0.1, 0.3, 0), (0.2, 0.2, 0), (-0.2, 0.4, 0), (-0.5, -0.3, 0), (0.9, 0.9, 2), (0.0, 0.0, 0)]
    made = [[Outcome(claim, trial, 0.1, low, high, unread, 1)] for low, high, unread in ranges]
    assert [session[0].verdict for session in made] == ["pays", "pays", "open", "costs", "unread", "idle"]
    # Middles of the four that count: -0.4, 0.1, 0.2, 0.2.
    row = claim_lines(made)[2]
    assert row.split()[-6:] == ["2/1/1", "+15.0%", "0/0/0", "-", "0/0/0", "-"]


def test_a_short_session_is_left_out(corpus: Path) -> None:
    assert why_not(load(corpus / "claude-code" / "spotter-tool_heavy.jsonl")).endswith("at least 30 are needed")
    orphan = load(corpus / "claude-code" / "entire-orphan-result-after-compaction.jsonl")
    assert why_not(orphan) == "the record starts in the middle of a session"


NAMES = ("image", "malformed-line", "microcompact2-compact1", "tasks-progress", "two-session-ids")


def test_real_sessions(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces = [load(corpus / "claude-code" / f"entire-{name}.jsonl") for name in NAMES]
    assert [why_not(trace) for trace in traces] == [""] * len(NAMES)
    found = [outcomes(trace) for trace in traces]
    with capsys.disabled():
        print("", *claim_lines(found), sep="\n")
    for session in found:
        by = {(o.trial, o.read): o for o in session}
        for read in READS:
            # An edit of a cold prefix breaks nothing.
            assert by["only after a pause of 5 minutes", read].high >= 0
            every, rare = by["past 20,000, every 1 results", read], by["past 20,000, every 20 results", read]
            assert every.edits >= rare.edits
        # The cheaper a read, the less is saved by reading less: batches of one only break the prefix.
        shares = [by["past 20,000, every 1 results", read].high for read in READS]
        assert shares == sorted(shares, reverse=True)
        # So does evicting deep in a warm prefix, in each of these sessions.
        assert by["at any time", 0.025].verdict == "costs"
