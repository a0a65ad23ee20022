"""The course's own machinery: exercises that answer, predictions that commit, progress that survives anything."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import labkit as lk
from labkit import doctor
from labkit.course import memory, start
from labkit.course.check import check
from labkit.course.exercise import Exercise
from labkit.course.exercises_01 import line_of
from labkit.course.exercises_02 import cut, never_seen
from labkit.course.exercises_04 import FACTS, SURVIVES
from labkit.course.judge import judge
from labkit.course.predict import Held, predict, reveal, revealed
from labkit.course.progress import progress
from labkit.course.registry import exercises
from labkit.ladder.rungs import summary_cut

ALL = list(exercises().values())
IDS = [e.id for e in ALL]


@pytest.fixture(autouse=True)
def learner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner who has done nothing yet."""
    monkeypatch.setenv("LABKIT_HOME", str(tmp_path / "learner"))
    return tmp_path / "learner"


NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def stub(*_: Any) -> None:
    """What a learner finds: a body that does nothing."""
    ...


# -- the exercises ------------------------------------------------------------------------------


def test_two_core_exercises_a_notebook() -> None:
    core = [e.notebook for e in ALL if not e.extra]
    written = {path.name[:2] for path in NOTEBOOKS.glob("*.ipynb")}
    assert {n: core.count(n) for n in core} == dict.fromkeys(written, 2)


@pytest.mark.parametrize("e", ALL, ids=IDS)
def test_a_stub_is_not_started(e: Exercise) -> None:
    for untouched in (None, ..., *([stub] if callable(e.solution) else [])):
        report = judge(e, untouched)
        assert not report.started
        assert str(report) == f"{e.id}  not started"


@pytest.mark.parametrize("e", ALL, ids=IDS)
def test_the_solution_passes(e: Exercise) -> None:
    report = judge(e, e.solution)
    assert report.solved
    assert str(report) == f"{e.id}  PASS {report.total}/{report.total}"


@pytest.mark.parametrize("e", ALL, ids=IDS)
def test_each_wrong_answer_fails_with_its_own_words(e: Exercise) -> None:
    assert len(e.wrong) >= 2
    whys = []
    for wrong in e.wrong:
        report = judge(e, wrong.answer)
        assert report.started
        assert report.passed < report.total
        assert report.why == wrong.why
        assert report.why in str(report)
        whys.append(report.why)
    assert len(set(whys)) == len(whys)


def test_there_are_enough_of_them() -> None:
    assert len(ALL) >= 26


@pytest.mark.parametrize("e", ALL, ids=IDS)
def test_labels_are_in_range(e: Exercise) -> None:
    assert 1 <= e.difficulty <= 5
    assert 1 <= e.worth <= 5
    assert 1 <= e.minutes <= 15
    assert e.title[0].isupper()


def test_the_rule_of_01_2_is_the_labs_own_rule() -> None:
    for case in exercises()["01.2"].cases():
        (block,) = case.given
        assert case.expected == line_of(block) == lk.line_of(block)


def test_the_cut_of_02_2_is_the_labs_own_cut() -> None:
    for messages in range(12):
        blocks = [lk.Block("text", "user", "x", request=1)] * messages
        for keep in range(12):
            assert cut(messages, keep) == summary_cut(blocks, keep)


def test_the_floor_of_02_3_decides_at_least_one_case_either_way() -> None:
    """Otherwise leaving the floor out would go unnoticed."""
    acted = [any(b.edited for b in c.expected) for c in exercises()["02.3"].cases()]
    assert set(acted) == {True, False}


def test_what_02_4_counts_is_what_the_lab_calls_unread() -> None:
    """On the notebook's greedy policy, which at keep 0 takes every result at the first clearing from its request on."""
    run = lk.load(lk.data_path("traces", "invoice-60.jsonl"))
    replayed = lk.replay(run, replace(lk.load_policy("article"), trigger=5_000, floor=0, keep=0))
    clearings = [event.request for event in replayed.events]
    cleared = {block.request for block in replayed.context if block.edited == "clear"}
    due = [block.request for block in run.blocks if block.kind == "result"]
    results = [(d, next(c for c in clearings if c >= d) if d in cleared else None) for d in due]
    assert never_seen(results) == replayed.unread == 51


def test_the_five_facts_of_04_3_fare_as_the_labs_own_summarizer_says() -> None:
    words = [
        "Fix the double charge.",
        "Close it before 18:00.",
        "retry with a new key",
        "Count in the wrapping.",
        "4711",
    ]
    reader = lk.ExtractiveSummarizer(reads_back="lines")
    first = reader.summarize(
        [
            lk.Block("text", "user", f"{words[0]}\n{words[1]}", request=1),
            lk.Block("text", "assistant", f"DECISION: {words[2]}", request=2),
            lk.Block("result", "tool", f"stock: {words[4]}", request=2, tool="stock", args="wine"),
        ],
        "",
    )
    later = lk.Block("text", "user", f"One thing more.\n{words[3]}", request=3)
    second = reader.summarize([lk.Block("summary", "user", first.text, request=3), later], "")
    assert [word in second.text for word in words] == [SURVIVES[key] for key in "abcde"]
    assert list(FACTS) == list("abcde")


# -- check --------------------------------------------------------------------------------------


def test_check_prints_and_keeps(capsys: pytest.CaptureFixture[str]) -> None:
    check("02.1", lambda total, clearable, trigger, floor: total > trigger)
    out = capsys.readouterr().out
    assert out.startswith("02.1  4/5\n      input     answer(36000, 9000, 30000, 10000)\n")
    assert "breaks the cached prefix" in out
    assert memory.recall()["checks"]["02.1"] == {"passed": 4, "total": 5, "solved": False, "tries": 1}
    check("02.1", exercises()["02.1"].solution)
    assert memory.recall()["checks"]["02.1"]["solved"]
    check("02.1", lambda *a: False)  # trying something else later does not undo it
    assert memory.recall()["checks"]["02.1"]["solved"]


def test_a_stub_and_a_shown_solution_are_not_kept() -> None:
    check("02.1", stub)
    check("02.2", exercises()["02.2"].solution, solution=True)
    assert memory.recall()["checks"] == {}


def test_one_number_is_shown_only_at_the_third_try(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        check("00.1", 4_000)
    first, second, third = capsys.readouterr().out.split("00.1  0/1")[1:]
    assert first == second
    assert "123000" not in first
    assert "expected  another number; the third try shows it" in first
    assert "what is left after the cache" in first
    assert "expected  123000" in third
    check("02.1", lambda *a: False)  # a function's cases show theirs at once: they are not the answer
    assert "expected  True" in capsys.readouterr().out


def test_tries_are_counted_without_a_file(learner: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learner.write_text("a file where the folder should be")
    for _ in range(3):
        check("00.1", 5)
    assert capsys.readouterr().out.count("expected  123000") == 1


def test_an_unknown_id_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    check("2.1", 1)
    out = capsys.readouterr().out
    assert "There is no exercise 2.1" in out
    assert "Did you mean 02.1?" in out


# -- predictions --------------------------------------------------------------------------------


def test_a_range_is_kept_and_held(capsys: pytest.CaptureFixture[str]) -> None:
    predict("01.p1", 2, 5)
    reveal("01.p1", 2.33)
    assert capsys.readouterr().out.splitlines()[-1] == "01.p1  You said 2 to 5. It is 2.33: inside."
    held = revealed("01")
    assert (held.held, held.revealed, held.open, held.width) == (1, 1, 0, 2.5)


@pytest.mark.parametrize(
    ("low", "high", "true", "verdict"),
    [
        (10, 20, 20, "inside"),
        (10, 20, 50, "outside, 2.5 times your upper end"),
        (10, 20, 5, "outside, 0.5 times your lower end"),
        (-2, -1, 5, "outside, beyond your upper end"),
        (10, 20, 20.5, "outside, just above your upper end"),
        (10, 20, 9.9, "outside, just below your lower end"),
    ],
)
def test_verdicts(low: float, high: float, true: float, verdict: str, capsys: pytest.CaptureFixture[str]) -> None:
    predict("01.p1", low, high)
    reveal("01.p1", true)
    assert capsys.readouterr().out.strip().endswith(f": {verdict}.")


def test_a_range_after_the_number_was_shown_does_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    predict("01.p1", 1, 2)
    predict("01.p1", 1, 3)  # before the number is shown one may think again
    reveal("01.p1", 10)
    predict("01.p1", 9, 11)
    assert "you said 1 to 3, and that counts" in capsys.readouterr().out
    reveal("01.p1", 10)
    assert revealed().held == 0


def test_a_range_is_not_changed_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    """A notebook may print the number a cell before it is revealed."""
    predict("01.p1", 1, 2)
    predict("01.p1", 1, 2)  # run again: no change
    assert capsys.readouterr().out == "01.p1  1 to 2, kept.\n" * 2
    predict("01.p1", 9, 11)
    predict("01.p1", 9, 12)
    assert "9 to 12, kept in place of 9 to 11." in capsys.readouterr().out
    reveal("01.p1", 10)
    assert capsys.readouterr().out == "01.p1  You said 9 to 12, and 1 to 2 at first. It is 10: inside.\n"
    progress("01")
    assert "1 of 1 times, 1 of them after a change;" in capsys.readouterr().out
    assert revealed().changed == 1


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("no")


def test_what_is_no_number_is_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    for bad in ("five", float("nan"), float("inf"), 10**400, True, [1], 1j, Hostile()):
        predict("01.p1", bad, 5)
        predict("01.p1", 1, bad)
        assert capsys.readouterr().out.count("not kept") == 2
    assert memory.recall()["predictions"] == {}


def test_an_untouched_prediction_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    predict("01.p1", ..., ...)
    reveal("01.p1", 5)
    assert capsys.readouterr().out.splitlines()[1] == "01.p1  It is 5. You wrote no range."
    predict("01.p1", 4, 6)  # it has been shown: a range now would always hold
    assert "does not count" in capsys.readouterr().out
    reveal("01.p1", 5)
    assert capsys.readouterr().out == "01.p1  It is 5. You wrote no range.\n"
    assert revealed() == Held(0, 0, 0, 0, None)
    progress("01", reset=True)
    predict("01.p1", 4, 6)
    assert "kept" in capsys.readouterr().out


def test_no_id_and_no_value_makes_a_prediction_raise(capsys: pytest.CaptureFixture[str]) -> None:
    predict("01.p1", 1, 2)
    for id in (None, 3, ["a"], Hostile(), "", "\ud800", "x" * 10_000):
        predict(id, 1, 2)  # type: ignore[arg-type]
        reveal(id, 1)  # type: ignore[arg-type]
        progress(id)  # type: ignore[arg-type]
        revealed(str(type(id)))
    for value in ("x", None, Hostile(), float("nan"), 10**400, [1]):
        reveal("01.p1", value)  # type: ignore[arg-type]
    assert revealed("01") == Held(0, 0, 1, 0, None)
    capsys.readouterr()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # the file is forgotten at the start
@given(st.floats(allow_nan=True), st.floats(allow_nan=True), st.floats(allow_nan=True))
def test_a_range_holds_or_not_whatever_the_numbers(low: float, high: float, true: float) -> None:
    progress(reset=True)
    predict("01.p1", low, high)
    reveal("01.p1", true)
    held = revealed()
    assert held.revealed <= 1
    assert held.held == (held.revealed == 1 and low <= true <= high)


# -- progress -----------------------------------------------------------------------------------


def test_progress_counts_and_resets(capsys: pytest.CaptureFixture[str]) -> None:
    check("02.1", exercises()["02.1"].solution)
    check("02.3", exercises()["02.3"].solution)
    check("00.1", 123_000)
    predict("02.p1", 1, 2)
    reveal("02.p1", 1)
    capsys.readouterr()
    progress("02")
    assert capsys.readouterr().out.splitlines() == [
        "02  1 of 2 core exercises solved, and 1 extra; still open: 02.2.",
        "02  Your range held the number 1 of 1 times; the middle one spans a factor of 2.0.",
    ]
    progress("02", reset=True)
    assert set(memory.recall()["checks"]) == {"00.1"}
    progress(reset=True)
    assert memory.recall() == {"checks": {}, "predictions": {}}


def test_progress_of_the_whole_course_goes_notebook_by_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    check("02.1", exercises()["02.1"].solution)
    capsys.readouterr()
    progress()
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("all  1 of 20 core exercises solved: 00 0/2, 01 0/2, 02 1/2, 03 0/2, ")


def test_progress_lies_where_git_does_not_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LABKIT_HOME")
    root = NOTEBOOKS.parent
    folder = memory.path().parent
    if folder.is_relative_to(root):  # in a checkout
        assert f"{folder.relative_to(root)}/" in (root / ".gitignore").read_text().splitlines()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": lambda p: p.unlink(),
    "empty": lambda p: p.write_text(""),
    "torn": lambda p: p.write_text(p.read_text()[:-20]),
    "binary": lambda p: p.write_bytes(b"\xff\xfe\x00"),
    "a list": lambda p: p.write_text("[1, 2]"),
    "other shelves": lambda p: p.write_text('{"checks": [], "predictions": 3}'),
    "entries of another shape": lambda p: p.write_text(
        '{"checks": {"02.1": 1, "02.2": {"passed": "x"}}, "predictions": {"a": {"low": null}, "b": {"low": 1}}}'
    ),
    "deep": lambda p: p.write_text("[" * 100_000),
    "numbers beyond floats": lambda p: p.write_text(
        '{"predictions": {"01.p1": {"low": 1, "high": 1' + "0" * 400 + '}, "01.p2": {"low": 1e999, "high": NaN}}}'
    ),
    "a number too long to read": lambda p: p.write_text('{"checks": ' + "1" * 5_000 + "}"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_as_good_as_none(damage: Callable[[Path], object]) -> None:
    predict("01.p1", 1, 2)
    damage(memory.path())
    assert memory.recall() == {"checks": {}, "predictions": {}}
    progress()
    predict("01.p1", 3, 4)
    assert memory.recall()["predictions"]["01.p1"]["low"] == 3


def test_a_home_that_cannot_be_written_is_harmless(learner: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learner.write_text("a file where the folder should be")
    predict("01.p1", 1, 2)
    check("00.1", 123_000)
    reveal("01.p1", 1)
    progress()
    progress(reset=True)
    out = capsys.readouterr().out
    assert "It cannot be kept" in out
    assert "PASS" in out
    assert "cannot be written" in out


def test_a_home_of_nobody_is_harmless(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LABKIT_HOME", "~no-such-user-here/lab")
    monkeypatch.setattr(memory, "atomic_write", lambda *a: (_ for _ in ()).throw(OSError("no such user")))
    predict("01.p1", 1, 2)
    check("00.1", 123_000)
    progress(reset=True)
    assert "It cannot be kept" in capsys.readouterr().out


def test_a_folder_where_the_file_should_be_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    memory.path().mkdir(parents=True)
    predict("01.p1", 1, 2)
    check("00.1", 123_000)
    progress(reset=True)
    assert "It cannot be kept" in capsys.readouterr().out


def test_the_file_is_written_whole_and_readable(learner: Path) -> None:
    predict("01.p1", 1, 2)
    assert json.loads((learner / "progress.json").read_text())["version"] == 1
    assert stat.S_IMODE((learner / "progress.json").stat().st_mode) & 0o400
    assert [p.name for p in learner.iterdir()] == ["progress.json"]


# -- start --------------------------------------------------------------------------------------


def test_start_is_silent_when_all_is_well(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "checks", lambda: [doctor.Check("python", True, "3.12", "a newer one")])
    start.start("02")
    assert capsys.readouterr().out == ""


def test_start_says_only_the_first_thing_to_mend(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [
        doctor.Check("python", True, "3.12"),
        doctor.Check("data", False, "missing prices.json", "git checkout -- data"),
        doctor.Check("widgets", False, "none", "install them"),
    ]
    monkeypatch.setattr(start, "checks", lambda: results)
    start.start("02")
    assert capsys.readouterr().out == "Before 02: data: missing prices.json. To mend it: git checkout -- data.\n"


def test_start_says_when_prices_are_old(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "checks", lambda: [])
    monkeypatch.setattr(start, "stale", lambda: ("prices.json",))
    start.start("02")
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "prices.json of 2026-" in out
    assert "120 days" in out


def test_the_labs_face_offers_the_course() -> None:
    assert (lk.check, lk.predict, lk.reveal, lk.progress, lk.start) == (check, predict, reveal, progress, start.start)


def test_the_prompt_of_00_1_fits_a_window():
    assert exercises()["00.1"].solution < 200_000
