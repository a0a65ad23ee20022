"""The order in which the rungs are climbed, compiled: what :mod:`labkit.ladder.manager` does before a request."""

from __future__ import annotations

from typing import Any

from labkit.replay.fastpath_clear import clear, evict
from labkit.replay.fastpath_compact import compact, hand_off
from labkit.replay.fastpath_compiler import compiled
from labkit.replay.fastpath_names import (
    BEFORE_PAUSE,
    COMPACT,
    EVICT,
    HAND_OFF,
    OFFSET,
    ONLY_COLD,
    RESULTS,
    STRICT,
    TOTAL,
    TRIGGER,
    TRIGGER_BY,
    WINDOW,
)

__all__ = ["climb"]


@compiled
def climb(r: int, idle: float, warm_is_0: bool, before_pause: bool, k: Any, t: Any, s: Any) -> Any:
    """Edit the context for request ``r``; ``False`` where an edit is refused."""
    v = s.v
    cold = k[ONLY_COLD] < 0 or warm_is_0 or (idle >= 0 and idle > k[ONLY_COLD])
    if k[EVICT] and cold and not evict(r, k, t, s):
        return False
    seen = v[TOTAL] - k[OFFSET]
    if cold and past_trigger(k, v):
        if not clear(r, k, t, s):
            return False
        if v[TOTAL] - k[OFFSET] > k[COMPACT] and not compact(r, k, t, s):
            return False
    elif k[BEFORE_PAUSE] and before_pause and seen > k[COMPACT] and not compact(r, k, t, s):
        return False
    if v[TOTAL] - k[OFFSET] > k[HAND_OFF]:
        hand_off(r, k, t, s)
    return True


@compiled
def past_trigger(k: Any, v: Any) -> Any:
    """Whether *clear* and *compact* may run."""
    measured = float(v[TOTAL] - k[OFFSET])
    if k[TRIGGER_BY] == 1:
        measured = float(v[RESULTS])
    elif k[TRIGGER_BY] == 2:
        measured /= k[WINDOW]
    return measured > k[TRIGGER] if k[STRICT] else measured >= k[TRIGGER]
