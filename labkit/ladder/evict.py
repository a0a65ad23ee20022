"""Evict: remove a result that a newer one has overtaken."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from labkit.files import load_data
from labkit.ladder.context import Context, Slot, stands
from labkit.ladder.events import Event
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import ERROR_WORDS, short
from labkit.record.trace import Block

__all__ = ["Eviction", "FileUse", "file_use", "superseded_stub"]


@dataclass(frozen=True, slots=True)
class FileUse:
    """What a call does to a file: reads all of it, reads a part, or changes it."""

    path: str
    does: str
    part: str = ""


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, Any]:
    data = load_data("superseding.json")
    return {name: tuple(data[name]) for name in ("read", "change", "path", "part")}


def file_use(tool: str | None, args: str | None) -> FileUse | None:
    """The file that a call reads or changes, by ``data/superseding.json``; ``None`` where it does neither.

    Examples
    --------
    >>> file_use("read_file", "src/money.py")
    FileUse(path='src/money.py', does='read', part='')
    >>> file_use("Read", "file_path=/app/a.py, offset=10, limit=20")
    FileUse(path='/app/a.py', does='read', part='offset=10, limit=20')
    >>> file_use("run_tests", "tests") is None
    True
    """
    rules = _rules()
    does = "read" if tool in rules["read"] else "change" if tool in rules["change"] else ""
    if not does or not args:
        return None
    named = _fields(args)
    if not named:
        return FileUse(args.split(", ")[0].strip(), does)
    path = next((str(named[key]) for key in rules["path"] if named.get(key)), "")
    part = ", ".join(f"{key}={named[key]}" for key in rules["part"] if named.get(key) is not None)
    return FileUse(path, does, part) if path else None


def _fields(args: str) -> dict[str, Any]:
    """Arguments by name, from JSON or from the short form ``name=value, name=value``."""
    if args.startswith("{"):
        try:
            found = json.loads(args)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}
    named: dict[str, Any] = {}
    for piece in args[:2_000].split(", "):
        key, equals, value = piece.partition("=")
        if equals and key.isidentifier():
            named[key] = value
    return named


def superseded_stub(result: Block, why: str, policy: Policy) -> Block:
    """What stands for a superseded result.

    Examples
    --------
    >>> superseded_stub(Block("result", "tool", "x", tool="read_file", args="a.py"), "edited", Policy()).text
    '[superseded: read_file(a.py); the file was changed since.]'
    """
    words = {
        "same_call": "the same call was made again",
        "edited": "the file was changed since",
        "wider_read": "a later read shows all of it",
    }[why]
    text = policy.stub_text
    if text is None:
        text = f"[superseded: {result.tool}({short(result.args or '', policy.stub_chars)}); {words}.]"
    return replace(result, text=text, edited="evict")


class Eviction:
    """Finds what has been superseded as results come in, and removes it in batches of at least the floor.

    Parameters
    ----------
    policy : Policy
        Uses ``evict``, ``pinned``, ``floor``, ``edits_at`` and the stub's fields.
    count : callable
        Tokens of a text.
    """

    def __init__(self, policy: Policy, count: Callable[[str], int]) -> None:
        self._policy, self._count = policy, count
        self._calls: dict[tuple[str | None, str | None], Slot] = {}
        # By path: reads of a part that no whole read has followed, and all others. Apart, so that a whole
        # read walks over each part once.
        self._parts: dict[str, list[Slot]] = {}
        self._reads: dict[str, list[Slot]] = {}
        self._due: dict[int, tuple[Slot, Block, int]] = {}  # by the slot's identity

    def appended(self, slot: Slot) -> None:
        """A result came in: what does it supersede?"""
        policy, block = self._policy, slot.block
        if not policy.evict or block.kind != "result" or not stands(block):
            return
        use = file_use(block.tool, block.args)
        if "same_call" in policy.evict and block.args:
            self._supersede(self._calls.get((block.tool, block.args)), "same_call")
            self._calls[block.tool, block.args] = slot
        if use is None:
            return
        if use.does == "change":
            if not any(word in block.text for word in ERROR_WORDS):  # a change that failed changes nothing
                for read in [*self._reads.pop(use.path, ()), *self._parts.pop(use.path, ())]:
                    self._supersede(read, "edited" if "edited" in policy.evict else "")
        elif use.part:
            self._parts.setdefault(use.path, []).append(slot)
        else:
            parts = self._parts.pop(use.path, [])
            for read in parts if "wider_read" in policy.evict else ():
                self._supersede(read, "wider_read")
            self._reads.setdefault(use.path, []).extend([*parts, slot])

    def _supersede(self, slot: Slot | None, why: str) -> None:
        if slot is None or not why or slot.position < 0 or not stands(slot.block) or id(slot) in self._due:
            return
        if slot.block.tool in self._policy.pinned:
            return
        block = superseded_stub(slot.block, why, self._policy)
        size = self._count(block.text) + slot.overhead
        if size < slot.size or not self._policy.stub_if_smaller:
            self._due[id(slot)] = (slot, block, size)

    def act(self, context: Context, request: int, check: Callable[[int], None]) -> Event | None:
        """Replace what is superseded by stubs, unless that frees less than the floor.

        Parameters
        ----------
        context : Context
        request : int
            Index of the request. A result that no request before it has carried stays: it was not read.
        check : callable
            Is told the first position that would change, and refuses where the edit is not allowed.
        """
        self._due = {i: d for i, d in self._due.items() if d[0].position >= 0 and stands(d[0].block)}
        ready = [due for due in self._due.values() if due[0].block.request < request]
        freed = sum(slot.size - size for slot, _, size in ready)
        if not ready or (self._policy.floor and freed < self._policy.floor):
            return None
        first = min(slot.position for slot, _, _ in ready)
        check(first)
        removed = sum(slot.size for slot, _, _ in ready)
        kept = context.intact_before(first)
        for slot, block, size in ready:
            context.replace(slot, block, size)
        return Event(
            request,
            "evicted",
            len(ready),
            freed,
            kept,
            side=self._policy.edits_at,
            removed=removed,
            added=removed - freed,
        )
