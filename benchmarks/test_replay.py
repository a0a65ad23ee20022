"""The reference replay and the manager, against tokenising invoice-60 once."""

from __future__ import annotations

import statistics
import subprocess
import sys

from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.record.sizes import measure
from labkit.record.trace import Block
from labkit.replay.replay import replay


def test_reference_replay(invoice, ratio):
    """One replay takes about a twentieth of counting the run; 4 ms on the machine of the first measurement."""
    sizes = measure(invoice)
    policy = load_policy("article")
    assert ratio("replay of invoice-60", lambda: replay(invoice, policy, sizes=sizes)) < 0.1


def test_cost_of_a_turn_does_not_grow(ratio):
    """A live manager: 8,000 turns cost about eight times what 1,000 cost."""

    def run(turns: int) -> None:
        manager = ContextManager(policy=Policy(trigger=30_000, floor=5_000, window=None), count=len)
        for _ in range(turns):
            manager.append(Block("call", "assistant", "c" * 40, tool="read", args="a"), 44)
            manager.append(Block("result", "tool", "r" * 700, tool="read", args="a"), 704)
            manager.step()

    short = ratio("manager, 1,000 turns", lambda: run(1_000), rounds=5)
    long = ratio("manager, 8,000 turns", lambda: run(8_000), rounds=5)
    assert 8 / 1.6 < long / short < 8 * 1.6


def test_import(capsys):
    """``import labkit`` beyond pandas, as a part of what importing pandas takes, in fresh processes."""
    code = (
        "import time; a = time.perf_counter(); import pandas; b = time.perf_counter(); import labkit; "
        "print(b - a, time.perf_counter() - b)"
    )
    times = []
    for _ in range(7):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        times.append([float(t) for t in done.stdout.split()])
    pandas, beyond = (statistics.median(t[i] for t in times) for i in (0, 1))
    with capsys.disabled():
        print(f"\nimport labkit {beyond * 1e3:.0f} ms, after pandas {pandas * 1e3:.0f} ms, ratio {beyond / pandas:.2f}")
    assert beyond / pandas < 0.25
