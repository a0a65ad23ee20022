"""Judging an answer: what is said of it, and that no answer, whatever it does, makes a check raise."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labkit.course.judge as judging
from labkit.course import limit
from labkit.course.check import check
from labkit.course.exercise import Case, Exercise, Wrong
from labkit.course.judge import judge, shown
from labkit.course.registry import exercises

ALL = list(exercises().values())


@pytest.fixture(autouse=True)
def learner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner who has done nothing yet."""
    monkeypatch.setenv("LABKIT_HOME", str(tmp_path / "learner"))


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
    assert judging._same(got, expected, 1e-9) is same


TRUE = Exercise(
    id="99.3",
    title="True or false",
    cases=lambda: [Case(("a",), True, "a: water is wet"), Case(("b",), False, "b: fire is cold")],
    solution={"a": True, "b": False},
    wrong=(Wrong({"a": True, "b": True}, "Touch it."), Wrong({"a": False, "b": False}, "Drink it.")),
    difficulty=1,
    worth=1,
    minutes=1,
)


def test_a_dict_of_answers_is_judged_key_by_key() -> None:
    assert not judge(TRUE, {"a": ..., "b": None}).started
    assert not judge(TRUE, {}).started
    assert judge(TRUE, {"a": True, "b": False}).solved
    half = judge(TRUE, {"a": True, "b": True})
    assert (half.passed, half.first, half.why) == (1, ("b: fire is cold", "False", "True"), "Touch it.")
    assert judge(TRUE, {"a": True, "b": ...}).why == "True or False is asked for."
    assert judge(TRUE, {"a": True}).first == ("b: fire is cold", "False", "KeyError: 'b'")
    assert "a dict with the keys a, b" in str(judge(TRUE, [True, False]))


def test_printing_is_not_returning() -> None:
    def speaks(x: int) -> None:
        str(2 * x)

    assert "returns nothing" in judge(DOUBLE, speaks).why


async def later(x: int) -> int:
    return 2 * x


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda x: str(2 * x), "without quotes"),
        (lambda x: (2 * y for y in [x]), "generator"),
        (later, "coroutine"),
        (lambda x: lambda: 2 * x, "call it"),
        (lambda x: None if x == 2 else 2 * x, "meets no return"),
    ],
)
def test_another_kind_of_thing_is_named(answer: Callable[[int], Any], why: str) -> None:
    assert why in judge(DOUBLE, answer).why


# -- answers that do anything -------------------------------------------------------------------


def loop(*_: Any) -> None:
    while True:
        pass


def stubborn(*_: Any) -> None:
    """Swallows every Exception, so that only something else gets it out of its loop."""
    while True:
        try:
            asyncio.run(asyncio.sleep(0)) if False else None
        except Exception:
            continue


class Endless:
    """An answer whose comparison, or whose picture, does not end."""

    def __eq__(self, other: object) -> bool:
        return bool(loop())

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="a wait cannot be interrupted here")
def test_an_answer_that_waits_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "SECONDS", 0.1)
    assert "does not come to an end" in judge(DOUBLE, lambda x: time.sleep(60)).why


@pytest.mark.parametrize("answer", [loop, stubborn, lambda x: 4 if x == 2 else loop()])
def test_an_answer_without_end_is_given_up(answer: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "SECONDS", 0.1)
    before = signal.getsignal(signal.SIGINT)
    report = judge(DOUBLE, answer)
    assert report.first is not None
    assert report.first[2] == "nothing within 0.1 seconds"
    assert "does not come to an end" in report.why
    assert report.first[0].endswith("(2)") or report.first[0].endswith("(3)")
    assert signal.getsignal(signal.SIGINT) is before


def test_outside_the_main_thread_an_answer_is_judged_without_a_limit() -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(judge(DOUBLE, lambda x: 2 * x)))
    thread.start()
    thread.join()
    assert found[0].solved


def test_the_learners_stop_stops_and_an_answers_own_does_not() -> None:
    def interrupts(x: int) -> int:
        raise KeyboardInterrupt

    assert "KeyboardInterrupt" in str(judge(DOUBLE, interrupts))

    def stop(x: int) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(limit.Stopped):
        judge(DOUBLE, stop)


class Bad:
    """Raises whatever it is asked."""

    error: type[BaseException] = RuntimeError

    def _raise(self, *_: Any, **__: Any) -> Any:
        raise self.error("no")

    __repr__ = __str__ = __eq__ = __ne__ = __bool__ = __len__ = __iter__ = __float__ = __int__ = _raise
    __getitem__ = __contains__ = __lt__ = __gt__ = __add__ = __format__ = __hash__ = _raise  # type: ignore[assignment]
    __class__ = property(_raise)  # type: ignore[assignment]


class Leaves(Bad):
    error = SystemExit


class Interrupts(Bad):
    error = KeyboardInterrupt


class BadFunction(Bad):
    def __call__(self, *_: Any) -> Any:
        return self

    @property
    def __name__(self) -> str:  # type: ignore[override]
        raise RuntimeError("no")

    @property
    def __code__(self) -> object:
        raise RuntimeError("no")


class BadDict(dict[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")

    def values(self) -> Any:
        raise RuntimeError("no")


class Picture:
    def __repr__(self) -> str:
        return "\ud800 " + "x" * 10_000


def endless() -> Iterator[int]:
    while True:
        yield 1


def deep(*a: Any) -> Any:
    return deep(*a)


def circular(*_: Any) -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


OBJECTS = [Bad(), Leaves(), Interrupts(), BadFunction(), BadDict(a=1), Picture(), pd.DataFrame({"a": [1]}), endless(),
           10**5_000, -(10**400), float("nan"), float("inf"), "\ud800", b"\xff", 1j, object, NotImplemented,
           circular()]  # fmt: skip
FUNCTIONS: list[Any] = [print, type, deep, circular, endless, later, exit, iter, lambda *a: a, lambda: 1,
                        lambda *a: 1 / 0, lambda *a: (x for x in a), *(lambda *a, o=o: o for o in OBJECTS)]  # fmt: skip
# By number: hypothesis and pytest look at their values, and these do not stand it.
bad_object = st.integers(0, len(OBJECTS) - 1).map(OBJECTS.__getitem__)
bad_function = st.integers(0, len(FUNCTIONS) - 1).map(FUNCTIONS.__getitem__)
ANSWERS = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.text(),
    st.lists(st.integers()),
    st.dictionaries(st.sampled_from("abcde"), st.one_of(st.none(), st.booleans(), bad_object)),
    bad_object,
    bad_function,
    st.builds(lambda value: lambda *a: value, st.one_of(st.integers(), st.floats(), st.text(), st.lists(st.floats()))),
)


@given(st.sampled_from(ALL), ANSWERS)
def test_judging_never_raises(e: Exercise, answer: Any) -> None:
    report = judge(e, answer)
    assert 0 <= report.passed <= report.total
    assert str(report).startswith(e.id)
    str(report).encode()  # can be printed


@pytest.mark.parametrize("e", ALL, ids=lambda e: e.id)
def test_no_object_and_no_function_makes_a_check_raise(e: Exercise, capsys: pytest.CaptureFixture[str]) -> None:
    for answer in [*OBJECTS, *FUNCTIONS]:
        check(e.id, answer)
        said = capsys.readouterr().out
        assert f"\n{e.id}  " in f"\n{said}"  # print prints too
        assert f"{e.id}  PASS" not in said


def test_a_strange_id_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for id in [None, 2.1, ["02.1"], {}, "", "x" * 10_000, *OBJECTS]:
        check(id, 1)  # type: ignore[arg-type]
        said = capsys.readouterr().out
        assert said.startswith("There is no exercise")
        assert len(said) < 1_000


def test_a_value_is_shown_on_one_short_line() -> None:
    assert shown("a\nb") == "'a\\nb'"
    assert len(shown(Picture())) == 300
    assert shown(Bad()).endswith("that cannot be shown")


def test_numpy_answers_count() -> None:
    np = pytest.importorskip("numpy")
    assert judge(exercises()["00.1"], np.int64(123_000)).solved
    assert judge(exercises()["02.1"], lambda t, c, tr, f: np.bool_(t > tr and c >= f)).solved
