"""Items of OpenAI's Responses API as blocks; Codex writes the same items into its rollouts."""

from __future__ import annotations

from typing import Any

from labkit.record.formats.claude_code_content import image_text
from labkit.record.formats.common import as_dict, as_list, as_text, json_text, short_args
from labkit.record.formats.jsonl import parse
from labkit.record.formats.quick import quick_block
from labkit.record.trace import Block, Role

__all__ = ["ANSWERS", "ITEM_TYPES", "data_url_image", "item_blocks", "opaque"]

_CALLS = {
    "apply_patch_call",
    "computer_call",
    "custom_tool_call",
    "function_call",
    "local_shell_call",
    "shell_call",
    "tool_search_call",
}
# Tools that run at the provider: one item, and what they brought back is not in the record.
_SERVER = {"code_interpreter_call", "file_search_call", "image_generation_call", "web_search_call"}

ANSWERS = {f"{call}_output" for call in _CALLS} | {"tool_search_output"}
"""Item types that answer a call."""

ITEM_TYPES = _CALLS | _SERVER | ANSWERS | {"agent_message", "compaction", "compaction_summary", "message", "reasoning"}
"""Item types that reach the model and that :func:`item_blocks` knows."""

_PARTS = ("input_text", "input_image", "output_text")
_ROLES: dict[str, Role] = {"assistant": "assistant", "developer": "system", "system": "system"}


def item_blocks(item: dict[str, Any]) -> list[Block]:
    """Blocks of one item, in order; an item of an unknown type gives none.

    A call has the role ``assistant``, a result the role ``tool``, a developer's message ``system``.
    A server tool's item is a text of the assistant: its result is not in the record, so it is no
    pair of call and result.

    Examples
    --------
    >>> call = {"type": "function_call", "name": "exec", "arguments": '{"cmd":"ls"}', "call_id": "c1"}
    >>> block, = item_blocks(call)
    >>> block.text, block.args, block.call_id
    ('exec {"cmd":"ls"}', 'cmd=ls', 'c1')
    """
    kind = as_text(item.get("type")) or ""
    if kind == "message":
        role = _ROLES.get(as_text(item.get("role")) or "", "user")
        return _parts(item.get("content"), role)
    if kind == "agent_message":
        return _parts(item.get("content"), "user")
    if kind == "reasoning":
        pieces = [*as_list(item.get("summary")), *as_list(item.get("content"))]
        return [quick_block("thinking", "assistant", "\n".join(as_text(as_dict(p).get("text")) or "" for p in pieces))]
    if kind in _CALLS:
        return [_call(kind, item)]
    if kind in ANSWERS:
        return _answer(item)
    if kind in _SERVER:
        return _server(kind, item)
    if kind in ("compaction", "compaction_summary"):
        return [quick_block("summary", "user", as_text(item.get("summary")) or "")]
    return []


def opaque(item: dict[str, Any]) -> bool:
    """Whether a part of the item is encrypted, so that its size is not known."""
    if as_text(item.get("encrypted_content")):
        return True
    content = item.get("content")
    if not isinstance(content, list):
        return False
    return any(
        isinstance(p, dict) and "encrypted_content" in p and bool(as_text(p["encrypted_content"])) for p in content
    )


def data_url_image(url: Any) -> str:
    """What stands for an image given by URL: its type and, where the URL holds it, its size.

    Examples
    --------
    >>> data_url_image("https://example.com/a.png"), data_url_image("data:image/gif;base64,R0lGODlhAgADAAAA")
    ('[image]', '[image/gif 2x3]')
    """
    head, comma, data = (as_text(url) or "").partition(";base64,")
    if not comma or not head.startswith("data:"):
        return "[image]"
    return image_text({"source": {"media_type": head.removeprefix("data:") or "image", "data": data}})


def _parts(content: Any, role: Role) -> list[Block]:
    if isinstance(content, str):
        return [quick_block("text", role, content)] if content else []
    blocks = []
    for part in map(as_dict, as_list(content)):
        kind = as_text(part.get("type"))
        if kind == "input_image":
            blocks.append(quick_block("image", role, data_url_image(part.get("image_url"))))
        elif kind == "refusal":
            blocks.append(quick_block("text", role, as_text(part.get("refusal")) or ""))
        elif kind != "encrypted_content" and part:
            # A file or a sound has no text; what is known of it is kept.
            blocks.append(
                quick_block("text", role, as_text(part.get("text")) or ("" if "text" in part else json_text(part)))
            )
    return blocks


def _call(kind: str, item: dict[str, Any]) -> Block:
    given = next((item[k] for k in ("arguments", "input", "action", "operation") if item.get(k) is not None), "")
    name = as_text(item.get("name")) or kind.removesuffix("_call")
    text = given if isinstance(given, str) else json_text(given)
    call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
    return quick_block("call", "assistant", f"{name} {text}", name, short_args(_parsed(given)), call_id)


def _parsed(given: Any) -> Any:
    """Arguments are a JSON string, a patch's input is a text."""
    if isinstance(given, str) and given.lstrip()[:1] == "{":
        try:
            return parse(given.encode())
        except (ValueError, RecursionError):  # a lone surrogate cannot be encoded either
            pass
    return given


def _answer(item: dict[str, Any]) -> list[Block]:
    call_id = as_text(item.get("call_id"))
    output = next((item[k] for k in ("output", "tools") if item.get(k) is not None), "")
    if isinstance(output, dict):
        # Older rollouts wrap the text as {"content": ..., "success": ...}.
        output = output["content"] if isinstance(output.get("content"), (str, list)) else [output]
    if isinstance(output, str):
        return [quick_block("result", "tool", output, call_id=call_id)]
    if not any(
        as_text(as_dict(p).get("type")) in ("input_text", "input_image", "output_text") for p in as_list(output)
    ):
        return [quick_block("result", "tool", json_text(output), call_id=call_id)]
    parts = _parts(output, "tool")
    text = "\n".join(b.text for b in parts if b.kind == "text")
    images = [quick_block("image", "tool", b.text, call_id=call_id) for b in parts if b.kind == "image"]
    return [quick_block("result", "tool", text, call_id=call_id), *images]


def _server(kind: str, item: dict[str, Any]) -> list[Block]:
    blocks = [quick_block("text", "assistant", f"{kind.removesuffix('_call')} {json_text(_asked(item))}")]
    picture = as_text(item.get("result"))
    if kind == "image_generation_call" and picture:
        blocks.append(
            quick_block("image", "assistant", image_text({"source": {"media_type": "image", "data": picture}}))
        )
    return blocks


def _asked(item: dict[str, Any]) -> Any:
    """What a server tool was asked for."""
    keys = ("action", "queries", "revised_prompt", "code")
    return next((item[k] for k in keys if item.get(k) is not None), {})
