"""Exercises of notebook 00: what a request is billed for."""

from __future__ import annotations

from labkit.course.exercise import Case, Exercise, Wrong

__all__ = ["EXERCISES"]


def billed(requests: int, added: int) -> int:
    """Tokens billed over a run whose every request carries all before it and ``added`` new tokens."""
    return added * requests * (requests + 1) // 2


EXERCISES = (
    Exercise(
        id="00.1",
        title="How large was the prompt?",
        cases=lambda: [
            Case((), 123_000, "4,000 uncached, 110,000 read from the cache, 9,000 written to it"),
        ],
        solution=4_000 + 110_000 + 9_000,
        wrong=(
            Wrong(
                4_000,
                "input_tokens is what is left after the cache, not the prompt: reads and writes are part of the "
                "prompt too.",
            ),
            Wrong(
                114_000,
                "What is written to the cache was in the prompt as well: add the writes.",
            ),
            Wrong(
                13_000,
                "What is read from the cache costs less, and still is part of the prompt: add the reads.",
            ),
            Wrong(
                119_000,
                "Reads and writes are there, and the uncached rest is missing: the counts are disjoint, so add "
                "all three.",
            ),
        ),
        difficulty=1,
        worth=5,
        minutes=2,
    ),
    Exercise(
        id="00.2",
        title="Tokens billed over a run",
        cases=lambda: [
            Case((1, 100), 100),
            Case((2, 100), 300),
            Case((3, 100), 600),
            Case((60, 3_500), 6_405_000),
            Case((0, 100), 0),
        ],
        solution=billed,
        wrong=(
            Wrong(
                lambda requests, added: requests * added,
                "This counts each token once. A request carries everything said before it, so the first tokens "
                "are billed at every request.",
            ),
            Wrong(
                lambda requests, added: added * requests * (requests - 1) // 2,
                "This leaves out each request's own new tokens: the first request already carries some.",
            ),
            Wrong(
                lambda requests, added: added * requests * requests,
                "This bills every request at the size of the last one. The early ones were smaller: 1, 2, 3, ... "
                "times what is added.",
            ),
        ),
        difficulty=2,
        worth=5,
        minutes=4,
    ),
)
