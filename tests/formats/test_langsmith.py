"""Reading exports of LangSmith."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.load import load
from labkit.record.trace import Usage
from mutants import mutants, read_damaged

EXPORT = Path(__file__).resolve().parent.parent / "data" / "langsmith" / "mill.json"


def test_runs_of_a_model_are_requests_and_the_chains_sum_is_not_counted() -> None:
    trace = load(EXPORT)
    assert trace.source == "LangSmith: mill.json"
    assert [(r.start, r.model, r.id, r.usage) for r in trace.requests] == [
        (1772442001.0, "chat-large", None, Usage(60, 40, output=9)),
        (1772442003.0, "chat-large-1", "msg_1", Usage(10, 120, 30, output=6)),
    ]
    assert (trace.edits, trace.children, trace.warnings) == ((), (), ())


def test_a_call_is_read_once_though_langchain_writes_it_twice() -> None:
    trace = load(EXPORT)
    assert trace.prefixes[0].system == "You watch the mill."
    assert trace.prefixes[0].tools == '[{"type":"function","function":{"name":"ring"}}]'
    assert [(b.kind, b.text, b.tool, b.args) for b in trace.blocks] == [
        ("text", "Is the mill open?", None, None),
        ("call", 'ring {"times":2}', "ring", "times=2"),
        ("result", "He waves.", "ring", "times=2"),
        ("text", "It is open.", None, None),
    ]


def test_nested_runs_and_lines_give_the_same(tmp_path: Path) -> None:
    root, *inner = json.loads(EXPORT.read_text(encoding="utf-8"))
    nested, lines = tmp_path / "a.json", tmp_path / "a.jsonl"
    nested.write_text(json.dumps(root | {"child_runs": [r | {"parent_run_id": None} for r in inner]}), encoding="utf-8")
    lines.write_text("\n".join(json.dumps(r) for r in [*inner, root, root]), encoding="utf-8")
    want = load(EXPORT)
    for path in (nested, lines):
        trace = load(path)
        assert [r.usage for r in trace.requests] == [r.usage for r in want.requests]
        assert [b.text for b in trace.blocks] == [b.text for b in want.blocks]
    assert load(lines).warnings == ("1 runs are there twice; counted once",)


def test_usage_is_taken_from_the_run_where_the_answer_holds_none(tmp_path: Path) -> None:
    runs = json.loads(EXPORT.read_text(encoding="utf-8"))[1:2]
    del runs[0]["outputs"]["generations"][0][0]["message"]["kwargs"]["usage_metadata"]
    del runs[0]["outputs"]["llm_output"]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(runs), encoding="utf-8")
    assert load(path).requests[0].usage == Usage(100, output=9)


def test_runs_that_call_nothing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(json.loads(EXPORT.read_text(encoding="utf-8"))[:1]), encoding="utf-8")
    with pytest.raises(InputError, match="1 runs, none of them a call"):
        load(path)


@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-langsmith.json"
    read_damaged(path, data.draw(mutants(EXPORT.read_bytes())))
