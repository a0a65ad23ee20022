"""Where the budgeted configuration wins, ties and loses: over a grid, over the sourced range, and in a full window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

from labkit.bench1.agent import Agent, Recall, SiteRecord
from labkit.bench1.bench import Cell, cell, difference, wilson
from labkit.bench1.filler import shifted
from labkit.bench1.run import curves, play, policies, run
from labkit.errors import InputError
from labkit.replay.replay import replay

__all__ = ["EARLY", "Rereads", "drop_at", "map_cells", "occupied", "reread_check", "sampled", "share", "sourced_range"]

HALVES = (20_000, 40_000, 80_000, 160_000, 320_000, 640_000)
HAZARDS = (0.0, 0.1)
WINDOWS = (32_000, 200_000)
EARLY = 4_000
"""Tokens past which the budgeted configuration hands off several times a run; its own threshold is rarely met."""


def map_cells(
    halves: Sequence[float] = HALVES,
    hazards: Sequence[float] = HAZARDS,
    windows: Sequence[int] = WINDOWS,
    *,
    seeds: int = 20,
    jobs: int = 2,
    drop: int = 0,
    hand_off: int | None = None,
) -> list[Cell]:
    """The map over recall slope, stop hazard and window, at ``k = 1``; the same whatever ``jobs`` is."""
    return _cells(
        [
            {"half": half, "hazard": hazard, "window": window, "seeds": seeds, "drop": drop, "hand_off": hand_off}
            for window in windows
            for hazard in hazards
            for half in halves
        ],
        jobs,
    )


def _cells(asked: list[dict[str, Any]], jobs: int) -> list[Cell]:
    if jobs == 1:
        return [_cell(one) for one in asked]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_cell, asked))


def _cell(asked: dict[str, Any]) -> Cell:
    return cell(**asked)


def sourced_range() -> dict[str, tuple[float, float]]:
    """How far the published fits reach in ``half`` and in ``k``; hazard and window are this project's.

    Examples
    --------
    >>> sourced_range()["half"], sourced_range()["k"]
    ((18000, 665000), (0.6, 2.3))
    """
    halves, ks = zip(*((c.half or 0.0, c.k) for c in curves().values()), strict=True)
    return {
        "half": (min(halves), max(halves)),
        "k": (min(ks), max(ks)),
        "window": (WINDOWS[0], WINDOWS[-1]),
        "hazard": (HAZARDS[0], HAZARDS[-1]),
    }


def _halton(number: int, base: int) -> float:
    """Points that fill 0 to 1 evenly, always the same."""
    found, part = 0.0, 1.0
    while number:
        part /= base
        number, digit = divmod(number, base)
        found += digit * part
    return found


def sampled(points: int, *, hazard: bool, seeds: int = 20, jobs: int = 2) -> list[Cell]:
    """Cells spread evenly over the sourced range, and not on a grid.

    Parameters
    ----------
    points : int
        How many.
    hazard : bool
        Whether the stop hazard varies too, up to its largest assumed value; otherwise it is 0.
    seeds, jobs : int

    Returns
    -------
    list of Cell
        ``half``, ``k`` and ``window`` evenly in their logarithms, each within :func:`sourced_range`, independent of
        each other; ``hazard`` evenly. The same whatever ``jobs`` is.
    """
    if points < 1:
        raise InputError(f"points is {points}: give 1 or more")
    reach = sourced_range()

    def logarithmic(name: str, at: float) -> float:
        low, high = reach[name]
        return float(low * (high / low) ** at)

    asked = []
    for number in range(1, points + 1):
        a, b, c, d = (_halton(number, base) for base in (2, 3, 5, 7))
        asked.append(
            {
                "half": round(logarithmic("half", a)),
                "k": round(logarithmic("k", b), 4),
                "window": round(logarithmic("window", c)),
                "hazard": round(reach["hazard"][1] * d, 4) if hazard else 0.0,
                "seeds": seeds,
            }
        )
    return _cells(asked, jobs)


def share(cells: Sequence[Cell]) -> dict[str, Any]:
    """What share of the cells the budgeted configuration wins, ties and loses, with intervals.

    Parameters
    ----------
    cells : sequence of Cell

    Returns
    -------
    dict
        ``points``; by verdict the count and Wilson's 95 % interval of its share, which is that of the whole range where
        the cells are spread evenly over it; and, whatever the intervals say, how often it passed ``more``, ``same``
        and ``fewer`` runs.

    Examples
    --------
    >>> made = share([Cell(None, 1.0, 0.0, 1, 20, 20, 20), Cell(1.0, 1.0, 0.0, 1, 20, 20, 2)])
    >>> made["points"], made["wins"], made["more"], made["same"]
    (2, [1, 0.0945, 0.9055], 1, 1)
    """
    verdicts = [c.verdict for c in cells]
    made: dict[str, Any] = {"points": len(cells)}
    for verdict in ("wins", "ties", "loses"):
        count = verdicts.count(verdict)
        made[verdict] = [count, *(round(x, 4) for x in wilson(count, len(cells)))]
    signs = [math.copysign(1, c.budgeted - c.unbounded) if c.budgeted != c.unbounded else 0.0 for c in cells]
    return {**made, "more": signs.count(1.0), "same": signs.count(0.0), "fewer": signs.count(-1.0)}


def occupied(
    recall: Recall, fillers: Sequence[int], *, seeds: int = 20, name: str = "budgeted"
) -> list[tuple[int, int]]:
    """Runs that pass when the window already holds so many tokens of something else: (tokens, passed)."""
    policy = policies()[name]
    return [
        (filler, sum(run(seed, shifted(policy, filler), recall, filler=filler).passed for seed in range(seeds)))
        for filler in fillers
    ]


def drop_at(rows: Sequence[tuple[int, int]], runs: int) -> int | None:
    """From which occupancy on the pass rate is lower beyond doubt than at the least: an upper end of the budget.

    Parameters
    ----------
    rows : sequence of (int, int)
        Tokens and passed runs, as :func:`occupied` gives them.
    runs : int
        Seeds at each occupancy.

    Returns
    -------
    int or None
        The least tokens from which on the interval of the difference excludes 0; ``None`` if there are none.

    Examples
    --------
    >>> drop_at([(0, 10), (8_000, 5), (16_000, 3), (32_000, 0)], 20)
    16000
    """
    _, first = rows[0]
    found = None
    for tokens, passed in reversed(rows[1:]):
        if difference(first, passed, runs)[1] <= 0:
            break
        found = tokens
    return found


@dataclass(frozen=True)
class Rereads:
    """What a replay of the unbounded runs predicts, and what the agent does under the policy.

    Parameters
    ----------
    rows : tuple of (int, int, int)
        Seed, predicted, made.
    """

    rows: tuple[tuple[int, int, int], ...]

    @property
    def predicted(self) -> int:
        """Re-reads that the replays predict, over all seeds."""
        return sum(p for _, p, _ in self.rows)

    @property
    def made(self) -> int:
        """Reads and searches that the agent made again, over all seeds."""
        return sum(m for _, _, m in self.rows)

    @property
    def error(self) -> float:
        """By how many a run is missed, on average."""
        return sum(abs(p - m) for _, p, m in self.rows) / len(self.rows)

    def __str__(self) -> str:
        return (
            f"{self.predicted} predicted from the unbounded runs, {self.made} made; error "
            f"{self.predicted - self.made:+d}, {self.error:.1f} a run"
        )


def reread_check(seeds: int = 20, recall: Recall | None = None) -> Rereads:
    """Predict re-reads from uses after clear, and let the agent make them.

    Parameters
    ----------
    seeds : int
    recall : Recall, optional
        Of the agent in both; default: perfect.

    Returns
    -------
    Rereads
        Predicted: requests of the unbounded run, replayed under the policy, that use an excerpt of a result which the
        policy had removed. Made: reads and searches of the agent under the policy, made before with the same
        arguments.

    Examples
    --------
    >>> print(reread_check(1))
    0 predicted from the unbounded runs, 0 made; error +0, 0.0 a run
    """
    both, rows = policies(), []
    for seed in range(seeds):
        _, trace = play(seed, both["unbounded"], Agent(recall or Recall(), 0.0, seed))
        replayed = replay(trace, both["budgeted"], summarizer=SiteRecord()).rows
        charged = [0, *(row.reread_tokens for row in replayed)]
        predicted = sum(after > before for before, after in pairwise(charged))
        rows.append((seed, predicted, run(seed, both["budgeted"], recall).rereads))
    return Rereads(tuple(rows))
