"""The compiler of the fast path, where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

njit: Any = None
with suppress(ImportError):  # without it nothing calls a kernel, and the functions are plain Python
    from numba import njit

__all__ = ["compiled", "kept"]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a function as part of the kernel that calls it; only the kernel is kept on disk."""
    if njit is None:
        return function
    made: F = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, no_cpython_wrapper=True)(function)
    return made


def kept(function: F) -> F:
    """Compile a kernel and keep the code on disk."""
    if njit is None:
        return function
    made: F = njit(cache=True, nogil=True, error_model="numpy")(function)
    return made
