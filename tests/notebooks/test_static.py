"""All notebooks run where there are no widgets, and each panel is a plain figure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SLOW = ("04", "06", "09")  # half of the time; nbval runs them with widgets anyhow


@pytest.mark.parametrize(
    "notebooks",
    [
        pytest.param([p for p in NOTEBOOKS if not p.name.startswith(SLOW)], id="quick"),
        pytest.param([p for p in NOTEBOOKS if p.name.startswith(SLOW)], id="slow", marks=pytest.mark.long),
    ],
)
def test_notebooks_run_without_widgets(notebooks: list[Path], tmp_path: Path) -> None:
    program = ROOT / "tests" / "static_notebook.py"
    env = {**os.environ, "LABKIT_HOME": str(tmp_path), "LABKIT_PANELS": "static"}
    done = subprocess.run(
        [sys.executable, str(program), *map(str, notebooks)],
        cwd=ROOT / "notebooks",
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    panels = json.loads(done.stdout.splitlines()[-1])
    assert {name: kinds for name, kinds in panels.items() if set(kinds) != {"Figure"}} == {}
    assert list(panels) == [path.stem for path in notebooks]
    assert done.stdout.count("A plain figure: lk.panels.mode is 'static'") == sum(map(len, panels.values()))


def test_another_mode_is_named() -> None:
    program = "import labkit as lk; r = lk.load(lk.data_path('traces', 'invoice-60.jsonl')); lk.panels.billed(r)"
    env = {**os.environ, "LABKIT_PANELS": "statik"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "LABKIT_PANELS, is 'statik'; allowed are auto, static, widgets" in done.stdout
