"""The panel over read prices and pauses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.price.prices import Prices
from labkit.price.prices import prices as price_card
from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Trace
from labkit.replay.bill import bill
from labkit.replay.replay import Replay, replay
from labkit.show.cache_plots import ReadPrice, describe_read_price, draw_read_price, with_pauses
from labkit.show.setup import Control, Setup, View
from labkit.show.style import count

__all__ = ["cache"]


def cache(
    trace: Trace,
    policy: str | Path | Mapping[str, Any] | Policy = "article",
    *,
    rules: CacheRules = ARTICLE_RULES,
    prices: Prices | None = None,
) -> Setup:
    """The read price at which a policy stops paying: move the trigger, add pauses.

    Parameters
    ----------
    trace : Trace
    policy : Policy, name, file or mapping
        Where the controls stand at the start.
    rules : CacheRules
    prices : Prices, optional
        Default: the ctxkit article's card.
    """
    start = load_policy(policy)
    card = prices or price_card("article")
    sizes = measure(trace)
    naive_at = _remembered(lambda pauses: _naive(with_pauses(trace, pauses), rules, sizes))
    peak = replay(trace, Policy.nothing(), rules, sizes=sizes).peak
    high = max(math.ceil(peak / 1_000) * 1_000, 2_000)
    high = min(high, start.window) if start.window is not None else high
    trigger = int(start.trigger) if start.trigger is not None and start.trigger_by == "tokens" else high

    def draw(values: Mapping[str, Any]) -> View:
        paused, naive = naive_at(values["pauses"])
        changed = replace(start, trigger=values["trigger"], trigger_by="tokens", keep=values["keep"])
        pair = ReadPrice(replay(paused, changed, rules, sizes=sizes), naive, card)
        run, charged, nothing = pair.managed, bill(pair.managed, card), bill(naive, card)
        cross = "never" if pair.crossing == 0 or math.isinf(pair.crossing) else f"{pair.crossing:.4f}"
        numbers = (
            ("cost, reads at 0.1", f"${charged.cold:,.2f}", f"do nothing ${nothing.cold:,.2f}"),
            ("no cache", f"${charged.plain:,.2f}", f"do nothing ${nothing.plain:,.2f}"),
            ("equal at a read price of", cross, "times the input price"),
            (
                "lost",
                f"{run.unread:,} unread",
                f"{run.uses_after_clear:,} needed later; re-reads ${charged.reread:,.2f}",
            ),
        )
        words = describe_read_price(pair).replace("\n", " ")
        return View(draw_read_price(pair), numbers, f"{count(values['pauses'], 'pause')} of half an hour. {words}")

    controls = (
        Control("trigger", "trigger (tokens)", trigger, 1_000, high, 1_000),
        Control("pauses", "pauses", 0, 0, 20),
        Control("keep", "keep (results)", 3 if start.keep is None else start.keep, 0, 20, more=True),
    )
    note = (
        "The same actions are replayed. A pause is half an hour between two requests: the five-minute entry is gone, "
        "and the whole prompt is written again, with a policy or without. "
        f"Prices: card {card.model}, as of {card.as_of}; the price of a read is varied."
    )
    return Setup(f"cache {trace.name}", controls, draw, "lk.plots.fig_read_price(lk.plots.read_price(trace))", note)


def _naive(trace: Trace, rules: CacheRules, sizes: Sizes) -> tuple[Trace, Replay]:
    return trace, replay(trace, Policy.nothing(), rules, sizes=sizes)


def _remembered(make: Callable[[int], tuple[Trace, Replay]]) -> Callable[[int], tuple[Trace, Replay]]:
    # A slider comes back to the same few clocks.
    return lru_cache(maxsize=32)(make)
