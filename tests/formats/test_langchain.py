"""Reading LangChain's dumps and LangGraph's checkpoints: the four encodings, and lists that repeat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.edits import as_sent
from labkit.record.load import load
from labkit.record.trace import Prefix, Usage
from mutants import mutants, read_damaged, sound

DATA = Path(__file__).resolve().parent.parent / "data" / "langchain"
ENCODINGS = ["to_dict.json", "dumpd.json", "model_dump.json", "roles.json"]


@pytest.mark.parametrize("name", ENCODINGS)
def test_one_conversation_in_four_encodings(name: str) -> None:
    trace = load(DATA / name)
    sound(trace)
    assert trace.source == f"LangChain: {name}"
    # The calls stand in the content, beside it, and as the provider wrote them: each is one call.
    assert [(b.kind, b.request, b.tool, b.text) for b in trace.blocks] == [
        ("text", 1, None, "Compare a and b."),
        ("text", 2, None, "I look."),
        ("call", 2, "read", 'read {"file":"a"}'),
        ("call", 2, "read", 'read {"file":"b"}'),
        ("result", 2, "read", "one"),
        ("result", 2, "read", "two"),
        ("text", 3, None, "They differ."),
    ]
    # What was cached is part of the input.
    assert [(r.id, r.usage) for r in trace.requests] == [
        ("a1", Usage(10, 60, 30, output=20)),
        ("a2", Usage(50, 100, output=5)),
    ]
    assert (trace.requests[0].model, trace.prefixes, trace.edits) == ("m-1", (Prefix("Be brief."),), ())


def test_states_that_repeat_the_list_count_each_answer_once() -> None:
    trace = load(DATA / "states.jsonl")
    assert [r.id for r in trace.requests] == ["a1", "a2", "a3"]
    assert trace.usage == Usage(120, 160, 30, output=28)
    assert [b.text for b in trace.blocks].count("one") == 1


def test_a_summary_in_the_state_is_an_edit() -> None:
    trace = load(DATA / "states.jsonl")
    assert [e.kind for e in trace.edits] == ["summary"]
    assert [b.text for b in [*as_sent(trace)][2][1]] == ["Summary: a and b were read.", "They differ.", "And c?"]


def test_states_without_numbers_are_put_in_order_by_their_length(tmp_path: Path) -> None:
    states = [json.loads(line) for line in (DATA / "states.jsonl").read_text().splitlines()][1:]
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"channel_values": s["values"]} for s in states]))
    assert [r.id for r in load(path).requests] == ["a1", "a2"]


def test_results_after_the_last_answer_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"messages": json.loads((DATA / "model_dump.json").read_text())[:5]}))
    trace = load(path)
    assert [(b.kind, b.request) for b in trace.blocks][-2:] == [("result", 2), ("result", 2)]
    assert len(trace.requests) == 1


def test_a_list_without_an_answer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"type": "human", "content": "Hello"}]))
    with pytest.raises(InputError, match="no message of a model"):
        load(path)


@pytest.mark.parametrize("name", ["to_dict.json", "dumpd.json", "states.jsonl"])
@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(name: str, data: st.DataObject, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "langchain-mutant.json"
    read_damaged(path, data.draw(mutants((DATA / name).read_bytes())))


def test_the_real_files_load(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    rows = [row for row in index.values() if row["format"] == "langchain"]
    assert len(rows) == 4
    for row in rows:
        trace = load(corpus / row["file"])  # Langfuse's export, with LangChain's messages in it
        sound(trace)
        wanted = row["oracle"]["usage_generations"]
        if wanted:
            usage = trace.usage
            assert usage is not None
            assert (usage.total_input, usage.total_input + usage.output) == (wanted["input"], wanted["total"])
