"""Exercises of notebook 09: what the best of many is worth, and what is worth looking at."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.course.exercise import Case, Exercise, Wrong

__all__ = ["EXERCISES"]


def next_session(here: Sequence[float], there: Sequence[float]) -> float:
    """What the policy that saves most here saves there."""
    return there[max(range(len(here)), key=lambda i: here[i])]


def undominated(points: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """The points of cost and loss that no other beats in one without being worse in the other."""
    return sorted({p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)})


_POINTS = [(3.3, 0), (1.6, 3), (1.2, 9), (2.0, 3), (1.3, 9), (4.0, 10)]

EXERCISES = (
    Exercise(
        id="09.1",
        title="The best of 10,000 on the next session",
        cases=lambda: [
            Case(([0.50, 0.53, 0.20], [0.22, 0.14, 0.25]), 0.14),
            Case(([0.10, 0.30], [0.30, -0.05]), -0.05),
            Case(([0.0], [0.0]), 0.0),
        ],
        solution=next_session,
        wrong=(
            Wrong(
                lambda here, there: max(there),
                "That is the best policy of the other session. You do not know that session when you choose.",
            ),
            Wrong(
                lambda here, there: max(here),
                "That is what it saved where it was chosen. It was taken because it fits that one, chance included.",
            ),
            Wrong(
                lambda here, there: sum(there) / len(there),
                "That is what a policy drawn at random saves there. You did not draw: you took the best of here.",
            ),
        ),
        difficulty=1,
        worth=5,
        minutes=4,
    ),
    Exercise(
        id="09.2",
        title="What is worth looking at",
        cases=lambda: [
            Case((_POINTS,), [(1.2, 9), (1.6, 3), (3.3, 0)]),
            Case(([(1.0, 1)],), [(1.0, 1)]),
            Case(([(1.0, 1), (1.0, 1), (2.0, 1)],), [(1.0, 1)]),
        ],
        solution=undominated,
        wrong=(
            Wrong(
                lambda points: [min(points)],
                "The cheapest is one end of the frontier. Who may lose less needs the others too.",
            ),
            Wrong(
                lambda points: sorted({p for p in points if not any(q[0] < p[0] and q[1] < p[1] for q in points)}),
                "A point is beaten as well by one that is only cheaper and loses the same.",
            ),
            Wrong(
                lambda points: sorted(set(points)),
                "These are all points. Leave out each one that another beats in one thing and equals or beats in the "
                "other.",
            ),
        ),
        difficulty=3,
        worth=4,
        minutes=7,
    ),
)
