"""Reading sessions of Copilot CLI."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.load import load
from labkit.record.trace import Edit, Usage
from mutants import mutants, read_damaged, sound

EVENTS = Path(__file__).resolve().parent.parent / "data" / "copilot_cli" / "events.jsonl"


def test_a_response_in_two_pieces_is_one_request() -> None:
    trace = load(EVENTS)
    assert trace.source == "Copilot CLI: events.jsonl"
    assert trace.prefixes[0].system == "You repair recipes."
    assert [(r.id, r.start, r.model) for r in trace.requests] == [
        ("a1", 1772442004.0, "model-p"),
        ("a2", 1772442013.0, "model-p"),
    ]
    assert [(b.kind, b.request, b.message) for b in trace.blocks[1:5]] == [
        ("thinking", 2, 1),
        ("text", 2, 1),
        ("call", 2, 1),
        ("call", 2, 1),
    ]
    assert trace.blocks[0].text == "<now>09:00</now> No salt!"  # what was sent, not what was typed


def test_only_the_output_of_a_message_is_recorded() -> None:
    trace = load(EVENTS)
    assert trace.requests[0].usage == Usage(output=42, input_quality="absent")
    assert trace.requests[1].usage == Usage(100, 300, output=5)  # an event has it whole
    assert any("for the whole session only: 100 input, 5 cache read" in w for w in trace.warnings)


def test_a_result_is_what_the_model_got() -> None:
    texts = [b.text for b in load(EVENTS).blocks if b.kind == "result"]
    assert texts == ["soup.txt", "bland"]


def test_a_subagent_is_a_child() -> None:
    agent = load(EVENTS).children[0]
    assert (agent.kind, len(agent.requests), agent.requests[0].start) == ("subagent", 1, 1772442007.0)
    assert [(b.kind, b.text) for b in agent.blocks] == [
        ("text", "Tasting."),
        ("call", 'shell {"command":"taste"}'),
        ("result", "no tongue"),
    ]


def test_a_compaction_and_its_call() -> None:
    trace = load(EVENTS)
    assert trace.edits == (Edit("summary", 2, tuple(range(7)), summary=7, trigger="compaction"),)
    call = trace.children[1]
    assert (call.kind, [r.usage for r in call.requests]) == ("compaction", [Usage(1200, 4000, output=80)])


def test_what_is_not_known_is_said() -> None:
    said = load(EVENTS).warnings
    assert "the harness cut 3 messages: which ones is not recorded, all are kept here" in said
    assert "1 notifications: whether the model saw them is not recorded" in said
    assert "entries of unknown types were skipped: 1 'new.thing'" in said


@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-events.jsonl"
    read_damaged(path, data.draw(mutants(EVENTS.read_bytes())))


def test_a_real_session_adds_up_to_its_own_total(corpus: Path) -> None:
    trace = load(corpus / "other" / "copilot-cli-events.jsonl")
    sound(trace)
    assert trace.usage is not None
    assert trace.usage.output == 15
    assert any("100 input, 15 output, 5 cache read" in w for w in trace.warnings)
    assert [b.text for b in trace.blocks[:4]] == [
        "List the files",
        "Listing the files.",
        'shell {"command":"ls"}',
        "a.txt\nb.txt\n",
    ]
