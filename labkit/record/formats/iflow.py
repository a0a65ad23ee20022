"""iFlow CLI sessions: lines like Claude Code's, but a response is written as overlapping pieces.

Learned from a recorded file of version 1.0.0. Each piece has an id of its own and repeats the call
that ended the piece before it; pieces of one response stand one after the other under one parent.
The recorded usage is zero throughout, which means that none was recorded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.claude_code_content import content_blocks, usage_of
from labkit.record.formats.common import as_dict, as_list, as_text, json_text, timestamp
from labkit.record.formats.jsonl import first_objects, read_lines
from labkit.record.trace import Block, Trace, Usage

NAME = "iFlow CLI"


def matches(path: Path) -> bool:
    """Whether a response has an id as this program makes them."""
    return any(_is_ours(line) for line in first_objects(path, 20))


def _is_ours(line: dict[str, Any]) -> bool:
    name = as_text(as_dict(line.get("message")).get("id")) or ""
    return line.get("type") == "assistant" and "parentUuid" in line and re.match(r"response-\d{10,}", name) is not None


def read(path: Path) -> Trace:
    """Read a session.

    Parameters
    ----------
    path : Path
        A ``session-*.jsonl``.

    Returns
    -------
    Trace
        With each call once.
    """
    lines, warnings = read_lines(path)
    run = TraceBuilder()
    run.warnings += warnings
    parent: tuple[str | None] | None = None  # what the response in hand answers
    made: set[tuple[str, str]] = set()  # calls of the session, by id and text
    clock: float | None = None
    copies = 0
    for _, line in lines:
        kind = as_text(line.get("type"))
        message = as_dict(line.get("message"))
        if kind == "assistant":
            blocks = []
            for block in content_blocks(message.get("content"), "assistant"):
                mark = (block.call_id or "", block.text)
                if block.kind == "call" and mark in made:
                    copies += 1
                    continue
                if block.kind == "call":
                    made.add(mark)
                blocks.append(block)
            above = (as_text(line.get("parentUuid")),)
            usage: Usage | None = usage_of(message)
            if above == parent:
                run.go_on(blocks)
                if usage is not None:
                    run.set_usage(len(run.requests), usage)
            else:
                name = as_text(message.get("id"))
                run.respond(blocks, start=clock, model=as_text(message.get("model")), usage=usage, id=name)
            parent = above
        elif kind == "user":
            run.say([_plain(b, part) for b, part in _with_parts(message.get("content"))])
            parent = None
        else:
            run.skipped[str(kind)[:40]] += 1
        time = timestamp(line.get("timestamp"))
        clock = time if time is not None else clock
    if copies:
        run.warnings.append(f"{copies} calls are repeated by the next piece of their response; counted once")
    return run.trace(path.stem, f"{NAME}: {path.name}")


def _with_parts(content: Any) -> list[tuple[Block, Any]]:
    if isinstance(content, str):
        return [(block, None) for block in content_blocks(content, "user")]
    return [(block, part) for part in as_list(content) for block in content_blocks([part], "user")]


def _plain(block: Block, part: Any) -> Block:
    """A result as the model gets it; the line wraps it and adds what the screen showed."""
    if block.kind != "result":
        return block
    inner = as_dict(as_dict(part).get("content"))
    parts = inner.get("responseParts")
    texts = []
    for item in parts if isinstance(parts, list) else [parts]:
        answer = as_dict(as_dict(as_dict(item).get("functionResponse")).get("response"))
        text = answer.get("output", answer.get("error"))
        if text is not None:
            texts.append(text if isinstance(text, str) else json_text(text))
    return Block("result", "tool", "\n".join(texts), call_id=block.call_id) if texts else block
