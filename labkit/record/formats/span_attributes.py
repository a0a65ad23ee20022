"""The attributes of one span in labkit's words: GenAI conventions of OpenTelemetry, OpenInference, and others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

from labkit.record.formats.common import as_dict, as_list, as_text, tokens
from labkit.record.formats.span_messages import Said, opened, said_in
from labkit.record.formats.spans import Span
from labkit.record.formats.usage import disjoint
from labkit.record.trace import Usage

__all__ = ["Attributes", "count", "with_attributes"]

Attributes = dict[str, Any]

_INPUT = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "llm.usage.prompt_tokens",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
)
_OUTPUT = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "llm.usage.completion_tokens",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
)
_READ = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.input_tokens.cached",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.cachedInputTokens",
)
_WRITTEN = (
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "llm.token_count.prompt_details.cache_write",
)
_TOTAL = ("llm.token_count.total", "gen_ai.usage.total_tokens", "llm.usage.total_tokens", "ai.usage.totalTokens")

_MODEL = {"chat", "text_completion", "generate_content", "completion"}
_SESSION = ("session.id", "langfuse.session.id", "gen_ai.conversation.id")


def count(value: Any) -> int:
    """Tokens, which OTLP writes as a string.

    Examples
    --------
    >>> count("1568"), count(12), count("many")
    (1568, 12, 0)
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        return int(value)
    return tokens(value)


def with_attributes(span: Span, attributes: Attributes, *, given: Any = None, answer: Any = None) -> Span:
    """The span with what its attributes say.

    Parameters
    ----------
    span : Span
        Its place and name; a kind other than "other" is kept.
    attributes : dict
        By name, values opened.
    given, answer : object
        Input and output beside the attributes; the attributes go first where they hold messages.
    """
    kind = span.kind if span.kind != "other" else _kind(attributes)
    session = next((s for key in _SESSION if (s := as_text(attributes.get(key)))), span.session)
    span = replace(span, kind=kind, session=session)
    if kind == "agent":
        name = _first(attributes, "gen_ai.agent.name", "agent.name", "agent_name", "gen_ai.agent.id")
        return replace(span, name=name or span.name, model=_first(attributes, "gen_ai.request.model"))
    if kind == "tool":
        return _tool(span, attributes, given, answer)
    if kind != "model":
        return span
    usage = _usage(attributes)
    total = any(key in attributes for key in _TOTAL)
    asked = _asked(attributes, given)
    return replace(
        span,
        asked=asked,
        answered=_answered(attributes, answer),
        usage=usage or span.usage,
        convention=bool(usage and usage.cache_read and not total),
        model=_first(attributes, "gen_ai.response.model", "ai.response.model", "llm.model_name", "gen_ai.request.model")
        or span.model,
        response=_first(attributes, "gen_ai.response.id", "ai.response.id") or span.response,
    )


def _first(attributes: Attributes, *keys: str) -> str | None:
    return next((text for key in keys if (text := as_text(attributes.get(key)))), None)


def _kind(attributes: Attributes) -> Literal["model", "agent", "tool", "other"]:
    operation = as_text(attributes.get("gen_ai.operation.name"))
    spoken = as_text(attributes.get("openinference.span.kind")) or as_text(attributes.get("traceloop.span.kind")) or ""
    step = as_text(attributes.get("ai.operationId")) or ""
    if operation in _MODEL or spoken.upper() == "LLM" or step.endswith((".doGenerate", ".doStream")):
        return "model"
    if operation == "execute_tool" or spoken.upper() == "TOOL" or step == "ai.toolCall":
        return "tool"
    if operation in ("invoke_agent", "create_agent") or spoken.upper() == "AGENT" or "agent_name" in attributes:
        return "agent"
    if operation is None and not spoken and not step:
        older = attributes.get("llm.request.type") in ("chat", "completion")
        if older or ("gen_ai.request.model" in attributes and any(key in attributes for key in _INPUT)):
            return "model"
    return "other"


def _usage(attributes: Attributes) -> Usage | None:
    asked, output, read, written, total = (
        _count(attributes, keys) for keys in (_INPUT, _OUTPUT, _READ, _WRITTEN, _TOTAL)
    )
    return disjoint(asked, output, read, written, total=total)


def _count(attributes: Attributes, keys: Iterable[str]) -> int:
    return next((n for key in keys if (n := count(attributes.get(key)))), 0)


def _asked(attributes: Attributes, given: Any) -> Said:
    found = _messages(
        attributes,
        "user",
        ("gen_ai.input.messages", "gen_ai.prompt", "ai.prompt.messages"),
        ("llm.input_messages", "gen_ai.prompt"),
        ("gen_ai.content.prompt", "llm.prompts", "ai.prompt", "input.value"),
        given,
    )
    instructions = opened(attributes.get("gen_ai.system_instructions"))
    if instructions:
        said = said_in([{"role": "system", "parts": as_list(instructions) or [{"text": instructions}]}], "system")
        parts = (p for m in said.messages for p in as_list(m.get("content")))
        found.system = [text for p in parts if (text := as_text(as_dict(p).get("text")))]
    named = (attributes.get(k) for k in ("gen_ai.tool.definitions", "ai.prompt.tools", "gen_ai.request.tools"))
    tools = next((t for t in map(opened, named) if isinstance(t, list) and t), [])
    numbered = [opened(as_dict(t.get("tool")).get("json_schema")) for t in _listed(attributes, "llm.tools")]
    declared = as_dict(opened(attributes.get("model_request_parameters"))).get("function_tools")
    found.tools = [opened(t) for t in tools] or [t for t in numbered if t] or as_list(declared) or found.tools
    return found


def _answered(attributes: Attributes, answer: Any) -> Said:
    found = _messages(
        attributes,
        "assistant",
        ("gen_ai.output.messages",),
        ("llm.output_messages", "gen_ai.completion"),
        ("gen_ai.completion", "gen_ai.content.completion", "output.value"),
        answer,
    )
    if not found.messages:
        text, calls = attributes.get("ai.response.text"), opened(attributes.get("ai.response.toolCalls"))
        found.messages = said_in([*([text] if text else []), *as_list(calls)], "assistant").messages
    return found


def _messages(
    attributes: Attributes,
    speaker: str,
    whole: tuple[str, ...],
    numbered: tuple[str, ...],
    last: tuple[str, ...],
    beside: Any,
) -> Said:
    """Messages from the first place that holds some."""
    for key in whole:
        found = said_in(attributes.get(key), speaker)
        if found.messages:
            return found
    for prefix in numbered:
        items = _listed(attributes, prefix)
        found = said_in([as_dict(i.get("message")) or i for i in items], speaker)
        if found.messages:
            return found
    for value in (beside, *(attributes.get(key) for key in last)):
        found = said_in(value, speaker)
        if found.messages:
            return found
    return Said()


def _listed(attributes: Attributes, prefix: str) -> list[dict[str, Any]]:
    """What attributes named ``prefix.0.a.b`` spell out, as a list of objects.

    Examples
    --------
    >>> _listed({"m.0.role": "user", "m.1.calls.0.name": "ls"}, "m")
    [{'role': 'user'}, {'calls': [{'name': 'ls'}]}]
    """
    tree: dict[str, Any] = {}
    for name, value in attributes.items():
        if not name.startswith(prefix + "."):
            continue
        place = tree
        *way, leaf = name[len(prefix) + 1 :].split(".")[:12]
        for step in way:
            inner = place.get(step)
            if not isinstance(inner, dict):
                inner = place[step] = {}
            place = inner
        place[leaf] = value
    return [item for item in as_list(_lists(tree)) if isinstance(item, dict)]


def _lists(tree: Any) -> Any:
    if not isinstance(tree, dict) or not tree:
        return tree
    if all(key.isascii() and key.isdigit() and len(key) < 9 for key in tree):
        return [_lists(tree[key]) for key in sorted(tree, key=int)]
    return {key: _lists(value) for key, value in tree.items()}


def _tool(span: Span, attributes: Attributes, given: Any, answer: Any) -> Span:
    arguments = [attributes.get(k) for k in ("gen_ai.tool.call.arguments", "ai.toolCall.args", "input.value")]
    results = [attributes.get(k) for k in ("gen_ai.tool.call.result", "ai.toolCall.result", "output.value")]
    return replace(
        span,
        name=_first(attributes, "gen_ai.tool.name", "tool.name", "ai.toolCall.name") or span.name,
        call_id=_first(attributes, "gen_ai.tool.call.id", "ai.toolCall.id"),
        arguments=opened(next((a for a in [*arguments, given] if a is not None), None)),
        result=next((r for r in [*results, answer] if r is not None), None),
    )
