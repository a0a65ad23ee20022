"""Run the blocks of notebooks/RECIPES.md and compare what they print with what the page says.

    python scripts/recipes.py [--write]

Blocks marked ``python`` run one after the other, with one set of names a recipe; a block marked ``sh`` holds
commands of labkit. The block marked ``text`` that follows is what they print. ``--write`` puts the new output there.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labkit import cli

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "notebooks" / "RECIPES.md"
BLOCK = re.compile(r"(?ms)^```(\w+)\n(.*?)^```$")


def recipes(text: str) -> dict[str, str]:
    """Title and text of each recipe."""
    parts = re.split(r"(?m)^## (.+)$", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def shell(block: str) -> None:
    """Run lines that call ``labkit``, in this process."""
    for line in block.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line, comments=True) or [""]
        if not program:
            continue
        if program != "labkit":
            raise ValueError(f"{line!r}: a recipe's commands are those of labkit")
        if status := cli.main(arguments):
            raise RuntimeError(f"{line!r} ended with {status}")


@contextlib.contextmanager
def elsewhere() -> Iterator[None]:
    """A folder of its own, so that a recipe may write files."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="recipes-") as folder:
        shutil.copytree(ROOT / "data" / "sessions", Path(folder) / "data" / "sessions")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def run(recipe: str) -> str:
    """The recipe with what its blocks print now."""
    names: dict[str, Any] = {"__name__": "recipe"}
    printed = ""

    def turn(match: re.Match[str]) -> str:
        nonlocal printed
        kind, block = match.groups()
        if kind == "text":
            return f"```text\n{printed}```"
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            if kind == "python":
                exec(compile(block, "recipe", "exec"), names)
            elif kind == "sh":
                shell(block)
        printed = "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
        return match[0]

    with elsewhere():
        return BLOCK.sub(turn, recipe)


def main() -> int:
    """Run all of them; return 1 if something was printed that the page does not say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put what was printed into the page")
    options = parser.parse_args()
    old = new = PAGE.read_text(encoding="utf-8")
    for recipe in recipes(old).values():
        new = new.replace(recipe, run(recipe))
    if options.write:
        PAGE.write_text(new, encoding="utf-8")
    print("as the page says" if new == old else "the page is written anew" if options.write else "not as the page says")
    return int(new != old and not options.write)


if __name__ == "__main__":
    sys.exit(main())
