"""Reading Claude Code sessions: faults that people reported in other readers, and the real files."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.edits import as_sent
from labkit.record.formats import claude_code
from labkit.record.formats.claude_code_content import image_text, usage_of
from labkit.record.formats.common import short_args, timestamp
from labkit.record.load import load
from labkit.record.once import usage_once
from labkit.record.trace import Trace, Usage
from records import flat
from session_lines import assistant, boundary, call, line, result, stamp, text, usage, user, write

FILES = [
    f"entire-{name}.jsonl"
    for name in (
        "image",
        "longest-303-calls",
        "microcompact1-compact1-small",
        "microcompact2-compact1",
        "overlap-a",
        "tasks-progress",
        "three-compactions",
        "two-session-ids",
    )
]


def test_one_response_on_many_lines_counts_once(tmp_path: Path) -> None:
    used = usage(4, 100, 50, 30)
    path = write(
        tmp_path / "a.jsonl",
        user("go"),
        assistant("m1", {"type": "thinking", "thinking": "hm"}, used),
        *(assistant("m1", call(f"c{i}", n=i), used) for i in range(18)),
    )
    trace = load(path)
    assert trace.usage == Usage(4, 100, 50, 0, 30)
    assert [b.kind for b in trace.blocks] == ["text", "thinking", *["call"] * 18]
    assert [b.call_id for b in trace.blocks[2:]] == [f"c{i}" for i in range(18)]


def test_the_largest_output_wins_whole_and_later_wins_ties(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        user("go"),
        assistant("m1", text("a"), usage(4, 100, 50, 2)),
        assistant("m1", text("b"), usage(4, 100, 50, 90, hour=20), stop="end_turn"),
        assistant("m1", text("c"), usage(4, 100, 50, 90, hour=50), stop="end_turn"),
        assistant("m1", text("d"), usage(4, 100, 50, 3)),
    )
    trace = load(path)
    assert trace.usage == Usage(4, 100, 0, 50, 90)
    assert [b.text for b in trace.blocks] == ["go", "a", "b", "c", "d"]


@pytest.mark.parametrize("request_id", [None, ""])
def test_a_missing_request_id_does_not_matter(tmp_path: Path, request_id: str | None) -> None:
    lines = [
        user("go"),
        assistant("m1", text("a"), usage(4, 100, 50, 30), requestId=request_id),
        assistant("m1", text("b"), usage(4, 100, 50, 30), requestId=request_id),
    ]
    assert load(write(tmp_path / "a.jsonl", *lines)).usage == Usage(4, 100, 50, 0, 30)


def test_without_a_message_id_the_request_id_is_the_key(tmp_path: Path) -> None:
    used = usage(4, 100, 50, 30)
    path = write(
        tmp_path / "a.jsonl",
        user("go"),
        assistant(None, text("a"), used, requestId="r1"),
        assistant(None, text("b"), used, requestId="r1"),
        user("more"),
        assistant(None, text("c"), used),
        assistant(None, text("d"), used),
    )
    trace = load(path)
    assert len(trace.requests) == 3  # r1, and two lines that nothing joins
    assert trace.usage == Usage(12, 300, 150, 0, 90)


def relay(request_ids: bool) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for turn in range(3):
        used = usage(4, 100 * turn, 50, 30)
        extra = {"requestId": f"r{turn}"} if request_ids else {}
        lines += [
            user(f"turn {turn}"),
            assistant("ocgo", text(f"a{turn}"), used, **extra),
            assistant("ocgo", call(f"c{turn}"), used, **extra),
            result(f"c{turn}", "ok"),
        ]
    return lines


@pytest.mark.parametrize("request_ids", [True, False])
def test_one_constant_message_id_is_seen_through_and_said(tmp_path: Path, request_ids: bool) -> None:
    trace = load(write(tmp_path / "a.jsonl", *relay(request_ids)))
    assert len(trace.requests) == 3
    assert trace.usage == Usage(12, 300, 150, 0, 90)
    assert any("'ocgo' stands for 3 different responses" in w for w in trace.warnings)


def test_a_placeholder_output_is_labelled(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        user("go"),
        assistant("m1", text("x" * 400), usage(4, 100, 50, 3)),
        user("more"),
        assistant("m2", text("x" * 400), usage(4, 150, 50, 100), stop="end_turn"),
        user("more"),
        assistant("m3", text("x" * 400), usage(4, 150, 50, 100)),
    )
    trace = load(path)
    assert [r.usage and r.usage.output_quality for r in trace.requests] == ["placeholder", "exact", "exact"]
    assert any(w.startswith("1 of 3 responses hold a placeholder") for w in trace.warnings)
    assert trace.usage is not None
    assert trace.usage.output_quality == "placeholder"
    assert trace.usage.input_quality == "exact"


def child_lines(agent: str = "a1", prefix: str = "k") -> list[dict[str, Any]]:
    side = {"isSidechain": True, "agentId": agent}
    return [
        user("look around", **side),
        assistant(f"{prefix}1", call(f"{prefix}c1", "Grep"), usage(2, 0, 500, 40), **side),
        result(f"{prefix}c1", "found", **side),
        assistant(f"{prefix}2", text("here it is"), usage(2, 500, 60, 40), **side),
    ]


def main_lines() -> list[dict[str, Any]]:
    return [
        user("go"),
        assistant("m1", call("t1", "Task", prompt="look around"), usage(4, 0, 1_000, 30)),
        result("t1", "here it is\nagentId: a1", toolUseResult={"agentId": "a1", "totalTokens": 562}),
        assistant("m2", text("thanks"), usage(4, 1_000, 60, 30)),
    ]


MAIN, CHILD = Usage(8, 1_000, 1_060, 0, 60), Usage(4, 500, 560, 0, 80)


def check_family(trace: Trace) -> None:
    assert trace.usage == MAIN
    assert [b.text[:10] for b in trace.blocks] == ["go", 'Task {"pro', "here it is", "thanks"]
    (child,) = trace.children
    assert (child.name, child.kind) == ("agent-a1", "subagent")
    assert child.usage is not None
    assert child.usage.total_input == CHILD.total_input
    assert child.usage.output == CHILD.output
    assert [b.kind for b in child.blocks] == ["text", "call", "result", "text"]
    assert not any("not recorded" in w for w in trace.warnings)


@pytest.mark.parametrize(
    "where", ["s1/subagents/agent-a1.jsonl", "s1/subagents/workflows/wf_1/agent-a1.jsonl", "agent-a1.jsonl"]
)
def test_a_subagent_has_a_file_of_its_own(tmp_path: Path, where: str) -> None:
    path = write(tmp_path / "s1.jsonl", *main_lines())
    write(tmp_path / where, *child_lines())
    check_family(load(path))
    check_family(load(tmp_path))  # a folder that holds one session


def test_a_subagent_inside_the_main_file(tmp_path: Path) -> None:
    main = main_lines()
    check_family(load(write(tmp_path / "s1.jsonl", *main[:2], *child_lines(), *main[2:])))


def test_a_subagent_without_ids_is_followed_by_its_parents(tmp_path: Path) -> None:
    lines = child_lines()
    for before, entry in itertools.pairwise(lines):
        entry["parentUuid"] = before["uuid"]
    for entry in lines:
        del entry["agentId"]
    main = main_lines()
    trace = load(write(tmp_path / "s1.jsonl", *main[:2], *lines, *main[2:]))
    (child,) = trace.children
    assert len(child.requests) == 2
    assert trace.usage == MAIN


def test_a_subagent_seen_three_times_counts_once(tmp_path: Path) -> None:
    child = child_lines()
    relayed = [line("progress", data={"type": "agent_progress", "agentId": "a1", "message": c}) for c in child]
    main = main_lines()
    renamed = [{**entry, "uuid": f"other{n}"} for n, entry in enumerate(child)]
    path = write(tmp_path / "s1.jsonl", *main[:2], *relayed, *renamed, *main[2:])
    write(tmp_path / "s1" / "subagents" / "agent-a1.jsonl", *child)
    check_family(load(path))


def test_a_subagent_seen_only_in_progress_lines(tmp_path: Path) -> None:
    relayed = [line("progress", data={"type": "agent_progress", "agentId": "a1", "message": c}) for c in child_lines()]
    main = main_lines()
    check_family(load(write(tmp_path / "s1.jsonl", *main[:2], *relayed, *main[2:])))


def test_a_child_that_copies_its_parent_does_not_count_it_again(tmp_path: Path) -> None:
    main = main_lines()
    path = write(tmp_path / "s1.jsonl", *main)
    copied = [{**entry, "isSidechain": True, "agentId": "a1"} for entry in main[:2]]
    write(tmp_path / "s1" / "subagents" / "agent-a1.jsonl", *copied, *child_lines())
    trace = load(path)
    assert trace.usage == MAIN
    (child,) = trace.children
    assert len(child.requests) == 2
    assert child.usage == replace_quality(CHILD, child.usage)
    assert [b.kind for b in child.blocks][:2] == ["text", "call"]  # the copy is context all the same
    assert any("1 responses are counted in another file" in w for w in child.warnings)


def replace_quality(expected: Usage, seen: Usage | None) -> Usage:
    """The expected counts with the qualities that were found."""
    assert seen is not None
    return Usage(
        expected.uncached, expected.cache_read, expected.cache_write_5m, expected.cache_write_1h, expected.output,
        seen.input_quality, seen.output_quality,
    )  # fmt: skip


def test_a_subagent_without_transcript_is_said_to_be_missing(tmp_path: Path) -> None:
    trace = load(write(tmp_path / "s1.jsonl", *main_lines()))
    assert trace.children == ()
    assert "1 subagents have no transcript here: what they spent is not recorded" in trace.warnings


def test_a_subagent_file_alone_is_its_own_session(tmp_path: Path) -> None:
    trace = load(write(tmp_path / "agent-a1.jsonl", *child_lines()))
    assert trace.kind == "subagent"
    assert trace.children == ()
    assert len(trace.requests) == 2


def test_the_call_that_wrote_a_summary_is_a_child_apart(tmp_path: Path) -> None:
    lines = [*main_lines(), boundary("compact_boundary"), user("In short: done.", isCompactSummary=True)]
    path = write(tmp_path / "s1.jsonl", *lines)
    assert any("the calls that wrote 1 summaries are not recorded" in w for w in load(path).warnings)
    write(tmp_path / "s1" / "subagents" / "agent-acompact-1.jsonl", *child_lines("acompact-1"))
    trace = load(path)
    assert [c.kind for c in trace.children] == ["compaction"]
    assert not any("calls that wrote" in w for w in trace.warnings)


def test_copied_lines_count_once(tmp_path: Path) -> None:
    lines = main_lines()
    again = [{**copy.deepcopy(entry), "sessionId": "s2", "parentUuid": None} for entry in lines]
    once = load(write(tmp_path / "a.jsonl", *lines))
    twice = load(write(tmp_path / "b.jsonl", *lines, *again))
    assert flat(twice) == flat(once)
    assert twice.usage == once.usage
    assert any("4 lines are copies of earlier lines" in w for w in twice.warnings)
    renamed = [{**entry, "uuid": f"other{n}"} for n, entry in enumerate(again)]
    thrice = load(write(tmp_path / "c.jsonl", *lines, *renamed))
    assert thrice.usage == once.usage
    answers = [b.text for b in thrice.blocks if b.role == "assistant"]
    assert answers == ['Task {"prompt":"look around"}', "thanks"]


def test_one_uuid_on_every_line_is_no_copy(tmp_path: Path) -> None:
    lines = [{**entry, "uuid": "trimmed"} for entry in main_lines()]
    assert len(load(write(tmp_path / "a.jsonl", *lines)).blocks) == 4


def test_resumed_files_count_each_response_once(tmp_path: Path) -> None:
    lines = main_lines()
    a = load(write(tmp_path / "a.jsonl", *lines))
    more = [user("and?"), assistant("m3", text("done"), usage(1, 1, 1, 1), stop="end_turn")]
    b = load(write(tmp_path / "b.jsonl", *lines, *more))
    assert usage_once([a]) == (MAIN, 0)
    total, shared = usage_once([a, b])
    assert (total, shared) == (MAIN + Usage(1, 1, 1, 0, 1), 2)


def test_parallel_calls_with_results_between_them_stay_one_message(tmp_path: Path) -> None:
    used = usage(4, 100, 50, 30)
    path = write(
        tmp_path / "a.jsonl",
        user("go", at=0),
        assistant("m1", call("c1"), used, at=5),
        result("c1", "one", at=6),
        assistant("m1", call("c2"), used, at=7),
        assistant("m1", call("c3"), used, at=8),
        result("c3", "three", at=9),
        result("c2", "two", at=10),
        assistant("m2", text("done"), usage(4, 150, 90, 30), at=14),
    )
    trace = load(path)
    assert [(b.kind, b.call_id, b.request, b.message) for b in trace.blocks] == [
        ("text", None, 1, 0),
        ("call", "c1", 2, 1),
        ("call", "c2", 2, 1),
        ("call", "c3", 2, 1),
        ("result", "c1", 2, 2),
        ("result", "c3", 2, 2),
        ("result", "c2", 2, 2),
        ("text", None, 3, 3),
    ]
    assert [r.start for r in trace.requests] == [timestamp(stamp(0)), timestamp(stamp(10))]


def test_a_reused_call_id_pairs_with_the_nearest_open_call(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        user("go"),
        assistant("m1", call("c", "Read"), None),
        result("c", "first"),
        assistant("m2", call("c", "Grep"), None),
        result("c", "second"),
        result("c", "third"),
        result("d", "fourth"),
    )
    trace = load(path)
    assert [(b.tool, b.text) for b in trace.blocks if b.kind == "result"] == [
        ("Read", "first"),
        ("Grep", "second"),
        (None, "fourth"),
    ]
    assert "line 6: a second result for the call 'c'; skipped" in trace.warnings
    assert "line 7: the result of 'd' has no call in this file; kept" in trace.warnings


def test_synthetic_and_error_lines_are_no_requests(tmp_path: Path) -> None:
    zero = usage()
    path = write(
        tmp_path / "a.jsonl",
        user("go"),
        line("system", subtype="api_error", error={"status": 529}, retryAttempt=1),
        assistant("s1", text("API Error: 529"), zero, model="<synthetic>", isApiErrorMessage=True),
        assistant("s2", text("No response requested."), zero, model="<synthetic>"),
        assistant("m1", text("hello"), usage(4, 100, 50, 30), stop="end_turn"),
    )
    trace = load(path)
    assert [r.id for r in trace.requests] == ["m1"]
    assert flat(trace) == [("text", 1, "go"), ("text", 1, "No response requested."), ("text", 2, "hello")]


def test_recorded_edits_name_blocks_by_position(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        user("go"),
        assistant("m1", call("c1"), usage(4, 0, 900, 30)),
        result("c1", "long ago"),
        assistant("m2", call("c2"), usage(4, 900, 90, 30)),
        result("c2", "just now"),
        boundary("microcompact_boundary", compactedToolIds=["c1", "gone"]),
        assistant("m3", text("on"), usage(4, 500, 80, 30)),
        boundary("compact_boundary"),
        user("In short: read two files.", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        user("go on"),
        assistant("m4", text("yes"), usage(4, 500, 40, 30)),
    )
    trace = load(path)
    cleared, summary = trace.edits
    assert (cleared.kind, cleared.request, cleared.blocks) == ("clear", 3, (2,))
    assert (summary.kind, summary.request, summary.blocks, summary.summary) == ("summary", 4, (0, 1, 2, 3, 4, 5), 6)
    assert summary.trigger == "auto"
    assert trace.blocks[6].kind == "summary"
    assert trace.blocks[6].request == 4
    assert any("names 1 results that are not in the context" in w for w in trace.warnings)


def test_a_compaction_may_keep_messages(tmp_path: Path) -> None:
    kept = user("keep me")
    path = write(
        tmp_path / "a.jsonl",
        user("go"),
        kept,
        boundary("compact_boundary", preservedMessages={"uuids": [kept["uuid"]]}),
        user("In short: nothing yet.", isCompactSummary=True),
        assistant("m1", text("yes"), usage(4, 500, 40, 30)),
    )
    (edit,) = load(path).edits
    assert (edit.blocks, edit.summary) == ((0,), 2)


def test_a_compaction_may_name_the_first_and_the_last_message_it_keeps(tmp_path: Path) -> None:
    early, late = user("keep me", 1), user("and me", 2)
    segment = {"headUuid": early["uuid"], "anchorUuid": "x", "tailUuid": late["uuid"]}
    for name, lines in (("whole", [early, late]), ("tail is written later", [early])):
        path = write(
            tmp_path / f"{name}.jsonl",
            user("go"),
            *lines,
            boundary("compact_boundary", 3, preservedSegment=segment),
            user("In short: nothing yet.", 4, isCompactSummary=True),
            assistant("m1", text("yes"), usage(4, 500, 40, 30), 5),
        )
        (edit,) = load(path).edits
        assert edit.blocks == (0,), name


def test_what_the_user_took_back_leaves_the_context(tmp_path: Path) -> None:
    """https://github.com/zenolab124/monet/pull/28: after a rewind the file still holds the branch left behind."""
    first = assistant("m1", text("ready"), usage(9, 0, 40, 30), 1)
    below = {"parentUuid": first["uuid"]}
    one, two = user("first try", 2, **below), user("second try", 4, **below)
    tried = assistant("m2", text("first answer"), usage(9, 40, 10, 30), 3, parentUuid=one["uuid"])
    again = assistant("m3", text("second answer"), usage(9, 40, 12, 30), 5, parentUuid=two["uuid"])
    path = write(tmp_path / "a.jsonl", user("go"), first, one, tried, two, again)
    trace = load(path)
    (edit,) = trace.edits
    assert (edit.kind, edit.trigger, edit.request) == ("evict", "rewind", 3)
    assert [trace.blocks[p].text for p in edit.blocks] == ["first try", "first answer"]
    contexts = [[b.text for b in context] for _, context in as_sent(trace)]
    assert contexts[2] == ["go", "ready", "second try"]
    # Prompts queued during one answer share their parent, and both are sent.
    queued = load(write(tmp_path / "b.jsonl", user("go"), first, one, two, again))
    assert not queued.edits and [b.text for _, c in as_sent(queued) for b in c][-2:] == ["first try", "second try"]


def test_an_advisor_asked_in_between_is_billed_at_its_own_model(tmp_path: Path) -> None:
    """https://github.com/ccusage/ccusage/issues/1115: usage of a second model, left out of the top level."""
    passes = [
        {"type": "message", **usage(1, 109_696, 7_192, 45)},
        {"type": "advisor_message", "model": "claude-opus-4-7", **usage(159_419, 0, 0, 7_805)},
        {"type": "message", **usage(1, 116_888, 661, 446)},
    ]
    used = {**usage(2, 226_584, 7_853, 491), "iterations": passes}
    parts = [
        text("Let me ask."),
        {"type": "server_tool_use", "id": "s1", "name": "advisor", "input": {}},
        {"type": "advisor_tool_result", "tool_use_id": "s1", "content": {"type": "advisor_result", "text": "Do it."}},
        text("Done."),
    ]
    lines = [user("go"), *(assistant("m1", part, used, 1, stop="end_turn") for part in parts)]
    trace = load(write(tmp_path / "a.jsonl", *lines))
    assert trace.usage == Usage(2, 226_584, 7_853, 0, 491)
    assert [r.usage.total_input for r in trace.requests if r.usage] == [116_889, 117_550]  # what filled the window
    (child,) = trace.children
    assert (child.requests[0].model, child.usage) == ("claude-opus-4-7", Usage(159_419, output=7_805))
    asked = [(b.kind, b.tool, b.request) for b in trace.blocks[2:4]]
    assert asked == [("call", "advisor", 2), ("result", "advisor", 2)]
    assert not any("no result" in w or "no call" in w for w in trace.warnings)
    # A resumed copy repeats the advisor's answer too.
    copied = load(write(tmp_path / "b.jsonl", *lines, user("more", 2)))
    assert usage_once([trace, copied])[0] == usage_once([trace])[0]


def test_images_and_attachments(tmp_path: Path) -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAyAAAAJYCAYAAAA="  # the header says 800 x 600
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}
    path = write(
        tmp_path / "a.jsonl",
        line("user", message={"role": "user", "content": [image, text("what is this?")]}),
        line("attachment", attachment={"type": "file", "filename": "a", "content": {"file": {"content": "inside"}}}),
        line("attachment", attachment={"type": "hook_success", "content": "unseen"}),
        assistant("m1", call("c1"), usage(4, 0, 900, 30)),
        result("c1", [text("shot"), image]),
    )
    assert flat(load(path)) == [
        ("image", 1, "[image/png 800x600]"),
        ("text", 1, "what is this?"),
        ("text", 1, "inside"),
        ("call", 2, "Read {}"),
        ("result", 2, "shot"),
        ("image", 2, "[image/png 800x600]"),
    ]
    assert image_text({"source": {"data": "not base64!"}}) == "[image]"


def test_bad_lines_cost_themselves_and_are_named(tmp_path: Path) -> None:
    good = main_lines()
    path = write(
        tmp_path / "a.jsonl",
        good[0],
        "42",
        json.dumps(good[1]) + json.dumps(good[2]),
        "\0\0",
        line("shiny", value=1),
        line("user"),
        json.dumps(good[3]) + "\r",
        json.dumps(user("torn"))[:40],
    )
    trace = load(path)
    assert trace.usage == MAIN
    for number in (2, 3, 6, 8):
        assert any(w.startswith(f"line {number}: ") for w in trace.warnings), number
    assert "lines of unknown types were skipped: 1 'shiny'" in trace.warnings
    assert [b.text for b in trace.blocks][-1] == "thanks"


@pytest.mark.parametrize("value", ["12", -5, 1.5, True, float("nan"), 10**30, [3]])
def test_what_is_no_number_of_tokens_is_said(tmp_path: Path, value: Any) -> None:
    used = {**usage(7, 2, 0, 4), "cache_read_input_tokens": value}
    trace = load(write(tmp_path / "a.jsonl", user("go"), assistant("m1", text("yes"), used)))
    assert trace.usage is not None
    assert trace.usage.uncached == 7
    assert any("line 2: cache_read_input_tokens" in w for w in trace.warnings)


def test_a_line_separator_inside_a_string_does_not_split_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(user("one\u2028two\u0085three"), ensure_ascii=False), encoding="utf-8-sig")
    trace = load(path)
    assert trace.blocks[0].text == "one\u2028two\u0085three"
    assert trace.warnings == ()


def test_a_session_without_usage_still_has_requests(tmp_path: Path) -> None:
    trace = load(write(tmp_path / "a.jsonl", user("go"), assistant("m1", text("yes"), None)))
    assert [r.usage for r in trace.requests] == [None]
    assert trace.usage is None


def test_parts_of_a_line() -> None:
    assert usage_of({"usage": usage(1, 2, 9, 4, hour=5)}) == Usage(1, 2, 4, 5, 4)
    assert usage_of({"usage": usage()}) is None
    assert (
        usage_of({"usage": {"input_tokens": True, "output_tokens": -3, "cache_read_input_tokens": float("inf")}})
        is None
    )
    assert usage_of({"usage": {"cache_creation": {"ephemeral_1h_input_tokens": 7}}}) == Usage(cache_write_1h=7)
    assert timestamp("yesterday") is None
    assert timestamp(12) is None
    assert short_args({"command": "x" * 200}) == "command=" + "x" * 109 + "..."


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a nested value."""
    found = [at]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += paths(inner, (*at, key))
    return found


@given(data=st.data())
def test_mutated_sessions_never_raise(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    from labkit.replay.audit import audit

    main = main_lines()
    lines: list[Any] = [*main[:3], *child_lines(), boundary("microcompact_boundary", compactedToolIds=["t1"]), main[3]]
    lines += [boundary("compact_boundary"), user("short", isCompactSummary=True), *relay(False)]
    lines = copy.deepcopy(lines)
    for _ in range(data.draw(st.integers(1, 4))):
        number = data.draw(st.integers(0, len(lines) - 1))
        where = data.draw(st.sampled_from(paths(lines[number])[1:] or [()]))
        if not where:
            continue
        holder = lines[number]
        for key in where[:-1]:
            holder = holder[key]
        holder[where[-1]] = data.draw(values)
    if data.draw(st.booleans()):
        lines = data.draw(st.permutations(lines))
    path = write(tmp_path_factory.getbasetemp() / "mutant.jsonl", *lines)
    trace = claude_code.read(path)
    for row in audit(trace).rows:
        assert sum(row.lines.values()) == row.total
    for edit in trace.edits:
        assert all(0 <= p < len(trace.blocks) for p in edit.blocks)
    assert [r.index for r in trace.requests] == list(range(1, len(trace.requests) + 1))
    steps = [b.request for b in trace.blocks]
    assert steps == sorted(steps)


# The real sessions.


def oracles(corpus: Path) -> dict[str, dict[str, Any]]:
    rows = json.loads((corpus / "INDEX.json").read_text(encoding="utf-8"))
    return {r["file"]: r for r in rows if r["format"] == "claude-code" and (corpus / r["file"]).exists()}


def as_oracle(used: Usage | None) -> dict[str, int]:
    if used is None:
        return {}
    return {
        "input_tokens": used.uncached,
        "output_tokens": used.output,
        "cache_read_input_tokens": used.cache_read,
        "cache_creation_input_tokens": used.cache_write_5m + used.cache_write_1h,
        "cache_1h": used.cache_write_1h,
    }


def test_every_real_session_has_its_true_usage_and_calls(corpus: Path) -> None:
    rows = oracles(corpus)
    assert len(rows) >= 20
    differing = 0
    for name, row in rows.items():
        trace = load(corpus / name)
        seen = as_oracle(trace.usage)
        assert seen == row["oracle"]["dedup_max_output"], name
        naive = row["oracle"]["naive_sum"]
        if naive and naive != {k: v for k, v in row["oracle"]["dedup_max_output"].items() if k in naive}:
            differing += 1
            assert {k: seen[k] for k in naive} != naive, name
        inline = [c for c in trace.children if "side lines" in c.source and "side-" in c.name]
        calls = sum(b.kind == "call" for t in (trace, *inline) for b in t.blocks)
        assert calls == row["calls"], name
    assert differing >= 15


def test_real_bad_lines_are_named(corpus: Path) -> None:
    trace = load(corpus / "claude-code" / "entire-malformed-line.jsonl")
    assert [w for w in trace.warnings if "2 values on one line" in w]
    trace = load(corpus / "claude-code" / "claude-code-log-edge_cases.jsonl")
    assert {int(w.split()[1][:-1]) for w in trace.warnings if "not an object" in w} == {13, 15, 16}


def test_two_real_checkpoints_of_one_session_equal_either(corpus: Path) -> None:
    a, b = (load(corpus / "claude-code" / f"entire-overlap-{x}.jsonl") for x in "ab")
    total, shared = usage_once([a, b])
    assert as_oracle(total) == as_oracle(a.usage)
    assert shared == 32


def test_real_subagents_count_once(corpus: Path) -> None:
    trace = load(corpus / "claude-code" / "spotter-projects")
    assert [(c.kind, len(c.requests)) for c in trace.children] == [("subagent", 12), ("compaction", 1)]
    child, compaction = trace.children
    assert as_oracle(child.usage)["cache_read_input_tokens"] == 604_156
    assert as_oracle(compaction.usage)["cache_read_input_tokens"] == 164_830


@pytest.mark.parametrize("name", FILES)
def test_a_real_session_under_one_message_id_keeps_its_usage(corpus: Path, tmp_path: Path, name: str) -> None:
    source = corpus / "claude-code" / name
    if not source.exists():
        pytest.skip(f"{name} is not in the corpus")
    lines = []
    for row in source.read_text(encoding="utf-8").split("\n"):
        try:
            entry = json.loads(row)
        except ValueError:
            continue
        if entry.get("type") == "assistant" and "<synthetic>" not in row:
            entry["message"]["id"] = "ocgo"
            entry.pop("requestId", None)
        lines.append(entry)
    trace = load(write(tmp_path / "relay.jsonl", *lines))
    true = load(source).usage
    assert trace.usage is not None
    assert true is not None
    assert trace.usage.total_input == pytest.approx(true.total_input, rel=0.02)
    assert any("'ocgo' stands for" in w for w in trace.warnings)


def test_no_other_real_format_is_taken_for_claude_code(corpus: Path) -> None:
    taken = [
        p.name
        for p in sorted(corpus.rglob("*"))
        if p.is_file() and "claude-code" not in p.parts and claude_code.matches(p)
    ]
    assert taken in ([], ["iflow-session.jsonl"])  # iFlow writes Claude Code's lines
