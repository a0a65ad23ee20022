"""Signs of a lost thread, each with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from labkit.record.load import load
from labkit.record.trace import Block, Trace
from labkit.replay.symptoms import symptoms


def call(tool: str, request: int, **args: Any) -> Block:
    return Block(
        "call", "assistant", f"{tool} {json.dumps(args)}", request=request + 1, tool=tool, call_id=f"c{request}"
    )


def answer(text: str, request: int) -> Block:
    return Block("result", "tool", text, request=request + 1, call_id=f"c{request}")


def say(text: str, request: int) -> Block:
    return Block("text", "assistant", text, request=request + 1)


def found(*blocks: Block) -> list[tuple[str, int, int, int | None, str]]:
    return [(s.kind, s.request, s.position, s.earlier, s.what) for s in symptoms(Trace("hand", blocks, ()))]


def test_a_file_read_after_its_edit() -> None:
    blocks = [
        call("Read", 1, file_path="a.py"),
        call("Read", 2, file_path="a.py"),  # twice, but not edited
        call("Edit", 3, file_path="a.py", old_string="1", new_string="2"),
        call("Read", 4, file_path="b.py"),
        call("Read", 5, file_path="a.py"),
        answer("word " * 95, 5),
        call("Read", 6, file_path="a.py"),  # the edit was seen by now
    ]
    assert found(*blocks) == [("reread_after_edit", 5, 4, 2, "a.py")]
    (only,) = symptoms(Trace("hand", tuple(blocks), ()))
    assert only.tokens == 100


def test_one_tool_that_reads_and_edits() -> None:
    blocks = [
        call("str_replace_editor", 1, command="create", path="/a"),
        call("str_replace_editor", 2, command="view", path="/a"),
    ]
    assert found(*blocks) == [("reread_after_edit", 2, 1, 0, "/a")]


def test_a_decision_that_overturns_another() -> None:
    blocks = [
        say("DECISION: bill the open orders first", 1),
        say("Fine.\nDECISION: void duplicates, supersedes bill the open orders first", 2),
        say("DECISION D1: keep the cache", 3),
        say("DECISION D1: keep the cache", 4),
        say("DECISION D1: drop the cache", 5),
        say("DECISION: new, supersedes something unknown", 6),
        say("the DECISION: is not at the start of a line, supersedes nothing", 7),
    ]
    assert found(*blocks) == [
        ("decision_against_earlier", 2, 1, 0, "void duplicates, supersedes bill the open orders first"),
        ("decision_against_earlier", 5, 4, 3, "drop the cache"),
        ("decision_against_earlier", 6, 5, None, "new, supersedes something unknown"),
    ]


@pytest.mark.parametrize(
    ("last", "status", "seen"),
    [
        ("All done, the tests pass.", "pending", True),
        ("All done, the tests pass.", "completed", False),
        ("I will go on with the second part.", "pending", False),
    ],
)
def test_done_with_work_open(last: str, status: str, seen: bool) -> None:
    todos = [{"content": "write", "status": "completed"}, {"content": "test", "status": status}]
    blocks = [call("TodoWrite", 1, todos=todos), say(last, 2)]
    expected = [("done_with_work_open", 2, 1, 0, "1 open: test")]
    assert found(*blocks) == (expected if seen else [])


def test_tasks_are_followed_by_number() -> None:
    blocks = [
        call("TaskCreate", 1, subject="first"),
        call("TaskCreate", 2, subject="second"),
        call("TaskUpdate", 3, taskId="1", status="completed"),
        say("Everything is done.", 4),
    ]
    assert found(*blocks) == [("done_with_work_open", 4, 3, 2, "1 open: second")]
    assert found(*blocks[:3], call("TaskUpdate", 4, taskId="2", status="completed"), blocks[3]) == []


@pytest.mark.parametrize("text", ["Edit", "Edit {", 'Edit "a"', 'Edit {"file_path": 3}', "Edit " + "[" * 20_000])
def test_damaged_arguments_are_no_symptom(text: str) -> None:
    assert found(Block("call", "assistant", text, request=2, tool="Edit"), call("Read", 2, file_path="a")) == []


def test_real_sessions_have_some(corpus: Path) -> None:
    counts: dict[str, int] = {}
    for file in sorted((corpus / "claude-code").glob("entire-*.jsonl")):
        trace = load(file)
        for symptom in symptoms(trace):
            counts[symptom.kind] = counts.get(symptom.kind, 0) + 1
            block = trace.blocks[symptom.position]
            assert block.role == "assistant"
            if symptom.kind == "reread_after_edit":
                assert symptom.what in block.text.replace("\\\\", "\\")
                assert symptom.earlier is not None and symptom.what in trace.blocks[symptom.earlier].text
    assert counts.get("reread_after_edit", 0) > 20
