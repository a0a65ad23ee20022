"""What an export is, and how a policy's wishes are compared with what a target can say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from labkit.ladder.policy import Policy

__all__ = ["Export", "beyond", "clears", "compacts_above", "counts_results", "tokens_of"]


@dataclass(frozen=True)
class Export:
    """A policy for one target.

    Parameters
    ----------
    target : str
    text : str
        What to paste: JSON, code, or settings.
    config : mapping
        The same as values, where the target takes JSON; else empty.
    missing : tuple of str
        What the policy asks for and the target cannot do, a sentence each.
    headers : tuple of str
        Beta headers that a request needs.
    """

    target: str
    text: str
    config: Mapping[str, Any]
    missing: tuple[str, ...]
    headers: tuple[str, ...] = ()


def clears(policy: Policy) -> bool:
    """Whether results are ever cleared."""
    return policy.trigger is not None and policy.keep is not None


def counts_results(policy: Policy) -> bool:
    """Whether ``keep`` is a number of results; one of tokens or of user turns is never written as that."""
    return policy.keep_by in ("results", "groups")


def tokens_of(policy: Policy) -> int | None:
    """The trigger in tokens; ``None`` where there is none, or where it counts tool uses."""
    if policy.trigger is None or policy.trigger_by == "tool_uses":
        return None
    return round(policy.trigger * (policy.window or 0)) if policy.trigger_by == "fraction" else int(policy.trigger)


def compacts_above(policy: Policy) -> int | None:
    """The size in tokens past which a summary is made; ``None`` for never."""
    if policy.compact_above is None or policy.trigger is None:
        return None
    return max(policy.compact_above, tokens_of(policy) or 0)


_WORDS = {
    "evict": "the target removes no superseded results",
    "cap": "the target shapes no results: do it in the tool",
    "cap_of": "the target shapes no results: do it in the tool",
    "trim": "the target cuts no messages off without a summary",
    "hand_off_above": "the target starts no fresh context: do it in your own code",
    "only_cold": "the target does not look at the age of the cache",
    "remembers": "the target keeps its edits",
    "batch": "the target does not clear in batches",
    "keep_by": "the target counts results",
    "keep_first": "the target keeps no first messages word for word",
    "keep_recent_by": "the target counts messages",
    "keep_thinking": "the target leaves thinking alone",
    "compact_before_pause": "the target does not know the pauses",
    "keep_alive": "the target does not keep the cache alive",
    "lifetime": "the lifetime of the cache is set on its breakpoints",
    "floor_is": "the floor is a minimum here",
    "strict": "the target acts above its trigger, not at it",
    "count_prefix": "the target counts the whole prompt",
    "trigger_by": "the target counts tokens, and no tool uses",
}
# What clearing says for itself, where a target clears.
_OF_CLEAR = frozenset({"keep", "floor", "pinned", "stub_if_smaller", "stub_text", "pinned_take_keep"})
# These only matter beside others, or say nothing to a target.
_SILENT = frozenset({"window", "cap_by", "cap_preview", "cap_tail", "offload", "stub_chars", "bound_thinking"})


def beyond(policy: Policy, says: frozenset[str]) -> list[str]:
    """What a policy asks for beyond what a target can say, against a policy that asks for nothing."""
    nothing = Policy.nothing()
    quiet = set(_SILENT | _OF_CLEAR)
    if tokens_of(policy) is not None or policy.trigger is None:
        quiet.add("trigger_by")  # a share of the window is written in tokens
    if policy.trigger is None:
        quiet |= {"strict", "count_prefix"}
    if not clears(policy):
        quiet |= {"keep_by", "batch", "clear_inputs", "floor_is"}
    if policy.trigger is None or policy.keep_thinking is None:
        quiet.add("keep_thinking")
    if compacts_above(policy) is None:
        quiet |= {"compact_above", "keep_first", "keep_recent", "keep_recent_by"}
    found = []
    for field in fields(Policy):
        name = field.name
        if name in says or name in quiet or getattr(policy, name) == getattr(nothing, name):
            continue
        found.append(f"{name}: {_WORDS.get(name, 'the target has nothing for it')}")
    if "keep" in says and clears(policy) and not counts_results(policy):
        what = "tokens" if policy.keep_by == "tokens" else "user turns"
        found.append(f"clear: keep counts {what}, and a number of results has to be chosen: it is left out")
    return found
