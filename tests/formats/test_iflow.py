"""Reading sessions of iFlow CLI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.load import load
from mutants import mutants, read_damaged, sound

SESSION = Path(__file__).resolve().parent.parent / "data" / "iflow" / "session.jsonl"


def test_overlapping_pieces_are_one_response() -> None:
    trace = load(SESSION)
    assert trace.source == "iFlow CLI: session.jsonl"
    assert [(r.start, r.model, r.usage) for r in trace.requests] == [
        (1772442000.0, "model-i", None),
        (1772442005.0, "model-i", None),
    ]
    assert [(b.kind, b.call_id, b.request, b.message) for b in trace.blocks] == [
        ("text", None, 1, 0),
        ("text", None, 2, 1),
        ("call", "call_1", 2, 1),
        ("call", "call_2", 2, 1),
        ("result", "call_1", 2, 2),
        ("result", "call_2", 2, 2),
        ("text", None, 3, 3),
    ]
    assert trace.warnings == ("2 calls are repeated by the next piece of their response; counted once",)


def test_a_result_is_what_the_model_got() -> None:
    assert [b.text for b in load(SESSION).blocks if b.kind == "result"] == ["water", "salt"]


@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-iflow.jsonl"
    read_damaged(path, data.draw(mutants(SESSION.read_bytes())))


def test_a_real_session_has_each_call_once(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    name = "other/iflow-session.jsonl"
    trace = load(corpus / name)
    sound(trace)
    assert trace.source.startswith("iFlow CLI")
    calls = [b for b in trace.blocks if b.kind == "call"]
    results = [b for b in trace.blocks if b.kind == "result"]
    assert len(calls) == index[name]["calls"] == len(results) == 6
    assert all(result.tool for result in results)
    assert len(trace.requests) == 4
    assert not any("fileDiff" in b.text for b in trace.blocks)
    assert trace.usage is None  # recorded zeros beside calls
