"""``labkit sweep``: what it prints, what it tells programs, and that it goes on where it was interrupted."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from labkit.cli import app
from labkit.files import data_path
from labkit.replay import fastpath
from labkit.replay import sweep as sweep_module
from labkit.replay.sweep_part import Work


def test_the_command(tmp_path: Path) -> None:
    axes = tmp_path / "grid.json"
    axes.write_text(json.dumps({"preset": "article", "trigger": [20_000, 30_000], "keep": [1, 3, 5]}))
    out = tmp_path / "rows.csv"
    path = str(data_path("traces", "invoice-60.jsonl"))
    done = CliRunner().invoke(app, ["sweep", path, "--grid", str(axes), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["policies"], told["traces"], told["rows"]) == (7, 1, 7)
    assert {"compile_s", "compute_s", "best", "frontier"} <= set(told)
    assert len(pd.read_csv(out)) == 7
    lines = CliRunner().invoke(app, ["sweep", path, "--grid", str(axes)]).stdout
    assert "7 rows: 7 policies on 1 traces" in lines
    assert "best: trigger" in lines


def test_the_command_tells_programs_what_it_found(tmp_path: Path) -> None:
    axes = tmp_path / "grid.json"
    axes.write_text(
        json.dumps({"preset": "article", "trigger": [20_000, 30_000], "trim": [None, 0.5], "compact_above": [None]})
    )
    path = str(data_path("traces", "invoice-60.jsonl"))
    told = json.loads(CliRunner().invoke(app, ["sweep", path, "--grid", str(axes), "--json"]).stdout)
    assert (told["policies"], told["traces"], told["rows"]) == (5, 1, 5)
    assert told["compile_s"] > 0 < told["compute_s"]
    fields = {"trigger", "trim", "cold", "net_low", "net_high", "uses_after_clear", "engine", "policy"}
    assert fields | {"saving", "worst"} <= set(told["best"])
    savings = [point["net_low"] for point in told["frontier"]]
    assert savings == sorted(savings, reverse=True)
    for said in (told["best"], *told["frontier"][:-1]):
        assert fields <= set(said)
        assert said["engine"] == ("fast" if fastpath.available() and said["trim"] is None else "reference")


def test_the_command_goes_on_where_it_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="the extra fast is not installed")
    monkeypatch.setattr(sweep_module, "PART", 4)
    axes = tmp_path / "grid.json"
    axes.write_text(json.dumps({"preset": "article", "trigger": [20_000, 30_000], "keep": [1, 3, 5, 8, 10]}))
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("invoice-60", "support-40"):
        (folder / f"{name}.jsonl").write_bytes(data_path("traces", f"{name}.jsonl").read_bytes())
    (folder / "notes.jsonl").write_text('{"no": "session"}\n')
    command = ["sweep", str(folder), "--grid", str(axes), "--resume", str(tmp_path / "parts"), "--out"]
    made: list[int] = []
    part = Work.part

    def interrupted(job, trace, at, sizes=None):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(at)
        return part(job, trace, at, sizes)

    monkeypatch.setattr(Work, "part", interrupted)
    assert CliRunner().invoke(app, [*command, str(tmp_path / "a.csv")]).exit_code != 0
    kept = len(list((tmp_path / "parts").rglob("*.parquet")))
    assert 0 < kept < 6
    made.clear()
    monkeypatch.setattr(Work, "part", lambda *given: made.append(0) or part(*given))
    done = CliRunner().invoke(app, [*command, str(tmp_path / "a.csv")])
    assert done.exit_code == 0, done.output
    assert "notes.jsonl" in done.stderr
    assert len(made) == 6 - kept + 1  # and the policy that is tried first
    monkeypatch.setattr(Work, "part", part)
    whole = CliRunner().invoke(app, ["sweep", str(folder), "--grid", str(axes), "--out", str(tmp_path / "b.csv")])
    assert "22 rows: 11 policies on 2 traces" in whole.stdout
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_the_export_command() -> None:
    done = CliRunner().invoke(app, ["export", "article", "--to", "anthropic"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["context_management"]["edits"][0]["type"] == "clear_tool_uses_20250919"
    assert "beta header: context-management-2025-06-27" in done.stderr
    assert "not said:" in done.stderr
