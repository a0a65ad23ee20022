"""The provider's cache followed through a replay."""

from __future__ import annotations

import math
from dataclasses import replace

from labkit.ladder.events import Step
from labkit.ladder.manager import ContextManager
from labkit.price.cache import CacheRules
from labkit.price.cache_state import Breakpoint, Entry, Spent, spend
from labkit.record.trace import Request

__all__ = ["ReplayedCache"]


class ReplayedCache:
    """The provider's cache along one replay.

    Parameters
    ----------
    rules : CacheRules
    expires : bool
        Whether entries die of age; if not, the pauses between requests do not matter.
    keep_alive : int
        During a pause the cache is read again, just before it would expire, this many times at most.
    """

    def __init__(self, rules: CacheRules, *, expires: bool, keep_alive: int = 0) -> None:
        self._rules = rules if expires else replace(rules, ttl=math.inf, ttl_1h=None)
        self._entries: tuple[Entry, ...] = ()
        self._places: list[tuple[int, str]] = []  # of each block: the provider's position, and the kind
        self._before: Request | None = None
        self._keep_alive = keep_alive
        self._standing = 0  # tokens that a reading between requests would read
        self.pinged = 0
        """Tokens read before the last request to keep the cache alive."""

    def expired(self, idle: float | None) -> bool:
        """Whether a pause of so many seconds outlives the cache, however often it may be kept alive."""
        return idle is not None and idle > self._rules.ttl * (1 + self._keep_alive)

    def _pings(self, idle: float | None) -> int:
        """Readings that a pause takes: one just before each end of a lifetime."""
        if not self._keep_alive or idle is None or math.isinf(self._rules.ttl):
            return 0
        return min(self._keep_alive, max(math.ceil(idle / self._rules.ttl) - 1, 0))

    def request(self, step: Step, request: Request, manager: ContextManager) -> Spent:
        """How the provider bills a request."""
        rules, before = self._rules, self._before
        self._before = request
        idle = None if before is None or before.start is None or request.start is None else request.start - before.start
        pings = self._pings(idle)
        self.pinged = pings * self._standing
        if rules.mode == "append_only":
            read = 0 if self.expired(idle) or step.shared < rules.minimum else step.shared
            self._standing = step.total if step.total >= rules.minimum else 0
            return Spent(read, step.total - read, 0, 0)
        if pings:
            self._entries = tuple(replace(e, used=e.used + pings * rules.ttl) for e in self._entries)
        places = self._look(step, manager)
        points = {
            "system": Breakpoint(0, 0, manager.prefix_tokens or 0),
            "last": Breakpoint(step.blocks, places, step.total),
        }
        spent, self._entries = spend(
            self._entries,
            [points[name] for name in ("system", "last") if name in rules.placement],
            step.total,
            rules,
            now=request.start or 0.0,
            intact=step.intact,
        )
        self._standing = spent.read + spent.write_5m + spent.write_1h
        return spent

    def _look(self, step: Step, manager: ContextManager) -> int:
        """The provider's position of the last block: a run of calls is one position, a run of results too."""
        del self._places[step.intact :]
        for block in manager.blocks_from(step.intact):
            place, kind = self._places[-1] if self._places else (0, "")
            run = block.kind == kind and kind in ("call", "result")
            self._places.append((place if run else place + 1, block.kind))
        return self._places[-1][0] if self._places else 0
