"""Telemetry lines of OpenClaw: events of the gateway, of which some hold all messages of a session so far.

The messages are those of OpenClaw's own session files; everything else in the lines repeats parts of
them without their words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.record.formats.common import as_list, as_text
from labkit.record.formats.jsonl import first_objects, read_lines
from labkit.record.formats.pi_session import Session
from labkit.record.formats.several import several
from labkit.record.trace import Trace, TraceKind

NAME = "OpenClaw telemetry"

_EVENTS = {"agent.start", "agent.end", "message.in", "message.out", "tool.start", "tool.end"}
_CHILD = ":subagent:"


def matches(path: Path) -> bool:
    """Whether an agent starts or ends among the first lines, and the first line is an event."""
    heads = list(first_objects(path, 20))
    named = [as_text(head.get("type")) for head in heads]
    return bool(named) and named[0] in _EVENTS and any("sessionKey" in head for head in heads)


def read(path: Path) -> Trace:
    """Read the sessions of a file; a subagent is a child of the session that stands before it.

    Raises
    ------
    InputError
        If no event holds messages.
    """
    lines, warnings = read_lines(path)
    longest: dict[str, list[Any]] = {}
    shrunk = 0
    for _, event in lines:
        key = as_text(event.get("sessionKey"))
        messages = as_list(event.get("messages"))
        if key is None:
            continue
        known = longest.setdefault(key, [])
        shrunk += len(messages) < len(known) and event.get("type") == "agent.end"
        if len(messages) >= len(known):
            longest[key] = messages
    told = {key: messages for key, messages in longest.items() if messages}
    if not told:
        raise InputError(
            f"{path} holds no messages of an agent: give the session file, or let telemetry record messages"
        )
    silent = len(longest) - len(told)
    if silent:
        warnings.append(
            f"{silent} sessions are named but none of their messages are recorded: what they spent is not counted"
        )
    if shrunk:
        warnings.append(
            f"{shrunk} times a session ended with fewer messages than before: only its longest state is read"
        )
    source = f"{NAME}: {path.name}"
    children = [_session(key, told[key], source) for key in told if _CHILD in key]
    mains = [key for key in told if _CHILD not in key]
    if not mains:
        return several(children, path.stem, source, warnings)
    # Which session started a subagent is not recorded; with one main session there is no doubt.
    runs = [_session(key, told[key], source, children if i == 0 else []) for i, key in enumerate(mains)]
    if len(mains) > 1 and children:
        warnings.append(f"which session started the {len(children)} subagents is not recorded: given to the first")
    return several(runs, path.stem, source, warnings)


def _session(key: str, messages: list[Any], source: str, children: list[Trace] | None = None) -> Trace:
    session = Session()
    for number, message in enumerate(messages, 1):
        if isinstance(message, dict):
            session.add(number, {"type": "message", "message": message})
    kind: TraceKind = "subagent" if _CHILD in key else "session"
    return session.trace(key[:120], source, kind, children or [], [])
