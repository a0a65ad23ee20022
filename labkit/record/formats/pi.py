"""Sessions of the Pi coding agent and of OpenClaw, which keeps its sessions in Pi's format."""

from __future__ import annotations

from pathlib import Path

from labkit.record.formats.common import as_text
from labkit.record.formats.jsonl import each_line, first_objects
from labkit.record.formats.pi_session import Session
from labkit.record.trace import Trace, TraceKind

NAME = "Pi or OpenClaw"


def matches(path: Path) -> bool:
    """Whether the first line is a session's header."""
    head = next(first_objects(path, lines=3), {})
    return (
        head.get("type") == "session" and as_text(head.get("id")) is not None and ("cwd" in head or "version" in head)
    )


def read(path: Path) -> Trace:
    """Read a session, and those of its agents that lie beside it.

    Parameters
    ----------
    path : Path
        A session's JSON lines, version 1 (a list) or later (a tree of entries).

    Returns
    -------
    Trace
        What the user took back, or what stands on another branch, is an edit of kind ``evict``.
    """
    return _read(path, {path.resolve()})


def _read(path: Path, seen: set[Path]) -> Trace:
    warnings: list[str] = []
    session = Session()
    for number, line in each_line(path, warnings):
        session.add(number, line)
    children = []
    for agent in sorted(session.agent_files):
        file = path.with_name(f"{agent}.jsonl")
        if file.is_file() and file.resolve() not in seen and matches(file):
            seen.add(file.resolve())
            children.append(_read(file, seen))
    missing = session.agents - len(children)
    if missing > 0:
        warnings.append(f"{missing} spawned agents have no session here: what they spent is not recorded")
    kind: TraceKind = "subagent" if session.is_agent else "session"
    return session.trace(path.stem, f"{NAME}: {path.name}", kind, children, warnings)
