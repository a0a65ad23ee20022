"""What a person waits for after moving a control, in Python: a panel's whole callback on invoice-60."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle

import pytest

from labkit.ladder.presets import load_policy
from labkit.record.trace import Trace
from labkit.replay import fastpath
from labkit.replay.choose import frontier
from labkit.replay.sweep import sweep
from labkit.show import panels
from labkit.show.sweep_plots import draw_sweep

# Tokenising the run once takes 100 ms or more, so this is well under the 50 ms a move may take.
LADDER, OTHERS = 0.25, 0.05


def moving(panel: panels.Panel, name: str, values: tuple[int, ...]) -> Callable[[], None]:
    """Move one control on to its next value."""
    turn: Iterator[int] = cycle(values)

    def move() -> None:
        panel.controls[name].value = next(turn)

    return move


def test_ladder_panel(invoice: Trace, ratio: Callable[..., float]) -> None:
    panels.ladder(invoice, "article")
    move = moving(panels._open["ladder invoice-60"], "trigger", (20_000, 30_000, 40_000, 60_000, 5_000))
    assert ratio("a move in the ladder panel", move) < LADDER


def test_billed_and_results_panels(invoice: Trace, ratio: Callable[..., float]) -> None:
    panels.billed(invoice)
    panels.results(invoice)
    scrub = moving(panels._open["billed invoice-60"], "turn", (5, 25, 45))
    show = moving(panels._open["results invoice-60"], "show", (4, 8, 12))
    assert ratio("a move in the billed panel", scrub) < OTHERS
    assert ratio("a move in the results panel", show) < OTHERS


@pytest.mark.skipif(not fastpath.available(), reason="the extra fast is not installed")
def test_map_of_a_hundred_by_a_hundred(invoice: Trace, ratio: Callable[..., float]) -> None:
    """Sweep, map and frontier, for a price that was not swept before."""
    base = replace(load_policy("article"), compact_above=None)
    axes = {"trigger": range(1_000, 101_000, 1_000), "keep": range(100)}

    def drawn() -> None:
        frame = sweep(invoice, axes, base=base)
        draw_sweep(frame)
        frontier(frame)

    assert ratio("a map of 100 x 100 with its frontier", drawn, rounds=9) < 2.5
