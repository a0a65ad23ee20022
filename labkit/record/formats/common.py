"""What readers of several formats need: careful looks at JSON that may hold anything.

Session files are written by many versions and repaired by many tools, so every function here takes
whatever JSON offers and gives a value or ``None``: a strange field must not cost a session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

__all__ = ["as_dict", "as_list", "as_text", "epoch", "json_text", "odd_counts", "short_args", "timestamp", "tokens"]

# Counts above this are not tokens of one response but damage.
_LARGEST = 10**9

# Made once: json.dumps makes an encoder for each call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

# Times outside 2000 to 2100 are damage, or not times.
_EARLIEST, _LATEST = 946_684_800.0, 4_102_444_800.0


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """The value if it is a string that is not empty, else ``None``."""
    return value if isinstance(value, str) and value else None


def timestamp(value: Any) -> float | None:
    """Seconds since the epoch of an ISO time, or ``None``; a time without a zone is taken as UTC.

    Examples
    --------
    >>> timestamp("2026-02-15T16:19:33.848Z"), timestamp("2026-02-15T16:19:33.848"), timestamp("soon")
    (1771172373.848, 1771172373.848, None)
    """
    text = as_text(value)
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def epoch(value: Any) -> float | None:
    """Seconds since the epoch of a number in seconds or milliseconds, or ``None``.

    Examples
    --------
    >>> epoch(1776066173), epoch(1730000201000), epoch(float("nan")), epoch(True)
    (1776066173.0, 1730000201.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    for scale in (1, 1_000):
        if _EARLIEST * scale <= value <= _LATEST * scale:
            return value / scale
    return None


def tokens(value: Any) -> int:
    """A count of tokens; 0 for anything that cannot be one.

    Examples
    --------
    >>> tokens(320), tokens(320.0), tokens(-1), tokens("320"), tokens(1.5), tokens(float("nan")), tokens(None)
    (320, 320, 0, 0, 0, 0, 0)
    """
    if type(value) is int and 0 <= value <= _LARGEST:  # nearly always
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= _LARGEST or value != int(value):
        odd = _odd.get()
        if odd is not None and value is not None:
            odd.append(f"{value!r:.40}")
        return 0
    return int(value)


_odd: ContextVar[list[str] | None] = ContextVar("odd", default=None)


@contextmanager
def odd_counts() -> Iterator[list[str]]:
    """Collect what :func:`tokens` was given and took as 0, though it was recorded.

    Examples
    --------
    >>> with odd_counts() as odd:
    ...     total = tokens(5) + tokens(-3) + tokens("12") + tokens(None)
    >>> total, odd
    (5, ['-3', "'12'"])
    """
    odd: list[str] = []
    token = _odd.set(odd)
    try:
        yield odd
    finally:
        _odd.reset(token)


def json_text(value: Any) -> str:
    """A value as compact JSON; never raises."""
    try:
        return _encode(value)
    except (RecursionError, ValueError):
        return "{}"


def short_args(value: Any, limit: int = 120) -> str:
    """Arguments of a call in one short line.

    Examples
    --------
    >>> short_args({"file_path": "app/cart.py", "limit": 40})
    'file_path=app/cart.py, limit=40'
    """
    if not isinstance(value, dict):
        return json_text(value)[:limit]
    parts = []
    for key, item in value.items():
        parts.append(f"{key}={item if isinstance(item, str) else json_text(item)}"[: limit + 1])
        if sum(map(len, parts)) > limit:
            break
    line = ", ".join(parts).replace("\n", " ")
    return line if len(line) <= limit else line[: limit - 3] + "..."
