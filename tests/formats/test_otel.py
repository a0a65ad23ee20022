"""Reading spans of OpenTelemetry and OpenInference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.edits import as_sent
from labkit.record.formats.span_messages import numbered, said_in
from labkit.record.load import load
from labkit.record.trace import Usage
from mutants import mutants, read_damaged, sound

DATA = Path(__file__).resolve().parent.parent / "data" / "otel"


def otlp(path: Path, *attributes: dict[str, Any], events: list[dict[str, Any]] | None = None) -> Path:
    """A file with one span a set of attributes."""
    spans = [
        {"spanId": f"s{i}", "traceId": "t", "name": "x", "startTimeUnixNano": 10**18 + i, "attributes": given}
        | ({"events": events} if events else {})
        for i, given in enumerate(attributes)
    ]
    path.write_text(json.dumps({"spans": spans}), encoding="utf-8")
    return path


def test_each_chat_span_is_a_request_whatever_the_order_in_the_file() -> None:
    trace = load(DATA / "mill.otlp.jsonl")
    assert (trace.name, trace.source) == ("mill.otlp", "OpenTelemetry: mill.otlp.jsonl")
    assert [(r.start, r.model, r.id) for r in trace.requests] == [
        (1772442001.0, "chat-large-1", "rb1"),
        (1772442005.0, "chat-large-1", "rb2"),
    ]
    assert (trace.prefixes[0].system, trace.prefixes[0].tools) == (
        "You watch the mill.",
        '[{"type":"function","name":"ring"}]',
    )
    assert [[(b.kind, b.text) for b in blocks] for _, blocks in as_sent(trace)][1] == [
        ("text", "Is the mill open?"),
        ("thinking", "I ask the miller."),
        ("call", 'ring {"times":2}'),
        ("result", "He waves."),
    ]
    assert trace.edits == ()


def test_cached_tokens_are_part_of_the_input_and_said_to_be_taken_so() -> None:
    trace = load(DATA / "mill.otlp.jsonl")
    # 5 + 128,955 + 1,253 = 130,213, and not 260,421.
    assert trace.requests[1].usage == Usage(5, 128_955, 1_253, output=40)
    assert "1 calls read from a cache: taken as part of their input, as the convention says" in trace.warnings


def test_an_emitter_that_counts_the_cache_beside_the_input_is_seen_by_the_numbers(tmp_path: Path) -> None:
    chat = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 40}
    path = otlp(tmp_path / "a.json", chat | {"gen_ai.usage.cache_read.input_tokens": 128_955})
    assert load(path).requests[0].usage == Usage(5, 128_955, output=40)


def test_usage_of_an_agents_span_repeats_what_is_below_it_and_is_not_counted() -> None:
    trace = load(DATA / "mill.otlp.jsonl")
    assert trace.usage == Usage(305, 128_955, 1_253, output=60)


def test_a_subagent_under_a_virtual_parent_is_a_child() -> None:
    trace = load(DATA / "mill.otlp.jsonl")
    assert [(len(c.requests), c.usage) for c in trace.children] == [(1, Usage(50, output=2))]


def test_flattened_openinference_messages_are_rebuilt_and_results_without_ids_find_their_calls() -> None:
    trace = load(DATA / "openinference.json")
    assert [r.usage for r in trace.requests] == [Usage(60, 40, output=9), Usage(120, output=4)]
    assert [(b.kind, b.text, b.args) for b in trace.blocks] == [
        ("text", "Is the mill open?", None),
        ("call", 'ring {"times":2}', "times=2"),
        ("result", "He waves.", "times=2"),
        ("text", "It is open.", None),
    ]
    assert trace.prefixes[0].tools == '[{"name":"ring"}]'
    assert trace.edits == ()


def test_content_in_the_events_of_older_conventions(tmp_path: Path) -> None:
    events = [
        {"name": "gen_ai.system.message", "attributes": {"content": "Be kind."}},
        {"name": "gen_ai.user.message", "attributes": {"content": "Hello."}},
        {"name": "gen_ai.choice", "attributes": {"message": {"role": "assistant", "content": "Good day."}}},
    ]
    chat = {"gen_ai.operation.name": "chat", "gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.completion_tokens": 3}
    trace = load(otlp(tmp_path / "a.json", chat, events=events))
    assert (trace.prefixes[0].system, [b.text for b in trace.blocks]) == ("Be kind.", ["Hello.", "Good day."])
    assert trace.requests[0].usage == Usage(9, output=3)


def test_a_prompt_that_is_only_what_is_new_goes_on_with_the_call_before(tmp_path: Path) -> None:
    call = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c9", "name": "ring", "arguments": {}}]}]
    result = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c9", "response": "He waves."}]}]
    ask = [{"role": "user", "parts": [{"type": "text", "content": "Is the mill open?"}]}]
    chat = {"gen_ai.operation.name": "chat"}
    path = otlp(
        tmp_path / "a.json",
        chat | {"gen_ai.input.messages": json.dumps(ask), "gen_ai.output.messages": json.dumps(call)},
        chat | {"gen_ai.input.messages": json.dumps(result), "gen_ai.output.messages": "[]"},
    )
    trace = load(path)
    assert [(b.request, b.kind) for b in trace.blocks] == [(1, "text"), (2, "call"), (2, "result")]
    assert (len(trace.requests), trace.children, trace.edits) == (2, (), ())


def test_a_record_of_tools_alone_says_so(tmp_path: Path) -> None:
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "ring",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": '{"times":2}',
        "gen_ai.tool.call.result": "He waves.",
    }
    trace = load(otlp(tmp_path / "a.json", tool))
    assert [(b.kind, b.text, b.args) for b in trace.blocks] == [
        ("call", 'ring {"times":2}', "times=2"),
        ("result", "He waves.", "times=2"),
    ]
    assert any("no call of a model is recorded" in w for w in trace.warnings)


def test_traces_of_one_session_are_one_run_and_others_apart(tmp_path: Path) -> None:
    def span(name: str, session: str | None, *texts: str) -> dict[str, Any]:
        roles = ("user", "assistant")
        said = [{"role": roles[i % 2], "content": t} for i, t in enumerate(texts)]
        given = {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": said[:-1],
            "gen_ai.output.messages": said[-1:],
        }
        return {
            "spanId": name,
            "traceId": name,
            "name": "x",
            "attributes": given | ({"session.id": session} if session else {}),
        }

    path = tmp_path / "a.json"
    spans = [
        span("1", "s", "Hi.", "Yes?"),
        span("2", "s", "Hi.", "Yes?", "Go.", "Gone."),
        span("3", None, "Hi.", "No."),
    ]
    path.write_text(json.dumps(spans), encoding="utf-8")
    assert [len(c.requests) for c in load(path).children] == [2, 1]


def test_spans_that_call_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 spans, none of them a call"):
        load(otlp(tmp_path / "a.json", {"http.method": "GET"}))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([{"toolCallId": "c", "toolName": "ring", "input": '{"a":1}'}], ["call"]),
        ({"prompt": "Hello."}, ["text"]),
        ({"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}, ["text"]),
        ({"output": [{"type": "function_call", "call_id": "c", "name": "ring", "arguments": "{}"}]}, ["call"]),
        (
            [{"type": "reasoning", "summary": [{"text": "Hm."}]}, {"role": "user", "content": "Hello."}],
            ["thinking", "text"],
        ),
        (
            {"contents": [{"role": "user", "parts": [{"function_response": {"name": "ring", "response": 1}}]}]},
            ["result"],
        ),
        ({"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "Hello."}}, ["text"]),
        ([{"type": "human", "data": {"content": "Hello."}}], ["text"]),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]}], ["result"]),
        ([{"role": "user", "parts": [{"type": "blob", "mime_type": "image/png", "content": "AAAA"}]}], ["image"]),
    ],
)
def test_shapes_of_messages(value: Any, expected: list[str]) -> None:
    asked, _ = numbered(said_in(json.dumps(value), "user").messages, [])
    assert [b.kind for b in asked] == expected


@pytest.mark.parametrize("name", ["mill.otlp.jsonl", "openinference.json"])
@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-otel.json"
    read_damaged(path, data.draw(mutants((DATA / name).read_bytes())))


def test_real_spans_of_tools_pair_their_results(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    rows = {f: r for f, r in index.items() if "vs-copilot" in f}
    assert len(rows) == 4
    for name, row in rows.items():
        trace = load(corpus / name)
        sound(trace)
        runs = trace.children or (trace,)
        assert sum(b.kind == "call" for run in runs for b in run.blocks) == row["calls"]
        assert sum(b.kind == "result" and b.tool is not None for run in runs for b in run.blocks) == row["calls"]
        assert all(r.usage is None for run in runs for r in run.requests)
    # Two conversations in the last one.
    assert len(load(corpus / "otel" / "vs-copilot-sample-4.otlp.jsonl").children) == 2


@pytest.mark.parametrize("when", [10**400, -(10**400), 10**18 * 10**9, True, "9" * 24, [10**400, 0], None])
def test_a_time_that_is_none_costs_the_time_only(when: object, tmp_path: Path) -> None:
    path = otlp(tmp_path / "a.json", {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 9})
    document = json.loads(path.read_text(encoding="utf-8"))
    document["spans"][0]["startTimeUnixNano"] = when
    path.write_text(json.dumps(document), encoding="utf-8")
    assert [(r.start, r.usage) for r in load(path).requests] == [(None, Usage(9))]
