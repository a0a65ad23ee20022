"""The compiled loop of :mod:`labkit.replay.fastpath`: integers in, integers out.

It follows :class:`labkit.ladder.manager.ContextManager` step by step. The context is a summary, if there is one,
and the blocks from ``base`` on; a cleared result keeps its place with another size.
"""

from __future__ import annotations

import numpy as np

from labkit.replay.fastpath_compiler import kept

__all__ = ["kernel"]


@kept
def kernel(  # type: ignore[no-untyped-def]
    knobs, idle, minimum, summary_tokens, summary_share, billed, overhead,
    size, stub, is_result, request, starts, messages, is_start, call, stop, waiting, thought, answered,
    counted, seen, held_at, held, stub_held_at, stub_held, at_start, due_at, due, need_source, need_counts,
    source_size, facts, prefix, out,
):  # fmt: skip
    """One row of ``out`` for each row of ``knobs``. Threads call it side by side on parts of both."""
    requests, n = stop.shape[0], size.shape[0]
    for p in range(knobs.shape[0]):
        trigger, floor, keep, compact_above = knobs[p, 0], knobs[p, 1], knobs[p, 2], knobs[p, 3]
        recent, window, ttl, alive = int(knobs[p, 4]), knobs[p, 5], knobs[p, 6], knobs[p, 7]
        now = size.copy()
        cleared = np.zeros(n, np.int8)
        visible = at_start.copy()
        said = at_start.copy()
        charged = np.zeros(n, np.int8)
        pending = np.empty(counted.shape[0], np.int64)
        waits = 0  # of pending
        aged = 0
        saving = 0
        base = 0
        summary = 0
        has_summary = False
        retry_above = 0
        total = prefix
        before = 0  # tokens of the previous request
        end = 0
        standing = 0
        sums = np.zeros(18, np.int64)
        unread = 0
        for r in range(requests):
            first_new = end
            end = stop[r]
            for i in range(first_new, end):
                total += size[i]
                for h in range(held_at[i], held_at[i + 1]):
                    visible[held[h]] += 1
                    said[held[h]] = 1
            kept, edited_from = before, first_new
            if total > trigger:
                limit = seen[r] - keep
                while aged < limit:
                    i = counted[aged]
                    aged += 1
                    if i >= base and stub[i] >= 0:
                        pending[waits] = i
                        waits += 1
                        saving += size[i] - stub[i]
                if waits > 0 and (floor == 0 or saving >= floor):
                    first = pending[0]
                    if first < edited_from:
                        for i in range(first, edited_from):
                            kept -= now[i]
                        edited_from = first
                    for w in range(waits):
                        i = pending[w]
                        unread += request[i] >= r + 1
                        now[i] = stub[i]
                        cleared[i] = 1
                        for h in range(held_at[i], held_at[i + 1]):
                            visible[held[h]] -= 1
                        for h in range(stub_held_at[i], stub_held_at[i + 1]):
                            visible[stub_held[h]] += 1
                    total -= saving
                    saving = 0
                    waits = 0
                    sums[6] += 1
                if total > compact_above:
                    # Where the newest messages begin; then back until no call is parted from its
                    # result, and the newest thinking not from its answer.
                    index = messages[r] - recent
                    cut = end if recent == 0 else (starts[index] if index >= 0 else -1)
                    if cut > waiting[r]:
                        cut = waiting[r]
                    if cut < base or (cut == base and not has_summary):
                        cut = -1
                    looked_to = end
                    while cut > base or (cut == base and has_summary):
                        lower = cut
                        for i in range(cut, looked_to):
                            if is_result[i] and call[i] >= base and call[i] < lower:
                                lower = call[i]
                        if base <= thought[r] < lower <= answered[r]:
                            lower = thought[r]
                        while lower < end and lower > base and not is_start[lower]:
                            lower -= 1
                        if lower == cut:
                            break
                        looked_to = cut
                        cut = lower
                    if cut == base and not has_summary:
                        cut = -1
                    if cut >= 0:
                        weight = summary
                        for i in range(base, cut):
                            weight += now[i]
                        if weight > 0 and weight >= floor and weight >= retry_above:
                            made = summary_tokens + int(weight * summary_share)
                            if billed:
                                sums[15] += weight
                                sums[16] += made
                            if made + overhead >= weight:
                                retry_above = weight + max(int(floor), weight // 4, 1)
                                sums[6] += billed
                            else:
                                retry_above = 0
                                for i in range(base, cut):
                                    if cleared[i]:
                                        for h in range(stub_held_at[i], stub_held_at[i + 1]):
                                            visible[stub_held[h]] -= 1
                                    else:
                                        unread += is_result[i] and request[i] >= r + 1
                                        for h in range(held_at[i], held_at[i + 1]):
                                            visible[held[h]] -= 1
                                kept, edited_from = min(kept, prefix), base
                                total += made + overhead - weight
                                summary = made + overhead
                                has_summary = True
                                base = cut
                                left = 0
                                saving = 0
                                for w in range(waits):
                                    if pending[w] >= base:
                                        pending[left] = pending[w]
                                        saving += size[pending[w]] - stub[pending[w]]
                                        left += 1
                                waits = left
                                sums[6] += 1
            # The cache: what is the same is read, unless it is too short or has expired.
            pause = idle[r]
            expired = pause >= 0 and pause > ttl * (1 + alive)
            pings = 0
            if alive > 0 and pause >= 0:
                pings = min(alive, max(np.ceil(pause / ttl) - 1, 0))
            read = kept if kept >= minimum else 0
            cold = 0 if expired else read
            sums[0] += total
            sums[1] = max(sums[1], total)
            sums[2] += kept
            sums[3] += read
            sums[4] += cold
            sums[5] += int(pings) * standing
            sums[7] += r > 0 and kept < before
            sums[8] += cold < read
            if sums[17] == 0 and total > window:
                sums[17] = r + 1
            standing = total if total >= minimum else 0
            before = total
            lost = 0
            for k in range(facts):
                lost += said[k] > 0 and visible[k] == 0
            sums[10] = max(sums[10], lost)
            d = due_at[r]
            while d < due_at[r + 1]:
                source = need_source[due[d]]
                any_gone, counted_gone = False, False
                first_of = due[d]
                while d < due_at[r + 1] and need_source[due[d]] == source:
                    k = due[d]
                    if visible[facts + k] == 0:
                        any_gone = True
                        if need_counts[k]:
                            counted_gone = True
                            sums[11] += 1
                    d += 1
                if any_gone:
                    sums[13] += source_size[first_of]
                    sums[14] += total
                    if counted_gone and not charged[source]:
                        charged[source] = 1
                        sums[12] += source_size[first_of]
        sums[9] = unread
        for i in range(18):  # an assignment of a part takes the compiler half of its time, for its error message
            out[p, i] = sums[i]
