"""Reading sessions of Pi and OpenClaw: faults that people reported in other readers, and the real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.formats import pi
from labkit.record.load import load
from labkit.record.trace import Usage
from mutants import mutants, read_damaged, sound
from records import write

DATA = Path(__file__).resolve().parent.parent / "data" / "pi"
HEAD = {"type": "session", "version": 3, "id": "5e550000", "timestamp": "2026-06-01T10:00:00.000Z", "cwd": "/home/ada"}


def entry(key: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "message", "id": key, "parentId": parent, "message": {"role": role, "content": content, **more}}


def used(*counts: int) -> dict[str, int]:
    return dict(zip(("input", "cacheRead", "cacheWrite", "output"), counts, strict=True))


def test_a_session_becomes_requests_and_blocks() -> None:
    trace = load(DATA / "tree.jsonl")
    assert trace.source == "Pi or OpenClaw: tree.jsonl"
    assert [(b.kind, b.role, b.request, b.message) for b in trace.blocks[:8]] == [
        ("text", "user", 1, 0),
        ("thinking", "assistant", 2, 1),
        ("text", "assistant", 2, 1),
        ("call", "assistant", 2, 1),
        ("call", "assistant", 2, 1),
        ("result", "tool", 2, 2),
        ("result", "tool", 2, 2),
        ("text", "assistant", 3, 3),
    ]
    assert [(b.text, b.tool, b.args) for b in trace.blocks if b.kind == "result"] == [
        ("3", "read", "path=a"),
        ("4", "read", "path=b"),
    ]
    assert trace.requests[0].usage == Usage(3, 0, 500, 0, 40)
    assert [r.id for r in trace.requests] == ["m1", "m2", "m3", "m4", "m5"]
    # A message is stamped when its request was sent, its entry three seconds later.
    assert trace.requests[0].start == 1780308002.0


def test_a_delivered_answer_is_not_a_second_response() -> None:
    trace = load(DATA / "tree.jsonl")
    assert [b.text for b in trace.blocks].count("Seven.") == 1
    assert "1 entries repeat text and usage of a response, for its delivery; counted once" in trace.warnings


def test_an_answer_that_is_said_again_is_two_responses(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        HEAD,
        entry("a", None, "assistant", [{"type": "text", "text": "Yes."}], usage=used(1, 0, 10, 2)),
        entry("b", "a", "user", "Sure?"),
        entry("c", "b", "assistant", [{"type": "text", "text": "Yes."}], usage=used(1, 10, 5, 2)),
    )
    assert [r.usage for r in load(path).requests] == [Usage(1, 0, 10, 0, 2), Usage(1, 10, 5, 0, 2)]


def test_what_the_gateway_wrote_is_no_response(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        HEAD,
        entry("a", None, "user", "/status"),
        entry(
            "b", "a", "assistant", [{"type": "text", "text": "up"}], model="gateway-injected", usage=used(0, 0, 0, 0)
        ),
    )
    trace = load(path)
    assert trace.requests == ()
    assert [(b.role, b.text) for b in trace.blocks] == [("user", "/status"), ("assistant", "up")]


def test_a_branch_that_was_left_is_evicted() -> None:
    trace = load(DATA / "tree.jsonl")
    edit = trace.edits[0]
    assert (edit.kind, edit.request, [trace.blocks[p].text for p in edit.blocks]) == (
        "evict",
        4,
        ["Wrong path.", "Sorry."],
    )
    assert trace.requests[2].usage == Usage(2, 560, 12, 0, 4)  # and was billed


def test_a_leaf_entry_moves_what_hangs_below_its_mark(tmp_path: Path) -> None:
    side = {"type": "leaf", "id": "l", "parentId": "b", "targetId": "a", "appendParentId": "b", "appendMode": "side"}
    path = write(
        tmp_path / "a.jsonl",
        HEAD,
        entry("a", None, "user", "go"),
        entry("b", "a", "user", "aside"),
        side,
        entry("c", "b", "user", "more"),
    )
    assert [(e.kind, e.blocks) for e in load(path).edits] == [("evict", (1,))]


def test_going_back_to_a_branch_brings_it_back(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}}
    path = write(
        tmp_path / "a.jsonl",
        HEAD,
        entry("a", None, "user", "go"),
        entry("b", "a", "assistant", [call], usage=used(5, 0, 0, 1)),
        entry("c", "b", "toolResult", [{"type": "text", "text": "x"}], toolCallId="c1", toolName="ls"),
        entry("d", "a", "user", "other way"),
        entry("e", "c", "user", "back"),
    )
    trace = load(path)
    assert [(e.kind, e.blocks) for e in trace.edits] == [("evict", (1, 2)), ("evict", (3,))]
    assert [(b.kind, b.text) for b in trace.blocks[4:]] == [("call", "ls {}"), ("result", "x"), ("text", "back")]
    assert [(b.tool, b.args) for b in trace.blocks if b.kind == "result"] == [("ls", ""), ("ls", "")]


def test_a_compaction_keeps_what_it_says() -> None:
    trace = load(DATA / "tree.jsonl")
    edit = trace.edits[1]
    assert (edit.kind, edit.request, edit.blocks, edit.summary) == ("summary", 5, tuple(range(8)), 12)
    assert (trace.blocks[12].kind, trace.blocks[12].text) == ("summary", "## Goal\nCount parts: seven.")


def test_a_compaction_of_the_first_version_counts_entries_with_the_header() -> None:
    trace = load(DATA / "list.jsonl")
    # Entry 3 is "Two.": the header is entry 0.
    assert [(e.blocks, e.summary) for e in trace.edits] == [((0, 1), 4)]
    assert "the session was branched off another one: what came before is counted in both" in trace.warnings


def test_a_compaction_that_names_itself_keeps_nothing(tmp_path: Path) -> None:
    cut = {"type": "compaction", "id": "x", "parentId": "b", "summary": "short", "firstKeptEntryId": "x"}
    path = write(tmp_path / "a.jsonl", HEAD, entry("a", None, "user", "go"), entry("b", "a", "user", "on"), cut)
    assert [(e.blocks, e.summary) for e in load(path).edits] == [((0, 1), 2)]


def test_notes_and_commands_that_reach_the_model_do(tmp_path: Path) -> None:
    texts = [b.text for b in load(DATA / "tree.jsonl").blocks]
    assert "A note for the model." in texts
    assert "Ran `ls`\na\nb\n" in texts
    hidden = {"role": "bashExecution", "command": "ls", "output": "a", "excludeFromContext": True}
    path = write(tmp_path / "a.jsonl", HEAD, {"type": "message", "id": "a", "parentId": None, "message": hidden})
    assert load(path).blocks == ()


def test_an_aborted_request_is_named_and_not_counted() -> None:
    trace = load(DATA / "tree.jsonl")
    assert len(trace.requests) == 5
    assert any(w.startswith("1 requests were aborted") for w in trace.warnings)


def test_recorded_zeros_beside_content_are_no_usage(tmp_path: Path) -> None:
    content = [{"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}}]
    path = write(tmp_path / "a.jsonl", HEAD, entry("a", None, "assistant", content, usage=used(0, 0, 0, 0)))
    trace = load(path)
    assert [r.usage for r in trace.requests] == [None]
    assert "1 calls have no result in this file; kept" in trace.warnings


def test_a_result_without_a_call_and_a_second_result(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}}
    answer = [{"type": "text", "text": "x"}]
    path = write(
        tmp_path / "a.jsonl",
        HEAD,
        entry("a", None, "toolResult", answer, toolCallId="c0", toolName="cat"),
        entry("b", "a", "assistant", [call], usage=used(5, 0, 0, 1)),
        entry("c", "b", "toolResult", answer, toolCallId="c1", toolName="ls"),
        entry("d", "c", "toolResult", answer, toolCallId="c1", toolName="ls"),
    )
    trace = load(path)
    assert [b.tool for b in trace.blocks if b.kind == "result"] == ["cat", "ls"]
    assert "1 results have no call in this file (the first before request 1); kept" in trace.warnings
    assert "1 results answer a call that was answered before; dropped" in trace.warnings


def test_an_agent_beside_its_session_is_a_child(tmp_path: Path) -> None:
    child = "c1d00000-0000-4000-8000-000000000001"
    details = {"childSessionKey": "agent:main:subagent:k1"}
    event = f"Internal event\nsession_id: {child}\nstatus: done"
    path = write(
        tmp_path / "main.jsonl",
        HEAD,
        entry("a", None, "toolResult", "ok", toolCallId="c1", toolName="sessions_spawn", details=details),
        entry("b", "a", "user", [{"type": "text", "text": event}], provenance={"kind": "agent"}),
    )
    assert "1 spawned agents have no session here: what they spent is not recorded" in load(path).warnings
    task = entry("a", None, "user", "[Subagent Context] You are a subagent.")
    write(tmp_path / f"{child}.jsonl", HEAD, task, entry("b", "a", "assistant", "x", usage=used(5, 0, 0, 1)))
    trace = load(path)
    assert [(c.kind, c.usage) for c in trace.children] == [("subagent", Usage(5, 0, 0, 0, 1))]
    assert not any("spawned" in w for w in trace.warnings)


def test_parents_in_a_circle_end(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        HEAD,
        entry("a", "b", "user", "1"),
        entry("b", "a", "user", "2"),
        entry("a", "b", "user", "3"),
        entry("c", "a", "user", "4"),
        entry("d", "d", "user", "5"),
    )
    sound(load(path))


@pytest.mark.parametrize("name", ["tree.jsonl", "list.jsonl"])
@given(data=st.data())
def test_damaged_sessions_never_raise(tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "pi" / name
    path.parent.mkdir(exist_ok=True)
    read_damaged(path, data.draw(mutants((DATA / name).read_bytes())))


# The real sessions.

COPIES = {
    # Each answer delivered while agents ran stands twice, the second time under the api "cli", without a
    # response id, with the same text and all four counts equal. Had it been a call of its own, its cache
    # read would cover what the first one wrote. The index adds both: input, output, read, write too much.
    "other/openclaw-lru_demo-b2e732c1-5f16-4ebe-ba84-0a11adc45c66.jsonl": (6, 473, 77_907, 45_038),
    "other/openclaw-fx_demo-cfabe24d-8b34-4031-a393-689524b2028f.jsonl": (4, 200, 53_806, 9_271),
}


def rows(corpus: Path) -> dict[str, dict[str, Any]]:
    index = json.loads((corpus / "INDEX.json").read_text(encoding="utf-8"))
    return {r["file"]: r for r in index if (corpus / r["file"]).is_file() and pi.matches(corpus / r["file"])}


def test_real_tokens_calls_and_results_hold(corpus: Path) -> None:
    checked = rows(corpus)
    for name, row in checked.items():
        trace = load(corpus / name)
        sound(trace)
        over = COPIES.get(name, (0, 0, 0, 0))
        tokens = row["oracle"]["tokens"]
        assert trace.usage == Usage(
            tokens["input"] - over[0],
            tokens["cacheRead"] - over[2],
            tokens["cacheWrite"] - over[3],
            0,
            tokens["output"] - over[1],
        ), name
        assert sum(b.kind == "call" for b in trace.blocks) == row["calls"], name
    assert len(checked) == 5


def test_real_copies_repeat_a_response_to_the_token(corpus: Path) -> None:
    for name, over in COPIES.items():
        lines = [json.loads(text) for text in (corpus / name).read_text(encoding="utf-8").split("\n") if text]
        answers = [e["message"] for e in lines if e.get("message", {}).get("role") == "assistant"]
        copies = [m for m in answers if m.get("api") == "cli"]
        firsts = [m for m in answers if m.get("api") != "cli"]

        def text(message: dict[str, Any]) -> list[str]:
            return [part["text"] for part in message["content"] if part["type"] == "text"]

        for copy in copies:
            assert [m for m in firsts if m["usage"] == copy["usage"] and text(m) == text(copy)], name
        names = ("input", "output", "cacheRead", "cacheWrite")
        assert tuple(sum(m["usage"][n] for m in copies) for n in names) == over


def test_real_side_branches_leave_the_context(corpus: Path) -> None:
    trace = load(corpus / "other" / "openclaw-fx_demo-cfabe24d-8b34-4031-a393-689524b2028f.jsonl")
    assert [(e.kind, e.request, len(e.blocks)) for e in trace.edits] == [("evict", 6, 5), ("evict", 7, 4)]
    totals = [r.usage.total_input for r in trace.requests if r.usage is not None]
    # The prompt grew through request 5, and fell when the side branches were left.
    assert totals[3:7] == [30_697, 31_770, 31_311, 30_986]


def test_real_compactions_keep_what_they_say(corpus: Path) -> None:
    trace = load(corpus / "other" / "pi-before-compaction.jsonl")
    first = trace.edits[0]
    assert first.summary is not None
    kept = next(p for p in range(len(trace.blocks)) if p not in first.blocks)
    assert trace.blocks[kept].role == "user"
    assert trace.blocks[kept].text.startswith("i reviwed what we have")
    assert "6 calls have no result in this file; kept" in trace.warnings


def test_the_pointer_file_beside_a_real_session_is_refused(corpus: Path) -> None:
    with pytest.raises(InputError, match="traceSchema"):
        load(corpus / "other" / "openclaw-fx_demo-cfabe24d-8b34-4031-a393-689524b2028f.trajectory.jsonl")
