"""Contents of the Gemini API as blocks, and its token counts as a Usage; Gemini CLI stores the same parts."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from labkit.record.formats.common import as_dict, as_list, as_text, json_text, short_args, tokens
from labkit.record.formats.responses_items import data_url_image
from labkit.record.trace import Block, Role, Usage

__all__ = ["Ids", "call_block", "parts_blocks", "thought", "usage_of"]


class Ids:
    """Ids for calls and answers that carry none: an answer belongs to the first open call of its name.

    Examples
    --------
    >>> ids = Ids()
    >>> ids.call("ls"), ids.call("ls"), ids.answer("ls"), ids.answer("cat")
    ('ls 1', 'ls 2', 'ls 1', None)
    """

    def __init__(self) -> None:
        self._made = 0
        self._open: defaultdict[str, deque[str]] = defaultdict(deque)

    def call(self, name: str) -> str:
        """Id of a call."""
        self._made += 1
        self._open[name].append(f"{name} {self._made}")
        return f"{name} {self._made}"

    def answer(self, name: str) -> str | None:
        """Id of the call that an answer belongs to, ``None`` where none is open."""
        return self._open[name].popleft() if self._open[name] else None


def thought(part: Any) -> bool:
    """Whether a part is a summary of the model's thinking, which is shown and never sent again."""
    return as_dict(part).get("thought") is True


def call_block(name: Any, args: Any, call_id: str | None) -> Block:
    """A call of a tool.

    Examples
    --------
    >>> call_block("read_file", {"path": "a.md"}, "c1").text
    'read_file {"path":"a.md"}'
    """
    tool = as_text(name) or "unknown"
    return Block("call", "assistant", f"{tool} {json_text(args)}", tool=tool, args=short_args(args), call_id=call_id)


def parts_blocks(parts: Any, role: Role, ids: Ids) -> list[Block]:
    """Blocks of a content's parts, in order; ``parts`` may be a text.

    Neighbouring texts become one block: a stream cuts them anywhere.
    """
    if isinstance(parts, str):
        return [Block("text", role, parts)] if parts else []
    blocks: list[Block] = []
    for part in [parts] if isinstance(parts, dict) else as_list(parts):
        for block in _part_blocks(part, role, ids):
            joins = block.kind == "text" and bool(blocks) and blocks[-1].kind == "text"
            if joins:
                blocks[-1] = Block("text", role, blocks[-1].text + block.text)
            else:
                blocks.append(block)
    return [b for b in blocks if b.text or b.kind != "text"]


def _part_blocks(part: Any, role: Role, ids: Ids) -> list[Block]:
    if isinstance(part, str):
        return [Block("text", role, part)]
    part = as_dict(part)
    if thought(part):
        return [Block("thinking", "assistant", as_text(part.get("text")) or "")]
    if isinstance(part.get("text"), str):
        return [Block("text", role, part["text"])]
    if isinstance(part.get("functionCall"), dict):
        call = part["functionCall"]
        name = as_text(call.get("name")) or "unknown"
        return [call_block(name, call.get("args"), as_text(call.get("id")) or ids.call(name))]
    if isinstance(part.get("functionResponse"), dict):
        return _answer(part["functionResponse"], ids)
    if isinstance(part.get("inlineData"), dict):
        data = part["inlineData"]
        mime = as_text(data.get("mimeType")) or ""
        if not mime.startswith("image/"):
            return [Block("text", role, f"[{mime or 'data'}]")]
        return [Block("image", role, data_url_image(f"data:{mime};base64,{as_text(data.get('data')) or ''}"))]
    rest = {k: v for k, v in part.items() if k != "thoughtSignature"}
    return [Block("text", role, json_text(rest))] if rest else []


def _answer(response: dict[str, Any], ids: Ids) -> list[Block]:
    name = as_text(response.get("name")) or "unknown"
    call_id = as_text(response.get("id")) or ids.answer(name)
    said = response.get("response")
    plain = as_dict(said)
    text = next((plain[k] for k in ("output", "error") if isinstance(plain.get(k), str)), None)
    result = Block("result", "tool", json_text(said) if text is None else text, tool=name, call_id=call_id)
    return [result, *(b for b in parts_blocks(response.get("parts"), "tool", ids) if b.kind == "image")]


def usage_of(raw: Any) -> Usage | None:
    """Usage from ``usageMetadata`` or from the counts of a chat file; all zeros mean that none was recorded.

    Cached tokens are part of the prompt; thinking is billed as output; tokens of results of the
    provider's own tools are billed as prompt.

    Examples
    --------
    >>> usage_of({"promptTokenCount": 900, "cachedContentTokenCount": 700, "candidatesTokenCount": 40,
    ...     "thoughtsTokenCount": 60})
    Usage(uncached=200, cache_read=700, cache_write_5m=0, cache_write_1h=0, output=100, \
input_quality='exact', output_quality='exact')
    """
    raw = as_dict(raw)

    def count(*names: str) -> int:
        return next((tokens(raw[n]) for n in names if n in raw), 0)

    prompt = count("promptTokenCount", "input")
    cached = min(count("cachedContentTokenCount", "cached"), prompt)
    more = count("toolUsePromptTokenCount", "tool")
    output = count("candidatesTokenCount", "output") + count("thoughtsTokenCount", "thoughts")
    usage = Usage(prompt - cached + more, cached, 0, 0, output)
    return usage if usage.total_input + usage.output else None
