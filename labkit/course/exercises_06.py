"""Exercises of notebook 06: when a child is cheaper, and whether its return was enough."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.course.exercise import Case, Exercise, Wrong

__all__ = ["EXERCISES"]

_READ, _WRITE, _OUTPUT = 0.1, 1.25, 5.0


def extra(parent: float, calls: int, stretch: float, prefix: float, returned: float, left: int) -> float:
    """What a child costs more than doing it inline, in tokens at the input price."""
    added = _WRITE * (prefix + returned) + _OUTPUT * returned + _READ * calls * prefix
    spared = _READ * (calls - 1) * parent + _READ * (left - 1) * (stretch - returned)
    return added - spared


def missing(needs: Sequence[tuple[int, str]], returned: str, last: int) -> list[str]:
    """Excerpts that are used after the work and that the return does not hold."""
    found: list[str] = []
    for request, excerpt in needs:
        if request > last and excerpt not in returned and excerpt not in found:
            found.append(excerpt)
    return found


def forked(parent: float, stretch: float, returned: float) -> int:
    """The fewest requests left at which a fork is cheaper than inline."""
    left = 1
    added = 2 * _READ * parent + (_WRITE + _OUTPUT) * returned
    while added >= _READ * (left - 1) * (stretch - returned):
        left += 1
    return left


def _written_once(parent: float, calls: int, stretch: float, prefix: float, returned: float, left: int) -> float:
    return extra(parent, calls, stretch, prefix, returned, left) - _READ * calls * prefix


def _later_only(parent: float, calls: int, stretch: float, prefix: float, returned: float, left: int) -> float:
    return extra(parent, calls, stretch, prefix, returned, left) + _READ * (calls - 1) * parent


def _free_words(parent: float, calls: int, stretch: float, prefix: float, returned: float, left: int) -> float:
    return extra(parent, calls, stretch, prefix, returned, left) - _OUTPUT * returned


def _every_call(parent: float, calls: int, stretch: float, prefix: float, returned: float, left: int) -> float:
    return extra(parent, calls, stretch, prefix, returned, left) - _READ * parent


def _case(parent: float, calls: int, stretch: float, prefix: float, returned: float, left: int) -> Case:
    given = (parent, calls, stretch, prefix, returned, left)
    return Case(given, extra(*given))


_NEEDS = ((12, "line 88"), (13, "line 41"), (17, "line 88"), (19, "zone"), (21, "zone"), (22, "nightly.py"))

EXERCISES = (
    Exercise(
        id="06.1",
        title="Isolate, at 20,000 or at 120,000?",
        cases=lambda: [
            # By hand: +12,330 and -77,670 tokens at the input price.
            Case((20_000, 10, 40_000, 20_000, 200, 5), 12_330.0),
            Case((120_000, 10, 40_000, 20_000, 200, 5), -77_670.0),
            _case(120_000, 2, 8_000, 20_000, 200, 5),
            _case(20_000, 10, 40_000, 20_000, 200, 40),
            _case(60_000, 6, 30_000, 12_000, 2_000, 1),
        ],
        solution=extra,
        wrong=(
            Wrong(
                _later_only,
                "This counts only what later requests do not carry. The larger part comes earlier: while the child "
                "works, nobody reads the parent.",
            ),
            Wrong(
                _written_once,
                "The child's prefix is written once, and then each of its calls is followed by a request that reads it "
                "again.",
            ),
            Wrong(
                _free_words,
                "The return is the model's output, at 5 times the input price, before it is written into the parent.",
            ),
            Wrong(
                _every_call,
                "One request reads the parent both ways: inline the one that carries the last result, with a child the "
                "one that carries the return. So it is one fewer than the calls.",
            ),
        ),
        difficulty=3,
        worth=5,
        minutes=7,
    ),
    Exercise(
        id="06.2",
        title="Was the return enough?",
        cases=lambda: [
            Case((_NEEDS, "see line 88 and line 41", 15), ["zone", "nightly.py"]),
            Case((_NEEDS, "", 15), ["line 88", "zone", "nightly.py"]),
            Case((_NEEDS, "zone, line 88, nightly.py", 15), []),
            Case((_NEEDS, "done", 21), ["nightly.py"]),
            Case((_NEEDS, "done", 12), ["line 41", "line 88", "zone", "nightly.py"]),
        ],
        solution=missing,
        wrong=(
            Wrong(
                lambda needs, returned, last: list(dict.fromkeys(e for _, e in needs if e not in returned)),
                "What is used before the work is done is used by the child, and the child has seen it. Only what comes "
                "after counts.",
            ),
            Wrong(
                lambda needs, returned, last: [e for r, e in needs if r > last and e not in returned],
                "An excerpt that is used twice is missing once: after the first look the parent has it.",
            ),
            Wrong(
                lambda needs, returned, last: list(
                    dict.fromkeys(e for r, e in needs if r >= last and e not in returned)
                ),
                "The answer to request `last` still belongs to the work.",
            ),
        ),
        difficulty=2,
        worth=4,
        minutes=5,
    ),
    Exercise(
        id="06.3",
        title="When does a fork pay?",
        cases=lambda: [
            Case((120_000, 40_000, 200), 8),
            Case((20_000, 40_000, 200), 3),
            Case((120_000, 40_000, 2_000), 11),
            Case((50_000, 10_000, 0), 12),
        ],
        solution=forked,
        wrong=(
            Wrong(
                lambda parent, stretch, returned: forked(0, stretch, returned),
                "A fork and its parent together send two requests more than doing it inline, and each of them "
                "reads the whole parent.",
            ),
            Wrong(
                lambda parent, stretch, returned: forked(parent, stretch, returned) - 1,
                "The first request left carries the last result either way; only from the second on the parent is "
                "spared the work.",
            ),
        ),
        difficulty=3,
        worth=3,
        minutes=6,
        extra=True,
    ),
)
