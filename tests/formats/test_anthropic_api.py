"""Reading traffic of the Anthropic Messages API: faults that people reported, and the real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.edits import as_sent, unedited
from labkit.record.formats import anthropic_api
from labkit.record.formats.anthropic_usage import samplings
from labkit.record.load import load
from labkit.record.trace import Trace, Usage
from mutants import mutants, read_damaged, sound
from records import flat, lines, write

DATA = Path(__file__).resolve().parent.parent / "data" / "anthropic"


def bill(trace: Trace) -> Usage:
    total = trace.usage or Usage()
    for child in trace.children:
        total = total + (child.usage or Usage())
    return total


def test_consecutive_requests_hold_the_conversation_once() -> None:
    trace = load(DATA / "exchanges.jsonl")
    assert trace.source == "Anthropic Messages: exchanges.jsonl"
    assert flat(trace) == [
        ("text", 1, "Compare a and b."),
        ("thinking", 2, "Two files."),
        ("call", 2, 'read {"file":"a"}'),
        ("call", 2, 'read {"file":"b"}'),
        ("result", 2, "one"),
        ("result", 2, "two"),
        ("text", 3, "They differ."),
        ("text", 3, "And c?"),
        ("call", 4, 'read {"file":"c"}'),
        ("result", 4, "three"),
        ("text", 5, "c is new."),
    ]
    assert [r.usage for r in trace.requests] == [
        Usage(10, 0, 500, 0, 40),
        Usage(3, 500, 90, 0, 20),
        Usage(3, 590, 0, 30, 12),
        Usage(3, 500, 60, 0, 9),
    ]
    assert [(r.id, r.model, r.start) for r in trace.requests[:2]] == [
        ("m1", "claude-x-1", 1777881600.0),
        ("m2", "claude-x-1", 1777881610.0),
    ]
    assert [p.system for p in trace.prefixes] == ["Be brief."]
    assert trace.warnings == ()


def test_a_cache_mark_that_moves_is_no_change() -> None:
    assert "cache_control" in json.dumps(lines(DATA / "exchanges.jsonl")[1]["request"]["messages"])
    trace = load(DATA / "exchanges.jsonl")
    assert [e.kind for e in trace.edits] == ["clear"]  # the provider's alone
    assert "cache_control" not in (trace.prefixes[0].tools or "")


def test_what_the_provider_cleared_is_found_from_its_count() -> None:
    trace = load(DATA / "exchanges.jsonl")
    edit = trace.edits[0]
    assert (edit.request, [trace.blocks[p].text for p in edit.blocks], edit.trigger) == (4, ["one", "two"], "provider")
    assert [b.text for b in [*as_sent(trace)][3][1] if b.kind == "result"] == ["[cleared]", "[cleared]", "three"]
    assert [b.text for b in unedited(trace).blocks if b.kind == "result"] == ["one", "two", "three"]


def test_tools_whose_results_are_spared_are_not_cleared(tmp_path: Path) -> None:
    rows = lines(DATA / "exchanges.jsonl")
    rows[3]["request"]["context_management"]["edits"][0]["exclude_tools"] = ["read"]
    trace = load(write(tmp_path / "a.jsonl", *rows))
    assert trace.edits == ()
    assert any(
        w.startswith("2 results were cleared by the provider that are not in the record") for w in trace.warnings
    )


def test_the_iteration_that_compacted_is_billed_and_does_not_fill_the_context() -> None:
    trace = load(DATA / "compaction.jsonl")
    # 700 + 30 + 44 read, 15 + 8 + 2 written; the requests' own prompts are 30 and 44.
    assert (bill(trace).total_input, bill(trace).output) == (774, 25)
    assert [r.usage.total_input for r in trace.requests if r.usage] == [30, 44]
    assert [(c.kind, c.usage, c.blocks[0].text) for c in trace.children] == [
        ("compaction", Usage(700, output=15), "a, b and c were read.")
    ]


def test_what_stands_before_a_summary_is_not_read_again() -> None:
    trace = load(DATA / "compaction.jsonl")
    assert [[b.text for b in blocks] for r, blocks in as_sent(trace) if r.usage] == [
        ["a, b and c were read."],
        ["a, b and c were read.", "All said.", "Thanks."],
    ]
    assert [e.kind for e in trace.edits] == ["summary"]
    assert any(b.text == "one" for b in unedited(trace).blocks)


def test_answers_that_only_a_later_request_shows_are_calls_without_usage() -> None:
    trace = load(DATA / "compaction.jsonl")
    assert [r.usage is None for r in trace.requests] == [True, True, False, False]
    assert any(w.startswith("2 answers are known only from later requests") for w in trace.warnings)


@pytest.mark.parametrize("name", ["stream.chunks.txt", "wire.txt"])
def test_a_stream_ends_with_its_final_counts(name: str) -> None:
    trace = load(DATA / name)
    assert flat(trace) == [("call", 2, 'read {"file":"a"}')]
    assert trace.requests[0].usage == Usage(61, output=17)  # begins with 43 and 1


def test_a_stream_that_ends_early_has_a_placeholder(tmp_path: Path) -> None:
    trace = load(write(tmp_path / "a.txt", *lines(DATA / "stream.chunks.txt")[:-2]))
    assert trace.requests[0].usage == Usage(43, output=1, output_quality="placeholder")


def test_one_damaged_event_costs_one_event(tmp_path: Path) -> None:
    rows = lines(DATA / "stream.chunks.txt")
    rows.insert(2, {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}})
    rows.insert(2, {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta"}})
    assert flat(load(write(tmp_path / "a.txt", *rows))) == flat(load(DATA / "stream.chunks.txt"))


def test_a_client_that_clears_results_itself(tmp_path: Path) -> None:
    rows = lines(DATA / "exchanges.jsonl")
    del rows[3]["response"]["context_management"]
    rows[3]["request"]["messages"][2]["content"][0]["content"] = "[old]"
    trace = load(write(tmp_path / "a.jsonl", *rows))
    assert [(e.kind, e.request, e.blocks, e.stub) for e in trace.edits] == [("clear", 4, (4,), "[old]")]


def test_a_client_that_drops_its_oldest_messages(tmp_path: Path) -> None:
    rows = lines(DATA / "exchanges.jsonl")
    del rows[3]["response"]["context_management"]
    del rows[3]["request"]["messages"][:3]
    trace = load(write(tmp_path / "a.jsonl", *rows))
    assert [(e.kind, e.request, e.blocks) for e in trace.edits] == [("evict", 4, (0, 1, 2, 3, 4, 5))]
    assert [b.text for b in [*as_sent(trace)][3][1]] == ["They differ.", "And c?", 'read {"file":"c"}', "three"]


def test_an_answer_that_is_not_sent_back_leaves(tmp_path: Path) -> None:
    rows = lines(DATA / "exchanges.jsonl")[:2]
    trace = load(write(tmp_path / "a.jsonl", rows[0], rows[0], rows[1]))
    assert len(trace.requests) == 3
    assert [(e.kind, e.request, e.blocks) for e in trace.edits] == [("evict", 2, (1, 2, 3))]
    assert [b.text for b in [*as_sent(trace)][1][1]] == ["Compare a and b."]


def test_requests_and_responses_one_after_the_other(tmp_path: Path) -> None:
    split = [part for row in lines(DATA / "exchanges.jsonl") for part in (row["request"], row["response"])]
    trace = load(write(tmp_path / "a.jsonl", *split))
    assert flat(trace) == flat(load(DATA / "exchanges.jsonl"))


def test_an_agent_within_the_time_of_a_run_is_its_child(tmp_path: Path) -> None:
    rows = lines(DATA / "exchanges.jsonl")
    agent = json.loads(json.dumps(rows[0]).replace("Compare a and b.", "You are an agent."))
    trace = load(write(tmp_path / "a.jsonl", *rows[:2], agent, *rows[2:]))
    assert flat(trace) == flat(load(DATA / "exchanges.jsonl"))
    assert [(c.kind, c.usage) for c in trace.children] == [("subagent", Usage(10, 0, 500, 0, 40))]


def test_two_runs_after_each_other_are_two_runs(tmp_path: Path) -> None:
    rows = lines(DATA / "exchanges.jsonl")
    trace = load(write(tmp_path / "a.jsonl", *rows, *rows))
    assert [flat(c) for c in trace.children] == [flat(load(DATA / "exchanges.jsonl"))] * 2
    assert trace.requests == ()


def test_a_conversation_by_itself(tmp_path: Path) -> None:
    messages = lines(DATA / "exchanges.jsonl")[3]["request"]["messages"]
    (tmp_path / "api_conversation_history.json").write_text(json.dumps(messages))
    trace = load(tmp_path / "api_conversation_history.json")
    # The last result is the input of a call that is not in the record: it comes after the last one.
    assert flat(trace) == flat(load(DATA / "exchanges.jsonl"))[:-1]
    assert [r.usage for r in trace.requests] == [None] * 3


def test_a_model_that_declined_is_not_billed_as_an_answer() -> None:
    iterations = [
        {"type": "message", "input_tokens": 50, "output_tokens": 0, "model": "a"},
        {"type": "fallback_message", "input_tokens": 50, "output_tokens": 9, "model": "b"},
    ]
    own, beside, declined = samplings({"model": "a", "usage": {"iterations": iterations}}, [])
    assert [(s.model, s.usage) for s in own] == [("b", Usage(50, output=9))]
    assert (beside, declined) == ([], 1)


def test_nothing_readable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no readable request or response"):
        load(write(tmp_path / "a.txt", {"type": "ping"}, {"type": "message_stop"}))


@pytest.mark.parametrize("name", ["exchanges.jsonl", "compaction.jsonl", "stream.chunks.txt"])
@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(name: str, data: st.DataObject, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "anthropic-mutant.jsonl"
    read_damaged(path, data.draw(mutants((DATA / name).read_bytes())))


def counts(raw: dict[str, Any]) -> tuple[int, int]:
    keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(raw.get(k, 0) for k in keys), raw.get("output_tokens", 0)


def test_the_real_files(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    rows = [row for row in index.values() if row["format"] == "anthropic-messages"]
    assert len(rows) == 21
    for row in rows:
        path = corpus / row["file"]
        assert anthropic_api.matches(path), path
        trace = load(path)
        sound(trace)
        oracle = row["oracle"]
        # The start's counts are provisional; what the last event says is final.
        raw = oracle.get("usage") or {**oracle["message_start_usage"][-1], **oracle["message_delta_usage"][-1]}
        expected = counts(raw)
        if raw.get("iterations"):
            each = [counts(i) for i in raw["iterations"]]
            expected = sum(i for i, _ in each), sum(o for _, o in each)
        got = bill(trace)
        if row["file"].endswith("spliced-message-start.chunks.txt"):
            # Two messages joined: the first was billed too, its output count is a placeholder.
            assert [r.usage for r in trace.requests] == [
                Usage(17, output=1, output_quality="placeholder"),
                Usage(17, output=65),
            ]
        else:
            assert (got.total_input, got.output) == expected, path
        assert sum(b.kind == "call" for b in trace.blocks) == row["calls"], path


def test_the_real_compaction(corpus: Path) -> None:
    trace = load(corpus / "anthropic-messages" / "anthropic-compaction.1.json")
    assert (bill(trace).total_input, bill(trace).output) == (61_067, 1_912)
    assert trace.requests[-1].usage == Usage(682, output=1_320)


def test_the_real_advisor_is_billed_as_its_own_model(corpus: Path) -> None:
    trace = load(corpus / "anthropic-messages" / "anthropic-advisor-20260301.1.json")
    assert [r.usage for r in trace.requests] == [Usage(1_051, output=35), Usage(1_363, output=3_165)]
    assert [c.requests[0].model for c in trace.children] == ["claude-opus-4-7"]
