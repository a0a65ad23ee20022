"""Lines of made-up Claude Code sessions, for tests."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

_ids = count(1)


def stamp(second: float) -> str:
    """An ISO time, ``second`` after 2026-01-01 10:00 UTC."""
    minutes, rest = divmod(second, 60)
    return f"2026-01-01T{10 + int(minutes) // 60:02}:{int(minutes) % 60:02}:{rest:06.3f}Z"


def line(kind: str, at: float = 0, **fields: Any) -> dict[str, Any]:
    """Any line."""
    return {
        "type": kind,
        "uuid": f"u{next(_ids)}",
        "parentUuid": None,
        "sessionId": "s1",
        "isSidechain": False,
        "timestamp": stamp(at),
        **fields,
    }


def user(text: str, at: float = 0, **fields: Any) -> dict[str, Any]:
    """A prompt."""
    return line("user", at, message={"role": "user", "content": text}, **fields)


def result(call: str, content: Any, at: float = 0, **fields: Any) -> dict[str, Any]:
    """The result of a call."""
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    return line("user", at, message={"role": "user", "content": [block]}, **fields)


def usage(uncached: int = 0, read: int = 0, written: int = 0, output: int = 0, hour: int = 0) -> dict[str, Any]:
    """A usage object; ``written`` includes ``hour``."""
    return {
        "input_tokens": uncached,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written - hour, "ephemeral_1h_input_tokens": hour},
        "output_tokens": output,
    }


def assistant(
    key: str | None, block: dict[str, Any] | None, used: dict[str, Any] | None, at: float = 0, **fields: Any
) -> dict[str, Any]:
    """One line of a response."""
    message: dict[str, Any] = {"role": "assistant", "content": [block] if block else [], "model": "claude-sonnet-4-6"}
    if key is not None:
        message["id"] = key
    if used is not None:
        message["usage"] = used
    message["stop_reason"] = fields.pop("stop", None)
    message["model"] = fields.pop("model", message["model"])
    return line("assistant", at, message=message, **fields)


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def call(name: str, tool: str = "Read", **args: Any) -> dict[str, Any]:
    """A call block with the id ``name``."""
    return {"type": "tool_use", "id": name, "name": tool, "input": args}


def boundary(subtype: str, at: float = 0, **data: Any) -> dict[str, Any]:
    """A compaction or a clearing."""
    key = "compactMetadata" if subtype == "compact_boundary" else "microcompactMetadata"
    return line("system", at, subtype=subtype, **{key: {"trigger": "auto", **data}})


def write(path: Path, *lines: Any) -> Path:
    """Write lines, objects as JSON and strings as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [entry if isinstance(entry, str) else json.dumps(entry) for entry in lines]
    path.write_bytes("\n".join(rows).encode("utf-8", "surrogatepass"))
    return path
