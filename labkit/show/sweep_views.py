"""The panel over a sweep: a map of two thresholds, for a read price and a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.price.prices import Prices
from labkit.price.prices import prices as price_card
from labkit.record.trace import Trace
from labkit.replay.choose import choose
from labkit.replay.grids import grid
from labkit.replay.sweep import sweep
from labkit.show.setup import Control, Setup, View
from labkit.show.style import share
from labkit.show.sweep_plots import describe_sweep, draw_sweep

__all__ = ["sweeps"]

_READS = {"0.1 x input": 0.1, "0.05 x input": 0.05, "0.025 x input": 0.025}


def sweeps(traces: Sequence[Trace], base: Any = "article", *, prices: Prices | None = None, points: int = 40) -> Setup:
    """A map of trigger and keep: choose the price of a read, the run, and the floor.

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

    @lru_cache(maxsize=64)
    def swept(name: str, read: float, floor: int) -> Any:
        step = max(window // (2 * points) // 500, 1) * 500
        axes = {"trigger": range(step, step * (points + 1), step), "keep": range(0, 16), "floor": [floor]}
        policies: list[Policy] = grid(axes, start)
        return sweep(runs[name], policies, prices=replace(card, cache_read=card.input * read, bands=()))

    def draw(values: Mapping[str, Any]) -> View:
        frame = swept(values["run"], values["read"], values["floor"])
        chosen = choose(frame)
        row = frame[frame["policy"] == chosen.policy].iloc[0]
        nothing = float(frame.loc[frame["policy"] == 0, "cold"].iloc[0])
        others = [chosen_elsewhere(values, name, chosen.policy) for name in runs if name != values["run"]]
        numbers = (
            ("chosen here", f"${row['cold'] + row['reread_dear']:,.2f}", f"do nothing ${nothing:,.2f}"),
            ("saves here", f"{chosen.saving:.1%}", "with every re-read paid"),
            ("saves on the other run", ", ".join(others) or "no other run", "the same policy"),
            ("disqualified", share(int((frame["disqualified"] != "").sum()), len(frame) - 1), "of the policies"),
        )
        return View(draw_sweep(frame), numbers, describe_sweep(frame).replace("\n", " "))

    def chosen_elsewhere(values: Mapping[str, Any], name: str, policy: int) -> str:
        frame = swept(name, values["read"], values["floor"])
        row = frame[frame["policy"] == policy].iloc[0]
        if row["disqualified"]:
            return str(row["disqualified"])
        return f"{row['net_low'] / float(frame.loc[frame['policy'] == 0, 'cold'].iloc[0]):.1%}"

    controls = (
        Control("read", "price of a read", 0.1, choices=_READS),
        Control("run", "run", next(iter(runs)), choices={name: name for name in runs}),
        Control("floor", "floor (tokens)", min(start.floor, 20_000), 0, 20_000, 1_000),
    )
    note = (
        "The same actions are replayed under each policy. The saving is net of re-reads at their higher charge. "
        f"Prices: card {card.model}, as of {card.as_of}; the price of a read is varied."
    )
    code = "lk.plots.fig_sweep(lk.sweep(trace, {'trigger': range(5_000, 100_000, 5_000), 'keep': range(10)}))"
    return Setup("sweep " + " ".join(runs), controls, draw, code, note)
