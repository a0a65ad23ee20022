"""Reading ATIF trajectories."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.edits import as_sent
from labkit.record.load import load
from labkit.record.trace import Edit, Trace, Usage
from mutants import mutants, read_damaged, sound

DATA = Path(__file__).resolve().parent.parent / "data" / "atif"


def total(trace: Trace) -> tuple[int, int]:
    usages = [r.usage for r in trace.requests if r.usage]
    return sum(u.total_input for u in usages), sum(u.output for u in usages)


def test_a_run_is_read_over_its_files() -> None:
    trace = load(DATA / "run.trajectory.json")
    assert (trace.name, trace.source) == ("run", "ATIF: run.trajectory.json")
    assert trace.prefixes[0].system == "You repair recipes."
    assert trace.prefixes[0].tools is not None
    assert [(r.start, r.usage) for r in trace.requests] == [
        (1772442003.0, Usage(500, output=20)),
        (1772442004.0, Usage(20, 480, 60, output=25)),
        (1772442010.0, Usage(300, output=30)),
        (1772442011.0, Usage(80, 280, output=5)),
    ]


def test_a_summary_over_two_files_is_a_recorded_edit() -> None:
    trace = load(DATA / "run.trajectory.json")
    # The task was sent again word for word, so it counts as kept; the handoff's longest text is the summary.
    assert trace.edits == (Edit("summary", 3, (1, 2, 3, 4, 5, 6), summary=7, trigger="auto"),)
    assert [b.text for b in list(as_sent(trace))[2][1]] == [
        "The soup has no salt.",
        "You go on for another cook. Summary: the soup is in soup.txt.",
        "Which salt?",
        "Sea salt.",
    ]


def test_copied_context_is_no_request() -> None:
    trace = load(DATA / "run.trajectory.cont-1.json")
    assert len(trace.requests) == 2
    assert [b.request for b in trace.blocks[:4]] == [1, 1, 1, 1]
    assert "4 steps are carried over from an earlier file: context, but no requests" in trace.warnings
    assert any(w.startswith("the file's own total is 2,220 tokens in and 100 out") for w in trace.warnings)


def test_subagents_beside_the_file_are_children_and_missing_ones_are_said() -> None:
    trace = load(DATA / "run.trajectory.json")
    assert [(c.name, c.kind, total(c)) for c in trace.children] == [
        ("run.trajectory.summarization-1", "compaction", (500, 20))
    ]
    assert "1 trajectories of subagents are not here: what they spent is not counted" in trace.warnings
    # 1,720 in the steps and 500 in the child are the 2,220 that the last file counts.
    assert not any("the file's own total" in w for w in trace.warnings)


def test_a_continuation_that_is_not_there_is_said(tmp_path: Path) -> None:
    shutil.copy(DATA / "run.trajectory.json", tmp_path)
    trace = load(tmp_path / "run.trajectory.json")
    assert "the run goes on in 'trajectory.cont-1.json', which is not here" in trace.warnings
    assert total(trace) == (1060, 45)


def test_files_that_refer_to_each_other_end(tmp_path: Path) -> None:
    document = json.loads((DATA / "run.trajectory.json").read_text(encoding="utf-8"))
    document["continued_trajectory_ref"] = "a.json"
    references = document["steps"][5]["observation"]["results"][0]["subagent_trajectory_ref"]
    references[0]["trajectory_path"] = "a.json"
    (tmp_path / "a.json").write_text(json.dumps(document), encoding="utf-8")
    assert len(load(tmp_path / "a.json").requests) == 2


def test_results_pair_by_id_and_an_unnamed_one_is_kept() -> None:
    trace = load(DATA / "run.trajectory.json")
    assert [(b.text, b.args) for b in trace.blocks if b.kind == "result"] == [
        ("soup.txt", "command=ls"),
        ("water", None),
        ("stirred", "command=stir"),
        ("salted", "command=salt"),  # a1 again, as in the file before
    ]


def test_events_of_the_harness_are_not_context() -> None:
    trace = load(DATA / "run.trajectory.json")
    assert not any("workspace context" in b.text for b in trace.blocks)
    assert "1 later system steps are events of the harness: not counted as context" in trace.warnings


@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.trajectory.json"
    read_damaged(path, data.draw(mutants((DATA / "run.trajectory.json").read_bytes())))


def test_real_runs_load_with_their_totals(corpus: Path, index: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    rows = {f: r for f, r in index.items() if r["format"] == "atif"}
    assert len(rows) == 4
    for name, row in rows.items():
        sound(load(corpus / name))
        shutil.copy(corpus / name, tmp_path / "alone.json")
        trace = load(tmp_path / "alone.json")
        final = row["oracle"]["final_metrics"]
        found = total(trace)
        said = any("the file's own total" in w for w in trace.warnings)
        if ".cont-1." in name:
            # Its total holds the file before (2,252) and three summarising subagents (1,300) that are not here.
            assert final["total_prompt_tokens"] == 7_802 == 2_252 + found[0] + 1_300
            assert said
        else:
            assert found == (final["total_prompt_tokens"], final["total_completion_tokens"])
            assert not said
        assert sum(b.kind == "call" for b in trace.blocks) == row["calls"]


def test_a_real_run_goes_on_after_its_summary(corpus: Path) -> None:
    name = "terminus_2_hello-world-context-summarization-linear-history.trajectory.json"
    trace = load(corpus / "atif" / name)
    assert len(trace.requests) == 7
    assert total(trace) == (2_252 + 4_250, 160 + 530)
    assert [(e.kind, e.request) for e in trace.edits] == [("summary", 4)]
