"""Kimi Code CLI wire logs: JSON lines of what entered the context and of each step of the model.

Learned from recorded files of protocol 1.4. A step's usage stands in its end and again in a line of
its own, which is only counted for a compaction's call.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.chat import call_block, chat_blocks, chat_text
from labkit.record.formats.common import as_dict, as_list, as_text, epoch, json_text, tokens
from labkit.record.formats.jsonl import first_objects, read_lines
from labkit.record.trace import Block, Request, Trace, Usage

NAME = "Kimi CLI"

# Lines for the harness itself.
_SILENT = {
    "full_compaction.begin",
    "full_compaction.cancel",
    "full_compaction.complete",
    "metadata",
    "permission.record_approval_result",
    "permission.set_mode",
    "plan_mode.cancel",
    "plan_mode.enter",
    "plan_mode.exit",
    "tools.set_active_tools",
    "turn.prompt",
    "turn.steer",
}


def matches(path: Path) -> bool:
    """Whether one of the first lines could only come from this log."""
    return any(_is_ours(line) for line in first_objects(path, 5))


def _is_ours(line: dict[str, Any]) -> bool:
    kind = as_text(line.get("type")) or ""
    return kind in ("context.append_message", "context.append_loop_event") or (
        kind == "metadata" and "protocol_version" in line
    )


def read(path: Path) -> Trace:
    """Read a session.

    Parameters
    ----------
    path : Path
        A ``wire.jsonl``.

    Returns
    -------
    Trace
        ``children`` holds a Trace of kind ``compaction`` for each recorded call that wrote a summary.
        What a subagent spent stands in its own file and is not counted here.
    """
    lines, warnings = read_lines(path)
    source = f"{NAME}: {path.name}"
    wire = _Wire(source)
    wire.run.warnings += warnings
    for _, line in lines:
        wire.add(line)
    return wire.trace(path.stem)


class _Wire:
    """Collects lines; :meth:`trace` makes the Trace."""

    def __init__(self, source: str) -> None:
        self.run = TraceBuilder()
        self._source = source
        self._system: str | None = None
        self._tools: str | None = None
        self._asked: dict[str, Any] = {}  # the last request line
        self._parts: list[Block] = []
        self._results: list[Block] = []
        self._open = False
        self._unanswered = 0
        self._changed = 0
        self._prompts: list[int] = []  # positions of what the user typed
        self._children: list[Trace] = []

    def add(self, line: dict[str, Any]) -> None:
        """Take one line."""
        kind = as_text(line.get("type")) or "line of no type"
        if kind == "config.update":
            self._system = as_text(line.get("systemPrompt")) or self._system
        elif kind == "llm.tools_snapshot":
            tools = line.get("tools")
            self._tools = tools if isinstance(tools, str) else json_text(tools)
        elif kind == "llm.request":
            self._asked = line
        elif kind == "context.append_message":
            self._message(as_dict(line.get("message")))
        elif kind == "context.append_loop_event":
            self._event(as_dict(line.get("event")))
        elif kind == "context.apply_compaction":
            self._compact(line)
        elif kind == "context.clear":
            self._flush()
            self.run.remove("evict", list(self.run.live), trigger="manual")
        elif kind in ("context.undo", "micro_compaction.apply"):
            self._changed += 1
        elif kind == "usage.record":
            if self._asked.get("kind") == "compaction":
                self._compaction_call(line)
        elif kind not in _SILENT:
            self.run.skipped[kind[:40]] += 1

    def _message(self, message: dict[str, Any]) -> None:
        self._flush()
        calls = [{**as_dict(call), "function": as_dict(call)} for call in as_list(message.get("toolCalls"))]
        placed = self.run.say(chat_blocks({**message, "tool_calls": calls}))
        if as_dict(message.get("origin")).get("kind") == "user":
            self._prompts += placed

    def _event(self, event: dict[str, Any]) -> None:
        kind = as_text(event.get("type")) or "event of no type"
        if kind == "step.begin":
            self._flush()
            self._open = True
        elif kind == "content.part":
            part = as_dict(event.get("part"))
            if part.get("type") == "think":
                self._parts.append(Block("thinking", "assistant", as_text(part.get("think")) or ""))
            else:
                self._parts += chat_blocks({"role": "assistant", "content": [part]})
        elif kind == "tool.call":
            self._parts.append(call_block(event.get("name"), event.get("args"), event.get("toolCallId")))
        elif kind == "tool.result":
            result = as_dict(event.get("result"))
            texts = [_output(result.get("output")), as_text(result.get("note")) or ""]
            text = "\n".join(t for t in texts if t)
            self._results.append(Block("result", "tool", text, call_id=as_text(event.get("toolCallId"))))
        elif kind == "step.end":
            self._flush(_usage(event.get("usage")), as_text(event.get("messageId")), ended=True)
        else:
            self.run.skipped[kind[:40]] += 1

    def _flush(self, usage: Usage | None = None, id: str | None = None, ended: bool = False) -> None:
        """End a step: its response, then the results of its calls."""
        if ended or self._parts:
            self.run.prefix(self._system, self._tools)
            start, model = epoch(self._asked.get("time")), as_text(self._asked.get("model"))
            self.run.respond(self._parts, start=start, model=model, usage=usage, id=id)
        elif self._open:
            self._unanswered += 1
        for result in self._results:
            self.run.say([result])
        self._parts, self._results, self._open = [], [], False

    def _compact(self, line: dict[str, Any]) -> None:
        self._flush()
        count = tokens(line.get("keptUserMessageCount"))
        kept = set(self._prompts[-count:]) if count else set()
        text = as_text(line.get("contextSummary")) or as_text(line.get("summary")) or ""
        self.run.summarize(set(self.run.live) - kept, [Block("text", "user", text)], trigger="compaction")

    def _compaction_call(self, line: dict[str, Any]) -> None:
        request = Request(
            1,
            epoch(self._asked.get("time")),
            as_text(self._asked.get("model")),
            usage=_usage(line.get("usage")),
        )
        name = f"compaction {len(self._children) + 1}"
        self._children.append(Trace(name, (), (request,), kind="compaction", source=self._source))
        self._asked = {}

    def trace(self, name: str) -> Trace:
        """The Trace of the lines so far."""
        self._flush()
        warnings = self.run.warnings
        if self._unanswered:
            warnings.append(f"{self._unanswered} requests have no recorded answer: not counted")
        if self._changed:
            warnings.append(f"{self._changed} changes of the context (undone turns, cleared results) were not applied")
        missing = sum(e.kind == "summary" for e in self.run.edits) - len(self._children)
        if missing > 0:
            warnings.append(f"the calls that wrote {missing} summaries are not recorded: what they cost is not counted")
        agents = sum(b.kind == "result" and b.text.startswith("agent_id: ") for b in self.run.blocks)
        if agents:
            warnings.append(f"{agents} subagents have no transcript here: what they spent is not recorded")
        return self.run.trace(name, self._source, children=self._children)


def _output(value: Any) -> str:
    return chat_text(value) if isinstance(value, (str, list)) else "" if value is None else json_text(value)


def _usage(value: Any) -> Usage | None:
    raw = as_dict(value)
    usage = Usage(
        uncached=tokens(raw.get("inputOther")),
        cache_read=tokens(raw.get("inputCacheRead")),
        cache_write_5m=tokens(raw.get("inputCacheCreation")),
        output=tokens(raw.get("output")),
    )
    return usage if usage.total_input + usage.output else None
