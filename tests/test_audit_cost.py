"""What a session cost, and why it was written again: by hand, then on real sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.record.load import load
from labkit.record.trace import Block, Edit, Prefix, Request, Trace, Usage
from labkit.replay.audit_cost import COSTS, cost_of
from labkit.replay.audit_rewrites import rewrites

OPUS = "claude-opus-4-5"  # 5 in, 25 out, 0.5 read, 6.25 and 10 written


def session(*usages: Usage, pauses: tuple[float, ...] = (), model: str | None = OPUS, **fields: object) -> Trace:
    start, requests = 1.78e9, []
    for i, usage in enumerate(usages):
        start += pauses[i] if pauses else 60.0
        requests.append(Request(i + 1, start=start, model=model, usage=usage))
    return Trace("hand", (), tuple(requests), prefixes=(Prefix("", ""),), **fields)  # type: ignore[arg-type]


def dollars(trace: Trace) -> dict[str, float]:
    return {name: round(spent, 9) for name, spent in cost_of(trace).by_cause.items() if spent}


def test_each_token_is_paid_at_its_own_price() -> None:
    usages = Usage(100, 0, 10_000, 0, 1_000), Usage(100, 10_000, 0, 2_000, 500)
    assert dollars(session(*usages)) == {
        "reads": 0.005,
        "growth": 0.0625 + 0.02,
        "uncached": 0.001,
        "output": 0.0375,
    }
    cost = cost_of(session(*usages))
    assert cost.exact == pytest.approx(0.126)
    assert (cost.estimated_low, cost.estimated_high) == (0.0, 0.0)


def test_writes_stand_under_their_causes() -> None:
    usages = Usage(0, 0, 10_000), Usage(0, 0, 11_000), Usage(0, 8_000, 1_000), Usage(0, 2_000, 9_000)
    trace = session(*usages, pauses=(0, 900, 60, 60), edits=(Edit("clear", 3, ()),))
    assert dollars(trace) == {
        "reads": 0.005,
        "growth": 0.0625,
        "expired": 0.06875,
        "edit": 0.00625,
        "unexplained": 0.05625,
    }
    cost = cost_of(trace)
    # No policy changes 10,000 new at first, 1,000 new after the pause, and 2,000 new in the last one.
    assert cost.untouchable == pytest.approx((10_000 + 1_000 + 2_000) * 6.25e-6, rel=1e-3)
    assert cost.main == cost.exact


def test_the_prefix_is_out_of_a_policys_reach() -> None:
    prefix = Prefix("word " * 995, "word " * 1_000)  # 1,000 and 1,001 tokens
    usages = Usage(0, 0, 10_000), Usage(0, 10_000, 0), Usage(0, 0, 10_000)
    requests = tuple(Request(i, 1.78e9 + 900 * (i == 3), OPUS, usage=u) for i, u in enumerate(usages, 1))
    cost = cost_of(Trace("hand", (), requests, (prefix,)))
    size = 2_001
    assert cost.untouchable == pytest.approx(10_000 * 6.25e-6 + size * 0.5e-6 + size * 6.25e-6, rel=1e-3)


def test_what_was_not_read_has_causes_where_writes_are_free() -> None:
    usages = Usage(5_000, 0), Usage(1_000, 4_992), Usage(6_000, 0)
    trace = session(*usages, model="gpt-5.3-codex")
    assert dollars(trace) == {
        "reads": round(4_992 * 0.175e-6, 9),
        "growth": round(6_000 * 1.75e-6, 9),
        "unexplained": round(6_000 * 1.75e-6, 9),
    }


def test_a_placeholder_is_estimated_from_its_text_and_not_added() -> None:
    answer = Block("text", "assistant", "word " * 995, request=2)  # 1,000 tokens
    usage = Usage(0, 0, 10_000, output=3, output_quality="placeholder")
    cost = cost_of(Trace("hand", (answer,), (Request(1, 1.78e9, OPUS, usage=usage),)))
    assert cost.exact == pytest.approx(0.0625)
    assert cost.estimated_low == pytest.approx(0.025)
    assert cost.estimated_high == pytest.approx(0.04)


def test_children_and_summaries_are_apart_and_in_the_total() -> None:
    agent = session(Usage(0, 0, 1_000, output=100))
    summary = session(Usage(0, 100_000, 0, output=2_000), kind="compaction")
    trace = session(Usage(0, 0, 10_000), children=(agent, summary))
    assert dollars(trace) == {"growth": 0.0625, "children": 0.00625 + 0.0025, "summaries": 0.05 + 0.05}
    assert cost_of(trace).exact == pytest.approx(0.17125)
    assert cost_of(trace).main == pytest.approx(0.0625)


def test_an_unknown_model_has_no_price() -> None:
    cost = cost_of(session(Usage(0, 0, 10_000), model="mystery-9"))
    assert (cost.exact, cost.estimated_low, cost.estimated_high) == (None, None, None)
    assert cost.unpriced == ("mystery-9",)
    assert cost.to_json()["by_cause"] is None


def test_a_price_holds_on_its_day() -> None:
    before, after = (
        Trace("hand", (), (Request(1, when, "gemini-4-argon", usage=Usage(1_000_000)),)) for when in (1.796e9, 1.797e9)
    )
    assert (cost_of(before).exact, cost_of(after).exact) != (None, None)
    assert cost_of(before).exact != cost_of(after).exact


@pytest.mark.parametrize(("source", "said"), [("Claude Code: a.jsonl", True), ("OpenHands: b.json", False)])
def test_a_subscription_is_said(source: str, said: bool) -> None:
    assert cost_of(session(Usage(0, 0, 10), source=source)).to_json()["list_price_equivalent"] is said


def test_rewrites_of_a_real_session(corpus: Path) -> None:
    first, second, summary = rewrites(load(corpus / "claude-code" / "entire-microcompact2-compact1.jsonl"))
    for clear, written in ((first, 91_253), (second, 107_439)):
        assert clear.read == 18_591
        assert clear.predicted == pytest.approx(written, rel=0.03)
        assert clear.predicted != clear.written  # predicted, not copied
    assert summary.predicted is None
    assert summary.reattached is not None
    assert 12_000 < summary.reattached < 14_500  # of 16,265 written


def test_a_clearing_of_what_is_not_recorded_is_not_predicted(corpus: Path) -> None:
    found = rewrites(load(corpus / "claude-code" / "entire-microcompact1-compact1-small.jsonl"))
    assert [(r.kind, r.predicted) for r in found] == [("clear", None), ("summary", None)]


def test_real_sessions_are_paid_to_the_last_token(corpus: Path) -> None:
    priced = 0
    for file in sorted((corpus / "claude-code").glob("entire-*.jsonl")):
        trace = load(file)
        cost = cost_of(trace)
        assert list(cost.by_cause) == list(COSTS)
        usage = trace.usage
        if usage is None or {r.model for r in trace.requests} != {"claude-opus-4-5-20251101"}:
            continue
        by_hand = (
            5 * usage.uncached + 0.5 * usage.cache_read + 6.25 * usage.cache_write_5m + 10 * usage.cache_write_1h
        ) / 1e6
        by_hand += sum(25e-6 * r.usage.output for r in trace.requests if r.usage and r.usage.output_quality == "exact")
        assert cost.main == pytest.approx(by_hand, abs=1e-9)
        assert cost.untouchable <= cost.main + 1e-9
        priced += 1
    assert priced >= 8
