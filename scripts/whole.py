"""Say which installed packages have lost files, a line each, as pip writes them: ``name==version``.

    python scripts/whole.py

The set-up asks it before it trusts an installation that was finished once. It reads what pip wrote down and looks
whether the files are there; it imports nothing. A package whose record is gone is named without a version.
"""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, distributions


def broken(path: Sequence[str]) -> list[str]:
    """Packages below ``path`` that have lost files, and those that are needed and not there."""
    found = {_key(d.metadata["Name"]): d for d in distributions(path=list(path)) if d.metadata["Name"]}
    lost = [f"{name}=={found[name].version}" for name in sorted(found) if any(_lost(found[name]))]
    # What is needed only under a condition, such as an extra, is left to pip.
    needed = {_key(text) for d in found.values() for text in d.requires or () if ";" not in text}
    return lost + sorted((needed | {"labkit"}) - found.keys())


def _lost(distribution: Distribution) -> Iterator[str]:
    base = str(distribution.locate_file(""))
    for row in csv.reader((distribution.read_text("RECORD") or "").splitlines()):
        # Compiled files come and go.
        if row and "__pycache__" not in row[0] and not os.path.exists(os.path.join(base, row[0])):
            yield row[0]


def _key(name: str) -> str:
    """The name of a requirement or package, as all spellings of it are compared."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", name.strip())[0]).lower()


if __name__ == "__main__":
    print("\n".join(broken([p for p in sys.path if p.endswith("site-packages")])))
