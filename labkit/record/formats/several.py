"""Files that hold more than one run: evaluations write hundreds of them into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labkit.record.trace import Trace

__all__ = ["several"]


def several(runs: Sequence[Trace], name: str, source: str, warnings: Sequence[str] = ()) -> Trace:
    """The one run of a file, or a Trace without requests of its own whose children are the runs.

    Parameters
    ----------
    runs : sequence of Trace
        In the order of the file.
    name, source : str
        For the Trace that holds several runs.
    warnings : sequence of str
        What concerns the file as a whole.

    Examples
    --------
    >>> one = Trace("first", (), ())
    >>> several([one], "file", "made up") is one
    True
    >>> several([one, one], "file", "made up").warnings
    ('the file holds 2 runs: they are the children of this trace, take one with .children[0]',)
    """
    if len(runs) == 1:
        return replace(runs[0], warnings=(*runs[0].warnings, *warnings)) if warnings else runs[0]
    said = f"the file holds {len(runs)} runs: they are the children of this trace, take one with .children[0]"
    return Trace(name, (), (), children=tuple(runs), source=source, warnings=(said, *warnings))
