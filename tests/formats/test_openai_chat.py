"""Reading traffic of Chat Completions and litellm's logs: faults that people reported, and the real files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.edits import as_sent
from labkit.record.formats import openai_chat
from labkit.record.load import load
from labkit.record.trace import Usage
from mutants import mutants, read_damaged, sound
from records import flat, lines, write

DATA = Path(__file__).resolve().parent.parent / "data" / "openai_chat"
SAID = [
    ("text", 1, "Compare a and b."),
    ("text", 2, "I look."),
    ("call", 2, 'read {"file": "a"}'),
    ("call", 2, 'read {"file": "b"}'),
    ("result", 2, "one"),
    ("result", 2, "two"),
    ("text", 3, "They differ."),
    ("text", 3, "And c?"),
    ("text", 4, "None."),
]


def test_a_folder_of_full_prompts_is_one_run_in_the_order_of_sending() -> None:
    trace = load(DATA / "run")
    assert trace.source == "OpenAI Chat Completions: run"
    assert flat(trace) == SAID
    # Sent at 08:00:00, 08:00:10 and 08:00:20; the log notes when the answer was there.
    assert [r.start for r in trace.requests] == [1777881600.0, 1777881610.0, 1777881620.0]
    assert [r.id for r in trace.requests] == ["x1", "x2", "x3"]
    assert trace.prefixes[0].system == "Be brief."


def test_a_moved_cache_mark_is_no_change_of_the_prefix() -> None:
    # It stands on a part or on a message, and moves to the newest message each time.
    assert load(DATA / "run").edits == ()


def test_cached_and_written_tokens_are_part_of_the_prompt() -> None:
    assert [r.usage for r in load(DATA / "run").requests] == [
        Usage(100, output=20),
        Usage(64, 64, 32, output=30),
        Usage(40, 160, output=4),
    ]


def test_thoughts_that_are_not_sent_back_are_left_out() -> None:
    trace = load(DATA / "run")
    assert not any(b.kind == "thinking" for b in trace.blocks)
    assert any(w.startswith("1 answers were sent back without their thoughts") for w in trace.warnings)


def test_one_file_of_a_run_holds_the_calls_before_it_without_usage() -> None:
    trace = load(DATA / "run" / "b.json")
    assert flat(trace) == SAID
    assert [r.usage for r in trace.requests] == [None, None, Usage(40, 160, output=4)]
    assert any(w.startswith("2 answers are known only from later requests") for w in trace.warnings)


def test_a_folder_with_another_file_in_it_is_no_run(tmp_path: Path) -> None:
    shutil.copytree(DATA / "run", tmp_path / "run")
    (tmp_path / "run" / "notes.json").write_text("{}")
    with pytest.raises(ValueError, match="session"):
        load(tmp_path / "run")


def test_pairs_on_lines() -> None:
    assert flat(load(DATA / "exchanges.jsonl")) == SAID


@pytest.mark.parametrize("name", ["stream.chunks.txt", "wire.txt"])
def test_streams(name: str) -> None:
    trace = load(DATA / name)
    assert flat(trace) == [("text", 2, "I look."), ("call", 2, 'read {"file": "a"}')]
    assert [(r.usage, r.model, r.start) for r in trace.requests] == [(Usage(100, output=20), "gpt-x-1", 1777881600.0)]


def test_a_call_with_a_mad_number_does_not_fill_the_memory(tmp_path: Path) -> None:
    rows = lines(DATA / "stream.chunks.txt")
    rows.insert(3, {**rows[2], "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 10**12}]}}]})
    assert flat(load(write(tmp_path / "a.txt", *rows))) == flat(load(DATA / "stream.chunks.txt"))


def test_calls_written_as_text_are_shown_as_calls(tmp_path: Path) -> None:
    raw = lines(DATA / "exchanges.jsonl")[1]["request"]["messages"]
    sent = [
        {"role": "system", "content": "Be brief. Tools: read."},
        raw[1],
        {"role": "assistant", "content": "I look.\n<function=read>a</function>"},
        {"role": "user", "content": "RESULT of read: one"},
        {"role": "user", "content": "RESULT of read: two"},
    ]
    tools = [{"type": "function", "function": {"name": "read"}}]
    answer = lines(DATA / "exchanges.jsonl")[1]["response"]
    trace = load(
        write(tmp_path / "a.jsonl", {"messages": sent, "raw_messages": raw, "tools": tools, "response": answer})
    )
    assert [b.kind for b in trace.blocks][:6] == ["text", "text", "call", "call", "result", "result"]
    # The tools were sent as text of the system prompt, and not a second time.
    assert (trace.prefixes[0].system, trace.prefixes[0].tools) == ("Be brief. Tools: read.", None)


def test_a_client_that_summarizes(tmp_path: Path) -> None:
    # Words long enough to know the conversation by, when its beginning is gone.
    whole = (DATA / "exchanges.jsonl").read_text().replace("They differ.", "They differ in every one of their lines.")
    rows = [json.loads(line) for line in whole.splitlines()]
    messages = rows[2]["request"]["messages"]
    messages[1:5] = [{"role": "user", "content": "Summary: a and b were read."}]
    trace = load(write(tmp_path / "a.jsonl", *rows))
    edit = trace.edits[0]
    assert (edit.kind, edit.request, edit.blocks) == ("summary", 3, (0, 1, 2, 3, 4, 5))
    assert [b.text for b in [*as_sent(trace)][2][1]] == [
        "Summary: a and b were read.",
        "They differ in every one of their lines.",
        "And c?",
    ]


def test_a_conversation_by_itself(tmp_path: Path) -> None:
    messages = [*lines(DATA / "exchanges.jsonl")[2]["request"]["messages"], {"role": "assistant", "content": "None."}]
    for path in (write(tmp_path / "a.jsonl", *messages), tmp_path / "b.json"):
        if path.suffix == ".json":
            path.write_text(json.dumps(messages))
        trace = load(path)
        assert flat(trace) == SAID
        assert [r.usage for r in trace.requests] == [None] * 3


@pytest.mark.parametrize("name", ["exchanges.jsonl", "stream.chunks.txt"])
@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(name: str, data: st.DataObject, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "chat-mutant.jsonl"
    read_damaged(path, data.draw(mutants((DATA / name).read_bytes())))


def test_the_real_files(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    rows = [row for row in index.values() if row["format"] == "openai-chat"]
    assert len(rows) == 28
    for row in rows:
        trace = load(corpus / row["file"])
        sound(trace)
        usage, raw = trace.usage, row["oracle"]["usage"]
        assert usage is not None
        assert (usage.total_input, usage.output) == (raw["prompt_tokens"], raw["completion_tokens"]), row["file"]
        if "deepseek" not in row["file"]:  # its calls were written as text, which the index does not count
            answered = sum(int(odd.split()[2]) for odd in row["odd"] if odd.startswith("response makes"))
            assert sum(b.kind == "call" for b in trace.blocks) == row["calls"] + answered, row["file"]


def test_the_real_run_only_appends(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    trace = load(corpus / "openai-chat" / "openhands-django-11119")
    sound(trace)
    assert (len(trace.requests), trace.edits) == (21, ())
    # Of the cached prompt, 4 tokens are neither read nor written.
    assert Usage(4, 21_874, 1_095, output=546) in [r.usage for r in trace.requests]
    rows = [r["oracle"]["usage"] for f, r in index.items() if f.startswith("openai-chat/openhands-django-11119/")]
    assert trace.usage is not None
    assert trace.usage.total_input == sum(r["prompt_tokens"] for r in rows) == 423_408
    # Each request carries what the last one did, two blocks of an answer and one result; the last but
    # one answer asks the user instead of calling.
    assert [len(blocks) for _, blocks in as_sent(trace)] == [*range(1, 59, 3), 60]


def test_two_real_runs_in_one_folder_are_two_runs(corpus: Path) -> None:
    trace = load(corpus / "openai-chat" / "openhands-sdk")
    assert [len(c.requests) for c in trace.children] == [5, 4]
    assert {r.model for r in trace.children[1].requests} == {"litellm_proxy/deepseek-chat", None}


def test_lines_of_another_program_that_begin_like_a_message_are_not_chat(tmp_path: Path) -> None:
    said = {"role": "user", "content": "Which branch?", "timestamp": "2026-06-01T10:00:00Z"}
    assert openai_chat.matches(write(tmp_path / "chat.jsonl", said, {"role": "assistant", "content": "main"}))
    assert not openai_chat.matches(write(tmp_path / "other.jsonl", said, {"type": "tool_call", "arguments": "status"}))
