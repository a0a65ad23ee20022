"""A prompt cache with breakpoints on integers, compiled: what :func:`labkit.price.cache_state.spend` does.

Entries lie in the order of their position. Reading one refreshes all that are shorter, so the times of use
are kept for stretches of entries and not for each: a request costs the same however long the run is.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from labkit.replay.fastpath_compiler import compiled
from labkit.replay.fastpath_names import C_AT_LAST, C_AT_SYSTEM, C_LOOKBACK, C_MINIMUM, C_PREFIX, C_STEP, LAST, S_PLACE

__all__ = ["Held", "forget", "nothing_held", "spend"]

Held = namedtuple("Held", "block place tokens low high used count")
"""Entries (the block they end before, its place, tokens), stretches of them (first, last, time of use), and how many
there are of either."""


@compiled
def nothing_held(room: int) -> Any:
    """An empty cache with room for so many entries."""
    whole = np.int64
    return Held(
        np.zeros(room, whole),
        np.zeros(room, whole),
        np.zeros(room, whole),
        np.zeros(room + 1, whole),
        np.zeros(room + 1, whole),
        np.zeros(room + 1),
        np.zeros(2, whole),
    )


@compiled
def forget(c: Any) -> None:
    """Empty a cache."""
    c.count[:] = 0


@compiled
def push(c: Any, block: int, place: int, tokens: int, now: float) -> None:
    """A new entry behind all others."""
    at, stretches = c.count[0], c.count[1]
    c.block[at], c.place[at], c.tokens[at] = block, place, tokens
    c.count[0] = at + 1
    if stretches and c.used[stretches - 1] == now and c.high[stretches - 1] == at - 1:
        c.high[stretches - 1] = at
        return
    c.low[stretches], c.high[stretches], c.used[stretches] = at, at, now
    c.count[1] = stretches + 1


@compiled
def spend(c: Any, edited: int, end: int, total: int, kept_alive: float, now: float, ttl: float, t: Any, s: Any) -> Any:
    """Bill a request: the tokens it reads, and those up to which it has read or written."""
    single, here, v = t.c, s.b, s.v
    left = 0
    for g in range(c.count[1]):  # what has expired goes
        used = c.used[g] + kept_alive
        if now - used <= ttl:
            c.low[left], c.high[left], c.used[left] = c.low[g], c.high[g], used
            left += 1
    while left and c.block[c.low[left - 1]] > edited:  # and what an edit has changed
        left -= 1
    if left:
        while c.block[c.high[left - 1]] > edited:
            c.high[left - 1] -= 1
    c.count[1] = left
    c.count[0] = c.high[left - 1] + 1 if left else 0
    last = v[LAST]
    place = here[S_PLACE, last] if last >= 0 else 0
    hit = -1
    if left:
        top = c.high[left - 1]
        if place - c.place[top] < single[C_LOOKBACK]:
            hit = top
        elif single[C_AT_SYSTEM] and c.block[c.low[0]] == 0:
            hit = c.low[0]
    read = longest = 0
    if hit >= 0:
        longest = c.tokens[hit]
        read = longest // single[C_STEP] * single[C_STEP]
        if hit == c.high[left - 1]:
            if left > 1:  # one stretch from the first entry to the last; what expired between them is closed up
                to = 0
                for g in range(left):
                    for e in range(c.low[g], c.high[g] + 1):
                        c.block[to], c.place[to], c.tokens[to] = c.block[e], c.place[e], c.tokens[e]
                        to += 1
                c.low[0], c.high[0] = 0, to - 1
                c.count[0] = to
            c.used[0] = now
            c.count[1] = 1
        elif c.high[0] == c.low[0]:
            c.used[0] = now
        else:  # the first entry gets a time of its own
            for g in range(left, 0, -1):
                c.low[g], c.high[g], c.used[g] = c.low[g - 1], c.high[g - 1], c.used[g - 1]
            c.high[0] = c.low[0]
            c.low[1] += 1
            c.used[0] = now
            c.count[1] = left + 1
    reach = read
    if (
        single[C_AT_SYSTEM]
        and single[C_PREFIX] >= single[C_MINIMUM]
        and (hit < 0 or single[C_PREFIX] > longest)
        and c.count[1] == 0
    ):
        push(c, 0, 0, single[C_PREFIX], now)
        reach = max(reach, single[C_PREFIX])
    if single[C_AT_LAST] and total >= single[C_MINIMUM] and (hit < 0 or total > longest):
        top = c.count[0] - 1
        if c.count[1] and c.block[top] == end:  # the same place: the new one replaces it
            c.tokens[top], c.place[top] = total, place
        else:
            push(c, end, place, total, now)
        reach = max(reach, total)
    return read, reach
