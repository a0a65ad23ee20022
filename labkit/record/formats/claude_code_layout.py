"""Placing the parts of a Claude Code thread one after the other: indices, positions, recorded edits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from labkit.record.formats.common import as_dict, as_list, as_text
from labkit.record.formats.quick import placed
from labkit.record.trace import Block, Edit, Request, Usage

__all__ = ["STUB", "Item", "Layout"]

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
        if item.counted:
            usage = item.usage
            if usage is not None and placeholder:
                usage = replace(usage, output_quality="placeholder")
            self.requests.append(Request(len(self.requests) + 1, item.start, item.model, 0, usage, item.id))
            self._awaits_summary = False
        for block, uuid in zip(item.blocks, item.uuids, strict=True):
            self._place(block, uuid)
        self._message += 1

    def _place(self, block: Block, uuid: str | None) -> None:
        position = len(self.blocks)
        self.blocks.append(placed(block, len(self.requests) + 1, self._message, block))
        self._live[position] = uuid
        if block.kind == "result" and block.call_id:
            self._results[block.call_id] = position

    def boundary(self, line: dict[str, Any]) -> None:
        if line.get("subtype") == "compact_boundary":
            self._compact(as_dict(line.get("compactMetadata")))
        else:
            self._clear(as_dict(line.get("microcompactMetadata")))

    def _compact(self, data: dict[str, Any]) -> None:
        kept = {u for u in as_list(as_dict(data.get("preservedMessages")).get("uuids")) if isinstance(u, str)}
        removed = tuple(p for p, uuid in self._live.items() if uuid not in kept)
        self.edits.append(Edit("summary", self._next, removed, trigger=as_text(data.get("trigger")) or ""))
        for position in removed:
            del self._live[position]
        self._awaits_summary = True

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

    @property
    def _next(self) -> int:
        return len(self.requests) + 1
