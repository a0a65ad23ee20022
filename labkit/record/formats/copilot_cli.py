"""GitHub Copilot CLI sessions (``events.jsonl``): a line an event.

Learned from recorded files of version 1.0. A message records the tokens it put out; what went in is
known for the whole session only.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.chat import call_block
from labkit.record.formats.common import as_dict, as_list, as_text, json_text, timestamp, tokens
from labkit.record.formats.jsonl import first_objects, read_lines
from labkit.record.trace import Block, Request, Trace, Usage

NAME = "Copilot CLI"

# Events that tell people or the program what goes on; the model never sees them.
_SILENT = {
    "abort",
    "assistant.turn_end",
    "assistant.turn_start",
    "hook.end",
    "hook.start",
    "subagent.completed",
    "subagent.failed",
    "subagent.started",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.execution_start",
}


def matches(path: Path) -> bool:
    """Whether one of the first lines could only come from this program."""
    return any(_is_ours(line) for line in first_objects(path, 5))


def _is_ours(line: dict[str, Any]) -> bool:
    kind = as_text(line.get("type")) or ""
    data = line.get("data")
    if not isinstance(data, dict) or "parentId" not in line:
        return False
    return kind.startswith(("session.", "assistant.", "user.message", "tool.execution_", "system.message"))


def read(path: Path) -> Trace:
    """Read a session.

    Parameters
    ----------
    path : Path
        An ``events.jsonl``.

    Returns
    -------
    Trace
        ``children`` holds a Trace for each subagent, told apart by the call that started it, and
        one for each recorded call that wrote a summary.
    """
    lines, warnings = read_lines(path)
    session = _Session(f"{NAME}: {path.name}")
    session.main.run.warnings += warnings
    for _, line in lines:
        session.add(line)
    return session.trace(path.stem)


class _Thread:
    """The main thread or one subagent's."""

    def __init__(self) -> None:
        self.run = TraceBuilder()
        self.reasoning: str | None = None
        self.key: str | None = None  # the call of the API that the last message belongs to

    def respond(self, data: dict[str, Any], model: str | None, start: float | None) -> None:
        thought = as_text(data.get("reasoningText")) or self.reasoning
        self.reasoning = None
        blocks = [Block("thinking", "assistant", thought)] if thought else []
        content = as_text(data.get("content"))
        blocks += [Block("text", "assistant", content)] if content else []
        for item in as_list(data.get("toolRequests")):
            call = as_dict(item)
            blocks.append(call_block(call.get("name"), call.get("arguments"), call.get("toolCallId")))
        key = as_text(data.get("apiCallId")) or as_text(data.get("requestId")) or as_text(data.get("messageId"))
        output = tokens(data.get("outputTokens"))
        usage = Usage(output=output, input_quality="absent") if output else None
        if key is not None and key == self.key:  # a response in several pieces
            self.run.go_on(blocks)
            before = self.run.requests[-1].usage
            if usage is not None and (before is None or usage.output > before.output):
                self.run.set_usage(len(self.run.requests), usage)
            return
        self.run.respond(blocks, start=start, model=model, usage=usage, id=key)
        self.key = key

    def say(self, blocks: list[Block]) -> None:
        self.run.say(blocks)
        self.key = None


class _Session:
    def __init__(self, source: str) -> None:
        self.main = _Thread()
        self._agents: dict[str, _Thread] = {}
        self._source = source
        self._model: str | None = None
        self._clock: float | None = None
        self._children: list[Trace] = []
        self._notes = 0
        self._cut = 0

    def add(self, line: dict[str, Any]) -> None:
        """Take one event."""
        kind = as_text(line.get("type")) or "event of no type"
        data = as_dict(line.get("data"))
        parent = as_text(data.get("parentToolCallId"))
        thread = self.main if parent is None else self._agents.setdefault(parent, _Thread())
        if kind == "system.message":
            thread.run.prefix(as_text(data.get("content")))
        elif kind == "user.message":
            text = as_text(data.get("transformedContent")) or as_text(data.get("content")) or ""
            thread.say([Block("text", "user", text)])
        elif kind == "assistant.reasoning":
            thread.reasoning = as_text(data.get("content"))
        elif kind == "assistant.message":
            thread.respond(data, as_text(data.get("model")) or self._model, self._clock)
        elif kind == "assistant.usage":
            if thread.run.requests:
                thread.run.set_usage(len(thread.run.requests), _usage(data))
        elif kind == "tool.execution_complete":
            thread.say([_result(data)])
        elif kind == "session.compaction_complete":
            self._compact(data)
        elif kind == "session.truncation":
            self._cut += tokens(data.get("messagesRemovedDuringTruncation"))
        elif kind == "session.shutdown":
            self._total(data)
        elif kind == "system.notification":
            self._notes += 1
        elif kind.startswith("session."):
            self._model = as_text(data.get("selectedModel")) or as_text(data.get("newModel")) or self._model
        elif kind not in _SILENT:
            self.main.run.skipped[kind[:40]] += 1
        time = timestamp(line.get("timestamp"))
        self._clock = time if time is not None else self._clock

    def _compact(self, data: dict[str, Any]) -> None:
        if data.get("success") is False:
            return
        summary = as_text(data.get("summaryContent"))
        run = self.main.run
        if summary:
            run.summarize(list(run.live), [Block("text", "user", summary)], trigger="compaction")
        else:
            run.remove("summary", list(run.live), trigger="compaction")
            run.warnings.append("a compaction is recorded without its summary: the context after it is not known")
        spent = as_dict(data.get("compactionTokensUsed"))
        names = {"inputTokens": "input", "outputTokens": "output", "cacheReadTokens": "cachedInput"}
        usage = _usage({new: spent.get(new, spent.get(old)) for new, old in names.items()})
        if usage is None:
            run.warnings.append("the call that wrote a summary is not recorded: what it cost is not counted")
            return
        request = Request(1, self._clock, as_text(spent.get("model")) or self._model, usage=usage)
        name = f"compaction {len(self._children) + 1}"
        self._children.append(Trace(name, (), (request,), kind="compaction", source=self._source))

    def _total(self, data: dict[str, Any]) -> None:
        details = {key: tokens(as_dict(v).get("tokenCount")) for key, v in as_dict(data.get("tokenDetails")).items()}
        if any(details.values()):
            listed = ", ".join(f"{count:,} {key.replace('_', ' ')}" for key, count in details.items())
            self.main.run.warnings.append(f"input tokens are recorded for the whole session only: {listed}"[:300])

    def trace(self, name: str) -> Trace:
        """The Trace of the events so far."""
        run = self.main.run
        if self._cut:
            run.warnings.append(f"the harness cut {self._cut} messages: which ones is not recorded, all are kept here")
        if self._notes:
            run.warnings.append(f"{self._notes} notifications: whether the model saw them is not recorded")
        agents = [
            thread.run.trace(f"agent {number}", self._source, "subagent")
            for number, thread in enumerate(self._agents.values(), 1)
        ]
        return run.trace(name, self._source, children=[*agents, *self._children])


def _result(data: dict[str, Any]) -> Block:
    result = data.get("result", data.get("error"))
    inner = as_dict(result)
    text = as_text(inner.get("content")) or as_text(inner.get("message"))
    if text is None:
        text = result if isinstance(result, str) else json_text(result) if inner else ""
    return Block("result", "tool", text, call_id=as_text(data.get("toolCallId")))


def _usage(data: dict[str, Any]) -> Usage | None:
    """Usage of an event that has it whole; its input includes what was read from the cache."""
    read, written = tokens(data.get("cacheReadTokens")), tokens(data.get("cacheWriteTokens"))
    given = tokens(data.get("inputTokens"))
    usage = Usage(
        uncached=given - read - written if given >= read + written else given,
        cache_read=read,
        cache_write_5m=written,
        output=tokens(data.get("outputTokens")),
    )
    if not usage.total_input:
        usage = replace(usage, input_quality="absent")
    return usage if usage.total_input + usage.output else None
