"""The benchmark: both configurations over seeds, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from labkit.bench1.agent import Recall
from labkit.bench1.run import Outcome, policies, run
from labkit.errors import InputError

__all__ = ["Cell", "Table", "cell", "difference", "summed", "table", "wilson"]


def wilson(passed: int, runs: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a pass rate.

    Examples
    --------
    >>> [round(x, 3) for x in wilson(18, 20)]
    [0.699, 0.972]
    """
    if not 0 <= passed <= runs or runs < 1:
        raise InputError(f"{passed} of {runs} runs passed: give at least one run, and no more passes than runs")
    z = 1.959964
    middle, half = passed + z * z / 2, z * math.sqrt(passed * (runs - passed) / runs + z * z / 4)
    return max((middle - half) / (runs + z * z), 0.0), min((middle + half) / (runs + z * z), 1.0)


def difference(passed: int, other: int, runs: int) -> tuple[float, float, float]:
    """How much more often the first passes, and a 95 % interval (Newcombe 1998, from Wilson's two).

    It takes the runs for independent. Both configurations run the same seeds, so it is rather too wide.

    Examples
    --------
    >>> [round(x, 3) for x in difference(18, 16, 20)]
    [0.1, -0.134, 0.328]
    """
    a, b = passed / runs, other / runs
    (a_low, a_high), (b_low, b_high) = wilson(passed, runs), wilson(other, runs)
    low, high = math.hypot(a - a_low, b_high - b), math.hypot(a_high - a, b - b_low)
    return a - b, a - b - low, a - b + high


@dataclass(frozen=True)
class Cell:
    """Both configurations under one set of assumptions.

    Parameters
    ----------
    half, k : float or None, float
        Of the recall curve.
    hazard : float
    window : int
    runs, budgeted, unbounded : int
        Seeds, and how many of them each configuration passed.
    drop : int
        Open sites that each hand off leaves out of its record: 0 for a faithful one.
    hand_off : int or None
        Tokens past which the budgeted one hands off; ``None`` where its own threshold stands.
    """

    half: float | None
    k: float
    hazard: float
    window: int
    runs: int
    budgeted: int
    unbounded: int
    drop: int = 0
    hand_off: int | None = None

    @property
    def verdict(self) -> str:
        """``wins``, ``loses`` or ``ties``, for budgeted: it ties where the interval holds 0."""
        _, low, high = difference(self.budgeted, self.unbounded, self.runs)
        return "wins" if low > 0 else "loses" if high < 0 else "ties"


@dataclass(frozen=True)
class Table:
    """All runs of both configurations under one recall curve.

    Parameters
    ----------
    seeds : int
    recall : Recall
    hazard : float
    outcomes : dict of str to tuple of Outcome
        By configuration.
    """

    seeds: int
    recall: Recall
    hazard: float
    outcomes: dict[str, tuple[Outcome, ...]]

    def passed(self, name: str) -> int:
        """Runs that passed."""
        return sum(o.passed for o in self.outcomes[name])

    def to_json(self) -> dict[str, Any]:
        """The rows of the table: sums over the seeds, per configuration."""
        rows = {name: summed(made, "seconds_simulated") for name, made in self.outcomes.items()}
        found = difference(self.passed("budgeted"), self.passed("unbounded"), self.seeds)
        return {
            "seeds": self.seeds,
            "recall": {"half": self.recall.half, "k": self.recall.k, "source": self.recall.source},
            "hazard": self.hazard,
            "configurations": rows,
            "difference": [round(x, 4) for x in found],
        }


def summed(made: Sequence[Outcome], clock: str) -> dict[str, Any]:
    """A row of a table: sums over the runs of one configuration; ``clock`` names the seconds."""
    passed, dollars = sum(o.passed for o in made), math.fsum(o.dollars for o in made)
    return {
        "passed": passed,
        "interval": [round(x, 4) for x in wilson(passed, len(made))],
        "input": sum(o.input for o in made),
        "output": sum(o.output for o in made),
        clock: round(math.fsum(o.seconds for o in made), 1),
        "dollars": round(dollars, 4),
        "dollars_a_pass": round(dollars / passed, 4) if passed else None,
        "premature_stops": sum(o.end == "premature stop" for o in made),
        "window_full": sum(o.end == "window full" for o in made),
        "missed": sum(o.missed for o in made),
        "wrong": sum(o.wrong for o in made),
        "rereads": sum(o.rereads for o in made),
    }


def table(
    seeds: int = 20,
    recall: Recall | None = None,
    *,
    hazard: float = 0.0,
    window: int | None = None,
    drop: int = 0,
    hand_off: int | None = None,
    progress: Callable[[Iterable[int]], Iterable[int]] = lambda seeds: seeds,
) -> Table:
    """Run both configurations on the same seeds.

    Parameters
    ----------
    seeds : int
        How many, from 0.
    recall : Recall, optional
        Default: perfect.
    hazard : float
    window : int, optional
        In tokens.
    drop : int
        Open sites that each hand off leaves out of its record.
    hand_off : int, optional
        Tokens past which the budgeted configuration hands off, in the place of its own threshold and of clearing.
    progress : callable
        Wraps the seeds, as tqdm does.

    Examples
    --------
    >>> made = table(1)
    >>> made.passed("unbounded"), made.passed("budgeted")
    (1, 1)
    """
    if seeds < 1:
        raise InputError(f"seeds is {seeds}: give 1 or more")
    curve, made = recall or Recall(), policies(window)
    if hand_off is not None:
        made["budgeted"] = replace(made["budgeted"], hand_off_above=hand_off, trigger=None)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in made}
    for seed in progress(range(seeds)):
        for name, policy in made.items():
            outcomes[name].append(run(seed, policy, curve, hazard=hazard, drop=drop))
    return Table(seeds, curve, hazard, {name: tuple(rows) for name, rows in outcomes.items()})


def cell(
    half: float | None,
    hazard: float = 0.0,
    window: int | None = None,
    *,
    k: float = 1.0,
    seeds: int = 20,
    drop: int = 0,
    hand_off: int | None = None,
) -> Cell:
    """One point of the map; the arguments are those of :func:`table`."""
    made = table(seeds, Recall(half, k), hazard=hazard, window=window, drop=drop, hand_off=hand_off)
    room = policies(window)["unbounded"].window or 0
    return Cell(half, k, hazard, room, seeds, made.passed("budgeted"), made.passed("unbounded"), drop, hand_off)
