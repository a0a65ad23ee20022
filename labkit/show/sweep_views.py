"""The panel over a sweep: a map of two thresholds, and below it the run at one point of the map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.prices import Prices
from labkit.price.prices import prices as price_card
from labkit.record.trace import Trace
from labkit.replay.choose import choose
from labkit.replay.replay import replay
from labkit.replay.rows import Replay
from labkit.replay.sweep import sweep
from labkit.show.setup import Control, Setup, View
from labkit.show.sweep_plots import describe_sweep, draw_sweep, row_at

__all__ = ["sweeps"]

KEEPS = 16
"""Values of keep on the map: 0 to one less."""

_READS = {"0.1 x input": 0.1, "0.05 x input": 0.05, "0.025 x input": 0.025}


def sweeps(traces: Sequence[Trace], base: Any = "article", *, prices: Prices | None = None, points: int = 40) -> Setup:
    """A map of trigger and keep, and the replay at one point of it: move the point, and the price of a read.

    Parameters
    ----------
    traces : sequence of Trace
    base : Policy, name, file or mapping
        Where all other fields come from.
    prices : Prices, optional
        Default: the ctxkit article's card.
    points : int
        Triggers on the map.
    """
    card = prices or price_card("article")
    runs = {trace.name: trace for trace in traces}
    start = load_policy(base)
    window = start.window or 200_000

    step = max(window // (2 * points) // 500, 1) * 500

    @lru_cache(maxsize=64)
    def swept(name: str, read: float, floor: int) -> Any:
        axes = {"trigger": range(step, step * (points + 1), step), "keep": range(KEEPS), "floor": [floor]}
        prices = replace(card, cache_read=card.input * read, bands=())
        return sweep(runs[name], axes, base=start, prices=prices)

    def draw(values: Mapping[str, Any]) -> View:
        name, at = values["run"], (values["trigger"], values["keep"])
        frame = swept(name, values["read"], values["floor"])
        row = row_at(frame, at)
        nothing = float(frame.loc[frame["policy"] == 0, "cold"].iloc[0])
        best = choose(frame)
        place = frame[frame["policy"] == best.policy].iloc[0]
        where = "do nothing" if best.nothing else f"trigger {place['trigger']:,}, keep {place['keep']}"
        others = [saved(row_at(swept(n, values["read"], values["floor"]), at), n, values) for n in runs if n != name]
        numbers = (
            ("this point", f"${row['cold'] + row['reread_dear']:,.2f}", f"do nothing ${nothing:,.2f}"),
            ("saves here", saved(row, name, values), "with every re-read paid"),
            ("saves on the other run", ", ".join(others) or "no other run", "the same policy"),
            ("the best saves here", f"{best.saving:.1%}", where),
        )
        policy = replace(start, trigger=at[0], keep=at[1], floor=values["floor"])
        shown = replay(runs[name], policy, summarizer=SizedSummarizer()), naive(name)
        words = f"{describe_sweep(frame, at=at)} A read costs {values['read']:g} x input."
        return View(draw_sweep(frame, at=at, runs=shown), numbers, words.replace("\n", " "))

    def saved(row: Any, name: str, values: Mapping[str, Any]) -> str:
        if row["disqualified"]:
            return str(row["disqualified"])
        frame = swept(name, values["read"], values["floor"])
        return f"{row['net_low'] / float(frame.loc[frame['policy'] == 0, 'cold'].iloc[0]):.1%}"

    @lru_cache(maxsize=8)
    def naive(name: str) -> Replay:
        return replay(runs[name], Policy.nothing())

    floor = min(start.floor, 20_000) // 1_000 * 1_000
    first = next(iter(runs))
    best = choose(swept(first, 0.1, floor))
    rows = swept(first, 0.1, floor)
    row = rows.iloc[1] if best.nothing else rows[rows["policy"] == best.policy].iloc[0]
    controls = (
        Control("trigger", "trigger", int(row["trigger"]), step, step * points, step),
        Control("keep", "keep", int(row["keep"]), 0, KEEPS - 1),
        Control("read", "price of a read", 0.1, choices=_READS),
        Control("run", "run", first, choices={name: name for name in runs}, more=True),
        Control("floor", "floor (tokens)", floor, 0, 20_000, 1_000, more=True),
    )
    note = (
        "The same actions are replayed under each policy. The saving is net of re-reads at their higher charge. "
        f"Prices: card {card.model}, as of {card.as_of}; the price of a read is varied."
    )
    code = "lk.plots.fig_sweep(lk.sweep(trace, {'trigger': range(5_000, 100_000, 5_000), 'keep': range(10)}))"
    return Setup("sweep " + " ".join(runs), controls, draw, code, note)
