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
    """

    def __init__(self, rules: CacheRules, *, expires: bool) -> None:
        self._rules = rules if expires else replace(rules, ttl=math.inf, ttl_1h=None)
        self._entries: tuple[Entry, ...] = ()
        self._places: list[tuple[int, str]] = []  # of each block: the provider's position, and the kind
        self._before: Request | None = None

    def request(self, step: Step, request: Request, manager: ContextManager) -> Spent:
        """How the provider bills a request."""
        rules, before = self._rules, self._before
        self._before = request
        if rules.mode == "append_only":
            read = 0 if self._expired(before, request) or step.shared < rules.minimum else step.shared
            return Spent(read, step.total - read, 0, 0)
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
        return spent

    def _expired(self, before: Request | None, request: Request) -> bool:
        """Whether the pause since the last request outlived the cache; entries age from a request's start."""
        if before is None or before.start is None or request.start is None:
            return False
        return request.start - before.start > self._rules.ttl

    def _look(self, step: Step, manager: ContextManager) -> int:
        """The provider's position of the last block: a run of calls is one position, a run of results too."""
        del self._places[step.intact :]
        for block in manager.blocks_from(step.intact):
            place, kind = self._places[-1] if self._places else (0, "")
            run = block.kind == kind and kind in ("call", "result")
            self._places.append((place if run else place + 1, block.kind))
        return self._places[-1][0] if self._places else 0
