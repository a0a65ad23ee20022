"""Traffic of OpenAI's Responses API: requests, responses, streams, and lists of items."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.record.formats.chat import call_block, chat_usage
from labkit.record.formats.common import as_dict, as_list, as_text, epoch, json_text
from labkit.record.formats.responses_items import ITEM_TYPES, item_blocks, opaque
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
from labkit.record.trace import Block, Prefix, Trace

NAME = "OpenAI Responses"

_MORE = {"mcp_approval_request", "mcp_approval_response", "mcp_call", "mcp_list_tools", "program", "program_output"}
_MORE |= {"item_reference"}
# Types that no other interface uses for what it lists.
_OWN = (ITEM_TYPES | _MORE) - {"message"}


def _is_item(value: Any) -> bool:
    item = as_dict(value)
    kind = as_text(item.get("type")) or "message"
    return kind in _OWN or (kind == "message" and isinstance(item.get("content"), (str, list)) and "role" in item)


def _is_request(value: dict[str, Any]) -> bool:
    given = value.get("input")
    if isinstance(given, str):
        return "model" in value
    return isinstance(given, list) and bool(given) and _is_item(given[0])


def _is_response(value: dict[str, Any]) -> bool:
    return isinstance(value.get("output"), list) and (value.get("object") == "response" or "created_at" in value)


def _is_event(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and kind.startswith("response.")


def _assemble(events: list[dict[str, Any]]) -> list[tuple[dict[str, Any], bool]]:
    streams: list[list[dict[str, Any]]] = []
    for event in events:
        if not streams or event.get("type") == "response.created":
            streams.append([])
        streams[-1].append(event)
    found = []
    for stream in streams:
        response, whole = assemble("openai.responses", stream)
        # Items are known by their place: some proxies give them another id in each event.
        items = {n: as_dict(e.get("item")) for e in stream if type(n := e.get("output_index")) is int and "item" in e}
        if response is not None or items:
            response = response or {}
            output = as_list(response.get("output")) or [items[n] for n in sorted(items)]
            found.append(({**response, "output": output}, whole))
    return found


_API = Api(_is_request, _is_response, _is_event, _assemble)


def _is_history(entries: list[Any]) -> bool:
    kinds = (as_text(as_dict(e).get("type")) for e in entries)
    return bool(entries) and all(map(_is_item, entries)) and any(kind in _OWN for kind in kinds)


def matches(path: Path) -> bool:
    """Whether the file begins with a request, a response, an event of a stream, or an item."""
    head = first_entry(path)
    if _API.knows(head):
        return True
    return _is_item(head) and _is_history(entries_of(path)[0])


def read(path: Path) -> Trace:
    """Read traffic in the order in which it was recorded.

    Parameters
    ----------
    path : Path
        JSON, JSON lines or a stream: exchanges ``{"request": ..., "response": ...}``, requests and
        responses by themselves, events, or the items of one conversation.

    Notes
    -----
    A request with ``previous_response_id`` holds only what is new; it goes on with the one before it.
    """
    entries, warnings = entries_of(path)
    traffic = Traffic()
    reader = _Reader(traffic)
    if _is_history(entries):
        traffic.history(reader.messages(entries))
        entries = []
    for pair in pairs(entries, _API, warnings):
        reader.add(pair)
    refuse_empty(traffic, path, NAME)
    return traffic.trace(name_of(path), f"{NAME}: {path.name}", [*warnings, *reader.remarks()])


class _Reader:
    """Turns requests and responses into exchanges."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._skipped: Counter[str] = Counter()
        self._opaque = self._cut = self._kept = 0

    def add(self, pair: Pair) -> None:
        request, response = as_dict(pair.request), as_dict(pair.response)
        given = request.get("input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else list(map(as_dict, as_list(given)))
        head = next((i for i, m in enumerate(items) if m.get("role") not in ("system", "developer")), len(items))
        known = request if pair.request is not None else response
        instructions = as_text(known.get("instructions")) or as_text(response.get("instructions"))
        system = "\n".join(filter(None, [instructions, *(b.text for m in items[:head] for b in self._blocks(m))]))
        tools = known.get("tools")
        usage = chat_usage(response.get("usage"))
        if usage is not None and not pair.whole:
            usage = replace(usage, output_quality="placeholder")
        self._cut += pair.response is not None and not pair.whole
        more = bool(as_text(request.get("previous_response_id")) or request.get("conversation"))
        self._kept += more
        output = list(map(as_dict, as_list(response.get("output"))))
        start = start_of(pair.entry)
        self._traffic.add(
            Exchange(
                asked=None if pair.request is None else self.messages(items[head:]),
                answered=[b for item in output for b in self._blocks(item)],
                prefix=Prefix(system or None, json_text(tools) if tools else None),
                start=epoch(response.get("created_at")) if start is None else start,
                model=as_text(response.get("model")) or as_text(request.get("model")),
                usage=usage,
                id=as_text(response.get("id")),
                more=more,
            )
        )

    def messages(self, items: list[dict[str, Any]]) -> list[list[Block]]:
        """Items as messages: consecutive ones of the model are one."""
        messages: list[list[Block]] = []
        for item in items:
            blocks = self._blocks(item)
            if not blocks:
                continue
            spoken = [m[-1].role for m in messages[-1:]] == ["assistant"]
            if spoken and all(b.role == "assistant" for b in blocks):
                messages[-1] += blocks
            else:
                messages.append(blocks)
        return messages

    def _blocks(self, item: dict[str, Any]) -> list[Block]:
        kind = as_text(item.get("type")) or "message"
        self._opaque += opaque(item)
        call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
        if kind == "mcp_call":
            call = call_block(item.get("name"), item.get("arguments"), call_id)
            said = as_text(item.get("output")) or json_text(item.get("error"))
            return [call, Block("result", "tool", said, call_id=call_id)]
        if kind == "mcp_list_tools":
            return [Block("text", "system", json_text(item.get("tools")))]
        if kind == "program":
            return [call_block("program", item.get("code"), call_id)]
        if kind == "program_output":
            return [Block("result", "tool", as_text(item.get("result")) or "", call_id=call_id)]
        if kind == "code_interpreter_call":
            call = call_block("code_interpreter", item.get("code"), call_id)
            logs = "\n".join(as_text(as_dict(o).get("logs")) or json_text(o) for o in as_list(item.get("outputs")))
            return [call, Block("result", "tool", logs, call_id=call_id)]
        if kind in ("mcp_approval_request", "mcp_approval_response"):
            role = "assistant" if kind.endswith("request") else "user"
            return [Block("text", role, json_text({k: v for k, v in item.items() if k != "id"}))]  # type: ignore[arg-type]
        if kind not in ITEM_TYPES:
            self._skipped[kind] += 1
            return []
        # A thought without a summary is still a thought of the model's; its text is not in the record.
        return item_blocks({**item, "type": kind})

    def remarks(self) -> list[str]:
        """One sentence for each kind of thing that was guessed or passed over."""
        said = [
            (self._opaque, "items are encrypted: their size is not known"),
            (self._cut, "streams ended early: their output counts may be missing"),
            (self._kept, "requests go on from what the provider keeps; taken to be the conversation before them"),
        ]
        kinds = ", ".join(f"{n} {kind!r}" for kind, n in sorted(self._skipped.items()))
        unknown = [f"items of unknown types were skipped: {kinds}"] if kinds else []
        return [*(f"{n} {what}" for n, what in said if n), *unknown]
