"""Exports of Langfuse: a trace with its observations, or a list of observations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from labkit.errors import InputError
from labkit.record.formats.common import as_dict, as_list, as_text, timestamp
from labkit.record.formats.jsonl import first_object, read_lines
from labkit.record.formats.span_attributes import count, with_attributes
from labkit.record.formats.span_messages import opened
from labkit.record.formats.spans import Span, runs_of
from labkit.record.formats.usage import disjoint, usage_metadata
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Quality, Trace, Usage

NAME = "Langfuse"

_KINDS: dict[str, Literal["model", "agent", "tool", "other"]] = {
    "AGENT": "agent",
    "GENERATION": "model",
    "TOOL": "tool",
}

_READ = ("input_cache_read", "cache_read_input_tokens", "input_cached_tokens", "input_cache_read_tokens")
_WRITTEN = ("input_cache_creation", "cache_creation_input_tokens", "input_cache_write", "input_cache_creation_tokens")
_HOUR = ("input_cache_creation_1h", "cache_creation_1h_input_tokens")
_REASONING = ("output_reasoning", "output_reasoning_tokens")


def matches(path: Path) -> bool:
    """Whether the document, or the first object, holds observations."""
    head = first_object(path)
    if head is not None and _is_observation(head):
        return True
    return any(_is_observation(as_dict(o)) for o in _observations(whole_json(path))[:5])


def _observations(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    given = as_dict(document)
    return as_list(given.get("observations")) or as_list(as_dict(given.get("trace")).get("observations"))


def _is_observation(value: dict[str, Any]) -> bool:
    return "traceId" in value and "startTime" in value and isinstance(value.get("type"), str) and "id" in value


def read(path: Path) -> Trace:
    """Read an export.

    Raises
    ------
    InputError
        If no observation is a generation or a tool.
    """
    document = whole_json(path)
    warnings: list[str] = []
    if isinstance(document, dict) and _is_observation(document):
        entries: list[Any] = [document]
    elif isinstance(document, (dict, list)):
        entries = _observations(document)
    else:
        lines, warnings = read_lines(path)
        entries = [entry for _, entry in lines]
    session = as_text(as_dict(as_dict(document).get("trace")).get("sessionId")) if isinstance(document, dict) else None
    known = {str(e["id"]): e for e in entries if isinstance(e, dict) and _is_observation(e)}
    if len(known) < len(entries):
        warnings.append(f"{len(entries) - len(known)} entries are no observations, or there twice; skipped")
    spans = [_span(raw, session or "") for raw in known.values()]
    trace = runs_of(spans, path.name.split(".")[0], f"{NAME}: {path.name}", warnings)
    if not trace.requests and not trace.children:
        raise InputError(
            f"{path} holds {len(spans)} observations, none of them a generation or a tool: export a trace with all of "
            "its observations"
        )
    return trace


def _span(raw: dict[str, Any], session: str) -> Span:
    metadata = as_dict(opened(raw.get("metadata")))
    attributes = as_dict(opened(metadata.get("attributes")))
    given, answer = opened(raw.get("input")), opened(raw.get("output"))
    usage = _usage(as_dict(opened(raw.get("usageDetails"))) or as_dict(raw.get("usage")))
    place = Span(
        id=str(raw["id"]),
        parent=as_text(raw.get("parentObservationId")) or "",
        trace=as_text(raw.get("traceId")) or "",
        kind=_KINDS.get(raw["type"].upper(), "other"),
        name=as_text(raw.get("name")) or raw["type"],
        start=timestamp(raw.get("startTime")),
        session=session,
        usage=usage or usage_metadata(as_dict(answer).get("usage_metadata")),
        model=as_text(raw.get("model")) or as_text(raw.get("providedModelName")),
    )
    span = with_attributes(place, attributes, given=given, answer=answer)
    if span.kind == "model" and place.kind != "model":
        return replace(span, kind="other")  # the export says what it counts as a call
    if usage is not None and span.usage == usage and _is_guess(attributes):
        output: Quality = "placeholder" if usage.output else "absent"
        span = replace(span, usage=replace(usage, input_quality="placeholder", output_quality=output))
    return replace(span, session=session)


def _is_guess(attributes: dict[str, Any]) -> bool:
    """Whether the span came with attributes that name a model but no tokens: then the tool counted the text."""
    told = any(key.startswith(("llm.model", "gen_ai.request", "gen_ai.response")) for key in attributes)
    return told and not any("token" in key.lower() for key in attributes)


def _usage(given: dict[str, Any]) -> Usage | None:
    """Usage of a generation.

    Keys such as ``input_cache_read`` stand beside the input, ``prompt_details.cache_read`` inside it.

    Examples
    --------
    >>> _usage({"input": 179, "output": 35, "output_reasoning": 64, "total": 278}).output
    99
    >>> _usage({"input": 55, "output": 15, "total": 70, "prompt_details.cache_read": 20}).uncached
    35
    """
    asked, output, total = (count(given.get(key)) for key in ("input", "output", "total"))
    beside, inside = _sum(given, _READ), count(given.get("prompt_details.cache_read"))
    hour = _sum(given, _HOUR)
    written = _sum(given, _WRITTEN) + hour
    reasoning = _sum(given, _REASONING)
    if total != asked + output and total in (
        asked + output + reasoning,
        asked + output + reasoning + beside + written,
    ):
        output, total = output + reasoning, total
    return disjoint(asked, output, beside or inside, written, total=total, apart=bool(beside), hour=hour)


def _sum(given: dict[str, Any], keys: tuple[str, ...]) -> int:
    return next((n for key in keys if (n := count(given.get(key)))), 0)
