"""The README: pictures that are there, small and described, and commands that exist."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from typer.main import get_command

import pictures
from labkit import cli

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", TEXT))


def test_each_picture_is_described_small_and_made_by_the_script() -> None:
    assert sorted(SHOWN.values()) == sorted(f"notebooks/pictures/{name}.png" for name in pictures.PICTURES)
    assert {path.name for path in pictures.OUT.iterdir()} == {f"{name}.png" for name in pictures.PICTURES}
    for words, place in SHOWN.items():
        data = (ROOT / place).read_bytes()
        width, height = struct.unpack(">II", data[16:24])
        assert len(data) < pictures.LIMIT, place
        assert data[:4] == b"\x89PNG" and 600 <= width <= 1280 and 300 <= height <= 720, place
        assert len(words) > 80, place


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"[^!]\[[^\]]*\]\(([^)#]+)\)", TEXT):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_every_make_target_is_told_and_there() -> None:
    made = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"))) - {"help"}
    assert set(re.findall(r"`make ([a-z]+)", TEXT)) == made


def test_every_command_is_told_and_there() -> None:
    table = TEXT.partition("## The command line")[2].partition("\n## ")[0]
    assert set(re.findall(r"(?m)^\| `labkit (\w+)", table)) == set(get_command(cli.app).commands)  # type: ignore[attr-defined]


def installs(text: str) -> list[tuple[str, str]]:
    """What each call of pip installs, and from which ready-made wheels only."""
    found = []
    for line in text.splitlines():
        if extras := re.search(r"""install\b.*-e ['"]?\.(?:\[([\w,]+)\])?""", line):
            only = re.search(r"--only-binary (\S+)", line)
            found.append((extras[1] or "", only[1] if only else ""))
    return found


def test_powershell_installs_what_make_does() -> None:
    windows = TEXT.partition("### Windows")[2].partition("\n## ")[0]
    shell = (ROOT / "scripts" / "setup.sh").read_text(encoding="utf-8")
    assert len(installs(windows)) == 4
    assert installs(windows) == installs(shell)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for words in ("jupyterlab --ip=127.0.0.1", "00_start_here.ipynb", "check.py"):
        assert words in windows and words in makefile, words


def test_conda_gets_what_make_does() -> None:
    conda = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert "-e .[bench1]" in conda and "numba" in conda  # the bounds are compared in test_environment
    told = TEXT.partition("### conda")[2].partition("###")[0]
    assert "conda env create -f environment.yml" in told
    assert re.search(r"(?m)^name: (.+)$", conda)[1] in told  # type: ignore[index]
