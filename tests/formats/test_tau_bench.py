"""Reading tau-bench results."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.load import load
from labkit.record.trace import Usage
from mutants import mutants, read_damaged, sound

DATA = Path(__file__).resolve().parent.parent / "data" / "tau_bench"


def test_each_trial_is_a_run_of_its_own() -> None:
    trace = load(DATA / "trials.json")
    assert (len(trace.blocks), len(trace.requests)) == (0, 0)
    assert [(c.name, c.kind, len(c.requests)) for c in trace.children] == [
        ("task 0, trial 0, reward 1.0", "session", 3),
        ("task 0, trial 1, reward 0.0", "session", 2),
    ]
    assert trace.warnings == ("the file holds 2 runs: they are the children of this trace, take one with .children[0]",)
    assert trace.children[0].prefixes[0].system == "You book tables."


def test_an_id_used_for_two_calls_pairs_with_the_nearest() -> None:
    results = [b for b in load(DATA / "trials.json").children[0].blocks if b.kind == "result"]
    assert [(b.call_id, b.tool, b.args) for b in results] == [
        ("call_1", "find_guest", "name=Ada"),
        ("call_1", "book", "guest=7"),
    ]


def test_the_simulated_users_own_model_is_not_the_agent() -> None:
    trace = load(DATA / "simulations.json")
    assert (trace.name, trace.source) == ("task t1, trial 0, reward 1.0", "tau-bench: simulations.json")
    assert [r.usage for r in trace.requests] == [Usage(300, output=20), Usage(360, output=10)]
    assert {r.model for r in trace.requests} == {"chat-large"}
    texts = [b.text for b in trace.blocks]
    assert "one message" not in texts
    assert not any("look_at_phone" in text for text in texts)
    assert texts[-1] == "It is there. ###STOP###"


def test_the_fixed_greeting_is_no_request() -> None:
    trace = load(DATA / "simulations.json")
    assert (trace.blocks[0].role, trace.blocks[0].request) == ("assistant", 1)
    assert [r.start for r in trace.requests] == [1772442002.0, 1772442005.0]


def test_bundled_results_pair_and_a_cut_context_is_said() -> None:
    trace = load(DATA / "simulations.json")
    assert [(b.tool, b.text) for b in trace.blocks if b.kind == "result"] == [("book", "table 4"), ("light", "lit")]
    assert any(w.startswith("1 requests were cut to a budget") for w in trace.warnings)
    assert any(w.startswith("the system prompt is recorded as its policy only") for w in trace.warnings)


@pytest.mark.parametrize("name", ["trials.json", "simulations.json"])
@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    read_damaged(path, data.draw(mutants((DATA / name).read_bytes())))


def test_real_trials_load_with_their_counts(corpus: Path, index: dict[str, dict[str, Any]]) -> None:
    name = "tau-bench/gpt-4o-airline.json"
    row = index[name]
    trace = load(corpus / name)
    for child in trace.children[::20]:
        sound(child)
    assert len(trace.children) == row["oracle"]["trials"]
    assert sum(float(c.name.rsplit(" ", 1)[1]) for c in trace.children) == row["oracle"]["reward_sum"]
    raw = json.loads((corpus / name).read_text(encoding="utf-8"))
    blocks = [[b for b in c.blocks if b.kind in ("call", "result")] for c in trace.children]
    for trial, found in zip(raw, blocks, strict=True):
        given_calls = [(c["id"], c["function"]["name"]) for m in trial["traj"] for c in m.get("tool_calls") or []]
        assert [(b.call_id, b.tool) for b in found if b.kind == "call"] == given_calls
        # Every result stands right after its call, whatever ids it shares with others.
        for before, after in itertools.pairwise(found):
            if after.kind == "result":
                assert (before.kind, before.call_id, before.tool) == ("call", after.call_id, after.tool)
    # INDEX counts 1,091 distinct ids within their trials; as the model made them, there are more calls.
    assert sum(b.kind == "call" for found in blocks for b in found) == 1_164 > row["calls"]
    # Every message but the 200 system prompts is a message of the context.
    assert sum(len({b.message for b in c.blocks}) for c in trace.children) == row["messages"] - 200
    assert all(r.usage is None for c in trace.children for r in c.requests)
