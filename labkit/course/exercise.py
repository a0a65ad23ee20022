"""What an exercise is, and how an answer is judged: pure, printing nothing, storing nothing."""

from __future__ import annotations

import copy
import math
import numbers
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Case", "Exercise", "Report", "Wrong", "judge"]


@dataclass(frozen=True)
class Case:
    """One thing that is tried.

    Parameters
    ----------
    given : tuple
        Arguments for the learner's function; empty where the answer is a plain value.
    expected : object
        What should come out.
    show : str
        The input in words; default: the arguments as Python writes them.
    """

    given: tuple[Any, ...]
    expected: Any
    show: str = ""


@dataclass(frozen=True)
class Wrong:
    """A usual wrong answer, recognised by what it gives.

    Parameters
    ----------
    answer : object
        The wrong answer itself: a value, or a function.
    why : str
        The idea behind it, and why it does not hold. One or two sentences.
    """

    answer: Any
    why: str


@dataclass(frozen=True)
class Exercise:
    """One exercise of a notebook.

    Parameters
    ----------
    id : str
        Notebook and number: ``"02.1"``.
    title : str
    cases : callable
        Makes the cases when they are needed: some of them replay a run.
    solution : object
        A right answer, which CI runs.
    wrong : tuple of Wrong
        At least two.
    difficulty, worth : int
        1 to 5.
    minutes : int
        Time to allow.
    extra : bool
        Not one of the two core exercises of its notebook.
    tolerance : float
        Relative; numbers nearer than this count as equal.
    words : callable
        How an output is shown.
    """

    id: str
    title: str
    cases: Callable[[], Sequence[Case]]
    solution: Any
    wrong: tuple[Wrong, ...]
    difficulty: int
    worth: int
    minutes: int
    extra: bool = False
    tolerance: float = 1e-9
    words: Callable[[Any], str] = field(default=repr)

    @property
    def notebook(self) -> str:
        """The notebook it belongs to."""
        return self.id.split(".")[0]


@dataclass(frozen=True)
class Report:
    """What a check found.

    Parameters
    ----------
    id : str
    started : bool
        False while the stub is untouched.
    passed, total : int
        Cases.
    first : tuple of str, optional
        Of the first case that failed: input, expected, got.
    why : str
        The misconception that gives the same outputs; empty if none is known.
    tolerance : float
        Within which numbers count as equal.
    """

    id: str
    started: bool
    passed: int
    total: int
    first: tuple[str, str, str] | None = None
    why: str = ""
    tolerance: float = 1e-9

    @property
    def solved(self) -> bool:
        """Whether every case passed."""
        return self.started and self.passed == self.total

    def __str__(self) -> str:
        """What a learner reads.

        Examples
        --------
        >>> print(Report("02.1", True, 2, 4, ("acts(1)", "True", "False"), "It looks at the trigger alone."))
        02.1  2/4
              input     acts(1)
              expected  True
              got       False
              It looks at the trigger alone.
        """
        if not self.started:
            return f"{self.id}  not started"
        if self.solved:
            return f"{self.id}  PASS {self.passed}/{self.total}"
        lines = [f"{self.id}  {self.passed}/{self.total}"]
        if self.first:
            given, expected, got = self.first
            lines += [f"      input     {given}"] if given else []
            near = f" (within {self.tolerance:.1%})" if self.tolerance >= 1e-4 else ""
            lines += [f"      expected  {expected}{near}", f"      got       {got}"]
        lines += [f"      {self.why}"] if self.why else []
        return "\n".join(lines)


class _Raised:
    """Stands for the output of an answer that raised; equal to nothing that did not raise the same."""

    def __init__(self, error: BaseException) -> None:
        self.line = _last_line(error)


def judge(exercise: Exercise, answer: Any) -> Report:
    """Try an answer on every case; never raises, whatever the answer does.

    Parameters
    ----------
    exercise : Exercise
    answer : object
        The learner's function or value.

    Returns
    -------
    Report
    """
    cases = list(exercise.cases())
    total = len(cases)
    if answer is None or answer is ...:
        return Report(exercise.id, False, 0, total)
    takes_function = callable(exercise.solution)
    if takes_function and not callable(answer):
        first = ("", "a function", f"{_show(answer, repr)}, the result of one call or a plain value")
        return Report(exercise.id, True, 0, total, first, "Give the function itself, without brackets after its name.")
    outputs = [_output(answer, case) for case in cases]
    if all(_nothing(output) for output in outputs):
        if not _has_a_body(answer):
            return Report(exercise.id, False, 0, total)
        first = (_input(cases[0], _name(answer)), _show(cases[0].expected, exercise.words), "None")
        return Report(exercise.id, True, 0, total, first, "The function returns nothing: end it with return.")
    right = [_same(o, c.expected, exercise.tolerance) for o, c in zip(outputs, cases, strict=True)]
    if all(right):
        return Report(exercise.id, True, total, total)
    at = right.index(False)
    case, output = cases[at], outputs[at]
    got = output.line if isinstance(output, _Raised) else _show(output, exercise.words)
    first = (_input(case, _name(answer)), _show(case.expected, exercise.words), got)
    why = _why(exercise, cases, outputs, at)
    return Report(exercise.id, True, sum(right), total, first, why, exercise.tolerance)


def _output(answer: Any, case: Case) -> Any:
    if not callable(answer):
        return answer
    try:
        # A copy, so that an answer that changes its input does not change the next case.
        return answer(*copy.deepcopy(case.given))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: an exit() in an answer must not end the kernel
        return _Raised(error)


def _nothing(output: Any) -> bool:
    return output is None or output is ... or (isinstance(output, _Raised) and output.line.startswith("NotImplemented"))


def _stub() -> None: ...


def _has_a_body(answer: Any) -> bool:
    """Whether a function does anything: a stub compiles to as little code as ours."""
    code = getattr(answer, "__code__", None)
    return code is not None and not code.co_names and len(code.co_code) > len(_stub.__code__.co_code)


def _name(answer: Any) -> str:
    name = str(getattr(answer, "__name__", "answer"))
    return name if name.isidentifier() else "answer"


def _why(exercise: Exercise, cases: Sequence[Case], outputs: Sequence[Any], at: int) -> str:
    """The wrong answer that agrees with the learner's at the first failing case, and at most others."""
    best, why = -1, ""
    for wrong in exercise.wrong:
        theirs = [_output(wrong.answer, case) for case in cases]
        agree = [_same(o, t, exercise.tolerance) for o, t in zip(outputs, theirs, strict=True)]
        if agree[at] and sum(agree) > best:
            best, why = sum(agree), wrong.why
    return why


def _same(got: Any, expected: Any, tolerance: float) -> bool:
    """Equal, with a tolerance on numbers and without regard to list or tuple."""
    if isinstance(got, _Raised) or isinstance(expected, _Raised):
        return isinstance(got, _Raised) and isinstance(expected, _Raised) and got.line == expected.line
    try:
        if _truth(got) is not None or _truth(expected) is not None:
            return _truth(got) is _truth(expected)
        if isinstance(got, numbers.Real) and isinstance(expected, numbers.Real):
            return math.isclose(got, expected, rel_tol=tolerance, abs_tol=0.0 if expected else 1e-12)
        if isinstance(got, list | tuple) and isinstance(expected, list | tuple):
            return len(got) == len(expected) and all(_same(g, e, tolerance) for g, e in zip(got, expected, strict=True))
        if isinstance(got, Mapping) and isinstance(expected, Mapping):
            return got.keys() == expected.keys() and all(_same(got[k], expected[k], tolerance) for k in expected)
        return type(got) is type(expected) and bool(got == expected)
    except Exception:  # an answer may be an array, or anything whose comparison fails
        return False


def _truth(value: Any) -> bool | None:
    """True or False for a bool, numpy's included; ``None`` for everything else, 0 and 1 included."""
    return bool(value) if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool") else None


def _input(case: Case, name: str) -> str:
    if case.show or not case.given:
        return case.show
    return f"{name}({', '.join(_show(value, repr) for value in case.given)})"


def _show(value: Any, words: Callable[[Any], str]) -> str:
    text = ""
    for way in (words, repr):
        try:
            text = str(way(value))
            break
        except Exception:
            text = f"a {type(value).__name__} that cannot be shown"
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:297] + "..."


def _last_line(error: BaseException) -> str:
    try:
        lines = traceback.format_exception_only(error)
        text = lines[-1].strip() if lines else type(error).__name__
    except Exception:
        text = type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."
