"""Random message lists and settings, the same for every peer, from a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

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
