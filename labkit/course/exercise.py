"""What an exercise is, and what a check of it says; :mod:`labkit.course.judge` judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["Case", "Exercise", "Report", "Wrong"]


@dataclass(frozen=True)
class Case:
    """One thing that is tried.

    Parameters
    ----------
    given : tuple
        Arguments for the learner's function; the key, where the answer is a dict; empty where it is a plain value.
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
        A right answer, which CI runs: a function, a dict with an entry a case, or a plain value.
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

    @property
    def takes(self) -> str:
        """What kind of answer it takes: a ``"function"``, a ``"dict"`` or a ``"value"``."""
        return "function" if callable(self.solution) else "dict" if isinstance(self.solution, Mapping) else "value"


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

    def without_expected(self) -> Report:
        """The same without the number that is looked for: printed at once it would end a one-number exercise.

        Examples
        --------
        >>> print(Report("00.1", True, 0, 1, ("", "123000", "4000"), "That is a part.").without_expected())
        00.1  0/1
              expected  another number; the third try shows it
              got       4000
              That is a part.
        """
        if self.first is None:
            return self
        given, _, got = self.first
        return replace(self, first=(given, "another number; the third try shows it", got), tolerance=0.0)

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
