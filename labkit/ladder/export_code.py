"""A policy as code for an agent library, and as settings of a harness."""

from __future__ import annotations

import json
from typing import Any

from labkit.ladder.export_values import Export, beyond, tokens_of
from labkit.ladder.policy import Policy
from labkit.ladder.presets import preset

__all__ = ["langchain", "pydantic_ai", "settings"]


def langchain(policy: Policy) -> Export:
    """As middleware of LangChain."""
    says = {"trigger", "keep", "floor", "floor_is", "pinned", "clear_inputs", "stub_text", "count_prefix", "remembers"}
    missing = beyond(
        policy, frozenset(says | {"edits_at", "window", "compact_above", "keep_recent", "pinned_take_keep"})
    )
    if policy.floor and policy.floor_is == "minimum":
        missing.append("floor: clear_at_least is where clearing stops here, and no minimum; it is left at 0")
    if policy.pinned and not policy.pinned_take_keep:
        missing.append("pinned: excluded tools use up places of keep here")
    if policy.stub_if_smaller:
        missing.append("stub_if_smaller: a placeholder replaces short results too")
    if policy.clear_inputs and "*" not in policy.clear_inputs:
        missing.append("clear_inputs: all inputs or none; all are cleared")
    if policy.remembers:
        missing.append("remembers: as shipped the middleware edits a copy for each request and forgets")
    if policy.edits_at == "server":
        missing.append("edits_at: this edits at the client, which some models refuse")
    lines = ["from langchain.agents.middleware import ContextEditingMiddleware", ""]
    lines[0] = "from langchain.agents.middleware.context_editing import ClearToolUsesEdit, ContextEditingMiddleware"
    made = []
    if policy.trigger is not None and policy.keep is not None:
        arguments = {
            "trigger": tokens_of(policy),
            "keep": policy.keep,
            "clear_at_least": policy.floor if policy.floor_is == "target" else 0,
            "exclude_tools": tuple(sorted(policy.pinned)),
            "clear_tool_inputs": bool(policy.clear_inputs),
            "placeholder": "[cleared]" if policy.stub_text is None else policy.stub_text,
        }
        made.append(f"edit = ClearToolUsesEdit({', '.join(f'{k}={v!r}' for k, v in arguments.items())})")
        made.append("middleware = [ContextEditingMiddleware(edits=[edit])]")
    else:
        made.append("middleware = []")
    if policy.compact_above is not None and policy.trigger is not None:
        lines[1:] = ["from langchain.agents.middleware.summarization import SummarizationMiddleware", ""]
        at = max(policy.compact_above, tokens_of(policy) if policy.trigger_by != "tool_uses" else 0)
        kind = policy.keep_recent_by
        made.append(
            "middleware.append(SummarizationMiddleware(model=model, "
            f"trigger=('tokens', {at}), keep=({kind!r}, {policy.keep_recent}), trim_tokens_to_summarize=None))"
        )
        missing.append("compact_above: it summarizes at the threshold and above, whether or not clearing ran")
    return Export("langchain", "\n".join([*lines, *made]) + "\n", {}, tuple(missing))


def pydantic_ai(policy: Policy) -> Export:
    """As capabilities of pydantic-ai-harness."""
    says = {"trigger", "keep", "floor", "floor_is", "pinned", "clear_inputs", "stub_text", "pinned_take_keep", "evict"}
    missing = beyond(policy, frozenset(says | {"edits_at", "window", "compact_above", "keep_recent"}))
    if policy.floor_is == "target" and policy.floor:
        missing.append("floor_is: min_clear_tokens is a minimum here, and no place to stop")
    if policy.pinned and not policy.pinned_take_keep:
        missing.append("pinned: excluded tools use up places of keep here")
    if policy.stub_if_smaller:
        missing.append("stub_if_smaller: a placeholder replaces short results too")
    if policy.clear_inputs and "*" not in policy.clear_inputs:
        missing.append("clear_inputs: all inputs or none; all are cleared")
    if policy.evict - {"same_call"}:
        missing.append("evict: only a later read of the same file supersedes a read; edits do not")
    if policy.edits_at == "server":
        missing.append("edits_at: this edits at the client, which some models refuse")
    names = []
    made = []
    if policy.evict:
        names.append("DeduplicateFileReads")
        made.append("    DeduplicateFileReads(file_key=lambda call: call.args_as_dict().get('path')),")
    if policy.trigger is not None and policy.keep is not None:
        names.append("ClearToolResults")
        arguments: dict[str, Any] = {"max_tokens": tokens_of(policy), "keep_pairs": policy.keep}
        if policy.floor:
            arguments["min_clear_tokens"] = policy.floor
        if policy.pinned:
            arguments["exclude_tools"] = frozenset(policy.pinned)
        if policy.clear_inputs:
            arguments["clear_tool_inputs"] = True
        if policy.stub_text is not None:
            arguments["placeholder"] = policy.stub_text
        made.append(f"    ClearToolResults({', '.join(f'{k}={v!r}' for k, v in arguments.items())}),")
    if policy.compact_above is not None and policy.trigger is not None:
        names.append("SummarizingCompaction")
        at = max(policy.compact_above, tokens_of(policy) if policy.trigger_by != "tool_uses" else 0)
        made.append(f"    SummarizingCompaction(max_tokens={at}, keep_messages={policy.keep_recent}),")
        missing.append("compact_above: it summarizes above the threshold, whether or not clearing ran")
    imports = f"from pydantic_ai_harness.compaction import {', '.join(sorted(names))}\n\n" if names else ""
    return Export("pydantic-ai", imports + "\n".join(["capabilities = [", *made, "]"]) + "\n", {}, tuple(missing))


def settings(policy: Policy, name: str) -> Export:
    """The knobs of a preset's harness, set as the policy asks."""
    known = preset(name)
    lines, said = [], {"window"}
    for knob in known.knobs:
        if not knob.field:
            continue
        said.add(knob.field)
        value = getattr(policy, knob.field)
        if knob.field == "cap_of":
            value = policy.cap
            said.add("cap")
        if value is None or value in (frozenset(), ()):
            continue
        shown = sorted(value) if isinstance(value, frozenset) else value
        note = ""
        for bound, word in ((knob.low, "least"), (knob.high, "most")):
            if bound is not None and isinstance(value, int) and (value < bound if word == "least" else value > bound):
                shown, note = bound, f"; the {word} is {bound:,}, the policy asks for {value:,}"
        lines.append(f"{knob.name} = {json.dumps(shown)}    # {knob.unit}; {knob.where}{note}")
    missing = beyond(policy, frozenset(said | {"trigger", "edits_at", "stub_text", "count_prefix"}))
    if not known.knobs:
        missing.append(f"{known.harness} lets its user set nothing that labkit knows")
    return Export(name, "\n".join(lines) + "\n" if lines else "", {}, tuple(missing))
