"""The compiled replay of every rung under every cache: the loop of :func:`labkit.replay.replay` on integers."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from labkit.replay.fastpath_compiler import compiled, kept
from labkit.replay.fastpath_context import append, begin, scratch
from labkit.replay.fastpath_entries import Held, forget, nothing_held, spend
from labkit.replay.fastpath_names import (
    ALIVE,
    B_CAP,
    B_EQUAL,
    C_FACTS,
    C_LOOKBACK,
    C_MINIMUM,
    C_PREFIX,
    EDITED_FROM,
    EVENTS,
    F_IDLE,
    F_NOW,
    HEAD,
    KEPT,
    L_AT_START,
    L_HOLDER,
    L_HOLDER_AT,
    L_HOLDER_MASK,
    L_NEED_COUNTS,
    L_NEED_SOURCE,
    L_SOURCE_SIZE,
    MISSING,
    OFFLOADED,
    PAID_IN,
    PAID_OUT,
    R_DUE_AT,
    R_STOP,
    REFUSED,
    REMEMBERS,
    S_CHARGED,
    S_NOW,
    S_NXT,
    S_SAID,
    S_STATE,
    S_SUMMED,
    SUMMARY,
    TOTAL,
    TTL,
    UNREAD,
    WINDOW,
)  # fmt: skip
from labkit.replay.fastpath_rungs import climb

__all__ = ["kernel"]


def digest() -> str:
    """Of the sources that the kernel is compiled from."""
    files = sorted(Path(__file__).parent.glob("fastpath_*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


@compiled
def one(k: Any, t: Any, s: Any, warm: Held, cold: Held, before: Any, out: Any) -> None:
    """One replay; ``before`` holds the last context of a policy that forgets its edits."""
    blocks, asked, times, lists, single, here, facts, v = t.b, t.r, t.f, t.l, t.c, s.b, s.f, s.v
    v[:] = 0
    for f in range(single[C_FACTS]):
        facts[S_SAID, f] = lists[single[L_AT_START] + f] != 0
    here[S_CHARGED, :] = 0
    forget(warm)
    forget(cold)
    begin(k, t, s)
    end = had = last_total = standing = 0
    ttl, alive = k[TTL], k[ALIVE]
    for r in range(1, asked.shape[1] - 1 + 1):
        new, end = end, asked[R_STOP, r - 1]
        if k[REMEMBERS]:
            v[KEPT], v[EDITED_FROM] = last_total, new
            for i in range(new, end):
                append(i, k, t, s)
        else:
            begin(k, t, s)
            for i in range(end):
                append(i, k, t, s)
            v[EDITED_FROM] = 0
        for i in range(new, end):
            v[EVENTS] += blocks[B_CAP, i] > 0
            v[UNREAD] += blocks[B_CAP, i] == 1
            v[OFFLOADED] += blocks[B_CAP, i] == 2
        idle, pause = times[F_IDLE, r - 1], times[F_IDLE, r]
        expired = idle >= 0 and idle > ttl * (1 + alive)
        if not climb(r, idle, expired, pause >= 0 and pause > ttl, k, t, s):
            blocks = v[REFUSED]
            out[:] = 0
            out[20], out[21] = r, blocks
            return
        if not k[REMEMBERS]:
            had = compare(had, last_total, new, t, s, before)
        total, kept = v[TOTAL], v[KEPT]
        pings = 0
        if alive > 0 and idle >= 0:
            pings = int(min(alive, max(np.ceil(idle / ttl) - 1, 0)))
        out[5] += pings * standing
        if single[C_LOOKBACK] < 0:
            read = kept if kept >= single[C_MINIMUM] else 0
            read_cold = 0 if expired else read
            standing = total if total >= single[C_MINIMUM] else 0
        else:
            edited, now = v[EDITED_FROM], times[F_NOW, r - 1]
            read, reach = spend(warm, edited, end, total, 0.0, now, np.inf, t, s)
            out[19] += total - reach
            read_cold, standing = spend(cold, edited, end, total, pings * ttl, now, ttl, t, s)
        out[0] += total
        out[1] = max(out[1], total)
        out[2] += kept
        out[3] += read
        out[4] += read_cold
        out[7] += int(r > 1 and kept < last_total)
        out[8] += int(read_cold < read)
        out[10] = max(out[10], v[MISSING])
        if out[17] == 0 and total > k[WINDOW]:
            out[17] = r
        last_total = total
        needed(r, total, t, s, out)
    out[6], out[9], out[18] = v[EVENTS], v[UNREAD], v[OFFLOADED]
    out[15], out[16] = v[PAID_IN], v[PAID_OUT]


@compiled
def needed(r: int, total: int, t: Any, s: Any, out: Any) -> None:
    """Charge for the excerpts that a request relies on and that no block of it shows."""
    asked, lists, single, here = t.r, t.l, t.c, s.b
    d = asked[R_DUE_AT, r - 1]
    while d < asked[R_DUE_AT, r]:
        source = lists[single[L_NEED_SOURCE] + d]
        again, counted = False, False
        while d < asked[R_DUE_AT, r] and lists[single[L_NEED_SOURCE] + d] == source:
            seen = False
            for e in range(lists[single[L_HOLDER_AT] + d], lists[single[L_HOLDER_AT] + d + 1]):
                form = here[S_STATE, lists[single[L_HOLDER] + e]]
                if form < SUMMARY and (lists[single[L_HOLDER_MASK] + e] >> form) & 1:
                    seen = True
                    break
            if not seen:
                again = True
                if lists[single[L_NEED_COUNTS] + d]:
                    counted = True
                    out[11] += 1
            d += 1
        if again:
            out[13] += lists[single[L_SOURCE_SIZE] + d - 1]
            out[14] += total
            if counted and not here[S_CHARGED, source]:
                here[S_CHARGED, source] = 1
                out[12] += lists[single[L_SOURCE_SIZE] + d - 1]


@compiled
def compare(had: int, last_total: int, new: int, t: Any, s: Any, before: Any) -> Any:
    """How a context that was made anew differs from the last one; it becomes the last one."""
    blocks, single, here, v = t.b, t.c, s.b, s.v
    same, kept = 0, single[C_PREFIX]
    i = v[HEAD]
    while same < had and i >= 0:
        block, form, size = before[0, same], before[1, same], before[2, same]
        if form != here[S_STATE, i] or size != here[S_NOW, i]:
            break
        if form == SUMMARY:
            if before[3, same] != here[S_SUMMED, i]:
                break
        elif blocks[B_EQUAL, block] != blocks[B_EQUAL, i]:
            break
        kept += size
        same += 1
        i = here[S_NXT, i]
    if same < had:
        v[KEPT], v[EDITED_FROM] = kept, before[0, same]
    else:
        v[KEPT], v[EDITED_FROM] = last_total, new
    had, i = 0, v[HEAD]
    while i >= 0:
        before[0, had], before[1, had], before[2, had] = i, here[S_STATE, i], here[S_NOW, i]
        before[3, had] = here[S_SUMMED, i] if here[S_STATE, i] == SUMMARY else 0
        had += 1
        i = here[S_NXT, i]
    return had


def _kernel(sources: str) -> Any:
    # What is kept on disk is found again by the code of this function and by what it closes over: so with the
    # digest of all that it calls in its closure, no change of those is overlooked.
    @kept
    def run(knobs: Any, t: Any, out: Any) -> str:
        s = scratch(t.b.shape[1] - 1, t.c[C_FACTS])
        requests = t.r.shape[1] - 1
        room = requests + 2 if t.c[C_LOOKBACK] >= 0 else 1
        warm, cold = nothing_held(room), nothing_held(room)
        before = np.zeros((4, t.b.shape[1] + 1), np.int64)
        for p in range(knobs.shape[0]):
            one(knobs[p], t, s, warm, cold, before, out[p])
        return sources

    return run


kernel = _kernel(digest())
"""One row of the last argument for each row of the first. Threads call it side by side on parts of both."""
