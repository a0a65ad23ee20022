"""``labkit handoff``: one record, written or printed, and two side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit import cli
from labkit.files import data_path
from labkit.handoff.store import JsonStore
from labkit.ladder.artifact import Artifact, check_evidence
from labkit.ladder.artifact_text import parse
from labkit.record.load import load

INVOICE = str(data_path("traces", "invoice-60.jsonl"))
SUPPORT = str(data_path("traces", "support-40.jsonl"))
SAMPLE = str(data_path("sessions", "sample"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["handoff", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_markdown_and_json_are_the_same_record(capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = run(capsys, INVOICE, "--at", "30", "--markdown")
    again, plain, _ = run(capsys, INVOICE, "--at", "30", "--json")
    assert status == again == 0
    record = Artifact.from_json(plain)
    assert parse(text.rstrip("\n")) == record
    assert run(capsys, INVOICE, "--at", "30")[1] == text
    assert [d.id for d in record.decisions] == ["D-01", "D-02"] and len(record.completed) == 1
    assert len(record.open) == 2


def test_a_session_whose_results_were_cleared_keeps_its_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    record = Artifact.from_json(run(capsys, SAMPLE, "--json")[1])
    assert len(record.completed) == 5
    assert all(c.evidence.digest for c in record.completed)
    assert check_evidence(record, load(SAMPLE)) == ()


def test_written_once_kept_in_its_history_and_no_foreign_file_touched(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "handoff.json"
    status, out, said = run(capsys, INVOICE, "--at", "30", "--out", str(file))
    assert (status, out, said) == (0, "", f"wrote {file}\n")
    first = JsonStore(file).read()
    said = run(capsys, INVOICE, "--out", str(file))[2]
    assert said == f"wrote {file}; the record before it is in its history, with 1 in all\n"
    assert [v.artifact for v in JsonStore(file).history()] == [first]
    status, out, said = run(capsys, INVOICE, "--out", str(file), "--json")
    assert said == f"{file} holds this record already\n"
    assert Artifact.from_json(out) == JsonStore(file).read()
    file.write_text("another program's")
    status, _, said = run(capsys, INVOICE, "--out", str(file))
    assert status == 2 and "the record is not JSON" in said
    assert file.read_text() == "another program's"


def test_two_side_by_side(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A record and the session it was made from, a run with one decision changed, and the same twice."""
    file, other = tmp_path / "handoff.json", tmp_path / "other.jsonl"
    run(capsys, INVOICE, "--out", str(file))
    assert run(capsys, "--diff", str(file), INVOICE)[:2] == (0, "no difference\n")
    text = Path(INVOICE).read_text(encoding="utf-8")
    other.write_text(text.replace("with ROUND_HALF_EVEN in", "with ROUND_HALF_UP in"), encoding="utf-8")
    status, out, _ = run(capsys, "--diff", INVOICE, str(other))
    assert status == 0
    assert out.splitlines() == [
        (
            "~ decision: round once, at the invoice total, with ROUND_HALF_EVEN in src/billing/money.py -> "
            "round once, at the invoice total, with ROUND_HALF_UP in src/billing/money.py"
        )
    ]
    (change,) = json.loads(run(capsys, "--diff", INVOICE, str(other), "--json")[1])["changes"]
    assert change["about"] == "decision" and "HALF_EVEN" in change["before"] and "HALF_UP" in change["after"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([INVOICE, "--at", "61"], "--at is 61: "),
        ([INVOICE, "--at", "0"], "has 60 requests, so give 1 to 60"),
        ([INVOICE, SUPPORT], "2 paths are given: give one, or --diff and two"),
        (["--diff", INVOICE], "--diff with 1 paths: give two"),
        (["--diff", INVOICE, SUPPORT, "--at", "3"], "--at and --out are for one session"),
        ([INVOICE, "--json", "--markdown"], "--markdown and --json are given"),
        (["nowhere.jsonl"], "nowhere.jsonl does not exist"),
    ],
)
def test_what_cannot_be_done_is_said(capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert sentence in err
