"""Reading Gemini CLI chats and Gemini API traffic: faults that people reported, and the real files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.formats import gemini_api, gemini_cli
from labkit.record.formats.gemini_parts import Ids, parts_blocks, usage_of
from labkit.record.load import load
from labkit.record.trace import Prefix, Usage
from mutants import mutants, read_damaged, sound
from records import flat, total, write

DATA = Path(__file__).resolve().parent.parent / "data" / "gemini"
HEAD = {"sessionId": "s1", "projectHash": "0f", "startTime": "2026-05-04T08:00:00.000Z"}


def reply(key: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "type": "gemini", "content": text, **more}


def test_a_chat_in_one_pretty_printed_object() -> None:
    trace = load(DATA / "chat.json")
    assert trace.source == "Gemini CLI: chat.json"
    assert flat(trace) == [
        ("text", 1, "Count the parts."),
        ("text", 2, "I look first."),
        ("call", 2, 'list {"dir":"."}'),
        ("call", 2, 'read {"file":"parts.txt"}'),
        ("result", 2, "parts.txt"),
        ("result", 2, "bolt\nnut"),
        ("text", 3, "Two parts."),
    ]
    assert [r.usage for r in trace.requests] == [Usage(9000, 0, 0, 0, 100), Usage(908, 8192, 0, 0, 30)]
    # Sent when the user had spoken, 08:00:01, and when the last tool had answered, 08:00:07.
    assert [r.start for r in trace.requests] == [1777881601.0, 1777881607.0]


def test_its_name_does_not_tell_a_format(tmp_path: Path) -> None:
    path = shutil.copy(DATA / "chat.json", tmp_path / "full.jsonl")
    assert flat(load(path)) == flat(load(DATA / "chat.json"))


def test_cached_is_part_of_input_and_thinking_is_output() -> None:
    counts = {"input": 12207, "output": 105, "cached": 2558, "thoughts": 153, "tool": 7, "total": 12472}
    used = usage_of(counts)
    assert used == Usage(9656, 2558, 0, 0, 258)
    assert used.total_input + used.output == counts["total"]
    assert usage_of({"promptTokenCount": 10, "cachedContentTokenCount": 50}) == Usage(0, 10)


def test_thoughts_are_shown_and_not_sent_again() -> None:
    trace = load(DATA / "chat.json")
    assert not any(b.kind == "thinking" for b in trace.blocks)
    assert any(w.startswith("1 thoughts were left out") for w in trace.warnings)


def test_recorded_zeros_beside_calls_are_the_rest_of_a_response(tmp_path: Path) -> None:
    # A note came between, so the calls were written as a message of their own, with counts of 0.
    assert len(load(DATA / "chat.json").requests) == 2
    zeros = {"input": 0, "output": 0, "cached": 0, "thoughts": 0, "tool": 0, "total": 0}
    calls = [{"id": "c1", "name": "ls", "args": {}, "result": "a"}]
    user = {"id": "u", "type": "user", "content": "go"}
    alone = load(write(tmp_path / "a.jsonl", HEAD, user, reply("g", "", tokens=zeros, toolCalls=calls)))
    assert [r.usage for r in alone.requests] == [None]
    assert any("no token counts" in w for w in alone.warnings)


def test_a_message_that_is_written_again_counts_once_where_it_stood_first() -> None:
    trace = load(DATA / "chat.jsonl")
    assert flat(trace)[:5] == [
        ("text", 1, "<session_context>\nMonday."),
        ("text", 1, "Count the parts."),
        ("call", 2, 'list {"dir":"."}'),
        ("result", 2, "parts.txt"),
        ("text", 3, "One file."),
    ]
    # The answer was also sent as a message of the user's.
    assert "1 results answer a call that was answered before; dropped" in trace.warnings


def test_a_rewind_takes_its_target_and_what_follows() -> None:
    trace = load(DATA / "chat.jsonl")
    edit = trace.edits[0]
    assert (edit.kind, edit.request, [trace.blocks[p].text for p in edit.blocks]) == (
        "evict",
        4,
        ["Forget that.", "Forgotten."],
    )
    assert len(trace.requests) == 5  # what was taken back was billed


def test_a_rewind_to_an_unknown_message_clears_all(tmp_path: Path) -> None:
    user = {"id": "u", "type": "user", "content": "go"}
    path = write(tmp_path / "a.jsonl", HEAD, user, reply("g", "on"), {"$rewindTo": "nobody"})
    assert [e.blocks for e in load(path).edits] == [(0, 1)]


def test_a_patch_that_replaces_the_context_is_a_compaction() -> None:
    trace = load(DATA / "chat.jsonl")
    edit = trace.edits[1]
    # "Sum up." and "Done." came back under new ids: they never left.
    assert (edit.kind, edit.request, edit.blocks) == ("summary", 5, (0, 1, 2, 3, 4))
    assert edit.summary is not None
    assert trace.blocks[edit.summary].text == "<state_snapshot>one file</state_snapshot>"
    assert any("calls that are not recorded" in w for w in trace.warnings)


def test_a_patch_that_shortens_a_result_is_a_cap(tmp_path: Path) -> None:
    def looked(text: str) -> dict[str, Any]:
        answer = {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": text}}}
        return reply("g", "", toolCalls=[{"id": "c1", "name": "ls", "args": {}, "result": [answer]}])

    user = {"id": "u", "type": "user", "content": "go"}
    patch = {"$set": {"messages": [user, looked("cut")]}}
    trace = load(write(tmp_path / "a.jsonl", HEAD, user, looked("long " * 50), patch, reply("h", "on")))
    assert [(e.kind, e.request, e.blocks, e.stub) for e in trace.edits] == [("cap", 2, (2,), "cut")]
    assert trace.blocks[2].text == "long " * 50


def test_a_compression_known_only_from_a_note_is_said(tmp_path: Path) -> None:
    note = {"id": "i", "type": "info", "content": "Chat history compressed from 9000 to 1200 tokens."}
    trace = load(write(tmp_path / "a.jsonl", HEAD, {"id": "u", "type": "user", "content": "go"}, note))
    assert trace.edits == ()
    assert "1 compressions are noted without what they removed; they are not applied" in trace.warnings


def test_agents_of_a_chat_are_children(tmp_path: Path) -> None:
    path = write(tmp_path / "session-s1.jsonl", HEAD, {"id": "u", "type": "user", "content": "go"})
    (tmp_path / "s1").mkdir()
    counts = {"input": 50, "output": 5, "cached": 0, "thoughts": 0, "tool": 0}
    write(tmp_path / "s1" / "a1.jsonl", {**HEAD, "sessionId": "a1", "kind": "subagent"}, reply("g", "x", tokens=counts))
    trace = load(path)
    assert trace.usage is None
    assert [(c.name, c.kind, c.usage) for c in trace.children] == [("a1", "subagent", Usage(50, 0, 0, 0, 5))]


def test_a_session_id_is_not_a_way_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "a1.jsonl", {**HEAD, "kind": "subagent"})
    for name in ("..", "../in", "\0"):
        path = write(tmp_path / "in" / "a.jsonl", {**HEAD, "sessionId": name}, reply("g", "x"))
        assert load(path).children == ()


def test_calls_without_ids_pair_by_order_and_name() -> None:
    trace = load(DATA / "exchanges.jsonl")
    assert [(b.tool, b.args, b.text) for b in trace.blocks if b.kind == "result"] == [
        ("read", "file=a", "3"),
        ("read", "file=b", "4"),
    ]
    assert not any("call" in w for w in trace.warnings)


def test_consecutive_requests_hold_the_conversation_once() -> None:
    trace = load(DATA / "exchanges.jsonl")
    assert trace.source == "Gemini API: exchanges.jsonl"
    assert [(b.kind, b.request) for b in trace.blocks] == [
        ("text", 1),
        ("call", 2),
        ("call", 2),
        ("result", 2),
        ("result", 2),
        ("text", 3),
    ]
    assert trace.prefixes == (Prefix("Be brief.", '[{"functionDeclarations":[{"name":"read"}]}]'),)
    assert [(r.id, r.model, r.usage) for r in trace.requests] == [
        ("r1", "gemini-2.5-pro", Usage(100, 0, 0, 0, 20)),
        ("r2", "gemini-2.5-pro", Usage(86, 64, 0, 0, 3)),
    ]


def test_a_request_that_leaves_something_out_is_an_edit(tmp_path: Path) -> None:
    def content(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "parts": [{"text": text}]}

    one, two, three = content("user", "one"), content("model", "two"), content("user", "three")
    answer = {"candidates": [{"content": two}]}
    first = {"request": {"contents": [one]}, "response": answer}
    trace = load(write(tmp_path / "a.jsonl", first, {"contents": [two, three]}))
    assert [(e.kind, e.request, e.blocks) for e in trace.edits] == [("evict", 2, (0,))]
    assert len(trace.requests) == 2  # the last one has no response


def test_a_stream_counts_once_and_a_torn_end_does_not_undo_it() -> None:
    trace = load(DATA / "side.responses")
    assert [r.usage for r in trace.requests] == [Usage(310, 600, 0, 0, 20), Usage(700, 0, 0, 0, 4)]
    assert trace.blocks[0].text == "I ask."  # two chunks, one text
    assert any(w.startswith("3 responses were recorded without their requests") for w in trace.warnings)


def test_in_a_record_of_responses_agents_and_summaries_are_children() -> None:
    trace = load(DATA / "side.responses")
    assert [(c.kind, c.usage) for c in trace.children] == [
        ("subagent", Usage(500, 0, 0, 0, 6)),
        ("compaction", Usage(300, 0, 0, 0, 50)),
    ]
    assert [(e.kind, e.request, e.blocks, e.summary) for e in trace.edits] == [("summary", 2, (0, 1), 2)]


def test_one_stream_and_one_conversation_are_files_too(tmp_path: Path) -> None:
    chunk = {"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}}], "usageMetadata": {}}
    stream = tmp_path / "stream.json"
    stream.write_text(json.dumps([chunk, {**chunk, "usageMetadata": {"promptTokenCount": 5}}], indent=1))
    assert [(b.text, r.usage) for b, r in zip(load(stream).blocks, load(stream).requests, strict=True)] == [
        ("aa", Usage(5))
    ]
    saved = tmp_path / "checkpoint.json"
    contents = [{"role": r, "parts": [{"text": r}]} for r in ("user", "model", "user", "model")]
    saved.write_text(json.dumps({"history": contents}, indent=1))
    assert [(b.role, b.request) for b in load(saved).blocks] == [
        ("user", 1),
        ("assistant", 2),
        ("user", 2),
        ("assistant", 3),
    ]


def test_parts_of_every_shape() -> None:
    parts = [
        {"text": "a"},
        {"text": "b", "thoughtSignature": "x" * 1000},
        {"inlineData": {"mimeType": "image/png", "data": "A" * 10_000}},
        {"inlineData": {"mimeType": "audio/wav", "data": "A" * 10_000}},
        {"thoughtSignature": "x" * 1000},
        {"functionResponse": {"name": "ls", "response": {"error": "no"}}},
        {"functionResponse": {"name": "ls", "response": [1]}},
        5,
        "c",
    ]
    assert [(b.kind, b.text) for b in parts_blocks(parts, "user", Ids())] == [
        ("text", "ab"),
        ("image", "[image/png]"),
        ("text", "[audio/wav]"),
        ("result", "no"),
        ("result", "[1]"),
        ("text", "c"),
    ]


@pytest.mark.parametrize("name", ["chat.json", "chat.jsonl", "side.responses", "exchanges.jsonl"])
@given(data=st.data())
def test_damaged_files_never_raise(tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "gemini" / name
    path.parent.mkdir(exist_ok=True)
    read_damaged(path, data.draw(mutants((DATA / name).read_bytes())))


# The real files.


def rows(corpus: Path) -> dict[str, dict[str, Any]]:
    index = json.loads((corpus / "INDEX.json").read_text(encoding="utf-8"))
    return {r["file"]: r for r in index if r["format"] == "gemini" and (corpus / r["file"]).exists()}


def test_real_chats_hold_their_totals_and_calls(corpus: Path) -> None:
    checked = 0
    for name, row in rows(corpus).items():
        if not gemini_cli.matches(corpus / name):
            continue
        trace = load(corpus / name)
        sound(trace)
        assert total(trace) == row["oracle"]["sum_total"], name
        assert sum(b.kind == "call" for b in trace.blocks) == row["calls"], name
        assert sum(b.kind == "result" for b in trace.blocks) == row["calls"], name
        checked += 1
    assert checked == 8


def test_real_traffic_keeps_every_response_and_call(corpus: Path) -> None:
    checked = 0
    for name, row in rows(corpus).items():
        if not gemini_api.matches(corpus / name):
            continue
        trace = load(corpus / name)
        sound(trace)
        everything = [trace, *trace.children]
        assert sum(len(t.requests) for t in everything) == row["messages"], name
        assert sum(b.kind == "call" for t in everything for b in t.blocks) == row["calls"], name
        assert all(r.usage is not None for t in everything for r in t.requests), name
        checked += 1
    assert checked == 4


def test_real_growth_shows_that_thoughts_are_not_sent_again(corpus: Path) -> None:
    requests = load(corpus / "gemini" / "entire-gemini-session-a.json").requests
    first, second = (r.usage for r in requests[:2])
    assert first is not None
    assert second is not None
    # 258 tokens came out, 153 of them thoughts; the next prompt, with a result of some 35 tokens, is 143 longer.
    assert first.output == 258
    assert second.total_input - first.total_input == 143
