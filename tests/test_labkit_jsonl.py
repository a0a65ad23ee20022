"""labkit's own format: what is saved comes back, and damage costs a line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.files import data_path
from labkit.record.formats.labkit_jsonl import read, save
from labkit.record.trace import Block, Edit, Fact, Need, Prefix, Request, Trace, Usage

TRACE = Trace(
    "tiny",
    (
        Block("text", "user", "go", request=1, message=0),
        Block("call", "assistant", "Read {}", request=2, message=1, tool="Read", args="a", call_id="c"),
        Block("result", "tool", "42\u2028", request=2, message=2, tool="Read", call_id="c"),
        Block("text", "assistant", "done", request=3),
    ),
    (Request(1, 1.5, "m", 0, Usage(1, 2, 3, 4, 5, "exact", "placeholder"), "r1"), Request(2)),
    (Prefix("Be brief.", None),),
    (Edit("clear", 2, (2,), stub="gone"), Edit("summary", 3, (0, 1), trigger="auto")),
    facts=(Fact("the answer", "42"),),
    needs=(Need(2, 2, "42"),),
    kind="scripted",
)


def parts(trace: Trace) -> tuple[Any, ...]:
    return (trace.name, trace.kind, trace.blocks, trace.requests, trace.prefixes, trace.edits, trace.facts, trace.needs)


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    save(TRACE, tmp_path / "a.jsonl")
    back = read(tmp_path / "a.jsonl")
    assert parts(back) == parts(TRACE)
    assert back.warnings == ()


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.lists(st.tuples(texts, st.integers(0, 2)), max_size=6))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]) -> None:
    blocks, request = [], 1
    for words, more in steps:
        request += more
        blocks.append(Block("text", "user", words, request=request))
    trace = Trace("any", tuple(blocks), tuple(Request(i) for i in range(1, request + 1)))
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    save(trace, path)
    assert parts(read(path)) == parts(trace)


def test_the_published_run_comes_back(tmp_path: Path) -> None:
    trace = read(data_path("traces", "invoice-60.jsonl"))
    save(trace, tmp_path / "a.jsonl")
    assert parts(read(tmp_path / "a.jsonl")) == parts(trace)


def damaged(tmp_path: Path, change: dict[int, Any]) -> Trace:
    save(TRACE, tmp_path / "a.jsonl")
    lines = (tmp_path / "a.jsonl").read_text(encoding="utf-8").split("\n")
    for number, entry in change.items():
        lines[number - 1] = entry if isinstance(entry, str) else json.dumps(entry)
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return read(tmp_path / "a.jsonl")


def test_a_bad_block_keeps_its_place(tmp_path: Path) -> None:
    trace = damaged(tmp_path, {2: {"type": "block", "kind": "text", "role": "user", "text": 5}})
    assert trace.blocks[0].text == ""
    assert trace.blocks[1:] == TRACE.blocks[1:]
    assert trace.warnings == ("line 2: not a valid block (text is '5'), skipped",)


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    trace = damaged(tmp_path, {2: {"type": "block", "kind": "text"}})
    assert "line 2: not a valid block (role, text missing), skipped" in trace.warnings


def test_an_unknown_line_is_named(tmp_path: Path) -> None:
    trace = damaged(tmp_path, {3: {"type": "request", "index": 1}, 4: {"type": "shiny"}})
    assert any("line 4: unknown type 'shiny', skipped" in w for w in trace.warnings)


def test_a_torn_line_puts_edits_in_doubt(tmp_path: Path) -> None:
    trace = damaged(tmp_path, {2: '{"type": "blo'})
    assert len(trace.blocks) == 3
    assert "lines were skipped, so edits and needs may name the wrong blocks" in trace.warnings


def test_a_lost_request_renumbers_the_others(tmp_path: Path) -> None:
    save(TRACE, tmp_path / "a.jsonl")
    lines = (tmp_path / "a.jsonl").read_text(encoding="utf-8").split("\n")
    lines = [entry for entry in lines if '"index":1' not in entry]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    trace = read(tmp_path / "a.jsonl")
    assert [r.index for r in trace.requests] == [1]
    assert [b.request for b in trace.blocks] == [1, 1, 1, 2]
    assert any("renumbered" in w for w in trace.warnings)


def test_edits_of_blocks_that_are_not_there_are_skipped(tmp_path: Path) -> None:
    wrong = replace(TRACE, edits=(Edit("clear", 2, (99,)),), needs=(Need(-1, 2, "x"),))
    save(wrong, tmp_path / "a.jsonl")
    trace = read(tmp_path / "a.jsonl")
    assert (trace.edits, trace.needs) == ((), ())
    assert trace.warnings == ("edits or needs that name blocks which are not in the file were skipped",)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"type": "trace", "format": "labkit", "version": 99}, "has version 99 of the format, this labkit reads 1"),
        ({"type": "trace", "format": "labkit", "version": "new"}, "has version 'new'"),
        ({"type": "trace", "format": "other"}, "has no labkit header"),
    ],
)
def test_headers_that_are_refused(tmp_path: Path, header: dict[str, Any], message: str) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(header))
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.jsonl")


def test_a_header_of_wrong_types(tmp_path: Path) -> None:
    header = {"type": "trace", "format": "labkit", "kind": [], "prefixes": [1], "facts": 7, "needs": [{"source": "x"}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(header))
    trace = read(tmp_path / "a.jsonl")
    assert (trace.kind, trace.prefixes, trace.facts) == ("session", (Prefix(),), ())
    assert len(trace.warnings) == 2
