"""The command line's tables: they fit 80 columns, their numbers are right, and a session's text is only text."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import pytest
from rich.console import Console

import labkit as lk
from labkit.doctor import Check
from labkit.record.trace import Block, Request, Trace, Usage
from labkit.replay.compare import compare
from labkit.show.report import audit_report, doctor_report, replay_report


def printed(renderable: Any, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(renderable)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    return "\n".join(lines)


@pytest.fixture(scope="module")
def run() -> Trace:
    return lk.load(lk.data_path("traces", "invoice-60.jsonl"))


def test_replay_shows_the_published_totals_on_one_screen(run: Trace) -> None:
    text = printed(replay_report(compare(run, lk.load_policy("article"))))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "input tokens, all turns 5,856,377 1,286,153 22 %" in lines
    assert "cost with caching $2.63 $1.60 61 %" in lines
    assert "60 212,592 20,965" in lines
    assert "request 59: compacted 108 messages (-9,734)" in lines
    assert "Prices: article, as of 2026-11-30" in text
    assert len(lines) <= 45


def test_numbers_stand_below_each_other(run: Trace) -> None:
    lines = printed(replay_report(compare(run, lk.load_policy("article")))).splitlines()
    rows = [line for line in lines if line.startswith(("input tokens", "peak context", "tokens prefilled"))]
    assert len({len(line) for line in rows}) == 1


def test_many_events_are_cut_and_counted(run: Trace) -> None:
    comparison = compare(run, lk.Policy(trigger=3_000, floor=0, keep=0, compact_above=None))
    text = printed(replay_report(comparison))
    assert f"... and {len(comparison.managed.events) - 15} more; --json has all" in text


def session(tool: str = "Bash") -> Trace:
    blocks = (
        Block("text", "user", "word " * 100, request=1),
        Block("result", "tool", "word " * 300, request=2, tool=tool, args="[/bold] x"),
    )
    requests = (
        Request(1, usage=Usage(uncached=1_000, output=5)),
        Request(2, usage=Usage(uncached=100, cache_read=1_000, cache_write_5m=300, output=6)),
    )
    child = Trace("helper", (), (Request(1, usage=Usage(uncached=70)),), kind="subagent")
    return Trace("made up", blocks, requests, children=(child,), warnings=tuple(f"line {i} is torn" for i in range(9)))


def test_audit_adds_up_and_keeps_children_apart() -> None:
    lines = [" ".join(line.split()) for line in printed(audit_report(lk.audit(session()))).splitlines()]
    assert "All 2,400 1,400" in lines
    assert "Main thread 1,100 1,000 300 11" in lines
    assert "Subagents, apart (1) 70 0 0 0" in lines
    assert any(line.startswith("... and ") and line.endswith("more notes; --json has all") for line in lines)


def test_text_of_a_session_is_no_markup() -> None:
    text = printed(audit_report(lk.audit(session("[bold]rm[/bold]"))))
    assert "[bold]rm[/bold]" in text


def test_the_doctor_says_what_to_mend() -> None:
    found = [Check("python", True, "3.12"), Check("data", False, "missing [x]", "git checkout -- data")]
    text = printed(doctor_report(found))
    assert "WRONG" in text
    assert "missing [x]" in text
    assert "to mend: git checkout -- data" in text
    assert text.endswith("1 thing to mend; begin with the first.")
    assert printed(doctor_report(found[:1])).endswith("The lab is fit to use.")


def test_tables_do_without_plotly() -> None:
    code = "import sys, labkit.show.report; print(sorted({'plotly', 'ipywidgets'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
