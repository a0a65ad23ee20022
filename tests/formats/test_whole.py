"""One JSON document, parsed once; a file with several runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.record.formats import jsonl, whole
from labkit.record.formats.several import several
from labkit.record.formats.whole import forget, whole_json
from labkit.record.load import load
from labkit.record.trace import Trace


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("\ufeff[\n 1,\n 2\n]\n", [1, 2]),
        ('{"a": 1}\n\0\0', {"a": 1}),
        ('{"a": 1}\n{"a": 2}\n', None),
        ('{"a": 1}{"a": 2}', None),
        ("[" * 100_000 + "]" * 100_000, None),
        ("{" + "9" * 5_000 + "}", None),
        ("# Prose", None),
        ("", None),
        ("12", None),
        ('{"a": NaN}', None),
    ],
)
def test_a_document_or_none(text: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    found = whole_json(path)
    if "NaN" in text:
        assert isinstance(found, dict)  # literal NaN occurs in real logs
    else:
        assert found == value


def test_a_missing_or_binary_file_is_none(tmp_path: Path) -> None:
    assert whole_json(tmp_path / "nothing") is None
    assert whole_json(tmp_path) is None
    (tmp_path / "a.json").write_bytes(b"PK\x03\x04{}")
    assert whole_json(tmp_path / "a.json") is None


def test_a_file_is_parsed_once_and_again_when_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[Path] = []
    parse = whole._parse
    monkeypatch.setattr(whole, "_parse", lambda path: (parsed.append(path), parse(path))[1])
    path = tmp_path / "a.json"
    path.write_text("[1]", encoding="utf-8")
    assert [whole_json(path), whole_json(path)] == [[1], [1]]
    assert len(parsed) == 1
    path.write_text("[1, 2]", encoding="utf-8")
    assert whole_json(path) == [1, 2]
    forget()
    assert whole_json(path) == [1, 2]
    assert len(parsed) == 3


def test_one_run_stays_itself_and_takes_what_the_file_has_to_say() -> None:
    run = Trace("a", (), ())
    assert several([run], "file", "made up") is run
    said = several([run], "file", "made up", ["1 lines have no history of events; skipped"])
    assert (said.name, said.children) == ("a", ())
    assert said.warnings == ("1 lines have no history of events; skipped",)


def test_nothing_of_a_loaded_session_stays_in_hand(made: Path) -> None:
    load(made / "kimi" / "wire.jsonl")
    load(made / "atif" / "run.trajectory.json")
    assert (whole._kept, jsonl._heads) == ({}, {})
