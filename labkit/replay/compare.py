"""A policy beside doing nothing, on one run: what it saves and what it loses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.errors import InputError
from labkit.ladder.policy import Policy
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.price.prices import Prices
from labkit.price.prices import prices as card
from labkit.record.trace import Trace
from labkit.replay.bill import Bill, bill
from labkit.replay.replay import Replay, replay

__all__ = ["Comparison", "compare"]

WINDOWS = (128_000, 200_000)
"""Window sizes that a report says the unmanaged run passes, in tokens."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two replays of one trace and their bills.

    Parameters
    ----------
    trace : Trace
    naive, managed : Replay
        Without a policy, and with it.
    naive_bill, managed_bill : Bill
    """

    trace: Trace
    naive: Replay
    managed: Replay
    naive_bill: Bill
    managed_bill: Bill

    @property
    def turns(self) -> list[int]:
        """The requests a short table shows: the first, every fifth and the last."""
        last = len(self.naive.rows)
        return [t for t in range(1, last + 1) if t == 1 or t % 5 == 0 or t == last]

    def totals(self) -> dict[str, dict[str, float]]:
        """The figures of the ctxkit article's table, by its labels; dollars are not rounded."""
        pairs = {
            "input tokens, all turns": (self.naive.input, self.managed.input),
            "peak context": (self.naive.peak, self.managed.peak),
            "tokens prefilled fresh": (self.naive.fresh, self.managed.fresh),
            "cost without caching": (self.naive_bill.plain, self.managed_bill.plain),
            "cost with caching": (self.naive_bill.cached, self.managed_bill.cached),
            f"... and {self.naive.cold} cold caches": (self.naive_bill.cold, self.managed_bill.cold),
        }
        return {label: {"naive": naive, "managed": managed} for label, (naive, managed) in pairs.items()}

    def loss(self) -> dict[str, float | None]:
        """What the policy took away that mattered; see :class:`labkit.replay.replay.Row`."""
        return {
            "unread": self.managed.unread,
            "facts_lost": self.managed.facts_lost,
            "uses_after_clear": self.managed.uses_after_clear if self.trace.needs else None,
            "reread_tokens": self.managed.reread_tokens if self.trace.needs else None,
            "reread_usd": self.managed_bill.reread if self.trace.needs else None,
        }

    def to_json(self) -> dict[str, Any]:
        """One object for programs; ``labkit replay --json`` prints it."""
        rows = list(zip(self.naive.rows, self.managed.rows, strict=True))
        shown = set(self.turns)
        return {
            "trace": self.trace.name,
            "policy": self.managed.policy.to_dict(),
            "prices": self.naive_bill.prices.model,
            "rules": self.managed.rules.name,
            "counter": self.managed.counter,
            "simulated": "open-loop: the recorded actions under another context, not what a model would have done",
            "context": {str(n.request): {"naive": n.input, "managed": m.input} for n, m in rows if n.request in shown},
            "events": [
                {"request": e.request, "kind": e.kind, "messages": e.messages, "freed": e.freed}
                for e in self.managed.events
            ],
            "totals": self.totals(),
            "naive_passes": {str(w): self.naive.passes(w) for w in WINDOWS},
            "facts": [{"label": label, "probe": probe, "survives": ok} for label, probe, ok in self.managed.facts],
            "summary": self.managed.summary,
            "loss": self.loss(),
            "overflow": self.managed.overflow,
            "output_tokens": self.managed.output,
            "warnings": list(self.trace.warnings),
            "requests": [
                {
                    "request": m.request,
                    "naive": n.input,
                    "managed": m.input,
                    "read": m.read,
                    "read_cold": m.read_cold,
                    "output": m.output,
                    "facts_lost": m.facts_lost,
                    "unread": m.unread,
                }
                for n, m in rows
            ],
        }


def compare(
    trace: Trace, policy: Policy, rules: CacheRules = ARTICLE_RULES, prices: Prices | None = None
) -> Comparison:
    """Replay a scripted run without a policy and with one, and price both.

    Parameters
    ----------
    trace : Trace
        A scripted run. What a policy would have changed in a recorded session can only be said where
        a replay reproduces what the provider billed for it: :func:`labkit.whatif`.
    policy : Policy
    rules : CacheRules
    prices : Prices, optional
        Default: the card of the ctxkit article.

    Raises
    ------
    InputError
        If the trace is a recorded session, or has no requests.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> both = compare(load(data_path("traces", "invoice-60.jsonl")), Policy())
    >>> both.naive.input, both.managed.unread
    (5856377, 0)
    """
    if trace.kind != "scripted":
        raise InputError(
            f"{trace.name} is a recorded session, and replay answers what-ifs on scripted runs only: "
            "ask 'labkit whatif', which first checks the replay against the record"
        )
    charged = prices or card("article")
    naive = replay(trace, Policy.nothing(), rules)
    managed = replay(trace, policy, rules)
    return Comparison(trace, naive, managed, bill(naive, charged), bill(managed, charged))
