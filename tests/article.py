"""What the ctxkit article's classes do, faults included, in a few functions of our own.

A test-only model: tests hold its behaviour beside labkit's, so that a mended fault can be seen.
Sizes include 4 tokens a message; a block is a message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from labkit.record.trace import Block

Count = Callable[[str], int]

ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception): [^\n\]]+")
MARKED = re.compile(r"^(TASK|USER|DECISION|TODO|DONE|ERROR|FILE): (.+)$", re.M)
PYTHON_FILE = re.compile(r"\b(?:src|tests)/[\w/.-]+\.py\b")
LAST_SEEN = re.compile(r"^(.*) \(last seen turn (\d+)\)$")


def size(block: Block, count: Count) -> int:
    return count(block.text) + 4


def counter(get_encoding: Callable[[str], object]) -> str:
    """Which counter the article ends up with: it expects a missing package and nothing else."""
    try:
        get_encoding("o200k_base")
    except ImportError:
        return "chars / 4"
    return "tiktoken o200k_base"


def stub_text(block: Block, count: Count) -> str:
    """Repeats the arguments and the error whole, however long they are."""
    error = ERROR.search(block.text)
    first = f" First error: {error.group(0)}" if error else ""
    head = f"[cleared: {block.tool}({block.args}) returned {size(block, count):,} tokens."
    return f"{head} Call it again if you need it.{first}]"


def clear(blocks: Sequence[Block], keep: int, floor: int, count: Count) -> list[Block]:
    """Clears whatever is stale, also where the stub is the larger text."""
    results = [i for i, b in enumerate(blocks) if b.kind == "result" and b.edited is None]
    stale = results[: len(results) - keep] if keep else results
    edited = list(blocks)
    for i in stale:
        edited[i] = replace(blocks[i], text=stub_text(blocks[i], count), edited="clear")
    freed = sum(size(blocks[i], count) - size(edited[i], count) for i in stale)
    return edited if freed >= floor else list(blocks)


def cut(blocks: Sequence[Block], keep_recent: int) -> int:
    """Where the summarized part ends. Negative when there are fewer messages than ``keep_recent``."""
    position = len(blocks) - keep_recent
    while position > 0 and blocks[position].kind == "result":
        position -= 1
    return position


def compact(
    blocks: Sequence[Block], keep_recent: int, floor: int, summarize: Callable[[Sequence[Block]], str], count: Count
) -> list[Block]:
    position = cut(blocks, keep_recent)
    old, recent = blocks[:position], blocks[position:]
    if sum(size(b, count) for b in old) < floor:
        return list(blocks)
    return [Block("summary", "user", summarize(old), request=old[-1].turn), *recent]


def summarize(blocks: Sequence[Block], notes: str = "", max_errors: int = 5, max_files: int = 12) -> str:
    """Reads its own summary back line by line, so a second line of an entry is nobody's."""
    task = ""
    lists: dict[str, list[str]] = {"USER": [], "DECISION": []}
    todos: list[str] = []
    errors: dict[str, int] = {}
    files: dict[str, str] = {}
    for block in blocks:
        if block.kind == "text" and block.role == "user":
            if task:
                lists["USER"].append(f"(turn {block.turn}) {block.text}")
            task = task or block.text
        elif block.kind == "result":
            for found in ERROR.finditer(block.text):
                errors.pop(found.group(0), None)
                errors[found.group(0)] = block.turn
            for path in PYTHON_FILE.findall(block.args or ""):
                files.pop(path, None)
                files[path] = f"{path}, last {block.tool} at turn {block.turn}"
        elif block.kind in ("text", "call", "summary"):
            said = "" if block.kind == "summary" else f"(turn {block.turn}) "
            for kind, text in MARKED.findall(block.text):
                if kind == "TASK":
                    task = text
                elif kind == "USER":
                    lists["USER"].append(text)
                elif kind == "DECISION":
                    lists["DECISION"].append(said + text)
                elif kind == "TODO" and text not in todos:
                    todos.append(text)
                elif kind == "DONE" and text in todos:
                    todos.remove(text)
                elif kind == "ERROR" and (seen := LAST_SEEN.match(text)):
                    errors.pop(seen.group(1), None)
                    errors[seen.group(1)] = int(seen.group(2))
                elif kind == "FILE":
                    path = PYTHON_FILE.findall(text)[0]
                    files.pop(path, None)
                    files[path] = text
    lines = [f"TASK: {task}", *(f"{kind}: {text}" for kind, texts in lists.items() for text in texts)]
    lines += [f"TODO: {text}" for text in todos]
    lines += [f"ERROR: {text} (last seen turn {turn})" for text, turn in [*errors.items()][-max_errors:]]
    lines += [f"FILE: {text}" for text in [*files.values()][-max_files:]]
    head = f"Summary of turns 1 to {blocks[-1].turn}. Older tool output was dropped; re-read what you need."
    return "\n".join([head, *lines, "", "Current notes:", notes or "(empty)"])
