"""What each panel shows: its controls, and for every setting a figure, four numbers and words.

Plain values and functions; :mod:`labkit.show.panels` wires them to widgets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.errors import LabError
from labkit.ladder.policy import SUPERSEDED, Policy
from labkit.ladder.presets import load_policy
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.price.prices import Prices
from labkit.price.prices import prices as price_card
from labkit.record.sizes import measure
from labkit.record.trace import Trace
from labkit.replay.audit import audit
from labkit.replay.bill import Bill, bill
from labkit.replay.replay import Replay, replay
from labkit.show.bars import draw_results
from labkit.show.plots import draw_billed, draw_ladder
from labkit.show.setup import Control, Setup, View
from labkit.show.style import about, label, share
from labkit.show.words import describe_billed, describe_ladder, describe_results, growth, telling, unit_of

__all__ = ["billed", "ladder", "results"]


def billed(trace: Trace) -> Setup:
    """Tokens billed so far against tokens ever created, with a scrubber over the turns.

    Parameters
    ----------
    trace : Trace
    """
    g = growth(trace)
    last = g.at(None)

    def draw(values: Mapping[str, Any]) -> View:
        t = values["turn"]
        created, total = g.created[t - 1], g.billed[t - 1]
        numbers = (
            ("created so far", f"{created:,}", "input tokens, each once"),
            ("billed so far", f"{total:,}", "input tokens"),
            ("each token billed", f"{total / created:.1f} times" if created else "never", "on average"),
            (f"by the last {g.unit}", about(g.billed[-1]), f"of {about(g.created[-1])} created"),
        )
        return View(draw_billed(g, t), numbers, describe_billed(g, t))

    return Setup(
        f"billed {trace.name}",
        (Control("turn", g.unit, max(last // 2, 1), 1, last),),
        draw,
        f"lk.plots.fig_billed(trace, turn={max(last // 2, 1)})",
    )


def results(trace: Trace) -> Setup:
    """Tool results as bars: by size, and by size times the requests that carried them.

    Parameters
    ----------
    trace : Trace
    """
    report = audit(trace)
    largest, costliest, _ = telling(report.results)
    total = sum(row.total for row in report.rows)
    tool_output = sum(r.tokens for r in report.results)

    def draw(values: Mapping[str, Any]) -> View:
        rank_by, show = values["rank_by"], values["show"]
        shown = sum(r.tokens for r in report.costliest(show, rank_by))
        numbers = (
            ("largest", f"{largest.size:,}", f"tokens, turn {largest.turn:,}; {largest.tokens:,} billed"),
            ("costliest", f"{costliest.tokens:,}", f"tokens billed, turn {costliest.turn:,}"),
            ("all results", share(tool_output, total), f"of {about(total)} billed"),
            (f"the first {min(show, len(report.results))}", share(shown, total), "of what was billed"),
        )
        words = f"{describe_results(report, rank_by)} The first {show} make up {share(shown, total)} of the bill."
        return View(draw_results(report, rank_by, show), numbers, words)

    choices = {"size x requests": "tokens", "size": "size"}
    controls = (
        Control("rank_by", "rank by", "tokens", choices=choices),
        Control("show", "show", 8, 3, 12),
    )
    return Setup(f"results {trace.name}", controls, draw, "lk.plots.fig_results(trace, rank_by='size')")


def ladder(
    trace: Trace,
    policy: str | Path | Mapping[str, Any] | Policy = "default",
    *,
    rules: CacheRules = ARTICLE_RULES,
    prices: Prices | None = None,
) -> Setup:
    """The window under a policy: move the thresholds and see what is saved and what is lost.

    Parameters
    ----------
    trace : Trace
    policy : Policy, name, file or mapping
        Where the controls stand at the start.
    rules : CacheRules
    prices : Prices, optional
        Default: the ctxkit article's card. The panel prices tokens without a cache.
    """
    card = prices or price_card("article")
    naive = replay(trace, Policy.nothing(), rules)
    trouble = ""
    try:
        start = load_policy(policy)
    except LabError as error:
        trouble, start = f"{error}. The panel starts with the preset default instead.", load_policy("default")
    # At or above the largest prompt no threshold ever acts; None (never) is shown at the slider's end.
    never = math.ceil(max(naive.peak, 2_000) / 1_000) * 1_000
    if start.window is not None:
        never = min(never, start.window)
    nothing = bill(naive, card)
    best: list[tuple[float, str, list[int]]] = []

    largest = max(
        (s for b, s in zip(trace.blocks, measure(trace).blocks, strict=True) if b.kind == "result"), default=0
    )
    ends = {"keep": 20, "cap": max(math.ceil(largest / 500) * 500, 1_000)}

    # A choice that would say the same as another one is left out.
    given = next((name for name, rules in _EVICT.items() if rules == start.evict), "given")
    choices = _CHOICES if given in _EVICT else {"as the policy says": "given", **_CHOICES}

    def at(name: str) -> int:
        value = getattr(start, name)
        return ends.get(name, never) if value is None else int(value)

    def draw(values: Mapping[str, Any]) -> View:
        moved: dict[str, Any] = {k: v for k, v in values.items() if k != "evict" and v != at(k)}
        if values["evict"] != given:
            moved["evict"] = _EVICT[values["evict"]]
        run = replay(trace, replace(start, **moved), rules)
        setting = ", ".join(
            f"{k.replace('_', ' ')} {v if k == 'evict' else f'{v:,}'}"
            for k, v in values.items()
            if k in ("trigger", "keep") or k in moved
        )
        cost = bill(run, card)
        net = cost.plain + cost.reread
        if not run.unread and not run.facts_lost and run.overflow is None and (not best or net < best[0][0] - 1e-9):
            best[:] = [(net, setting, [row.input for row in run.rows])]
        figure = draw_ladder(run, naive, best=best[0][2] if best else None, unit=unit_of(trace))
        behind = [f"{k.replace('_', ' ')} {v}" for k, v in values.items() if k in moved.keys() - {"trigger", "keep"}]
        if behind:  # what stands under "more" is named in the picture too, also where it changes nothing
            figure["layout"]["title"]["text"] += f" ({label(', '.join(behind), 40)})"
        words = describe_ladder(run, naive)
        words = f"At {setting}: {words[:1].lower()}{words[1:]}"
        if best:
            words += (
                f" Best so far with nothing unread and no fact lost: {best[0][1]}, ${best[0][0]:.2f} with re-reads."
            )
        return View(figure, _ladder_numbers(run, naive, cost, nothing), words)

    def number(name: str, label: str, high: int, step: int, more: bool = False) -> Control:
        value = at(name)
        return Control(name, label, value, min(step, value), max(high, value), step, more=more)

    controls = (
        number("trigger", "trigger (tokens)", never, 1_000),
        replace(number("keep", "keep (results)", 20, 1), low=0),
        replace(number("floor", "floor (tokens)", 50_000, 1_000, more=True), low=0),
        number("compact_above", "compact above (tokens)", never, 1_000, more=True),
        replace(number("keep_recent", "keep recent (messages)", 40, 1, more=True), low=0),
        replace(number("cap", "cap (tokens)", ends["cap"], 50, more=True), low=50),
        Control("evict", "evict", given, choices=choices, more=True),
        number("hand_off_above", "hand off above (tokens)", never, 1_000, more=True),
    )
    end = f"At {never:,} tokens a threshold never acts."
    if never < naive.peak:
        end = f"A threshold cannot be above the window of {never:,} tokens."
    note = (
        f"The same actions are replayed: what the model would have done with another context is not known. "
        f"Prices: card {card.model}, as of {card.as_of}, without a cache. {end}"
    )
    return Setup(
        f"ladder {trace.name}",
        controls,
        draw,
        "lk.plots.fig_ladder(lk.replay(trace, lk.load_policy({'keep': 5})))",
        note,
        trouble,
        draw_ladder(naive, naive, unit=unit_of(trace)),
        best.clear,
    )


_EVICT: dict[str, frozenset[str]] = {"nothing": frozenset(), "superseded": frozenset(SUPERSEDED)}
_CHOICES = {"nothing": "nothing", "what is superseded": "superseded"}


def _ladder_numbers(run: Replay, naive: Replay, cost: Bill, nothing: Bill) -> tuple[tuple[str, str, str], ...]:
    facts = f", {run.facts_lost} of {len(run.facts)} facts" if run.facts_lost is not None else ""
    filed = f", {run.offloaded:,} in files" if run.offloaded else ""
    return (
        ("input tokens billed", f"{run.input:,}", f"{share(run.input, naive.input)} of doing nothing"),
        (
            "cost, no cache",
            f"${cost.plain + cost.reread:,.2f}",
            f"re-reads ${cost.reread:,.2f}; nothing ${nothing.plain:,.2f}",
        ),
        ("largest prompt", f"{run.peak:,}", f"doing nothing {naive.peak:,}"),
        ("lost", f"{run.unread:,} unread", f"{run.uses_after_clear:,} needed later{facts}{filed}"),
    )
