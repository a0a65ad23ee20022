"""A prompt cache as a provider runs it: entries at breakpoints, found by looking back, dying of age.

An entry stands for everything up to a position. A request finds the longest entry that its own
prefix still equals, pays for reading it, writes from there to its last breakpoint, and sends the
rest uncached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from labkit.price.cache import CacheRules

__all__ = ["Breakpoint", "Entry", "Spent", "spend"]


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A place up to which a request asks to be cached.

    Parameters
    ----------
    position : int
        Number of blocks before it; 0 is the end of the system prompt.
    place : int
        The same in the provider's positions, in which a run of calls, or of results, is one.
    tokens : int
        Tokens before it.
    long : bool
        Whether the longer lifetime is asked for.
    """

    position: int
    place: int
    tokens: int
    long: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A prefix the provider holds.

    Parameters
    ----------
    position, place, tokens : int
        As in :class:`Breakpoint`.
    used : float
        Start, in seconds, of the request that last wrote or read it.
    lives : float
        Seconds from there.
    """

    position: int
    place: int
    tokens: int
    used: float
    lives: float


@dataclass(frozen=True, slots=True)
class Spent:
    """How the prompt of one request is billed, in tokens; the four add up to it."""

    read: int
    write_5m: int
    write_1h: int
    uncached: int


def spend(
    entries: Sequence[Entry],
    breakpoints: Sequence[Breakpoint],
    total: int,
    rules: CacheRules,
    *,
    now: float = 0.0,
    intact: int | None = None,
) -> tuple[Spent, tuple[Entry, ...]]:
    """Bill one request, and say what the cache holds after it.

    Parameters
    ----------
    entries : sequence of Entry
        What the cache held before.
    breakpoints : sequence of Breakpoint
        In order of position.
    total : int
        Tokens of the whole prompt.
    rules : CacheRules
        Minimum, lifetimes, lookback and step.
    now : float
        Start of the request in seconds.
    intact : int, optional
        Number of leading blocks that equal the previous request's; entries beyond it are lost.
        Default: nothing was edited.

    Returns
    -------
    Spent
    tuple of Entry
        Reading an entry refreshes the shorter ones inside it: measured on recorded sessions, whose
        system prompt is still read from the cache after a clearing late in the session.

    Examples
    --------
    Write at 15 blocks; 20 blocks on, a breakpoint looks at 20 positions, itself the first: it misses.

    >>> rules = CacheRules(mode="breakpoints", minimum=1024, lookback=20)
    >>> first, held = spend((), [Breakpoint(15, 15, 5_000)], 5_000, rules)
    >>> second, _ = spend(held, [Breakpoint(35, 35, 9_000)], 9_000, rules)
    >>> third, _ = spend(held, [Breakpoint(34, 34, 9_000)], 9_000, rules)
    >>> first.write_5m, second.read, third.read
    (5000, 0, 5000)

    References
    ----------
    Anthropic, Prompt caching: order, minimum, lookback, lifetimes and the bill of mixed lifetimes
    (``data/cache_rules.json``).
    """
    alive = [e for e in entries if now - e.used <= e.lives and (intact is None or e.position <= intact)]
    hit: Entry | None = None
    for point in breakpoints:
        for entry in alive:
            near = rules.lookback is None or point.place - entry.place < rules.lookback
            if entry.position <= point.position and near and (hit is None or entry.tokens > hit.tokens):
                hit = entry
    read = 0 if hit is None else hit.tokens // rules.step * rules.step
    if hit is not None:
        alive = [replace(e, used=now) if e.position <= hit.position else e for e in alive]
    reach, long_reach = read, read
    for point in breakpoints:
        if point.tokens < rules.minimum or (hit is not None and point.tokens <= hit.tokens):
            continue
        reach = max(reach, point.tokens)
        if point.long:
            long_reach = max(long_reach, point.tokens)
        lives = rules.ttl_1h if point.long and rules.ttl_1h is not None else rules.ttl
        alive = [e for e in alive if e.position != point.position]
        alive.append(Entry(point.position, point.place, point.tokens, now, lives))
    spent = Spent(read, reach - long_reach, long_reach - read, total - reach)
    return spent, tuple(sorted(alive, key=lambda e: e.position))
