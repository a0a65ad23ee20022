"""Traffic of OpenAI's Chat Completions, which many providers and proxies speak: pairs, streams, conversations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.record.formats.chat import chat_blocks, chat_text, chat_usage
from labkit.record.formats.common import as_dict, as_list, as_text, epoch, json_text
from labkit.record.formats.jsonl import first_objects
from labkit.record.formats.traffic import Exchange, Traffic
from labkit.record.formats.traffic_files import (
    Api,
    Pair,
    entries_of,
    first_entry,
    folder_files,
    name_of,
    pairs,
    refuse_empty,
    start_of,
)
from labkit.record.streams import assemble
from labkit.record.trace import Prefix, Trace

NAME = "OpenAI Chat Completions"
FOLDERS = True

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
# Items of a stream are numbered; a number beyond this is damage.
_MOST = 1_000


def _is_message(value: Any) -> bool:
    message = as_dict(value)
    role = message.get("role")
    said = isinstance(message.get("content"), (str, list)) or "tool_calls" in message or "function_call" in message
    return isinstance(role, str) and role in _ROLES and said


def _is_request(value: dict[str, Any]) -> bool:
    messages = as_list(value.get("messages"))
    return bool(messages) and _is_message(messages[0])


def _choice(value: dict[str, Any]) -> dict[str, Any]:
    return as_dict((as_list(value.get("choices")) or [None])[0])


def _is_response(value: dict[str, Any]) -> bool:
    return isinstance(_choice(value).get("message"), dict)


def _is_event(value: dict[str, Any]) -> bool:
    return value.get("object") == "chat.completion.chunk" or isinstance(_choice(value).get("delta"), dict)


def _assemble(events: list[dict[str, Any]]) -> list[tuple[dict[str, Any], bool]]:
    streams: list[list[dict[str, Any]]] = []
    for event in events:
        if not streams or event.get("id") != streams[-1][0].get("id"):
            streams.append([])
        pieces = [p for p in map(as_dict, as_list(event.get("choices"))) if _sound(p)]
        streams[-1].append({**event, "choices": pieces})
    found = [assemble("openai.chat", stream) for stream in streams]
    return [(response, whole) for response, whole in found if response is not None and response["choices"]]


def _sound(piece: dict[str, Any]) -> bool:
    """Whether a piece of an answer can be added to those before it."""
    delta = as_dict(piece.get("delta"))
    calls = [as_dict(c) for c in as_list(delta.get("tool_calls"))]
    numbers = [piece.get("index"), *(c.get("index") for c in calls)]
    functions = [as_dict(c.get("function")) for c in calls]
    texts = [delta.get("content"), *(f.get(k) for f in functions for k in ("name", "arguments"))]
    return all(type(n) is int and 0 <= n < _MOST for n in numbers) and all(
        isinstance(t, (str, type(None))) for t in texts
    )


_API = Api(_is_request, _is_response, _is_event, _assemble)


def matches(path: Path) -> bool:
    """Whether the file begins with a request, a response, a chunk or a message; or a folder holds such files alone."""
    if path.is_dir():
        return bool(folder_files(path, matches))
    head = first_entry(path)
    # Other programs' lines may begin like a message; a conversation consists of nothing else.
    return _API.knows(head) or (_is_message(head) and all(map(_is_message, first_objects(path))))


def read(path: Path) -> Trace:
    """Read traffic in the order in which it was sent.

    Parameters
    ----------
    path : Path
        JSON, JSON lines or a stream: exchanges, requests and responses, litellm's logs, the messages of
        one conversation; or a folder with a file for each request, which is one run.
    """
    traffic = Traffic()
    warnings: list[str] = []
    if path.is_dir():
        entries = []
        for file in folder_files(path, matches):
            found, said = entries_of(file)
            entries += found
            warnings += [f"{file.name}: {w}" for w in said]
        entries.sort(key=lambda e: start_of(e) or 0.0)
    else:
        entries, warnings = entries_of(path)
    if entries and all(map(_is_message, entries)):
        _history(traffic, entries)
        entries = []
    reader = _Reader(traffic)
    for pair in pairs(entries, _API, warnings):
        reader.add(pair)
    refuse_empty(traffic, path, NAME)
    return traffic.trace(name_of(path), f"{NAME}: {path.name}", [*warnings, *reader.remarks()])


def _history(traffic: Traffic, messages: list[dict[str, Any]]) -> None:
    system, rest = _system(messages)
    traffic.history([chat_blocks(m) for m in rest], Prefix(system))


def _system(messages: list[dict[str, Any]]) -> tuple[str | None, list[dict[str, Any]]]:
    """The system prompt, which stands first; later ones stay where they are."""
    first = next((i for i, m in enumerate(messages) if m.get("role") not in ("system", "developer")), len(messages))
    return "\n".join(chat_text(m.get("content")) for m in messages[:first]) or None, messages[first:]


class _Reader:
    """Turns requests and responses into exchanges."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._cut = self._written = self._choices = self._late = 0

    def add(self, pair: Pair) -> None:
        request, response = as_dict(pair.request), as_dict(pair.response)
        messages = list(map(as_dict, as_list(request.get("messages"))))
        system, rest = _system(messages)
        tools = request.get("tools") or as_dict(request.get("kwargs")).get("tools") or request.get("functions")
        raw = list(map(as_dict, as_list(request.get("raw_messages"))))
        if raw and len(raw) == len(messages) and raw != messages:
            # The same messages before calls and results were written into their text.
            self._written += 1
            rest, tools = _system(raw)[1], None
        message = as_dict(_choice(response).get("message"))
        if pair.response is None and rest and rest[-1].get("role") == "assistant":
            message, rest = rest[-1], rest[:-1]
        self._cut += pair.response is not None and not pair.whole
        self._choices += len(as_list(response.get("choices"))) > 1
        usage = chat_usage(response.get("usage"))
        if usage is not None and not pair.whole:
            usage = replace(usage, output_quality="placeholder")
        start = start_of(pair.entry)
        self._late += start is not None and "timestamp" in pair.entry and "latency_sec" not in pair.entry
        self._traffic.add(
            Exchange(
                asked=None if pair.request is None else [chat_blocks(m) for m in rest],
                answered=chat_blocks({**message, "role": "assistant"}) if message else (),
                prefix=None if pair.request is None else Prefix(system, json_text(tools) if tools else None),
                start=epoch(response.get("created")) if start is None else start,
                model=as_text(response.get("model")) or as_text(request.get("model")),
                usage=usage,
                id=as_text(response.get("id")),
            )
        )

    def remarks(self) -> list[str]:
        """One sentence for each kind of thing that was guessed."""
        said = [
            (self._cut, "streams ended early: their output counts may be missing"),
            (self._written, "requests had calls and results written into their text; they are shown as what they are"),
            (self._choices, "answers had several choices; the first is kept"),
            (self._late, "requests have only the time of their log entry, which may be that of the answer"),
        ]
        return [f"{n} {what}" for n, what in said if n]
