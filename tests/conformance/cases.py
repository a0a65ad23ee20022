"""Random message lists and settings, the same for every peer, from a seed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

TOOLS = ("read_file", "run_tests", "notes_read")


@dataclass(frozen=True)
class Call:
    """One call and its result; ``None`` for a call that is not answered."""

    tool: str
    path: str
    id: str
    chars: int


@dataclass(frozen=True)
class Case:
    """Messages in order: a user's text as a string, or the calls that an assistant made together."""

    seed: int
    messages: tuple[str | tuple[Call, ...], ...]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> list[Call]:
        """Every call, in order."""
        return [call for message in self.messages if not isinstance(message, str) for call in message]


def make(seed: int) -> Case:
    """A case: one user turn or several, calls alone or together, results small and large."""
    rng = Random(seed)
    messages: list[str | tuple[Call, ...]] = ["The task." + " Do it well." * rng.randint(0, 5)]
    serial = 0
    for _ in range(rng.randint(1, 14)):
        if rng.random() < 0.2:
            messages.append("One thing more." * rng.randint(1, 3))
            continue
        together = []
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            path = rng.choice("abcd") + ".py"
            together.append(Call(rng.choice(TOOLS), path, f"c{serial}", rng.choice([0, 12, 60, 300, 501, 900])))
            serial += 1
        messages.append(tuple(together))
    if isinstance(messages[-1], str):
        messages.append((Call("run_tests", "a.py", f"c{serial}", 40),))
    settings = {
        "trigger": rng.choice([1, 100, 400, 1_000, 2_500]),
        "keep": rng.randint(0, 5),
        "minimum": rng.choice([0, 0, 50, 400, 1_500]),
        "exclude": rng.choice([[], ["notes_read"], ["run_tests", "notes_read"]]),
        "inputs": rng.random() < 0.4,
        "keep_messages": rng.randint(1, 12),
        "keep_tokens": rng.choice([30, 200, 700, 1_500]),
        "polling": rng.randint(1, 4),
        "recent_turns": rng.randint(1, 3),
    }
    return Case(seed, tuple(messages), settings)


def drawn() -> st.SearchStrategy[Case]:
    """Cases that shrink to a small one where an answer differs."""
    call = st.tuples(st.sampled_from(TOOLS), st.sampled_from("ab"), st.sampled_from([0, 12, 60, 300, 501, 900]))
    message = st.just("One thing more.") | st.lists(call, min_size=1, max_size=3)
    settings = st.fixed_dictionaries(
        {
            "trigger": st.sampled_from([1, 100, 400, 1_000, 2_500]),
            "keep": st.integers(0, 5),
            "minimum": st.sampled_from([0, 50, 400, 1_500]),
            "exclude": st.sampled_from([[], ["notes_read"], ["run_tests", "notes_read"]]),
            "inputs": st.booleans(),
            "keep_messages": st.integers(1, 12),
            "keep_tokens": st.sampled_from([30, 200, 700, 1_500]),
            "polling": st.integers(1, 4),
            "recent_turns": st.integers(1, 3),
        }
    )
    return st.builds(_drawn, st.lists(message, max_size=12), settings)


def _drawn(given: list[Any], settings: dict[str, Any]) -> Case:
    # The last message is a result: a harness edits before it sends one.
    given = [*given, [("run_tests", "a", 40)]]
    serial = itertools.count()
    messages = [
        m
        if isinstance(m, str)
        else tuple(Call(tool, f"{path}.py", f"c{next(serial)}", chars) for tool, path, chars in m)
        for m in given
    ]
    return Case(-1, ("The task.", *messages), settings)
