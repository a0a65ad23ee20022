"""Signs that a run lost its thread, each with its place in the record.

They are read off the record by rule, so they say where to look and not what is wrong. Each has a
limit: files are followed through calls that name a path, not through shell commands; decisions only
where a line is marked as one; open work only where a to-do tool keeps it; "done" only in English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Block, Trace

__all__ = ["Symptom", "symptoms"]

_READS = {"Read", "read", "read_file", "view", "view_file", "open_file", "NotebookRead"}
_EDITS = {
    "Edit", "MultiEdit", "Write", "NotebookEdit", "edit", "write", "edit_file", "write_file", "replace",
    "create_file", "str_replace", "insert",
}  # fmt: skip
# One tool for both; its argument ``command`` says which.
_EDITORS = {"str_replace_editor", "str_replace_based_edit_tool", "edit_anthropic"}
_PATHS = ("file_path", "path", "absolute_path", "filePath", "filename", "notebook_path")

_DECISION = re.compile(r"^DECISION(?:[ \[(]+(?P<name>[\w.-]{1,40})[\])]*)?: *(?P<text>.{1,2000})$", re.M)
_SUPERSEDES = re.compile(r"\bsupersedes:? +(?P<what>[^.;)\]]{1,200})", re.I)
_DONE = re.compile(
    r"\b(all (?:done|set|tasks|tests pass)|is (?:now )?(?:done|complete|finished|ready)|are (?:now )?(?:done|complete)|"
    r"(?:successfully|fully) (?:completed?|implemented|fixed)|finished|completed|done)\b",
    re.I,
)
_OPEN = ("pending", "in_progress", "open", "todo", "not_started")


@dataclass(frozen=True, slots=True)
class Symptom:
    """One sign.

    Parameters
    ----------
    kind : {"reread_after_edit", "decision_against_earlier", "done_with_work_open"}
    request : int
        Index of the request whose answer shows it.
    position : int
        Of the block in ``Trace.blocks``.
    earlier : int or None
        Position of what it looks back on: the edit, the earlier decision, the to-do list.
    what : str
        The file, the decision, or the first open items.
    tokens : int
        What the second read added to the context; 0 for the others.
    """

    kind: str
    request: int
    position: int
    earlier: int | None
    what: str
    tokens: int = 0

    def to_json(self) -> dict[str, Any]:
        """As one object for programs."""
        return asdict(self)


def symptoms(trace: Trace, sizes: Sizes | None = None) -> tuple[Symptom, ...]:
    """Signs of a lost thread in the main thread, in the order of the record.

    Parameters
    ----------
    trace : Trace
    sizes : Sizes, optional
        Default: :func:`labkit.measure`.

    Examples
    --------
    >>> calls = [("Read", 1), ("Edit", 2), ("Read", 3)]
    >>> text = ' {"file_path": "app/cart.py"}'
    >>> blocks = tuple(Block("call", "assistant", tool + text, request=r, tool=tool) for tool, r in calls)
    >>> [(s.kind, s.request, s.earlier, s.what) for s in symptoms(Trace("tiny", blocks, ()))]
    [('reread_after_edit', 2, 1, 'app/cart.py')]
    """
    found = [*_rereads(trace, sizes or measure(trace)), *_decisions(trace), *_open_work(trace)]
    return tuple(sorted(found, key=lambda s: s.position))


def _rereads(trace: Trace, sizes: Sizes) -> Iterator[Symptom]:
    results = {b.call_id: i for i, b in enumerate(trace.blocks) if b.kind == "result" and b.call_id}
    edited: dict[str, int] = {}  # by file: position of the agent's last edit since it was read again
    for i, block in enumerate(trace.blocks):
        if block.kind != "call":
            continue
        act, path = _file_act(block)
        if path is None:
            continue
        if act == "edit":
            edited[path] = i
        elif act == "read" and path in edited:
            answer = results.get(block.call_id or "")
            tokens = sizes.blocks[answer] if answer is not None and answer > i else 0
            yield Symptom("reread_after_edit", max(block.request - 1, 0), i, edited.pop(path), path, tokens)


def _file_act(block: Block) -> tuple[str, str | None]:
    tool = block.tool or ""
    act = "read" if tool in _READS else "edit" if tool in _EDITS else ""
    if not act and tool not in _EDITORS:
        return "", None
    args = _arguments(block)
    if tool in _EDITORS:
        act = "read" if args.get("command") == "view" else "edit"
    path = next((args[key] for key in _PATHS if isinstance(args.get(key), str)), None)
    return act, path or None


def _arguments(block: Block) -> dict[str, Any]:
    """The arguments of a call, which every reader writes as JSON after the tool's name."""
    text = block.text.removeprefix(block.tool or "").strip()
    if not text.startswith("{"):
        return {}
    try:
        args = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return args if isinstance(args, dict) else {}


def _decisions(trace: Trace) -> Iterator[Symptom]:
    made: list[tuple[str, str, int]] = []  # name, text, position
    for i, block in enumerate(trace.blocks):
        if block.role != "assistant" or block.kind == "call" or "DECISION" not in block.text:
            continue
        for match in _DECISION.finditer(block.text):
            name, text = match["name"] or "", match["text"].strip()
            against = _earlier(name, text, made)
            if against is not None:
                yield Symptom("decision_against_earlier", max(block.request - 1, 0), i, against[0], text[:200])
            made.append((name, text, i))


def _earlier(name: str, text: str, made: list[tuple[str, str, int]]) -> tuple[int | None] | None:
    """Position of the decision that this one overturns, in a tuple; ``None`` if it overturns none."""
    said = _SUPERSEDES.search(text)
    if said:
        what = said["what"].strip().casefold()
        for other, words, position in reversed(made):
            if what == other.casefold() or what in words.casefold():
                return (position,)
        return (None,)
    for other, words, position in reversed(made):
        if name and name == other and words != text:
            return (position,)
    return None


def _open_work(trace: Trace) -> Iterator[Symptom]:
    end = next((i for i in reversed(range(len(trace.blocks))) if trace.blocks[i].role == "assistant"), None)
    if end is None or trace.blocks[end].kind != "text" or not _DONE.search(trace.blocks[end].text):
        return
    listed, items = _work(trace)
    left = [what for what, status in items if status in _OPEN]
    if left:
        names = "; ".join(what[:80] for what in left[:3]) + (f"; and {len(left) - 3} more" if len(left) > 3 else "")
        yield Symptom(
            "done_with_work_open", max(trace.blocks[end].request - 1, 0), end, listed, f"{len(left)} open: {names}"
        )


def _work(trace: Trace) -> tuple[int | None, list[tuple[str, str]]]:
    """The last state of the to-do list, and where it was written."""
    where: int | None = None
    tasks: dict[str, tuple[str, str]] = {}
    made = 0
    for i, block in enumerate(trace.blocks):
        if block.kind != "call" or block.tool not in (
            "TodoWrite", "update_plan", "write_todos", "todowrite", "TaskCreate", "TaskUpdate",
        ):  # fmt: skip
            continue
        args, where = _arguments(block), i
        if block.tool == "TaskCreate":
            made += 1  # tasks are numbered in the order of their making
            tasks[str(made)] = (str(args.get("subject", "")), "pending")
        elif block.tool == "TaskUpdate":
            key = str(args.get("taskId", ""))
            if key in tasks and isinstance(args.get("status"), str):
                tasks[key] = (tasks[key][0], args["status"])
        else:
            items = args.get("todos", args.get("plan", args.get("items")))
            tasks = {}
            for n, item in enumerate(items if isinstance(items, list) else []):
                if isinstance(item, dict):
                    words = item.get("content", item.get("step", item.get("description", "")))
                    tasks[f"list {n}"] = (str(words), str(item.get("status", "")))
    return where, list(tasks.values())
