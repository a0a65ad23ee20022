"""The results file of hand off or compact on recorded sessions is what its script gives."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def script(root: Path) -> Any:
    spec = importlib.util.spec_from_file_location("handoffs", root / "scripts" / "handoffs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kept(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "data" / "results" / "handoffs.json").read_text(encoding="utf-8"))
    return found


def test_its_hash_holds_and_it_names_no_session(script: Any, kept: dict[str, Any]) -> None:
    assert kept["hash"] == script.content_hash(kept)
    assert kept["hash"] != script.content_hash({**kept, "above": 1})
    assert {key for row in kept["rows"] for key in row} == {"sha256", "format", "requests", "compact", "hand off"}


def test_two_sessions_give_the_same_again(script: Any, kept: dict[str, Any], corpus: Path) -> None:
    rows = {row["sha256"]: row for row in kept["rows"]}
    again = 0
    for file in sorted((corpus / "claude-code").glob("entire-m*.jsonl")):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        if digest in rows and again < 2:
            assert script.row(file, kept["above"]) == rows[digest]
            again += 1
    assert again == 2


def test_what_cannot_be_replayed_is_left_out(script: Any, root: Path, tmp_path: Path) -> None:
    assert script.row(root / "data" / "traces" / "invoice-60.jsonl", 60_000) == "some requests have no recorded usage"
    (tmp_path / "x.jsonl").write_text("no session\n")
    assert "not in a format" in script.row(tmp_path / "x.jsonl", 60_000)
    assert script.main([str(tmp_path)]) == 1
