"""The same cleared sets, cut points and stops as the peers: recorded answers, and the peers themselves.

The peers are installed only by ``make conformance``, which sets LABKIT_CONFORMANCE; a plain run compares with
what they answered when ``conformance/record.py`` last asked them.
"""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings

from conformance import cases, ours, peers

KEPT = json.loads((Path(__file__).parent / "data" / "conformance" / "answers.json").read_text(encoding="utf-8"))
RULES = tuple(KEPT["answers"])
STEPS = json.loads((Path(__file__).parent / "data" / "conformance" / "steps.json").read_text(encoding="utf-8"))
LIVE = bool(os.environ.get("LABKIT_CONFORMANCE"))
CASES = 1_200

live = pytest.mark.skipif(not LIVE, reason="the peers are installed by make conformance")


@pytest.mark.parametrize("rule", RULES)
def test_as_the_peer_answered(rule: str) -> None:
    given = KEPT["answers"][rule]
    assert [getattr(ours, rule)(cases.make(seed)) for seed in range(len(given))] == given
    # The cases ask something: a fair part of the answers is not empty.
    assert sum(bool(answer) for answer in given) >= len(given) // 5


@pytest.mark.parametrize("rule", peers.STEPS)
def test_step_by_step_as_the_peer_did(rule: str) -> None:
    """One request after the other, each side with its own memory of what it took before."""
    given = STEPS[rule]
    assert [getattr(ours, rule)(cases.make(seed)) for seed in range(len(given))] == given
    # A run of several steps, in a fair part of which more goes than before.
    assert sum(len(run) > 2 and run[-1] != run[0] for run in given) >= len(given) // 4


def test_forgetting_takes_less() -> None:
    """As shipped LangChain starts over at each request and stops at its target, with less gone in most."""
    forgets, keeps = STEPS["langchain_clear_steps"], STEPS["langchain_clear_kept_steps"]
    for run in keeps:
        assert all(set(a) <= set(b) for a, b in pairwise(run))
    pairs = [(set(a), set(b)) for one, two in zip(forgets, keeps, strict=True) for a, b in zip(one, two, strict=True)]
    assert sum(forgotten < kept for forgotten, kept in pairs) > 10 * sum(
        not forgotten <= kept for forgotten, kept in pairs
    )


@live
@pytest.mark.parametrize("rule", peers.STEPS)
def test_step_by_step_as_the_peer_does(rule: str) -> None:
    warnings.simplefilter("ignore")
    ask, answer = getattr(peers, rule), getattr(ours, rule)
    wrong = [seed for seed in range(1_000, 1_000 + CASES) if ask(cases.make(seed)) != answer(cases.make(seed))]
    assert wrong == []


@live
@pytest.mark.parametrize("rule", RULES)
def test_as_the_peer_answers(rule: str) -> None:
    warnings.simplefilter("ignore")
    ask, answer = getattr(peers, rule), getattr(ours, rule)
    wrong = [seed for seed in range(1_000, 1_000 + CASES) if ask(cases.make(seed)) != answer(cases.make(seed))]
    assert wrong == []


@live
@pytest.mark.parametrize("rule", RULES)
def test_as_the_peer_answers_to_what_is_drawn(rule: str) -> None:
    warnings.simplefilter("ignore")

    @settings(max_examples=200, deadline=None)
    @given(cases.drawn())
    def agree(case: cases.Case) -> None:
        assert getattr(ours, rule)(case) == getattr(peers, rule)(case)

    agree()


@given(cases.drawn())
def test_swe_agents_rule_as_it_is_described(case: cases.Case) -> None:
    assert ours.swe_agent(case) == peers.swe_agent(case)  # needs no peer: it is written down here


@live
def test_the_kept_answers_are_still_theirs() -> None:
    warnings.simplefilter("ignore")
    for rule in RULES:
        assert [getattr(peers, rule)(cases.make(seed)) for seed in range(20)] == KEPT["answers"][rule][:20]


# -- what differs between them, by name; seen in the kept answers ----------------------------------


def ten(*, exclude: list[str], minimum: int = 0, keep: int = 3) -> cases.Case:
    """Ten reads of 4,000 characters, the third and the ninth by another tool."""
    names = ["notes_read" if i in (2, 8) else "read_file" for i in range(10)]
    calls = tuple((cases.Call(name, f"{i}.py", f"c{i}", 4_000),) for i, name in enumerate(names))
    settings = {"trigger": 1_000, "keep": keep, "minimum": minimum, "exclude": exclude, "inputs": False}
    return cases.Case(0, ("The task.", *calls), settings)


def test_exclusion_before_or_after_keep() -> None:
    """Inspect leaves excluded tools out first; with LangChain and pydantic-ai they use up places of keep."""
    case = ten(exclude=["notes_read"])
    assert ours.langchain_clear(case) == ours.pydantic_clear(case) == [0, 1, 3, 4, 5, 6]
    assert ours.inspect_edit(case) == [0, 1, 3, 4, 5]


def test_a_minimum_that_cannot_be_reached() -> None:
    """A target for LangChain, so everything goes; a floor for pydantic-ai and Anthropic, so nothing does."""
    case = ten(exclude=[], minimum=50_000)
    assert ours.langchain_clear(case) == [0, 1, 2, 3, 4, 5, 6]
    assert ours.pydantic_clear(case) == []


def test_a_parallel_batch_is_cut_in_the_middle() -> None:
    together = tuple(tuple(cases.Call("r", f"{i}{j}", f"c{i}_{j}", 4_000) for j in range(3)) for i in range(4))
    case = replace(ten(exclude=[], keep=4), messages=("The task.", *together))
    assert ours.langchain_clear(case) == ours.pydantic_clear(case) == ours.inspect_edit(case) == list(range(8))
    case = replace(case, settings={**case.settings, "keep": 2})
    assert ours.agent_framework_selective(case) == list(range(6))  # whole groups


def test_a_trimmer_by_user_turns_does_nothing_in_a_run_with_one() -> None:
    case = replace(ten(exclude=[]), settings={"recent_turns": 2})
    assert ours.openai_trimmer(case) == []
    asked_again = replace(case, messages=(*case.messages, "And now?", *case.messages[1:2], "Thanks."))
    assert ours.openai_trimmer(asked_again) == list(range(10))


@live
def test_langchain_replaces_history_without_calling_its_summarizer() -> None:
    calls, stands = peers.langchain_summary_never_called(12)
    assert calls == 0
    assert "too long to summarize" in stands


@live
def test_the_named_differences_are_the_peers_own() -> None:
    warnings.simplefilter("ignore")
    excluded, high = ten(exclude=["notes_read"]), ten(exclude=[], minimum=50_000)
    for rule in ("langchain_clear", "pydantic_clear", "inspect_edit"):
        assert getattr(peers, rule)(excluded) == getattr(ours, rule)(excluded)
    for rule in ("langchain_clear", "pydantic_clear"):
        assert getattr(peers, rule)(high) == getattr(ours, rule)(high)
