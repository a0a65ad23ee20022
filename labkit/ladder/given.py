"""What was given has to be of the right kind, or a sentence says what to give."""

from __future__ import annotations

from labkit.errors import InputError

__all__ = ["given"]


def given(name: str, value: object, kind: type, how: str) -> None:
    """Refuse a value of another kind.

    Parameters
    ----------
    name : str
        What it is called.
    value : object
    kind : type
        What it has to be.
    how : str
        How to come by one.

    Raises
    ------
    InputError
        If it is something else.

    Examples
    --------
    >>> given("text", 3, str, "such as 'three'")
    Traceback (most recent call last):
    ...
    labkit.errors.InputError: text is 3: give a str, such as 'three'
    """
    if not isinstance(value, kind):
        shown = repr(value)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        raise InputError(f"{name} is {shown}: give a {kind.__name__}, {how}")
