"""One way in: what is recognised, and what each refusal says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from labkit.errors import InputError
from labkit.files import data_path
from labkit.record.formats.labkit_jsonl import save
from labkit.record.load import load
from labkit.record.trace import Block, Request, Trace
from session_lines import assistant, text, usage, user, write


def session(path: Path) -> Path:
    return write(path, user("go"), assistant("m1", text("yes"), usage(1, 2, 3, 4)))


def refusal(path: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_formats_are_recognised_by_content(tmp_path: Path) -> None:
    save(Trace("tiny", (Block("text", "user", "hi", request=1),), (Request(1),), kind="scripted"), tmp_path / "a.txt")
    assert load(tmp_path / "a.txt").name == "tiny"
    assert load(session(tmp_path / "b.log")).source == "Claude Code: b.log"
    assert load(str(tmp_path / "b.log")).kind == "session"


def test_a_torn_first_line_does_not_hide_a_session(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"type": "user", "mess', user("go"), assistant("m1", text("yes"), usage(1)))
    trace = load(path)
    assert len(trace.requests) == 1
    assert trace.warnings[0].startswith("line 1: not valid JSON")


def test_a_folder_with_one_session(tmp_path: Path) -> None:
    session(tmp_path / "deep" / "s1.jsonl")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n')
    assert load(tmp_path).name == "s1"


def test_a_missing_file_suggests_the_nearest(tmp_path: Path) -> None:
    session(tmp_path / "session-1.jsonl")
    message = refusal(tmp_path / "sesion-1.jsonl")
    assert "does not exist: give a session file, did you mean" in message
    assert message.endswith("session-1.jsonl?")


def test_a_missing_folder(tmp_path: Path) -> None:
    assert "the folder" in refusal(tmp_path / "no" / "a.jsonl")


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    assert "is empty: give a session with at least one line" in refusal(tmp_path / "a.jsonl")


def test_a_folder_without_sessions(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n')
    assert "holds no session in a known format" in refusal(tmp_path)


def test_a_folder_with_several_sessions(tmp_path: Path) -> None:
    session(tmp_path / "a.jsonl")
    session(tmp_path / "b.jsonl")
    assert "holds 2 sessions (a.jsonl, b.jsonl): give one of them" in refusal(tmp_path)


def test_a_binary_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\x1f\x8b\x08\x00rest")
    assert "is a binary file" in refusal(tmp_path / "a.jsonl")


@pytest.mark.parametrize("content", ["hello\n", json.dumps({"rows": []}), "[]", "{"])
def test_another_format(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    assert "is not in a format labkit knows" in refusal(tmp_path / "a.jsonl")


@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000])
def test_an_unusable_path(path: str) -> None:
    assert "is not a usable path" in refusal(path) or "does not exist" in refusal(path)


def test_a_session_of_nothing_but_torn_lines(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"type": "user", "mess\n{"type"\n')
    assert "no JSON object in its first lines" in refusal(tmp_path / "a.jsonl")


def test_a_pattern_or_a_folder_with_one_session_of_any_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    shutil.copy(data_path("traces", "support-40.jsonl"), tmp_path / "run.log")
    assert load(tmp_path).name == "support-40"
    assert load(f"{tmp_path}/*.log").name == "support-40"
    with pytest.raises(InputError, match="holds no session"):
        load(f"{tmp_path}/*.jsonl")
    shutil.copy(data_path("traces", "support-40.jsonl"), tmp_path / "two.log")
    with pytest.raises(InputError, match="holds 2 sessions"):
        load(f"{tmp_path}/*.log")
