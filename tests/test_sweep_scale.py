"""A sweep on a cluster of two processes gives the frame of a sweep at home, a worker that dies included."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from labkit.errors import InputError
from labkit.files import data_path
from labkit.record.generate import scripted_run
from labkit.replay.sweep import sweep
from labkit.replay.sweep_store import Store

distributed = pytest.importorskip("distributed", reason="the extra scale is not installed")

AXES = {"trigger": range(10_000, 60_000, 5_000), "keep": [0, 1, 3, 5]}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.setattr(importlib.import_module("labkit.replay.sweep"), "PART", 7)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_the_same_frame_of_traces_and_of_files(client) -> None:
    files = [data_path("traces", f"{name}.jsonl") for name in ("invoice-60", "support-40")]
    traces = [scripted_run(12, seed=3), *files]
    away = sweep(traces, AXES, engine="reference", jobs=client)
    pd.testing.assert_frame_equal(away, sweep(traces, AXES, engine="reference"))


def test_a_worker_that_dies_loses_nothing(client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = sorted(client.run(os.getpid).values())[0]
    killed = []
    write = Store.write

    def and_kill(store, name, frame):
        if not killed:
            os.kill(victim, signal.SIGKILL)
            killed.append(name)
        write(store, name, frame)

    pytest.importorskip("pyarrow", reason="the extra fast is not installed")
    monkeypatch.setattr(Store, "write", and_kill)
    traces = [scripted_run(12, seed=3), scripted_run(25, seed=4)]
    away = sweep(traces, AXES, engine="reference", jobs=client, out=tmp_path)
    assert killed
    assert victim not in client.run(os.getpid).values()
    pd.testing.assert_frame_equal(away, sweep(traces, AXES, engine="reference"))


def test_what_is_no_client_or_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give a distributed"):
        sweep(scripted_run(6), AXES, engine="reference", jobs=2)
    with pytest.raises(InputError, match="each worker can read"):
        sweep(tmp_path / "none.jsonl", AXES, engine="reference", out=tmp_path)
