"""What a sweep computes: part by part, the rows of some policies on one trace."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.errors import EditRefused
from labkit.ladder.gate import refusal
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summarizer
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import CacheRules
from labkit.price.prices import Prices
from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Trace
from labkit.replay import fastpath
from labkit.replay.fastpath_policies import Columns
from labkit.replay.replay import replay
from labkit.replay.rows import Replay

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Work", "columns_of"]

# Fields that hold several names or pairs, which a frame shows as one text.
_SETS = ("cap_of", "evict", "pinned", "clear_inputs")


class Work:
    """What a sweep computes, part by part; it travels to the workers of a cluster.

    Parameters
    ----------
    table : Columns
        All policies, doing nothing first.
    rules : CacheRules
    card : Prices
    summarizer : Summarizer
    engine : {"auto", "fast", "reference"}
    size : int
        Policies a part.
    """

    def __init__(
        self, table: Columns, rules: CacheRules, card: Prices, summarizer: Summarizer, engine: str, size: int
    ) -> None:
        self.table, self.rules, self.card = table, rules, card
        self.summarizer, self.engine, self.size = summarizer, engine, size

    def part(self, trace: Trace, at: int, sizes: Sizes | None = None) -> pd.DataFrame:
        """The rows of some policies on one trace; its sizes are counted where they are not given."""
        import pandas as pd

        sizes = sizes or measure(trace)
        columns = self.table.part(at, at + self.size)
        chosen = self._fast(columns, trace)
        fast, slow = np.flatnonzero(chosen), np.flatnonzero(~chosen).tolist()
        pieces = []
        if len(fast):
            # Where it is a text summarizer, none of these policies compacts.
            model = self.summarizer if isinstance(self.summarizer, SizedSummarizer) else SizedSummarizer()
            some = columns.take(fast.tolist()) if slow else columns
            made = fastpath.run(trace, sizes, some, self.rules, model)
            piece = pd.DataFrame(made, columns=list(fastpath.COLUMNS))
            piece.insert(0, "policy", at + fast)
            piece.insert(1, "engine", "fast")
            refused, bound = piece["refused"].to_numpy(), piece.pop("bound").to_numpy()
            words = np.full(len(fast), "", dtype=object)
            for i in np.flatnonzero(refused).tolist():
                words[i] = refusal(int(refused[i]), int(bound[i]))
            piece["refused"] = words
            pieces.append(piece)
        if slow:
            piece = pd.DataFrame([self._reference(trace, sizes, columns.policy(i)) for i in slow])
            piece.insert(0, "policy", [at + i for i in slow])
            piece.insert(1, "engine", "reference")
            pieces.append(piece)
        frame = pd.concat(pieces).sort_values("policy", ignore_index=True) if len(pieces) > 1 else pieces[0]
        frame.insert(0, "trace", trace.name)
        frame["output"] = replay(trace, Policy.nothing(), sizes=sizes).output
        frame["facts"] = len(trace.facts)
        return frame

    def _fast(self, policies: Columns, trace: Trace) -> Any:
        """Which policies go through the compiled engine."""
        if self.engine == "reference" or not fastpath.available() or self.card.bands:
            return np.zeros(policies.length, bool)
        chosen = fastpath.are_supported(policies, self.rules, trace)
        if not isinstance(self.summarizer, SizedSummarizer):
            for name in ("compact_above", "hand_off_above"):
                chosen &= policies.where(name, lambda above: above is None)
        if self.engine == "fast":
            return chosen
        longer = chosen & ~fastpath.are_plain(policies, self.rules, trace)
        if longer.any() and not fastpath.pays(int(longer.sum()) * len(trace.requests)):
            return chosen & ~longer
        return chosen

    def _reference(self, trace: Trace, sizes: Sizes, policy: Policy) -> dict[str, Any]:
        try:
            run = replay(trace, policy, self.rules, sizes=sizes, summarizer=self.summarizer)
        except EditRefused as refused:
            return {**dict.fromkeys(fastpath.COLUMNS[:-1], 0), "refused": str(refused)}
        return {**columns_of(run), "refused": ""}

    def shown(self) -> dict[str, list[Any]]:
        """The fields in which the policies differ, doing nothing left out where there are others."""
        out = {}
        for name, column in self.table.varied.items():
            if column[1:] and column[1:].count(column[1]) < len(column) - 1:
                out[name] = [_plain(value) for value in column] if name in _SETS else column
        return out

    def key(self) -> str:
        """What a stored part depends on."""
        what = [self.table.same, self.table.varied, *map(repr, (self.rules, self.card, self.summarizer)), self.engine]
        text = json.dumps([what, self.size], sort_keys=True, default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def columns_of(run: Replay) -> dict[str, int]:
    """The columns of :data:`labkit.replay.fastpath.COLUMNS`, but for the last two, from the reference engine."""
    rows = run.rows
    made = [event for event in run.events if event.request <= len(rows)]
    paid = [event.usage for event in made if event.usage is not None]
    return {
        "input": run.input,
        "peak": run.peak,
        "shared": sum(row.shared for row in rows),
        "read": sum(row.read for row in rows),
        "read_cold": sum(row.read_cold for row in rows),
        "pinged": sum(row.pinged for row in rows),
        "events": len(made),
        "breaks": run.breaks,
        "expired": run.cold,
        "unread": run.unread,
        "facts_lost": run.facts_lost or 0,
        "uses_after_clear": run.uses_after_clear,
        "reread_tokens": run.reread_tokens,
        "reread_high": run.reread_high,
        "reread_prompts": rows[-1].reread_prompts if rows else 0,
        "summaries_in": sum(usage.cache_read + usage.uncached for usage in paid),
        "summaries_out": sum(usage.output for usage in paid),
        "overflow": run.overflow or 0,
        "offloaded": run.offloaded,
        "uncached": sum(row.uncached for row in rows),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return ", ".join(sorted(value))
    return ", ".join(f"{k}: {v}" for k, v in value) if isinstance(value, tuple) else value
