"""Exports of LangSmith: runs as its SDK lists them, in a list, a line each, or inside each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from labkit.errors import InputError
from labkit.record.formats.chat import chat_usage
from labkit.record.formats.claude_code_content import usage_of
from labkit.record.formats.common import as_dict, as_list, as_text, timestamp
from labkit.record.formats.jsonl import first_object, read_lines
from labkit.record.formats.span_messages import opened, said_in
from labkit.record.formats.spans import Span, runs_of
from labkit.record.formats.usage import usage_metadata
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Trace, Usage

NAME = "LangSmith"

_KINDS: dict[str, Literal["model", "tool", "other"]] = {"llm": "model", "tool": "tool"}

_SESSION = ("thread_id", "session_id", "conversation_id")

_DEEPEST = 50


def matches(path: Path) -> bool:
    """Whether the document, or the first object, holds runs."""
    head = first_object(path)
    if head is not None and _is_run(head):
        return True
    return any(_is_run(as_dict(run)) for run in _listed(whole_json(path))[:5])


def _listed(document: Any) -> list[Any]:
    if isinstance(document, dict):
        return [document] if _is_run(document) else as_list(document.get("runs"))
    return as_list(document)


def _is_run(value: dict[str, Any]) -> bool:
    return isinstance(value.get("run_type"), str) and "id" in value and bool({"inputs", "outputs"} & value.keys())


def read(path: Path) -> Trace:
    """Read an export.

    Raises
    ------
    InputError
        If no run is a call of a model or of a tool.
    """
    document = whole_json(path)
    warnings: list[str] = []
    if isinstance(document, (dict, list)):
        entries = _listed(document)
    else:
        lines, warnings = read_lines(path)
        entries = [entry for _, entry in lines]
    spans: dict[str, Span] = {}
    twice = 0
    for run, parent in _nested(entries, "", 0):
        span = _span(run, parent)
        twice += span.id in spans
        spans.setdefault(span.id, span)
    if twice:
        warnings.append(f"{twice} runs are there twice; counted once")
    trace = runs_of(list(spans.values()), path.stem, f"{NAME}: {path.name}", warnings)
    if not trace.requests and not trace.children:
        raise InputError(
            f"{path} holds {len(spans)} runs, none of them a call of a model or of a tool: export a trace with all "
            "of its runs"
        )
    return trace


def _nested(entries: list[Any], parent: str, depth: int) -> Iterator[tuple[dict[str, Any], str]]:
    for entry in entries:
        if isinstance(entry, dict) and _is_run(entry):
            yield entry, parent
            if depth < _DEEPEST:
                yield from _nested(as_list(entry.get("child_runs")), str(entry["id"]), depth + 1)


def _span(run: dict[str, Any], parent: str) -> Span:
    kind = _KINDS.get(run["run_type"], "other")
    extra = as_dict(opened(run.get("extra")))
    metadata = as_dict(extra.get("metadata"))
    inputs, outputs = opened(run.get("inputs")), opened(run.get("outputs"))
    place = Span(
        id=str(run["id"]),
        parent=as_text(run.get("parent_run_id")) or parent,
        trace=as_text(run.get("trace_id")) or "",
        kind=kind,
        name=as_text(run.get("name")) or run["run_type"],
        start=timestamp(run.get("start_time")),
        session=next((s for key in _SESSION if (s := as_text(metadata.get(key)))), ""),
    )
    if kind == "tool":
        result = as_dict(outputs).get("output", outputs)
        inner = as_dict(as_dict(result).get("kwargs")) or as_dict(result)
        return replace(
            place,
            arguments=opened(as_dict(inputs).get("input", inputs)),
            result=inner.get("content", result),
            call_id=as_text(inner.get("tool_call_id")),
        )
    if kind == "other":
        return place
    asked = said_in(inputs, "user")
    parameters = as_dict(extra.get("invocation_params"))
    asked.tools = as_list(parameters.get("tools")) or asked.tools
    model = as_text(metadata.get("ls_model_name")) or as_text(parameters.get("model"))
    return replace(
        place,
        asked=asked,
        answered=said_in(outputs, "assistant"),
        usage=_usage(run, metadata, as_dict(outputs)),
        model=as_text(as_dict(outputs).get("model")) or model,
        response=as_text(as_dict(outputs).get("id")),
    )


def _usage(run: dict[str, Any], metadata: dict[str, Any], outputs: dict[str, Any]) -> Usage | None:
    """Usage of a call, from the first place that holds some."""
    generation: Any = outputs.get("generations")
    while isinstance(generation, list) and generation:
        generation = generation[0]
    message = as_dict(as_dict(generation).get("message")) or outputs
    message = as_dict(message.get("kwargs")) or message
    for given in (metadata.get("usage_metadata"), outputs.get("usage_metadata"), message.get("usage_metadata")):
        if usage := usage_metadata(given):
            return usage
    raw = as_dict(outputs.get("usage"))
    # Anthropic's own answer counts apart what OpenAI's counts as input.
    own = usage_of(outputs) if {"cache_creation_input_tokens", "cache_read_input_tokens"} & raw.keys() else None
    return (
        own or chat_usage(raw) or chat_usage(as_dict(outputs.get("llm_output")).get("token_usage")) or chat_usage(run)
    )
