"""Recorded counts that are no numbers of tokens: every reader takes them as 0 and says so."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostile import places
from labkit.errors import LabError
from labkit.record.load import load
from labkit.record.trace import Trace, Usage

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
FORMATS = sorted(p.name for p in DATA.iterdir() if p.is_dir() and p.name != "conformance")
# Formats that hold no counts of tokens, and formats that write numbers as strings.
WITHOUT = {"aider", "iflow", "swe_agent"}
STRINGS = {"otel", "langfuse"}
COUNT = re.compile("token|cache|input|output|prompt|completion|thoughts|reasoning|^read$|^write$|^candidates$", re.I)
ODD: dict[str, Any] = {
    "negative": -5, "string": "12", "fraction": 1.5, "bool": True, "huge": 10**30, "nan": float("nan"), "list": [3],
}  # fmt: skip


def counted(trace: Trace) -> list[Usage | None]:
    return [r.usage for r in trace.requests] + [usage for child in trace.children for usage in counted(child)]


def said(trace: Trace) -> bool:
    return any("taken as 0" in w for w in trace.warnings) or any(said(child) for child in trace.children)


def lines(text: str) -> list[Any]:
    """The file as one document, or as lines of which those that are no JSON stay as they are."""
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(row) if row.startswith(("{", "[")) else row for row in text.split("\n")]


def files(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Each file, and what is to be read to read it: itself or its folder."""
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        for path in (file, folder):
            try:
                load(path)
            except LabError:
                continue
            yield file, path
            break


def damaged(file: Path, path: Path) -> Iterator[tuple[str, str, bool, Trace]]:
    """One count of each name replaced: its name, by what, whether it then counts as 0, and the Trace."""
    text = file.read_text(encoding="utf-8")
    values, before, seen = lines(text), counted(load(path)), set()

    def read(value: Any) -> Trace:
        holder[key] = value
        file.write_text("\n".join(v if isinstance(v, str) else json.dumps(v) for v in values), encoding="utf-8")
        return load(path)

    for holder, key in places(values):
        kept = holder[key]
        if type(kept) is not int or not kept or not isinstance(key, str) or key in seen or not COUNT.search(key):
            continue
        nothing = counted(read(0))
        if nothing != before:
            seen.add(key)
            for kind, odd in ODD.items():
                trace = read(odd)
                yield key, kind, counted(trace) == nothing, trace
        holder[key] = kept
    file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_a_count_that_is_none_is_zero_and_said(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(DATA / name, folder)
    found = [
        (f"{file.name}: {key} {kind}", zero, said(trace))
        for file, path in files(folder)
        for key, kind, zero, trace in damaged(file, path)
        if kind != "string" or name not in STRINGS
    ]
    assert [row for row in found if row[1:] != (True, True)] == []
    assert bool(found) != (name in WITHOUT)


def test_so_in_a_session_of_claude_code(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "data" / "sessions" / "sample", tmp_path / "s")
    file = next((tmp_path / "s").glob("*.jsonl"))
    file.write_text("\n".join(file.read_text(encoding="utf-8").splitlines()[:30]), encoding="utf-8")
    found = list(damaged(file, file))
    assert {"input_tokens", "cache_read_input_tokens", "output_tokens"} <= {key for key, _, _, _ in found}
    assert [(key, kind) for key, kind, zero, trace in found if not said(trace)] == []
