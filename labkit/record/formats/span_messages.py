"""Prompts and answers as tracing tools record them: a dozen shapes, each often as a string of JSON.

Everything is brought into the words of OpenAI's chat API, and from there into blocks.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from labkit.record.formats.chat import chat_blocks
from labkit.record.formats.common import as_dict, as_list, as_text, json_text
from labkit.record.trace import Block

__all__ = ["Said", "numbered", "opened", "said_in"]

_ROLES = {
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "assistant": "assistant",
    "developer": "system",
    "function": "tool",
    "human": "user",
    "humanmessage": "user",
    "model": "assistant",
    "system": "system",
    "systemmessage": "system",
    "tool": "tool",
    "toolmessage": "tool",
    "user": "user",
}

_DEEPEST = 40


@dataclass
class Said:
    """What a prompt or an answer holds: messages in the chat API's words, and what stands beside them."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    system: list[str] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)

    def system_text(self) -> str | None:
        """Instructions that are recorded beside the messages."""
        return "\n".join(self.system) or None


def opened(value: Any) -> Any:
    """The value that a string of JSON stands for; other strings and values as they are.

    Examples
    --------
    >>> opened('[{"role": "user"}]'), opened("Hello"), opened("[sic]")
    ([{'role': 'user'}], 'Hello', '[sic]')
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def said_in(value: Any, speaker: str) -> Said:
    """Messages of a recorded prompt (``speaker`` "user") or answer ("assistant").

    Examples
    --------
    >>> said_in('[{"role": "user", "parts": [{"type": "text", "content": "Hi."}]}]', "user").messages
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hi.'}]}]
    >>> said_in({"contents": [{"role": "model", "parts": [{"text": "Yes."}]}]}, "user").messages
    [{'role': 'assistant', 'content': [{'type': 'text', 'text': 'Yes.'}]}]
    """
    found = Said()
    _take(opened(value), speaker, found, 0)
    return found


def _take(value: Any, speaker: str, found: Said, depth: int) -> None:
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        if value:
            found.messages.append({"role": speaker, "content": value})
    elif isinstance(value, list):
        for item in value:
            _take(item, speaker, found, depth + 1)
    elif isinstance(value, dict):
        _take_object(value, speaker, found, depth)


def _take_object(value: dict[str, Any], speaker: str, found: Said, depth: int) -> None:
    """An envelope around messages, or a message."""
    value = _unwrapped(value)
    config = as_dict(value.get("config"))
    for key in ("system_instruction", "systemInstruction", "instructions", "system"):
        given = value.get(key, config.get(key))
        if "role" not in value and given:
            inner = said_in(given, "system")
            found.system += [text for m in inner.messages for b in chat_blocks(m) if (text := b.text)]
    if "role" not in value and not _is_part(value):
        found.tools += as_list(opened(value.get("tools"))) or as_list(config.get("tools"))
        for key in (
            "messages",
            "contents",
            "choices",
            "generations",
            "output",
            "input",
            "prompt",
            "prompts",
            "candidates",
        ):
            if value.get(key):
                _take(opened(value[key]), speaker, found, depth + 1)
                return
        if isinstance(value.get("message"), (dict, list)):
            _take(value["message"], "assistant", found, depth + 1)
            return
        if isinstance(value.get("content"), dict):
            _take(value["content"], speaker, found, depth + 1)
            return
    if value.get("role") == "tool" and as_dict(value.get("content")).get("type") == "function":
        found.tools.append(value["content"])  # schemas, which one callback records as messages
    else:
        _take_message(value, speaker, found)


def _unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """LangChain's message out of its dumps; one that OpenInference numbered out of its key."""
    if "lc" in value and isinstance(value.get("kwargs"), dict):
        name = next((n for n in reversed(as_list(value.get("id"))) if isinstance(n, str)), "")
        value = {"type": name, **value["kwargs"]}
    elif isinstance(value.get("data"), dict) and as_text(value.get("type")) is not None:
        value = {"type": value["type"], **value["data"]}
    kind = as_text(value.get("type")) or ""
    if "role" not in value and kind.lower() in _ROLES:
        return {**value, "role": _ROLES[kind.lower()]}
    return value


def _take_message(message: dict[str, Any], speaker: str, found: Said) -> None:
    given = as_text(message.get("role"))
    role = _ROLES.get((given or speaker).lower())
    name = message.get("name")
    if role is None:
        # One callback writes the tool's name where the role belongs.
        role, name = ("tool", given) if "additional_kwargs" in message or "tool_call_id" in message else ("user", name)
    parts: list[Any] = []
    calls: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    content = message.get("parts", message.get("content", message.get("contents")))
    if content is None and given is None:
        content = [message]  # an item of its own
    if role == "tool" and not isinstance(content, list):
        parts = [_text(content)]
    elif role == "tool" and not any(_is_result(p) for p in as_list(content)):
        parts = [p["text"] if isinstance(as_dict(p).get("text"), str) else _text(p) for p in as_list(content)]
    else:
        for part in [content] if isinstance(content, (str, dict)) else as_list(content):
            _part(part, parts, calls, results)
    extra = as_dict(message.get("additional_kwargs"))
    calls = calls or [_call(c) for c in as_list(message.get("tool_calls")) or as_list(extra.get("tool_calls"))]
    thoughts = as_text(message.get("reasoning_content")) or as_text(extra.get("reasoning_content"))
    if thoughts and role == "assistant":
        parts.insert(0, {"type": "thinking", "thinking": thoughts})
    if role == "tool" and not results:
        call_id = message.get("tool_call_id", message.get("id") if given == "tool" else None)
        found.messages.append({"role": "tool", "tool_call_id": call_id, "name": name, "content": parts})
    elif parts or calls:
        role = "assistant" if calls else role
        found.messages.append({"role": role, "content": parts, **({"tool_calls": calls} if calls else {})})
    found.messages += results


def _kind(part: Any) -> str:
    return (as_text(as_dict(part).get("type")) or "").replace("-", "_")


def _is_part(value: dict[str, Any]) -> bool:
    """Whether an object without a role is an item of its own, and no envelope around messages."""
    if isinstance(value.get("message"), dict):
        return False
    return "toolCallId" in value or "functionCall" in value or _kind(value) not in ("", "LLMResult", "response")


def _is_result(part: Any) -> bool:
    return (
        _kind(part) in ("tool_call_response", "tool_result", "function_call_output")
        or "function_response" in as_dict(part)
        or "functionResponse" in as_dict(part)
    )


def _part(part: Any, parts: list[Any], calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> None:
    """Sort one part of a message: words, a call, or the result of one."""
    if not isinstance(part, dict):
        parts += [part] if isinstance(part, str) and part else []
        return
    part = as_dict(part.get("message_content")) or part  # as OpenInference numbers them
    kind = _kind(part)
    inner = as_dict(part.get("function_response")) or as_dict(part.get("functionResponse"))
    wanted = as_dict(part.get("function_call")) or as_dict(part.get("functionCall"))
    if inner or _is_result(part):
        answer = inner or part
        keys = ("response", "output", "result", "content")
        content = next((answer[k] for k in keys if answer.get(k) is not None), "")
        ids = (answer.get(k) for k in ("toolCallId", "tool_use_id", "call_id", "id"))
        name = answer.get("name", answer.get("toolName"))
        result = {"role": "tool", "tool_call_id": next((i for i in ids if i), None), "name": name}
        results.append({**result, "content": _text(as_dict(content).get("value", content))})
    elif wanted or kind in ("tool_call", "tool_use", "function_call") or "toolCallId" in part:
        calls.append(_call(wanted or part))
    elif kind in ("reasoning", "thinking") or kind.endswith("ReasoningContent"):
        part = as_dict(part.get("content")) or part
        words = next((w for k in ("content", "thinking", "text", "reasoning") if (w := as_text(part.get(k)))), None)
        summary = "\n".join(as_text(as_dict(s).get("text")) or "" for s in as_list(part.get("summary")))
        parts.append({"type": "thinking", "thinking": words or summary})
    elif isinstance(part.get("text"), str):
        parts += [{"type": "text", "text": part["text"]}] if part["text"] else []
    elif kind == "text":
        parts.append({"type": "text", "text": as_text(part.get("content")) or ""})
    elif kind == "message":
        for item in as_list(part.get("content")):
            _part(item, parts, calls, results)
    else:
        parts.append(_media(part))


def _media(part: dict[str, Any]) -> dict[str, Any]:
    """A part that is not words: an image by its address, anything else as it is."""
    mime = next((m for k in ("mime_type", "mimeType", "mediaType") if (m := as_text(part.get(k)))), "")
    if part.get("modality") == "image" or mime.startswith("image/"):
        data = next((d for k in ("content", "data", "uri", "image") if (d := as_text(part.get(k)))), "")
        return {"type": "image_url", "image_url": data if ":" in data[:12] else f"data:{mime};base64,{data}"}
    return part


def _call(raw: Any) -> dict[str, Any]:
    """A call in one form, its arguments as an object wherever they are one."""
    given = as_dict(as_dict(raw).get("tool_call")) or as_dict(raw)
    function = as_dict(given.get("function")) or given
    keys = ("arguments", "args", "input", "parameters")
    arguments: Any = next((function[k] for k in keys if function.get(k) is not None), {})
    call_id = given.get("call_id") or given.get("toolCallId") or given.get("id")
    return {
        "id": call_id,
        "name": function.get("name", function.get("toolName")),
        "arguments": opened(arguments),
    }


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "" if content is None else json_text(content)


def numbered(asked: list[dict[str, Any]], answered: list[dict[str, Any]]) -> tuple[list[Block], list[Block]]:
    """Blocks of a prompt and its answer, with the number of their message.

    Some tools record no ids, or none with results: such a result answers the oldest open call of its
    name, or else the oldest open call.
    """
    blocks: list[Block] = []
    border = 0
    waiting: deque[tuple[str, str | None]] = deque()
    made = 0
    for number, message in enumerate([*asked, *answered]):
        if number == len(asked):
            border = len(blocks)
        for b in chat_blocks(message):
            call_id = b.call_id
            if b.kind == "call":
                if call_id is None:
                    made += 1
                    call_id = f"{b.tool}#{made}"
                waiting.append((call_id, b.tool))
            elif b.kind == "result":
                if call_id is None:
                    open_calls = [w for w in waiting if w[1] == b.tool] or list(waiting)
                    call_id = open_calls[0][0] if open_calls else None
                same = next((w for w in waiting if w[0] == call_id), None)
                if same:
                    waiting.remove(same)
            blocks.append(Block(b.kind, b.role, b.text, 0, number, b.tool, b.args, call_id))
    border = border if answered else len(blocks)
    return blocks[:border], blocks[border:]
