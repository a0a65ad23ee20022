"""One session of Pi, entry by entry: from JSON lines to a Trace.

Since version 2 the entries are a tree: each names its parent, and what the model saw is the path
from the root to the entry before. Going back to an earlier entry leaves a branch behind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.common import as_dict, as_list, as_text, epoch, json_text, short_args, timestamp, tokens
from labkit.record.formats.responses_items import data_url_image
from labkit.record.trace import Block, Role, Trace, TraceKind, Usage

__all__ = ["Session"]

_SILENT = {"custom", "label", "leaf", "model_change", "session", "session_info", "thinking_level_change"}
# Texts that the gateway itself put into the transcript; no model wrote them.
_GATEWAY = {"delivery-mirror", "gateway-injected"}
_FINISHED = re.compile(r"^session_id: ([\w-]{8,64})$", re.MULTILINE)


class Session:
    """Collects the entries of one session; :meth:`trace` makes the Trace.

    Attributes
    ----------
    agent_files : set of str
        Names of the sessions of spawned agents, as far as the session tells.
    is_agent : bool
        Whether the session is a spawned agent's.
    """

    def __init__(self) -> None:
        self.agent_files: set[str] = set()
        self.is_agent = False
        self._run = TraceBuilder()
        self._order: list[str] = []  # keys of all entries
        self._parents: dict[str, str | None] = {}
        self._cuts: dict[str, tuple[str | None, bool]] = {}  # compaction -> first kept entry, whether it is known
        self._at: dict[str, list[int]] = {}  # entry -> its positions that are in the context or were
        self._leaf: str | None = None
        self._moved: tuple[str, str] | None = None  # what hangs below the first belongs below the second
        self._branched = False
        self._clock: float | None = None
        self._said: set[tuple[Usage | None, str]] = set()
        self._spawned: set[str] = set()
        self._counts = dict.fromkeys(("copies", "failed", "opaque", "adrift", "back", "written"), 0)

    @property
    def agents(self) -> int:
        """How many agents the session spawned."""
        return len(self._spawned)

    def add(self, number: int, entry: dict[str, Any]) -> None:
        """Take one entry; its line number is for warnings."""
        kind = as_text(entry.get("type")) or ""
        key = as_text(entry.get("id")) or f"line {number}"
        self._order.append(key)
        if kind == "leaf":
            self._move(entry)
            return
        if kind == "session":
            self._branched |= as_text(entry.get("branchedFrom") or entry.get("parentSession")) is not None
            return
        self._go_to(key, entry)
        if kind == "message":
            self._message(number, key, entry)
        elif kind == "compaction":
            self._compaction(key, entry)
        elif kind == "custom_message":
            self._say(key, _parts(entry.get("content"), "user"))
        elif kind == "branch_summary":
            self._say(key, [Block("text", "user", as_text(entry.get("summary")) or "", edited="summary")])
        elif kind not in _SILENT:
            self._run.skipped[kind[:40] or "no type"] += 1
        self._clock = timestamp(entry.get("timestamp")) or self._clock

    def _move(self, entry: dict[str, Any]) -> None:
        """A leaf entry goes back to another entry, while the file goes on below the last one."""
        target, below = as_text(entry.get("targetId")), as_text(entry.get("appendParentId"))
        if target in self._parents and below in self._parents:
            self._moved = (str(below), str(target))

    def _go_to(self, key: str, entry: dict[str, Any]) -> None:
        """Follow an entry to its parent; where that is not the last entry, the context changes."""
        parent = self._leaf
        if "parentId" in entry:
            named = as_text(entry.get("parentId"))
            if self._moved is not None and named == self._moved[0]:
                named = self._moved[1]
            if named is None or named in self._parents:
                parent = named
            else:
                self._counts["adrift"] += 1
        if parent != self._leaf and self._leaf is not None:
            self._switch(parent)
        self._parents.setdefault(key, parent)
        self._leaf = key

    def _switch(self, leaf: str | None) -> None:
        wanted = self._path(leaf)
        run = self._run
        stay = {p for entry in wanted for p in self._at.get(entry, ())}
        gone = [p for p in run.live if p not in stay]
        if gone:
            run.remove("evict", gone, trigger="branch")
        for entry in wanted:
            lost = [p for p in self._at.get(entry, ()) if p not in run.live]
            if lost:  # it had left the context, and comes back with the branch
                self._counts["back"] += 1
                self._at[entry] = [*run.bring_back(lost)]

    def _path(self, leaf: str | None) -> list[str]:
        """Entries that the model sees at a leaf, in order."""
        path: list[str] = []
        seen: set[str] = set()
        while leaf is not None and leaf not in seen:
            seen.add(leaf)
            path.append(leaf)
            leaf = self._parents.get(leaf)
        path.reverse()
        last = max((i for i, entry in enumerate(path) if entry in self._cuts), default=None)
        if last is None:
            return path
        first, known = self._cuts[path[last]]
        kept = path[path.index(first) : last] if known and first in path[:last] else []
        return [path[last], *kept, *path[last + 1 :]]

    def _say(self, key: str, blocks: list[Block]) -> None:
        self._at.setdefault(key, []).extend(self._run.say(blocks))

    def _message(self, number: int, key: str, entry: dict[str, Any]) -> None:
        message = as_dict(entry.get("message"))
        role = as_text(message.get("role"))
        if role == "assistant":
            self._assistant(key, entry, message)
        elif role == "toolResult":
            self._result(key, message)
        elif role == "bashExecution":
            if message.get("excludeFromContext") is not True:
                text = f"Ran `{as_text(message.get('command')) or ''}`\n{as_text(message.get('output')) or ''}"
                self._say(key, [Block("text", "user", text)])
        elif role in ("user", "custom", "hookMessage", "branchSummary", "compactionSummary"):
            blocks = _parts(message.get("content", message.get("summary")), "user")
            self.is_agent |= not self._run.blocks and bool(blocks) and blocks[0].text.startswith("[Subagent Context]")
            if message.get("provenance"):
                self.agent_files |= {found for b in blocks for found in _FINISHED.findall(b.text)}
            self._say(key, blocks)
        else:
            self._run.warnings.append(f"line {number}: message without a known role; skipped")

    def _assistant(self, key: str, entry: dict[str, Any], message: dict[str, Any]) -> None:
        blocks = _parts(message.get("content"), "assistant")
        usage = _usage(message.get("usage"))
        model = as_text(message.get("model"))
        text = "\n".join(b.text for b in blocks if b.kind == "text")
        response = as_text(message.get("responseId"))
        # The delivery of an answer is entered again, with the text and the usage of its response.
        mirror = model in _GATEWAY
        if response is None and text and ((usage, text) in self._said if usage else mirror and self._was_said(text)):
            self._counts["copies"] += 1
        elif mirror:
            self._say(key, blocks)
        elif not blocks and usage is None:
            self._counts["failed"] += 1
        else:
            self._said.add((usage, text))
            self._counts["opaque"] += sum(b.kind == "thinking" and not b.text for b in blocks)
            self._counts["written"] += usage is not None and usage.cache_write_5m > 0
            first = len(self._run.blocks)
            self._run.respond(blocks, start=self._start(entry, message), model=model, usage=usage, id=response)
            self._at.setdefault(key, []).extend(range(first, len(self._run.blocks)))

    def _was_said(self, text: str) -> bool:
        return any(text == said for _, said in self._said)

    def _start(self, entry: dict[str, Any], message: dict[str, Any]) -> float | None:
        """A message is stamped when its request was sent, its entry when it was written down."""
        sent, written = epoch(message.get("timestamp")), timestamp(entry.get("timestamp"))
        if sent is not None and (written is None or sent <= written):
            return sent
        return self._clock if self._clock is not None else written

    def _result(self, key: str, message: dict[str, Any]) -> None:
        call_id = as_text(message.get("toolCallId"))
        parts = _parts(message.get("content"), "tool")
        text = "\n".join(b.text for b in parts if b.kind == "text")
        images = [replace(b, call_id=call_id) for b in parts if b.kind == "image"]
        result = Block("result", "tool", text, tool=as_text(message.get("toolName")), call_id=call_id)
        child = as_text(as_dict(message.get("details")).get("childSessionKey"))
        self._spawned |= {child} if child and message.get("toolName") == "sessions_spawn" else set()
        self._say(key, [result, *images])

    def _compaction(self, key: str, entry: dict[str, Any]) -> None:
        first = as_text(entry.get("firstKeptEntryId"))
        index = entry.get("firstKeptEntryIndex")
        if isinstance(index, int) and 0 <= index < len(self._order) and first is None:
            first = self._order[index]
        known = first in self._parents
        self._cuts[key] = (first, known)
        if not known:
            self._run.warnings.append("a compaction does not say what it kept; taken as nothing")
        stay = {p for e in self._path(key) for p in self._at.get(e, ())}
        text = as_text(entry.get("summary"))
        before = len(self._run.blocks)
        gone = [p for p in self._run.live if p not in stay]
        self._run.summarize(gone, [Block("summary", "user", text)] if text else [])
        self._at[key] = [*range(before, len(self._run.blocks))]

    def trace(
        self, name: str, source: str, kind: TraceKind, children: Sequence[Trace], warnings: Sequence[str]
    ) -> Trace:
        """The Trace of all entries so far."""
        trace = self._run.trace(name, source, kind, children)
        n = self._counts
        bare = sum(r.usage is None for r in trace.requests)
        remarks = [
            (n["copies"], "entries repeat text and usage of a response, for its delivery; counted once"),
            (n["failed"], "requests were aborted or refused before anything came back; not counted as requests"),
            (bare, "responses have no usage: they were aborted, or a relay did not report it"),
            (n["opaque"], "thinking blocks are encrypted: their size is not known"),
            (n["adrift"], "entries name a parent that is not in the file; read where they stand"),
            (n["back"], "entries came back into the context when the user went back to their branch"),
            (n["written"], "responses wrote to the cache for a time that is not recorded; counted as 5 minutes"),
            (
                sum(e.kind == "summary" for e in trace.edits),
                "summaries were written by calls that are not recorded: what they cost is not counted",
            ),
        ]
        said = [f"{count} {what}" for count, what in remarks if count > 0]
        if self._branched:
            said.append("the session was branched off another one: what came before is counted in both")
        return replace(trace, warnings=(*warnings, *trace.warnings, *said))


def _usage(raw: Any) -> Usage | None:
    """Usage of one message; all zeros stand for a response that never reported any."""
    raw = as_dict(raw)
    usage = Usage(
        tokens(raw.get("input")),
        tokens(raw.get("cacheRead")),
        tokens(raw.get("cacheWrite")),
        0,
        tokens(raw.get("output")),
    )
    return usage if usage.total_input + usage.output else None


def _parts(content: Any, role: Role) -> list[Block]:
    if isinstance(content, str):
        return [Block("text", role, content)] if content else []
    return [_part(part, role) for part in map(as_dict, as_list(content)) if part]


def _part(part: dict[str, Any], role: Role) -> Block:
    kind = part.get("type")
    if kind == "text":
        return Block("text", role, as_text(part.get("text")) or "")
    if kind == "thinking":
        return Block("thinking", "assistant", as_text(part.get("thinking")) or "")
    if kind == "toolCall":
        name = as_text(part.get("name")) or "unknown"
        given = part.get("arguments")
        text = f"{name} {json_text(given)}"
        return Block("call", "assistant", text, tool=name, args=short_args(given), call_id=as_text(part.get("id")))
    if kind == "image":
        return Block("image", role, data_url_image(f"data:{part.get('mimeType')};base64,{part.get('data')}"))
    return Block("text", role, json_text(part))
