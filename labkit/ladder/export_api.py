"""A policy as a provider's own context management, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from labkit.errors import InputError, closest
from labkit.files import load_data
from labkit.ladder.export_values import Export, beyond, clears, compacts_above, counts_results, tokens_of
from labkit.ladder.policy import Policy

__all__ = ["anthropic", "from_config", "openai"]

_SAYS = frozenset(
    {"trigger", "trigger_by", "keep", "floor", "pinned", "clear_inputs", "keep_thinking", "compact_above"}
    | {"keep_recent", "edits_at", "window"}
)


def anthropic(policy: Policy) -> Export:
    """As ``context_management`` of Anthropic's Messages API, edits in the order it asks for."""
    facts = load_data("export.json")["anthropic"]
    edits: list[dict[str, Any]] = []
    headers = []
    missing = beyond(policy, _SAYS)
    # Thinking has to be listed first.
    if policy.keep_thinking is not None and policy.trigger is not None:
        kept = max(policy.keep_thinking, 1)
        edits.append({"type": facts["clear_thinking"], "keep": {"type": "thinking_turns", "value": kept}})
        if kept > policy.keep_thinking:
            missing.append("keep_thinking: the least is 1 turn, so that is written")
        if policy.trigger_by == "tool_uses" or (tokens_of(policy) or 0) > 1:
            missing.append("keep_thinking: old thinking goes on every request, not only past the trigger")
        if policy.floor and not clears(policy):
            missing.append("floor: thinking goes however little there is of it")
    if clears(policy) and counts_results(policy):
        edits.append(_clear(policy, facts["clear_tool_uses"], missing))
    if edits:
        headers.append(facts["headers"]["edit"])
    at = compacts_above(policy)
    if at is not None:
        if at < facts["least_compact_trigger"]:
            missing.append(f"compact_above: the least is {facts['least_compact_trigger']:,} tokens, so that is written")
            at = facts["least_compact_trigger"]
        if clears(policy):
            missing.append("compact_above: the server compacts above its own trigger, not only after clearing")
        if policy.keep_recent:
            missing.append("keep_recent: a summary at the threshold takes everything before it")
        missing += _said_of_compacting(policy)
        edits.append({"type": facts["compact"], "trigger": {"type": "input_tokens", "value": at}})
        headers.append(facts["headers"]["compact"])
    config = {"edits": edits}
    return Export(
        "anthropic", json.dumps({"context_management": config}, indent=2), config, tuple(missing), tuple(headers)
    )


def _said_of_compacting(policy: Policy) -> list[str]:
    """What neither API can say of a compaction."""
    missing = []
    if policy.trigger_by == "tool_uses":
        missing.append("trigger_by: a compaction counts tokens, and does not wait for tool uses")
    if policy.floor:
        missing.append("floor: a summary has no least saving here")
    return missing


def _clear(policy: Policy, kind: str, missing: list[str]) -> dict[str, Any]:
    edit: dict[str, Any] = {"type": kind, "keep": {"type": "tool_uses", "value": policy.keep}}
    at = tokens_of(policy)
    edit["trigger"] = (
        {"type": "tool_uses", "value": policy.trigger} if at is None else {"type": "input_tokens", "value": at}
    )
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
    if policy.edits_at == "client":
        missing.append("stub_text: the server writes a placeholder of its own, however short the result")
    return edit


def _value(edit: Mapping[str, Any], name: str, default: int, kinds: tuple[str, ...]) -> tuple[int, str]:
    """A count as the API writes one, ``{"type": ..., "value": ...}``, and what it counts."""
    given = edit.get(name)
    if given is None:
        return default, kinds[0]
    if not isinstance(given, Mapping) or given.get("type") not in kinds or "value" not in given:
        raise InputError(
            f"{name} of {edit.get('type')} is {_short(given)}: give an object such as "
            f'{{"type": "{kinds[0]}", "value": {default}}}'
        )
    value = given["value"]
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} of {edit.get('type')} has the value {_short(value)}: give a whole number")
    return value, str(given["type"])


def _tools(edit: Mapping[str, Any], name: str) -> frozenset[str]:
    given = edit.get(name) or ()
    if given is True and name == "clear_tool_inputs":
        return frozenset({"*"})
    if not isinstance(given, list | tuple) or not all(isinstance(tool, str) for tool in given):
        raise InputError(f"{name} of {edit.get('type')} is {_short(given)}: give a list of tool names")
    return frozenset(given)


def _read_clear(policy: Policy, edit: Mapping[str, Any]) -> Policy:
    trigger, counts = _value(edit, "trigger", 100_000, ("input_tokens", "tool_uses"))
    return replace(
        policy,
        trigger=trigger,
        trigger_by="tool_uses" if counts == "tool_uses" else "tokens",
        keep=_value(edit, "keep", 3, ("tool_uses",))[0],
        floor=_value(edit, "clear_at_least", 0, ("input_tokens",))[0],
        pinned=_tools(edit, "exclude_tools"),
        clear_inputs=_tools(edit, "clear_tool_inputs"),
    )


def _read_thinking(policy: Policy, edit: Mapping[str, Any]) -> Policy:
    keep = edit.get("keep", "all")
    if keep == "all" or (isinstance(keep, Mapping) and keep.get("type") == "all"):
        return policy
    # Without a trigger of its own it runs on every request.
    turns = _value(edit, "keep", 1, ("thinking_turns",))[0]
    if turns < 1:
        raise InputError(f"keep of {edit.get('type')} is {turns} thinking turns: give 1 or more, or 'all'")
    return replace(policy, keep_thinking=turns, trigger=policy.trigger or 1)


def _read_compact(policy: Policy, edit: Mapping[str, Any]) -> Policy:
    at = _value(edit, "trigger", 150_000, ("input_tokens",))[0]
    least = load_data("export.json")["anthropic"]["least_compact_trigger"]
    if at < least:
        raise InputError(f"trigger of {edit.get('type')} is {at:,}: the least is {least:,} tokens")
    return replace(policy, compact_above=at, trigger=policy.trigger or at, keep_recent=0)


def _read_openai(policy: Policy, edit: Mapping[str, Any]) -> Policy:
    at = edit.get("compact_threshold")
    if at is None:
        raise InputError("the compaction has no compact_threshold: its default is not documented, so give one")
    if isinstance(at, bool) or not isinstance(at, int) or at < 1:
        raise InputError(f"compact_threshold is {_short(at)}: it counts tokens, so give a whole number of 1 or more")
    return replace(policy, compact_above=at, trigger=at, keep_recent=0)


_READERS: dict[str, tuple[Callable[[Policy, Mapping[str, Any]], Policy], tuple[str, ...]]] = {
    "clear_tool_uses_20250919": (
        _read_clear,
        ("trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"),
    ),
    "clear_thinking_20251015": (_read_thinking, ("keep",)),
    "compact_20260112": (_read_compact, ("trigger", "pause_after_compaction", "instructions")),
    "compaction": (_read_openai, ("compact_threshold",)),
}
"""By the type of an edit: who reads it, and what it may hold beside its type."""


def openai(policy: Policy) -> Export:
    """As ``context_management`` of OpenAI's Responses API."""
    facts = load_data("export.json")["openai"]
    says = {"trigger", "trigger_by", "compact_above", "keep_recent", "window", "edits_at"}
    missing = beyond(policy, frozenset(says))
    entries = []
    at = compacts_above(policy)
    if at is not None:
        entries.append({"type": facts["compact"], "compact_threshold": at})
        if policy.keep_recent:
            missing.append("keep_recent: the API decides what a compaction leaves")
        missing += _said_of_compacting(policy)
    if clears(policy):
        missing.append("clear: the API clears no results; ToolOutputTrimmer of the Agents SDK trims by user turns")
    config = {"context_management": entries}
    return Export("openai", json.dumps(config, indent=2), config, tuple(missing))


def from_config(config: Mapping[str, Any], base: Policy | None = None) -> Policy:
    """A policy from what a target takes: Anthropic's ``context_management``, or OpenAI's list of the same name.

    A policy has one trigger. Where thinking is cleared beside results, it goes when results do, and not on
    every request as the API has it; and where clearing waits for a number of tool uses, so does a compaction.
    What a summary is told to say, and a pause behind it, leave no trace in a policy.

    Parameters
    ----------
    config : mapping
        With ``edits``, or with a ``context_management`` that holds them.
    base : Policy, optional
        What everything else is taken from; default: do nothing.

    Raises
    ------
    InputError
        If it holds an edit, or a field of one, that is not known, an edit twice, or two triggers that one policy
        cannot have.

    Examples
    --------
    >>> clear = {"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 5}}
    >>> policy = from_config({"edits": [clear]})
    >>> policy.trigger, policy.keep, policy.floor, policy.edits_at
    (100000, 5, 0, 'server')
    """
    given = config.get("context_management", config) if isinstance(config, Mapping) else config
    edits = given if isinstance(given, list) else given.get("edits") if isinstance(given, Mapping) else None
    if not isinstance(edits, list) or not all(isinstance(edit, Mapping) for edit in edits):
        raise InputError(f"{_short(config)} holds no list of edits: give a context_management with edits")
    kinds = [edit.get("type") for edit in edits]
    if "clear_thinking_20251015" in kinds[1:]:
        raise InputError("clear_thinking_20251015 is not the first edit: the API asks for it first")
    policy = replace(base or Policy.nothing(), keep=None, pinned=frozenset(), edits_at="server", floor=0)
    for i, edit in enumerate(edits):
        kind = edit.get("type")
        if not isinstance(kind, str) or kind not in _READERS:
            near = closest(kind, _READERS) if isinstance(kind, str) else ""
            raise InputError(f"the edit {_short(kind)} is not known{near}: known are {', '.join(_READERS)}")
        if kind in kinds[:i]:
            raise InputError(f"the edit {kind!r} stands there twice: give it once")
        read, holds = _READERS[kind]
        for name in edit:
            if name != "type" and name not in holds:
                near = closest(str(name), holds)
                raise InputError(f"{kind} has no field {_short(name)}{near}: it takes {', '.join(holds)}")
        policy = read(policy, edit)
    if "compact_20260112" in kinds:
        _one_trigger(policy)
    return policy


def _one_trigger(policy: Policy) -> None:
    """Refuse a clearing that waits longer than the compaction."""
    at, above = policy.trigger, policy.compact_above
    if policy.trigger_by == "tokens" and at is not None and above is not None and above < at:
        raise InputError(
            f"results are cleared above {at:,} tokens and the context is compacted above {above:,} already: a policy "
            f"has one trigger and compacts after it has cleared, so give the compaction {at:,} or more"
        )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
