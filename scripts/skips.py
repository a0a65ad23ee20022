"""Say which tests were skipped, and fail where a gap would hide something.

    python scripts/skips.py test-results

Exit status 1 when browser tests other than long variants were skipped, when real sessions exist but were
skipped, or when a report is missing, empty or skipped whole, so that a run that never happened does not
look like a good one.
"""

from __future__ import annotations

import os
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ("unit", "notebooks", "browser")
LONG = "long:"
"""How the reason of a long variant begins: it is left to ``make long``, and is no gap."""


def corpus_folder() -> Path:
    """Folder of real sessions: ``LABKIT_CORPUS``, or ``../shared/traces`` beside the repository."""
    return Path(os.environ.get("LABKIT_CORPUS") or ROOT.parent / "shared" / "traces")


def read_report(path: Path) -> tuple[int, list[tuple[str, str]]]:
    """Number of tests of one JUnit file, and the name and reason of each skipped one."""
    cases = list(ElementTree.parse(path).iter("testcase"))
    skipped = []
    for case in cases:
        for mark in case.findall("skipped"):
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            skipped.append((name, mark.get("message") or (mark.text or "").strip()))
    return len(cases), skipped


def gaps(results: Path, corpus_exists: bool) -> tuple[list[str], list[tuple[str, str]]]:
    """Reasons to fail, and all skipped tests."""
    faults: list[str] = []
    everything: list[tuple[str, str]] = []
    for report in REPORTS:
        path = results / f"junit-{report}.xml"
        try:
            count, skipped = read_report(path)
        except (OSError, ElementTree.ParseError) as error:
            faults.append(f"{path} cannot be read ({error}): the {report} tests did not run to their end")
            continue
        everything += skipped
        if count == 0:
            faults.append(f"{path} names no test: the {report} tests did not run")
        unseen = [reason for _, reason in skipped if not reason.startswith(LONG)]
        if report == "browser" and unseen:
            faults.append(f"{len(unseen)} browser tests were skipped: {unseen[0]}")
        if count and len(skipped) == count:
            faults.append(f"all {count} {report} tests were skipped: {skipped[0][1]}")
    without_corpus = [name for name, reason in everything if "no corpus" in reason]
    if corpus_exists and without_corpus:
        faults.append(f"{len(without_corpus)} tests skipped the real sessions although they exist")
    return faults, everything


def main(results: Path) -> int:
    """Print the gaps; return the exit status."""
    faults, skipped = gaps(results, corpus_folder().is_dir())
    for name, reason in skipped:
        print(f"skipped  {name}  ({reason})")
    for fault in faults:
        print(f"GAP      {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "test-results")))
