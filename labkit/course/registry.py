"""All exercises of the course, by id."""

from __future__ import annotations

from functools import lru_cache

from labkit.course import exercises_00, exercises_01, exercises_02, exercises_08
from labkit.course.exercise import Exercise

__all__ = ["exercises"]


@lru_cache(maxsize=1)
def exercises() -> dict[str, Exercise]:
    """Every exercise by id, in the order of the course.

    Examples
    --------
    >>> [i for i, e in exercises().items() if not e.extra][:4]
    ['00.1', '00.2', '01.1', '01.2']
    """
    modules = (exercises_00, exercises_01, exercises_02, exercises_08)
    return {e.id: e for module in modules for e in module.EXERCISES}
