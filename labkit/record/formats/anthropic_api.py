"""Traffic of the Anthropic Messages API: requests, responses, streams, and conversations by themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.record.formats.anthropic_usage import Sampling, samplings
from labkit.record.formats.claude_code_content import content_blocks
from labkit.record.formats.common import as_dict, as_list, as_text, json_text, tokens
from labkit.record.formats.traffic import Exchange, Traffic
from labkit.record.formats.traffic_files import (
    Api,
    Pair,
    entries_of,
    first_entry,
    name_of,
    pairs,
    refuse_empty,
    start_of,
)
from labkit.record.streams import assemble
from labkit.record.trace import Block, Prefix, Role, Trace

NAME = "Anthropic Messages"

_EVENTS = {
    "content_block_delta",
    "content_block_start",
    "content_block_stop",
    "error",
    "message_delta",
    "message_stop",
    "ping",
}
# Parts of a message that only this interface has.
_OWN = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use", "compaction"}


def _is_message(value: Any) -> bool:
    message = as_dict(value)
    return message.get("role") in ("user", "assistant") and isinstance(message.get("content"), (str, list))


def _has_own(messages: list[Any]) -> bool:
    parts = (p for m in messages for p in as_list(as_dict(m).get("content")))
    return any(as_text(as_dict(p).get("type")) in _OWN for p in parts)


def _is_request(value: dict[str, Any]) -> bool:
    messages = as_list(value.get("messages"))
    if not messages or not _is_message(messages[0]):
        return False
    schemas = any("input_schema" in as_dict(tool) for tool in as_list(value.get("tools")))
    marked = "system" in value or "context_management" in value or "anthropic_version" in value
    return schemas or marked or _has_own(messages)


def _is_response(value: dict[str, Any]) -> bool:
    content = value.get("content")
    return value.get("type") == "message" and value.get("role") == "assistant" and isinstance(content, list)


def _is_event(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    if kind == "message_start":
        return isinstance(value.get("message"), dict)
    return isinstance(kind, str) and kind in _EVENTS


def _assemble(events: list[dict[str, Any]]) -> list[tuple[dict[str, Any], bool]]:
    """One response for each message that begins: a proxy may start one twice, or join two streams."""
    streams: list[list[dict[str, Any]]] = []
    name: str | None = None
    for event in events:
        if event.get("type") == "message_start":
            before, name = name, as_text(event["message"].get("id"))
            if streams and name is not None and name == before:
                continue
            streams.append([])
        if streams and _sound(event, streams[-1]):
            streams[-1].append(event)
    found = [assemble("anthropic.messages", stream) for stream in streams]
    return [(response, whole) for response, whole in found if response is not None]


def _sound(event: dict[str, Any], before: list[dict[str, Any]]) -> bool:
    """Whether an event can be added to those before it."""
    kind, index = event.get("type"), event.get("index")
    if kind == "content_block_start":
        return type(index) is int and isinstance(event.get("content_block"), dict)
    if kind == "content_block_delta":
        delta = as_dict(event.get("delta"))
        key = {"input_json_delta": "partial_json", "text_delta": "text", "thinking_delta": "thinking"}
        text = delta.get(key.get(as_text(delta.get("type")) or "", "type"))
        begun = type(index) is int and any(e.get("index") == index and "content_block" in e for e in before[::-1])
        return begun and isinstance(text, str) and ("signature" in delta or delta.get("type") != "signature_delta")
    if kind == "message_delta":
        return isinstance(event.get("delta"), dict) and isinstance(event.get("usage", {}), (dict, type(None)))
    return True


_API = Api(_is_request, _is_response, _is_event, _assemble)


def _is_history(entries: list[Any]) -> bool:
    return bool(entries) and _is_message(entries[0]) and "type" not in entries[0] and _has_own(entries)


def matches(path: Path) -> bool:
    """Whether the file begins with a request, a response, an exchange of both, or an event of a stream."""
    head = first_entry(path)
    if _API.knows(head):
        return True
    if not _is_message(head):
        return False
    return _is_history(entries_of(path)[0])


def read(path: Path) -> Trace:
    """Read traffic in the order in which it was recorded.

    Parameters
    ----------
    path : Path
        JSON, JSON lines, or the events of streams as JSON lines or as they went over the wire: exchanges
        ``{"request": ..., "response": ...}``, requests and responses by themselves, or the messages of
        one conversation.

    Returns
    -------
    Trace
        What the provider did on the way to an answer and billed with it (a compaction, an advisor) is a
        child with its own usage; the usage of a request is what its own prompt took.
    """
    entries, warnings = entries_of(path)
    traffic = Traffic()
    reader = _Reader(traffic, name_of(path))
    if _is_history(entries):
        traffic.history(list(map(_blocks, entries)))
        entries = []
    for pair in pairs(entries, _API, warnings):
        reader.add(pair)
    refuse_empty(traffic, path, NAME)
    return traffic.trace(name_of(path), f"{NAME}: {path.name}", [*warnings, *reader.remarks()])


class _Reader:
    """Turns requests and responses into exchanges."""

    def __init__(self, traffic: Traffic, name: str) -> None:
        self._traffic, self._name = traffic, name
        self._beside = self._cut = self._loops = self._declined = self._thinking = 0

    def add(self, pair: Pair) -> None:
        request, response = as_dict(pair.request), as_dict(pair.response)
        answer = _blocks({"role": "assistant", "content": response.get("content")})
        asked = None if pair.request is None else _asked(request)
        parts, beside, declined = samplings(response, answer)
        self._declined += declined
        self._cut += pair.response is not None and not pair.whole
        billed = any(b.kind == "result" for b in answer) and not as_list(
            as_dict(response.get("usage")).get("iterations")
        )
        self._loops += billed
        applied = [as_dict(e) for e in as_list(as_dict(response.get("context_management")).get("applied_edits"))]
        self._thinking += sum(bool(tokens(e.get("cleared_thinking_turns"))) for e in applied)
        exchange = Exchange(
            asked=asked,
            prefix=None if pair.request is None else _prefix(request),
            start=start_of(pair.entry),
            id=as_text(response.get("id")),
            cleared=sum(tokens(e.get("cleared_tool_uses")) for e in applied),
            spared=_spared(request),
            summarized=bool(answer) and answer[0].kind == "summary",
            beside=tuple(self._child(s) for s in beside),
        )
        for i, part in enumerate(parts):
            usage = part.usage
            if usage is not None and not pair.whole:
                usage = replace(usage, output_quality="placeholder")
            model = part.model or as_text(response.get("model")) or as_text(request.get("model"))
            own = replace(exchange, answered=part.blocks, usage=usage, model=model)
            if i:
                # The provider went on by itself: what it had said and fetched was in its next prompt.
                own = replace(own, asked=(), more=True, prefix=None, cleared=0, summarized=False, beside=())
            self._traffic.add(own)

    def _child(self, sampling: Sampling) -> Trace:
        self._beside += 1
        return sampling.trace(f"{self._name}-{sampling.kind}-{self._beside}", NAME)

    def remarks(self) -> list[str]:
        """One sentence for each kind of thing that was guessed."""
        said = [
            (self._beside, "calls that the provider made beside the answer are children, with their own usage"),
            (self._cut, "streams ended early: their output counts are placeholders"),
            (self._loops, "answers used tools at the provider: their input counts are sums over several prompts"),
            (self._declined, "attempts of a model that declined are left out: they are not billed as answers"),
            (self._thinking, "requests had thinking cleared by the provider; not applied"),
        ]
        return [f"{n} {what}" for n, what in said if n]


def _asked(request: dict[str, Any]) -> list[list[Block]]:
    """What the model reads of a request: from the last summary on, whatever the client sends before it."""
    messages = [_blocks(as_dict(m)) for m in as_list(request.get("messages"))]
    for i in range(len(messages) - 1, -1, -1):
        summaries = [n for n, block in enumerate(messages[i]) if block.kind == "summary"]
        if summaries:
            at = summaries[-1]
            return [messages[i][at : at + 1], messages[i][at + 1 :], *messages[i + 1 :]]
    return messages


def _blocks(message: dict[str, Any]) -> list[Block]:
    role: Role = {"assistant": "assistant", "system": "system"}.get(as_text(message.get("role")) or "", "user")  # type: ignore[assignment]
    content = message.get("content")
    if isinstance(content, str):
        return content_blocks(content, role)
    blocks: list[Block] = []
    for part in as_list(content):
        given = as_dict(part)
        kind = given.get("type")
        if kind == "compaction":
            blocks.append(Block("summary", "user", as_text(given.get("content")) or ""))
        elif kind == "mcp_tool_use":
            blocks += content_blocks([{**given, "type": "tool_use"}], role)
        elif given:
            blocks += content_blocks([{k: v for k, v in given.items() if k != "cache_control"}], role)
        else:
            blocks += content_blocks([part], role)
    return blocks


def _prefix(request: dict[str, Any]) -> Prefix:
    system = request.get("system")
    if isinstance(system, list):
        system = "\n".join(as_text(as_dict(part).get("text")) or "" for part in system)
    tools = [{k: v for k, v in as_dict(t).items() if k != "cache_control"} for t in as_list(request.get("tools"))]
    return Prefix(as_text(system), json_text(tools) if tools else None)


def _spared(request: dict[str, Any]) -> frozenset[str]:
    edits = as_list(as_dict(request.get("context_management")).get("edits"))
    return frozenset(t for e in edits for t in as_list(as_dict(e).get("exclude_tools")) if isinstance(t, str))
