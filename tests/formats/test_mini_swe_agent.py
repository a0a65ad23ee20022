"""Reading mini-swe-agent trajectories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.load import load
from labkit.record.trace import Usage
from mutants import mutants, read_damaged, sound

DATA = Path(__file__).resolve().parent.parent / "data" / "mini_swe_agent"


def test_a_run_becomes_requests_with_the_providers_usage() -> None:
    trace = load(DATA / "calls.traj.json")
    assert (trace.name, trace.source) == ("kitchen-7", "mini-swe-agent: calls.traj.json")
    # What was read from the cache is part of the prompt: 160 = 64 + 96.
    assert [r.usage for r in trace.requests] == [
        Usage(100, 0, 0, 0, 20),
        Usage(64, 96, 0, 0, 30),
        Usage(70, 160, 0, 0, 15),
    ]
    assert [(r.model, r.id) for r in trace.requests] == [("chat-small", f"resp-{i}") for i in (1, 2, 3)]
    # Created, for the first; then when the last result before it had come.
    assert [r.start for r in trace.requests] == [1776066000.0, 1776066003.0, 1776066014.0]


def test_parallel_calls_keep_their_results_and_the_submission_has_none() -> None:
    trace = load(DATA / "calls.traj.json")
    results = [(b.call_id, b.args, b.request) for b in trace.blocks if b.kind == "result"]
    assert results == [("c1", "command=ls", 2), ("c2", "command=cat soup.txt", 3), ("c3", "command=wc soup.txt", 3)]
    assert trace.warnings == ("1 calls have no result in this file; kept",)


def test_how_a_run_ended_is_not_context() -> None:
    assert not any("+ salt" in b.text for b in load(DATA / "calls.traj.json").blocks)


def test_commands_in_text_are_calls_and_their_output_a_result() -> None:
    trace = load(DATA / "text.traj.json")
    assert [(b.kind, b.role, b.text) for b in trace.blocks[1:4]] == [
        ("text", "assistant", "THOUGHT: look.\n\n"),
        ("call", "assistant", "```mswea_bash_command\nls\n```"),
        ("result", "tool", "<returncode>0</returncode>\n<output>\nsoup.txt\n</output>"),
    ]
    # A response without a command is answered by words, not by a result; an empty output is one.
    assert [(b.kind, b.role, b.text) for b in trace.blocks[4:6]] == [
        ("text", "assistant", "I forgot the command."),
        ("text", "user", "Give exactly one command."),
    ]
    assert (trace.blocks[-1].kind, trace.blocks[-1].text, trace.blocks[-1].tool) == ("result", "", "bash")
    assert [r.usage for r in trace.requests] == [None, None, None]


def test_calls_that_are_not_in_the_file_are_said(tmp_path: Path) -> None:
    document = json.loads((DATA / "calls.traj.json").read_text(encoding="utf-8"))
    document["info"]["model_stats"]["api_calls"] = 9
    document["messages"].append("torn")
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    said = load(path).warnings
    assert said[0].startswith("the run made 9 calls of the model, 3 are in the file")
    assert "entries of unknown types were skipped: 1 'str'" in said


@pytest.mark.parametrize("name", ["calls.traj.json", "text.traj.json"])
@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.traj.json"
    read_damaged(path, data.draw(mutants((DATA / name).read_bytes())))


def test_real_runs_load_with_their_sums_and_counts(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    rows = {f: r for f, r in index.items() if r["format"] == "mini-swe-agent"}
    assert len(rows) == 4
    for name, row in rows.items():
        trace = load(corpus / name)
        sound(trace)
        assert trace.source.startswith("mini-swe-agent: ")
        oracle = row["oracle"]
        usages = [r.usage for r in trace.requests if r.usage is not None]
        assert len(usages) == oracle["api_calls_with_usage"]
        assert sum(u.total_input for u in usages) == oracle["sum_prompt"]
        assert sum(u.cache_read for u in usages) == oracle["sum_cached"]
        assert sum(u.output for u in usages) == oracle["sum_completion"]
        assert max((u.total_input for u in usages), default=0) == oracle["max_prompt"]
        assert sum(b.kind == "call" for b in trace.blocks) == row["calls"]
        results = [b for b in trace.blocks if b.kind == "result"]
        assert max(len(b.text) for b in results) == row["longest_result"]
        assert len(trace.requests) == row["calls"]
        # The system prompt is the prefix; what the run ended with is no message of the context.
        ended = 1 if usages else 0
        kept = sum(1 for b in trace.blocks if b.role == "user") + len(trace.requests) + len(results)
        assert kept + 1 + ended == row["messages"], name
