"""Reading traffic of the Responses API: faults that people reported, and the real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.edits import as_sent
from labkit.record.formats import openai_responses
from labkit.record.load import load
from labkit.record.trace import Prefix, Usage
from mutants import mutants, read_damaged, sound
from records import flat, lines, write

DATA = Path(__file__).resolve().parent.parent / "data" / "openai_responses"


def test_consecutive_requests_hold_the_conversation_once() -> None:
    trace = load(DATA / "exchanges.jsonl")
    assert trace.source == "OpenAI Responses: exchanges.jsonl"
    assert flat(trace) == [
        ("text", 1, "Compare a and b."),
        ("thinking", 2, ""),
        ("call", 2, 'read {"file": "a"}'),
        ("call", 2, 'read {"file": "b"}'),
        ("result", 2, "one"),
        ("result", 2, "two"),
        ("text", 3, "They differ."),
        ("text", 3, "What else?"),
        ("call", 4, 'shell {"commands":["ls"]}'),
        ("result", 4, '[{"stdout":"a b c"}]'),
        ("text", 4, "Three files."),
        ("text", 4, "Thanks."),
        ("text", 5, "Bye."),
    ]
    assert trace.edits == ()
    assert trace.prefixes == (
        Prefix("You are an agent.\nBe brief.", '[{"type":"function","name":"read","parameters":{}}]'),
    )
    assert [r.usage for r in trace.requests] == [
        Usage(100, output=20),
        Usage(96, 64, output=30),
        Usage(40, 160, output=9),
        Usage(50, 200, output=2),
    ]
    assert [r.start for r in trace.requests] == [1777881600.0 + 10 * n for n in range(4)]
    assert any("items are encrypted" in w for w in trace.warnings)


def test_what_the_provider_keeps_is_not_sent_again() -> None:
    trace = load(DATA / "kept.jsonl")
    assert [(b.request, b.text) for b in trace.blocks] == [
        (1, "Compare a and b."),
        (2, 'read {"file": "a"}'),
        (2, 'read {"file": "b"}'),
        (2, "one"),
        (2, "two"),
        (3, "They differ."),
        (3, ""),
        (3, "And c?"),
        (4, "None."),
    ]
    assert any(w.startswith("2 requests go on from what the provider keeps") for w in trace.warnings)


def test_a_compaction_at_the_provider_replaces_what_came_before_it() -> None:
    trace = load(DATA / "kept.jsonl")
    assert [(e.kind, e.request, e.blocks, e.summary) for e in trace.edits] == [("summary", 3, (0, 1, 2, 3, 4, 5), 6)]
    assert [b.text for b in [*as_sent(trace)][2][1]] == ["", "And c?"]


def test_a_client_that_goes_on_from_a_compaction(tmp_path: Path) -> None:
    rows = lines(DATA / "exchanges.jsonl")
    item = {"type": "compaction", "id": "cmp", "encrypted_content": "gAAA"}
    rows[1]["response"]["output"].append(item)
    after = {"request": {"model": "gpt-x", "input": [item, {"role": "user", "content": "And c?"}]}}
    trace = load(write(tmp_path / "a.jsonl", *rows[:2], {**after, "response": rows[3]["response"]}))
    assert [(e.kind, e.request, e.summary) for e in trace.edits] == [("summary", 3, 7)]
    assert [b.text for b in [*as_sent(trace)][2][1]] == ["", "And c?"]


def test_ids_that_change_between_the_events_of_an_item() -> None:
    # The last event's output is empty: the items are known by their place.
    trace = load(DATA / "stream.chunks.txt")
    assert flat(trace) == [("thinking", 2, "Look."), ("call", 2, 'read {"file": "a"}')]
    assert trace.requests[0].usage == Usage(100, output=20)


def test_a_stream_that_ends_early_keeps_its_items(tmp_path: Path) -> None:
    trace = load(write(tmp_path / "a.txt", *lines(DATA / "stream.chunks.txt")[:-1]))
    assert [b.kind for b in trace.blocks] == ["thinking", "call"]
    assert trace.requests[0].usage is None
    assert any("ended early" in w for w in trace.warnings)


def test_tools_at_the_provider_are_calls_with_their_results(tmp_path: Path) -> None:
    row = lines(DATA / "exchanges.jsonl")[0]["response"]
    row["output"] = [
        {"type": "mcp_list_tools", "id": "l", "tools": [{"name": "find"}]},
        {"type": "mcp_call", "id": "m", "name": "find", "arguments": '{"q":"x"}', "output": "found"},
        {"type": "code_interpreter_call", "id": "i", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
        {"type": "program", "id": "p", "call_id": "q", "code": "go()"},
        {"type": "program_output", "id": "o", "call_id": "q", "result": "went"},
        {"type": "of tomorrow"},
    ]
    trace = load(write(tmp_path / "a.json", row))
    assert [(b.kind, b.role, b.tool, b.text) for b in trace.blocks] == [
        ("text", "system", None, '[{"name":"find"}]'),
        ("call", "assistant", "find", 'find {"q":"x"}'),
        ("result", "tool", "find", "found"),
        ("call", "assistant", "code_interpreter", "code_interpreter 1+1"),
        ("result", "tool", "code_interpreter", "2"),
        ("call", "assistant", "program", "program go()"),
        ("result", "tool", "program", "went"),
    ]
    assert "items of unknown types were skipped: 1 'of tomorrow'" in trace.warnings


def test_items_by_themselves(tmp_path: Path) -> None:
    items = lines(DATA / "exchanges.jsonl")[3]["request"]["input"][1:]
    (tmp_path / "a.json").write_text(json.dumps(items))
    trace = load(tmp_path / "a.json")
    assert [b.text for b in trace.blocks] == [b.text for b in load(DATA / "exchanges.jsonl").blocks][:-1]


@pytest.mark.parametrize("name", ["exchanges.jsonl", "kept.jsonl", "stream.chunks.txt"])
@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(name: str, data: st.DataObject, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "responses-mutant.jsonl"
    read_damaged(path, data.draw(mutants((DATA / name).read_bytes())))


def test_the_real_files(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    rows = [row for row in index.values() if row["format"] == "openai-responses"]
    assert len(rows) == 17
    for row in rows:
        path = corpus / row["file"]
        assert openai_responses.matches(path), path
        trace = load(path)
        sound(trace)
        raw, usage = row["oracle"]["usage"], trace.requests[-1].usage
        if not raw["total_tokens"]:
            assert usage is None, path  # zeros beside a call mean that nothing was recorded
            continue
        assert usage is not None
        assert (usage.total_input, usage.cache_read, usage.output) == (
            raw["input_tokens"],
            raw["input_tokens_details"]["cached_tokens"],
            raw["output_tokens"],
        ), path
        if "web-search" not in row["file"]:  # what a search brought is not recorded, so it is no call with a result
            extra = row["file"].endswith("programmatic-tool-calling.1.json")  # the program that calls counts too
            assert sum(b.kind == "call" for b in trace.blocks) == row["calls"] + extra, path


def test_a_real_stream_of_two_responses_has_both(corpus: Path) -> None:
    # The index holds the usage of the second one only.
    trace = load(corpus / "openai-responses" / "openai-shell-tool.1.chunks.txt")
    assert [r.usage for r in trace.requests] == [Usage(145, output=41), Usage(331, output=166)]
