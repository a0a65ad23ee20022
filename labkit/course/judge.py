"""How an answer is judged: pure, printing nothing, storing nothing, and standing anything an answer may do."""

from __future__ import annotations

import copy
import inspect
import math
import numbers
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labkit.course.exercise import Case, Exercise, Report
from labkit.course.limit import Stopped, TooLong, limited

__all__ = ["calm", "judge", "named", "shown"]

SECONDS = 10.0
"""Time for one answer on all cases together; the solutions take milliseconds."""

LONGEST = 300


class _Raised:
    """Stands for the output of an answer that raised; equal to nothing that did not raise the same."""

    def __init__(self, error: BaseException) -> None:
        self.line = calm(lambda: _last_line(error), type(error).__name__)


def judge(exercise: Exercise, answer: Any) -> Report:
    """Try an answer on every case; never raises, whatever the answer does.

    Parameters
    ----------
    exercise : Exercise
    answer : object
        The learner's function, dict or value. One that does not end is given up after :data:`SECONDS`.

    Returns
    -------
    Report

    Examples
    --------
    >>> from labkit.course.registry import exercises
    >>> judge(exercises()["02.1"], lambda total, clearable, trigger, floor: total > trigger).passed
    4
    """
    cases = list(exercise.cases())
    tried: list[Case] = []  # the last one is being tried
    try:
        return limited(lambda: _judge(exercise, answer, cases, tried), SECONDS)
    except TooLong:
        case = tried[-1] if tried else cases[0]
        got = f"nothing within {SECONDS:g} seconds"
        first = (_input(exercise, case, answer), _shown(case.expected, exercise.words), got)
        why = "It does not come to an end: look for a loop whose condition stays true, or a wait."
        return Report(exercise.id, True, max(len(tried) - 1, 0), len(cases), first, why)


def _judge(exercise: Exercise, answer: Any, cases: list[Case], tried: list[Case]) -> Report:
    id, total = exercise.id, len(cases)
    if answer is None or answer is ... or (exercise.takes == "dict" and _unfilled(answer)):
        return Report(id, False, 0, total)
    if exercise.takes == "function" and not callable(answer):
        first = ("", "a function", f"{_shown(answer, repr)}, the result of one call or a plain value")
        return Report(id, True, 0, total, first, "Give the function itself, without brackets after its name.")
    if exercise.takes == "dict" and not _is_mapping(answer):
        first = ("", f"a dict with the keys {', '.join(str(c.given[0]) for c in cases)}", _shown(answer, repr))
        return Report(id, True, 0, total, first, "Fill in the dict that stands there: True or False behind each key.")
    outputs = []
    for case in cases:
        tried.append(case)
        outputs.append(_output(exercise, answer, case))
    if all(_nothing(output) for output in outputs):
        if _is_stub(answer, outputs):
            return Report(id, False, 0, total)
        first = (_input(exercise, cases[0], answer), _shown(cases[0].expected, exercise.words), "None")
        return Report(id, True, 0, total, first, "The function returns nothing: end it with return.")
    right = [_same(o, c.expected, exercise.tolerance) for o, c in zip(outputs, cases, strict=True)]
    if all(right):
        return Report(id, True, total, total)
    at = right.index(False)
    case, output = cases[at], outputs[at]
    got = output.line if type(output) is _Raised else _shown(output, exercise.words)
    first = (_input(exercise, case, answer), _shown(case.expected, exercise.words), got)
    why = _why(exercise, cases, outputs, at) or calm(lambda: _kinds(output, case.expected), "")
    return Report(id, True, sum(right), total, first, why, exercise.tolerance)


def calm(call: Callable[[], Any], otherwise: Any) -> Any:
    """What a call gives, or something else if it raises: a learner's object may raise anything, anywhere.

    Examples
    --------
    >>> calm(lambda: 1 / 0, "no number")
    'no number'
    """
    try:
        return call()
    except (Stopped, TooLong):
        raise
    except BaseException:
        return otherwise


def _output(exercise: Exercise, answer: Any, case: Case) -> Any:
    try:
        if exercise.takes == "dict":
            return answer[case.given[0]]
        # A copy, so that an answer that changes its input does not change the next case.
        output = answer(*copy.deepcopy(case.given)) if callable(answer) else answer
        if inspect.iscoroutine(output):
            output.close()  # or Python warns that nobody awaited it
        return output
    except (Stopped, TooLong):
        raise
    except BaseException as error:  # SystemExit too: an exit() in an answer must not end the kernel
        return _Raised(error)


def _unfilled(answer: Any) -> bool:
    return bool(_is_mapping(answer) and calm(lambda: all(v is None or v is ... for v in answer.values()), False))


def _is_mapping(answer: Any) -> bool:
    # By type: __class__ of an object may be anything.
    return bool(calm(lambda: issubclass(type(answer), Mapping), False))


def _nothing(output: Any) -> bool:
    return output is None or output is ... or (type(output) is _Raised and output.line.startswith("NotImplemented"))


def _stub() -> None: ...


def _is_stub(answer: Any, outputs: Sequence[Any]) -> bool:
    """Whether a function was left as it was: it compiles to as little code as ours, or says that it comes later."""
    code = calm(lambda: answer.__code__.co_code, None)
    later = any(type(output) is _Raised for output in outputs)
    return later or (type(code) is bytes and len(code) <= len(_stub.__code__.co_code))


def _name(answer: Any) -> str:
    name = calm(lambda: answer.__name__, "")
    return name if type(name) is str and name.isidentifier() else "answer"


def _why(exercise: Exercise, cases: Sequence[Case], outputs: Sequence[Any], at: int) -> str:
    """The wrong answer that agrees with the learner's at the first failing case, and at most others."""
    best, why = -1, ""
    for wrong in exercise.wrong:
        theirs = [_output(exercise, wrong.answer, case) for case in cases]
        agree = [_same(o, t, exercise.tolerance) for o, t in zip(outputs, theirs, strict=True)]
        if agree[at] and sum(agree) > best:
            best, why = sum(agree), wrong.why
    return why


def _kinds(got: Any, expected: Any) -> str:
    """What to say where another kind of thing came than is expected; empty where the kinds agree."""
    number = isinstance(expected, numbers.Real) and not isinstance(expected, bool)
    if type(got) is _Raised:
        return ""
    if got is None:
        return "Nothing came back here: is there a way through the function that meets no return?"
    if isinstance(got, str) and number:
        return "That is text: write the number without quotes."
    if inspect.isgenerator(got):
        return "That is a generator, which gives its values later: make a list of it."
    if inspect.iscoroutine(got):
        return "That is a coroutine, which nobody awaits: leave out async."
    if callable(got):
        return "That is a function: call it."
    if isinstance(expected, bool) and _truth(got) is None:
        return "True or False is asked for."
    if isinstance(expected, list | tuple) and not isinstance(got, list | tuple):
        return "A list is asked for."
    return ""


def _same(got: Any, expected: Any, tolerance: float) -> bool:
    """Equal, with a tolerance on numbers and without regard to list or tuple."""
    if type(got) is _Raised or type(expected) is _Raised:
        return type(got) is type(expected) and got.line == expected.line
    # An answer may be an array, or anything whose comparison fails.
    return bool(calm(lambda: _equal(got, expected, tolerance), False))


def _equal(got: Any, expected: Any, tolerance: float) -> bool:
    if _truth(got) is not None or _truth(expected) is not None:
        return _truth(got) is _truth(expected)
    if isinstance(got, numbers.Real) and isinstance(expected, numbers.Real):
        return math.isclose(got, expected, rel_tol=tolerance, abs_tol=0.0 if expected else 1e-12)
    if isinstance(got, list | tuple) and isinstance(expected, list | tuple):
        return len(got) == len(expected) and all(_same(g, e, tolerance) for g, e in zip(got, expected, strict=True))
    if isinstance(got, Mapping) and isinstance(expected, Mapping):
        return got.keys() == expected.keys() and all(_same(got[k], expected[k], tolerance) for k in expected)
    return type(got) is type(expected) and bool(got == expected)


def _truth(value: Any) -> bool | None:
    """True or False for a bool, numpy's included; ``None`` for everything else, 0 and 1 included."""
    return bool(value) if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool") else None


def _input(exercise: Exercise, case: Case, answer: Any) -> str:
    if case.show or not case.given:
        return case.show
    name = _name(answer)
    return f"{name}({', '.join(_shown(value, repr) for value in case.given)})"


def named(id: Any) -> str:
    """An id as it can be printed and kept, whatever was given for one.

    Examples
    --------
    >>> named("02.1"), named(2.1)
    ('02.1', '2.1')
    """
    return id if type(id) is str and id.isprintable() and len(id) <= 60 else shown(id).strip("'")[:60]


def shown(value: Any) -> str:
    """A value in one short line of text that can be printed, whatever its ``repr`` does.

    Examples
    --------
    >>> shown([1, 2])
    '[1, 2]'
    >>> len(shown("x" * 1_000))
    300
    """
    return _shown(value, repr)


def _shown(value: Any, words: Callable[[Any], str]) -> str:
    unknown = f"a {calm(lambda: str(type(value).__name__), 'thing')} that cannot be shown"
    return str(calm(lambda: _line(words(value)), None) or calm(lambda: _line(repr(value)), unknown))


def _line(text: str) -> str:
    # A lone surrogate cannot be printed.
    plain = " ".join(str(text)[: 20 * LONGEST].encode("utf-8", "backslashreplace").decode("utf-8").split())
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 3] + "..."


def _last_line(error: BaseException) -> str:
    lines = traceback.format_exception_only(error)
    return _line(lines[-1]) if lines else type(error).__name__
