"""The errors labkit raises on purpose.

Each message is one sentence that names what was given, what is allowed and the nearest fix.
The command line prints that sentence and exits with status 2.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ContextOverflow", "EditRefused", "InputError", "LabError", "SummaryFailed", "closest"]


class LabError(Exception):
    """Base of every error that labkit raises on purpose."""


class InputError(LabError, ValueError):
    """Something given to labkit is missing, unreadable or out of range."""


class ContextOverflow(LabError, RuntimeError):
    """The context is larger than the window after every rung has run.

    Attributes
    ----------
    tokens : int
        Size of the context that does not fit, in tokens.
    window : int
        The window, in tokens.
    """

    def __init__(self, tokens: int, window: int) -> None:
        self.tokens = tokens
        self.window = window
        super().__init__(
            f"the context is {tokens:,} tokens after every rung ran, the window allows {window:,}: "
            "lower the trigger, keep fewer results, or compact earlier"
        )


class EditRefused(LabError, RuntimeError):
    """A client-side edit would invalidate thinking that is bound to its prefix."""


class SummaryFailed(LabError, RuntimeError):
    """The model that was asked for a summary gave none; the history is as it was."""


def closest(name: str, known: Iterable[str]) -> str:
    """Words for an error about an unknown name: the nearest known one, or nothing.

    Examples
    --------
    >>> closest("triger", ["trigger", "floor"])
    ", did you mean 'trigger'?"
    >>> closest("xyz", ["trigger", "floor"])
    ''
    """
    import difflib  # here, because errors are rare and import labkit is not

    near = difflib.get_close_matches(name, list(known), n=1)
    return f", did you mean {near[0]!r}?" if near else ""
