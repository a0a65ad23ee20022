"""Traffic of the Gemini API: requests, responses, streams, pairs of both, and Gemini CLI's recorded responses.

A request holds the whole conversation, so consecutive requests are told apart by what is new. Where
only responses were recorded, as in the CLI's test recordings, the trace has the model's side alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.common import as_dict, as_list, as_text, epoch, json_text, timestamp
from labkit.record.formats.gemini_parts import Ids, parts_blocks, usage_of
from labkit.record.formats.jsonl import first_objects, read_lines
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Block, Request, Trace

NAME = "Gemini API"

# What an agent of the CLI is started with, and how it ends.
_STARTS, _ENDS = {"delegate_to_agent", "invoke_agent"}, "complete_task"
_SNAPSHOT = "<state_snapshot>"


def matches(path: Path) -> bool:
    """Whether the file holds contents, candidates, or exchanges of both."""
    head = next(first_objects(path, lines=1), None)
    if head is not None and _known(head):
        return True
    document = whole_json(path)
    return _known(document) or (isinstance(document, list) and bool(document) and _known(document[0]))


def _known(value: Any) -> bool:
    entry = as_dict(value)
    history = as_list(entry.get("history"))
    if history:
        return _is_content(as_dict(history[0]))
    return _is_content(entry) or _request(entry) is not None or bool(_chunks(entry))


def _is_content(value: dict[str, Any]) -> bool:
    return isinstance(value.get("parts"), list) and as_text(value.get("role")) in ("user", "model", "function")


def _is_request(value: dict[str, Any]) -> bool:
    contents = as_list(value.get("contents"))
    return bool(contents) and isinstance(as_dict(contents[0]).get("parts"), list)


def _request(entry: dict[str, Any]) -> dict[str, Any] | None:
    inner = as_dict(entry.get("request"))
    return inner if _is_request(inner) else entry if _is_request(entry) else None


def _chunks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a response, of which a stream has several."""
    given = entry.get("response", entry)
    chunks = [as_dict(c) for c in (given if isinstance(given, list) else [given])]
    return [c for c in chunks if isinstance(c.get("candidates"), list) or isinstance(c.get("usageMetadata"), dict)]


def read(path: Path) -> Trace:
    """Read traffic in the order in which it was recorded.

    Parameters
    ----------
    path : Path
        JSON lines, or one JSON document: an exchange, a list of them, the chunks of one stream, or
        the contents of one conversation.

    Returns
    -------
    Trace
        Calls that only wrote a summary, and agents, are ``children``.
    """
    document = whole_json(path)
    warnings: list[str] = []
    if document is None:
        lines, warnings = read_lines(path)
        entries = [line for _, line in lines]
    else:
        entries = [as_dict(e) for e in (document if isinstance(document, list) else [document])]
        if len(entries) > 1 and all("candidates" in e and "response" not in e for e in entries):
            entries = [{"response": entries}]
    traffic = Traffic(path.stem)
    contents = [e for e in entries if _is_content(e)]
    if contents and len(contents) == len(entries):
        traffic.history(contents)
    else:
        for entry in entries:
            traffic.add(entry)
    return traffic.trace(f"{NAME}: {path.name}", warnings)


@dataclass
class _Thread:
    name: str
    run: TraceBuilder


class Traffic:
    """Collects exchanges; :meth:`trace` makes the Trace."""

    def __init__(self, name: str) -> None:
        self._threads = [_Thread(name, TraceBuilder())]
        self._children: list[Trace] = []
        self._ids = Ids()
        self._summary: list[Block] = []  # what the last call for a summary wrote
        self._thoughts = 0
        self._blind = 0
        self._open = False  # a request whose response has not come

    @property
    def _run(self) -> TraceBuilder:
        return self._threads[-1].run

    def add(self, entry: dict[str, Any]) -> None:
        """Take one entry: a request, a response, or both."""
        if isinstance(entry.get("history"), list):
            self.history(list(map(as_dict, entry["history"])))
            return
        request, chunks = _request(entry), _chunks(entry)
        if request is not None:
            self._sent(request)
        if chunks:
            self._answered(entry, chunks, blind=request is None and not self._open)
        elif request is None:
            self._run.skipped["entry that is neither request nor response"] += 1
        self._open = request is not None and not chunks

    def history(self, contents: list[dict[str, Any]]) -> None:
        """Take a conversation by itself: each of the model's contents was a response without recorded usage."""
        for content in contents:
            if content.get("role") == "model":
                self._run.respond(self._blocks(content, "assistant"))
            else:
                self._run.say(self._blocks(content, "user"))

    def _blocks(self, content: dict[str, Any], role: Any) -> list[Block]:
        blocks = parts_blocks(content.get("parts"), role, self._ids)
        self._thoughts += sum(b.kind == "thinking" for b in blocks)
        return [b for b in blocks if b.kind != "thinking"]

    def _sent(self, request: dict[str, Any]) -> None:
        """A request holds the whole conversation: what is in it and not in the context is new."""
        run = self._run
        system = as_dict(request.get("systemInstruction", request.get("system_instruction")))
        tools = request.get("tools", as_dict(request.get("config")).get("tools"))
        text = "".join(as_text(as_dict(p).get("text")) or "" for p in as_list(system.get("parts")))
        if text or tools:
            run.prefix(text or None, json_text(tools) if tools else None)
        self._ids = Ids()
        contents = list(map(as_dict, as_list(request.get("contents"))))
        messages = [self._blocks(c, "assistant" if c.get("role") == "model" else "user") for c in contents]
        kept, new = run.match(b for message in messages for b in message)
        gone = [p for p in run.live if p not in kept]
        if gone and any(_SNAPSHOT in b.text for b in new):
            run.summarize(gone, new, summary=next(i for i, b in enumerate(new) if _SNAPSHOT in b.text))
        else:
            if gone:
                run.remove("evict", gone, trigger="not sent again")
            for block in new:
                run.say([block])

    def _answered(self, entry: dict[str, Any], chunks: list[dict[str, Any]], blind: bool) -> None:
        candidates = [as_dict((as_list(c.get("candidates")) or [None])[0]) for c in chunks]
        parts = [p for c in candidates for p in as_list(as_dict(c.get("content")).get("parts"))]
        blocks = self._blocks({"parts": parts}, "assistant")
        # Counts in a stream are cumulative; a broken one ends with a chunk that lost some.
        usages = [u for u in (usage_of(c.get("usageMetadata")) for c in chunks) if u is not None]
        usage = max(reversed(usages), key=lambda u: u.total_input + u.output, default=None)
        model = next((m for c in chunks if (m := as_text(c.get("modelVersion")))), as_text(entry.get("model")))
        name = next((i for c in chunks if (i := as_text(c.get("responseId")))), None)
        start = timestamp(entry.get("timestamp")) or epoch(entry.get("timestamp"))
        if blind and entry.get("method") == "generateContent" and any(_SNAPSHOT in b.text for b in blocks):
            request = Request(1, start, model, usage=usage, id=name)
            children = len(self._children) + 1
            self._children.append(
                Trace(f"summary-{children}", _numbered(blocks), (request,), kind="compaction", source=NAME)
            )
            self._summary = blocks
            return
        self._compact()
        self._blind += blind
        self._run.respond(blocks, start=start, model=model, usage=usage, id=name)
        if blind:
            self._follow(blocks)

    def _compact(self) -> None:
        """In a record of responses alone, the summary stands for all that came before it."""
        if self._summary:
            text = "".join(b.text for b in self._summary if b.kind == "text")
            self._run.summarize(list(self._run.live), [Block("summary", "user", text)])
            self._summary = []

    def _follow(self, blocks: list[Block]) -> None:
        """In a record of responses alone, an agent's stand between the call that starts it and its last."""
        tools = {b.tool for b in blocks if b.kind == "call"}
        if _ENDS in tools and len(self._threads) > 1:
            self._end_thread()
        elif tools & _STARTS:
            self._threads.append(_Thread(f"agent-{len(self._children) + 1}", TraceBuilder()))

    def _end_thread(self) -> None:
        thread = self._threads.pop()
        self._children.append(thread.run.trace(thread.name, NAME, "subagent"))

    def trace(self, source: str, warnings: list[str]) -> Trace:
        """The Trace of everything so far."""
        while len(self._threads) > 1:
            self._end_thread()
        if self._open:
            self._run.respond()
        main = self._threads[0]
        trace = main.run.trace(main.name, source, "session", self._children)
        remarks = [
            (self._blind, "responses were recorded without their requests: what was sent is not in the record"),
            (self._thoughts, "thoughts were left out: they are counted as output, and are not sent again"),
            (len(self._children) * bool(self._blind), "agents or summaries were told apart by what the model wrote"),
        ]
        said = [f"{count} {what}" for count, what in remarks if count > 0]
        return replace(trace, warnings=(*warnings, *trace.warnings, *said))


def _numbered(blocks: list[Block]) -> tuple[Block, ...]:
    return tuple(replace(b, request=2, message=0) for b in blocks)
