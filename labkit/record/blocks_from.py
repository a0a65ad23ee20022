"""Blocks of the messages of a provider's interface; :mod:`labkit.record.messages` goes the other way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from labkit.record.formats.claude_code_content import content_blocks
from labkit.record.pairs import answers
from labkit.record.trace import Block, Role

__all__ = ["blocks_from_anthropic", "blocks_from_openai"]


def _named(blocks: list[Block]) -> list[Block]:
    """Give each result the tool and the arguments of its call."""
    for result, call in answers(blocks).items():
        blocks[result] = replace(blocks[result], tool=blocks[call].tool, args=blocks[call].args)
    return blocks


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def blocks_from_anthropic(messages: Iterable[Mapping[str, Any]], *, first: int = 1, whole: bool = True) -> list[Block]:
    """Blocks of messages of the Anthropic Messages API.

    Parameters
    ----------
    messages : iterable of mapping
        ``role`` and ``content``, as sent or, for an answer, as received.
    first : int
        Number of the first message; the others count on.
    whole : bool
        Keep what only the interface needs (signatures, image data), so that :func:`to_anthropic`
        can send it again. A trace needs none of it.

    Returns
    -------
    list of Block
        With ``request`` 0: not yet known. Whether a result was marked as an error is not kept.

    Examples
    --------
    >>> use = {"type": "tool_use", "id": "t1", "name": "grep", "input": {"pattern": "TODO"}}
    >>> (block,) = blocks_from_anthropic([{"role": "assistant", "content": [use]}])
    >>> block.text, block.args, block.call_id
    ('grep {"pattern":"TODO"}', 'pattern=TODO', 't1')
    """
    blocks: list[Block] = []
    for number, message in enumerate(messages, first):
        role: Role = message["role"] if message["role"] in ("system", "user", "assistant") else "user"
        content = message.get("content")
        for part in [content] if isinstance(content, str) else content or []:
            kept = content_blocks([part], role)
            if whole and isinstance(part, Mapping) and len(kept) == 1:
                kept = [_whole(kept[0], part)]
            elif whole and isinstance(part, Mapping) and part.get("type") == "tool_result":
                images = iter(p for p in part["content"] if isinstance(p, Mapping) and p.get("type") == "image")
                kept = [replace(b, args=_json(next(images))) if b.kind == "image" else b for b in kept]
            blocks += [replace(b, message=number) for b in kept]
    return _named(blocks)


def _whole(block: Block, part: Mapping[str, Any]) -> Block:
    if block.kind == "thinking":
        if part.get("type") == "redacted_thinking":
            return replace(block, tool="redacted_thinking", args=part.get("data"))
        return replace(block, args=part.get("signature"))
    if block.kind == "image":
        return replace(block, args=_json({k: v for k, v in part.items() if k != "cache_control"}))
    return block


def blocks_from_openai(messages: Iterable[Mapping[str, Any]], *, first: int = 1) -> list[Block]:
    """Blocks of messages of OpenAI's Chat Completions, or of items of its Responses.

    Parameters
    ----------
    messages : iterable of mapping
        Chat messages (``tool_calls``, role ``tool``), Responses items (``function_call``,
        ``function_call_output``, ``reasoning``), or both.
    first : int
        Number of the first message. Consecutive items of one speaker are one message.

    Examples
    --------
    >>> call = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"pattern":"x"}'}}
    >>> messages = [{"role": "assistant", "content": None, "tool_calls": [call]},
    ...             {"role": "tool", "tool_call_id": "c1", "content": "no match"}]
    >>> [(b.kind, b.tool, b.text) for b in blocks_from_openai(messages)]
    [('call', 'grep', 'grep {"pattern":"x"}'), ('result', 'grep', 'no match')]
    """
    blocks: list[Block] = []
    number, speaker = first - 1, ""
    for message in messages:
        kept = _openai_blocks(message)
        item = "type" in message and message["type"] != "message"
        now = kept[0].role if kept else ""
        if not (item and now == speaker):
            number += 1
        speaker = now if item else ""
        blocks += [replace(b, message=number) for b in kept]
    return _named(blocks)


def _openai_blocks(message: Mapping[str, Any]) -> list[Block]:
    kind = message.get("type")
    if kind in ("function_call", "custom_tool_call"):
        return [
            _openai_call(message.get("name"), message.get("arguments", message.get("input")), message.get("call_id"))
        ]
    if isinstance(kind, str) and kind.endswith("_call_output"):
        return [Block("result", "tool", _openai_text(message.get("output")), call_id=message.get("call_id"))]
    if kind == "reasoning":
        return [Block("thinking", "assistant", _openai_text(message.get("summary")))]
    if kind not in (None, "message"):
        return [Block("text", "assistant", _json(dict(message)))]
    role = {"developer": "system", "function": "tool"}.get(str(message.get("role")), str(message.get("role")))
    content = message.get("content")
    if role == "tool":
        return [Block("result", "tool", _openai_text(content), call_id=message.get("tool_call_id"))]
    speaker: Role = "assistant" if role == "assistant" else "system" if role == "system" else "user"
    blocks = []
    for part in [content] if isinstance(content, str) else content or []:
        if isinstance(part, Mapping) and part.get("type") in ("image_url", "input_image"):
            blocks.append(Block("image", speaker, "[image]", args=_json(dict(part))))
        elif part:
            blocks.append(Block("text", speaker, _openai_text([part])))
    for call in message.get("tool_calls") or []:
        function = call.get("function") or call.get("custom") or {}
        blocks.append(
            _openai_call(function.get("name"), function.get("arguments", function.get("input")), call.get("id"))
        )
    return blocks


def _openai_call(name: Any, arguments: Any, call_id: Any) -> Block:
    tool, text = str(name or "unknown"), arguments if isinstance(arguments, str) else _json(arguments)
    try:
        part = {"type": "tool_use", "name": tool, "input": json.loads(text)}
        short = content_blocks([part], "assistant")[0].args
    except ValueError:
        short = text[:120]
    return Block("call", "assistant", f"{tool} {text}", tool=tool, args=short, call_id=call_id)


def _openai_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Mapping):
            words = part.get("text", part.get("refusal"))
            parts.append(words if isinstance(words, str) else _json(dict(part)))
    return "\n".join(parts)
