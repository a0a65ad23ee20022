"""Usage of one response where it is not said whether the input holds what came from the cache."""

from __future__ import annotations

from labkit.record.trace import Usage

__all__ = ["disjoint"]


def disjoint(
    asked: int, output: int, read: int, written: int, *, total: int = 0, apart: bool = False, hour: int = 0
) -> Usage | None:
    """Usage in disjoint counts, ``None`` where all of them are 0.

    Parameters
    ----------
    asked, output, read, written : int
        Tokens as recorded.
    total : int
        As recorded: it decides, where it is the sum of the one or the other.
    apart : bool
        Where it does not: whether the source counts cached tokens beside the input.
    hour : int
        Of what was written, the part that lasts for an hour.

    Examples
    --------
    >>> disjoint(130_213, 40, 128_955, 1_253).uncached
    5
    >>> disjoint(5, 40, 128_955, 1_253).uncached, disjoint(5, 2, 3, 0, total=10).uncached
    (5, 5)
    """
    if total in (asked + output, asked + output + read + written):
        apart = total != asked + output
    if not apart and read + written <= asked:
        asked -= read + written
    hour = min(hour, written)
    usage = Usage(asked, read, written - hour, hour, output)
    return usage if usage.total_input + usage.output else None
