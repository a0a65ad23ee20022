"""Faults that people reported in programs which audit agent runs: one place, a test for each kind, by its name.

Each input is small and made up; each docstring names a public report. What a kind needs in more depth
is tested beside the code it concerns.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summary
from labkit.ladder.summaries import ExtractiveSummarizer
from labkit.price.cache import cache_rules
from labkit.price.prices import prices
from labkit.record.edits import as_sent
from labkit.record.formats.chat import chat_usage
from labkit.record.formats.usage import disjoint
from labkit.record.growth import fit_growth
from labkit.record.load import load
from labkit.record.once import usage_once
from labkit.record.pairs import answers
from labkit.record.sizes import measure
from labkit.record.tokens import get_counter
from labkit.record.trace import Block, Edit, Request, Trace, Usage
from labkit.replay.asrun import reproduce
from labkit.replay.audit import audit
from labkit.replay.replay import replay
from labkit.replay.sessions import list_sessions
from session_lines import assistant, boundary, call, line, result, stamp, text, usage, user, write

DATA = Path(__file__).resolve().parent / "data"


def counts(trace: Trace) -> tuple[int, ...]:
    used = trace.usage or Usage()
    return used.uncached, used.cache_read, used.cache_write_5m, used.cache_write_1h, used.output


def whole(trace: Trace) -> list[Trace]:
    return [trace, *(t for child in trace.children for t in whole(child))]


# -- 1 to 6: which lines are one response ------------------------------------------------------------


def test_01_one_response_on_many_lines(tmp_path: Path) -> None:
    """https://github.com/ccusage/ccusage/issues/994: 19 lines of one answer, its usage added 19 times."""
    used = usage(4, 1_000, 200, 90)
    thinking = {"type": "thinking", "thinking": "Eighteen files."}
    parts = [thinking, *(call(f"t{i}", "Write", file_path=f"{i}.py") for i in range(18))]
    path = write(tmp_path / "a.jsonl", user("go"), *(assistant("m1", part, used) for part in parts))
    trace = load(path)
    assert counts(trace) == (4, 1_000, 200, 0, 90)
    assert [b.kind for b in trace.blocks] == ["text", "thinking", *["call"] * 18]
    # Every way to the bill agrees: the audit, its dollars and the row in a list.
    card = prices("claude-sonnet-4-6")
    dollars = card.request_cost(Usage(4, 1_000, 200, 0, 90))
    assert audit(trace).cost.to_json()["exact"] == pytest.approx(dollars)
    assert [row.dollars for row in list_sessions([path])] == [pytest.approx(dollars)]


@pytest.mark.parametrize("stale_last", [False, True])
def test_02_first_line_wins(tmp_path: Path, stale_last: bool) -> None:
    """https://github.com/ccusage/ccusage/issues/888: output grows from line to line, and the first is kept."""
    lines = [
        assistant("m1", text(f"{i}"), usage(4, 5, 9, n, hour)) for i, (n, hour) in enumerate([(2, 0), (2, 0), (90, 9)])
    ]
    lines += [assistant("m1", text("late"), usage(4, 5, 9, 40, 0))] if stale_last else []
    trace = load(write(tmp_path / "a.jsonl", user("go"), *lines))
    # The whole of one line, and never the fields of two: the hour's write stands on the line of the 90.
    assert (counts(trace), len(trace.requests)) == ((4, 5, 0, 9, 90), 1)


def test_03_no_request_id_or_one_message_id(tmp_path: Path) -> None:
    """https://github.com/ccusage/ccusage/issues/976, 1635: no request ids; one message id for all."""
    twice = [assistant("m1", text("a"), usage(5, 0, 0, 7)), assistant("m1", text("b"), usage(5, 0, 0, 7))]
    assert counts(load(write(tmp_path / "a.jsonl", user("go"), *twice)))[4] == 7
    relay = []
    for i in range(4):
        relay += [user(f"step {i}", 10 * i), assistant("ocgo", text(f"{i}"), usage(100 + i, 0, 0, 7), 10 * i + 5)]
    trace = load(write(tmp_path / "b.jsonl", *relay))
    assert (len(trace.requests), counts(trace)[4]) == (4, 28)
    assert any("'ocgo' stands for 4 different responses" in w for w in trace.warnings)


def test_04_output_that_never_gets_its_final_value(tmp_path: Path) -> None:
    """https://github.com/anthropics/claude-code/issues/22686: 3 tokens recorded for a page of text."""
    trace = load(write(tmp_path / "a.jsonl", user("go"), assistant("m1", text("word " * 600), usage(5, 0, 0, 3))))
    used = trace.requests[0].usage
    assert used is not None and (used.output, used.output_quality) == (3, "placeholder")
    cost = audit(trace).cost.to_json()
    assert cost["estimated_high"] > cost["estimated_low"] >= cost["exact"]


def test_05_subagents_dropped_or_counted_twice(tmp_path: Path) -> None:
    """https://github.com/majiayu000/ccstats/issues/85, https://github.com/steipete/CodexBar/issues/646."""
    side = [
        line("user", 5, isSidechain=True, agentId="a1", message={"role": "user", "content": "look"}),
        assistant("m9", text("found"), usage(50, 0, 0, 9), 6, isSidechain=True, agentId="a1", stop="end_turn"),
    ]
    main = [user("go"), assistant("m1", text("yes"), usage(10, 0, 0, 5), 2, stop="end_turn")]
    both = []
    for name, inline in (("x", []), ("y", side)):
        path = write(tmp_path / name / "s1.jsonl", *main, *inline)
        write(tmp_path / name / "s1" / "subagents" / "agent-a1.jsonl", *side)
        trace = load(path)
        assert counts(trace) == (10, 0, 0, 0, 5)  # nothing of the child fills the parent
        assert [c.kind for c in trace.children] == ["subagent"]
        both.append(usage_once([trace])[0])
    assert both[0] == both[1]
    assert (both[0].uncached, both[0].output) == (60, 14)


def test_05_a_subagents_file_that_is_found_by_itself_too() -> None:
    """https://github.com/ryandemelo/token-monitor/issues/63: spent once by the parent's sum, once by its own file."""
    parent, child = sorted((DATA / "codex").glob("*.jsonl"), key=lambda path: -path.stat().st_size)
    trace = load(parent)
    assert [c.kind for c in trace.children].count("subagent") == 1
    dollars = audit(trace).cost.exact
    assert dollars and dollars > (audit(load(child)).cost.exact or 0.0) > 0
    for paths in ([parent, child], [child, parent]):
        rows = list(list_sessions(paths))
        assert [row.shared for row in rows] == [0, len(load(child).requests)]
        assert sum(row.dollars or 0.0 for row in rows) == pytest.approx(dollars)


def test_06_resumed_and_branched_copies(tmp_path: Path) -> None:
    """https://github.com/langfuse/claude-observability-plugin/issues/33: two files with the same first calls."""
    shared = [user("go"), assistant("m1", text("a"), usage(10, 0, 0, 5), stop="end_turn"), user("more")]
    a = write(tmp_path / "a.jsonl", *shared, assistant("m2", text("b"), usage(20, 0, 0, 6), stop="end_turn"))
    b = write(tmp_path / "b.jsonl", *shared, *shared, assistant("m3", text("c"), usage(30, 0, 0, 7), stop="end_turn"))
    assert any("3 lines are copies" in w for w in load(b).warnings)
    total, again = usage_once([load(a), load(b)])
    assert (total.uncached, total.output, again) == (60, 18, 1)
    # The list of sessions adds up to the same, whichever file is older.
    card = prices("claude-sonnet-4-6")
    for paths in ([a, b], [b, a]):
        listed = list(list_sessions(paths))
        assert [row.shared for row in listed] == [0, 1]
        assert sum(row.dollars or 0.0 for row in listed) == pytest.approx(card.request_cost(Usage(60, output=18)))
    # One id from a relay is no copy.
    relay = [assistant("ocgo", text(f"{i}"), usage(i, 0, 0, 7), stop="end_turn") for i in (5, 6)]
    assert usage_once([load(write(tmp_path / "c.jsonl", user("go"), *relay))]) == (Usage(11, output=14), 0)


# -- 7 to 13: what counts ----------------------------------------------------------------------------


def test_07_parallel_calls_lost_or_seen_as_forks(tmp_path: Path) -> None:
    """https://github.com/langfuse/claude-observability-plugin/pull/6: four calls, results between their lines."""
    lines: list[dict[str, Any]] = [user("go")]
    for i in range(4):
        lines += [assistant("m1", call(f"t{i}"), usage(5, 0, 0, 9)), result(f"t{i}", f"r{i}")]
    trace = load(write(tmp_path / "a.jsonl", *lines, assistant("m2", text("done"), usage(6, 0, 0, 1))))
    assert len(trace.requests) == 2
    assert [b.kind for b in trace.blocks] == ["text", *["call"] * 4, *["result"] * 4, "text"]
    assert len({b.message for b in trace.blocks if b.kind == "call"}) == 1
    assert len({b.message for b in trace.blocks if b.kind == "result"}) == 1


def codex(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-03-02T09:00:{second:02}.000Z", "type": kind, "payload": payload}


def counted(second: int, given: int, cached: int, out: int) -> dict[str, Any]:
    total = {"input_tokens": given, "cached_input_tokens": cached, "output_tokens": out}
    return codex(second, "event_msg", type="token_count", info={"total_token_usage": total})


def answered(second: int, words: str) -> dict[str, Any]:
    part = [{"type": "output_text", "text": words}]
    return codex(second, "response_item", type="message", role="assistant", content=part)


def test_08_token_counts_sent_again_and_inherited(tmp_path: Path) -> None:
    """https://github.com/ccusage/ccusage/issues/1288, 1349: a counter repeated unchanged, and a fork that copies it."""
    own = [codex(0, "session_meta", id="s1"), answered(1, "a"), counted(2, 1_000, 600, 50), counted(3, 1_000, 600, 50)]
    own += [answered(4, "b"), counted(5, 3_300, 1_800, 80), counted(6, 3_300, 1_800, 80)]
    trace = load(write(tmp_path / "a.jsonl", *own))
    assert counts(trace) == (1_500, 1_800, 0, 0, 80)
    assert "2 token counts repeat the one before; counted once" in trace.warnings
    meta = codex(0, "session_meta", id="s2", forked_from_id="s1", timestamp="2026-03-02T09:00:00.000Z")
    copied = [replace_time(row, "2026-03-02T09:00:00.500Z") for row in own]
    fork = [meta, *copied, answered(20, "c"), counted(21, 3_800, 2_200, 90)]
    child = load(write(tmp_path / "b.jsonl", *fork))
    assert counts(child) == (100, 400, 0, 0, 10)


def replace_time(row: dict[str, Any], time: str) -> dict[str, Any]:
    return {**row, "timestamp": time}


def test_09_iterations_missing_from_the_bill() -> None:
    """https://github.com/pydantic/pydantic-ai/issues/5065: only the top level of the usage is read."""
    trace = load(DATA / "anthropic" / "compaction.jsonl")
    used = [t.usage or Usage() for t in whole(trace)]
    assert (sum(u.total_input for u in used), sum(u.output for u in used)) == (774, 25)
    assert [r.usage.total_input for r in trace.requests if r.usage] == [30, 44]  # what filled the window


def test_10_the_compaction_call_is_never_counted(tmp_path: Path) -> None:
    """https://github.com/openai/openai-agents-python/issues/4434: the pass that wrote the summary is not in the sum."""
    main = [user("go"), assistant("m1", text("a"), usage(9_000, 0, 0, 5), 1, stop="end_turn")]
    main += [boundary("compact_boundary", 2), user("Summary.", 3, isCompactSummary=True)]
    path = write(tmp_path / "s1.jsonl", *main)
    assert any("1 summaries are not recorded: what they cost is not counted" in w for w in load(path).warnings)
    wrote = assistant("m7", text("Summary."), usage(9_005, 0, 0, 300), 2, isSidechain=True, stop="end_turn")
    asked = line("user", 2, isSidechain=True, message={"role": "user", "content": "Sum up."})
    write(tmp_path / "s1" / "subagents" / "agent-acompact-1.jsonl", asked, wrote)
    trace = load(path)
    assert [(c.kind, (c.usage or Usage()).total_input) for c in trace.children] == [("compaction", 9_005)]
    assert not any("not recorded" in w for w in trace.warnings)


def test_11_cached_tokens_on_top_of_an_inclusive_input() -> None:
    """https://github.com/langfuse/langfuse/issues/12306: 130,213 tokens shown as 260,421; 10592: 17,903 as 35,720."""
    span = disjoint(130_213, 40, 128_955, 1_253)
    assert span is not None and (span.uncached, span.total_input) == (5, 130_213)
    router = chat_usage({"prompt_tokens": 17_903, "prompt_tokens_details": {"cached_tokens": 17_817}})
    assert router is not None and (router.uncached, router.total_input) == (86, 17_903)
    # The other way round: an emitter that counts the cache beside the input.
    apart = disjoint(5, 40, 128_955, 1_253)
    assert apart is not None and apart.total_input == 130_213


def test_12_one_hour_writes_at_the_price_of_five_minutes(tmp_path: Path) -> None:
    """https://github.com/earendil-works/pi/issues/5603: 3,904 tokens for an hour, priced 1.25 instead of 2."""
    used = usage(0, 0, 3_904, 1, hour=3_904)
    trace = load(write(tmp_path / "a.jsonl", user("go"), assistant("m1", text("a"), used, stop="end_turn")))
    assert counts(trace) == (0, 0, 0, 3_904, 1)
    card = prices("claude-sonnet-4-6")
    # 3 dollars a million: 3,904 x 6 for an hour's write, and 15 for the one token of output.
    assert card.request_cost(Usage(0, 0, 0, 3_904, 1)) == pytest.approx((3_904 * 6 + 15) / 1e6)


def test_13_agent_and_chat_spans_both_carry_usage(tmp_path: Path) -> None:
    """https://github.com/strands-agents/harness-sdk/issues/1267: a parent's span repeats the sum of its calls."""

    def span(name: str, parent: str | None, at: int, **attributes: Any) -> dict[str, Any]:
        given = {f"gen_ai.{key.replace('__', '.')}": value for key, value in attributes.items()}
        times = {"startTimeUnixNano": 10**18 + at, "endTimeUnixNano": 10**18 + at + 1}
        return {"spanId": name, "traceId": "t", "parentSpanId": parent, "name": name, "attributes": given, **times}

    calls = [
        span(f"c{i}", "a", i, operation__name="chat", request__model="m", usage__input_tokens=100 * i) | {}
        for i in (1, 2)
    ]
    agent = span("a", None, 0, operation__name="invoke_agent", usage__input_tokens=300)
    (tmp_path / "a.json").write_text(json.dumps({"spans": [agent, *calls]}), encoding="utf-8")
    trace = load(tmp_path / "a.json")
    assert sum((t.usage or Usage()).total_input for t in whole(trace)) == 300


# -- 14 to 19: editing a context ---------------------------------------------------------------------


def reads(n: int, parallel: int = 1) -> list[Block]:
    """A task, and ``n`` exchanges with so many calls of about 500 tokens each."""
    blocks = [Block("text", "user", "Read them all.", request=1, message=0)]
    for i in range(1, n + 1):
        ids = [f"c{i}_{j}" for j in range(parallel)]
        made = [("thinking", "assistant", "Next.", None), *(("call", "assistant", f"read {c}", c) for c in ids)]
        made += [("result", "tool", f"{c} " * 160, c) for c in ids]
        for kind, role, words, name in made:
            number = 2 * i - (kind != "result")
            tool = None if kind == "thinking" else "read"
            blocks.append(Block(kind, role, words, i + 1, number, tool, name, name))  # type: ignore[arg-type]
    return blocks


def test_14_pruning_in_place_breaks_the_cache() -> None:
    """https://github.com/anomalyco/opencode/issues/32515: a smaller request that costs seven times as much."""
    trace = Trace("made up", tuple(reads(12)), tuple(Request(i, start=10.0 * i) for i in range(1, 14)), kind="scripted")
    run = replay(trace, Policy(trigger=3_000, keep=2, floor=0, window=None), cache_rules("claude-sonnet-4-6"))
    broken = {e.request for e in run.events}
    assert broken
    for before, row in zip(run.rows, run.rows[1:], strict=False):
        if row.request in broken:
            assert row.read < before.input  # what stands behind the first changed message is written again
            assert row.read <= row.shared
    # As recorded, too: the read falls to what was cached before the edit.
    usages = [Usage(3, 0, 20_000), Usage(3, 20_000, 70_000), Usage(3, 18_000, 40_000), Usage(3, 58_000, 100)]
    asked = tuple(Request(i, 10.0 * i, "claude-sonnet-4-6", usage=u) for i, u in enumerate(usages, 1))
    recorded = Trace("made up", (), asked, edits=(Edit("clear", 3, ()),))
    assert [p.cause for p in reproduce(recorded).predictions] == ["reproduced", "edit", "reproduced"]


def test_15_moved_cache_marks_taken_for_a_change() -> None:
    """https://github.com/SWE-agent/SWE-agent/issues/1108: requests that differ only in where cache_control stands."""
    rows = [json.loads(row) for row in (DATA / "anthropic" / "exchanges.jsonl").read_text().splitlines()]
    assert any("cache_control" in json.dumps(row) for row in rows)
    trace = load(DATA / "anthropic" / "exchanges.jsonl")
    assert not [e for e in trace.edits if e.trigger != "provider"]
    assert not [b for b in trace.blocks if "cache_control" in b.text]


@pytest.mark.parametrize("keep_recent", range(12))
def test_16_cut_between_a_call_and_its_result(keep_recent: int) -> None:
    """https://github.com/langchain-ai/langchain/issues/38352: keep-last-N lands among the results of a kept turn."""
    policy = Policy(trigger=900, keep=50, floor=0, compact_above=1_500, keep_recent=keep_recent, window=None)
    manager = ContextManager(policy=policy)
    for block in reads(6, parallel=3):
        manager.append(block)
        if block.kind == "result" and block.call_id and not block.call_id.endswith("_2"):
            continue  # a request is sent when all three have come
        kept = manager.prepare() if block.kind == "result" else manager.blocks()
        pairs = answers(kept)
        assert all(i in pairs for i, b in enumerate(kept) if b.kind == "result")
        if block.kind == "result":
            assert set(pairs.values()) == {i for i, b in enumerate(kept) if b.kind == "call"}
    assert any(e.kind == "compacted" for e in manager.events) or keep_recent > 9


def test_17_orphans_and_duplicates_in_the_log(tmp_path: Path) -> None:
    """https://github.com/OpenHands/software-agent-sdk/issues/4591: a result without its call stops every reading."""
    rows = [result("gone", "lost"), user("go"), assistant("m1", call("t1"), usage(5, 0, 0, 1)), result("t1", "once")]
    trace = load(write(tmp_path / "a.jsonl", *rows, result("t1", "twice"), assistant("m2", call("t2"), usage(6))))
    assert [b.text for b in trace.blocks if b.kind == "result"] == ["lost", "once"]
    said = " | ".join(trace.warnings)
    assert "line 1: the result of 'gone' has no call" in said
    assert "line 5: a second result for the call 't1'" in said
    assert "1 calls have no result" in said


def test_18_editing_the_turn_that_holds_thinking() -> None:
    """https://github.com/anthropics/claude-code/issues/13692: a block of the latest answer is edited, and refused."""
    blocks = reads(8)
    manager = ContextManager(policy=Policy(trigger=600, keep=0, floor=0, window=None))
    for block in blocks:
        manager.append(block)
    kept = manager.prepare()
    assert manager.events
    assert [b.text for b in kept if b.role == "assistant"][-2:] == [b.text for b in blocks if b.role == "assistant"][
        -2:
    ]
    assert [b.text for b in kept if b.kind == "thinking"] == ["Next."] * 8


def test_19_stale_context_after_a_compaction(tmp_path: Path) -> None:
    """https://github.com/sirmalloc/ccstatusline/pull/524: the newest usage is older than the newest boundary."""
    rows = [user("go"), assistant("m1", text("word " * 4_000), usage(150_000, 0, 0, 5_000), 1, stop="end_turn")]
    rows += [boundary("compact_boundary", 2), user("All was said.", 3, isCompactSummary=True)]
    rows += [assistant("m2", text("ok"), usage(60_000, 0, 0, 5), 4, stop="end_turn")]
    trace = load(write(tmp_path / "a.jsonl", *rows))
    sent = [[b.text for b in blocks] for _, blocks in as_sent(trace)]
    assert sent[1] == ["All was said."]
    assert [row.total for row in audit(trace).rows] == [150_000, 60_000]
    # Nothing is learned from the step over the boundary.
    assert fit_growth(trace).steps == 0


def test_20_estimates_wrong_by_type_of_text() -> None:
    """https://github.com/open-webui/open-webui/issues/29761: a picture of 3 MB counted as a million tokens of text."""
    data = base64.b64encode(bytes(range(256)) * 12_000).decode()
    picture = load_image(data)
    assert measure(Trace("p", (picture,), (Request(1),))).blocks[0] < 2_000
    counter = get_counter("o200k_base")
    # Base64 inside a text and Chinese are far from four characters a token.
    assert counter.count(data[:8_000]) > 8_000 / 2
    chinese = "请检查每一行并报告错误" * 200
    assert 0.5 * len(chinese) < counter.count(chinese) < 1.5 * len(chinese)
    # Tools stand in each prompt once, whatever the number of requests.
    support = load(Path(__file__).resolve().parent.parent / "data" / "traces" / "support-40.jsonl")
    tools = {row.lines["tool_schemas"] for row in audit(support).rows}
    assert tools == {measure(support).tools[0]}


def load_image(data: str) -> Block:
    from labkit.record.formats.claude_code_content import content_blocks

    part = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    return replace(content_blocks([part], "user")[0], request=1)


# -- also ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ['{"type": "assist', "\0" * 30, '{"a": "\\ud800"}', "[1]", '{"a": "x\u2028y"}'])
def test_21_one_bad_line_hides_no_session(tmp_path: Path, bad: str) -> None:
    """https://github.com/siteboon/claudecodeui/issues/1002: torn tails, NUL bytes, surrogates, U+2028."""
    rows = [user("go"), assistant("m1", text("a\u2028b"), usage(5, 0, 0, 1)), bad, user("on")]
    trace = load(write(tmp_path / "a.jsonl", *rows, assistant("m2", text("c"), usage(6, 0, 0, 1)), '{"type": "us'))
    assert [b.text for b in trace.blocks] == ["go", "a\u2028b", "on", "c"]


def test_22_a_long_result_just_before_the_check() -> None:
    """https://github.com/UKGovernmentBEIS/inspect_ai/issues/3600: a result arrives after the check, and overflows."""
    manager = ContextManager(policy=Policy(trigger=2_000, keep=1, floor=0, cap=500, compact_above=None, window=3_000))
    for block in [*reads(2), Block("call", "assistant", "log", tool="sh", call_id="x")]:
        manager.append(block)
    manager.append(Block("result", "tool", "line\n" * 20_000, tool="sh", call_id="x"))
    step = manager.step()
    assert step.total < 3_000


def test_23_a_summarizer_that_is_never_called() -> None:
    """https://github.com/langchain-ai/langchain/issues/39261: history goes, and nobody was asked to sum it up."""
    asked: list[int] = []

    class Counting(ExtractiveSummarizer):
        def summarize(self, blocks: Sequence[Block], notes: str) -> Summary:
            asked.append(len(blocks))
            return super().summarize(blocks, notes)

    policy = Policy(trigger=1_000, keep=50, floor=0, compact_above=1_500, keep_recent=2, window=None)
    manager = ContextManager(policy=policy, summarizer=Counting())
    for block in reads(20):  # one user's text, at the beginning
        manager.append(block)
        if block.kind == "result":
            manager.prepare()
    compactions = [e for e in manager.events if e.kind == "compacted"]
    assert compactions and len(asked) >= len(compactions)
    assert manager.blocks()[0].kind == "summary"


def test_24_the_logs_own_cost_is_not_believed(tmp_path: Path) -> None:
    """https://github.com/SWE-agent/SWE-agent/issues/1300: a cost in the log that no price list gives."""
    rows = [user("go"), assistant("m1", text("a"), usage(1_000, 0, 0, 100), 1, stop="end_turn", costUSD=99.0)]
    trace = load(write(tmp_path / "a.jsonl", *rows))
    assert audit(trace).cost.to_json()["exact"] == pytest.approx((1_000 * 3 + 100 * 15) / 1e6)


def test_25_a_file_rewritten_on_resume_keeps_its_total(tmp_path: Path) -> None:
    """https://github.com/Maciek-roboblog/Claude-Code-Usage-Monitor/issues/226: yesterday's total changes."""
    rows = [user("go", 0), assistant("m1", text("a"), usage(10, 0, 0, 5), 1)]
    before = counts(load(write(tmp_path / "a.jsonl", *rows)))
    again = [{**row, "timestamp": stamp(90_000), "sessionId": "s2"} for row in rows]
    assert counts(load(write(tmp_path / "a.jsonl", *rows, *again))) == before
