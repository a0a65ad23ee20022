"""The record written by a model, with the real SDKs against a local server: what it claims is looked up."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from labkit.errors import SummaryFailed
from labkit.handoff.model_writer import SCHEMA, TOOL, ModelWriter
from labkit.handoff.store import JsonStore
from labkit.ladder.artifact import check_evidence
from labkit.ladder.artifact_text import parse, render
from labkit.ladder.artifact_writer import ArtifactWriter
from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.record.trace import Block, Trace, Usage
from local_server import Server, serving

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

BLOCKS = [
    Block("text", "user", "Fix the total. Keep USD as it is.", 1),
    Block("call", "assistant", "edit", 2, tool="edit_file", args="src/total.py", call_id="c1"),
    Block("result", "tool", "ok", 2, tool="edit_file", args="src/total.py", call_id="c1"),
    Block("call", "assistant", "run", 3, tool="run_tests", args="tests", call_id="c2"),
    Block("result", "tool", "E  ValueError: no", 3, tool="run_tests", args="tests", call_id="c2"),
    Block("text", "assistant", "I round once, at the end.", 4),
]
SAID: dict[str, Any] = {
    "goal": "Totals to the cent.",
    "status": "in_progress",
    "decisions": [{"decision": "round once", "rationale": "lines add up", "supersedes": None, "piece": 5}],
    "completed": [{"step": "edit the total", "result": 2}],
    "open": [{"step": "make the tests pass", "blocker": None}],
    "invariants": [{"text": "Keep USD as it is.", "piece": 0}],
    "artifacts": ["src/total.py"],
}
SPENT = {"anthropic": Usage(uncached=400, output=90), "chat": Usage(uncached=40, cache_read=60, output=7)}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state
    while OPEN:
        OPEN.pop().close()


OPEN: list[Any] = []


def client(server: Server, kind: str = "anthropic") -> Any:
    url = server.url if kind == "anthropic" else f"{server.url}/v1"
    sdk = anthropic.Anthropic if kind == "anthropic" else openai.OpenAI
    OPEN.append(sdk(base_url=url, api_key="dummy", max_retries=0))
    return OPEN[-1]


def says(server: Server, said: Any, kind: str = "anthropic") -> None:
    if kind == "anthropic":
        server.usage = {"input_tokens": 400, "output_tokens": 90}
        server.reply = lambda request: [{"type": "tool_use", "id": "t1", "name": TOOL, "input": said}]
    else:
        call = {"id": "t1", "type": "function", "function": {"name": TOOL, "arguments": json.dumps(said)}}
        server.reply = lambda request: {"tool_calls": [call]}


def changed(**fields: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SAID), **fields}


@pytest.mark.parametrize("kind", ["anthropic", "chat"])
def test_a_record_with_evidence_and_what_it_cost(server: Server, kind: str, tmp_path: Any) -> None:
    says(server, SAID, kind)
    made = ModelWriter(client(server, kind), "m").write(BLOCKS)
    a = made.artifact
    assert (a.task, a.goal, made.refused, made.usage) == (BLOCKS[0].text, "Totals to the cent.", (), SPENT[kind])
    assert [(d.id, d.decision, d.request) for d in a.decisions] == [("D-01", "round once", 4)]
    assert [(c.step, c.evidence.call_id, c.request) for c in a.completed] == [("edit the total", "c1", 2)]
    assert [o.step for o in a.open] == ["make the tests pass"] and a.artifacts == ("src/total.py",)
    assert check_evidence(a, BLOCKS) == () and parse(render(a)) == a
    JsonStore(tmp_path / "h.json").write(a, None, seen=BLOCKS)
    (sent,) = server.requests
    text = sent["messages"][-1]["content"]
    assert "[4] turn 2, tool result of run_tests" in text and text.count("[0] turn") == 1
    tool = sent["tools"][0]
    assert (tool["input_schema"] if kind == "anthropic" else tool["function"]["parameters"]) == SCHEMA


@pytest.mark.parametrize(
    ("result", "blocker"),
    [(99, "no tool result shows it"), (5, "no tool result"), (-1, "no tool result"), (4, "an error: ValueError: no")],
)
def test_a_step_without_evidence_is_open_and_reported(server: Server, result: int, blocker: str) -> None:
    """A number that is none, one that is no result, one from the end, and a result that is an error."""
    says(server, changed(completed=[{"step": "run the tests", "result": result}], open=[]))
    made = ModelWriter(client(server), "m").write(BLOCKS)
    assert made.artifact.completed == () and made.refused == ("completed: run the tests",)
    (step,) = made.artifact.open
    assert step.step == "run the tests" and blocker in (step.blocker or "")


def test_an_invented_file_is_left_out_and_done_with_open_steps_is_not_done(server: Server) -> None:
    says(server, changed(artifacts=["src/invented.py"], status="done"))
    made = ModelWriter(client(server), "m").write(BLOCKS)
    assert made.refused == ("artifact: src/invented.py",)
    assert (made.artifact.artifacts, made.artifact.status) == (("src/total.py",), "in_progress")


def test_an_earlier_record_is_kept_and_its_steps_are_done(server: Server) -> None:
    says(server, SAID)
    writer = ModelWriter(client(server), "m")
    earlier = writer.write(BLOCKS).artifact
    more = [
        Block("summary", "user", render(earlier), 5),
        Block("call", "assistant", "run", 6, tool="run_tests", args="tests", call_id="c3"),
        Block("result", "tool", "3 passed", 6, tool="run_tests", args="tests", call_id="c3"),
    ]
    over = [{"decision": "round each line", "rationale": "the law", "supersedes": "D-01", "piece": 1}]
    done = [{"step": "make the tests pass", "result": 2}]
    says(server, changed(decisions=over, completed=done, open=[], invariants=[], artifacts=[], status="done"))
    a = writer.write(more).artifact
    assert (a.task, a.status, a.open) == (BLOCKS[0].text, "done", ())
    assert [(d.id, d.supersedes) for d in a.decisions] == [("D-01", None), ("D-02", "D-01")]
    assert [d.decision for d in a.standing] == ["round each line"]
    assert [c.step for c in a.completed] == ["edit the total", "make the tests pass"]
    assert [i.text for i in a.invariants] == ["Keep USD as it is."] and a.artifacts == ("src/total.py",)


@pytest.mark.parametrize(
    "said",
    [{}, [], {"goal": 3}, changed(decisions=[{"decision": "x", "supersedes": "D-09"}]), changed(status="finished")],
)
def test_what_is_no_record_is_refused(server: Server, said: Any) -> None:
    says(server, said if isinstance(said, dict) else {"decisions": said})
    with pytest.raises(SummaryFailed, match="what m wrote is no record"):
        ModelWriter(client(server), "m").write(BLOCKS)


def test_no_call_a_cut_answer_and_an_error(server: Server) -> None:
    writer = ModelWriter(client(server), "m")
    server.reply = lambda request: [{"type": "text", "text": "I would rather not."}]
    with pytest.raises(SummaryFailed, match="made no call"):
        writer.write(BLOCKS)
    says(server, SAID)
    server.stop_reason = "max_tokens"
    with pytest.raises(SummaryFailed, match="cut off"):
        writer.write(BLOCKS)
    server.fail = [500]
    with pytest.raises(SummaryFailed, match="InternalServerError"):
        writer.write(BLOCKS)


def test_in_a_manager_it_hands_off_and_falls_back(server: Server, invoice: Trace) -> None:
    says(server, changed(decisions=[], completed=[], open=[], invariants=[], artifacts=[]))
    policy = Policy(trigger=None, keep=None, compact_above=None, hand_off_above=20_000)
    for fails in (False, True):
        fallback = ArtifactWriter() if fails else None
        manager = ContextManager(policy=policy, writer=ModelWriter(client(server), "m", fallback=fallback))
        server.stop_reason = "max_tokens" if fails else None
        for _, new in invoice.new_blocks():
            for i in new:
                manager.append(invoice.blocks[i])
            manager.prepare()
            if any(e.messages for e in manager.events):
                break
        (first,) = [e for e in manager.events if e.messages]
        record = parse(manager.blocks()[0].text)
        assert record is not None and record.task == invoice.blocks[0].text
        assert record.goal == ("Totals to the cent." if not fails else invoice.blocks[0].text)
        assert first.kind == "handed_off"
