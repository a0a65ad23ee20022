"""Run every check in order and print a table of names, seconds and results.

    python scripts/check.py [--only NAME ...] [--fail-fast]

The names are those of the table. ``LABKIT_LONG=1`` runs the long variants. Reports for machines go to
``test-results``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "test-results"
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "browser")]

import chromium  # noqa: E402
import skips  # noqa: E402


@dataclass(frozen=True)
class Step:
    """One command of the check; the interpreter is put in front.

    A step ``beside`` others runs while the tests do, on another core, and prints when they are done.
    """

    name: str
    args: tuple[str, ...]
    beside: bool = False
    env: dict[str, str] = field(default_factory=dict)


def pytest(report: str, *args: str) -> tuple[str, ...]:
    """Arguments of a pytest run that leaves a JUnit file."""
    return ("-m", "pytest", "-q", "-rs", f"--junit-xml={RESULTS / f'junit-{report}.xml'}", *args)


def steps() -> list[Step]:
    """Everything that must hold, cheapest first."""
    # -p no:python collects notebooks only; warnings of a kernel are no business of pytest's own filter.
    nbval = ("--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=120", "-p", "no:python", "-W", "default")
    return [
        Step("lint", ("-m", "ruff", "check", ".")),
        Step("format", ("-m", "ruff", "format", "--check", ".")),
        Step("types", ("-m", "mypy", "--strict", "labkit"), beside=True),
        Step("notebooks", pytest("notebooks", *nbval, "notebooks"), beside=True),
        Step("tests", pytest("unit", "--continue-on-collection-errors", "--durations=8", "tests", "labkit")),
        Step("browser", pytest("browser", "tests/browser")),
    ]


def run(step: Step, env: dict[str, str]) -> tuple[bool, float]:
    """Run one step, in the open unless it is beside others; return whether it passed and its seconds."""
    head = f"\n--- {step.name}: python {' '.join(step.args)}"
    command, environment = [sys.executable, *step.args], {**os.environ, **env, **step.env}
    began = time.monotonic()
    if step.beside:
        pipe = subprocess.PIPE
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=pipe, stderr=subprocess.STDOUT)
        print(f"{head}\n{done.stdout.decode(errors='replace')}", end="", flush=True)
    else:
        print(head, flush=True)
        done = subprocess.run(command, cwd=ROOT, env=environment)
    return done.returncode == 0, time.monotonic() - began


def main() -> int:
    """Run the steps; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [step.name for step in steps()]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--fail-fast", action="store_true", help="stop at the first step that fails")
    options = parser.parse_args()

    if set(options.only) == set(names):
        shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(exist_ok=True)
    table: list[tuple[str, float, str]] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="context-lab-") as home:
        # A learner's own Jupyter settings, and progress, have no part in a check.
        env = {
            "JUPYTER_CONFIG_DIR": f"{home}/config",
            "JUPYTER_DATA_DIR": f"{home}/data",
            "JUPYTER_RUNTIME_DIR": f"{home}/runtime",
            "IPYTHONDIR": f"{home}/ipython",
            "LABKIT_HOME": f"{home}/labkit",
        }
        chosen = [step for step in steps() if step.name in options.only]
        with ThreadPoolExecutor(max_workers=1) as other_core:
            aside = [(step, other_core.submit(run, step, env)) for step in chosen if step.beside]
            for step in chosen:
                if step.beside:
                    continue
                if step.name == "browser":
                    wait(job for _, job in aside)  # a browser wants the machine to itself
                    path = chromium.find(install=True)
                    if path:
                        env["LABKIT_CHROMIUM"] = path
                good, seconds = run(step, env)
                table.append((step.name, seconds, "passed" if good else "FAILED"))
                if not good and options.fail_fast:
                    break
            for step, job in aside:
                good, seconds = job.result()
                table.append((step.name, seconds, "passed" if good else "FAILED"))

    print("\n" + "-" * 40)
    for name, seconds, result in table:
        print(f"{name:<12}{seconds:>9.1f} s   {result}")
    print(f"{'all':<12}{time.monotonic() - began:>9.1f} s")
    report_skips()
    return 0 if all(result == "passed" for _, _, result in table) else 1


def report_skips() -> None:
    """Leave the skipped tests in a file, and say loudly when the browser was one of them."""
    skipped = []
    for report in skips.REPORTS:
        path = RESULTS / f"junit-{report}.xml"
        if path.exists():
            skipped += skips.read_report(path)[1]
    (RESULTS / "skipped").write_text("".join(f"{name}\t{reason}\n" for name, reason in skipped), encoding="utf-8")
    if skipped:
        print(f"{len(skipped)} tests were skipped; test-results/skipped names them.")
    if any("no browser" in reason for _, reason in skipped):
        print("*** The browser tests did NOT run: no Chromium was found and none could be installed. ***")
        print("*** Install Chromium or Chrome, or set LABKIT_CHROMIUM to its path.                     ***")


if __name__ == "__main__":
    sys.exit(main())
