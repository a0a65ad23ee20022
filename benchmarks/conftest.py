"""Timings as ratios: two workloads measured in turn in one process, so that the machine cancels out.

The first workload of each test also goes to pytest-benchmark, whose table stands at the end and whose options
(``--benchmark-json``, ``--benchmark-compare``) work as usual.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labkit.files import data_path
from labkit.record.load import load
from labkit.record.tokens import get_counter
from labkit.record.trace import Trace


def processor() -> str:
    """The name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def pytest_report_header() -> str:
    cores = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"machine: {platform.machine()}, {processor()}, {cores}{load}"


@pytest.fixture(scope="session")
def invoice() -> Trace:
    return load(data_path("traces", "invoice-60.jsonl"))


@pytest.fixture(scope="session")
def tokenise(invoice: Trace) -> Callable[[], int]:
    """The fixed workload: count every block of invoice-60 once."""
    counter = get_counter("o200k_base")
    counter.count("load the vocabulary")
    return lambda: sum(counter.count(block.text) for block in invoice.blocks)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a line that pytest does not swallow."""

    def printed(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}", flush=True)

    return printed


@pytest.fixture
def ratio(benchmark: Any, tokenise: Callable[[], int], say: Callable[[str], None]) -> Callable[..., float]:
    """Median time of a workload over that of tokenising the run once, measured side by side."""
    measured: list[str] = []

    def measure(name: str, work: Callable[[], object], rounds: int = 21) -> float:
        fixed: list[float] = []

        def before() -> None:
            start = time.perf_counter()
            tokenise()
            fixed.append(time.perf_counter() - start)

        if measured:
            times = []
            work()
            for _ in range(rounds):
                before()
                start = time.perf_counter()
                work()
                times.append(time.perf_counter() - start)
        else:
            benchmark.pedantic(work, setup=before, rounds=rounds, warmup_rounds=1)
            times = benchmark.stats.stats.data
        measured.append(name)
        own, other = statistics.median(times), statistics.median(fixed)
        say(
            f"{name}: {own * 1e3:.2f} ms (best {min(times) * 1e3:.2f}), tokenising the run once {other * 1e3:.1f} ms, "
            f"ratio {own / other:.4f}"
        )
        benchmark.extra_info[name] = round(own / other, 4)
        return own / other

    return measure
