"""*Evict* and *clear* on a context of integers, compiled."""

from __future__ import annotations

from typing import Any

from labkit.replay.fastpath_compiler import compiled
from labkit.replay.fastpath_context import drop, intact_before, replace
from labkit.replay.fastpath_names import (
    B_BARE,
    B_CALL,
    B_CAP,
    B_EVICTED,
    B_PINNED,
    B_REQUEST,
    B_STUB,
    B_THOUGHTS_BY,
    BARE,
    BATCH,
    BOUND,
    DUE,
    END,
    EVENTS,
    EVICT,
    EVICTED,
    FLOOR,
    FRESH,
    KEEP,
    KEEP_BY,
    KEEP_THINKING,
    L_THOUGHTS,
    LISTED,
    REFUSED,
    S_CALL_STUB,
    S_DUE,
    S_LISTED,
    S_MADE,
    S_NOW,
    S_OVH,
    S_STALE,
    S_STATE,
    S_TURN,
    S_UNITS,
    SAVING,
    STALE,
    STUB,
    TARGET,
    THOUGHT,
    TURN,
    UNITS,
    UNITS_GONE,
    UNREAD,
    WHOLE,
)

__all__ = ["clear", "drop_after", "evict", "refused"]

FAR = 1 << 40


@compiled
def refused(i: int, k: Any, t: Any, s: Any) -> Any:
    """Whether an edit at a block is refused: there is thinking behind it that is bound to its prefix."""
    blocks, lists, single, here, v = t.b, t.l, t.c, s.b, s.v
    if k[BOUND] != 1:
        return False
    found = 0
    for e in range(blocks[B_THOUGHTS_BY, v[END]] - 1, -1, -1):
        j = lists[single[L_THOUGHTS] + e]
        if j < i:
            break
        found += here[S_STATE, j] == WHOLE
    v[REFUSED] = found
    return found > 0


@compiled
def drop_after(i: int, t: Any, s: Any) -> None:
    """Drop the thinking that an edit at a block made invalid."""
    blocks, lists, single, here, v = t.b, t.l, t.c, s.b, s.v
    found = 0
    for e in range(blocks[B_THOUGHTS_BY, v[END]]):
        j = lists[single[L_THOUGHTS] + e]
        if j >= i and here[S_STATE, j] == WHOLE:
            if found == 0:
                intact_before(j, s)
            found += 1
            drop(j, t, s)
    v[EVENTS] += found > 0


@compiled
def evict(r: int, k: Any, t: Any, s: Any) -> Any:
    """Stubs in the place of what newer results have overtaken."""
    blocks, here, v = t.b, s.b, s.v
    left = ready = freed = 0
    first = FAR
    for e in range(v[DUE]):
        i = here[S_DUE, e]
        if here[S_STATE, i] == WHOLE:
            here[S_DUE, left] = i
            left += 1
            if blocks[B_REQUEST, i] < r:
                ready += 1
                freed += here[S_NOW, i] - blocks[B_EVICTED, i]
                first = min(first, i)
    v[DUE] = left
    if ready == 0 or (k[FLOOR] > 0 and freed < k[FLOOR]):
        return True
    if refused(first, k, t, s):
        return False
    intact_before(first, s)
    for e in range(left):
        i = here[S_DUE, e]
        if blocks[B_REQUEST, i] < r:
            replace(i, EVICTED, blocks[B_EVICTED, i], t, s)
    v[EVENTS] += 1
    if k[BOUND] == 2:
        drop_after(first, t, s)
    return True


@compiled
def gain(i: int, t: Any, s: Any) -> Any:
    """What clearing a result frees, its call's arguments included."""
    blocks, here = t.b, s.b
    freed = here[S_NOW, i] - blocks[B_STUB, i]
    call = blocks[B_CALL, i]
    if call >= 0 and here[S_STATE, call] == WHOLE and here[S_CALL_STUB, call] >= 0:
        freed += here[S_NOW, call] - here[S_CALL_STUB, call]
    return freed


@compiled
def age(k: Any, t: Any, s: Any) -> None:
    """What keep no longer protects is stale."""
    blocks, here, v = t.b, s.b, s.v
    seen = v[UNITS]
    limit = seen // int(k[BATCH]) * int(k[BATCH]) - int(k[KEEP])
    while (v[FRESH] > k[KEEP]) if k[KEEP_BY] == 3 else (v[UNITS_GONE] < limit):
        u = v[UNITS_GONE]
        v[UNITS_GONE] += 1
        stop = here[S_UNITS, u + 1] if u + 1 < v[UNITS] else v[LISTED]
        for e in range(here[S_UNITS, u], stop):
            i = here[S_LISTED, e]
            v[FRESH] -= here[S_NOW, i]
            if here[S_STATE, i] != WHOLE or blocks[B_PINNED, i] or blocks[B_STUB, i] < 0:
                continue
            call = blocks[B_CALL, i]
            if not here[S_MADE, i]:
                here[S_MADE, i] = 1
                if (
                    blocks[B_BARE, i] >= 0
                    and call >= 0
                    and here[S_STATE, call] == WHOLE
                    and here[S_CALL_STUB, call] < 0
                ):
                    size = blocks[B_BARE, i] + here[S_OVH, call]
                    if size < here[S_NOW, call]:
                        here[S_CALL_STUB, call] = size
            here[S_STALE, v[STALE]] = i
            v[STALE] += 1
            v[SAVING] += gain(i, t, s)


@compiled
def clear(r: int, k: Any, t: Any, s: Any) -> Any:
    """Stubs in the place of stale results, and old thinking dropped."""
    blocks, lists, single, here, v = t.b, t.l, t.c, s.b, s.v
    if k[EVICT] and k[KEEP_BY] == 3:  # another rung may have made some smaller
        v[FRESH] = 0
        for u in range(v[UNITS_GONE], v[UNITS]):
            v[FRESH] += here[S_NOW, here[S_LISTED, here[S_UNITS, u]]]
    if k[KEEP] >= 0:
        age(k, t, s)
    if k[EVICT]:  # another rung may have taken some
        left = 0
        v[SAVING] = 0
        for e in range(v[STALE]):
            i = here[S_STALE, e]
            if here[S_STATE, i] == WHOLE:
                here[S_STALE, left] = i
                left += 1
                v[SAVING] += gain(i, t, s)
        v[STALE] = left
    oldest, old, weight = -1, 0, 0
    if k[KEEP_THINKING] >= 0:
        newest = v[TURN] - max(int(k[KEEP_THINKING]), 1)
        stop = blocks[B_THOUGHTS_BY, v[END]]
        while v[THOUGHT] < stop and here[S_STATE, lists[single[L_THOUGHTS] + v[THOUGHT]]] != WHOLE:
            v[THOUGHT] += 1
        for e in range(v[THOUGHT], stop):
            i = lists[single[L_THOUGHTS] + e]
            if here[S_TURN, i] > newest:
                break
            if here[S_STATE, i] == WHOLE:
                oldest = i if oldest < 0 else oldest
                old += 1
                weight += here[S_NOW, i]
    floor = int(k[FLOOR])
    if floor and not k[TARGET] and v[SAVING] + weight < floor:
        return True
    chosen = v[STALE]
    if k[TARGET] and floor:
        freed = chosen = 0
        while chosen < v[STALE] and freed < floor:
            freed += gain(here[S_STALE, chosen], t, s)
            chosen += 1
    first = FAR
    if chosen:
        for e in range(chosen):
            i, call = here[S_STALE, e], blocks[B_CALL, here[S_STALE, e]]
            first = min(first, i)
            if call >= 0 and here[S_STATE, call] == WHOLE and here[S_CALL_STUB, call] >= 0:
                first = min(first, call)
        if refused(first, k, t, s):
            return False
        intact_before(first, s)
        for e in range(chosen):
            i, call = here[S_STALE, e], blocks[B_CALL, here[S_STALE, e]]
            v[UNREAD] += int(blocks[B_REQUEST, i] >= r and blocks[B_CAP, i] == 0)
            if call >= 0 and here[S_STATE, call] == WHOLE and here[S_CALL_STUB, call] >= 0:
                replace(call, BARE, here[S_CALL_STUB, call], t, s)
            replace(i, STUB, blocks[B_STUB, i], t, s)
        v[SAVING] = 0
        for e in range(chosen, v[STALE]):
            here[S_STALE, e - chosen] = here[S_STALE, e]
            v[SAVING] += gain(here[S_STALE, e], t, s)
        v[STALE] -= chosen
        v[EVENTS] += 1
    if old:
        intact_before(oldest, s)
        newest = v[TURN] - max(int(k[KEEP_THINKING]), 1)
        for e in range(v[THOUGHT], blocks[B_THOUGHTS_BY, v[END]]):
            i = lists[single[L_THOUGHTS] + e]
            if here[S_TURN, i] > newest:
                break
            if here[S_STATE, i] == WHOLE:
                drop(i, t, s)
        v[EVENTS] += 1
    if chosen and k[BOUND] == 2:
        drop_after(first, t, s)
    return True
