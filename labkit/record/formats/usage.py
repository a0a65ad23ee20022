"""Usage of one response where it is not said whether the input holds what came from the cache."""

from __future__ import annotations

from typing import Any

from labkit.record.formats.common import as_dict, tokens
from labkit.record.trace import Usage

__all__ = ["disjoint", "usage_metadata"]


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


def usage_metadata(raw: Any) -> Usage | None:
    """Usage in LangChain's words: what was cached is part of the input, as its documentation says.

    Examples
    --------
    >>> usage_metadata({"input_tokens": 90, "output_tokens": 4, "input_token_details": {"cache_read": 60}}).uncached
    30
    """
    given = as_dict(raw)
    details = as_dict(given.get("input_token_details"))
    hour = tokens(details.get("ephemeral_1h_input_tokens"))
    minutes = tokens(details.get("ephemeral_5m_input_tokens"))
    return disjoint(
        tokens(given.get("input_tokens")),
        tokens(given.get("output_tokens")),
        tokens(details.get("cache_read")),
        tokens(details.get("cache_creation")) or hour + minutes,
        total=tokens(given.get("total_tokens")),
        hour=hour,
    )
