"""What must not stand in the repository, and what must."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Written in pieces so that this file does not find itself.
PRIVATE = re.compile(
    "|".join(
        (
            "/wor" + r"k/(main|shared|steering|\.)",
            "/tmp/ba" + "sh_jobs",
            "/tmp/br" + "ief",
            "/opt/(py" + "pi|whe" + "els)",
            "/etc/xd" + "g/pip",
            "/ro" + r"ot/\.",
        )
    )
)
KEY = re.compile("sk-" + r"(ant|proj)-[A-Za-z0-9_-]{20,}")
SKIP_SUFFIXES = {".png", ".gif", ".ico", ".woff2"}


def files() -> list[Path]:
    """Files of the repository: tracked, and new ones that are not ignored."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
        )
        names = [n for n in done.stdout.decode().split("\0") if n]
    except (OSError, subprocess.CalledProcessError):  # an archive without git
        skip = {".venv", ".git", "test-results", "build", "dist"}
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if not skip & set(p.relative_to(ROOT).parts)]
    return [ROOT / n for n in names if (ROOT / n).is_file()]


def text_of(path: Path) -> str:
    if path.suffix in SKIP_SUFFIXES or path.parent.name == "tokenizers":
        return ""
    return path.read_text(encoding="utf-8", errors="replace")


def faults(text: str) -> list[str]:
    return [m[0] for pattern in (PRIVATE, KEY) for m in pattern.finditer(text)]


def test_no_path_of_a_private_machine_and_no_key() -> None:
    found = {str(p.relative_to(ROOT)): faults(text_of(p)) for p in files()}
    assert {name: what for name, what in found.items() if what} == {}


def test_the_check_can_fail() -> None:
    assert faults("see /wor" + "k/main/x and /opt/py" + "pi/simple") != []
    assert faults("key sk-" + "ant-" + "a" * 30) != []
    assert faults("a path /work/app/main.py of a made-up session") == []


def notebooks() -> list[Path]:
    return [p for p in files() if p.suffix == ".ipynb"]


def test_no_widget_state_in_notebooks() -> None:
    for path in notebooks():
        assert "widgets" not in json.loads(path.read_text(encoding="utf-8"))["metadata"], path


def unlisted(readme: str, names: list[str]) -> list[str]:
    """Data files that the list of origins names neither by file nor by folder."""
    listed = set(re.findall(r"`([^`]+)`", readme))
    folders = tuple(entry for entry in listed if entry.endswith("/"))
    return [n for n in names if n not in listed and not n.startswith(folders)]


def test_every_data_file_is_listed_with_its_origin() -> None:
    data = ROOT / "data"
    if not (data / "README.md").exists():
        pytest.fail("data/README.md is missing: it lists origin, licence, date and command of each file")
    names = [p.relative_to(data).as_posix() for p in files() if data in p.parents and p.name != "README.md"]
    assert names
    assert unlisted((data / "README.md").read_text(encoding="utf-8"), names) == []


def test_the_list_check_can_fail() -> None:
    assert unlisted("| `a.json` | `sessions/` |", ["a.json", "sessions/x.jsonl", "b.json"]) == ["b.json"]


def test_nothing_is_large() -> None:
    """The tokenizer is the one large file; everything else can be cloned over a hotel's network."""
    large = {p.relative_to(ROOT).as_posix(): p.stat().st_size for p in files() if p.stat().st_size > 1_500_000}
    assert set(large) <= {"data/tokenizers/fb374d419588a4632f3f557e76b4b70aebbca790"}
