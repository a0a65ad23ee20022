"""``check``: what a learner calls after an exercise."""

from __future__ import annotations

import difflib
from typing import Any

from labkit.course import memory
from labkit.course.exercise import judge
from labkit.course.registry import exercises

__all__ = ["check"]


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
    Never raises. The best result so far is kept for :func:`labkit.progress`.

    Examples
    --------
    >>> check("00.1", ...)
    00.1  not started
    >>> check("00.1", 123_000, solution=True)
    00.1  PASS 1/1
    >>> check("00.9")
    There is no exercise 00.9: this version has 00.1, 00.2, 01.1, ...
    """
    known = exercises()
    if id not in known:
        close = difflib.get_close_matches(str(id), known, n=1, cutoff=0.8)
        meant = f" Did you mean {close[0]}?" if close else ""
        print(f"There is no exercise {id}: this version has {', '.join(known)}.{meant}")
        return
    report = judge(known[id], answer)
    print(report)
    if report.started and not solution:
        before = memory.recall()["checks"].get(id)
        if before is None or not before["solved"] or report.solved:
            entry = {"passed": report.passed, "total": report.total, "solved": report.solved}
            memory.remember("checks", id, entry)
