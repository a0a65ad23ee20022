"""A context as arrays of integers, for the compiled engine: what :mod:`labkit.ladder.context` does with slots.

A block keeps its place by its number in the trace. Those in the context are linked forwards and backwards;
a summary stands in the place of the first block that it replaces.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from labkit.replay.fastpath_compiler import compiled
from labkit.replay.fastpath_names import (
    ABANDONED,
    B_ASSISTANT,
    B_EVICTED,
    B_FACT_AT,
    B_IS_RESULT,
    B_MESSAGE,
    B_OVERHEAD,
    B_OVERTAKES_AT,
    B_PINNED,
    B_RUN,
    B_SIZE,
    B_SPEAKS,
    B_TURNS,
    C_FACTS,
    C_LOOKBACK,
    C_MESSAGE_OVERHEAD,
    C_PREFIX,
    DUE,
    EDITED_FROM,
    END,
    FRESH,
    GONE,
    HEAD,
    KEEP,
    KEEP_BY,
    KEPT,
    L_AT_START,
    L_FACT,
    L_FACT_MASK,
    L_OVERTAKES,
    LAST,
    LAST_SUMMARY,
    LISTED,
    MISSING,
    PINNED_TAKE,
    RESULTS,
    RETRY,
    S_CALL_STUB,
    S_DUE,
    S_LISTED,
    S_MADE,
    S_NOW,
    S_NXT,
    S_OVH,
    S_PLACE,
    S_PRV,
    S_SAID,
    S_STATE,
    S_SUMMED,
    S_TURN,
    S_UNITS,
    S_VISIBLE,
    SAVING,
    STALE,
    SUMMARY,
    THOUGHT,
    TOTAL,
    TURN,
    UNITS,
    UNITS_GONE,
    WHOLE,
)  # fmt: skip

__all__ = ["Made", "append", "begin", "drop", "intact_before", "replace", "scratch", "splice"]

Made = namedtuple("Made", "v b f")
"""What one replay works with: running figures, a row for each thing known of the blocks, and of the facts."""


@compiled
def scratch(n: int, facts: int) -> Any:
    """Room for one replay of so many blocks."""
    return Made(np.zeros(26, np.int64), np.zeros((15, n + 2), np.int64), np.zeros((2, facts), np.int64))


@compiled
def begin(k: Any, t: Any, s: Any) -> None:
    """An empty context, and rungs that have seen nothing; what was paid and lost stays."""
    lists, single, facts, v = t.l, t.c, s.f, s.v
    v[TOTAL] = single[C_PREFIX]
    v[HEAD] = v[LAST] = -1
    v[END] = v[TURN] = v[RESULTS] = v[DUE] = v[THOUGHT] = v[ABANDONED] = v[RETRY] = 0
    v[LAST_SUMMARY] = -1
    v[MISSING] = 0
    for f in range(single[C_FACTS]):
        facts[S_VISIBLE, f] = lists[single[L_AT_START] + f]
        v[MISSING] += facts[S_SAID, f] != 0 and lists[single[L_AT_START] + f] == 0
    begin_units(k, s)


@compiled
def begin_units(k: Any, s: Any) -> None:
    """Nothing has been seen that *clear* could take."""
    here, v = s.b, s.v
    v[UNITS_GONE] = v[LISTED] = v[STALE] = v[SAVING] = 0
    v[UNITS] = 0
    if k[KEEP_BY] == 2:
        here[S_UNITS, 0] = 0
        v[UNITS] = 1
    v[FRESH] = 0  # tokens of the units that keep may protect


@compiled
def show(i: int, form: int, sign: int, t: Any, s: Any) -> None:
    """Count the facts that a block shows in one of its forms."""
    blocks, lists, single, facts, v = t.b, t.l, t.c, s.f, s.v
    for e in range(blocks[B_FACT_AT, i], blocks[B_FACT_AT, i + 1]):
        if (lists[single[L_FACT_MASK] + e] >> form) & 1:
            f = lists[single[L_FACT] + e]
            before = facts[S_VISIBLE, f]
            facts[S_VISIBLE, f] = before + sign
            if facts[S_SAID, f]:
                v[MISSING] += int(before + sign == 0) - int(before == 0)


@compiled
def append(i: int, k: Any, t: Any, s: Any) -> None:
    """The next block of the trace comes in."""
    blocks, lists, single, here, facts, v = t.b, t.l, t.c, s.b, s.f, s.v
    last = v[LAST]
    if blocks[B_ASSISTANT, i] and (last < 0 or here[S_STATE, last] == SUMMARY or not blocks[B_ASSISTANT, last]):
        v[TURN] += 1
    here[S_TURN, i] = v[TURN]
    here[S_STATE, i] = WHOLE
    here[S_NOW, i] = blocks[B_SIZE, i]
    here[S_OVH, i] = blocks[B_OVERHEAD, i]
    here[S_MADE, i] = 0
    here[S_CALL_STUB, i] = -1
    here[S_PRV, i] = last
    here[S_NXT, i] = -1
    if last < 0:
        v[HEAD] = i
    else:
        here[S_NXT, last] = i
    v[LAST] = i
    v[END] = i + 1
    v[TOTAL] += blocks[B_SIZE, i]
    v[RESULTS] += blocks[B_IS_RESULT, i]
    for e in range(blocks[B_FACT_AT, i], blocks[B_FACT_AT, i + 1]):
        f = lists[single[L_FACT] + e]
        if (lists[single[L_FACT_MASK] + e] & 16) and not facts[S_SAID, f]:  # as the trace has it, before a cap
            facts[S_SAID, f] = 1
            v[MISSING] += facts[S_VISIBLE, f] == 0
    show(i, WHOLE, 1, t, s)
    if single[C_LOOKBACK] >= 0:
        place_from(i, t, s)
    unit(i, k, t, s)
    for e in range(blocks[B_OVERTAKES_AT, i], blocks[B_OVERTAKES_AT, i + 1]):
        old = lists[single[L_OVERTAKES] + e]
        if here[S_STATE, old] == WHOLE and blocks[B_EVICTED, old] >= 0:
            here[S_DUE, v[DUE]] = old
            v[DUE] += 1


@compiled
def unit(i: int, k: Any, t: Any, s: Any) -> None:
    """What *clear* notes of a block that came in."""
    blocks, here, v = t.b, s.b, s.v
    by = k[KEEP_BY]
    if by == 2 and blocks[B_SPEAKS, i] and here[S_STATE, i] != SUMMARY:
        here[S_UNITS, v[UNITS]] = v[LISTED]
        v[UNITS] += 1
    if (
        not blocks[B_IS_RESULT, i]
        or here[S_STATE, i] == SUMMARY
        or k[KEEP] < 0
        or (blocks[B_PINNED, i] and not k[PINNED_TAKE])
    ):
        return
    standing = v[UNITS] > v[UNITS_GONE]
    same = by == 2 or (
        by == 1 and standing and here[S_TURN, here[S_LISTED, here[S_UNITS, v[UNITS] - 1]]] == here[S_TURN, i]
    )
    if not (same and standing):
        here[S_UNITS, v[UNITS]] = v[LISTED]
        v[UNITS] += 1
        v[FRESH] += here[S_NOW, i]
    here[S_LISTED, v[LISTED]] = i
    v[LISTED] += 1


@compiled
def same_message(i: int, t: Any, s: Any) -> Any:
    """Whether a block goes on with the message of the block before it."""
    blocks, here = t.b, s.b
    before = here[S_PRV, i]
    if before < 0 or here[S_STATE, i] == SUMMARY or here[S_STATE, before] == SUMMARY:
        return False
    return blocks[B_MESSAGE, i] >= 0 and blocks[B_MESSAGE, i] == blocks[B_MESSAGE, before]


@compiled
def intact_before(i: int, s: Any) -> None:
    """Of the previous request, only what stands before this block is still the same."""
    here, v = s.b, s.v
    if i < v[EDITED_FROM]:
        j = i
        while j >= 0 and j < v[EDITED_FROM]:
            v[KEPT] -= here[S_NOW, j]
            j = here[S_NXT, j]
        v[EDITED_FROM] = i


@compiled
def replace(i: int, form: int, size: int, t: Any, s: Any) -> None:
    """Put another form in a block's place."""
    blocks, here, v = t.b, s.b, s.v
    v[TOTAL] += size - here[S_NOW, i]
    v[RESULTS] -= blocks[B_IS_RESULT, i] != 0 and here[S_STATE, i] == WHOLE
    show(i, here[S_STATE, i], -1, t, s)
    show(i, form, 1, t, s)
    here[S_STATE, i] = form
    here[S_NOW, i] = size


@compiled
def splice(start: int, cut: int, size: int, r: int, t: Any, s: Any) -> None:
    """Put a summary in the place of a stretch; ``cut`` is the first block that stays."""
    blocks, single, here, v = t.b, t.c, s.b, s.v
    before, covers, weight = here[S_PRV, start], 0, 0
    i = start
    while i >= 0 and i < cut:
        if here[S_STATE, i] == SUMMARY:
            covers = max(covers, here[S_SUMMED, i])
        else:
            covers = max(covers, blocks[B_TURNS, i])
            v[RESULTS] -= blocks[B_IS_RESULT, i] != 0 and here[S_STATE, i] == WHOLE
            show(i, here[S_STATE, i], -1, t, s)
        weight += here[S_NOW, i]
        here[S_STATE, i] = GONE
        i = here[S_NXT, i]
    v[TOTAL] += size - weight
    here[S_STATE, start] = SUMMARY
    here[S_NOW, start] = size
    here[S_OVH, start] = single[C_MESSAGE_OVERHEAD]
    here[S_SUMMED, start] = covers
    here[S_PRV, start] = before
    here[S_NXT, start] = i
    if i < 0:
        v[LAST] = start
    else:
        here[S_PRV, i] = start
    v[LAST_SUMMARY] = start
    if single[C_LOOKBACK] >= 0:
        place_from(start, t, s)


@compiled
def drop(i: int, t: Any, s: Any) -> None:
    """Take a block of thinking out; the next block of its message inherits the message's overhead."""
    single, here, v = t.c, s.b, s.v
    before, after = here[S_PRV, i], here[S_NXT, i]
    if here[S_OVH, i] and after >= 0 and same_message(after, t, s):
        here[S_NOW, after] += here[S_OVH, i]
        here[S_OVH, after] += here[S_OVH, i]
        v[TOTAL] += here[S_OVH, i]
    v[TOTAL] -= here[S_NOW, i]
    show(i, WHOLE, -1, t, s)
    here[S_STATE, i] = GONE
    if before < 0:
        v[HEAD] = after
    else:
        here[S_NXT, before] = after
    if after < 0:
        v[LAST] = before
    else:
        here[S_PRV, after] = before
        if single[C_LOOKBACK] >= 0:
            place_from(after, t, s)


@compiled
def place_from(i: int, t: Any, s: Any) -> None:
    """The provider's positions from a block on: a run of calls is one, and so is a run of results."""
    blocks, here = t.b, s.b
    while i >= 0:
        before = here[S_PRV, i]
        if before < 0:
            here[S_PLACE, i] = 1
        else:
            kind = 0 if here[S_STATE, i] == SUMMARY else blocks[B_RUN, i]
            same = kind > 0 and here[S_STATE, before] != SUMMARY and blocks[B_RUN, before] == kind
            here[S_PLACE, i] = here[S_PLACE, before] + (0 if same else 1)
        i = here[S_NXT, i]
