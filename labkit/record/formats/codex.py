"""Codex CLI rollouts, with the rollouts of the agents a session spawned.

Rollouts older than a week are packed by zstd, which is read as it is.
Only ``response_item`` lines reach the model; events repeat the same text for the screen. The token
counter in the events is cumulative and sent again unchanged, so what counts is its growth.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from labkit.record.formats.codex_rollout import Rollout
from labkit.record.formats.common import as_dict, as_text
from labkit.record.formats.jsonl import each_line, first_objects
from labkit.record.formats.packed import ENDINGS, plain_stem
from labkit.record.formats.responses_items import ITEM_TYPES
from labkit.record.trace import Trace, TraceKind

NAME = "Codex CLI"
FOLDERS = True

_ENVELOPES = {"compacted", "event_msg", "response_item", "session_meta", "turn_context"}
# A session's agents do not nest deeper than this; a longer chain is damage.
_DEEPEST = 8


def matches(path: Path) -> bool:
    """Whether the first lines are a rollout's; of a folder, whether it holds one session and its agents."""
    if path.is_dir():
        return _root(path) is not None
    lines = list(first_objects(path, lines=5))
    if any(as_text(o.get("type")) in _ENVELOPES and isinstance(o.get("payload"), dict) for o in lines):
        return True
    # The oldest rollouts have no envelopes: a header, then bare items.
    head = lines[0] if lines else {}
    header = "type" not in head and {"id", "timestamp"} <= set(head) and ("instructions" in head or "git" in head)
    return header and all(_bare(o) for o in lines[1:])


def _bare(line: dict[str, Any]) -> bool:
    return as_text(line.get("type")) in ITEM_TYPES or "record_type" in line


def read(path: Path) -> Trace:
    """Read a rollout, and those of its agents that lie beside it or in the folders of other days.

    Parameters
    ----------
    path : Path
        A rollout, or a folder with one session and its agents.

    Returns
    -------
    Trace
        ``children`` holds a Trace for each agent whose rollout was found, and one of kind
        ``compaction`` for each recorded call that wrote a summary.
    """
    if path.is_dir():
        path = _root(path) or path
    return _read(path, {path.resolve()})


def _read(path: Path, seen: set[Path]) -> Trace:
    warnings: list[str] = []
    rollout = Rollout()
    for number, line in each_line(path, warnings):
        rollout.add(number, line)
    children = [*rollout.compactions()]
    missing = 0
    for agent in sorted(rollout.agents):
        file = _file_of(agent, path)
        if file is None:
            missing += 1
        elif file.resolve() not in seen and len(seen) < 2**_DEEPEST:
            seen.add(file.resolve())
            children.append(_read(file, seen))
    if missing:
        warnings.append(f"{missing} spawned agents have no rollout here: what they spent is not recorded")
    kind: TraceKind = "subagent" if rollout.is_agent else "session"
    return rollout.trace(plain_stem(path), f"{NAME}: {path.name}", kind, children, warnings)


def _file_of(agent: str, path: Path) -> Path | None:
    """Rollout of an agent: its id ends the file's name and stands in its first line."""
    if not re.fullmatch(r"[\w-]{8,80}", agent):
        return None
    day = path.parent
    dated = all(re.fullmatch(r"\d+", p.name) for p in (day, day.parent, day.parent.parent))
    found = [p for end in ENDINGS for p in day.glob(f"*{agent}.jsonl{end}")]
    if dated and not found:
        found = [p for end in ENDINGS for p in day.parent.parent.parent.glob(f"*/*/*/*{agent}.jsonl{end}")]
    return next((p for p in sorted(found) if p != path and _ids(p)[0] == agent), None)


def _ids(path: Path) -> tuple[str | None, str | None]:
    """Id of a rollout, and of the one that spawned it."""
    for line in first_objects(path, lines=1):
        payload = as_dict(line.get("payload"))
        source = as_dict(as_dict(payload.get("source")).get("subagent"))
        parent = as_text(as_dict(source.get("thread_spawn")).get("parent_thread_id"))
        return as_text(payload.get("id")), parent or as_text(payload.get("parent_thread_id"))
    return None, None


def _root(folder: Path) -> Path | None:
    """The one rollout of a folder that no other one in it spawned; ``None`` where that is not clear."""
    files = sorted(p for end in ENDINGS for p in folder.rglob(f"*.jsonl{end}"))
    if len(files) < 2 or not all(p.is_file() and matches(p) for p in files):
        return None
    ids = {p: _ids(p) for p in files}
    known = {own for own, _ in ids.values() if own}
    roots = [p for p, (_, parent) in ids.items() if parent not in known]
    return roots[0] if len(roots) == 1 else None
