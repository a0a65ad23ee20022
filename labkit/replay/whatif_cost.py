"""What the two replays of a what-if cost, and the charges that stand beside them; dollars at list price."""

from __future__ import annotations

import math
from dataclasses import replace

from labkit.ladder.policy import Policy
from labkit.price.cache import CacheRules
from labkit.record.sizes import Sizes
from labkit.record.trace import Request, Trace, Usage
from labkit.replay.audit_cost import price_on
from labkit.replay.audit_rewrites import rewrites
from labkit.replay.lifetime import Lifetime
from labkit.replay.replay import Replay, replay

__all__ = ["both_replays", "recorded_dollars", "reread_dollars", "summary_dollars"]

# A summary written by a model is an answer of so many tokens (low, high), and so much is attached again
# after it where the session has no compaction of its own to tell.
_SUMMARY = (1_500, 6_000)
_REATTACHED = 25_000

# One word can be met again by chance, three of one result hardly. A call is so many output tokens.
_SURE = 3
_CALL = 100


def both_replays(
    base: Trace, policy: Policy, rules: CacheRules, sizes: Sizes, was: Lifetime, becomes: Lifetime
) -> tuple[Replay, Replay, float, float]:
    """The replay that edits nothing and the one under the policy, with the dollars of each."""
    naive = replay(base, Policy.nothing(), _living(rules, was), sizes=sizes)
    changed = replay(base, policy, _living(rules, becomes), sizes=sizes)
    return naive, changed, _dollars(base, naive, was), _dollars(base, changed, becomes)


def _living(rules: CacheRules, lifetime: Lifetime) -> CacheRules:
    return replace(rules, ttl=rules.ttl_1h, ttl_1h=rules.ttl_1h) if lifetime == "1h" and rules.ttl_1h else rules


def _dollars(base: Trace, run: Replay, lifetime: Lifetime) -> float:
    spent = []
    for request, row in zip(base.requests, run.rows, strict=True):
        written = row.input - row.uncached - row.read_cold
        long = lifetime == "1h"
        usage = Usage(row.uncached, row.read_cold, 0 if long else written, written if long else 0, row.output)
        spent.append(price_on(request).request_cost(usage))
    return math.fsum(spent)


def recorded_dollars(base: Trace, naive: Replay) -> float:
    """The recorded input, with the outputs the replay takes, so that the two can be compared."""
    return math.fsum(
        price_on(request).request_cost(replace(request.usage, output=row.output))
        for request, row in zip(base.requests, naive.rows, strict=True)
        if request.usage is not None
    )


def reread_dollars(
    base: Trace, sizes: Sizes, changed: Replay, lifetime: Lifetime
) -> tuple[tuple[float, float], tuple[int, int]]:
    """What it costs to get again what was removed and used later: one more request, and the result written."""
    used: dict[int, set[str]] = {}
    requests: dict[int, set[int]] = {}
    for need in changed.unmet:
        used.setdefault(need.source, set()).add(need.excerpt)
        requests.setdefault(need.source, set()).add(need.request)

    def again(source: int, request: int) -> float:
        prompt, size, long = changed.rows[request - 1].input, sizes.blocks[source], lifetime == "1h"
        card = price_on(base.requests[request - 1]).at(prompt)
        return card.cost(read=prompt, write_5m=0 if long else size, write_1h=size if long else 0, output=_CALL)

    surely = [source for source, excerpts in used.items() if len(excerpts) >= _SURE]
    low = math.fsum(again(source, min(requests[source])) for source in surely)
    high = math.fsum(again(source, request) for source in used for request in sorted(requests[source]))
    return (low, high), (len(surely), len(used))


def summary_dollars(trace: Trace, base: Trace, changed: Replay) -> tuple[float, float]:
    """The calls that would write the summaries, and what a harness attaches again after them."""
    known = [r.reattached for r in rewrites(trace) if r.reattached]
    attached = max(known, default=_REATTACHED)
    low = high = 0.0
    cuts = [e for e in changed.events if e.kind == "compacted" and e.messages and e.request <= len(changed.rows)]
    for n, event in enumerate(cuts):
        request: Request = base.requests[event.request - 1]
        before = changed.rows[event.request - 1].input + event.freed
        card = price_on(request).at(before)
        until = cuts[n + 1].request if n + 1 < len(cuts) else len(changed.rows)
        carried = until - event.request
        low += card.cost(read=before, output=_SUMMARY[0])
        high += card.cost(read=before + attached * carried, write_5m=attached, output=_SUMMARY[1])
    return low, high
