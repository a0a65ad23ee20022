"""The benchmark: both configurations over seeds, with intervals; the map over recall, hazard and window."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

from labkit.bench1.agent import Agent, Recall, SiteRecord
from labkit.bench1.run import Outcome, curves, play, policies, run
from labkit.errors import InputError
from labkit.replay.replay import replay

__all__ = [
    "Cell",
    "Table",
    "cell",
    "content_hash",
    "difference",
    "map_cells",
    "occupied",
    "reread_check",
    "summed",
    "table",
    "wilson",
]

HALVES = (20_000, 40_000, 80_000, 160_000, 320_000, 640_000)
HAZARDS = (0.0, 0.1)
WINDOWS = (32_000, 200_000)


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
    """

    half: float | None
    k: float
    hazard: float
    window: int
    runs: int
    budgeted: int
    unbounded: int
    drop: int = 0

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
) -> Cell:
    """One point of the map."""
    made = table(seeds, Recall(half, k), hazard=hazard, window=window, drop=drop)
    room = policies(window)["unbounded"].window or 0
    return Cell(half, k, hazard, room, seeds, made.passed("budgeted"), made.passed("unbounded"), drop)


def map_cells(
    halves: Sequence[float] = HALVES,
    hazards: Sequence[float] = HAZARDS,
    windows: Sequence[int] = WINDOWS,
    *,
    seeds: int = 20,
    jobs: int = 2,
    drop: int = 0,
) -> list[Cell]:
    """The map over recall slope, stop hazard and window, at ``k = 1``; the same whatever ``jobs`` is."""
    asked = [(half, hazard, window, seeds, drop) for window in windows for hazard in hazards for half in halves]
    if jobs == 1:
        return [_cell(one) for one in asked]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_cell, asked))


def _cell(asked: tuple[float, float, int, int, int]) -> Cell:
    half, hazard, window, seeds, drop = asked
    return cell(half, hazard, window, seeds=seeds, drop=drop)


def occupied(
    recall: Recall, fillers: Sequence[int], *, seeds: int = 20, name: str = "budgeted"
) -> list[tuple[int, int]]:
    """Runs that pass when the window already holds so many tokens of something else: (tokens, passed)."""
    policy = policies()[name]
    # What was there before is no work of the ladder: it shifts the thresholds.
    return [
        (filler, sum(run(seed, _shifted(policy, filler), recall, filler=filler).passed for seed in range(seeds)))
        for filler in fillers
    ]


def _shifted(policy: Any, filler: int) -> Any:
    moved = {n: v + filler for n in ("trigger", "hand_off_above") if (v := getattr(policy, n)) is not None}
    return replace(policy, **moved)


def reread_check(seeds: int = 20) -> list[tuple[int, int, int]]:
    """What a replay of the unbounded run predicts, and what the agent does: (seed, predicted, made).

    Predicted: requests of the replayed unbounded run that lack an excerpt of a result which the policy removed.
    Made: reads and searches that the agent, under the policy, makes again. Recall is perfect in both.
    """
    both, rows = policies(), []
    for seed in range(seeds):
        _, trace = play(seed, both["unbounded"], Agent(Recall(), 0.0, seed))
        replayed = replay(trace, both["budgeted"], summarizer=SiteRecord()).rows
        charged = [0, *(row.reread_tokens for row in replayed)]
        predicted = sum(after > before for before, after in pairwise(charged))
        rows.append((seed, predicted, run(seed, both["budgeted"]).rereads))
    return rows


def results(seeds: int = 20, jobs: int = 2) -> dict[str, Any]:
    """Everything that notebook 07 reads from ``data/results/bench1.json``, with its command and hash."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        sourced = list(pool.map(_sourced, [(name, seeds) for name in curves()]))
    body = {
        "command": f"python -m labkit.bench1.bench {seeds}",
        "simulated": True,
        "perfect": table(seeds).to_json(),
        "two_seeds": [o.to_json() for n in ("unbounded", "budgeted") for o in table(2, _steep()).outcomes[n]],
        "sourced": [{"name": name, **made} for name, made in zip(curves(), sourced, strict=True)],
        "map": [_plain(c) for c in map_cells(seeds=seeds, jobs=jobs)],
        "careless": [_plain(c) for c in map_cells(HALVES, (0.0,), WINDOWS[-1:], seeds=seeds, jobs=jobs, drop=1)],
        "occupied": {
            "curve": "GPT-4o, NoLiMa",
            "rows": occupied(curves()["GPT-4o, NoLiMa"], (0, 16_000, 32_000, 64_000), seeds=seeds),
        },
        "rereads": reread_check(seeds),
    }
    return {**body, "hash": content_hash(body)}


def _plain(made: Cell) -> dict[str, Any]:
    return {**asdict(made), "verdict": made.verdict}


def _steep() -> Recall:
    return curves()["Llama 3.3 70B, NoLiMa"]


def _sourced(asked: tuple[str, int]) -> dict[str, Any]:
    return table(asked[1], curves()[asked[0]]).to_json()


def content_hash(body: dict[str, Any]) -> str:
    """SHA-256 of the results, their hash left out."""
    plain = {key: value for key, value in body.items() if key != "hash"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


if __name__ == "__main__":
    import sys

    from labkit.files import atomic_write, data_path

    made = results(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    atomic_write(data_path("results", "bench1.json"), json.dumps(made, indent=1) + "\n")
