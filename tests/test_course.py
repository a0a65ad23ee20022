"""The course's own machinery: exercises that answer, predictions that commit, progress that survives anything."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import labkit as lk
from labkit import doctor
from labkit.course import exercise, memory, start
from labkit.course.check import check
from labkit.course.exercise import Case, Exercise, Wrong, judge
from labkit.course.exercises_01 import line_of
from labkit.course.exercises_02 import cut
from labkit.course.predict import predict, reveal, revealed
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


# -- judging ------------------------------------------------------------------------------------

DOUBLE = Exercise(
    id="99.1",
    title="Double it",
    cases=lambda: [Case((2,), 4), Case((3,), 6), Case((0,), 0)],
    solution=lambda x: 2 * x,
    wrong=(Wrong(lambda x: x * x, "That is the square."), Wrong(lambda x: x + 2, "That adds two.")),
    difficulty=1,
    worth=1,
    minutes=1,
)


def test_the_first_failing_case_is_shown_with_the_idea_behind_it() -> None:
    def square(x: int) -> int:
        return x**2

    assert str(judge(DOUBLE, square)).splitlines() == [
        "99.1  2/3",
        "      input     square(3)",
        "      expected  6",
        "      got       9",
        "      That is the square.",
    ]


def test_an_unknown_mistake_has_no_words_put_to_it() -> None:
    assert judge(DOUBLE, lambda x: 17).why == ""


def test_an_exception_is_shown_by_its_last_line() -> None:
    report = judge(DOUBLE, lambda x: x / 0)
    assert report.first is not None
    assert report.first[2] == "ZeroDivisionError: division by zero"


def test_exit_does_not_end_the_kernel() -> None:
    def leave(x: int) -> None:
        raise SystemExit(3)

    report = judge(DOUBLE, leave)
    assert report.first is not None
    assert report.first[2] == "SystemExit: 3"


def test_a_forgotten_return_is_not_taken_for_a_stub() -> None:
    def forgetful(x: int) -> None:
        y = 2 * x  # noqa: F841

    report = judge(DOUBLE, forgetful)
    assert report.started
    assert "returns nothing" in report.why


def test_a_called_function_is_recognised() -> None:
    report = judge(DOUBLE, 4)
    assert report.started
    assert report.passed == 0
    assert "without brackets" in report.why


def test_not_implemented_is_not_started() -> None:
    def later(x: int) -> int:
        raise NotImplementedError

    assert not judge(DOUBLE, later).started


def test_an_answer_that_changes_its_input_does_not_spoil_the_next_case() -> None:
    shared = [1, 2]
    e = Exercise("99.2", "Sum", lambda: [Case((shared,), 3), Case((shared,), 3)], sum, (), 1, 1, 1)

    def greedy(values: list[int]) -> int:
        total = sum(values)
        values.clear()
        return total

    assert judge(e, greedy).solved
    assert shared == [1, 2]


@pytest.mark.parametrize(
    ("got", "expected", "same"),
    [
        (4.0, 4, True),
        (4 + 1e-12, 4, True),
        (4.1, 4, False),
        (True, True, True),
        (1, True, False),
        (True, 1, False),
        ([1, 2], (1, 2), True),
        ([1], (1, 2), False),
        ({"a": 1.0}, {"a": 1}, True),
        ("4", 4, False),
        (0, 0.0, True),
        (1e-3, 0, False),
    ],
)
def test_what_counts_as_equal(got: Any, expected: Any, same: bool) -> None:
    assert exercise._same(got, expected, 1e-9) is same


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


ANSWERS = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.text(),
    st.lists(st.integers()),
    st.just(Hostile()),
    st.just(type),
    st.just(print),
    st.sampled_from([lambda *a: Hostile(), lambda: 1, lambda *a: 1 / 0, lambda *a: a, lambda *a: (x for x in a)]),
)


@given(st.sampled_from(ALL), ANSWERS)
def test_judging_never_raises(e: Exercise, answer: Any) -> None:
    report = judge(e, answer)
    assert 0 <= report.passed <= report.total
    assert str(report).startswith(e.id)


def test_numpy_answers_count() -> None:
    np = pytest.importorskip("numpy")
    assert judge(exercises()["00.1"], np.int64(123_000)).solved
    assert judge(exercises()["02.1"], lambda t, c, tr, f: np.bool_(t > tr and c >= f)).solved


# -- check --------------------------------------------------------------------------------------


def test_check_prints_and_keeps(capsys: pytest.CaptureFixture[str]) -> None:
    check("02.1", lambda total, clearable, trigger, floor: total > trigger)
    out = capsys.readouterr().out
    assert out.startswith("02.1  4/5\n      input     answer(36000, 9000, 30000, 10000)\n")
    assert "breaks the cached prefix" in out
    assert memory.recall()["checks"]["02.1"] == {"passed": 4, "total": 5, "solved": False}
    check("02.1", exercises()["02.1"].solution)
    assert memory.recall()["checks"]["02.1"]["solved"]
    check("02.1", lambda *a: False)  # trying something else later does not undo it
    assert memory.recall()["checks"]["02.1"]["solved"]


def test_a_stub_and_a_shown_solution_are_not_kept() -> None:
    check("02.1", stub)
    check("02.2", exercises()["02.2"].solution, solution=True)
    assert memory.recall()["checks"] == {}


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
    assert "your first range, 1 to 3, is the one that counts" in capsys.readouterr().out
    reveal("01.p1", 10)
    assert revealed().held == 0


@pytest.mark.parametrize("bad", ["five", float("nan"), float("inf"), True, [1], 1j, Hostile()])
def test_what_is_no_number_is_not_kept(bad: Any, capsys: pytest.CaptureFixture[str]) -> None:
    predict("01.p1", bad, 5)
    predict("01.p1", 1, bad)
    assert capsys.readouterr().out.count("not kept") == 2
    assert memory.recall()["predictions"] == {}


def test_an_untouched_prediction_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    predict("01.p1", ..., ...)
    reveal("01.p1", 5)
    assert capsys.readouterr().out.splitlines()[1] == "01.p1  It is 5. You wrote no range."
    assert memory.recall()["predictions"] == {}


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
