"""The bundle for a room without a network: what lies in it, what it refuses, and that it installs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import bundle
import bundle_install

MINE = bundle_install.kind()


def test_a_folder_has_the_course_the_installer_and_its_kind(tmp_path: Path) -> None:
    bundle.lay_out(tmp_path, "bench1")
    assert {"install.py", "INSTALL.txt", "README.md", "LICENSE", "kinds.json"} < {p.name for p in tmp_path.iterdir()}
    assert len(list((tmp_path / "notebooks").glob("*.ipynb"))) == 10
    assert (tmp_path / "notebooks" / "WORKSHOP.md").exists()
    assert json.loads((tmp_path / "kinds.json").read_text()) == {MINE: "bench1"}
    assert MINE in (tmp_path / "INSTALL.txt").read_text()


def test_a_second_kind_of_machine_is_added(tmp_path: Path) -> None:
    (tmp_path / "kinds.json").write_text('{"Windows AMD64, Python 3.12": "bench1,fast"}')
    bundle.lay_out(tmp_path, "bench1")
    assert json.loads((tmp_path / "kinds.json").read_text()) == {
        MINE: "bench1",
        "Windows AMD64, Python 3.12": "bench1,fast",
    }


def test_the_learners_bundle_holds_no_solution(tmp_path: Path) -> None:
    bundle.lay_out(tmp_path, "bench1")  # what an earlier run left gives way
    bundle.lay_out(tmp_path, "bench1", without_solutions=True)
    names = {p.name for p in (tmp_path / "notebooks").iterdir()}
    assert "WORKSHOP.md" not in names
    assert {"GLOSSARY.md", "RECIPES.md", "pictures"} < names
    text = "".join(p.read_text(encoding="utf-8") for p in (tmp_path / "notebooks").glob("*.ipynb"))
    assert "The solution is in the facilitator's copy." in text
    assert "_solution" not in text


def test_another_machine_is_refused_with_the_nearest_fix() -> None:
    served = ["Linux x86_64, Python 3.9", "Linux x86_64, Python 3.12", "Windows AMD64, Python 3.11"]
    assert bundle_install.refusal(served[0], served) == ""
    why = bundle_install.refusal("Linux x86_64, Python 3.14", served)
    assert why.endswith("run it with Python 3.9 or 3.12, for example python3.12 install.py")
    assert bundle_install.refusal("Darwin arm64, Python 3.12", served).endswith("read the pages of `make book`")


def test_a_refusal_installs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kinds.json").write_text('{"Plan9 mips, Python 3.12": "bench1"}')
    assert bundle_install.main(tmp_path, []) == 1
    assert "the wheels are for Plan9 mips, Python 3.12" in capsys.readouterr().out
    assert not (tmp_path / ".venv").exists()


def test_wrong_use_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundle_install.main(tmp_path, ["--begin"]) == 2
    assert bundle_install.main(tmp_path, ["--start"]) == 1
    said = capsys.readouterr().out
    assert "unknown: --begin; allowed is --start, or nothing" in said
    assert "run this file without --start first" in said


@pytest.mark.long
def test_it_installs_and_runs_without_a_registry(tmp_path: Path) -> None:
    """The real thing: wheels, an empty environment, every way to a registry shut, a notebook and the command line."""
    out = tmp_path / "a stick with spaces"
    subprocess.run([sys.executable, str(bundle.__file__), str(out), "--learner"], check=True)
    (wheel,) = (out / "wheels").glob("labkit-*.whl")
    held = zipfile.ZipFile(wheel).namelist()
    assert "labkit/_data/prices.json" in held
    assert not [name for name in held if name.endswith(".ipynb")]

    nowhere = "http://127.0.0.1:9"
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "LABKIT_", "PYTHON"))}
    env |= {"HOME": str(tmp_path), "PIP_NO_INDEX": "1", "JUPYTER_CONFIG_DIR": str(tmp_path / "jupyter")}
    env |= dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), nowhere)
    done = subprocess.run([sys.executable, "install.py"], cwd=out, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " within their bounds" in done.stdout

    python = bundle_install.python_of(out / ".venv")
    run = {"cwd": out / "notebooks", "env": env, "capture_output": True, "text": True, "check": True}
    where = subprocess.run([python, "-c", "import labkit; print(labkit.__file__)"], **run).stdout
    assert Path(where.strip()).is_relative_to(out / ".venv")
    nbconvert = [python, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", str(tmp_path)]
    subprocess.run([*nbconvert, "00_start_here.ipynb", "07_bench1.ipynb"], **run)
    assert (tmp_path / "07_bench1.ipynb").exists()
    assert subprocess.run([python, "-m", "jupyterlab", "--version"], **run).stdout.startswith("4.")
