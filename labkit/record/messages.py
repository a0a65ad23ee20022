"""Blocks to the messages of a provider's interface, and back.

What comes back is valid for the interface even where the blocks alone would not be: results stand
first in the message after their calls, every call has an answer, no text is empty, ids are unique.
What the text of a block does not say (a thinking block's signature, the data of an image) travels
in its ``args``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.record.blocks_from import blocks_from_anthropic, blocks_from_openai
from labkit.record.pairs import answers
from labkit.record.trace import Block

__all__ = ["answers", "blocks_from_anthropic", "blocks_from_openai", "to_anthropic", "to_openai"]

Message = dict[str, Any]

UNANSWERED = "[no result was recorded]"
OPENING = "[the conversation goes on from here]"
_BAD_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass
class _Group:
    """One message to be, and for an assistant's the results that answer it."""

    speaker: str
    blocks: list[tuple[int, Block]] = field(default_factory=list)  # with their positions
    results: dict[int, tuple[Block, list[Block]]] = field(default_factory=dict)  # by call, with images


def _groups(blocks: Sequence[Block]) -> list[_Group]:
    pairs = answers(blocks)
    at: dict[int, _Group] = {}
    groups: list[_Group] = []
    images: list[Block] | None = None  # of the result just seen
    for i, block in enumerate(blocks):
        if i in pairs:
            images = []
            at[pairs[i]].results[pairs[i]] = (block, images)
            continue
        if block.kind == "image" and block.role == "tool" and images is not None:
            images.append(block)
            continue
        images = None
        speaker = "assistant" if block.role == "assistant" else "user"
        if not groups or groups[-1].speaker != speaker or (speaker == "assistant" and groups[-1].results):
            groups.append(_Group(speaker))
        groups[-1].blocks.append((i, block))
        if block.kind == "call":
            at[i] = groups[-1]
    return groups


class _Ids:
    """Ids the interface accepts, unique over the conversation, the same for a call and its result."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._last = 0

    def of(self, call: Block) -> str:
        wanted = _BAD_IN_ID.sub("_", call.call_id or "") or self._next("call")
        while wanted in self._used:
            wanted = self._next(_BAD_IN_ID.sub("_", call.call_id or "") or "call")
        self._used.add(wanted)
        return wanted

    def _next(self, stem: str) -> str:
        self._last += 1
        return f"{stem}-{self._last}"


def _input(call: Block) -> dict[str, Any]:
    """Arguments of a call as an object: from its text where that holds them, else the short form."""
    try:
        value = json.loads(call.text.removeprefix(f"{call.tool} "))
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"args": call.args or ""}


def _tool(call: Block) -> str:
    return call.tool or "unknown"


def _said_with(call: Block) -> str:
    """In a scripted run a call's text is what the agent said with it; in a recorded one, the call itself."""
    return "" if call.tool is not None and call.text.startswith(f"{call.tool} {{") else call.text


def _orphan(result: Block) -> str:
    return f"[result of {result.tool}({result.args or ''})]\n{result.text}"


def to_anthropic(blocks: Sequence[Block]) -> list[Message]:
    """Messages for the Anthropic Messages API: what a live agent sends of ``ContextManager.prepare()``.

    Parameters
    ----------
    blocks : sequence of Block

    Returns
    -------
    list of dict
        Valid for the API: it begins with the user, each call is answered in the next message and there
        first. A call without a result gets one that says so. Thinking without a signature is left
        out: the API takes back only what it signed.

    Examples
    --------
    >>> blocks = [Block("text", "user", "Go."), Block("call", "assistant", 'ls {}', tool="ls", call_id="t1"),
    ...           Block("result", "tool", "a.py", tool="ls", call_id="t1")]
    >>> [(m["role"], m["content"][0]["type"]) for m in to_anthropic(blocks)]
    [('user', 'text'), ('assistant', 'tool_use'), ('user', 'tool_result')]
    """
    ids = _Ids()
    messages: list[Message] = []

    def add(role: str, content: list[dict[str, Any]]) -> None:
        if not content:
            return
        if not messages and role == "assistant":
            messages.append({"role": "user", "content": [_text(OPENING)]})
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        else:
            messages.append({"role": role, "content": content})

    for group in _groups(blocks):
        names = {i: ids.of(block) for i, block in group.blocks if block.kind == "call"}
        content: list[dict[str, Any]] = []
        for i, block in group.blocks:
            if block.kind == "call":
                if _said_with(block).strip():
                    content.append(_text(_said_with(block)))
                content.append({"type": "tool_use", "id": names[i], "name": _tool(block), "input": _input(block)})
            elif block.kind == "thinking":
                content += _thinking(block)
            elif block.kind == "image" and _image(block, "image"):
                content.append(_image(block, "image"))
            elif block.text.strip():
                content.append(_text(_orphan(block) if block.kind == "result" else block.text))
        add(group.speaker, content)
        add("user", [_result(names[i], *found) for i, found in group.results.items()])
        add("user", [_unanswered(name) for i, name in names.items() if i not in group.results])
    return messages


def _result(name: str, result: Block, images: Sequence[Block]) -> dict[str, Any]:
    content: Any = result.text
    data = [part for part in (_image(image, "image") for image in images) if part]
    if data:
        content = [*([_text(result.text)] if result.text.strip() else []), *data]
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def _unanswered(name: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": UNANSWERED, "is_error": True}


def _image(block: Block, *kinds: str) -> dict[str, Any]:
    """The part an image was read from, if it is one that this interface takes."""
    try:
        part = json.loads(block.args or "")
    except ValueError:
        return {}
    return part if isinstance(part, dict) and part.get("type") in kinds else {}


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _thinking(block: Block) -> list[dict[str, Any]]:
    if not block.args:
        return []
    if block.tool == "redacted_thinking":
        return [{"type": "redacted_thinking", "data": block.args}]
    return [{"type": "thinking", "thinking": block.text, "signature": block.args}]


def to_openai(blocks: Sequence[Block]) -> list[Message]:
    """Messages for OpenAI's Chat Completions; results follow their calls at once, thinking is left out.

    Examples
    --------
    >>> blocks = [Block("text", "user", "Go."), Block("call", "assistant", 'ls {}', tool="ls", call_id="c1"),
    ...           Block("result", "tool", "a.py", tool="ls", call_id="c1")]
    >>> [m["role"] for m in to_openai(blocks)]
    ['user', 'assistant', 'tool']
    """
    ids = _Ids()
    messages: list[Message] = []
    for group in _groups(blocks):
        if group.speaker == "user":
            messages += [_openai_user(b) for _, b in group.blocks if b.text.strip()]
            continue
        names = {i: ids.of(block) for i, block in group.blocks if block.kind == "call"}
        spoken = [_said_with(b) if b.kind == "call" else b.text for _, b in group.blocks if b.kind != "thinking"]
        words = "\n".join(text for text in spoken if text.strip())
        message: Message = {"role": "assistant", "content": words or None}
        if names:
            message["tool_calls"] = [_openai_call(names[i], block) for i, block in group.blocks if i in names]
        if words or names:
            messages.append(message)
        messages += [_openai_result(names[i], result.text) for i, (result, _images) in group.results.items()]
        messages += [_openai_result(name, UNANSWERED) for i, name in names.items() if i not in group.results]
    return messages


def _openai_call(name: str, call: Block) -> dict[str, Any]:
    arguments = json.dumps(_input(call), ensure_ascii=False, separators=(",", ":"))
    return {"id": name, "type": "function", "function": {"name": _tool(call), "arguments": arguments}}


def _openai_user(block: Block) -> Message:
    role = "system" if block.role == "system" else "user"
    if block.kind == "image" and (part := _image(block, "image_url")):
        return {"role": role, "content": [part]}
    return {"role": role, "content": _orphan(block) if block.kind == "result" else block.text}


def _openai_result(name: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": name, "content": text}
