"""Chat files of Gemini CLI: one JSON object, or since version 0.40 lines with patches."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from labkit.record.formats.common import as_dict, as_list, as_text
from labkit.record.formats.gemini_chat import Chat
from labkit.record.formats.jsonl import first_objects, read_lines
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Trace, TraceKind

NAME = "Gemini CLI"

_TYPES = {"error", "gemini", "info", "model", "user", "warning"}


def matches(path: Path) -> bool:
    """Whether the file is a chat: a header with the project's hash, or an object that holds messages."""
    head = next(first_objects(path, lines=1), None)
    document = whole_json(path) if head is None else head
    return isinstance(document, dict) and _is_chat(document)


def _is_chat(document: dict[str, Any]) -> bool:
    if as_text(document.get("sessionId")) is None or "type" in document:
        return False
    messages = document.get("messages")
    listed = isinstance(messages, list) and all(as_text(as_dict(m).get("type")) in _TYPES for m in messages[:5])
    return listed or (messages is None and "projectHash" in document)


def read(path: Path) -> Trace:
    """Read a chat, and those of its agents in the folder named after the session.

    Parameters
    ----------
    path : Path
        A chat file of either shape.

    Returns
    -------
    Trace
        Thoughts are not among the blocks: the CLI shows them and does not send them again. What a
        patch replaced, or a rewind took back, is an edit.
    """
    document = whole_json(path)
    if isinstance(document, dict) and isinstance(document.get("messages"), list):
        records: list[dict[str, Any]] = [document]
        warnings: list[str] = []
    else:
        lines, warnings = read_lines(path)
        records = [line for _, line in lines]
    chat = Chat(_final(records))
    for record in records:
        chat.add(record)
    children = []
    # The id becomes a folder's name, so it must not be a way to another place.
    if chat.session and chat.kind != "subagent" and re.fullmatch(r"[\w-]{1,200}", chat.session):
        folder = path.parent / chat.session
        children = [read(p) for p in sorted(folder.glob("*.jsonl")) if p != path and _is_agent(p)]
    kind: TraceKind = "subagent" if chat.kind == "subagent" else "session"
    return chat.trace(path.stem, f"{NAME}: {path.name}", kind, children, warnings)


def _is_agent(path: Path) -> bool:
    head = next(first_objects(path, lines=1), {})
    return head.get("kind") == "subagent" and _is_chat(head)


def _final(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Each message as it was last written: it is written again whenever a call or a count comes in."""
    final = {}
    for record in records:
        for message in [record, *map(as_dict, as_list(record.get("messages")))]:
            key = as_text(message.get("id"))
            if key is not None:
                final[key] = message
    return final
