"""Reading conversations of the OpenHands agent SDK."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.load import load
from labkit.record.trace import Edit, Usage
from mutants import mutants, read_damaged, sound

DATA = Path(__file__).resolve().parent.parent / "data" / "openhands_sdk"


def test_events_become_requests_and_blocks() -> None:
    trace = load(DATA / "events.jsonl")
    assert trace.source == "OpenHands SDK: events.jsonl"
    assert trace.prefixes[0].system == "You repair recipes.\nToday is Monday."
    assert trace.prefixes[0].tools == '[{"kind":"TerminalTool","name":"terminal"}]'
    assert [b.text for b in trace.blocks[:2]] == ["The soup has no salt.", "Salt is in the jar."]
    assert {r.model for r in trace.requests} == {"vendor/model-c"}


def test_running_totals_give_each_response_what_they_grew_by() -> None:
    trace = load(DATA / "events.jsonl")
    # 1,000; 2,200 with 900 read; 3,500 with 2,000 read; 4,700 with 3,100 read, after the last response.
    assert [(r.id, r.usage) for r in trace.requests] == [
        ("r1", Usage(1000, 0, output=40)),
        (None, Usage(300, 900, output=30)),
        ("r3", Usage(200, 1100, output=20)),
        ("r4", Usage(100, 1100, output=10)),
    ]


def test_actions_of_one_response_are_one_request() -> None:
    trace = load(DATA / "events.jsonl")
    assert [(b.kind, b.call_id, b.request, b.message) for b in trace.blocks[2:7]] == [
        ("text", None, 2, 1),
        ("call", "k1", 2, 1),
        ("call", "k2", 2, 1),
        ("result", "k1", 2, 2),
        ("result", "k2", 2, 2),
    ]
    assert trace.blocks[6].text == "cat: busy"  # an error of the harness answers its call


def test_a_call_whose_event_is_lost_is_a_request_and_its_result_an_orphan() -> None:
    trace = load(DATA / "events.jsonl")
    assert "1 calls are in the running totals but in no event: counted as requests without text" in trace.warnings
    assert "1 results have no call in this file (the first before request 3); kept" in trace.warnings
    assert "entries of unknown types were skipped: 1 'NewThingEvent'" in trace.warnings


def test_reasoning_that_the_text_repeats_counts_once() -> None:
    texts = [b.text for b in load(DATA / "events.jsonl").blocks]
    assert sum("Look first." in text for text in texts) == 1
    assert sum("It needs salt." in text for text in texts) == 1


def test_a_condensation_and_its_own_call() -> None:
    trace = load(DATA / "events.jsonl")
    assert trace.edits == (Edit("summary", 3, (2, 3, 4, 5, 6), summary=8, trigger="condenser"),)
    (condenser,) = trace.children
    assert (condenser.kind, [r.usage for r in condenser.requests]) == ("compaction", [Usage(600, output=30)])


def test_a_folder_has_usage_by_response() -> None:
    trace = load(DATA / "conversation")
    assert [(r.id, r.usage) for r in trace.requests] == [
        ("r1", Usage(50, 0, 950, 0, 40)),
        ("r4", Usage(50, 950, 200, 0, 10)),
    ]
    (condenser,) = trace.children
    assert [(r.id, r.usage) for r in condenser.requests] == [("rc", Usage(600, output=30))]
    assert trace.warnings == ()


@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-sdk.jsonl"
    read_damaged(path, data.draw(mutants((DATA / "events.jsonl").read_bytes())))


def test_a_real_log_adds_up_to_its_last_total(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    name = "openhands/sdk-goal-events.jsonl"
    trace = load(corpus / name)
    sound(trace)
    usage = trace.usage
    assert usage is not None
    assert (usage.total_input, usage.cache_read, usage.output) == (107_458, 68_193, 1_347)
    assert sum(b.kind == "call" for b in trace.blocks) == index[name]["calls"]
    # Three observations for two actions.
    assert any(w.startswith("1 results have no call") for w in trace.warnings)
