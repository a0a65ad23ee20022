"""Claude Code sessions: the main transcript with the files of its subagents.

The format has no official description; what this reader knows was learned from recorded files of
versions 1.0 to 2.1. It counts each response of the model once, wherever it is repeated: on several
lines, in progress lines, in a subagent's file, in a resumed copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.record.formats.claude_code_content import input_side, usage_of
from labkit.record.formats.claude_code_thread import Thread
from labkit.record.formats.common import as_dict, as_text
from labkit.record.formats.jsonl import first_objects, read_lines
from labkit.record.trace import Trace, TraceKind

NAME = "Claude Code"

Line = tuple[int, dict[str, Any]]


def matches(path: Path) -> bool:
    """Whether one of the first lines could only come from Claude Code."""
    return any(_is_ours(line) for line in first_objects(path))


def _is_ours(line: dict[str, Any]) -> bool:
    kind = line.get("type")
    if kind in ("user", "assistant"):
        return isinstance(line.get("message"), dict) and ("sessionId" in line or "parentUuid" in line)
    if kind == "summary":
        return "leafUuid" in line
    if kind in ("system", "progress", "attachment"):
        return "sessionId" in line and ("parentUuid" in line or "uuid" in line)
    return kind == "file-history-snapshot" or (kind == "queue-operation" and "sessionId" in line)


def read(path: Path) -> Trace:
    """Read a session and its subagents.

    Parameters
    ----------
    path : Path
        The main transcript, or a subagent's file by itself.

    Returns
    -------
    Trace
        The main thread. ``children`` holds a Trace for each subagent, and one of kind
        ``compaction`` for each recorded call that wrote a summary. ``Request.start`` is the time of
        the line that set the request off, the last one before the response.
    """
    lines, warnings = read_lines(path)
    main, side, relayed = _split(lines)
    alone = not any(line.get("type") in ("user", "assistant") for _, line in main) and len(side) == 1
    if alone:  # a subagent's own file: all of its lines are side lines
        main, side = lines, {}
    keys, relay_warnings = _response_keys(line for _, line in lines)
    warnings += relay_warnings
    counted: set[str] = set()
    thread = _fill(Thread(keys, counted), main)
    files = {} if alone else {_agent_id(file): file for file in _agent_files(path, lines)}
    children = []
    missing = set(thread.agents)
    for agent in sorted({*files, *side, *relayed}):
        child_lines, child_warnings = read_lines(files[agent]) if agent in files else ([], [])
        child_keys, more = _response_keys(line for _, line in child_lines)
        # The file is the whole record; of the copies inside the parent only a response that it lacks is
        # news, and the thread knows the others by their keys.
        inline = [*side.get(agent, ()), *relayed.get(agent, ())]
        inline_keys, _ = _response_keys(line for _, line in inline)
        if agent in files:
            inline = [(number, line) for number, line in inline if id(line) in inline_keys]
        child = _fill(Thread({**inline_keys, **child_keys}, counted), [*child_lines, *inline])
        child.warnings[:0] = [*child_warnings, *more]
        missing.discard(agent)
        if child.empty:
            continue
        kind: TraceKind = "compaction" if agent.startswith("acompact") else "subagent"
        where = files[agent].name if agent in files else f"{path.name}, side lines"
        children.append(child.trace(f"agent-{agent}", kind, f"{NAME}: {where}"))
    thread.warnings[:0] = warnings
    kind = "session" if not alone else "compaction" if "acompact" in path.stem else "subagent"
    trace = thread.trace(path.stem, kind, f"{NAME}: {path.name}", tuple(children))
    return _with_gaps(trace, len(missing))


def _with_gaps(trace: Trace, missing: int) -> Trace:
    """Say which spending the session does not record."""
    gaps = []
    if missing:
        gaps.append(f"{missing} subagents have no transcript here: what they spent is not recorded")
    summaries = sum(e.kind == "summary" for e in trace.edits) - sum(c.kind == "compaction" for c in trace.children)
    if summaries > 0:
        gaps.append(f"the calls that wrote {summaries} summaries are not recorded: what they cost is not counted")
    return replace(trace, warnings=(*trace.warnings, *gaps))


def _fill(thread: Thread, lines: Iterable[Line]) -> Thread:
    for number, line in lines:
        thread.add(number, line)
    return thread


def _split(lines: list[Line]) -> tuple[list[Line], dict[str, list[Line]], dict[str, list[Line]]]:
    """Sort lines into the main thread, side chains by agent, and relayed lines of agents by agent.

    A side line without an agent's id belongs to the chain of its parent.
    """
    main: list[Line] = []
    side: dict[str, list[Line]] = {}
    relayed: dict[str, list[Line]] = {}
    chain: dict[str, str] = {}
    for number, line in lines:
        data = as_dict(line.get("data"))
        inner = as_dict(data.get("message"))
        if line.get("type") == "progress" and data.get("type") == "agent_progress" and inner:
            relayed.setdefault(as_text(data.get("agentId")) or "unnamed", []).append((number, inner))
        elif line.get("isSidechain") is True and line.get("type") in ("user", "assistant", "attachment"):
            uuid = as_text(line.get("uuid")) or f"line {number}"
            agent = (
                as_text(line.get("agentId")) or chain.get(as_text(line.get("parentUuid")) or "") or f"side-{uuid[:8]}"
            )
            chain[uuid] = agent
            side.setdefault(agent, []).append((number, line))
        else:
            main.append((number, line))
    return main, side, relayed


def _response_keys(lines: Iterable[dict[str, Any]]) -> tuple[dict[int, str], list[str]]:
    """The key of the response each assistant line belongs to, by the identity of the line's object.

    The key is the message's id, else the request's, else the line's. Some relays answer every
    request with one id; that shows in several request ids, or in input counts that differ, since
    all lines of one response repeat its input. Then the request's id, or else each run of lines
    with the same input, or else the line, tells the responses apart.
    """
    by_id: dict[str, list[dict[str, Any]]] = {}
    keys: dict[int, str] = {}
    for number, line in enumerate(lines):
        if line.get("type") != "assistant":
            continue
        message = as_dict(line.get("message"))
        name = as_text(message.get("id"))
        if name is not None:
            by_id.setdefault(name, []).append(line)
            continue
        keys[id(line)] = as_text(line.get("requestId")) or as_text(line.get("uuid")) or f"line {number}"
    warnings = []
    for name, group in by_id.items():
        requests = {as_text(line.get("requestId")) for line in group} - {None}
        inputs = {input_side(usage_of(as_dict(line.get("message")))) for line in group} - {None}
        if len(requests) <= 1 and len(inputs) <= 1:
            keys.update((id(line), name) for line in group)
            continue
        warnings.append(
            f"the message id {name!r} stands for {max(len(requests), len(inputs))} different responses, as some relays "
            "give it: lines are told apart by request id or recorded input instead"
        )
        keys.update(_relay_keys(name, group))
    return keys, warnings


def _relay_keys(name: str, group: list[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    before = None
    key = ""
    for position, line in enumerate(group):
        request = as_text(line.get("requestId"))
        inputs = input_side(usage_of(as_dict(line.get("message"))))
        if request is not None:
            key = f"{name} {request}"
        elif inputs is None or inputs != before:
            key = f"{name} {as_text(line.get('uuid')) or position}"
        before = inputs
        yield id(line), key


def _agent_id(file: Path) -> str:
    return file.stem.removeprefix("agent-")


def _agent_files(path: Path, lines: list[Line]) -> list[Path]:
    """Files of the session's subagents: in its own folder at any depth, or flat beside it."""
    found = sorted(path.with_suffix("").glob("subagents/**/agent-*.jsonl"))
    sessions = {line["sessionId"] for _, line in lines if isinstance(line.get("sessionId"), str)}
    for file in sorted(path.parent.glob("agent-*.jsonl")):
        if file != path and any(as_text(line.get("sessionId")) in sessions for line in first_objects(file)):
            found.append(file)
    return found
