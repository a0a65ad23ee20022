"""Runs rebuilt from the spans of a tracing tool, whichever one wrote them.

A span of a model holds the whole prompt of one call. Spans of agents and chains repeat the text and
the usage of the spans below them, so only the innermost span of a model counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.chat import call_block
from labkit.record.formats.common import as_dict, json_text
from labkit.record.formats.conversations import Call, from_calls, split_system
from labkit.record.formats.several import several
from labkit.record.formats.span_messages import Said, numbered
from labkit.record.trace import Block, Prefix, Trace, Usage

__all__ = ["Span", "runs_of"]


@dataclass(frozen=True)
class Span:
    """One span, read; what does not concern its kind is left empty.

    Parameters
    ----------
    id, parent, trace : str
        Its place; ``parent`` is empty for a root.
    kind : {"model", "agent", "tool", "other"}
        Who worked.
    name : str
        Of the span; for an agent and a tool, their own.
    start : float, optional
        Seconds since the epoch.
    session : str
        What binds several traces into one run, where that is recorded.
    asked, answered : Said
        For a model: the prompt and the answer. For a tool: ``answered`` is not used.
    usage, model, response
        For a model.
    convention : bool
        Whether only a convention says that cached tokens are a part of the input.
    call_id, arguments, result
        For a tool.
    """

    id: str
    parent: str
    trace: str
    kind: Literal["model", "agent", "tool", "other"]
    name: str
    start: float | None = None
    session: str = ""
    asked: Said = field(default_factory=Said)
    answered: Said = field(default_factory=Said)
    usage: Usage | None = None
    convention: bool = False
    model: str | None = None
    response: str | None = None
    call_id: str | None = None
    arguments: Any = None
    result: Any = None


def runs_of(spans: Sequence[Span], name: str, source: str, warnings: Iterable[str] = ()) -> Trace:
    """The run of the spans, or a Trace whose children are the runs.

    Spans of one trace are one run, and so are traces of one session.
    """
    by_id = {span.id: span for span in spans}
    groups: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda s: (s.start is not None, s.start or 0.0)):
        root = _above(span, by_id)[-1]
        groups.setdefault(root.session or root.trace or root.id, []).append(span)
    runs = [run for group in groups.values() if (run := _run(group, by_id, name, source))]
    if not runs:
        return Trace(name, (), (), source=source, warnings=tuple(warnings))
    if len(runs) > 1:
        runs = [replace(run, name=f"{name}, run {i}") for i, run in enumerate(runs, 1)]
    return several(runs, name, source, tuple(warnings))


def _above(span: Span, by_id: dict[str, Span]) -> list[Span]:
    """The span and those above it, from the inside out."""
    chain, seen = [span], {span.id}
    while (parent := by_id.get(chain[-1].parent)) is not None and parent.id not in seen:
        seen.add(parent.id)
        chain.append(parent)
    return chain


def _run(spans: list[Span], by_id: dict[str, Span], name: str, source: str) -> Trace | None:
    warnings: list[str] = []
    models, doubled = _innermost(spans, by_id)
    if doubled:
        warnings.append(f"{doubled} spans of a model lie around another of the same call: counted once")
    whole = [s for s in models if s.asked.messages or s.usage is not None]
    if 0 < len(whole) < len(models):
        # Some tools write a span when an answer begins, and one for each step of its end.
        warnings.append(f"{len(models) - len(whole)} spans of a model hold neither a prompt nor usage; left out")
        models = whole
    ids = {span.id for span in spans}
    lost = sum(bool(span.parent) and span.parent not in ids for span in spans)
    if lost:
        warnings.append(f"{lost} spans have a parent that is not in the file")
    calls = [_call(span, by_id) for span in models]
    if calls:
        guessed = sum(s.usage is not None and s.usage.input_quality == "placeholder" for s in models)
        if guessed:
            warnings.append(f"usage of {guessed} calls was counted by the tracing tool, not by the provider")
        read = sum(s.usage is not None and s.usage.cache_read > 0 for s in models)
        if read and any(s.convention for s in models):
            warnings.append(f"{read} calls read from a cache: taken as part of their input, as the convention says")
        return from_calls(calls, name, source, warnings=warnings)
    return _from_tools(spans, name, source, warnings)


def _innermost(spans: list[Span], by_id: dict[str, Span]) -> tuple[list[Span], int]:
    """Spans of a model with none of a model inside; a single one takes the text that only the outer holds."""
    inside: dict[str, list[Span]] = {}
    for span in spans:
        outer = next((s for s in _above(span, by_id)[1:] if s.kind == "model"), None)
        if span.kind == "model" and outer is not None:
            inside.setdefault(outer.id, []).append(span)
    better: dict[str, Span] = {}
    for key, found in inside.items():
        inner, outer = found[0], by_id[key]
        poorer = len(inner.asked.messages) < len(outer.asked.messages) or not inner.answered.messages
        if len(found) == 1 and poorer and outer.answered.messages:
            better[inner.id] = replace(inner, asked=outer.asked, answered=outer.answered)
    return [better.get(s.id, s) for s in spans if s.kind == "model" and s.id not in inside], len(inside)


def _call(span: Span, by_id: dict[str, Span]) -> Call:
    # One agent's steps may be counted in their names.
    agents = [re.sub(r"[-_ ]?\d{1,9}$", "", s.name) for s in reversed(_above(span, by_id)[1:]) if s.kind == "agent"]
    asked, answered = numbered(span.asked.messages, span.answered.messages)
    system, asked = split_system(asked)
    beside = span.asked.system_text() or span.answered.system_text()
    tools = span.asked.tools or span.answered.tools
    return Call(
        start=span.start,
        model=span.model,
        id=span.response,
        prefix=Prefix(beside or system, json_text(tools) if tools else None),
        asked=asked if span.asked.messages else None,
        answered=answered,
        usage=span.usage,
        group="/".join(agents),
        depth=len(agents),
    )


def _from_tools(spans: list[Span], name: str, source: str, warnings: list[str]) -> Trace | None:
    """A run of which only the tools are recorded."""
    tools = [s for s in spans if s.kind == "tool"]
    if not tools:
        return None
    run = TraceBuilder()
    run.warnings += warnings
    run.warnings.append("no call of a model is recorded: each call of a tool is taken for a request of its own")
    model = next((s.model for s in spans if s.model), None)
    for span in tools:
        arguments = as_dict(span.arguments) or span.arguments
        run.respond([call_block(span.name, arguments, span.call_id or span.id)], model=model)
        if span.result is not None:
            text = span.result if isinstance(span.result, str) else json_text(span.result)
            run.say([Block("result", "tool", text, call_id=span.call_id or span.id)])
    return run.trace(name, source)
