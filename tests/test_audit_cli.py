"""The audit as people meet it: the first screen, the page, the list, two sessions side by side."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from labkit import cli
from labkit.errors import InputError
from labkit.files import data_path
from labkit.record.load import load
from labkit.record.trace import Block, Request, Trace, Usage
from labkit.replay import sessions
from labkit.replay.advice import advise
from labkit.replay.audit import audit
from labkit.show.page import page, timeline
from labkit.show.session_report import MOST_LINES, WIDTH, dollars, first_screen
from session_lines import user, write

SAMPLE = str(data_path("sessions", "sample"))
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)> javascript:x \x1b[31m\u202e [link=http://x]y[/link]"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def screen(trace: Trace) -> list[str]:
    report = audit(trace)
    return first_screen(report, advise(report), "a.jsonl")


def evil() -> Trace:
    """A session that is hostile wherever it can be."""
    blocks = (
        Block("text", "user", EVIL, request=1),
        Block("call", "assistant", f'Edit {{"file_path": "{EVIL}"}}', request=2, tool="Edit", args=EVIL, call_id="a"),
        Block("result", "tool", EVIL * 9, request=2, tool=EVIL, args=EVIL, call_id="a"),
        Block("call", "assistant", f'Read {{"file_path": "{EVIL}"}}', request=3, tool="Read", args=EVIL, call_id="b"),
    )
    usages = Usage(0, 0, 9_000), Usage(0, 9_000, 900), Usage(0, 9_900, 100)
    requests = tuple(Request(i, 1.78e9 + i, EVIL, usage=u) for i, u in enumerate(usages, 1))
    return Trace(EVIL, blocks, requests, source=f"Claude Code: {EVIL}", warnings=(EVIL,))


def test_the_first_screen_says_what_was_paid_and_why(capsys):
    status, out, _ = run(capsys, "audit", SAMPLE)
    lines = out.splitlines()
    assert status == 0
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 80
    for words in (
        "list-price equivalent, not your bill", "cache reads", "written: new in the context",
        "written again: after a pause (expired)", "written again: after an edit or compaction", "uncached input",
        "subagents and summary calls", "No context policy can touch", "peak 86,364 tokens", "21 % fixed prefix",
        "fresh a request", "costliest results", "advice: ", "next: ",
    ):  # fmt: skip
        assert words in out
    shares = [int(s) for s in re.findall(r"\$[\d.]+ +(\d+) %$", out, re.M)]
    assert 98 <= sum(shares) <= 102


def test_full_and_scripted_runs_get_the_table(capsys, invoice):
    assert "All" in run(capsys, "audit", SAMPLE, "--full")[1]
    assert run(capsys, "audit", str(data_path("traces", "invoice-60.jsonl")))[0] == 0


def test_json_has_the_advice_and_no_screen(capsys):
    document = json.loads(run(capsys, "audit", SAMPLE, "--json")[1])
    assert document["format"] == "Claude Code"
    assert set(document["as_run"]) >= {
        "requests", "reproduced", "expired", "edit", "unexplained", "baseline", "calibration_error",
    }  # fmt: skip
    assert list(document["writes_by_cause"]) == ["growth", "expired", "edit", "unexplained"]
    used = document["usage"]
    assert sum(document["writes_by_cause"].values()) == used["cache_write_5m"] + used["cache_write_1h"]
    assert document["residual"] == document["lines_billed"]["residual"]
    assert {"exact", "estimated_low", "estimated_high"} <= set(document["cost_usd"])
    assert document["cost_usd"]["exact"] == pytest.approx(sum(document["cost_usd"]["by_cause"].values()))
    assert isinstance(document["symptoms"], list)
    assert document["advice"]["change"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Two sessions, the sample newer, with a subagent's file and a broken one beside them."""
    sample = next(Path(SAMPLE).glob("*.jsonl"))
    folder = tmp_path / "projects" / "-home-dev"
    folder.mkdir(parents=True)
    old, new, broken = folder / "old.jsonl", folder / "new.jsonl", folder / "broken.jsonl"
    old.write_text("\n".join(sample.read_text(encoding="utf-8").splitlines()[:40]) + "\n", encoding="utf-8")
    new.write_bytes(sample.read_bytes())
    broken.write_text('{"hello": 1}\n')
    (folder / "new" / "subagents").mkdir(parents=True)
    (folder / "new" / "subagents" / "agent-1.jsonl").write_text("{}\n")
    for age, path in ((300, old), (100, new), (200, broken)):
        os.utime(path, (1.79e9 - age, 1.79e9 - age))
    monkeypatch.setenv("LABKIT_SESSIONS", str(tmp_path / "projects"))
    return folder


def test_without_a_path_the_newest_session_is_taken_and_named(home, capsys):
    status, out, err = run(capsys, "audit")
    assert status == 0
    assert err == f"newest session: {home / 'new.jsonl'}\n"
    assert out.startswith("new: Claude Code")


def test_all_sessions_by_dollars(home, capsys):
    rows = json.loads(run(capsys, "audit", "--all", "--json")[1])["sessions"]
    assert [Path(row["path"]).name for row in rows] == ["new.jsonl", "old.jsonl", "broken.jsonl"]
    assert rows[0]["dollars"] > rows[1]["dollars"] > 0
    assert "format" in rows[2]["problem"]
    out = run(capsys, "audit", "--all", str(home))[1]
    assert len(out.splitlines()) == 5
    assert str(home / "new.jsonl") in out


def test_what_a_resumed_copy_repeats_counts_once(home, capsys):
    """The old file is the beginning of the new one."""
    new, old = json.loads(run(capsys, "audit", "--all", "--json")[1])["sessions"][:2]
    whole, beginning = (
        json.loads(run(capsys, "audit", str(home / name), "--json")[1])["cost_usd"]["exact"]
        for name in ("new.jsonl", "old.jsonl")
    )
    assert (old["dollars"], old["shared"]) == (pytest.approx(beginning), 0)
    # The old file ends within an answer, whose output counts as it stands there.
    assert old["dollars"] + new["dollars"] == pytest.approx(whole, rel=2e-4)
    assert new["shared"] >= old["requests"] > 5
    lines = run(capsys, "audit", "--all")[1].splitlines()
    assert lines[-1].split() == ["together", f"${old['dollars'] + new['dollars']:.2f}"]
    assert f"({new['shared']} of its responses counted in an older file)" in lines[1]


def test_without_sessions_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LABKIT_SESSIONS", str(tmp_path))
    status, out, err = run(capsys, "audit")
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    with pytest.raises(InputError, match="no sessions"):
        sessions.newest_session()
    assert run(capsys, "audit", "--all", "--html", "x.html")[0] == 2


def test_two_sessions_side_by_side(capsys):
    document = json.loads(run(capsys, "compare", SAMPLE, SAMPLE, "--json")[1])
    for name, pair in document["figures"].items():
        assert pair["before"] == pair["after"], name
    figures = document["figures"]
    assert figures["requests"]["before"] == 40
    report = audit(load(SAMPLE))
    assert figures["cache reads"]["before"] == report.usage.cache_read / 40
    written = sum(figures[f"written: {c}"]["before"] for c in ("growth", "expired", "edit", "unexplained"))
    assert written * 40 == pytest.approx(report.usage.cache_write_5m + report.usage.cache_write_1h)
    assert "as-run score" in run(capsys, "compare", SAMPLE, SAMPLE)[1]


def test_a_what_if_from_the_command_line(capsys):
    document = json.loads(run(capsys, "whatif", SAMPLE, "--policy", "default", "--json")[1])
    assert document["refused"] == ""
    assert document["saving_usd"]["low"] <= document["saving_usd"]["middle"] <= document["saving_usd"]["high"]
    assert "do nothing, replayed" in run(capsys, "whatif", SAMPLE, "--lifetime", "1h")[1]
    assert 'set: promptCacheTtl = "1h"' in run(capsys, "whatif", SAMPLE, "--lifetime", "1h")[1]
    asked = run(capsys, "whatif", SAMPLE, "--policy", "article")[1]
    assert "set: autoCompactWindow = 30000" in asked and "needs another harness: clear:" in asked
    offered = run(capsys, "whatif", SAMPLE)[1].splitlines()
    assert offered.index("Claude Code can set:") < offered.index("needs another harness:")
    offers = json.loads(run(capsys, "whatif", SAMPLE, "--json")[1])["offers"]
    assert [offer["needs_another_harness"] for offer in offers] == [False, True, True, True]
    assert run(capsys, "whatif", SAMPLE, "--lifetime", "2h")[0] == 2
    assert run(capsys, "whatif", str(data_path("traces", "invoice-60.jsonl")))[0] == 2


class Tags(HTMLParser):
    """All tags and attributes of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(text: str) -> Tags:
    found = Tags()
    found.feed(text)
    return found


@pytest.mark.parametrize("trace", [evil(), replace(evil(), requests=()), Trace("none", (), ())])
def test_nothing_of_a_session_becomes_active_in_the_page(trace: Trace) -> None:
    report = audit(trace)
    text = page(report, advise(report))
    found = parsed(text)
    assert set(found.tags) <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "strong", "table", "caption", "thead",
        "tbody", "tr", "th", "td", "svg", "rect", "line", "text", "ul", "li", "pre", "span", "i",
    }  # fmt: skip
    assert not [name for name, _ in found.attributes if name.startswith("on") or name in ("href", "src", "xlink:href")]
    assert "default-src 'none'" in text
    assert "\x1b" not in text and "\u202e" not in text


def test_nothing_of_a_session_is_read_as_markup_on_the_screen() -> None:
    lines = screen(evil())
    assert len(lines) <= MOST_LINES
    assert not any("\x1b" in line or "\u202e" in line for line in lines)


def test_the_page_says_what_the_screen_says(capsys, tmp_path):
    target = tmp_path / "report.html"
    status, out, err = run(capsys, "audit", SAMPLE, "--html", str(target))
    assert (status, out) == (0, "")
    assert str(target) in err
    text = parsed(target.read_text(encoding="utf-8")).text
    for words in ("list-price equivalent, not your bill", "Request by request", "reproduced within 1 %", "Symptoms"):
        assert words in text
    assert len(target.read_bytes()) < 300_000


def test_the_timeline_stands_on_its_numbers() -> None:
    usages = Usage(0, 0, 100), Usage(0, 100, 50)
    trace = Trace("two", (), tuple(Request(i, usage=u) for i, u in enumerate(usages, 1)))
    drawn = timeline(audit(trace))
    assert "request 1: 0 read, 100 not read, growth" in drawn
    assert "request 2: 100 read, 50 not read, growth" in drawn
    heights = [float(h) for h in re.findall(r'height="([\d.]+)" fill', drawn)]
    assert heights[1] == pytest.approx(heights[2])  # 100 written down, then 100 read up, on one scale
    assert heights[3] == pytest.approx(heights[1] / 2)


def test_small_and_negative_dollars() -> None:
    assert [dollars(v) for v in (0, 0.004, 1234.5, -2)] == ["$0.00", "$0.0040", "$1,234.50", "-$2.00"]


def test_every_real_session_fits_the_first_screen(corpus: Path) -> None:
    seen = 0
    for file in [*(corpus / "claude-code").glob("*.jsonl"), *(corpus / "codex").glob("*.jsonl")]:
        try:
            trace = load(file)
        except InputError:
            continue
        lines = screen(trace)
        assert len(lines) <= MOST_LINES, file.name
        assert max(map(len, lines)) <= WIDTH + 1, (file.name, max(lines, key=len))
        seen += 1
    assert seen >= 30


def test_a_session_without_a_request_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.jsonl", user("go"))
    assert cli.main(["audit", str(path)]) == 2
    assert "holds no request to a model: there is nothing to audit" in capsys.readouterr().err
