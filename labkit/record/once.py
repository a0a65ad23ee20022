"""Responses that stand in several sessions, counted once.

A resumed, forked or checkpointed session is a new file that repeats its history; the responses in it
keep their ids and their input.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from labkit.record.trace import Request, Trace, Usage

__all__ = ["new_only", "usage_once"]

Key = tuple[str, int, int, int, int]

# Smaller starts are seconds from a run's beginning and tell nothing apart.
_CLOCK = 1e9


def new_only(trace: Trace, seen: set[Key]) -> tuple[Trace, int]:
    """A Trace without the usage of responses that were seen in another.

    Parameters
    ----------
    trace : Trace
        Its reader has counted each of its own responses once.
    seen : set
        Of responses in other sessions; those of this one are added.

    Returns
    -------
    trace : Trace
        The requests stay, children's too; those that were seen have no usage. An answer that was not
        finished in the session that counts it keeps the output it has there.
    shared : int
        How many had been seen.

    Examples
    --------
    >>> first = Trace("a", (), (Request(1, usage=Usage(9), id="m1"),))
    >>> resumed = Trace("b", (), (Request(1, usage=Usage(9), id="m1"), Request(2, usage=Usage(12), id="m2")))
    >>> seen = set()
    >>> new_only(first, seen)[1], new_only(resumed, seen)[1]
    (0, 1)
    """
    own: set[Key] = set()
    left, shared = _without(trace, seen, own)
    seen |= own
    return left, shared


def _without(trace: Trace, seen: set[Key], own: set[Key]) -> tuple[Trace, int]:
    shared, requests, children = 0, [], []
    for request in trace.requests:
        key = _key(request)
        if key is not None and key in seen:
            shared += 1
            request = replace(request, usage=None)
        elif key is not None:
            own.add(key)
        requests.append(request)
    for child in trace.children:
        left, again = _without(child, seen, own)
        children.append(left)
        shared += again
    if not shared:
        return trace, 0
    return replace(trace, requests=tuple(requests), children=tuple(children)), shared


def _key(request: Request) -> Key | None:
    """Some relays give every response one id, so the input counts too; output is not final on every copy.

    Where a harness keeps no ids, as Codex, the time and all counts stand for one: there a subagent's file is read
    with its session's and is found by itself too.
    """
    usage, name = request.usage, request.id
    if usage is None:
        return None
    if name is None:
        if request.start is None or request.start < _CLOCK:
            return None
        name = f"{request.start} {usage.output}"
    return (name, usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h)


def usage_once(traces: Iterable[Trace]) -> tuple[Usage, int]:
    """Usage of several sessions and their children, each response counted once.

    Returns
    -------
    usage : Usage
        The sum.
    shared : int
        Number of responses that occurred again and were not added.
    """
    total, shared = Usage(), 0
    seen: set[Key] = set()
    for trace in traces:
        left, again = new_only(trace, seen)
        shared += again
        total = total + _spent(left)
    return total, shared


def _spent(trace: Trace) -> Usage:
    own = sum((r.usage for r in trace.requests if r.usage is not None), Usage())
    return sum((_spent(child) for child in trace.children), own)
