"""What one line of a Claude Code session holds: content blocks, usage, time.

Every function here takes whatever JSON offers and gives a value or ``None``: session files are
written by many versions and repaired by many tools, and a strange field must not cost a session.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from labkit.record.formats.common import as_dict, as_list, as_text, json_text, short_args, tokens
from labkit.record.trace import Block, Role, Usage

__all__ = ["attachment_text", "content_blocks", "input_side", "no_count", "usage_of"]

# Attachments that are sent to the model; hook outcomes, permissions and budgets are not.
_SENT = {
    "compact_file_reference",
    "edited_text_file",
    "file",
    "hook_additional_context",
    "hook_blocking_error",
    "invoked_skills",
    "mcp_instructions_delta",
    "nested_memory",
    "queued_command",
    "skill_listing",
    "total_tokens_reminder",
}

_COUNTS = {
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "ephemeral_5m_input_tokens",
    "ephemeral_1h_input_tokens",
    "output_tokens",
}


def usage_of(message: dict[str, Any]) -> Usage | None:
    """Usage of one line, ``None`` where there is none or where all of it is 0 (a fixture, a stopped stream).

    Cache writes are split by lifetime; what the split does not explain counts as 5 minutes.

    Examples
    --------
    >>> usage_of({"usage": {"input_tokens": 4, "cache_creation_input_tokens": 9, "cache_creation":
    ...     {"ephemeral_1h_input_tokens": 7}}})
    Usage(uncached=4, cache_read=0, cache_write_5m=2, cache_write_1h=7, output=0, input_quality='exact', \
output_quality='exact')
    """
    raw = as_dict(message.get("usage"))
    split = as_dict(raw.get("cache_creation"))
    hour = tokens(split.get("ephemeral_1h_input_tokens"))
    minutes = tokens(split.get("ephemeral_5m_input_tokens"))
    written = tokens(raw.get("cache_creation_input_tokens")) or hour + minutes
    hour = min(hour, written)
    usage = Usage(
        uncached=tokens(raw.get("input_tokens")),
        cache_read=tokens(raw.get("cache_read_input_tokens")),
        cache_write_5m=written - hour,
        cache_write_1h=hour,
        output=tokens(raw.get("output_tokens")),
    )
    return usage if usage.total_input + usage.output else None


def no_count(message: dict[str, Any]) -> str | None:
    """What a line records as a number of tokens and cannot be one; ``usage_of`` takes it for 0.

    Examples
    --------
    >>> no_count({"usage": {"input_tokens": 4, "output_tokens": "12", "cache_read_input_tokens": None}})
    "output_tokens '12'"
    """
    usage = as_dict(message.get("usage"))
    for given in (usage, as_dict(usage.get("cache_creation"))):
        for name, value in given.items():
            if (type(value) is int and 0 <= value < 10**9) or value is None or name not in _COUNTS:  # nearly always
                continue
            if isinstance(value, bool) or tokens(value) != value:
                return f"{name} {value!r:.40}"
    return None


def input_side(usage: Usage | None) -> tuple[int, int, int] | None:
    """What all lines of one response share: its input counts; ``None`` where none is recorded."""
    if usage is None or not usage.total_input:
        return None
    return usage.uncached, usage.cache_read, usage.cache_write_5m + usage.cache_write_1h


def content_blocks(content: Any, role: Role) -> list[Block]:
    """Blocks of a message's content, in order; what is not known is kept as its JSON.

    A result with images gives a result block and image blocks after it.
    """
    if isinstance(content, str):
        return [Block("text", role, content)] if content else []
    blocks: list[Block] = []
    for part in as_list(content):
        blocks += _part_blocks(part, role)
    return blocks


def _part_blocks(part: Any, role: Role) -> list[Block]:
    if isinstance(part, str):
        return [Block("text", role, part)]
    if not isinstance(part, dict):
        return []
    kind = part.get("type")
    if kind == "text":
        return [Block("text", role, as_text(part.get("text")) or "")]
    if kind == "thinking":
        return [Block("thinking", "assistant", as_text(part.get("thinking")) or "")]
    if kind == "redacted_thinking":
        return [Block("thinking", "assistant", "")]
    if kind in ("tool_use", "server_tool_use"):
        tool = as_text(part.get("name")) or "unknown"
        args = part.get("input")
        text = f"{tool} {json_text(args)}"
        return [Block("call", "assistant", text, tool=tool, args=short_args(args), call_id=as_text(part.get("id")))]
    if kind == "tool_result" or (isinstance(kind, str) and kind.endswith("_tool_result")):
        return _result_blocks(part)
    if kind == "image":
        return [Block("image", role, image_text(part))]
    if kind == "document":
        source = as_dict(part.get("source"))
        words = as_text(source.get("data")) if source.get("type") == "text" else None
        return [Block("text", role, words or "[document]")]
    return [Block("text", role, json_text(part))]


def _result_blocks(part: dict[str, Any]) -> list[Block]:
    call_id = as_text(part.get("tool_use_id"))
    inner = part.get("content")
    pieces = [inner] if isinstance(inner, str) else []
    images = []
    for item in inner if isinstance(inner, list) else [inner] if isinstance(inner, dict) else []:
        if isinstance(item, dict) and item.get("type") == "image":
            images.append(Block("image", "tool", image_text(item), call_id=call_id))
        elif isinstance(item, dict) and item.get("type") == "text":
            pieces.append(as_text(item.get("text")) or "")
        else:
            pieces.append(item if isinstance(item, str) else json_text(item))
    return [Block("result", "tool", "\n".join(pieces), call_id=call_id), *images]


def attachment_text(line: dict[str, Any]) -> str | None:
    """Text of an attachment that reaches the model, or ``None``.

    The harness wraps it in a reminder that is not recorded, so this is a lower bound.
    """
    attachment = as_dict(line.get("attachment"))
    if as_text(attachment.get("type")) not in _SENT:
        return None
    for key in ("content", "snippet", "prompt", "text", "blockingError", "skills", "addedBlocks"):
        value = attachment.get(key)
        while isinstance(value, dict):
            value = value.get("content", value.get("file", value.get("blockingError")))
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value:
            return "\n".join(b.text for b in content_blocks(value, "user"))
    return None


def image_text(part: dict[str, Any]) -> str:
    """What stands for an image: its type and, where its header can be read, its size in pixels."""
    source = as_dict(part.get("source"))
    media = as_text(source.get("media_type")) or "image"
    data = as_text(source.get("data")) or ""
    size = _pixels(data)
    return f"[{media[:40]} {size[0]}x{size[1]}]" if size else f"[{media[:40]}]"


def _pixels(data: str) -> tuple[int, int] | None:
    """Width and height from the header of a PNG, GIF or JPEG in base64."""
    try:
        head = base64.b64decode(data[: 4 * 16_384].encode("ascii", "ignore"), validate=False)
    except (binascii.Error, ValueError):
        return None
    if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) >= 24:
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if head[:4] == b"GIF8" and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    if head[:2] == b"\xff\xd8":
        at = 2
        while at + 9 <= len(head) and head[at] == 0xFF:
            if 0xC0 <= head[at + 1] <= 0xCF and head[at + 1] not in (0xC4, 0xC8, 0xCC):
                return int.from_bytes(head[at + 7 : at + 9], "big"), int.from_bytes(head[at + 5 : at + 7], "big")
            at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None
