"""What labkit answers to a case, by the fields that stand for each peer's rule."""

from __future__ import annotations

from dataclasses import replace

from conformance.cases import Case
from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.ladder.summaries import SizedSummarizer
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
    s = case.settings
    policy = replace(
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
    return cleared(case, policy)


def pydantic_clear(case: Case) -> list[int]:
    s = case.settings
    policy = replace(
        ALONE,
        trigger=1,
        strict=False,
        keep=s["keep"],
        floor=s["minimum"],
        pinned=frozenset(s["exclude"]),
        pinned_take_keep=True,
        stub_text="[tool result cleared]",
    )
    return cleared(case, policy)


def pydantic_deduplicate(case: Case) -> list[int]:
    others = frozenset({"run_tests", "notes_read"})
    policy = replace(ALONE, evict=frozenset({"same_call"}), floor=0, stub_text="[superseded file read]", pinned=others)
    return cleared(case, policy)


def inspect_edit(case: Case) -> list[int]:
    s = case.settings
    policy = replace(
        ALONE, trigger=1, strict=False, keep=s["keep"], floor=0, pinned=frozenset(s["exclude"]), stub_text="(removed)"
    )
    return cleared(case, policy)


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
