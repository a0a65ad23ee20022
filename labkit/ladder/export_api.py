"""A policy as a provider's own context management, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from labkit.errors import InputError, closest
from labkit.files import load_data
from labkit.ladder.export_values import Export, beyond, tokens_of
from labkit.ladder.policy import Policy

__all__ = ["anthropic", "from_config", "openai"]

_SAYS = frozenset(
    {
        "trigger",
        "trigger_by",
        "keep",
        "floor",
        "pinned",
        "clear_inputs",
        "keep_thinking",
        "compact_above",
        "keep_recent",
    }
    | {"edits_at", "window", "stub_text", "stub_if_smaller", "stub_chars", "pinned_take_keep", "strict", "lifetime"}
)


def anthropic(policy: Policy) -> Export:
    """As ``context_management`` of Anthropic's Messages API, edits in the order it asks for."""
    facts = load_data("export.json")["anthropic"]
    edits: list[dict[str, Any]] = []
    headers = []
    # Thinking has to be listed first.
    if policy.keep_thinking is not None:
        edits.append(
            {"type": facts["clear_thinking"], "keep": {"type": "thinking_turns", "value": max(policy.keep_thinking, 1)}}
        )
    missing = beyond(policy, _SAYS)
    clears = policy.trigger is not None and policy.keep is not None
    if clears:
        edit: dict[str, Any] = {"type": facts["clear_tool_uses"], "keep": {"type": "tool_uses", "value": policy.keep}}
        if policy.trigger_by == "tool_uses":
            edit["trigger"] = {"type": "tool_uses", "value": policy.trigger}
        else:
            edit["trigger"] = {"type": "input_tokens", "value": tokens_of(policy)}
        if policy.floor:
            edit["clear_at_least"] = {"type": "input_tokens", "value": policy.floor}
        if policy.pinned:
            edit["exclude_tools"] = sorted(policy.pinned)
            missing.append(
                "a pinned tool keeps its place among the newest results with some harnesses; here the order is not "
                "documented"
            )
        if policy.clear_inputs:
            edit["clear_tool_inputs"] = True if "*" in policy.clear_inputs else sorted(policy.clear_inputs)
        edits.append(edit)
    if edits:
        headers.append(facts["headers"]["edit"])
    if policy.compact_above is not None and policy.trigger is not None:
        at = max(policy.compact_above, tokens_of(policy) if policy.trigger_by != "tool_uses" else 0)
        if at < facts["least_compact_trigger"]:
            missing.append(f"compact_above: the least is {facts['least_compact_trigger']:,} tokens, so that is written")
            at = facts["least_compact_trigger"]
        if clears:
            missing.append("compact_above: the server compacts above its own trigger, not only after clearing")
        if policy.keep_recent:
            missing.append("keep_recent: a summary at the threshold takes everything before it")
        edits.append({"type": facts["compact"], "trigger": {"type": "input_tokens", "value": at}})
        headers.append(facts["headers"]["compact"])
    config = {"edits": edits}
    return Export(
        "anthropic", json.dumps({"context_management": config}, indent=2), config, tuple(missing), tuple(headers)
    )


def _read_clear(policy: Policy, edit: Mapping[str, Any]) -> Policy:
    trigger = edit.get("trigger") or {"type": "input_tokens", "value": 100_000}
    inputs = edit.get("clear_tool_inputs") or ()
    return replace(
        policy,
        trigger=trigger["value"],
        trigger_by="tool_uses" if trigger["type"] == "tool_uses" else "tokens",
        keep=(edit.get("keep") or {"value": 3})["value"],
        floor=(edit.get("clear_at_least") or {"value": 0})["value"],
        pinned=frozenset(edit.get("exclude_tools") or ()),
        clear_inputs=frozenset({"*"}) if inputs is True else frozenset(inputs),
    )


def _read_thinking(policy: Policy, edit: Mapping[str, Any]) -> Policy:
    keep = edit.get("keep", "all")
    if keep == "all" or (isinstance(keep, Mapping) and keep.get("type") == "all"):
        return policy
    # Without a trigger of its own it runs on every request.
    return replace(policy, keep_thinking=keep["value"], trigger=policy.trigger or 1)


def _read_compact(policy: Policy, edit: Mapping[str, Any]) -> Policy:
    at = (edit.get("trigger") or {"value": 150_000})["value"]
    return replace(policy, compact_above=at, trigger=policy.trigger or at, keep_recent=0)


def _read_openai(policy: Policy, edit: Mapping[str, Any]) -> Policy:
    at = edit.get("compact_threshold")
    if at is None:
        raise InputError("the compaction has no compact_threshold: its default is not documented, so give one")
    return replace(policy, compact_above=at, trigger=at, keep_recent=0)


_READERS: dict[str, Callable[[Policy, Mapping[str, Any]], Policy]] = {
    "clear_tool_uses_20250919": _read_clear,
    "clear_thinking_20251015": _read_thinking,
    "compact_20260112": _read_compact,
    "compaction": _read_openai,
}


def openai(policy: Policy) -> Export:
    """As ``context_management`` of OpenAI's Responses API."""
    facts = load_data("export.json")["openai"]
    missing = beyond(policy, frozenset({"trigger", "trigger_by", "compact_above", "window", "edits_at"}))
    entries = []
    if policy.compact_above is not None and policy.trigger is not None:
        at = max(policy.compact_above, tokens_of(policy) if policy.trigger_by != "tool_uses" else 0)
        entries.append({"type": facts["compact"], "compact_threshold": at})
    if policy.trigger is not None and policy.keep is not None:
        missing.append("clear: the API clears no results; ToolOutputTrimmer of the Agents SDK trims by user turns")
    config = {"context_management": entries}
    return Export("openai", json.dumps(config, indent=2), config, tuple(missing))


def from_config(config: Mapping[str, Any], base: Policy | None = None) -> Policy:
    """A policy from what a target takes: Anthropic's ``context_management``, or OpenAI's list of the same name.

    Parameters
    ----------
    config : mapping
        With ``edits``, or with a ``context_management`` that holds them.
    base : Policy, optional
        What everything else is taken from; default: do nothing.

    Raises
    ------
    InputError
        If it holds an edit that is not known.

    Examples
    --------
    >>> clear = {"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 5}}
    >>> policy = from_config({"edits": [clear]})
    >>> policy.trigger, policy.keep, policy.floor, policy.edits_at
    (100000, 5, 0, 'server')
    """
    given = config.get("context_management", config)
    edits = given if isinstance(given, list) else given.get("edits") if isinstance(given, Mapping) else None
    if not isinstance(edits, list) or not all(isinstance(edit, Mapping) for edit in edits):
        raise InputError(f"{_short(config)} holds no list of edits: give a context_management with edits")
    policy = replace(base or Policy.nothing(), keep=None, pinned=frozenset(), edits_at="server")
    for edit in edits:
        kind = edit.get("type")
        if kind not in _READERS:
            raise InputError(
                f"the edit {kind!r} is not known{closest(str(kind), _READERS)}: known are {', '.join(_READERS)}"
            )
        policy = _READERS[kind](policy, edit)
    return policy


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
