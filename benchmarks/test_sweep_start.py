"""The first sweep of a fresh process, imports apart, and the memory of a million rows; each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numba", reason="the extra fast is not installed")

FIRST = """
import json, time
marks = [("", time.perf_counter(), time.process_time())]
def mark(name):
    marks.append((name, time.perf_counter(), time.process_time()))
import pandas
import labkit as lk
run, sweep = lk.load(lk.data_path("traces", "invoice-60.jsonl")), lk.sweep
mark("import labkit and pandas")
from labkit.record.sizes import measure
measure(run)
mark("tokenizer")
import numba
from numba.core.registry import cpu_target
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
mark("import numba")
axes = {"trigger": range(2_000, 102_000, 2_000), "keep": range(20), "floor": range(0, 20_000, 2_000)}
sweep(run, axes)
mark("first sweep")
sweep(run, axes)
mark("second sweep")
print(json.dumps({b[0]: (b[1] - a[1], b[2] - a[2]) for a, b in zip(marks, marks[1:])}))
"""

MEMORY = """
import json, resource, sys
import labkit as lk
run = lk.load(lk.data_path("traces", "invoice-60.jsonl"))
axes = {"trigger": range(2_000, 102_000, 200), "keep": range(20), "floor": range(0, 20_000, 200)}
frame = lk.sweep(run, axes)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([len(frame), peak]))
"""


def told(code: str, **env: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **env}
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_first_sweep(tmp_path: Path, say: Callable[[str], None]) -> None:
    """10,000 policies, frame and all: compiled, then found on disk."""
    runs = [told(FIRST, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(6)]
    least = {name: [min(run[name][k] for run in runs[1:]) for k in (0, 1)] for name in runs[0]}
    rows = {**least, "first sweep, nothing compiled": runs[0]["first sweep"]}
    for name, (wall, own) in rows.items():
        say(f"{name}: {wall:.2f} s, of which {own:.2f} s of the processor")
    long = FIRST.replace('"floor": range', '"cap": [4_000], "floor": range')
    for words in ("nothing compiled", "compiled before"):
        wall, own = told(long, NUMBA_CACHE_DIR=str(tmp_path))["first sweep"]
        say(f"first sweep by the long kernel, {words}: {wall:.2f} s, of which {own:.2f} s of the processor")
    imports = least["import labkit and pandas"][1]
    assert rows["first sweep, nothing compiled"][1] < 15 * imports
    assert least["first sweep"][1] < 1.5 * imports


@pytest.mark.skipif(sys.platform == "win32", reason="the peak of memory is asked of the resource module")
def test_memory_of_a_million_rows(say: Callable[[str], None]) -> None:
    rows, peak = told(MEMORY)
    say(f"a sweep of {rows:,} rows: peak {peak / 1e6:.0f} MB")
    assert rows > 1_000_000
    assert peak < 1_000_000_000
