"""Evict: remove a result that a newer one has overtaken."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Generic, TypeVar

from labkit.files import load_data
from labkit.ladder.context import Context, Slot, stands
from labkit.ladder.events import Event
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import ERROR_WORDS, short
from labkit.record.trace import Block

__all__ = ["Eviction", "FileUse", "Overtakes", "changed_nothing", "file_use", "superseded_stub"]

T = TypeVar("T")

SHORT = 120
"""Characters that the readers leave of a call's arguments."""


@dataclass(frozen=True, slots=True)
class FileUse:
    """What a call does to a file: reads all of it, reads a part, or changes it.

    Parameters
    ----------
    path : str
    does : {"read", "change"}
    part : str
        Which part is read; empty for all of it.
    lines : tuple of float, optional
        The first and the last line of the part, where the arguments say both.
    """

    path: str
    does: str
    part: str = ""
    lines: tuple[float, float] | None = None


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, Any]:
    data = load_data("superseding.json")
    return {name: tuple(value) for name, value in data.items() if isinstance(value, list)}


def file_use(tool: str | None, args: str | None) -> FileUse | None:
    """The file that a call reads or changes, by ``data/superseding.json``; ``None`` where it does neither.

    Examples
    --------
    >>> file_use("read_file", "src/money.py")
    FileUse(path='src/money.py', does='read', part='', lines=None)
    >>> file_use("Read", "file_path=/app/a.py, offset=10, limit=20")
    FileUse(path='/app/a.py', does='read', part='offset=10, limit=20', lines=(10, 29))
    >>> file_use("str_replace_editor", '{"command": "insert", "path": "/app/a.py"}').does
    'change'
    >>> file_use("run_tests", "tests") is None
    True
    """
    rules = _rules()
    editor = tool in rules["editor"]
    does = "read" if tool in rules["read"] else "change" if tool in rules["change"] else ""
    if not (does or editor) or not args:
        return None
    named = _fields(args)
    if args.startswith("{") and not named:
        return None  # JSON that was cut short
    if editor:
        does = "read" if named.get("command") in rules["view"] else "change"
    elif not named:
        return FileUse(args.split(", ")[0].strip(), does)
    path = next((str(named[key]) for key in rules["path"] if named.get(key)), "")
    part = ", ".join(f"{key}={named[key]}" for key in rules["part"] if named.get(key) is not None)
    if _is_cut(args):
        if path.endswith("..."):
            return None
        part = part or "..."  # which part is read may stand behind the cut
    return FileUse(path, does, part, _lines(named) if part else None) if path else None


def _is_cut(args: str) -> bool:
    """Whether the short form of arguments may not be all of them (see ``labkit.record.formats.common.short_args``)."""
    return len(args) >= SHORT or (len(args) >= SHORT - 3 and args.endswith("..."))


def _lines(named: Mapping[str, Any]) -> tuple[float, float] | None:
    """The first and the last line that a call reads, where it says both."""
    try:
        if named.get("limit") is not None:
            first = int(named.get("offset") or 1)
            return first, first + int(named["limit"]) - 1
        for begin, end in (("start_line", "end_line"), ("start", "end")):
            if named.get(begin) is not None and named.get(end) is not None:
                return int(named[begin]), int(named[end])
        between = named.get("view_range")
        if isinstance(between, list) and len(between) == 2:
            return int(between[0]), math.inf if int(between[1]) == -1 else int(between[1])
    except (TypeError, ValueError, OverflowError):  # no numbers, or none that a file has
        pass
    return None


@lru_cache(maxsize=4_096)
def _call_key(tool: str | None, args: str | None, call: str | None) -> tuple[str | None, str] | None:
    """What makes two calls the same: arguments in JSON may stand in any order; of a cut form the call decides."""
    if args is None or (_is_cut(args) and call is None):
        return None
    if _is_cut(args) and call is not None:
        return tool, call
    if args.startswith("{"):
        with suppress(ValueError, RecursionError):
            return tool, json.dumps(json.loads(args), sort_keys=True)
    return tool, args


def changed_nothing(text: str) -> bool:
    """Whether the result of a change says that it failed.

    Examples
    --------
    >>> changed_nothing("<tool_use_error>String to replace not found in file."), changed_nothing("ok, no errors")
    (True, False)
    """
    return _begins(text, "failed") or any(word in text for word in ERROR_WORDS)


def _begins(text: str, words: str) -> bool:
    begins: bool = text[:200].lstrip().lower().startswith(_rules()[words])
    return begins


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


class Overtakes(Generic[T]):
    """Finds which results a new one overtakes, and why; things of any kind stand for the results.

    Parameters
    ----------
    rules : frozenset of str
        From :data:`labkit.ladder.policy.SUPERSEDED`.

    Examples
    --------
    >>> overtakes = Overtakes[int](frozenset({"wider_read"}))
    >>> for i, args in enumerate(("file=a, start=5, end=9", "file=a, start=1, end=7", "file=a, start=3, end=20")):
    ...     print(overtakes.came(Block("result", "tool", "x", tool="Read", args=args), i))
    []
    []
    [(0, 'wider_read')]
    """

    def __init__(self, rules: frozenset[str]) -> None:
        self._rules = rules
        self._calls: dict[tuple[str | None, str], T] = {}
        # By path: reads of a part that no whole read has followed, and all others. Apart, so that a whole
        # read walks over each part once.
        self._parts: dict[str, list[tuple[T, tuple[float, float] | None]]] = {}
        self._reads: dict[str, list[T]] = {}

    def came(self, block: Block, thing: T, call: str | None = None) -> list[tuple[T, str]]:
        """What a result overtakes, each with the reason; ``call`` is the text of its call, where there is one."""
        old: list[tuple[T, str]] = []
        use = file_use(block.tool, block.args)
        if use is not None and use.does == "read" and _begins(block.text, "unseen"):
            return old
        key = _call_key(block.tool, block.args, call) if "same_call" in self._rules else None
        if key is not None:
            if key in self._calls:
                old.append((self._calls[key], "same_call"))
            self._calls[key] = thing
        if use is None:
            return old
        if use.does == "change":
            if not changed_nothing(block.text):
                reads = [*self._reads.pop(use.path, ()), *(part for part, _ in self._parts.pop(use.path, ()))]
                old += [(read, "edited") for read in reads if "edited" in self._rules]
            return old
        wider = "wider_read" in self._rules
        if use.part and not (wider and use.lines):  # nothing to look for
            self._parts.setdefault(use.path, []).append((thing, use.lines))
            return old
        parts = self._parts.pop(use.path, [])
        if not use.part:
            old += [(part, "wider_read") for part, _ in parts if wider]
            self._reads.setdefault(use.path, []).extend([*(part for part, _ in parts), thing])
            return old
        left: list[tuple[T, tuple[float, float] | None]] = []
        for part, lines in parts:
            if wider and _within(lines, use.lines):
                old.append((part, "wider_read"))
                # It stands until it is evicted, and an edit overtakes it too.
                self._reads.setdefault(use.path, []).append(part)
            else:
                left.append((part, lines))
        self._parts[use.path] = [*left, (thing, use.lines)]
        return old


def _within(inner: tuple[float, float] | None, outer: tuple[float, float] | None) -> bool:
    return inner is not None and outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


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
        self._overtakes = Overtakes[Slot](policy.evict)
        self._due: dict[int, tuple[Slot, Block, int]] = {}  # by the slot's identity

    def appended(self, slot: Slot) -> None:
        """A result came in: what does it supersede?"""
        policy, block = self._policy, slot.block
        if not policy.evict or block.kind != "result" or not stands(block):
            return
        for old, why in self._overtakes.came(block, slot, None if slot.call is None else slot.call.block.text):
            self._supersede(old, why)

    def _supersede(self, slot: Slot, why: str) -> None:
        if slot.position < 0 or not stands(slot.block) or id(slot) in self._due:
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
