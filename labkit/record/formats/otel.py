"""Spans of OpenTelemetry: OTLP in JSON or lines of it, and lists of spans as the SDKs and Phoenix write them.

The attributes are those of the GenAI conventions, of OpenInference, or of a few older habits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.record.formats.common import as_dict, as_list, as_text, epoch, timestamp
from labkit.record.formats.jsonl import first_object, read_lines
from labkit.record.formats.span_attributes import Attributes, count, with_attributes
from labkit.record.formats.spans import Span, runs_of
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Trace

NAME = "OpenTelemetry"

_DEEPEST = 30

# Before version 1.37 of the conventions the content stood in events of these names.
_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def matches(path: Path) -> bool:
    """Whether the first object is an OTLP export or a span with attributes."""
    head = first_object(path)
    if head is not None and _is_spans(head):
        return True
    document = whole_json(path)
    first = next(iter(document), None) if isinstance(document, list) else document
    return isinstance(first, dict) and _is_spans(first)


def _is_spans(value: dict[str, Any]) -> bool:
    if "resourceSpans" in value or "resource_spans" in value:
        return True
    first = as_dict(next(iter(as_list(value.get("spans")) or as_list(value.get("data"))), value))
    named = _identity(first, "spanId", "span_id") is not None
    return named and isinstance(first.get("attributes"), (dict, list)) and "name" in first


def read(path: Path) -> Trace:
    """Read the spans of a file.

    Raises
    ------
    InputError
        If no span is a call of a model or of a tool.
    """
    document = whole_json(path)
    warnings: list[str] = []
    if isinstance(document, (dict, list)):
        entries = document if isinstance(document, list) else [document]
    else:
        lines, warnings = read_lines(path)
        entries = [entry for _, entry in lines]
    spans = {span.id: span for entry in entries for span in _spans(as_dict(entry))}
    trace = runs_of(list(spans.values()), path.stem, f"{NAME}: {path.name}", warnings)
    if not trace.requests and not trace.children:
        raise InputError(
            f"{path} holds {len(spans)} spans, none of them a call of a model or of a tool: export the spans that "
            "have gen_ai or openinference attributes"
        )
    return trace


def _spans(entry: dict[str, Any]) -> Iterator[Span]:
    """Spans of one object, which may be an export, a list in an envelope, or a span."""
    resources = as_list(entry.get("resourceSpans")) or as_list(entry.get("resource_spans"))
    if resources:
        for resource in map(as_dict, resources):
            keys = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
            scopes: Any = next((s for k in keys if (s := resource.get(k))), [])
            for scope in map(as_dict, as_list(scopes)):
                yield from (_span(as_dict(s)) for s in as_list(scope.get("spans")))
        return
    listed = as_list(entry.get("spans")) or as_list(entry.get("data"))
    yield from (_span(as_dict(s)) for s in listed or [entry] if isinstance(s, dict))


def _identity(span: dict[str, Any], *keys: str) -> str | None:
    for holder in (span, as_dict(span.get("context")), as_dict(span.get("spanContext"))):
        for key in keys:
            if text := as_text(holder.get(key)):
                return text
    return None


def _span(raw: dict[str, Any]) -> Span:
    attributes = _attributes(raw.get("attributes"))
    for event in map(as_dict, as_list(raw.get("events"))):
        _take_event(as_text(event.get("name")) or "", _attributes(event.get("attributes")), attributes)
    virtual = as_text(attributes.get("virtual_parent.genai"))
    parent = virtual or _identity(raw, "parentSpanId", "parent_span_id", "parent_id", "parentId")
    place = Span(
        id=_identity(raw, "spanId", "span_id") or f"unnamed {id(raw)}",
        parent=parent or "",
        trace=_identity(raw, "traceId", "trace_id") or "",
        kind="other",
        name=as_text(raw.get("name")) or "unnamed",
        start=_time(raw),
    )
    return with_attributes(place, attributes)


def _time(raw: dict[str, Any]) -> float | None:
    for key in ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"):
        value = raw.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 25:
            value = int(value)
        if isinstance(value, list) and len(value) == 2:
            value = value[0]  # seconds and nanoseconds, as the JavaScript SDK has them
        if isinstance(value, int) and not isinstance(value, bool) and 10**16 < value < 10**25:
            value /= 10**9
        if (found := timestamp(value) if isinstance(value, str) else epoch(value)) is not None:
            return found
    return None


def _attributes(given: Any) -> Attributes:
    """Attributes by name: OTLP wraps each value in its type, others nest the names."""
    if isinstance(given, list):
        pairs = (as_dict(a) for a in given)
        return {str(a.get("key")): _value(a.get("value")) for a in pairs if "key" in a}
    flat: Attributes = {}
    _flatten(as_dict(given), "", flat, 0)
    return flat


def _flatten(given: dict[str, Any], prefix: str, flat: Attributes, depth: int) -> None:
    for key, value in given.items():
        name = f"{prefix}{key}"
        flat[name] = value
        if depth < _DEEPEST and isinstance(value, dict):
            _flatten(value, f"{name}.", flat, depth + 1)
        elif depth < _DEEPEST and isinstance(value, list) and name.startswith("llm."):
            _flatten({str(i): v for i, v in enumerate(value)}, f"{name}.", flat, depth + 1)


def _value(wrapped: Any, depth: int = 0) -> Any:
    """The value in OTLP's wrapping.

    Examples
    --------
    >>> _value({"intValue": "7"}), _value({"arrayValue": {"values": [{"stringValue": "a"}]}})
    (7, ['a'])
    """
    if not isinstance(wrapped, dict) or depth > _DEEPEST:
        return wrapped
    for kind, value in wrapped.items():
        if kind == "intValue":
            return count(value)
        if kind == "arrayValue":
            return [_value(v, depth + 1) for v in as_list(as_dict(value).get("values"))]
        if kind == "kvlistValue":
            pairs = (as_dict(p) for p in as_list(as_dict(value).get("values")))
            return {str(p.get("key")): _value(p.get("value"), depth + 1) for p in pairs}
        return value
    return None


def _take_event(name: str, event: Attributes, attributes: Attributes) -> None:
    """Put the content that stands in an event where the newer conventions have it."""
    for key in ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.prompt"):
        if key in event:
            attributes.setdefault(key, event[key])
    role = _EVENTS.get(name)
    if role is not None:
        held = attributes.setdefault("gen_ai.input.messages", [])
        if isinstance(held, list):
            held.append({"role": role, "tool_call_id": event.get("id"), **event})
    elif name == "gen_ai.choice":
        held = attributes.setdefault("gen_ai.output.messages", [])
        if isinstance(held, list):
            held.append({"role": "assistant", **as_dict(event.get("message")), **event})
