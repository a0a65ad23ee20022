"""opencode sessions: its storage folder of one file a session, message and part, or an export.

Learned from recorded storage of versions 0.1 and 1.3. A message of the model may hold several steps,
each a request of its own. A tool's output that was pruned from the context stays in its file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.record.formats.common import as_dict, as_list, as_text, epoch
from labkit.record.formats.opencode_thread import thread
from labkit.record.formats.several import several
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Trace, TraceKind

NAME = "opencode"
FOLDERS = True

# A chain of parents longer than this is damage.
_DEEPEST = 50

Message = tuple[dict[str, Any], list[dict[str, Any]]]


def matches(path: Path) -> bool:
    """Whether the content is an export, a session's file, or a storage folder."""
    if path.is_dir():
        return any(_is_session(whole_json(file)) for file in _sessions(path)[:3])
    document = as_dict(whole_json(path))
    return _is_session(document) or _is_message(document) or _is_part(document) or bool(_exported(document))


def _is_session(value: Any) -> bool:
    session = as_dict(value)
    return {"id", "version", "projectID", "directory", "time"} <= set(session)


def _is_message(value: dict[str, Any]) -> bool:
    return {"id", "sessionID", "role", "time"} <= set(value)


def _is_part(value: dict[str, Any]) -> bool:
    known = ("text", "tool", "reasoning", "file", "patch", "compaction", "step-start", "step-finish", "snapshot")
    loose = set(value) <= {"id", "type", "text", "time"}  # early versions name neither message nor session
    return value.get("type") in known and "id" in value and ("messageID" in value or "sessionID" in value or loose)


def _exported(document: dict[str, Any]) -> list[Message]:
    """Messages of an export with their parts."""
    found = []
    for item in as_list(document.get("messages")):
        info = as_dict(as_dict(item).get("info"))
        if "role" in info and isinstance(as_dict(item).get("parts"), list):
            found.append((info, [as_dict(part) for part in as_list(as_dict(item).get("parts"))]))
    return found


def _root(folder: Path) -> Path:
    return folder / "storage" if (folder / "storage" / "session").is_dir() else folder


def _sessions(folder: Path) -> list[Path]:
    return sorted((_root(folder) / "session").rglob("*.json"))


def read(path: Path) -> Trace:
    """Read a session and its subagents.

    Parameters
    ----------
    path : Path
        A storage folder, the file of one session in it, or what ``opencode export`` wrote.

    Returns
    -------
    Trace
        ``children`` holds the sessions that name this one as their parent. A folder with several
        sessions gives a Trace whose children they are.

    Raises
    ------
    InputError
        If the file is a single message or part: those say nothing without their session.
    """
    if path.is_dir():
        return _storage(path, None)
    document = as_dict(whole_json(path))
    messages = _exported(document)
    if messages:
        name = as_text(as_dict(document.get("info")).get("title")) or path.stem
        return thread(messages, name, f"{NAME}: {path.name}", "session", [])
    if not _is_session(document):
        raise InputError(
            f"{path} is one message or part of an opencode storage: give the storage folder, or a session's file in it"
        )
    root = next((p.parent for p in path.resolve().parents if p.name == "session"), None)
    if root is None:
        raise InputError(f"{path} is a session of opencode without its storage: give the folder with its messages")
    return _storage(root, as_text(document.get("id")))


def _storage(folder: Path, wanted: str | None) -> Trace:
    """Sessions of a storage folder: all that have no parent there, or the one that is wanted."""
    root = _root(folder)
    sessions: dict[str, dict[str, Any]] = {}
    for file in _sessions(folder):
        document = whole_json(file)
        if _is_session(document):
            sessions[as_text(document.get("id")) or file.stem] = document
    messages = _messages(root)
    parents = {key: as_text(session.get("parentID")) for key, session in sessions.items()}

    def build(key: str, above: tuple[str, ...]) -> Trace:
        below = [k for k, parent in parents.items() if parent == key and k not in (*above, key)]
        children = [build(child, (*above, key)) for child in below] if len(above) < _DEEPEST else []
        name = as_text(sessions[key].get("title")) or key
        kind: TraceKind = "subagent" if above else "session"
        return thread(messages.get(key, []), name, f"{NAME}: {root.name}/{key}", kind, children)

    tops = [key for key, parent in parents.items() if parent not in sessions]
    runs = [build(key, ()) for key in ([wanted] if wanted is not None and wanted in sessions else tops)]
    if not runs:
        raise InputError(f"{folder} holds no session of opencode that can be read: give a storage folder with one")
    return several(runs, folder.name, f"{NAME}: {folder.name}")


def _messages(root: Path) -> dict[str, list[Message]]:
    """Messages with their parts, by session and in order of time."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for file in sorted((root / "part").rglob("*.json")):
        part = as_dict(whole_json(file))
        parts.setdefault(as_text(part.get("messageID")) or file.parent.name, []).append(part)
    found: dict[str, list[Message]] = {}
    for file in sorted((root / "message").rglob("*.json")):
        message = as_dict(whole_json(file))
        session = as_text(message.get("sessionID")) or file.parent.name
        found.setdefault(session, []).append((message, parts.get(as_text(message.get("id")) or "", [])))
    for listed in found.values():
        listed.sort(key=lambda item: epoch(as_dict(item[0].get("time")).get("created")) or 0.0)
    return found
