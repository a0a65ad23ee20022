"""``check``: what a learner calls after an exercise."""

from __future__ import annotations

import difflib
from typing import Any

from labkit.course import memory
from labkit.course.judge import judge, named
from labkit.course.registry import exercises

__all__ = ["check"]

SHOWN_AT = 3
"""The try that shows the number, where one number is the whole answer."""

_TRIES: dict[str, int] = {}


def check(id: str, answer: Any = None, *, solution: bool = False) -> None:
    """Try an answer and say what came, what was expected and which idea explains the difference.

    Parameters
    ----------
    id : str
        Of the exercise, for example ``"02.1"``.
    answer : object
        A function (without brackets) or a value, as the exercise asks.
    solution : bool
        The answer is the notebook's own: print, and do not count it as the learner's.

    Notes
    -----
    Never raises, and gives up an answer that does not end. It says what was tried, what came, what was expected and
    which idea explains the difference; where one number is the whole answer, the number itself only at the third
    try. The best result so far is kept for :func:`labkit.progress`.

    Examples
    --------
    >>> check("00.1", ...)
    00.1  not started
    >>> check("00.1", 123_000, solution=True)
    00.1  PASS 1/1
    >>> check("00.9")
    There is no exercise 00.9: this version has 00.1, 00.2, 00.3, ...
    """
    known, asked = exercises(), named(id)
    if asked not in known:
        close = difflib.get_close_matches(asked, known, n=1, cutoff=0.8)
        meant = f" Did you mean {close[0]}?" if close else ""
        print(f"There is no exercise {asked}: this version has {', '.join(known)}.{meant}")
        return
    report = judge(known[asked], answer)
    tries = _tries(asked) + (report.started and not solution)
    print(report.without_expected() if known[asked].takes == "value" and tries < SHOWN_AT and not solution else report)
    if report.started and not solution:
        before = memory.recall()["checks"].get(asked)
        if before is None or not before["solved"] or report.solved:
            entry = {"passed": report.passed, "total": report.total, "solved": report.solved, "tries": tries}
            if not memory.remember("checks", asked, entry):
                _TRIES[asked] = tries


def _tries(id: str) -> int:
    """How often an exercise was tried before; counted here too, for a learner whose file cannot be written."""
    return max(int(memory.recall()["checks"].get(id, {}).get("tries", 0)), _TRIES.get(id, 0))
