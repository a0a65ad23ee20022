"""Placing the parts of a Claude Code thread one after the other: indices, positions, recorded edits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from labkit.record.formats.anthropic_usage import Sampling, samplings
from labkit.record.formats.common import as_dict, as_list, as_text
from labkit.record.formats.quick import placed
from labkit.record.trace import Block, Edit, Request, Trace, Usage

__all__ = ["REWIND", "STUB", "Item", "Layout"]

REWIND = "rewind"
"""Kind of a boundary that no line records: a second prompt below one line says it."""

STUB = "[Old tool result content cleared]"
"""What Claude Code leaves where it cleared a result; the file keeps the result in full."""


@dataclass
class Item:
    """A stretch of a thread: a response, what the user's side said, or a boundary."""

    blocks: list[Block] = field(default_factory=list)
    uuids: list[str | None] = field(default_factory=list)
    key: str | None = None
    start: float | None = None
    model: str | None = None
    id: str | None = None
    usage: Usage | None = None
    raw: dict[str, Any] = field(default_factory=dict)  # the usage as recorded
    stopped: bool = False
    counted: bool = True
    boundary: dict[str, Any] | None = None

    def add(self, blocks: list[Block], uuid: str | None) -> None:
        self.blocks += blocks
        self.uuids += [uuid] * len(blocks)


class Layout:
    """Places items one after the other: request indices, message numbers, positions, edits."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.requests: list[Request] = []
        self.edits: list[Edit] = []
        self.beside: list[Trace] = []
        self.warnings: list[str] = []
        self._message = 0
        self._live: dict[int, str | None] = {}  # position -> uuid of its line
        self._results: dict[str, int] = {}
        self._awaits_summary = False

    def say(self, item: Item) -> None:
        for block, uuid in zip(item.blocks, item.uuids, strict=True):
            if block.kind == "summary":
                if not self._awaits_summary and self._live:
                    self._compact({})
                if self._awaits_summary:
                    self.edits[-1] = replace(self.edits[-1], summary=len(self.blocks))
                    self._awaits_summary = False
            self._place(block, uuid)
        self._message += 1

    def respond(self, item: Item, placeholder: bool) -> None:
        """Place a response; one that took several passes is as many requests, each with its own input."""
        own = self._passes(item)
        uuids = iter(item.uuids)
        for part in own:
            if item.counted:
                usage = part.usage
                if usage is not None and placeholder:
                    usage = replace(usage, output_quality="placeholder")
                self.requests.append(Request(self._next, item.start, part.model, 0, usage, item.id))
                self._awaits_summary = False
            for block in part.blocks:
                self._place(block, next(uuids))
            self._message += 1

    def _passes(self, item: Item) -> list[Sampling]:
        """Passes over the conversation itself; what the provider asked beside it becomes a child."""
        whole = [Sampling("message", item.usage, item.model, tuple(item.blocks))]
        if not item.raw.get("iterations") or not item.counted:
            return whole
        own, beside, _ = samplings({"model": item.model, "usage": item.raw}, item.blocks)
        for part in beside:
            if part.usage is not None:
                child = part.trace(f"{part.kind}-{len(self.beside) + 1}", "Claude Code")
                # A resumed copy repeats it under the same id.
                asked = replace(child.requests[0], start=item.start, id=f"{item.id or item.key} {part.kind}")
                self.beside.append(replace(child, requests=(asked,)))
        return own if len(own) > 1 else whole

    def _place(self, block: Block, uuid: str | None) -> None:
        position = len(self.blocks)
        self.blocks.append(placed(block, len(self.requests) + 1, self._message, block))
        self._live[position] = uuid
        if block.kind == "result" and block.call_id:
            self._results[block.call_id] = position

    def boundary(self, line: dict[str, Any]) -> None:
        if line.get("subtype") == "compact_boundary":
            self._compact(as_dict(line.get("compactMetadata")))
        elif line.get("subtype") == REWIND:
            self._rewind(as_text(line.get("to")))
        else:
            self._clear(as_dict(line.get("microcompactMetadata")))

    def _compact(self, data: dict[str, Any]) -> None:
        kept = {u for u in as_list(as_dict(data.get("preservedMessages")).get("uuids")) if isinstance(u, str)}
        kept = kept or self._segment(as_dict(data.get("preservedSegment")))
        removed = tuple(p for p, uuid in self._live.items() if uuid not in kept)
        self.edits.append(Edit("summary", self._next, removed, trigger=as_text(data.get("trigger")) or ""))
        for position in removed:
            del self._live[position]
        self._awaits_summary = True

    def _segment(self, data: dict[str, Any]) -> set[str]:
        """Uuids from the first kept line to the last; some versions name these two only."""
        live = [uuid for uuid in self._live.values() if uuid is not None]
        head, tail = as_text(data.get("headUuid")), as_text(data.get("tailUuid"))
        if head not in live:
            return set()
        kept = live[live.index(head) :]  # the last one may be written after the boundary
        return set(kept[: len(kept) - kept[::-1].index(tail)] if tail in kept else kept)

    def _clear(self, data: dict[str, Any]) -> None:
        done = {p for e in self.edits if e.kind == "clear" for p in e.blocks}
        found: list[int] = []
        missing = 0
        for call_id in as_list(data.get("compactedToolIds")):
            position = self._results.get(call_id) if isinstance(call_id, str) else None
            if position is None or position not in self._live:
                missing += 1
            elif position not in done:
                found.append(position)
        attached = {u for u in as_list(data.get("clearedAttachmentUUIDs")) if isinstance(u, str)}
        found += [p for p, uuid in self._live.items() if uuid in attached and p not in found]
        trigger = as_text(data.get("trigger")) or ""
        self.edits.append(Edit("clear", self._next, tuple(sorted(found)), stub=STUB, trigger=trigger))
        if missing:
            self.warnings.append(
                f"the clearing before request {self._next} names {missing} results that are not in the context here: "
                "it is applied to the others only"
            )

    def _rewind(self, prompt: str | None) -> None:
        """The user went back to before a prompt: it and all that followed left the context."""
        first = next((p for p, uuid in self._live.items() if uuid == prompt), None)
        removed = tuple(p for p in self._live if first is not None and p >= first)
        if removed:
            self.edits.append(Edit("evict", self._next, removed, trigger="rewind"))
        for position in removed:
            del self._live[position]

    @property
    def _next(self) -> int:
        return len(self.requests) + 1
