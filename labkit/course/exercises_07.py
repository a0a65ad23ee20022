"""Exercises of notebook 07: what a difference between two pass rates is worth, and what a pass costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from labkit.course.exercise import Case, Exercise, Wrong

__all__ = ["EXERCISES"]

_Z = 1.959964


def _wilson(passed: int, runs: int) -> tuple[float, float]:
    middle, half = passed + _Z * _Z / 2, _Z * math.sqrt(passed * (runs - passed) / runs + _Z * _Z / 4)
    return (middle - half) / (runs + _Z * _Z), (middle + half) / (runs + _Z * _Z)


def better(first: int, second: int, runs: int) -> str:
    """Whether the first passes more often, by the interval of the difference."""
    a, b = first / runs, second / runs
    (a_low, a_high), (b_low, b_high) = _wilson(first, runs), _wilson(second, runs)
    if a - b > math.hypot(a - a_low, b_high - b):
        return "yes"
    if b - a > math.hypot(b - b_low, a_high - a):
        return "no"
    return "cannot tell"


def dollars_a_pass(runs: Sequence[tuple[float, bool]]) -> float | None:
    """All dollars, over the runs that passed."""
    passed = sum(ok for _, ok in runs)
    return math.fsum(dollars for dollars, _ in runs) / passed if passed else None


def _larger(first: int, second: int, runs: int) -> str:
    return "yes" if first > second else "no" if first < second else "cannot tell"


def _apart(first: int, second: int, runs: int) -> str:
    (a_low, a_high), (b_low, b_high) = _wilson(first, runs), _wilson(second, runs)
    return "yes" if a_low > b_high else "no" if b_low > a_high else "cannot tell"


def _own(runs: Sequence[tuple[float, bool]]) -> float | None:
    passed = [dollars for dollars, ok in runs if ok]
    return math.fsum(passed) / len(passed) if passed else None


def _each(runs: Sequence[tuple[float, bool]]) -> float | None:
    return math.fsum(d for d, _ in runs) / len(runs) if any(ok for _, ok in runs) else None


_MIXED = ((0.3, True), (0.5, False), (0.4, True), (0.2, False))

EXERCISES = (
    Exercise(
        id="07.1",
        title="Is 18 of 20 better than 16 of 20?",
        cases=lambda: [
            Case((18, 16, 20), "cannot tell"),
            Case((180, 160, 200), "yes"),
            Case((16, 18, 20), "cannot tell"),
            Case((10, 19, 20), "no"),
            Case((18, 12, 20), "yes"),
            Case((20, 20, 20), "cannot tell"),
        ],
        solution=better,
        wrong=(
            Wrong(
                _larger,
                "More is not yet better: two configurations that are equal differ by two passes of twenty in many "
                "repetitions.",
            ),
            Wrong(
                _apart,
                "Two intervals that overlap are not yet the same: ask for the interval of the difference, which is "
                "shorter than both together.",
            ),
        ),
        difficulty=3,
        worth=5,
        minutes=8,
    ),
    Exercise(
        id="07.2",
        title="Dollars a verified pass",
        cases=lambda: [
            Case((_MIXED,), 0.7),
            Case((((0.3, True),),), 0.3),
            Case((((0.3, False), (0.1, False)),), None),
            Case((((0.25, True), (0.75, False)),), 1.0),
        ],
        solution=dollars_a_pass,
        wrong=(
            Wrong(
                _own,
                "The runs that failed were paid too. Without them a configuration that fails dearly looks cheap.",
            ),
            Wrong(_each, "That is dollars a run. A run that fails gives no pass: divide by the passes."),
        ),
        difficulty=1,
        worth=4,
        minutes=4,
    ),
)
