"""Reading OpenHands events, from before its agent SDK."""

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

DATA = Path(__file__).resolve().parent.parent / "data" / "openhands"


def total(trace: Trace) -> tuple[int, int]:
    usages = [r.usage for r in trace.requests if r.usage]
    return sum(u.total_input for u in usages), sum(u.output for u in usages)


def test_a_response_in_several_events_counts_once() -> None:
    trace = load(DATA / "events.json")
    # resp-1 stands in two actions and two observations; its prompt of 1,000 includes 900 written.
    assert [(r.id, r.usage) for r in trace.requests] == [
        ("resp-1", Usage(100, 0, 900, 0, 40)),
        ("resp-2", Usage(50, 900, 350, 0, 30)),
        ("resp-3", Usage(50, 0, 650, 0, 20)),
    ]
    assert [(b.kind, b.tool, b.call_id, b.request) for b in trace.blocks[1:6]] == [
        ("text", None, None, 2),
        ("call", "execute_bash", "t1", 2),
        ("call", "execute_bash", "t2", 2),
        ("result", "execute_bash", "t1", 2),
        ("result", "execute_bash", "t2", 2),
    ]


def test_prefix_model_and_the_time_of_sending() -> None:
    trace = load(DATA / "events.json")
    assert trace.prefixes[0].system == "You repair recipes."
    assert trace.prefixes[0].tools == '[{"type":"function","function":{"name":"execute_bash"}}]'
    assert {r.model for r in trace.requests} == {"model-b"}
    assert [r.start for r in trace.requests] == [1772442002.0, 1772442007.0, 1772442014.0]


def test_an_observation_is_what_the_model_read() -> None:
    texts = {b.call_id: b.text for b in load(DATA / "events.json").blocks if b.kind == "result"}
    assert texts["t1"] == "soup.txt\n[exit code 0]"
    # The file keeps a difference as content; the model got the tool's own words.
    assert texts["t3"] == "The file was edited."


def test_events_of_the_interface_are_not_context() -> None:
    trace = load(DATA / "events.json")
    assert not any("workspace context" in b.text for b in trace.blocks)
    assert any(w.startswith("1 recalls hold knowledge") for w in trace.warnings)


def test_a_condensation_replaces_what_it_forgot() -> None:
    trace = load(DATA / "events.json")
    assert trace.edits == (Edit("summary", 3, (1, 2, 3, 4, 5), summary=9, trigger="condenser"),)
    assert [b.text for b in list(as_sent(trace))[2][1]] == [
        "The soup has no salt.",
        "The soup was looked at.",
        "Add salt.",
        'str_replace_editor {"path": "soup.txt"}',
        "The file was edited.",
    ]
    assert any("what they cost is not counted" in w for w in trace.warnings)


def test_a_condensation_without_a_summary_is_an_eviction(tmp_path: Path) -> None:
    events = json.loads((DATA / "events.json").read_text(encoding="utf-8"))
    events[11]["args"] = {"forgotten_event_ids": [5, 7, 99, "x"]}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(events), encoding="utf-8")
    assert [(e.kind, e.blocks) for e in load(path).edits] == [("evict", (1, 2, 3, 4))]


def test_an_evaluation_has_a_run_a_line_and_a_call_without_event_counts() -> None:
    first, second = load(DATA / "output.jsonl").children
    assert (first.name, second.name) == ("soup-1", "soup-2")
    assert total(first) == (3000, 90)
    (summary,) = first.children
    assert (summary.kind, total(summary)) == ("compaction", (800, 60))
    assert not any("the file's own total" in w for w in first.warnings)  # 3,800 and 150, both found


def test_a_total_that_differs_from_the_sum_is_said() -> None:
    second = load(DATA / "output.jsonl").children[1]
    # Without a response in the event, its usage is what the running total grew by.
    assert [r.usage for r in second.requests] == [Usage(400, 100, 0, 0, 8)]
    assert "the file's own total is 512 tokens in and 8 out, its responses add up to 500 and 8" in second.warnings


def test_pairs_without_ids_and_a_delegate() -> None:
    trace = load(DATA / "pairs.json")
    assert [(b.kind, b.role, b.text) for b in trace.blocks] == [
        ("text", "assistant", "Look."),
        ("call", "assistant", 'run {"command":"ls"}'),
        ("result", "tool", "soup.txt"),
        ("call", "assistant", 'delegate {"agent":"taster","inputs":{"task":"taste"}}'),
        ("result", "tool", "bland"),
        ("text", "user", 'run {"command":"whoami"}'),
        ("text", "user", "No such file"),
        ("text", "assistant", "Add salt."),
    ]
    (delegate,) = trace.children
    assert (delegate.kind, len(delegate.requests)) == ("subagent", 2)
    assert [b.text for b in delegate.blocks if b.kind == "result"] == ["bland"]


def test_a_folder_of_events_is_read_by_number(tmp_path: Path) -> None:
    events = json.loads((DATA / "events.json").read_text(encoding="utf-8"))
    (tmp_path / "s" / "events").mkdir(parents=True)
    for number, event in enumerate(events):
        (tmp_path / "s" / "events" / f"{number}.json").write_text(json.dumps(event), encoding="utf-8")
    assert load(tmp_path / "s").blocks == load(DATA / "events.json").blocks


def test_lines_without_events_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    shutil.copy(DATA / "output.jsonl", path)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"instance_id": "soup-3", "history": [], "error": "no container"}\n')
    assert "1 lines have no history of events; skipped" in load(path).warnings


@pytest.mark.parametrize("name", ["events.json", "output.jsonl", "pairs.json"])
@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-openhands.json"
    read_damaged(path, data.draw(mutants((DATA / name).read_bytes())))


def test_real_events_load_with_their_sums_and_counts(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    rows = {f: r for f, r in index.items() if r["format"] == "openhands" and "sdk" not in f}
    assert len(rows) == 5
    for name, row in rows.items():
        loaded = load(corpus / name)
        sound(loaded)
        # An evaluation of three problems; the index describes the first.
        trace = loaded.children[0] if name.endswith("output.jsonl") else loaded
        oracle = row["oracle"]
        assert total(trace) == (oracle["dedup"]["prompt_tokens"], oracle["dedup"]["completion_tokens"])
        if oracle["naive_sum"] != oracle["dedup"]:
            assert total(trace)[0] != oracle["naive_sum"]["prompt_tokens"]
        if oracle["accumulated"]:
            assert total(trace)[0] == oracle["accumulated"]["prompt_tokens"]
        assert sum(b.kind == "call" for b in trace.blocks) == row["calls"]
        missing = next((odd for odd in row["odd"] if "without result" in odd), None)
        if missing:
            assert f"{missing[0]} calls have no result in this file; kept" in trace.warnings


def test_the_other_runs_of_an_evaluation_add_up_too(corpus: Path) -> None:
    trace = load(corpus / "openhands" / "multi_swe_bench-output.jsonl")
    assert [(c.name[-4:], total(c)) for c in trace.children] == [
        ("4595", (565_158, 2_558)),
        ("4593", (410_169, 5_156)),
        ("4588", (938_015, 5_627)),
    ]
    assert not any("the file's own total" in w for c in trace.children for w in c.warnings)
    # An error that answers a call which is in no event is told to the model in words.
    assert not any("answered before" in w for c in trace.children for w in c.warnings)


def test_a_recorded_prompt_confirms_what_the_model_read(corpus: Path) -> None:
    """3,486 in and 1,135 out, then 4,646 in: 25 tokens for the edit's own words, not 3,558 characters."""
    trace = load(corpus / "openhands" / "trajs-basic.json")
    first, second = (r.usage for r in trace.requests)
    assert first is not None
    assert second is not None
    result = next(b for b in trace.blocks if b.kind == "result")
    assert second.total_input - first.total_input - first.output == 25
    assert result.text == "File created successfully at: /workspace/game_2048.py"
