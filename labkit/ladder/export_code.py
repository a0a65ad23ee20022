"""A policy as code for an agent library."""

from __future__ import annotations

from typing import Any

from labkit.ladder.export_values import Export, beyond, clears, compacts_above, counts_results, tokens_of
from labkit.ladder.policy import Policy

__all__ = ["langchain", "pydantic_ai"]


def _said_of_clearing(policy: Policy) -> list[str]:
    """What both libraries cannot say of clearing."""
    missing = []
    if policy.pinned and not policy.pinned_take_keep:
        missing.append("pinned: excluded tools use up places of keep here")
    if policy.stub_if_smaller:
        missing.append("stub_if_smaller: a placeholder replaces short results too")
    if policy.stub_text is None:
        missing.append("stub_text: the placeholder is one fixed text and cannot name the call")
    if policy.clear_inputs and "*" not in policy.clear_inputs:
        missing.append("clear_inputs: all inputs or none; all are cleared")
    if tokens_of(policy) is None:
        missing.append("clear: the trigger counts tool uses, and a number of tokens has to be chosen: it is left out")
    return missing


def langchain(policy: Policy) -> Export:
    """As middleware of LangChain."""
    says = {"trigger", "keep", "strict", "floor_is", "clear_inputs", "count_prefix", "remembers", "edits_at", "window"}
    missing = beyond(policy, frozenset(says | {"compact_above", "keep_recent", "keep_recent_by"}))
    lines, made = [], ["middleware = []"]
    if clears(policy):
        missing += _said_of_clearing(policy)
        if policy.floor and policy.floor_is == "minimum":
            missing.append("floor: clear_at_least is where clearing stops here, and no minimum; it is left at 0")
        if policy.remembers:
            missing.append("remembers: as shipped the middleware edits a copy for each request and forgets")
    at = tokens_of(policy)
    if clears(policy) and counts_results(policy) and at is not None:
        names = "ClearToolUsesEdit, ContextEditingMiddleware"
        lines.append(f"from langchain.agents.middleware.context_editing import {names}")
        arguments: dict[str, Any] = {
            "trigger": at if policy.strict else at - 1,
            "keep": policy.keep,
            "clear_at_least": policy.floor if policy.floor_is == "target" else 0,
            "exclude_tools": tuple(sorted(policy.pinned)),
            "clear_tool_inputs": bool(policy.clear_inputs),
            "placeholder": "[cleared]" if policy.stub_text is None else policy.stub_text,
        }
        made = [f"edit = ClearToolUsesEdit({_written(arguments)})"]
        made.append("middleware = [ContextEditingMiddleware(edits=[edit])]")
    above = compacts_above(policy)
    if above is not None:
        lines.append("from langchain.agents.middleware.summarization import SummarizationMiddleware")
        arguments = {
            # It acts at its threshold, and not only above it.
            "trigger": ("tokens", above + 1 if policy.strict else above),
            "keep": (policy.keep_recent_by, max(policy.keep_recent, 1)),
            "trim_tokens_to_summarize": None,
        }
        if policy.keep_recent == 0:
            missing.append(f"keep_recent: the least is 1 of {policy.keep_recent_by}, so that is written")
        # What is to write the summaries is the reader's to fill in.
        made.append(f"middleware.append(SummarizationMiddleware(model=model, {_written(arguments)}))")
        if clears(policy):
            missing.append("compact_above: it summarizes past the threshold, whether or not clearing ran")
        if policy.floor:
            missing.append("floor: a summary has no least saving here")
    if policy.count_prefix and (clears(policy) or above is not None):
        missing.append("count_prefix: only messages are counted, without system prompt and tool schemas")
    return Export("langchain", _code(lines, made), {}, tuple(_client(policy, missing)))


def pydantic_ai(policy: Policy) -> Export:
    """As capabilities of pydantic-ai-harness."""
    says = {"trigger", "keep", "strict", "floor_is", "clear_inputs", "evict", "edits_at", "window", "compact_above"}
    missing = beyond(policy, frozenset(says | {"keep_recent", "keep_recent_by"}))
    names, lines, made = [], [], []
    if "same_call" in policy.evict:
        names.append("DeduplicateFileReads")
        pinned = f" if call.tool_name not in {sorted(policy.pinned)!r} else None" if policy.pinned else ""
        key = f"call.tool_name + ' ' + json.dumps(call.args_as_dict(), sort_keys=True){pinned}"
        lines.append("import json\n")
        text = "" if policy.stub_text is None else f", placeholder={policy.stub_text!r}"
        made.append(f"    DeduplicateFileReads(file_key=lambda call: {key}{text}),")
        if policy.floor:
            missing.append("floor: superseded results go one by one here")
    for rule in sorted(policy.evict - {"same_call"}):
        missing.append(f"evict: {rule} has no counterpart; only the same call made again supersedes a result")
    at = tokens_of(policy)
    if clears(policy):
        missing += _said_of_clearing(policy)
        if policy.floor_is == "target" and policy.floor:
            missing.append("floor_is: min_clear_tokens is a minimum here, and no place to stop")
    if clears(policy) and counts_results(policy) and at is not None:
        names.append("ClearToolResults")
        arguments: dict[str, Any] = {"max_tokens": max(at if policy.strict else at - 1, 1), "keep_pairs": policy.keep}
        if policy.floor:
            arguments["min_clear_tokens"] = policy.floor
        if policy.pinned:
            arguments["exclude_tools"] = sorted(policy.pinned)
        if policy.clear_inputs:
            arguments["clear_tool_inputs"] = True
        if policy.stub_text is not None:
            arguments["placeholder"] = policy.stub_text
        made.append(f"    ClearToolResults({_written(arguments)}),")
    above = compacts_above(policy)
    if above is not None:
        names.append("SummarizingCompaction")
        kept = "keep_tokens" if policy.keep_recent_by == "tokens" else "keep_messages"
        arguments = {"max_tokens": max(above if policy.strict else above - 1, 1), kept: policy.keep_recent}
        arguments["preserve_first_user_message"] = policy.keep_first > 0
        made.append(f"    SummarizingCompaction({_written(arguments)}),")
        if clears(policy):
            missing.append("compact_above: it summarizes past the threshold, whether or not clearing ran")
        if policy.floor:
            missing.append("floor: a summary has no least saving here")
        if policy.keep_recent == 0:
            missing.append("keep_recent: the newest message always stays")
    if names:
        lines.append(f"from pydantic_ai_harness.compaction import {', '.join(sorted(names))}")
    return Export("pydantic-ai", _code(lines, ["capabilities = [", *made, "]"]), {}, tuple(_client(policy, missing)))


def _client(policy: Policy, missing: list[str]) -> list[str]:
    """Add that the edits are the client's, where the policy wants them made by the server."""
    if policy.edits_at == "server" and policy.trigger is not None:
        missing.append("edits_at: this edits at the client, which some models refuse")
    return missing


def _written(arguments: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}=frozenset({value!r})" if isinstance(value, list) else f"{name}={value!r}"
        for name, value in arguments.items()
    )


def _code(lines: list[str], made: list[str]) -> str:
    return "\n".join([*lines, "", *made] if lines else made) + "\n"
