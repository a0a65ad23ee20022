"""Messages in the shape of OpenAI's chat API, which many harnesses use for their logs."""

from __future__ import annotations

import json
import re
from typing import Any

from labkit.record.formats.claude_code_content import image_text
from labkit.record.formats.common import as_dict, as_list, as_text, json_text, short_args, tokens
from labkit.record.trace import Block, Role, Usage

__all__ = ["call_block", "chat_blocks", "chat_text", "chat_usage", "text_result"]

_ROLES: dict[str, Role] = {"assistant": "assistant", "tool": "tool", "function": "tool", "system": "system"}


def chat_blocks(message: dict[str, Any]) -> list[Block]:
    """Blocks of one message; cache marks and what only the log knows are left out.

    Examples
    --------
    >>> [b.text for b in chat_blocks({"role": "assistant", "content": "Look.", "tool_calls": [
    ...     {"id": "c1", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}]})]
    ['Look.', 'bash {"command":"ls"}']
    >>> chat_blocks({"role": "tool", "tool_call_id": "c1", "content": "a.txt"})[0].call_id
    'c1'
    """
    role = _ROLES.get(as_text(message.get("role")) or "", "user")
    if role == "tool":
        return _results(message)
    blocks = _thinking(message) if role == "assistant" else []
    blocks += _content(message.get("content"), role)
    if role == "assistant":
        for call in as_list(message.get("tool_calls")):
            function = as_dict(as_dict(call).get("function")) or as_dict(call)
            blocks.append(call_block(function.get("name"), function.get("arguments"), as_dict(call).get("id")))
        old = as_dict(message.get("function_call"))
        if old:
            blocks.append(call_block(old.get("name"), old.get("arguments"), None))
    return blocks


def call_block(name: Any, arguments: Any, call_id: Any) -> Block:
    """A call; arguments may be an object or its JSON as a string."""
    tool = as_text(name) or "unknown"
    raw = arguments if isinstance(arguments, str) else json_text(arguments)
    parsed = arguments
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments)
        except (ValueError, RecursionError):
            parsed = None
    short = short_args(parsed) if isinstance(parsed, dict) else raw[:120].replace("\n", " ")
    return Block("call", "assistant", f"{tool} {raw}", tool=tool, args=short, call_id=as_text(call_id))


def chat_text(content: Any) -> str:
    """The text of a message's content; what is not text is left out."""
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else as_dict(part).get("text") for part in as_list(content))
    return "\n".join(part for part in parts if isinstance(part, str))


def text_result(message: dict[str, Any], call_id: str) -> list[Block]:
    """A user's message that brings the output of a command which was written as text."""
    blocks = _content(message.get("content"), "user")
    text = "".join(block.text for block in blocks if block.kind == "text")
    return [Block("result", "tool", text, call_id=call_id), *(b for b in blocks if b.kind == "image")]


def _content(content: Any, role: Role) -> list[Block]:
    if isinstance(content, str):
        return [Block("text", role, content)] if content else []
    blocks = []
    for part in as_list(content):
        if isinstance(part, str):
            blocks.append(Block("text", role, part))
        elif isinstance(part, dict):
            blocks.append(_part(part, role))
    return blocks


def _part(part: dict[str, Any], role: Role) -> Block:
    kind = as_text(part.get("type"))
    for key in ("text", "refusal"):
        if isinstance(part.get(key), str):
            return Block("text", role, part[key])
    if kind == "thinking":
        return Block("thinking", role, as_text(part.get("thinking")) or "")
    if kind in ("image_url", "input_image", "image"):
        return Block("image", role, _image(part))
    return Block("text", role, json_text({key: value for key, value in part.items() if key != "cache_control"}))


def _image(part: dict[str, Any]) -> str:
    given = part.get("image_url", part)
    url = given if isinstance(given, str) else as_text(as_dict(given).get("url")) or ""
    data = re.match(r"data:([\w.+/-]{1,40});base64,", url)
    if data is None:
        return image_text(part)
    return image_text({"source": {"media_type": data[1], "data": url[data.end() :]}})


def _thinking(message: dict[str, Any]) -> list[Block]:
    thoughts = [as_text(as_dict(part).get("thinking")) for part in as_list(message.get("thinking_blocks"))]
    texts = thoughts if any(thoughts) else [as_text(message.get("reasoning_content"))]
    return [Block("thinking", "assistant", text) for text in texts if text]


def _results(message: dict[str, Any]) -> list[Block]:
    ids = [as_text(i) for i in as_list(message.get("tool_call_ids"))] or [as_text(message.get("tool_call_id"))]
    content = message.get("content")
    tool = as_text(message.get("name"))
    images = [
        Block("image", "tool", block.text, call_id=ids[0])
        for block in _content(content, "tool")
        if block.kind == "image"
    ]
    first = Block("result", "tool", chat_text(content), tool=tool, call_id=ids[0])
    # One text that answers several calls is counted once.
    others = [Block("result", "tool", "", tool=tool, call_id=call_id) for call_id in ids[1:]]
    return [first, *images, *others]


def chat_usage(raw: Any) -> Usage | None:
    """Usage of one response, ``None`` where nothing is recorded or all of it is 0.

    In this shape the prompt's tokens include what was read from a cache (OpenAI, DeepSeek) and what
    was written to one (litellm over Anthropic). Where they cannot, because the parts exceed the
    whole, the prompt is taken for the uncached part alone.

    Examples
    --------
    >>> usage = chat_usage({"prompt_tokens": 22973, "completion_tokens": 546, "cache_read_input_tokens": 21874,
    ...     "cache_creation_input_tokens": 1095, "prompt_tokens_details": {"cached_tokens": 21874}})
    >>> usage.uncached, usage.cache_read, usage.cache_write_5m, usage.output
    (4, 21874, 1095, 546)
    >>> chat_usage({"prompt_tokens": 1835, "prompt_cache_hit_tokens": 320, "completion_tokens": 97}).uncached
    1515
    """
    given = as_dict(raw)
    if not given:
        return None
    details = as_dict(given.get("prompt_tokens_details")) or as_dict(given.get("input_tokens_details"))
    prompt = _first(given, "prompt_tokens", "input_tokens")
    read = _first(details, "cached_tokens") or _first(
        given, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cache_read_tokens", "cached_tokens"
    )
    written = _first(given, "cache_creation_input_tokens", "cache_write_tokens") or _first(
        details, "cache_write_tokens", "cache_creation_tokens"
    )
    split = as_dict(details.get("cache_creation_token_details"))
    hour = min(_first(split, "ephemeral_1h_input_tokens"), written)
    inclusive = prompt >= read + written
    usage = Usage(
        uncached=prompt - read - written if inclusive else prompt,
        cache_read=read,
        cache_write_5m=written - hour,
        cache_write_1h=hour,
        output=_first(given, "completion_tokens", "output_tokens"),
    )
    return usage if usage.total_input + usage.output else None


def _first(given: dict[str, Any], *keys: str) -> int:
    return next((n for n in (tokens(given.get(key)) for key in keys) if n), 0)
