"""Everything that notebook 07 reads from ``data/results/bench1.json``, made again by one command."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from typing import Any

from labkit.bench1.agent import Recall
from labkit.bench1.bench import Cell, table
from labkit.bench1.maps import EARLY, HALVES, WINDOWS, map_cells, occupied, reread_check, sampled, share, sourced_range
from labkit.bench1.run import curves

__all__ = ["content_hash", "results"]

POINTS = 200
STEEP = "Llama 3.3 70B, NoLiMa"
FULL = "GPT-4o, NoLiMa"


def results(seeds: int = 20, jobs: int = 2, points: int = POINTS) -> dict[str, Any]:
    """All tables and maps, with their command and hash.

    Parameters
    ----------
    seeds : int
        Of each table and each point.
    jobs : int
        Processes; the results do not depend on it.
    points : int
        Of each sample of the sourced range.
    """
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        sourced = list(pool.map(_sourced, [(name, seeds) for name in curves()]))
        rereads = list(pool.map(_rereads, [(name, seeds) for name in ("perfect", *curves())]))
    body = {
        "command": f"python -m labkit.bench1.results {seeds}",
        "simulated": True,
        "perfect": table(seeds).to_json(),
        "two_seeds": [o.to_json() for n in ("unbounded", "budgeted") for o in table(2, curves()[STEEP]).outcomes[n]],
        "sourced": sourced,
        "map": [_plain(c) for c in map_cells(seeds=seeds, jobs=jobs)],
        **{
            name: [
                _plain(c)
                for c in map_cells(HALVES, (0.0,), WINDOWS[-1:], seeds=seeds, jobs=jobs, drop=drop, hand_off=EARLY)
            ]
            for name, drop in (("early", 0), ("careless", 1))
        },
        "share": {
            "range": sourced_range(),
            **{
                name: _shared(sampled(points, hazard=hazard, seeds=seeds, jobs=jobs))
                for name, hazard in (("hazard_0", False), ("hazard_varies", True))
            },
        },
        "occupied": {
            "curve": FULL,
            "rows": occupied(curves()[FULL], (0, 4_000, 8_000, 16_000, 32_000, 64_000), seeds=seeds),
        },
        "rereads": rereads,
    }
    plain: dict[str, Any] = json.loads(json.dumps(body))
    return {**plain, "hash": content_hash(plain)}


def _shared(cells: Sequence[Cell]) -> dict[str, Any]:
    rows = [[c.half, c.k, c.window, c.hazard, c.budgeted, c.unbounded] for c in cells]
    columns = ["half", "k", "window", "hazard", "budgeted", "unbounded"]
    return {**share(cells), "columns": columns, "rows": [json.dumps(row) for row in rows]}


def _plain(made: Cell) -> dict[str, Any]:
    return {**asdict(made), "verdict": made.verdict}


def _sourced(asked: tuple[str, int]) -> dict[str, Any]:
    name, seeds = asked
    return {"name": name, **table(seeds, curves()[name]).to_json()}


def _rereads(asked: tuple[str, int]) -> dict[str, Any]:
    name, seeds = asked
    made = reread_check(seeds, Recall() if name == "perfect" else curves()[name])
    return {"name": name, "predicted": made.predicted, "made": made.made, "error_a_run": made.error}


def content_hash(body: dict[str, Any]) -> str:
    """SHA-256 of the results, their hash left out."""
    plain = {key: value for key, value in body.items() if key != "hash"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


if __name__ == "__main__":
    import sys

    from labkit.files import atomic_write, data_path

    made = results(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    atomic_write(data_path("results", "bench1.json"), json.dumps(made, indent=1) + "\n")
