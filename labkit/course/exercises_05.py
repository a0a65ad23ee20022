"""Exercises of notebook 05: evidence that was cleared since, and two writers of one record."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.course.exercise import Case, Exercise, Wrong
from labkit.ladder.evidence import digest

__all__ = ["EXERCISES"]


def shown(evidence: tuple[str, str], context: Mapping[str, str], trace: Mapping[str, str]) -> bool:
    """Whether the result that evidence names exists: call id and digest, in what really happened."""
    call_id, seen = evidence
    return call_id in trace and digest(trace[call_id]) == seen


def write(stored: str | None, new: str, expected: str | None) -> tuple[str | None, bool]:
    """What is stored afterwards, and whether there was a conflict."""
    now = None if stored is None else digest(stored)
    return (new, False) if now == expected else (stored, True)


_PASSED, _FAILED, _STUB = "7 passed", "TypeError: unsupported operand", "[cleared: run_tests()]"

EXERCISES = (
    Exercise(
        id="05.1",
        title="Evidence that was cleared since",
        cases=lambda: [
            Case((("c7", digest(_PASSED)), {"c7": _PASSED}, {"c7": _PASSED}), True),
            Case((("c7", digest(_PASSED)), {"c7": _STUB}, {"c7": _PASSED}), True),
            Case((("c7", digest(_PASSED)), {}, {"c7": _PASSED}), True),
            Case((("c7", digest(_PASSED)), {"c7": _FAILED}, {"c7": _FAILED}), False),
            Case((("c9", digest(_PASSED)), {"c7": _PASSED}, {"c7": _PASSED}), False),
            Case((("c7", digest(_STUB)), {"c7": _STUB}, {"c7": _PASSED}), False),
        ],
        solution=shown,
        wrong=(
            Wrong(
                lambda evidence, context, trace: evidence[0] in context and digest(context[evidence[0]]) == evidence[1],
                "That asks the context. A policy may have cleared the result since, and a step that was really done "
                "would count as a lie. Ask the trace: it keeps what the context lost.",
            ),
            Wrong(
                lambda evidence, context, trace: evidence[0] in trace,
                "That asks only whether there was such a call. Its result may have been an error; the digest says "
                "whether it is the result that was named.",
            ),
            Wrong(
                lambda evidence, context, trace: evidence[1] in {digest(text) for text in trace.values()},
                "Some call returned this text, but not the one that is named. Two test runs can both say the same.",
            ),
        ),
        difficulty=2,
        worth=4,
        minutes=6,
    ),
    Exercise(
        id="05.2",
        title="Two writers on one hash",
        cases=lambda: [
            Case((None, "a", None), ("a", False)),
            Case(("a", "b", digest("a")), ("b", False)),
            Case(("c", "b", digest("a")), ("c", True)),
            Case(("c", "b", None), ("c", True)),
            Case((None, "b", digest("a")), (None, True)),
            Case(("b", "b", digest("a")), ("b", True)),
        ],
        solution=write,
        wrong=(
            Wrong(
                lambda stored, new, expected: (new, False),
                "The last one to write wins, and what the other wrote is gone without a word.",
            ),
            Wrong(
                lambda stored, new, expected: (
                    (new, False) if stored is None or digest(stored) == expected else (stored, True)
                ),
                "Where nothing is stored but something was expected, the record was removed meanwhile. That is a "
                "conflict too.",
            ),
            Wrong(
                lambda stored, new, expected: (
                    (new, False)
                    if expected is None or (stored is not None and digest(stored) == expected)
                    else (stored, True)
                ),
                "Expecting nothing does not mean that anything may be overwritten: it means that no record was "
                "there when it was read.",
            ),
        ),
        difficulty=2,
        worth=5,
        minutes=6,
    ),
)
