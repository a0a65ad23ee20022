"""A room's ranges pooled: without names, whatever lies in the folder."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.cli import main
from labkit.course.check import check
from labkit.course.predict import predict, reveal
from labkit.course.room import Pool, Room, collect, share
from labkit.course.room_page import page
from labkit.errors import InputError


@pytest.fixture(autouse=True)
def learner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner who has done nothing yet."""
    monkeypatch.setenv("LABKIT_HOME", str(tmp_path / "learner"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a room puts its files."""
    made = tmp_path / "room"
    made.mkdir()
    return made


def put(folder: Path, name: str, **said: tuple[float, float, float | None]) -> None:
    """A learner's file; ``p1=(low, high, value)`` is 01.p1."""
    entries = {f"01.{k}": {"low": low, "high": high, "value": value} for k, (low, high, value) in said.items()}
    (folder / name).write_text(json.dumps({"version": 1, "predictions": entries}), encoding="utf-8")


def test_a_room_is_pooled_in_the_order_of_the_course(folder: Path) -> None:
    put(folder, "anna.json", p10=(1, 2, None), p2=(5, 6, 5.5), p1=(40, 60, 95.4))
    put(folder, "ben.json", p1=(90, 99, 95.4))
    pool = collect(folder)
    assert [room.id for room in pool.rooms] == ["01.p1", "01.p2", "01.p10"]
    assert pool.rooms[0] == Room("01.p1", ((40, 60), (90, 99)), 95.4, 1)
    assert pool.rooms[2] == Room("01.p10", ((1, 2),), None, 0)
    assert (pool.files, pool.unread) == (2, 0)


def test_no_name_comes_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for k, name in enumerate(["zoe", "anna", "mallory"]):
        put(folder, f"{name}.json", p1=(10 - k, 20, 15))
    assert collect(folder).rooms[0].ranges == ((8, 20), (9, 20), (10, 20))  # by their middles, not by their files
    for option in ([], ["--json"]):
        assert main(["progress", "--collect", str(folder), *option]) == 0
        said = capsys.readouterr().out
        assert not any(name in said for name in ("zoe", "anna", "mallory"))


def test_a_dot_stands_for_each_range() -> None:
    room = Room("03.p2", ((0, 0.2), (0, 0.2), (0.3, 0.5)), 0.0, 2)
    head, *rows = room.lines()
    assert head == "03.p2  3 ranges, 2 held 0"
    assert sum(row.count("o") for row in rows) == 3
    assert rows[-1] == "       ^"  # under the number, at the left end
    assert len(rows) == 5  # two dots in one place stand above each other


@given(
    st.lists(st.tuples(st.floats(-1e99, 1e99), st.floats(-1e99, 1e99)).map(lambda p: (min(p), max(p))), min_size=1),
    st.none() | st.floats(-1e99, 1e99),
)
def test_every_range_has_its_dot(ranges: list[tuple[float, float]], value: float | None) -> None:
    lines = Room("01.p1", tuple(ranges), value, 0).lines()
    assert sum(line.count("o") for line in lines[1:] if not line.strip("o ")) == len(ranges)
    assert all(len(line) <= 120 for line in lines)
    assert sum(line.count("^") for line in lines) == (value is not None)


def test_most_of_a_room_saw_one_number_and_each_is_judged_by_their_own(folder: Path) -> None:
    for k, value in enumerate([29.3, 29.3, 75.0]):
        put(folder, f"{k}.json", p1=(70, 80, value))
    (room,) = collect(folder).rooms
    assert (room.value, room.held) == (29.3, 1)


OTHERS: dict[str, Any] = {
    "empty": "",
    "torn": '{"predictions": {"01.p1": {"low": 1, "hi',
    "a list": "[]",
    "no predictions": '{"checks": {}}',
    "deep": "[" * 100_000,
    "not UTF-8": b"\xff\xfe",
    "large": " " * 1_000_001,
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_is_no_progress_is_counted_and_passed_over(folder: Path, text: str | bytes) -> None:
    put(folder, "good.json", p1=(1, 2, 1))
    (folder / "other.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    pool = collect(folder)
    assert (pool.files, pool.unread, len(pool.rooms)) == (1, 1, 1)
    assert "1 passed over" in pool.lines()[0]


def test_only_files_are_read(folder: Path) -> None:
    (folder / "a.json").mkdir()
    (folder / "b.json").symlink_to(folder / "nowhere")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "c.json")  # reading it would wait for ever
    (folder / "notes.txt").write_text("hello")
    pool = collect(folder)
    assert (pool.files, pool.rooms) == (0, ())
    assert "There is no range in them." in pool.lines()


HOSTILE = {
    "\u001b[2J": {"low": 1, "high": 2},
    "01.p1\n": {"low": 1, "high": 2},
    "01.p999999": {"low": 1, "high": 2},
    "01.p1": {"low": 2, "high": 1},
    "01.p2": {"low": float("nan"), "high": 1},
    "01.p3": {"low": 1, "high": 10**400},
    "01.p4": {"low": True, "high": 2},
    "01.p5": {"low": "1", "high": "2"},
    "01.p6": {"low": None, "high": None, "value": 3},
    "01.p7": [1, 2],
    "01.p8": None,
}


def test_an_entry_that_is_no_range_is_left_out(folder: Path) -> None:
    (folder / "a.json").write_text(json.dumps({"predictions": HOSTILE}))
    pool = collect(folder)
    assert (pool.files, pool.unread, pool.rooms) == (1, 0, ())


# -- the page -----------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.floats(-1e99, 1e99), st.floats(-1e99, 1e99)).map(lambda p: (min(p), max(p))), min_size=1),
    st.none() | st.floats(-1e99, 1e99),
)
def test_the_page_has_a_dot_a_range_and_asks_for_nothing(
    ranges: list[tuple[float, float]], value: float | None
) -> None:
    made = page(Pool((Room("01.p1", tuple(ranges), value, 0),), 1, 0))
    root = ElementTree.fromstring(re.search(r"<svg.*</svg>", made)[0])  # type: ignore[index]
    assert len(root.findall("circle")) == min(len(ranges), 60)
    assert root.get("aria-label")
    numbers = [float(n) for n in re.findall(r'(?:x1|x2|cx)="([^"]+)"', made)]
    assert all(0 <= n <= 900 for n in numbers)
    assert not re.search(r"https?:|<script|<img|<link|url\(", made)


def test_the_page_is_written_beside_the_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(folder, "anna.json", p1=(40, 60, 95.4))
    out = folder / "wall.html"
    assert main(["progress", "--collect", str(folder), "--html", str(out)]) == 0
    assert "01.p1  1 range, 0 held 95.4" in capsys.readouterr().out
    assert "anna" not in out.read_text()
    assert main(["progress", "--html", str(out)]) == 2


# -- handing in ---------------------------------------------------------------------------------


def test_what_is_shared_holds_ranges_and_no_exercise(folder: Path) -> None:
    predict("01.p1", 40, 60)
    reveal("01.p1", 95.4)
    reveal("01.p2", 2.3)  # shown without a range
    check("00.1", 5)
    first, second = share(folder), share(folder)
    assert first.name != second.name
    assert json.loads(first.read_text()) == {
        "version": 1,
        "predictions": {"01.p1": {"low": 40, "high": 60, "value": 95.4}},
    }
    assert collect(folder).rooms[0].ranges == ((40, 60), (40, 60))


def test_there_has_to_be_a_range_and_a_folder(folder: Path) -> None:
    with pytest.raises(InputError, match="no range"):
        share(folder)
    with pytest.raises(InputError, match="no folder"):
        share(folder / "missing")
    with pytest.raises(InputError, match="no folder"):
        collect(folder / "missing")


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    predict("01.p1", 40, 60)
    capsys.readouterr()
    assert main(["progress", "--share", str(folder)]) == 0
    assert main(["progress", "--collect", str(folder)]) == 0
    assert "01.p1  1 range" in capsys.readouterr().out
    assert main(["progress", "--collect", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["questions"][0]["ranges"] == [[40, 60]]
    assert main(["progress", "01"]) == 0
    assert capsys.readouterr().out.startswith("01  0 of 2 core exercises solved")
    assert main(["progress", "--reset"]) == 0
    assert main(["progress", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"checks": {}, "predictions": {}}
    assert main(["progress", "01", "--collect", str(folder)]) == 2
    assert main(["progress", "--collect", str(folder / "missing")]) == 2
    assert "is no folder" in capsys.readouterr().err
