"""Reading wire logs of Kimi CLI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.load import load
from labkit.record.trace import Edit, Prefix, Usage
from mutants import mutants, read_damaged, sound

WIRE = Path(__file__).resolve().parent.parent / "data" / "kimi" / "wire.jsonl"


def test_steps_become_requests() -> None:
    trace = load(WIRE)
    assert trace.source == "Kimi CLI: wire.jsonl"
    assert trace.prefixes == (Prefix("You repair recipes.", '[{"name":"Bash"}]'),)
    assert [(r.start, r.model, r.id, r.usage) for r in trace.requests] == [
        (1772442006.0, "model-k", "m1", Usage(900, 100, output=40)),
        (1772442010.0, "model-k", "m2", Usage(150, 1000, output=20)),
        (1772442405.0, "model-k", "m3", Usage(300, output=5)),
    ]
    assert [(b.kind, b.request, b.message) for b in trace.blocks[2:8]] == [
        ("thinking", 2, 2),
        ("text", 2, 2),
        ("call", 2, 2),
        ("call", 2, 2),
        ("result", 2, 3),
        ("result", 2, 3),
    ]
    assert trace.blocks[6].text == "soup.txt\n<system>1 file</system>"


def test_a_request_without_an_answer_is_said_and_not_counted() -> None:
    trace = load(WIRE)
    assert "1 requests have no recorded answer: not counted" in trace.warnings
    assert trace.blocks[0].text == "hi"  # the model still gets what was asked


def test_a_compaction_keeps_what_the_user_typed_and_its_call_is_a_child() -> None:
    trace = load(WIRE)
    assert trace.edits == (Edit("summary", 3, (2, 3, 4, 5, 6, 7, 8, 9), summary=10, trigger="compaction"),)
    assert trace.blocks[10].text == "What was before: bland soup."
    (call,) = trace.children
    assert (call.kind, [r.usage for r in call.requests]) == ("compaction", [Usage(200, 1000, output=90)])


def test_what_is_not_recorded_or_not_applied_is_said() -> None:
    said = load(WIRE).warnings
    assert "1 subagents have no transcript here: what they spent is not recorded" in said
    assert "1 changes of the context (undone turns, cleared results) were not applied" in said
    assert "entries of unknown types were skipped: 1 'new.thing'" in said


def test_a_cleared_context_is_an_eviction(tmp_path: Path) -> None:
    lines = WIRE.read_text(encoding="utf-8").split("\n")
    lines.insert(
        next(i for i, line in enumerate(lines) if "full_compaction.begin" in line),
        '{"type":"context.clear","time":1772442399000}',
    )
    path = tmp_path / "wire.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    edit = load(path).edits[0]
    assert (edit.kind, edit.trigger, edit.blocks) == ("evict", "manual", tuple(range(10)))


@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-wire.jsonl"
    read_damaged(path, data.draw(mutants(WIRE.read_bytes())))


def test_a_real_log_adds_up_to_its_usage_lines(corpus: Path) -> None:
    path = corpus / "other" / "kimi-assistant_tools.jsonl"
    trace = load(path)
    sound(trace)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    records = [line["usage"] for line in lines if line["type"] == "usage.record"]
    usages = [r.usage for t in (trace, *trace.children) for r in t.requests if r.usage]
    assert len(usages) == len(records) == 23
    assert sum(u.cache_read for u in usages) == sum(r["inputCacheRead"] for r in records)
    assert sum(u.uncached for u in usages) == sum(r["inputOther"] for r in records)
    assert sum(u.output for u in usages) == sum(r["output"] for r in records)
    # The step's end says the same again: read naively, the main thread would count twice.
    ends = [line["event"]["usage"] for line in lines if "usage" in line.get("event", {})]
    assert sum(e["output"] for e in ends) == sum(r.usage.output for r in trace.requests if r.usage) == 4_578
