"""Reading exports of Langfuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.load import load
from labkit.record.trace import Trace, Usage
from mutants import mutants, read_damaged, sound

EXPORT = Path(__file__).resolve().parent.parent / "data" / "langfuse" / "mill.json"


def spent(trace: Trace) -> Usage:
    parts = [u for u in (trace.usage, *(spent(c) for c in trace.children)) if u is not None]
    return sum(parts, Usage())


def test_generations_are_requests_and_the_agents_sum_is_not_counted() -> None:
    trace = load(EXPORT)
    agent = next(c for c in (trace, *trace.children) if len(c.requests) == 2)
    assert [r.usage for r in agent.requests] == [Usage(70, 30, output=9), Usage(80, 40, output=10)]
    assert [(b.kind, b.text, b.tool) for b in agent.blocks] == [
        ("text", "Is the mill open?", None),
        ("call", 'ring {"times":2}', "ring"),
        ("result", "He waves.", "ring"),
        ("text", "It is open.", None),
    ]
    assert (agent.prefixes[0].system, json.loads(agent.prefixes[0].tools or "")) == (
        "You watch the mill.",
        [{"type": "function", "function": {"name": "ring"}}],
    )


def test_a_generation_inside_another_is_the_same_call() -> None:
    trace = load(EXPORT)
    (log,) = (c for c in (trace, *trace.children) if any(b.text == "Write the log." for b in c.blocks))
    # The provider's numbers of the inner one, the words of the outer one.
    assert [r.usage for r in log.requests] == [Usage(12, output=3)]
    assert [b.text for b in log.blocks] == ["Write the log.", "Written."]
    assert "1 spans of a model lie around another of the same call: counted once" in trace.warnings


def test_tokens_counted_by_the_tool_are_a_placeholder() -> None:
    trace = load(EXPORT)
    (guess,) = (c for c in (trace, *trace.children) if any(b.text == "Count." for b in c.blocks))
    assert [r.usage for r in guess.requests] == [Usage(7, input_quality="placeholder", output_quality="absent")]
    assert "usage of 1 calls was counted by the tracing tool, not by the provider" in trace.warnings


def test_lines_of_observations_are_read_and_a_repeated_one_counts_once(tmp_path: Path) -> None:
    observations = json.loads(EXPORT.read_text(encoding="utf-8"))["observations"]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(o) for o in [*observations, observations[0], {}]), encoding="utf-8")
    trace = load(path)
    assert spent(trace) == spent(load(EXPORT))
    assert "2 entries are no observations, or there twice; skipped" in trace.warnings


def test_a_trace_without_generations_is_refused(tmp_path: Path) -> None:
    observations = json.loads(EXPORT.read_text(encoding="utf-8"))["observations"]
    path = tmp_path / "a.json"
    path.write_text(json.dumps([o for o in observations if o["type"] == "AGENT"]), encoding="utf-8")
    with pytest.raises(InputError, match="1 observations, none of them a generation"):
        load(path)


@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-langfuse.json"
    read_damaged(path, data.draw(mutants(EXPORT.read_bytes())))


def test_real_exports_hold_the_usage_of_their_generations(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    rows = {f: r for f, r in index.items() if Path(f).name.startswith("langfuse-")}
    assert len(rows) == 13
    for name, row in rows.items():
        trace = load(corpus / name)
        sound(trace)
        found, oracle = spent(trace), row["oracle"]["usage_generations"]
        if "agno" in name or "vercel" in name:
            # Here one generation lies inside another of the same call, and the oracle adds both.
            assert any("counted once" in w for w in trace.warnings)
            inner = (163 + 663, 20 + 225) if "agno" in name else (62, 85)
            assert (found.total_input, found.output) == inner
        elif "vertex" in name:
            # The export itself has no usage; the answer of the provider inside it has.
            assert oracle == {}
            assert (found.total_input, found.output) == (1200, 15)
        else:
            reasoning = oracle.get("output_reasoning", 0)
            assert (found.total_input, found.output) == (oracle["input"], oracle.get("output", 0) + reasoning), name
            assert found.total_input + found.output == oracle["total"]
        naive = row["oracle"]["usage_all"]
        if "microsoft" in name:
            assert (naive["input"], naive["output"]) != (found.total_input, found.output)


@pytest.mark.parametrize(
    ("name", "calls", "results"),
    [
        ("otel/langfuse-microsoft-agent-2025-12-17", 1, 1),
        ("otel/langfuse-openai-agents-2025-09-30", 1, 1),
        ("otel/langfuse-google-adk-2025-08-28", 1, 1),
        ("otel/langfuse-vercel-aisdk-2025-11-17", 1, 0),
        ("otel/langfuse-pydantic-ai-tools-2025-12-04", 4, 3),
        ("langchain/langfuse-langgraph-python-2025-08-22", 1, 1),
        ("langchain/langfuse-langgraph-js-2025-10-30", 1, 1),  # INDEX counts copies in other spans: 3
        ("otel/langfuse-csharp-agent-with-gemini-2026-03-09", 2, 1),  # and here: 4
    ],
)
def test_real_calls_pair_with_their_results(corpus: Path, name: str, calls: int, results: int) -> None:
    trace = load(corpus / f"{name}.trace.json")
    blocks = [b for t in (trace, *trace.children) for b in t.blocks]
    assert sum(b.kind == "call" for b in blocks) == calls
    assert sum(b.kind == "result" and b.tool is not None for b in blocks) == results
    assert trace.edits == ()
