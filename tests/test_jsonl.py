"""Lines of JSON from programs that crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.formats.jsonl import first_object, first_objects, read_lines


def lines_of(path: Path, data: bytes) -> tuple[list[tuple[int, dict[str, object]]], list[str]]:
    path.write_bytes(data)
    return read_lines(path)


def test_good_lines(tmp_path: Path) -> None:
    found, warnings = lines_of(tmp_path / "a", b'\xef\xbb\xbf{"a": 1}\r\n\n{"a": 2}')
    assert found == [(1, {"a": 1}), (3, {"a": 2})]
    assert warnings == []


def test_a_torn_tail_costs_one_line(tmp_path: Path) -> None:
    found, warnings = lines_of(tmp_path / "a", b'{"a": 1}\n{"a": 2, "b": "no en')
    assert found == [(1, {"a": 1})]
    assert warnings == ["line 2: not valid JSON from character 1; skipped from there"]


def test_a_missing_newline_costs_nothing(tmp_path: Path) -> None:
    found, warnings = lines_of(tmp_path / "a", b'{"a": 1}{"a": 2}\n')
    assert found == [(1, {"a": 1}), (1, {"a": 2})]
    assert warnings == ["line 1: 2 values on one line, a newline is missing; all read"]


def test_what_stands_before_the_damage_is_kept(tmp_path: Path) -> None:
    found, warnings = lines_of(tmp_path / "a", b'{"a": 1}{"a": \n')
    assert found == [(1, {"a": 1})]
    assert warnings == ["line 1: not valid JSON from character 9; skipped from there"]


def test_values_that_are_no_objects_are_named(tmp_path: Path) -> None:
    found, warnings = lines_of(tmp_path / "a", b'"text"\n[1]\n{"a": 1}\nnull\n')
    assert found == [(3, {"a": 1})]
    assert [w.split(":")[0] for w in warnings] == ["line 1", "line 2", "line 4"]


def test_nul_bytes_surrogates_and_separators(tmp_path: Path) -> None:
    data = b'{"a": "\xe2\x80\xa8"}\n' + b"\0" * 3 + b'\n{"b": "\\ud800"}\n{"c": NaN}\n{"d": "\xff"}'
    found, warnings = lines_of(tmp_path / "a", data)
    assert [number for number, _ in found] == [1, 3, 4, 5]
    assert found[0][1] == {"a": "\u2028"}
    assert found[3][1] == {"d": "\ufffd"}
    assert warnings == []


def test_deep_nesting_and_huge_numbers_cost_their_line(tmp_path: Path) -> None:
    data = b"[" * 100_000 + b"\n" + b'{"n": ' + b"9" * 5_000 + b"}\n" + b'{"a": 1}'
    found, warnings = lines_of(tmp_path / "a", data)
    assert found == [(3, {"a": 1})]
    assert len(warnings) == 2


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"\x89PNG....", bytes(400)])
def test_binary_files_are_refused_in_a_sentence(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InputError, match="is a binary file: give a session"):
        lines_of(tmp_path / "a", data)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_lines(tmp_path)
    assert first_object(tmp_path) is None


def test_first_objects(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'oops\n1\n{"a": 1}\n{"b": 2}')
    assert first_object(path) == {"a": 1}
    assert list(first_objects(path)) == [{"a": 1}, {"b": 2}]
    assert list(first_objects(path, lines=3)) == [{"a": 1}]


@given(st.binary(max_size=300))
def test_any_bytes_give_lines_or_a_refusal(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(data)
    try:
        found, _ = read_lines(path)
    except InputError:
        return
    assert all(isinstance(value, dict) and number >= 1 for number, value in found)
