"""The set-up: what a fresh machine meets, what a second run does, and that no gap stays silent."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import bundle_install
import skips
import whole

ROOT = Path(__file__).resolve().parent.parent
posix = pytest.mark.skipif(os.name == "nt", reason="a POSIX shell")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A checkout with nothing but what the set-up reads."""
    folder = tmp_path / "a lab with spaces"
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup.sh", folder / "scripts")
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def setup(folder: Path, want: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the set-up with a path that holds only what a test put there, and the few tools it calls."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("sh", "cat", "cksum", "ls", "mkdir", "rm"):
        if not (tools / name).exists():
            (tools / name).symlink_to(shutil.which(name) or "")
    command = [str(tools / "sh"), "scripts/setup.sh", want]
    return subprocess.run(command, cwd=folder, env={"PATH": str(tools), **env}, capture_output=True, text=True)


@posix
def test_no_python_is_said_in_words(fresh: Path) -> None:
    done = setup(fresh, "lab")
    assert done.returncode == 1
    assert done.stdout.startswith("No Python 3.11 or newer was found")
    assert "make lab PYTHON=" in done.stdout
    assert done.stderr == ""


@posix
def test_an_old_python_is_passed_over(fresh: Path) -> None:
    script(fresh / "tools" / "python3", "#!/bin/sh\nexit 1\n")
    assert setup(fresh, "lab").stdout.startswith("No Python 3.11 or newer was found")


@posix
def test_a_python_without_venv_is_named(fresh: Path) -> None:
    script(fresh / "tools" / "python3", '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\n')
    done = setup(fresh, "lab")
    assert done.returncode == 1
    assert "without the venv module" in done.stdout
    assert "apt install python3-venv" in done.stdout


@posix
def test_a_given_python_that_does_not_fit_is_named(fresh: Path) -> None:
    assert "PYTHON=/nowhere/python is not a Python 3.11" in setup(fresh, "lab", PYTHON="/nowhere/python").stdout


@posix
def test_a_folder_that_is_no_environment_is_left_alone(fresh: Path) -> None:
    keep = fresh / ".venv" / "thesis.txt"
    keep.parent.mkdir()
    keep.write_text("mine")
    done = setup(fresh, "lab", PYTHON=sys.executable)
    assert done.returncode == 1
    assert "is no virtual environment" in done.stdout
    assert keep.read_text() == "mine"


# Stands for the environment's Python: it notes each installation, and fails those a test names.
FAKE = """#!/bin/sh
case "$*" in
  *"pip --version"*) exit 0 ;;
  *"pip install"*) echo "$*" >>"$NOTES"; case "$*" in *"$FAIL"*) echo 'no such thing' >&2; exit 1 ;; esac ;;
esac
"""


@posix
def test_second_run_installs_nothing_and_a_changed_project_does(fresh: Path, tmp_path: Path) -> None:
    script(fresh / ".venv" / "bin" / "python", FAKE)
    notes = tmp_path / "notes"
    env = {"NOTES": str(notes), "FAIL": "nothing fails"}
    assert setup(fresh, "test", **env).returncode == 0
    first = notes.read_text().splitlines()
    assert len(first) == 4, first
    assert first[0].endswith(" -e .")
    assert "--only-binary numba,llvmlite,numpy" in first[1]
    assert "--only-binary tree-sitter" in first[2] and first[2].endswith("-e .[bench1]")
    assert first[3].endswith("-e .[test,live,bench1,scale]")

    again = setup(fresh, "test", **env)
    assert (again.returncode, again.stdout, notes.read_text().splitlines()) == (0, "", first)
    assert setup(fresh, "lab", **env).stdout == ""

    with (fresh / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    setup(fresh, "lab", **env)
    assert len(notes.read_text().splitlines()) == 7


@posix
@pytest.mark.parametrize(("extra", "said"), [("fast", "No ready-made numba"), ("bench1", "all but notebook 07 works")])
def test_the_lab_works_without_an_extra(fresh: Path, tmp_path: Path, extra: str, said: str) -> None:
    script(fresh / ".venv" / "bin" / "python", FAKE)
    done = setup(fresh, "lab", NOTES=str(tmp_path / "notes"), FAIL=f"[{extra}]")
    assert done.returncode == 0
    assert said in done.stdout
    assert (fresh / ".venv" / ".done-lab").exists()


@posix
def test_jupyterlab_is_set_up_as_in_a_bundle(fresh: Path, tmp_path: Path) -> None:
    """No question about news, and no line of code cut off."""
    script(fresh / ".venv" / "bin" / "python", FAKE)
    assert setup(fresh, "lab", NOTES=str(tmp_path / "notes"), FAIL="nothing fails").returncode == 0
    (written,) = (fresh / ".venv").rglob("overrides.json")
    assert json.loads(written.read_text()) == bundle_install.SETTINGS


@posix
def test_a_failed_installation_is_tried_again(fresh: Path, tmp_path: Path) -> None:
    script(fresh / ".venv" / "bin" / "python", FAKE)
    env = {"NOTES": str(tmp_path / "notes"), "FAIL": "-e ."}
    done = setup(fresh, "lab", **env)
    assert done.returncode == 1
    assert "The installation failed" in done.stdout
    assert not (fresh / ".venv" / ".done-lab").exists()


def package(site: Path, name: str, *files: str, needs: str = "") -> Path:
    """An installed package, as far as its record goes; the files lie in a folder of its name."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    needs = f"Requires-Dist: {needs}\n" if needs else ""
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}")
    for file in files:
        path = site / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    names = [f"{name}/{file}" for file in (*files, "__pycache__/never.pyc")]
    (info / "RECORD").write_text("".join(f'"{file}",,\n' for file in names))
    return site / name


def test_lost_files_and_packages_are_named(tmp_path: Path) -> None:
    package(tmp_path, "labkit", "a.py", needs="Plot_Ly>=6,<8")
    plotly = package(tmp_path, "plot.ly", "a.py", "b,c.py", needs='other; extra == "never"')
    assert whole.broken([str(tmp_path)]) == []
    (plotly / "b,c.py").unlink()
    assert whole.broken([str(tmp_path)]) == ["plot-ly==1.0"]
    shutil.rmtree(tmp_path / "plot.ly-1.0.dist-info")
    assert whole.broken([str(tmp_path)]) == ["plot-ly"]
    shutil.rmtree(tmp_path / "labkit-1.0.dist-info")
    assert whole.broken([str(tmp_path)]) == ["labkit"]


@posix
def test_a_broken_installation_is_mended(fresh: Path, tmp_path: Path) -> None:
    lost = 'case "$*" in *whole.py*) printf "plotly==6.3.0\\nlabkit==0.1.0\\nrich\\n"; exit 0 ;; esac\n'
    python = script(fresh / ".venv" / "bin" / "python", FAKE)
    notes = tmp_path / "notes"
    env = {"NOTES": str(notes), "FAIL": "nothing fails"}
    assert setup(fresh, "lab", **env).returncode == 0
    notes.unlink()

    script(python, FAKE.replace("#!/bin/sh\n", f"#!/bin/sh\n{lost}"))
    done = setup(fresh, "lab", **env)
    assert done.returncode == 0, done.stderr
    assert "Mending .venv: plotly==6.3.0 labkit==0.1.0 rich" in done.stdout
    first, *rest = notes.read_text().splitlines()
    assert first.endswith("--force-reinstall --no-deps plotly==6.3.0")
    assert [line.endswith(" -e .") for line in rest] == [True, False, False]

    done = setup(fresh, "lab", **{**env, "FAIL": "plotly"})
    assert done.returncode == 1
    assert "plotly==6.3.0 could not be installed" in done.stdout


@posix
@pytest.mark.long
def test_a_real_installation_is_mended(tmp_path: Path) -> None:
    """A lost package, a lost link to Python, a lost record and a half installed project; it needs a registry."""
    folder = tmp_path / "checkout"
    ignore = shutil.ignore_patterns(".*", "build", "dist", "test-results", "__pycache__")
    shutil.copytree(ROOT, folder, ignore=ignore)
    env = {key: value for key, value in os.environ.items() if not key.startswith("LABKIT_")}
    env["PYTHON"] = sys.executable
    python = folder / ".venv" / "bin" / "python"

    def again() -> str:
        done = subprocess.run(["sh", "scripts/setup.sh", "lab"], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        look = subprocess.run([python, "-m", "labkit.cli", "doctor", "--paste"], capture_output=True, text=True)
        assert look.returncode == 0 and " within their bounds" in look.stdout, look.stderr
        return done.stdout

    def site() -> Path:
        (found,) = (folder / ".venv" / "lib").glob("python*/site-packages")
        return found

    again()
    assert again() == ""
    shutil.rmtree(site() / "plotly")
    assert "Mending .venv: plotly==" in again()
    for link in python.parent.glob("python*"):
        link.unlink()
    assert "Making .venv" in again()
    for info in site().glob("rich-*.dist-info"):
        shutil.rmtree(info)
    assert "Mending .venv: rich\n" in again()
    (folder / ".venv" / ".done-lab").unlink()
    for info in site().glob("labkit-*.dist-info"):
        shutil.rmtree(info)
    shutil.rmtree(site() / "pandas")
    assert "Mending .venv: pandas==" in again()
    assert again() == ""


def report(folder: Path, name: str, cases: str) -> None:
    (folder / f"junit-{name}.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")


def skipped(reason: str) -> str:
    return f'<testcase classname="a" name="b"><skipped message="{reason}"/></testcase>'


GOOD = '<testcase classname="a" name="good"/>'


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    for name in skips.REPORTS:
        report(tmp_path, name, GOOD)
    return tmp_path


def test_a_whole_run_has_no_gap(reports: Path) -> None:
    assert skips.gaps(reports, corpus_exists=True) == ([], [])


def test_a_skipped_browser_is_a_gap(reports: Path) -> None:
    report(reports, "browser", GOOD + skipped("no browser: none"))
    assert skips.gaps(reports, corpus_exists=False)[0] == ["1 browser tests were skipped: no browser: none"]


def test_a_long_variant_in_the_browser_is_no_gap(reports: Path) -> None:
    report(reports, "browser", GOOD + skipped("long: runs with LABKIT_LONG=1"))
    assert skips.gaps(reports, corpus_exists=True)[0] == []
    report(reports, "browser", skipped("long: runs with LABKIT_LONG=1"))
    assert skips.gaps(reports, corpus_exists=True)[0] == [
        "all 1 browser tests were skipped: long: runs with LABKIT_LONG=1"
    ]


def test_skipped_sessions_are_a_gap_only_where_they_exist(reports: Path) -> None:
    report(reports, "unit", GOOD + skipped("no corpus: set LABKIT_CORPUS"))
    assert skips.gaps(reports, corpus_exists=True)[0] == ["1 tests skipped the real sessions although they exist"]
    assert skips.gaps(reports, corpus_exists=False)[0] == []


def test_other_skips_are_listed_and_are_no_gap(reports: Path) -> None:
    report(reports, "unit", GOOD + skipped("long: runs with LABKIT_LONG=1"))
    assert skips.gaps(reports, corpus_exists=True) == ([], [("a::b", "long: runs with LABKIT_LONG=1")])


def test_a_report_that_is_missing_broken_or_empty_is_a_gap(reports: Path) -> None:
    (reports / "junit-unit.xml").unlink()
    (reports / "junit-browser.xml").write_text("<testsu")
    report(reports, "notebooks", "")
    faults = skips.gaps(reports, corpus_exists=False)[0]
    assert len(faults) == 3
    assert skips.main(reports) == 1
