"""Exercises of notebook 00: what a request is billed for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.course.exercise import Case, Exercise, Wrong

__all__ = ["EXERCISES"]


def billed(requests: int, added: int) -> int:
    """Tokens billed over a run whose every request carries all before it and ``added`` new tokens."""
    return added * requests * (requests + 1) // 2


CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")


def prompt_of(usage: Mapping[str, Any]) -> Any:
    """The whole prompt of a usage record, in Anthropic's form or in that of OpenAI's chat completions."""
    if "prompt_tokens" in usage:
        return usage["prompt_tokens"]
    return usage["input_tokens"] + sum(usage.get(name) or 0 for name in CACHED)


def _open_ai_twice(usage: Mapping[str, Any]) -> Any:
    return prompt_of(usage) + usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)


def _output_too(usage: Mapping[str, Any]) -> Any:
    return prompt_of(usage) + usage.get("output_tokens", 0) + usage.get("completion_tokens", 0)


def _no_none(usage: Mapping[str, Any]) -> Any:
    if "prompt_tokens" in usage:
        return usage["prompt_tokens"]
    return usage["input_tokens"] + sum(usage.get(name, 0) for name in CACHED)


_SESSION = {"input_tokens": 4_000, "cache_read_input_tokens": 1_100_000, "cache_creation_input_tokens": 90_000}
_OPEN_AI = {"prompt_tokens": 123_000, "prompt_tokens_details": {"cached_tokens": 110_000}, "completion_tokens": 800}
_EMPTY = {"input_tokens": 5_000, "cache_read_input_tokens": None, "cache_creation_input_tokens": None}

EXERCISES = (
    Exercise(
        id="00.1",
        title="How large was the prompt?",
        cases=lambda: [
            Case((), 123_000, "4,000 uncached, 110,000 read from the cache, 9,000 written to it"),
        ],
        solution=4_000 + 110_000 + 9_000,
        wrong=(
            Wrong(
                4_000,
                "input_tokens is what is left after the cache, not the prompt: reads and writes are part of the "
                "prompt too.",
            ),
            Wrong(
                114_000,
                "What is written to the cache was in the prompt as well: add the writes.",
            ),
            Wrong(
                13_000,
                "What is read from the cache costs less, and still is part of the prompt: add the reads.",
            ),
            Wrong(
                119_000,
                "Reads and writes are there, and the uncached rest is missing: the counts are disjoint, so add "
                "all three.",
            ),
        ),
        difficulty=1,
        worth=5,
        minutes=2,
    ),
    Exercise(
        id="00.2",
        title="Tokens billed over a run",
        cases=lambda: [
            Case((1, 100), 100),
            Case((2, 100), 300),
            Case((3, 100), 600),
            Case((60, 3_500), 6_405_000),
            Case((0, 100), 0),
        ],
        solution=billed,
        wrong=(
            Wrong(
                lambda requests, added: requests * added,
                "This counts each token once. A request carries everything said before it, so the first tokens "
                "are billed at every request.",
            ),
            Wrong(
                lambda requests, added: added * requests * (requests - 1) // 2,
                "This leaves out each request's own new tokens: the first request already carries some.",
            ),
            Wrong(
                lambda requests, added: added * requests * requests,
                "This bills every request at the size of the last one. The early ones were smaller: 1, 2, 3, ... "
                "times what is added.",
            ),
        ),
        difficulty=2,
        worth=5,
        minutes=4,
    ),
    Exercise(
        id="00.3",
        title="Two vendors, one question",
        cases=lambda: [
            Case((_SESSION,), 1_194_000),
            Case((_OPEN_AI,), 123_000),
            Case((_EMPTY,), 5_000),
            Case(({"input_tokens": 2_500, "output_tokens": 300},), 2_500),
            Case(({"prompt_tokens": 900, "completion_tokens": 50},), 900),
        ],
        solution=prompt_of,
        wrong=(
            Wrong(
                lambda usage: usage.get("input_tokens", usage.get("prompt_tokens")),
                "In Anthropic's form input_tokens is only what stands after the last cached part: 4,000 of a million. "
                "Add what was read from the cache and what was written to it.",
            ),
            Wrong(
                _open_ai_twice,
                "In OpenAI's form the cached tokens are a part of prompt_tokens: this counts them twice.",
            ),
            Wrong(
                _output_too,
                "What the model wrote is not in the prompt that it was sent: output is billed apart.",
            ),
            Wrong(
                _no_none,
                "A field can be there and hold None: nothing was cached. Take it as 0.",
            ),
        ),
        difficulty=2,
        worth=4,
        minutes=6,
        extra=True,
    ),
)
