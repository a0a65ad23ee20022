"""What-ifs on sessions: refused where the replay cannot reproduce the record, else a range with its loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from labkit.errors import InputError
from labkit.files import data_path
from labkit.ladder.policy import Policy
from labkit.ladder.presets import knobs
from labkit.record.edits import unedited
from labkit.record.load import load
from labkit.record.trace import Block, Prefix, Request, Trace, Usage
from labkit.replay.advice import advise, offers
from labkit.replay.audit import audit
from labkit.replay.replay import replay
from labkit.replay.session_sizes import session_sizes
from labkit.replay.whatif import BAR, whatif

SONNET = "claude-sonnet-4-6"
OPUS = "claude-opus-4-5"  # read 0.5, written 6.25 for 5 minutes and 10 for an hour


def words(n: int) -> str:
    return "word " * (n - 1)


def session(*usages: Usage, pauses: tuple[float, ...], model: str = OPUS) -> Trace:
    start, requests = 1.78e9, []
    for i, (usage, pause) in enumerate(zip(usages, pauses, strict=True), 1):
        start += pause
        requests.append(Request(i, start, model, usage=usage))
    return Trace("hand", (), tuple(requests), source="Claude Code: hand.jsonl")


def test_a_longer_lifetime_by_hand() -> None:
    usages = Usage(0, 0, 100_000), Usage(0, 0, 101_000), Usage(0, 0, 102_000), Usage(0, 102_000, 1_000)
    trace = session(*usages, pauses=(0, 600, 4_000, 60))
    answer = whatif(trace, lifetime="1h")
    assert answer.refused == ""
    # All 304,000 written tokens cost 3.75 a million more. Only the first pause is under an hour: 100,000
    # tokens are then read at 0.5 instead of written at 10.
    extra, gain = 304_000 * 3.75e-6, 100_000 * 9.5e-6
    assert answer.saving[1] == pytest.approx(gain - extra)
    assert answer.nothing == answer.recorded == pytest.approx(304_000 * 6.25e-6 + 102_000 * 0.5e-6)
    assert answer.managed == pytest.approx(answer.recorded - gain + extra)


def test_a_shorter_lifetime_by_hand() -> None:
    usages = Usage(0, 0, 0, 100_000), Usage(0, 100_000, 0, 1_000), Usage(0, 101_000, 0, 1_000)
    answer = whatif(session(*usages, pauses=(0, 600, 60)), lifetime="5m")
    # 102,000 written tokens cost 3.75 a million less; 100,000 are written at 6.25 instead of read at 0.5.
    assert answer.saving[1] == pytest.approx(102_000 * 3.75e-6 - 100_000 * 5.75e-6)


def test_the_low_end_counts_only_what_the_score_vouches_for() -> None:
    usages = [Usage(0, 0, 10_000), Usage(0, 0, 11_000)] + [Usage(0, 11_000, 0)] * 17 + [Usage(0, 5_000, 6_000)]
    answer = whatif(session(*usages, pauses=(0, 600, *[60] * 18)), lifetime="1h")
    assert answer.score == pytest.approx(18 / 19)
    gain = 10_000 * 9.5e-6
    assert answer.saving[2] - answer.saving[0] == pytest.approx(gain / 19)


def test_below_the_bar_there_is_no_answer() -> None:
    usages = Usage(0, 0, 90_000), Usage(0, 18_000, 70_000), Usage(0, 88_000, 10)
    answer = whatif(session(*usages, pauses=(0, 60, 60)), lifetime="1h")
    assert answer.refused == "the replay reproduces 50.0% of the recorded cache reads, and a what-if needs 90%"
    document = answer.to_json()
    assert document["as_run_bar"] == BAR
    assert document["saving_usd"] is None and document["managed_usd"] is None


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (session(Usage(), Usage(), pauses=(0, 60)), "no cache reads or writes are recorded"),
        (session(Usage(0, 0, 90), Usage(0, 90), pauses=(0, 60), model="mystery-9"), "does not know the model"),
        (session(Usage(9, 9), Usage(9, 18), pauses=(0, 60), model="gemini-2.5-flash"), "no published rule"),
    ],
)
def test_what_cannot_be_checked_or_priced_is_refused(trace: Trace, why: str) -> None:
    assert why in whatif(trace, lifetime="1h").refused


def test_the_middle_of_a_session_is_refused_for_policies() -> None:
    orphan = Block("result", "tool", words(50), request=1)
    trace = replace(session(Usage(0, 0, 9_000), Usage(0, 9_000, 10), pauses=(0, 60)), blocks=(orphan,))
    assert "starts in the middle" in whatif(trace, Policy(trigger=1_000)).refused
    assert whatif(trace, lifetime="1h").refused == ""


def test_a_scripted_run_is_not_a_session(invoice: Trace) -> None:
    with pytest.raises(InputError, match="scripted run"):
        whatif(invoice)


def reading(turns: int = 12, size: int = 6_000) -> Trace:
    """A session that reads a file a turn, as the provider would bill it."""
    blocks, requests, total = [Block("text", "user", words(100), request=1)], [], 10_000
    for i in range(1, turns + 1):
        new = 0 if i == 1 else size + 200
        requests.append(Request(i, 1.78e9 + 60 * i, OPUS, usage=Usage(0, 0 if i == 1 else total, new or total)))
        total += new
        blocks.append(Block("call", "assistant", f"Read {words(90)}", request=i + 1, tool="Read", call_id=f"c{i}"))
        blocks.append(Block("result", "tool", words(size), request=i + 1, tool="Read", call_id=f"c{i}"))
    return Trace("reading", tuple(blocks), tuple(requests), (Prefix(),), source="Claude Code: reading.jsonl")


def test_doing_nothing_gives_the_recorded_bill() -> None:
    answer = whatif(reading())
    assert answer.nothing == pytest.approx(answer.recorded, rel=0.002)
    assert answer.saving == (0.0, 0.0, 0.0)


def test_a_policy_is_a_range_with_its_loss() -> None:
    answer = whatif(reading(30), Policy(window=None, trigger=40_000, floor=20_000, keep=2, compact_above=None))
    low, middle, high = answer.saving
    assert low <= middle <= high
    assert 0 < middle < answer.nothing
    assert answer.managed == pytest.approx(answer.nothing - middle)
    assert answer.events > 0 and answer.unread == 0
    greedy = whatif(reading(30), Policy(window=None, trigger=20_000, floor=0, keep=0, compact_above=None))
    assert greedy.unread > 0


def test_passing_the_window_is_said() -> None:
    answer = whatif(reading(40))
    assert answer.overflow is not None
    assert any("passes the model's window of 200,000 tokens" in w for w in answer.warnings)
    assert whatif(reading(5)).overflow is None


def test_a_change_of_the_model_is_said() -> None:
    trace = reading()
    half = len(trace.requests) // 2
    changed = replace(
        trace, requests=tuple(replace(r, model=SONNET if r.index > half else r.model) for r in trace.requests)
    )
    assert not any("another model" in w for w in whatif(trace, Policy(trigger=30_000)).warnings)
    said = whatif(changed, Policy(trigger=30_000)).warnings
    assert any(w.startswith(f"request {half + 1} went to another model") for w in said)


def test_a_result_that_is_quoted_after_it_was_removed() -> None:
    line = "    return Decimal(amount).quantize(CENT)"
    shown = "  12→" + line + "\n" + words(300)

    def blocks(*later: Block) -> Trace:
        first = Block("result", "tool", shown, request=1, tool="Read", args="a.py", call_id="a")
        second = Block("result", "tool", words(300), request=2, tool="Read", call_id="b")
        return Trace("hand", (first, second, *later), tuple(Request(i) for i in range(1, 7)))

    quote = Block("call", "assistant", f'Edit {{"old_string": "x\\n{line}\\ny"}}', request=5, tool="Edit", call_id="c")
    again = Block("result", "tool", shown, request=4, tool="Read", call_id="d")
    policy = Policy(trigger=1, floor=0, keep=1, compact_above=None)

    def uses(trace: Trace, policy: Policy = policy) -> list[tuple[int, int, str]]:
        return [(need.source, need.request, need.excerpt) for need in replay(trace, policy).unmet]

    assert uses(blocks(quote)) == [(0, 4, line.strip())]
    assert uses(blocks(again, quote)) == []  # it had been read again
    assert uses(blocks(replace(quote, role="user", kind="text"))) == []  # the user said it
    assert uses(blocks(quote), Policy.nothing()) == []


def test_what_was_used_later_is_charged_by_hand() -> None:
    """Three excerpts of one result and one of another, the first at two requests."""
    trace = reading(12)
    blocks = list(trace.blocks)
    shown = {1: "FL-47018 ZX-20033 QQ-90871 ", 3: "MM-55512 "}  # the results of the answers to requests 1 and 3
    said = {9: "FL-47018 ZX-20033 ", 10: "QQ-90871 MM-55512 "}
    for i, block in enumerate(blocks):
        if block.kind == "result":
            blocks[i] = replace(block, text=shown.get(block.request - 1, "") + block.text)
        elif block.kind == "call":
            blocks[i] = replace(block, text=said.get(block.request - 1, "") + block.text)
    trace = replace(trace, blocks=tuple(blocks))
    answer = whatif(trace, Policy(window=None, trigger=20_000, floor=0, keep=1, compact_above=None))
    assert (answer.uses_low, answer.uses_high) == (1, 2)
    rows = answer.changed.rows
    sizes = session_sizes(trace, unedited(trace)).blocks
    first, second = (
        next(i for i, b in enumerate(blocks) if b.kind == "result" and text in b.text) for text in shown.values()
    )

    def again(request: int, source: int) -> float:
        return rows[request - 1].input * 0.5e-6 + sizes[source] * 6.25e-6 + 100 * 25e-6

    assert answer.reread[0] == pytest.approx(again(9, first))
    assert answer.reread[1] == pytest.approx(again(9, first) + again(10, first) + again(10, second))
    longer = whatif(trace, answer.policy, lifetime="1h")
    assert longer.reread[0] == pytest.approx(again(9, first) + sizes[first] * 3.75e-6)


def test_advice_names_what_the_harness_can_set() -> None:
    told = advise(audit(session(*[Usage(0, 0, 9_000)] * 12, pauses=(0, *[600] * 11))))
    assert told.change == "keep cache entries for 1 hour"
    assert told.where.startswith("promptCacheTtl, settings.json")
    assert told.answer is not None and told.answer.against_recorded[0] > 0


def test_advice_is_nothing_where_nothing_is_sure() -> None:
    quiet = advise(audit(reading(5)))
    assert (quiet.change, quiet.nothing) == ("nothing", True)
    elsewhere = advise(audit(replace(reading(5), source="OpenHands: x.json")))
    assert "need another harness" in elsewhere.reason
    assert knobs("OpenHands") == ()
    refused = advise(audit(session(Usage(0, 0, 9_000), Usage(0, 900, 9_000), pauses=(0, 60))))
    assert refused.reason.startswith("no what-if: the replay reproduces 0.0%")


def test_offers_begin_with_what_the_harness_can_set() -> None:
    made = offers(audit(reading(30)))
    assert [bool(offer.where) for offer in made] == [True, True, False, False, False]
    assert {offer.where.partition(",")[0] for offer in made[:2]} == {"promptCacheTtl", "autoCompactWindow"}
    lows = [offer.answer.against_recorded[0] for offer in made]
    assert lows[:2] == sorted(lows[:2], reverse=True) and lows[2:] == sorted(lows[2:], reverse=True)
    # Half of the peak of 10,000 and 29 reads of 6,200.
    assert any(offer.change == "anthropic-clear-tool-uses past 94,900 tokens" for offer in made)
    assert [offer.to_json()["needs_another_harness"] for offer in made] == [False, False, True, True, True]
    elsewhere = offers(audit(replace(reading(8), source="OpenHands: x.json")))
    assert len(elsewhere) == 3 and not any(offer.where for offer in elsewhere)


def test_offers_that_are_all_refused_are_one() -> None:
    (only,) = offers(audit(session(Usage(0, 0, 9_000), Usage(0, 900, 9_000), pauses=(0, 60))))
    assert only.answer.refused.startswith("the replay reproduces 0.0%")


def test_the_sample_session_has_an_answer_for_everyone() -> None:
    trace = load(data_path("sessions", "sample"))
    answer = whatif(trace, Policy(window=None, trigger=60_000, floor=20_000, keep=5, compact_above=None))
    assert answer.refused == ""
    assert answer.nothing == pytest.approx(answer.recorded, rel=0.03)


def test_real_sessions_without_edits_replay_to_their_bill(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratios = []
    for file in sorted((corpus / "claude-code").glob("entire-*.jsonl")):
        trace = load(file)
        if trace.edits or len(trace.requests) < 20:
            continue
        answer = whatif(trace)
        if answer.refused or answer.score != 1.0:
            continue
        ratios.append(answer.nothing / answer.recorded)
    with capsys.disabled():
        print(f"\nreplayed to recorded dollars: {', '.join(f'{r:.3f}' for r in ratios)}")
    assert len(ratios) >= 3
    assert all(0.97 < r < 1.03 for r in ratios)
