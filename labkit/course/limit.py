"""A time limit for a learner's code, which may hold a loop that never ends."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

__all__ = ["Stopped", "TooLong", "limited"]

T = TypeVar("T")


class TooLong(BaseException):
    """The time is over. Not an ``Exception``, so that ``except Exception`` in an answer does not swallow it."""


class Stopped(KeyboardInterrupt):
    """The learner pressed stop: told apart from an answer that raises ``KeyboardInterrupt`` itself."""


def _interrupt() -> None:
    """Interrupt the main thread; where the system can, also out of a wait such as ``time.sleep``."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


def limited(call: Callable[[], T], seconds: float) -> T:
    """Call a function, and give up after so many seconds.

    Parameters
    ----------
    call : callable
    seconds : float
        Only Python code can be given up, between two of its steps; one long step in C runs to its end.

    Returns
    -------
    object
        What the call returns. Outside the main thread, where nothing can be interrupted, there is no limit.

    Raises
    ------
    TooLong
        If the time is over.
    Stopped
        If the learner interrupts.

    Examples
    --------
    >>> limited(lambda: 1 + 1, 10)
    2
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    lock, over, done = threading.Lock(), threading.Event(), threading.Event()

    def late() -> None:
        # Under the lock, so that the interrupt cannot come when the call is over and other code runs.
        with lock:
            if not done.is_set():
                over.set()
                _interrupt()

    def interrupted(number: int, frame: FrameType | None) -> None:
        raise TooLong if over.is_set() else Stopped

    before = signal.signal(signal.SIGINT, interrupted)
    timer = threading.Timer(seconds, late)
    timer.daemon = True
    try:
        timer.start()
        try:
            return call()
        finally:
            with lock:
                done.set()
            timer.cancel()
    finally:
        if before is not None:  # None: it was not set from Python, and cannot be put back
            signal.signal(signal.SIGINT, before)
