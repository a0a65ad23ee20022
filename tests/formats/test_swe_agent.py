"""Reading SWE-agent trajectories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.edits import as_sent, unedited
from labkit.record.formats import swe_agent
from labkit.record.load import load
from labkit.record.trace import Edit, Trace
from mutants import mutants, read_damaged, sound

DATA = Path(__file__).resolve().parent.parent / "data" / "swe_agent"


def calls(trace: Trace) -> int:
    return sum(b.kind == "call" for b in trace.blocks)


def test_a_trajectory_becomes_requests_and_blocks() -> None:
    trace = load(DATA / "calls.traj")
    assert trace.source == "SWE-agent: calls.traj"
    assert trace.prefixes[0].system == "You repair recipes."
    assert [(b.kind, b.role, b.request) for b in trace.blocks[:6]] == [
        ("text", "user", 1),
        ("text", "assistant", 1),
        ("text", "user", 1),
        ("text", "assistant", 2),
        ("call", "assistant", 2),
        ("result", "tool", 2),
    ]
    assert [(r.index, r.model, r.usage) for r in trace.requests] == [(i, "model-a", None) for i in (1, 2, 3, 4)]
    assert calls(trace) == 4
    assert "tokens are recorded for the whole run only" in trace.warnings[0]
    assert "900 sent, 60 received" in trace.warnings[0]
    assert trace.warnings[1].startswith("the run made 5 calls of the model, 4 are in the file")


def test_reused_ids_pair_with_the_nearest_call() -> None:
    results = [b for b in load(DATA / "calls.traj").blocks if b.kind == "result"]
    # call_a is the id of the demonstration's call, of ls and of the edit.
    assert [(b.call_id, b.tool, b.args) for b in results] == [
        ("call_a", "bash", "command=ls"),
        ("call_b", "open", "path=soup.txt"),
        ("call_a", "edit", "line=2, text=salt"),
        ("call_submit", "submit", ""),
    ]


def test_a_demonstration_is_context_and_no_request() -> None:
    trace = load(DATA / "calls.traj")
    assert trace.blocks[1].text.startswith("As in the example.[{")
    assert (trace.blocks[1].request, trace.blocks[1].turn) == (1, 0)


def test_observations_that_the_prompt_elides_are_recorded_edits() -> None:
    trace = load(DATA / "calls.traj")
    stub = "Old output: (2 lines omitted)"
    assert trace.edits == (
        Edit("clear", 3, (5,), stub=stub, trigger="history processor"),
        Edit("clear", 4, (8,), stub=stub, trigger="history processor"),
    )
    sent = [[b.text for b in blocks if b.kind == "result"] for _, blocks in as_sent(trace)]
    assert sent == [
        [],
        ["book.txt\nsoup.txt"],
        [stub, "1: water\n2: carrots"],
        [stub, stub, "File updated."],
    ]
    assert [b.text for b in unedited(trace).blocks if b.kind == "result"][:2] == [
        "book.txt\nsoup.txt",
        "1: water\n2: carrots",
    ]


def test_the_prompt_of_a_step_may_be_stored_before_or_after_it(tmp_path: Path) -> None:
    """Version 1.0 stores what the next step sees as ``messages``, later versions the step's own as ``query``."""
    document = json.loads((DATA / "calls.traj").read_text(encoding="utf-8"))
    steps = document["trajectory"]
    for earlier, step in zip([None, *steps], list(steps), strict=False):
        step["query"] = earlier["messages"] if earlier else document["history"][:4]
    for step in steps:
        del step["messages"]
    path = tmp_path / "a.traj"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert load(path).edits == load(DATA / "calls.traj").edits


def test_a_command_in_text_is_a_call_and_no_character_is_lost() -> None:
    trace = load(DATA / "text.traj")
    assert [(b.kind, b.text) for b in trace.blocks[2:5]] == [
        ("text", "Look.\n"),
        ("call", "```\nls\n```"),
        ("result", "soup.txt\nbash-$"),
    ]
    assert (trace.blocks[3].tool, trace.blocks[4].tool, trace.blocks[4].args) == ("ls", "ls", "ls")
    assert "1 calls have no result in this file; kept" in trace.warnings
    assert any("last_n_observations" in w and "no prompt is recorded" in w for w in trace.warnings)


def test_a_processor_with_a_name_of_several_lines_breaks_no_warning() -> None:
    agent = {"history_processors": [{"type": "last_n\n  observations"}, {"type": "cache_control"}, "x"]}
    assert swe_agent._processors(agent) == ["last_n observations"]


def test_zeros_beside_calls_mean_that_nothing_was_counted() -> None:
    assert not any("tokens are recorded" in w for w in load(DATA / "text.traj").warnings)


def test_another_agent_is_a_child_and_fills_no_window_of_the_first() -> None:
    trace = load(DATA / "text.traj")
    assert [(c.name, c.kind, len(c.requests)) for c in trace.children] == [("taster", "subagent", 1)]
    assert not any("bland" in b.text for b in trace.blocks)


def test_a_file_without_history_is_put_together_from_its_steps(tmp_path: Path) -> None:
    document = json.loads((DATA / "text.traj").read_text(encoding="utf-8"))
    del document["history"]
    path = tmp_path / "a.traj"
    path.write_text(json.dumps(document), encoding="utf-8")
    trace = load(path)
    assert [b.kind for b in trace.blocks] == ["text", "call", "result", "text", "call", "result"]
    assert any(w.startswith("the file has no history") for w in trace.warnings)


def test_prompts_that_do_not_line_up_are_said(tmp_path: Path) -> None:
    document = json.loads((DATA / "calls.traj").read_text(encoding="utf-8"))
    del document["trajectory"][1]["messages"][4:6]
    path = tmp_path / "a.traj"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert any(w.startswith("1 recorded prompts do not line up") for w in load(path).warnings)


@pytest.mark.parametrize("name", ["calls.traj", "text.traj"])
@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.traj"
    read_damaged(path, data.draw(mutants((DATA / name).read_bytes())))


# The real trajectories.

# Calls that INDEX counts by distinct id; ids repeat within these runs, so the real numbers are higher.
REPEATED = {
    "swe-agent/marshmallow-1867-function_calling_replace_from_source.traj": 13,
    "swe-agent/marshmallow-1867-function_calling.traj": 11,
}


def test_real_trajectories_load_with_their_counts(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    rows = {f: r for f, r in index.items() if r["format"] == "swe-agent"}
    assert len(rows) == 9
    for name, row in rows.items():
        trace = load(corpus / name)
        sound(trace)
        assert trace.source.startswith("SWE-agent: ")
        assert calls(trace) == REPEATED.get(name, row["calls"]), name
        messages = len({b.message for b in trace.blocks}) + 1  # the system prompt is the prefix
        assert messages == row["messages"], name
        stats = row["oracle"]["model_stats"] or {}
        said = " ".join(trace.warnings)
        if stats.get("tokens_sent"):
            assert f"{stats['tokens_sent']:,} sent, {stats['tokens_received']:,} received" in said
        else:
            assert "sent," not in said
        # A run that was played again from a script says 0 calls.
        assert len(trace.requests) == (stats.get("api_calls") or calls(trace)), name


def test_a_real_run_elides_its_old_observations(corpus: Path) -> None:
    trace = load(corpus / "swe-agent" / "marshmallow-1867-function_calling_replace_from_source.traj")
    # The processor keeps five observations; from the seventh request on, one more is gone each time.
    assert [(e.kind, e.request, len(e.blocks)) for e in trace.edits] == [("clear", r, 1) for r in range(7, 14)]
    assert all(e.stub.startswith("Old environment output: (") for e in trace.edits)
    sizes = [sum(len(b.text) for b in blocks) for _, blocks in as_sent(trace)]
    assert sizes[6] < sizes[5]
