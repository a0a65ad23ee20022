"""The code that a policy is exported to, run by the installed peers: ``text`` needs them not, ``run_*`` do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance import ours
from conformance.cases import Case
from labkit.ladder.export import export
from labkit.ladder.policy import Policy

TARGETS = ("langchain", "pydantic-ai")


def policy(case: Case, target: str) -> Policy:
    """A clearing policy from the case's settings that the target can say whole."""
    s = case.settings
    shared = replace(
        ours.ALONE,
        trigger=s["trigger"],
        keep=s["keep"],
        floor=s["minimum"],
        pinned=frozenset(s["exclude"]),
        pinned_take_keep=True,
        clear_inputs=frozenset({"*"}) if s["inputs"] and target == "langchain" else frozenset(),
        stub_text="[cleared]",
    )
    if target == "langchain":
        return replace(shared, floor_is="target", remembers=False, count_prefix=False)
    return replace(shared, trigger=1)  # what the peer's rung is given to compact is past its trigger already


def text(case: Case, target: str) -> str:
    made = export(policy(case, target), target)
    assert made.missing == (), made.missing
    return made.text


def run(case: Case, target: str, code: str) -> list[int]:
    """Which results the peer takes, running the exported code."""
    from conformance import peers

    space: dict[str, Any] = {}
    exec(code, space)
    if target == "langchain":
        messages = peers._langchain_messages(case)
        space["edit"].apply(messages, count_tokens=peers._langchain_count)
        results = [m for m in messages if m.type == "tool"]
        return [i for i, m in enumerate(results) if m.response_metadata.get("context_editing", {}).get("cleared")]
    (rung,) = space["capabilities"]
    rung.tokenizer = len  # characters stand for tokens in all cases
    return peers._pydantic_taken(peers.run(rung.compact(peers._pydantic_messages(case), None)), "[cleared]")
