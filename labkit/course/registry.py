"""All exercises of the course, by id."""

from __future__ import annotations

import pkgutil
from functools import lru_cache
from importlib import import_module

import labkit.course
from labkit.course.exercise import Exercise

__all__ = ["exercises"]


@lru_cache(maxsize=1)
def exercises() -> dict[str, Exercise]:
    """Every exercise by id, in the order of the course: each module ``exercises_NN`` of this folder holds some.

    Examples
    --------
    >>> [i for i, e in exercises().items() if not e.extra][:4]
    ['00.1', '00.2', '01.1', '01.2']
    """
    names = sorted(m.name for m in pkgutil.iter_modules(labkit.course.__path__) if m.name.startswith("exercises_"))
    modules = [import_module(f"labkit.course.{name}") for name in names]
    return {e.id: e for module in modules for e in module.EXERCISES}
