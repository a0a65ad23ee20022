"""Reading telemetry lines of OpenClaw."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.load import load
from labkit.record.trace import Usage
from mutants import mutants, read_damaged, sound

LINES = Path(__file__).resolve().parent.parent / "data" / "openclaw_telemetry" / "mill.jsonl"


def test_the_longest_state_of_a_session_is_read_once() -> None:
    trace = load(LINES)
    assert (trace.name, trace.source) == ("agent:main:main", "OpenClaw telemetry: mill.jsonl")
    assert [r.usage for r in trace.requests] == [Usage(2, 0, 300, output=9), Usage(2, 300, 20, output=4)]
    assert [(b.kind, b.tool) for b in trace.blocks] == [
        ("text", None),
        ("call", "ring"),
        ("result", "ring"),
        ("text", None),
    ]


def test_subagents_are_children_and_silent_ones_are_said() -> None:
    trace = load(LINES)
    assert [(c.name, c.kind, c.usage) for c in trace.children] == [
        ("agent:main:subagent:1", "subagent", Usage(5, output=1))
    ]
    assert any(w.startswith("1 sessions are named but none of their messages") for w in trace.warnings)


def test_events_without_messages_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"type": "agent.start", "sessionKey": "agent:main:main", "messages": []}\n', encoding="utf-8")
    with pytest.raises(InputError, match="no messages of an agent"):
        load(path)


@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-telemetry.jsonl"
    read_damaged(path, data.draw(mutants(LINES.read_bytes())))


def test_real_lines_hold_the_usage_of_their_last_state(corpus: Path) -> None:
    trace = load(corpus / "otel" / "openclaw-crux1-sample-telemetry.jsonl")
    sound(trace)
    (child,) = trace.children
    assert child.usage == Usage(3 + 1, 14_079, 14_079 + 136, output=120 + 55)
    assert trace.requests[-1].usage == Usage(1, 18_157, 614, output=112)
    other = load(corpus / "otel" / "openclaw-sample-telemetry.jsonl")
    sound(other)
    assert other.requests[0].usage == Usage(2, 0, 42_061, output=50)
