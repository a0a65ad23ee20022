"""Streamed answers: watched as they pass, and put together from their events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any, cast

__all__ = ["Recorded", "RecordedManager", "assemble"]

Event = dict[str, Any]


def assemble(api: str, events: list[Event]) -> tuple[dict[str, Any] | None, bool]:
    """The response a stream adds up to, and whether the stream ran to its end.

    Parameters
    ----------
    api : {"anthropic.messages", "openai.chat", "openai.responses"}
    events : list of dict
        As received, in order.

    Returns
    -------
    response : dict or None
        In the form the same call gives without streaming; ``None`` if no answer had begun.
    whole : bool

    Examples
    --------
    >>> chunks = [{"id": "c", "choices": [{"index": 0, "delta": {"content": word}}]} for word in "ab"]
    >>> assemble("openai.chat", chunks)[0]["choices"][0]["message"]["content"]
    'ab'
    """
    return {"anthropic.messages": _anthropic, "openai.chat": _chat, "openai.responses": _responses}[api](events)


def _anthropic(events: list[Event]) -> tuple[dict[str, Any] | None, bool]:
    message: dict[str, Any] | None = None
    parts: dict[int, dict[str, Any]] = {}
    inputs: dict[int, str] = {}
    whole = False
    for event in events:
        kind = event.get("type")
        if kind == "message_start":
            message = {**event["message"]}
        elif message is None:
            continue
        elif kind == "content_block_start":
            parts[event["index"]] = {**event["content_block"]}
        elif kind == "content_block_delta":
            _add(parts[event["index"]], event["delta"], inputs, event["index"])
        elif kind == "message_delta":
            message.update({k: v for k, v in event["delta"].items() if v is not None})
            # Later counts are the final ones, also those of the input.
            final = {k: v for k, v in (event.get("usage") or {}).items() if v is not None}
            message["usage"] = {**(message.get("usage") or {}), **final}
        elif kind == "message_stop":
            whole = True
    if message is None:
        return None, False
    for index, text in inputs.items():
        try:
            parts[index]["input"] = json.loads(text)
        except ValueError:
            parts[index]["input"] = {"unfinished": text}
    message["content"] = [parts[index] for index in sorted(parts)]
    return message, whole


def _add(part: dict[str, Any], delta: dict[str, Any], inputs: dict[int, str], index: int) -> None:
    kind = delta.get("type")
    if kind == "input_json_delta":
        inputs[index] = inputs.get(index, "") + delta["partial_json"]
    elif kind == "signature_delta":
        part["signature"] = delta["signature"]
    elif kind == "compaction_delta":
        part["content"] = (part.get("content") or "") + (delta.get("content") or "")
    elif kind in ("text_delta", "thinking_delta"):
        name = "text" if kind == "text_delta" else "thinking"
        part[name] = (part.get(name) or "") + delta[name]


def _chat(events: list[Event]) -> tuple[dict[str, Any] | None, bool]:
    if not events:
        return None, False
    response: dict[str, Any] = {k: v for k, v in events[0].items() if k not in ("choices", "usage")}
    response["object"] = "chat.completion"
    choices: dict[int, dict[str, Any]] = {}
    for event in events:
        if event.get("usage"):
            response["usage"] = event["usage"]
        for piece in event.get("choices") or []:
            choice = choices.setdefault(piece["index"], {"index": piece["index"], "message": {"role": "assistant"}})
            message, delta = choice["message"], piece.get("delta") or {}
            if delta.get("content"):
                message["content"] = (message.get("content") or "") + delta["content"]
            for call in delta.get("tool_calls") or []:
                _add_call(message.setdefault("tool_calls", []), call)
            if piece.get("finish_reason"):
                choice["finish_reason"] = piece["finish_reason"]
    response["choices"] = [choices[index] for index in sorted(choices)]
    return response, bool(choices) and all("finish_reason" in c for c in choices.values())


def _add_call(calls: list[dict[str, Any]], piece: dict[str, Any]) -> None:
    while len(calls) <= piece["index"]:
        calls.append({"type": "function", "function": {"name": "", "arguments": ""}})
    call, function = calls[piece["index"]], piece.get("function") or {}
    if piece.get("id"):
        call["id"] = piece["id"]
    for name in ("name", "arguments"):
        call["function"][name] += function.get(name) or ""


def _responses(events: list[Event]) -> tuple[dict[str, Any] | None, bool]:
    """Each event of importance carries the whole response; the last one counts."""
    response = None
    for event in events:
        if isinstance(event.get("response"), dict):
            response = event["response"]
        kind = event.get("type")
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            return response, True
    return response, False


class Recorded:
    """A stream that remembers what went through it."""

    def __init__(self, stream: Any, entry: Any) -> None:
        self._stream, self._entry, self._events = stream, entry, list[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            event = next(self._stream)
        except StopIteration:
            self._entry.streamed(self._events)
            raise
        except BaseException as error:
            self._entry.streamed(self._events, error)
            raise
        self._events.append(event)
        return event

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            event = await anext(self._stream)
        except StopAsyncIteration:
            self._entry.streamed(self._events)
            raise
        except BaseException as error:
            self._entry.streamed(self._events, error)
            raise
        self._events.append(event)
        return event

    def __enter__(self) -> Any:
        self._stream.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._entry.streamed(self._events)
        self._stream.__exit__(*error)

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._entry.streamed(self._events)
        await self._stream.__aexit__(*error)

    def __del__(self) -> None:
        # Left before its end, without closing it: it was billed all the same.
        with suppress(Exception):
            self._entry.streamed(self._events)

    def close(self) -> Any:
        self._entry.streamed(self._events)
        return self._stream.close()


class RecordedManager:
    """What ``messages.stream`` gives: the SDK puts the answer together, we read it at the end."""

    def __init__(self, manager: Any, entry: Any) -> None:
        self._manager, self._entry, self._stream = manager, entry, cast(Any, None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def _end(self, error: BaseException | None) -> None:
        answer = None
        with suppress(Exception):  # nothing may have arrived
            answer = self._stream.current_message_snapshot
        if error is not None and answer is None:
            self._entry.failed(error)
        elif answer is None:
            self._entry.streamed([])
        else:
            whole = getattr(answer, "stop_reason", None) is not None
            self._entry.done(response=answer, **({} if whole else {"incomplete": True}))

    def __enter__(self) -> Any:
        try:
            self._stream = self._manager.__enter__()
        except BaseException as error:
            self._entry.failed(error)
            raise
        return self._stream

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        self._end(error)
        return self._manager.__exit__(kind, error, trace)

    async def __aenter__(self) -> Any:
        try:
            self._stream = await self._manager.__aenter__()
        except BaseException as error:
            self._entry.failed(error)
            raise
        return self._stream

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> Any:
        self._end(error)
        return await self._manager.__aexit__(kind, error, trace)
