"""One Codex rollout, line by line: from JSON lines to a Trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import floor
from typing import Any, NamedTuple

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.common import as_dict, as_text, timestamp, tokens
from labkit.record.formats.responses_items import ANSWERS, ITEM_TYPES, item_blocks, opaque
from labkit.record.trace import Block, Request, Trace, TraceKind, Usage

__all__ = ["Rollout"]

_SILENT = {"ghost_snapshot", "inter_agent_communication_metadata", "world_state"}
# Events for the screen: they repeat what the items say. Most lines of a rollout are these.
_SCREEN = {"agent_message", "agent_reasoning", "task_complete", "task_started", "user_message"}
_FROM_USER = {"agent_message", "compaction", "compaction_summary"}
_MAY_BE_OPAQUE = {*_FROM_USER, "message", "reasoning"}
_NOT_MODEL = ANSWERS | _FROM_USER


class _Count(NamedTuple):
    """A reading of the token counter; ``cached`` and ``written`` are parts of ``input``."""

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0

    def grown_from(self, other: _Count) -> _Count:
        return _Count(
            self.input - other.input,
            self.cached - other.cached,
            self.written - other.written,
            self.output - other.output,
        )

    @property
    def usage(self) -> Usage:
        cached = min(self.cached, self.input)
        written = min(self.written, self.input - cached)
        return Usage(self.input - cached - written, cached, written, 0, self.output)


def _count(raw: Any) -> _Count | None:
    if not isinstance(raw, dict) or "input_tokens" not in raw:
        return None
    return _Count(
        tokens(raw.get("input_tokens")),
        tokens(raw.get("cached_input_tokens")),
        tokens(raw.get("cache_write_input_tokens")),
        tokens(raw.get("output_tokens")),
    )


class Rollout:
    """Collects the lines of one rollout; :meth:`trace` makes the Trace.

    Attributes
    ----------
    agents : set of str
        Ids of the threads that this one spawned.
    is_agent : bool
        Whether another thread spawned this one.
    """

    def __init__(self) -> None:
        self.agents: set[str] = set()
        self.is_agent = False
        self._run = TraceBuilder()
        self._id: str | None = None
        self._model: str | None = None
        self._begun: Any = None  # when what is sent next was complete, as the log says it
        self._response = 0  # the request that still lacks its usage
        self._answering = False  # whether the last line was the model's
        self._total: _Count | None = None
        self._raw: Any = None
        self._loose: list[tuple[_Count, float | None]] = []
        self._summaries: list[Trace] = []
        self._copied_until: float | None = None
        self._spawns: set[str] = set()  # ids of the calls that spawn an agent
        self._unpriced = 0
        self._counts = dict.fromkeys(("repeated", "copied", "lower", "odd", "opaque", "turns"), 0)

    def add(self, number: int, line: dict[str, Any]) -> None:
        """Take one line; its number is for warnings."""
        kind = as_text(line.get("type"))
        payload = line.get("payload")
        if kind == "event_msg" and self._copied_until is None and self._says_nothing_new(payload):
            return
        time = line.get("timestamp")
        if payload is None and kind in ITEM_TYPES:
            kind, payload = "response_item", line
        elif payload is None and ("record_type" in line or "instructions" in line):
            kind, payload = "session_meta", line
        if kind in _SILENT:
            return
        if not isinstance(payload, dict):
            self._run.warnings.append(
                f"line {number}: {repr(kind[:40]) if kind else 'a line'} without a payload; skipped"
            )
            return
        if self._copied_until is not None and (timestamp(time) or 0.0) >= self._copied_until:
            self._copied_until = None
        if kind == "response_item":
            self._item(payload, time)
        elif kind == "event_msg":
            self._event(payload, time)
            return
        elif kind == "session_meta":
            self._meta(payload, timestamp(time))
        elif kind == "turn_context":
            self._model = as_text(payload.get("model")) or self._model
        elif kind == "compacted":
            self._compacted(payload)
        else:
            self._run.skipped[str(kind)[:40]] += 1
            return
        if not self._answering:
            self._begun = time

    def _start(self, time: Any) -> float | None:
        """When a request was sent: times are parsed here only, as most lines' are not needed."""
        return timestamp(self._begun) or timestamp(time)

    def _meta(self, payload: dict[str, Any], time: float | None) -> None:
        own = as_text(payload.get("id"))
        source = as_dict(payload.get("source"))
        if self._id is None:
            self._id = own or "unnamed"
            self.is_agent = "subagent" in source
            system = payload.get("base_instructions", payload.get("instructions"))
            text = as_text(as_dict(system).get("text")) or as_text(system)
            self._run.prefix(text)
        forked = as_text(payload.get("forked_from_id")) is not None
        # A forked thread opens with the history it inherited, stamped with the second of its creation.
        if not self._run.blocks and (forked or own != self._id):
            made = max((t for t in (time, timestamp(payload.get("timestamp"))) if t is not None), default=None)
            self._copied_until = None if made is None else floor(made) + 1.0

    def _item(self, item: dict[str, Any], time: Any) -> None:
        kind = as_text(item.get("type")) or ""
        if kind not in ITEM_TYPES:
            if kind not in _SILENT:
                self._run.skipped[kind[:40] or "item without a type"] += 1
            return
        if self._loose:
            self._settle()
        blocks = item_blocks(item)
        if kind in _MAY_BE_OPAQUE:
            self._counts["opaque"] += opaque(item)
        by_model = kind not in _NOT_MODEL and (kind != "message" or item.get("role") == "assistant")
        if not by_model or self._copied_until is not None:
            self._answering = False
            self._run.say(blocks)
        elif self._answering:
            self._run.go_on(blocks)
        else:
            self._unpriced += self._response > 0
            self._response = self._run.respond(blocks, start=self._start(time), model=self._model)
            self._answering = True
        if blocks and blocks[0].tool == "spawn_agent":
            self._spawns.add(blocks[0].call_id or "")
        elif self._spawns and kind in ANSWERS:
            self._note_agents(blocks)

    def _note_agents(self, blocks: list[Block]) -> None:
        for block in blocks:
            if block.kind == "result" and block.call_id in self._spawns:
                try:
                    agent = as_text(as_dict(json.loads(block.text)).get("agent_id"))
                except (ValueError, RecursionError):
                    continue
                self.agents |= {agent} if agent else set()

    def _event(self, event: dict[str, Any], time: Any) -> None:
        kind = event.get("type")
        if kind == "token_count":
            self._tokens(event.get("info"), time)
        elif kind == "collab_agent_spawn_end":
            agent = as_text(event.get("new_thread_id"))
            self.agents |= {agent} if agent else set()
        elif kind == "thread_rolled_back":
            self._roll_back(tokens(event.get("num_turns")))
        elif kind == "turn.completed" and isinstance(event.get("usage"), dict):
            self._counts["turns"] += 1

    def _says_nothing_new(self, event: Any) -> bool:
        """Whether an event is for the screen, or a reading like the one before: most lines of a rollout are."""
        kind = as_text(as_dict(event).get("type"))
        if kind == "token_count" and self._raw is not None:
            again: bool = as_dict(event.get("info")).get("total_token_usage") == self._raw
            self._counts["repeated"] += again
            return again
        return kind in _SCREEN

    def _tokens(self, info: Any, time: Any) -> None:
        if info is None:
            return
        raw = as_dict(info).get("total_token_usage")
        total = _count(raw)
        if total is None:
            self._counts["odd"] += 1
            return
        self._raw = raw
        before, self._total = self._total, total
        if self._copied_until is not None:
            self._counts["copied"] += 1
            return
        if total == before:
            self._counts["repeated"] += 1
            return
        grown = total if before is None else total.grown_from(before)
        if min(grown.input, grown.output) < 0:
            # The counter began again: after a compaction, or in a resumed file.
            self._counts["lower"] += 1
            grown = _count(as_dict(info).get("last_token_usage")) or total
        if grown == _Count():
            return
        if self._response:
            self._run.set_usage(self._response, grown.usage)
            self._response = 0
            self._answering = False
        else:
            self._loose.append((grown, self._start(time)))

    def _settle(self) -> None:
        """Usage that no item of the model came with is still a request."""
        for grown, start in self._loose:
            self._run.respond(start=start, model=self._model, usage=grown.usage)
        self._loose.clear()

    def _compacted(self, payload: dict[str, Any]) -> None:
        # The call that wrote the summary, where its tokens were counted just before.
        for grown, start in self._loose:
            request = Request(1, start, self._model, usage=grown.usage)
            name = f"summary-{len(self._summaries) + 1}"
            self._summaries.append(Trace(name, (), (request,), kind="compaction", source="Codex CLI"))
        self._loose.clear()
        self._response, self._answering = 0, False
        run = self._run
        history = payload.get("replacement_history")
        if not isinstance(history, list):
            gone = [p for p in run.live if run.blocks[p].role not in ("user", "system")]
            text = as_text(payload.get("message"))
            run.summarize(gone, [Block("text", "user", text)] if text else [])
            return
        items = list(map(as_dict, history))
        self._counts["opaque"] += sum(map(opaque, items))
        kept, new = run.match(block for item in items for block in item_blocks(item))
        run.summarize([p for p in run.live if p not in kept], new)

    def _roll_back(self, turns: int) -> None:
        """The user took back the last turns; their messages left the context."""
        run = self._run
        users = [p for p in run.live if run.blocks[p].role == "user" and run.blocks[p].kind == "text"]
        if turns and users:
            first = users[-turns] if turns <= len(users) else users[0]
            run.remove("evict", [p for p in run.live if p >= first], trigger="rolled back")

    def compactions(self) -> Sequence[Trace]:
        """Recorded calls that wrote a summary."""
        self._settle()
        return self._summaries

    def trace(
        self, name: str, source: str, kind: TraceKind, children: Sequence[Trace], warnings: Sequence[str]
    ) -> Trace:
        """The Trace of all lines so far."""
        self._settle()
        trace = self._run.trace(name, source, kind, children)
        return replace(trace, warnings=(*warnings, *trace.warnings, *self._remarks()))

    def _remarks(self) -> list[str]:
        n = self._counts
        bare = sum(r.usage is None for r in self._run.requests)
        lost = sum(e.kind == "summary" for e in self._run.edits) - len(self._summaries)
        remarks = [
            (n["repeated"], "token counts repeat the one before; counted once"),
            (n["copied"], "token counts were inherited from the thread this one was forked from; not counted"),
            (n["lower"], "times the token counter began again below its last reading"),
            (n["odd"], "token counts are of an unknown shape; not counted"),
            (n["turns"], "'turn.completed' events hold a sum over an unknown number of responses; not counted"),
            (n["opaque"], "items are encrypted: they are in the context with a size that is not known"),
            (bare, "responses have no token count of their own: their usage is not recorded"),
            (lost, "summaries were written by calls that are not recorded: what they cost is not counted"),
        ]
        return [f"{count} {what}" for count, what in remarks if count > 0]
