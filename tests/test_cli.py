"""The command line: JSON for programs, and one sentence for every bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from labkit import cli
from labkit.files import data_path

INVOICE = str(data_path("traces", "invoice-60.jsonl"))
SAMPLE = str(data_path("sessions", "sample"))
LINES = ["system", "tool_schemas", "retrieved_docs", "tool_output", "history", "scratchpad"]


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    status = cli.main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def test_replay_json_has_the_published_keys(capsys):
    status, out, _ = run(capsys, "replay", INVOICE, "--policy", "article", "--json")
    given = json.loads(out)
    assert status == 0
    assert {"context", "events", "totals", "naive_passes", "facts", "summary"} <= set(given)
    assert given["totals"]["cost with caching"]["managed"] == pytest.approx(1.597826, abs=1e-6)
    assert given["events"][0] == {"request": 12, "kind": "cleared", "messages": 8, "freed": 21903}
    assert list(given["context"]) == ["1", *map(str, range(5, 61, 5))]


def test_replay_prints_a_table(capsys):
    status, out, _ = run(capsys, "replay", INVOICE, "--policy", "article")
    assert status == 0
    for figure in ("5,856,377", "1,286,153", "212,592", "36,936", "17.71", "4.00", "1.60", "1.75"):
        assert figure in out


def test_audit_json_adds_up(capsys):
    status, out, _ = run(capsys, "audit", SAMPLE, "--json")
    given = json.loads(out)
    assert status == 0
    assert set(LINES) < set(given["lines_billed"])
    assert set(given["usage"]) >= {"uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output"}
    used = given["usage"]
    total = used["uncached"] + used["cache_read"] + used["cache_write_5m"] + used["cache_write_1h"]
    assert sum(given["lines_billed"].values()) == total
    for row in given["rows"]:
        assert sum(row[line] for line in given["lines_billed"]) == row["total"]


def test_audit_prints_a_table(capsys):
    status, out, _ = run(capsys, "audit", SAMPLE)
    assert status == 0
    assert "tool_output" in out or "tool output" in out


def test_doctor_pastes_one_line(capsys):
    status, out, _ = run(capsys, "doctor", "--paste")
    assert status == 0
    assert len(out.strip().splitlines()) == 1


def write(folder: Path, name: str, content: bytes) -> str:
    (folder / name).write_bytes(content)
    return str(folder / name)


@pytest.fixture
def bad(tmp_path) -> dict[str, list[str]]:
    (tmp_path / "empty folder").mkdir()
    binary = write(tmp_path, "photo.jsonl", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40)
    other = write(tmp_path, "other.jsonl", b'{"hello": "world"}\n')
    minus = write(tmp_path, "minus.json", b'{"keep": -1}')
    over = write(tmp_path, "over.json", b'{"trigger": 300000}')
    return {
        "missing file": ["replay", str(tmp_path / "nothing.jsonl")],
        "empty file": ["audit", write(tmp_path, "empty.jsonl", b"")],
        "blank file": ["audit", write(tmp_path, "blank.jsonl", b"\n\n  \n")],
        "folder without sessions": ["audit", str(tmp_path / "empty folder")],
        "binary file": ["audit", binary],
        "another format": ["replay", other],
        "only a torn line": ["audit", write(tmp_path, "torn.jsonl", b'{"type": "trace", "format": "lab')],
        "keep below 0": ["replay", INVOICE, "--policy", minus],
        "trigger over the window": ["replay", INVOICE, "--policy", over],
        "policy that is not JSON": ["replay", INVOICE, "--policy", write(tmp_path, "not.json", b"keep=3")],
        "policy that is a list": ["replay", INVOICE, "--policy", write(tmp_path, "list.json", b"[3]")],
        "unknown policy field": ["replay", INVOICE, "--policy", write(tmp_path, "typo.json", b'{"keeep": 3}')],
        "policy value of another type": ["replay", INVOICE, "--policy", write(tmp_path, "kind.json", b'{"keep": "3"}')],
        "unknown preset": ["replay", INVOICE, "--policy", "artcle"],
        "unknown model": ["replay", INVOICE, "--model", "claude-opus-99"],
        "a recorded session": ["replay", SAMPLE],
        "unknown command": ["replya", INVOICE],
        "no path": ["replay"],
    }


CASES = [
    "missing file",
    "empty file",
    "blank file",
    "folder without sessions",
    "binary file",
    "another format",
    "only a torn line",
    "keep below 0",
    "trigger over the window",
    "policy that is not JSON",
    "policy that is a list",
    "unknown policy field",
    "policy value of another type",
    "unknown preset",
    "unknown model",
    "a recorded session",
    "unknown command",
    "no path",
]


@pytest.mark.parametrize("case", CASES)
def test_bad_input_costs_one_sentence(case, bad, capsys):
    status, out, err = run(capsys, *bad[case])
    assert status == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert err.startswith("labkit: ")
    assert "Traceback" not in err


def test_sentences_name_what_was_given_and_the_nearest_fix(bad, capsys):
    assert "did you mean 'article'" in run(capsys, *bad["unknown preset"])[2]
    assert "did you mean 'keep'" in run(capsys, *bad["unknown policy field"])[2]
    assert re.search(r"trigger is 300,000.*at most 200,000", run(capsys, *bad["trigger over the window"])[2])
    assert "keep is -1" in run(capsys, *bad["keep below 0"])[2]
    assert "claude-opus-99" in run(capsys, *bad["unknown model"])[2]


def test_every_case_is_tried(bad):
    assert set(CASES) == set(bad)


def test_one_torn_line_costs_one_line(tmp_path, capsys):
    lines = Path(INVOICE).read_text(encoding="utf-8").splitlines()
    lines[5] = lines[5][: len(lines[5]) // 2]
    torn = tmp_path / "torn.jsonl"
    torn.write_text("\n".join(lines), encoding="utf-8")
    status, out, _ = run(capsys, "replay", str(torn), "--json")
    assert status == 0
    assert any("line 6" in w for w in json.loads(out)["warnings"])


def test_a_reader_that_leaves_early_is_no_error():
    command = f'"{sys.executable}" -m labkit.cli audit "{SAMPLE}" --json | head -c 10'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr


def test_without_a_command_it_says_what_it_can_do(capsys):
    status, out, err = run(capsys)
    assert (status, err) == (0, "")
    for command in ("replay", "audit", "whatif", "compare", "doctor"):
        assert re.search(rf"^\W*{command} ", out, re.M)


@pytest.mark.parametrize("more", [(), ("--json",), ("--full",)])
def test_a_stream_that_cannot_hold_every_character_gets_the_rest(tmp_path, more):
    given = Path(SAMPLE).glob("*.jsonl")
    session = tmp_path / "\u9054\u4eba.jsonl"
    session.write_text(
        next(given).read_text(encoding="utf-8").replace("claude-sonnet-4-6", "\u6a21\u578b"), encoding="utf-8"
    )
    for encoding in ("ascii", "cp1252"):
        done = subprocess.run(
            [sys.executable, "-m", "labkit.cli", "audit", str(session), *more],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        )
        assert (done.returncode, done.stderr) == (0, b"")
        if more == ("--json",):
            assert "\u6a21\u578b" in json.dumps(json.loads(done.stdout), ensure_ascii=False)
        else:
            assert b"40 requests" in done.stdout


def test_the_package_is_the_command_too() -> None:
    done = subprocess.run([sys.executable, "-m", "labkit", "formats"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Claude Code" in done.stdout
