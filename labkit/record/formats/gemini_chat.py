"""One chat of Gemini CLI, record by record: from messages and patches to a Trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.common import as_dict, as_list, as_text, timestamp
from labkit.record.formats.gemini_parts import Ids, call_block, parts_blocks, usage_of
from labkit.record.trace import Block, Trace, TraceKind

__all__ = ["Chat"]

_SHOWN = {"error", "info", "warning"}
_SNAPSHOT = "<state_snapshot>"


class Chat:
    """Collects the records of one chat; :meth:`trace` makes the Trace.

    Parameters
    ----------
    final : mapping of str to dict
        Each message as it was last written, by id.

    Attributes
    ----------
    session, kind : str, optional
        From the header.
    """

    def __init__(self, final: Mapping[str, dict[str, Any]]) -> None:
        self.session: str | None = None
        self.kind: str | None = None
        self._final = final
        self._run = TraceBuilder()
        self._ids = Ids()
        self._at: dict[str, list[int]] = {}  # message -> its positions
        self._clock: float | None = None
        self._unfinished = False  # the last response has neither calls nor anything after it
        self._thoughts = 0
        self._compressed = 0

    def add(self, record: dict[str, Any]) -> None:
        """Take one record: the header, a message, a patch or a rewind; a whole chat is a header with messages."""
        if isinstance(record.get("$rewindTo"), str):
            self._rewind(record["$rewindTo"])
        elif isinstance(record.get("$set"), dict):
            messages = record["$set"].get("messages")
            if isinstance(messages, list):
                self._replace(list(map(as_dict, messages)))
        elif isinstance(record.get("id"), str) and "type" in record:
            self._message(record)
        elif "sessionId" in record:
            self.session = as_text(record.get("sessionId")) or self.session
            self.kind = as_text(record.get("kind")) or self.kind
            for message in as_list(record.get("messages")):
                self._message(as_dict(message))
        else:
            self._run.skipped["record without an id"] += 1

    def _message(self, message: dict[str, Any]) -> None:
        key = as_text(message.get("id")) or f"message {len(self._at) + 1}"
        if key in self._at:
            return
        message = self._final.get(key, message)
        kind = as_text(message.get("type")) or ""
        first = len(self._run.blocks)
        if kind == "user":
            self._run.say(self._blocks(message, "content", "user"))
            self._unfinished = False
            self._tick(timestamp(message.get("timestamp")))
        elif kind in ("gemini", "model"):
            self._respond(message)
        elif kind in _SHOWN:
            self._compressed += kind == "info" and "history compressed" in str(message.get("content"))
        else:
            self._run.skipped[kind[:40] or "message without a type"] += 1
            return
        self._at[key] = [*range(first, len(self._run.blocks))]

    def _blocks(self, message: dict[str, Any], key: str, role: Any) -> list[Block]:
        return parts_blocks(message.get(key), role, self._ids)

    def _respond(self, message: dict[str, Any]) -> None:
        time = timestamp(message.get("timestamp"))
        start = self._clock if self._clock is not None else time
        self._tick(time)
        calls, results = self._calls(message)
        said = self._blocks(message, "content" if message.get("content") else "parts", "assistant")
        self._thoughts += len(as_list(message.get("thoughts"))) + sum(b.kind == "thinking" for b in said)
        recorded = {b.call_id for b in calls}
        texts = [b for b in said if b.kind not in ("thinking", "result")]
        texts = [b for b in texts if b.kind != "call" or b.call_id not in recorded]
        usage = usage_of(message.get("tokens"))
        bare = usage is None and not texts and not message.get("thoughts")
        if bare and calls and self._unfinished:
            # A note came between: the calls of a response were then written as a message of their own.
            self._run.go_on(calls)
        else:
            self._run.respond([*texts, *calls], start=start, model=as_text(message.get("model")), usage=usage)
        self._unfinished = not any(b.kind == "call" for b in [*texts, *calls])
        if results:
            self._run.say(results)

    def _calls(self, message: dict[str, Any]) -> tuple[list[Block], list[Block]]:
        calls, results = [], []
        for call in map(as_dict, as_list(message.get("toolCalls"))):
            name = as_text(call.get("name")) or "unknown"
            key = as_text(call.get("id")) or self._ids.call(name)
            calls.append(call_block(name, call.get("args"), key))
            result = call.get("result")
            answer = [b for b in parts_blocks(result, "tool", self._ids) if b.kind != "thinking"]
            if isinstance(call.get("resultDisplay"), str) and not answer:
                answer = [Block("text", "tool", call["resultDisplay"])]
            # A result may be a bare text; whatever its shape, it answers this call.
            answer = [replace(b, kind="result" if b.kind == "text" else b.kind, call_id=key) for b in answer]
            results += answer[:1] + [b for b in answer[1:] if b.kind == "image"]
            self._tick(timestamp(call.get("timestamp")))
        return calls, results

    def _tick(self, time: float | None) -> None:
        if time is not None:
            self._clock = time if self._clock is None else max(self._clock, time)

    def _rewind(self, target: str) -> None:
        """The user went back: the target and what follows left the context; an unknown target clears it."""
        first = min(self._at.get(target, ()), default=0 if target not in self._at else len(self._run.blocks))
        self._run.remove("evict", [p for p in self._run.live if p >= first], trigger="rewound")
        self._unfinished = False

    def _replace(self, messages: list[dict[str, Any]]) -> None:
        """A patch that replaces the context: a compression, a preamble, results that were shortened."""
        run = self._run
        kept: set[int] = set()
        unknown: list[dict[str, Any]] = []
        for message in messages:
            positions = self._at.get(as_text(message.get("id")) or "")
            if positions and all(p in run.live for p in positions):
                kept.update(positions)
                self._shorten(positions, message)
            elif as_text(message.get("type")) not in _SHOWN:
                unknown.append(message)
        blocks: list[Block] = []
        for message in unknown:
            calls, results = self._calls(message)
            role = "user" if message.get("type") == "user" else "assistant"
            blocks += [b for b in self._blocks(message, "content", role) if b.kind != "thinking"] + calls + results
        same, new = run.match(blocks)
        gone = [p for p in run.live if p not in kept | same]
        before = len(run.blocks)
        if gone and new:
            summary = next((i for i, b in enumerate(new) if _SNAPSHOT in b.text), 0)
            run.summarize(gone, new, summary=summary)
        elif gone:
            run.remove("evict", gone, trigger="patched")
        elif new:
            run.say(new)
        for message in unknown:
            key = as_text(message.get("id"))
            if key is not None:
                self._at[key] = [*range(before, len(run.blocks))]
        self._unfinished = False

    def _shorten(self, positions: list[int], message: dict[str, Any]) -> None:
        """Note results that a patch holds in a shorter form than the one that was sent before."""
        _, results = self._calls(message)
        texts = {b.call_id: b.text for b in results if b.kind == "result"}
        for position in positions:
            block = self._run.blocks[position]
            text = texts.get(block.call_id) if block.kind == "result" else None
            if text is not None and text != block.text:
                self._run.remove("cap", [position], stub=text, trigger="patched")

    def trace(
        self, name: str, source: str, kind: TraceKind, children: Sequence[Trace], warnings: Sequence[str]
    ) -> Trace:
        """The Trace of all records so far."""
        trace = self._run.trace(name, source, kind, children)
        summaries = sum(e.kind == "summary" for e in trace.edits)
        bare = sum(r.usage is None for r in trace.requests)
        remarks = [
            (bare, "responses have no token counts: their usage is not recorded"),
            (self._thoughts, "thoughts were left out: they are counted as output, and are not sent again"),
            (summaries, "summaries were written by calls that are not recorded: what they cost is not counted"),
            (self._compressed - summaries, "compressions are noted without what they removed; they are not applied"),
        ]
        said = [f"{count} {what}" for count, what in remarks if count > 0]
        return replace(trace, warnings=(*warnings, *trace.warnings, *said))
