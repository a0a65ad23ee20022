"""One way in: what is recognised, and what each refusal says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from labkit.errors import InputError
from labkit.files import data_path
from labkit.record.formats.jsonl import read_lines
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


def test_warnings_are_single_lines_whatever_a_reader_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    save(Trace("tiny", (Block("text", "user", "hi", request=1),), (Request(1),), kind="scripted"), path)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "block", "kind": "a\nb\x1b[2J" + "c" * 2_000}) + "\n")
    warnings = load(path).warnings
    assert warnings
    assert all(w.isprintable() and len(w) <= 500 for w in warnings)


def test_a_binary_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\x89PNG" + bytes(9))
    assert "is a binary file" in refusal(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").write_bytes(b"\x1f\x8b\x08\x00rest")
    assert "is a damaged packed file" in refusal(tmp_path / "a.jsonl")


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


def test_an_empty_path() -> None:
    assert refusal("") == "the path is empty: give a session file"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named_with_the_way_out(encoding: str, tmp_path: Path) -> None:
    text = session(tmp_path / "a.jsonl").read_text(encoding="utf-8")
    (tmp_path / "b.jsonl").write_bytes(text.encode(encoding))
    assert "is in UTF-16: save it as UTF-8, for example with 'iconv" in refusal(tmp_path / "b.jsonl")


def test_a_hole_of_nul_bytes_is_not_utf_16(tmp_path: Path) -> None:
    path = session(tmp_path / "a.jsonl")
    path.write_bytes(b"\0" * 2_000 + b"\n" + path.read_bytes())
    assert len(load(path).requests) == 1


def test_progress_is_told_and_can_end_the_reading(tmp_path: Path) -> None:
    lines = [user("go")]
    for i in range(30):
        lines += [assistant(f"m{i}", text("y" * 300_000), usage(1, 2, 3, 4)), user(f"more {i}")]
    path = write(tmp_path / "a.jsonl", *lines)
    size = path.stat().st_size
    told: list[tuple[int, int]] = []
    assert len(load(path, progress=lambda done, of: told.append((done, of))).requests) == 30
    assert len(told) == size // 4_100_000
    assert all(of == size for _, of in told) and [d for d, _ in told] == sorted(d for d, _ in told)

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(path, progress=stop)
    assert len(load(path).requests) == 30  # nobody listens any more


def test_progress_of_a_file_that_is_one_document(tmp_path: Path) -> None:
    answer = {"role": "assistant", "content": "y" * 3_000_000, "extra": {"response": {"usage": {"prompt_tokens": 9}}}}
    messages = [{"role": "system", "content": "s"}, *[{"role": "user", "content": "go"}, answer] * 4]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"trajectory_format": "mini-swe-agent-1", "info": {}, "messages": messages}))
    told: list[tuple[int, int]] = []
    assert len(load(path, progress=lambda done, of: told.append((done, of))).requests) == 4
    assert [done for done, _ in told] == [4_000_000, 8_000_000, 12_000_000, path.stat().st_size]

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(path, progress=stop)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"n": NaN}', None),
        ('{"n": 1e999}', None),
        (r'{"n": "\ud800"}', None),
        ('{"n": "a\tb"}', "not valid JSON"),
        ('[{"n": 1}]', "not an object"),
    ],
)
def test_what_the_fast_parser_refuses_is_read_as_before(line: str, said: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('\ufeff{"first": 1}\n' + line + '\r\n{"last": 3}\n', encoding="utf-8")
    lines, warnings = read_lines(tmp_path / "a.jsonl")
    assert lines[0] == (1, {"first": 1}) and lines[-1] == (3, {"last": 3})
    assert len(lines) == (3 if said is None else 2)
    assert [w for w in warnings if said is not None and said in w] == warnings
    assert bool(warnings) == (said is not None)


@pytest.mark.parametrize("value", [-5, "12", 1e12, True, [3]])
def test_counts_that_are_none_are_said(value: object, tmp_path: Path) -> None:
    message = {"role": "assistant", "content": "x", "usage": {"input": 9, "output": value}}
    rows = [
        {"type": "session", "id": "s", "version": 3, "cwd": "/a"},
        {"type": "message", "id": "a", "message": message},
    ]
    trace = load(write(tmp_path / "a.jsonl", *rows))
    assert trace.usage is not None and (trace.usage.total_input, trace.usage.output) == (9, 0)
    assert f"1 recorded counts are no numbers of tokens ({value!r}): they are taken as 0" in trace.warnings
    message["usage"] = {"input": 9, "output": 4}
    assert not any("no numbers of tokens" in w for w in load(write(tmp_path / "a.jsonl", *rows)).warnings)
