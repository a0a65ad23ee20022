"""What sessions cost by the thousand: files swept here and on two workers of a cluster, and a million at that rate."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.errors import LabError
from labkit.ladder.policy import Policy
from labkit.record.load import load
from labkit.replay.sweep import sweep

pytest.importorskip("numba", reason="the extra fast is not installed")
distributed = pytest.importorskip("distributed", reason="the extra scale is not installed")

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("LABKIT_CORPUS") or ROOT.parent / "shared" / "traces")
AXES = {"trigger": range(10_000, 110_000, 10_000), "keep": [1, 3, 5, 10], "floor": [0, 5_000, 10_000, 20_000, 50_000]}
CLEARS = Policy(window=None, compact_above=None)


def sessions() -> list[Path]:
    """Recorded sessions of ten requests or more."""
    found = []
    for path in sorted(CORPUS.rglob("*.jsonl")):
        try:
            trace = load(path)
        except LabError:
            continue
        if len(trace.requests) >= 10:
            found.append(path)
    return found


def test_a_million_sessions(say: Callable[[str], None]) -> None:
    """200 policies on each session; the files' own reading, counting and search are part of it."""
    paths = sessions() * 3
    if not paths:
        pytest.skip("no corpus: set LABKIT_CORPUS to a folder of recorded sessions")
    megabytes = sum(path.stat().st_size for path in paths) / 1e6 / len(paths)
    sweep(paths[0], AXES, base=CLEARS)
    own, wall = time.process_time(), time.perf_counter()
    here = sweep(paths, AXES, base=CLEARS)
    own, wall = time.process_time() - own, time.perf_counter() - wall
    each = own / len(paths)
    say(
        f"{len(paths)} sessions of {megabytes:.1f} MB on average, {len(here):,} rows: {wall:.1f} s, "
        f"{each * 1e3:.0f} ms of a core each; a million: {each * 1e6 / 3600:.0f} hours of a core"
    )
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        sweep(paths[:2], AXES, base=CLEARS, jobs=client)  # each worker imports and loads its kernel once
        start = time.perf_counter()
        away = sweep(paths, AXES, base=CLEARS, jobs=client)
        took = time.perf_counter() - start
    say(f"the same on two workers of a Dask cluster on this machine: {took:.1f} s, {wall / took:.2f} times as fast")
    assert away.drop(columns="engine").equals(here.drop(columns="engine"))
