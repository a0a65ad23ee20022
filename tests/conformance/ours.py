"""What labkit answers to a case, by the fields that stand for each peer's rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.cases import Case
from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.ladder.trim import left_by_trim
from labkit.record.trace import Block

ALONE = replace(Policy.nothing(), stub_if_smaller=False, pinned=frozenset())


def blocks(case: Case, *, results_in_one: bool = False) -> list[Block]:
    """The case as blocks: the calls of one message share it, each result is a message of its own."""
    made: list[Block] = []
    number = 0
    for message in case.messages:
        number += 1
        request = number
        if isinstance(message, str):
            made.append(Block("text", "user", message, request, number))
            continue
        for c in message:
            text = f"{c.tool}({c.path})"
            made.append(Block("call", "assistant", text, request, number, c.tool, c.path, c.id))
        number += 1
        for c in message:
            made.append(Block("result", "tool", "x" * c.chars, request, number, c.tool, c.path, c.id))
            number += not results_in_one
    return made


def length(text: str) -> int:
    """Characters stand for tokens: every peer takes a counter of one's own."""
    return len(text)


def climb(case: Case, policy: Policy, *, results_in_one: bool = False) -> ContextManager:
    """The ladder once, on the whole list. Sizes are characters, and 4 a message."""
    manager = ContextManager(policy=policy, summarizer=SizedSummarizer(0, call="free"), count=length)
    for block in blocks(case, results_in_one=results_in_one):
        manager.append(block)
    manager.requests = 10_000  # everything was carried before
    manager.step()
    return manager


def cleared(case: Case, policy: Policy) -> list[int]:
    """Which results were taken, by their number."""
    results = [b for b in climb(case, policy).blocks() if b.kind == "result"]
    return [i for i, block in enumerate(results) if block.edited]


def langchain_clear(case: Case) -> list[int]:
    return cleared(case, langchain_policy(case))


def langchain_policy(case: Case) -> Policy:
    s = case.settings
    return replace(
        ALONE,
        trigger=s["trigger"],
        keep=s["keep"],
        floor=s["minimum"],
        floor_is="target",
        pinned=frozenset(s["exclude"]),
        pinned_take_keep=True,
        clear_inputs=frozenset({"*"}) if s["inputs"] else frozenset(),
        stub_text="[cleared]",
        count_prefix=False,
    )


def pydantic_clear(case: Case) -> list[int]:
    return cleared(case, pydantic_policy(case))


def pydantic_policy(case: Case) -> Policy:
    s = case.settings
    return replace(
        ALONE,
        trigger=1,
        strict=False,
        keep=s["keep"],
        floor=s["minimum"],
        pinned=frozenset(s["exclude"]),
        pinned_take_keep=True,
        stub_text="[tool result cleared]",
    )


def pydantic_deduplicate(case: Case) -> list[int]:
    others = frozenset({"run_tests", "notes_read"})
    policy = replace(ALONE, evict=frozenset({"same_call"}), floor=0, stub_text="[superseded file read]", pinned=others)
    return cleared(case, policy)


def inspect_edit(case: Case) -> list[int]:
    return cleared(case, inspect_policy(case))


def inspect_policy(case: Case) -> Policy:
    s = case.settings
    return replace(
        ALONE, trigger=1, strict=False, keep=s["keep"], floor=0, pinned=frozenset(s["exclude"]), stub_text="(removed)"
    )


def agent_framework_selective(case: Case) -> list[int]:
    policy = replace(
        ALONE, trigger=1, strict=False, keep=case.settings["keep"], keep_by="groups", floor=0, stub_text="(removed)"
    )
    return cleared(case, policy)


def openai_trimmer(case: Case) -> list[int]:
    """Of the results that are long enough to be trimmed."""
    policy = replace(
        ALONE,
        trigger=1,
        strict=False,
        keep=case.settings["recent_turns"],
        keep_by="user_turns",
        floor=0,
        stub_text="(trimmed)",
    )
    return [i for i in cleared(case, policy) if case.calls[i].chars > 500]


def swe_agent(case: Case) -> list[int]:
    """The first observation is the task's own and always stays: it is pinned, and takes one of keep's places."""
    s = case.settings
    pinned = replace_first(case)
    policy = replace(
        ALONE,
        trigger=1,
        strict=False,
        keep=s["keep"] + 1,
        batch=s["polling"],
        pinned=frozenset({"instance"}),
        pinned_take_keep=True,
        floor=0,
        stub_text="(omitted)",
    )
    return cleared(pinned, policy)


def replace_first(case: Case) -> Case:
    """The case with its first call made the task's own observation."""
    messages = list(case.messages)
    at = next(i for i, m in enumerate(messages) if not isinstance(m, str))
    messages[at] = (replace(messages[at][0], tool="instance"), *messages[at][1:])
    return replace(case, messages=tuple(messages))


def langchain_summary(case: Case) -> int:
    """How many messages a summary takes, keeping so many of the newest."""
    s = case.settings
    return _cut(case, replace(ALONE, keep_recent=s["keep_messages"]))


def langchain_summary_by_tokens(case: Case) -> int:
    """How many messages a summary takes, keeping so many tokens of the newest."""
    s = case.settings
    return _cut(case, replace(ALONE, keep_recent=s["keep_tokens"], keep_recent_by="tokens"))


def _cut(case: Case, policy: Policy) -> int:
    made = blocks(case)
    total = sum(len(b.text) for b in made) + 4 * len({b.message for b in made})
    policy = replace(policy, trigger=case.settings["trigger"], strict=False, keep=None, compact_above=1, floor=0)
    if total < case.settings["trigger"]:
        return 0
    after = climb(case, policy).blocks()
    if not any(b.kind == "summary" for b in after):
        return 0
    taken = len(made) - (len(after) - 1)
    return len({b.message for b in made[:taken]})


# -- one step at a time: what is gone at each request, each with its own memory of what it did -------


def steps(case: Case, policy: Policy) -> list[list[int]]:
    """Which results are gone at each request, one request after each message of results."""
    manager = ContextManager(policy=policy, summarizer=SizedSummarizer(0, call="free"), count=length)
    manager.requests = 10_000  # everything was carried before
    made = blocks(case)
    gone = []
    for i, block in enumerate(made):
        manager.append(block)
        ends = i + 1 == len(made) or made[i + 1].kind != "result"
        if block.kind == "result" and ends:
            manager.step()
            results = [b for b in manager.blocks() if b.kind == "result"]
            gone.append([n for n, b in enumerate(results) if b.edited])
    return gone


def langchain_clear_steps(case: Case) -> list[list[int]]:
    """As shipped: it edits a copy and forgets."""
    return steps(case, replace(langchain_policy(case), remembers=False))


def langchain_clear_kept_steps(case: Case) -> list[list[int]]:
    return steps(case, langchain_policy(case))


def pydantic_clear_steps(case: Case) -> list[list[int]]:
    return steps(case, pydantic_policy(case))


def inspect_edit_steps(case: Case) -> list[list[int]]:
    return steps(case, inspect_policy(case))


def preserved(case: Case) -> float:
    """The share that a trim keeps, from the case's ``keep``."""
    return (0.0, 0.2, 0.5, 0.7, 0.8, 1.0)[case.settings["keep"]]


def inspect_trim(case: Case) -> list[int]:
    """Which results are gone."""
    return _trimmed(case, _trim(blocks(case), case))


def _trim(context: Sequence[Block], case: Case) -> list[Block]:
    return [context[i] for i in left_by_trim(context, preserved(case))]


def _trimmed(case: Case, left: Sequence[Block]) -> list[int]:
    calls, results = ({b.call_id for b in left if b.kind == kind} for kind in ("call", "result"))
    assert calls == results
    return [i for i, call in enumerate(case.calls) if call.id not in results]


def inspect_trim_steps(case: Case) -> list[list[int]]:
    made, gone = blocks(case), []
    state: list[Block] = []
    for i, block in enumerate(made):
        state = [*state, block]
        if block.kind == "result" and (i + 1 == len(made) or made[i + 1].kind != "result"):
            state = _trim(state, case)
            come = {b.call_id for b in made[: i + 1]}
            gone.append([n for n in _trimmed(case, state) if case.calls[n].id in come])
    return gone
