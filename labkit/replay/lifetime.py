"""What another lifetime of the cache's entries would have cost a session, from its usage alone."""

from __future__ import annotations

import math
from typing import Literal

from labkit.price.prices import PER
from labkit.record.trace import Trace
from labkit.replay.asrun import LONG, SHORT, AsRun
from labkit.replay.audit_cost import price_on

__all__ = ["Lifetime", "recorded_lifetime", "relived"]

Lifetime = Literal["5m", "1h"]


def recorded_lifetime(trace: Trace) -> Lifetime:
    """The lifetime that most of a session's writes asked for."""
    usage = trace.usage
    return "1h" if usage is not None and usage.cache_write_1h > usage.cache_write_5m else "5m"


def relived(trace: Trace, run: AsRun, becomes: Lifetime) -> tuple[float, float, float]:
    """Dollars as recorded; what another lifetime would have read instead of written, less; dearer writes, more.

    Only requests that were predicted right are changed: an expired entry that would still have lived, and a
    kept one that would have died.
    """
    recorded, gain, extra = [], [], []
    predicted = {p.request: p for p in run.predictions}
    lives = LONG if becomes == "1h" else SHORT
    for request in trace.requests:
        usage = request.usage
        if usage is None or usage.total_input == 0:
            continue
        card = price_on(request).at(usage.total_input)
        written = usage.cache_write_5m + usage.cache_write_1h
        before = card.cost(write_5m=usage.cache_write_5m, write_1h=usage.cache_write_1h)
        recorded.append(card.request_cost(usage))
        price = (card.cache_write_1h if becomes == "1h" else card.cache_write_5m) / PER
        # Positive: written as recorded and would have been read; negative: read and would have been written.
        moved = 0
        p = predicted.get(request.index)
        if p is not None and p.pause is not None:
            if p.cause == "expired" and p.pause <= lives:
                moved = min(p.baseline - p.read, written)
            elif p.cause == "reproduced" and p.pause > lives:
                moved = -usage.cache_read
        gain.append(max(moved, 0) * (price - card.cache_read / PER))
        extra.append(written * price - before + max(-moved, 0) * (price - card.cache_read / PER))
    return math.fsum(recorded), math.fsum(gain), math.fsum(extra)
