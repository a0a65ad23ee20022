"""One thread of OpenHands events: from actions and observations to a Trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.chat import call_block, chat_blocks, chat_usage
from labkit.record.formats.common import as_dict, as_list, as_text, json_text, timestamp, tokens
from labkit.record.trace import Block, Request, Trace, TraceKind, Usage

__all__ = ["Thread", "uncounted"]

# Events of the user interface and the controller, which never reach the model.
_SILENT = {
    "agent_state_changed",
    "change_agent_state",
    "condensation_request",
    "loop_recovery",
    "null",
    "pause",
    "resume",
    "start",
    "stop",
}

# What an action's arguments hold beside what the model wrote.
_NOT_SAID = {"thought", "blocking", "confirmation_state", "hidden", "is_static", "translated_ipython_code"}


class Thread:
    """Collects events; :meth:`trace` makes the Trace.

    Parameters
    ----------
    listed : mapping of str to Usage
        Usage by response id, from the metrics of the file.
    source : str
        The format and the file.
    """

    def __init__(self, listed: Mapping[str, Usage], source: str) -> None:
        self.run = TraceBuilder()
        self._source = source
        self._listed = listed
        self._responses: set[str] = set()
        self._places: dict[int, list[int]] = {}  # event id -> positions of its blocks
        self._calls: dict[int, str] = {}  # event id -> id of its call
        self._last_call: str | None = None
        self._clock: float | None = None
        self._before = (0, 0, 0, 0)
        self._knowledge = 0
        self._screens = 0
        self._delegate: Thread | None = None
        self._children: list[Trace] = []

    def add(self, event: dict[str, Any]) -> None:
        """Take one event."""
        kind = as_text(event.get("observation")) or as_text(event.get("action")) or "event of no kind"
        if self._delegate is not None and not ("observation" in event and kind == "delegate"):
            self._delegate.add(event)
            return
        if "observation" in event:
            self._observation(kind, event)
        else:
            self._action(kind, event, as_dict(event.get("args")))
        time = timestamp(event.get("timestamp"))
        if time is not None:
            self._clock = time if self._clock is None else max(self._clock, time)

    def _action(self, kind: str, event: dict[str, Any], args: dict[str, Any]) -> None:
        if kind == "system":
            listed = as_list(args.get("tools"))
            self.run.prefix(as_text(args.get("content")), json_text(listed) if listed else None)
        elif kind == "message" and event.get("source") != "agent":
            blocks = [Block("text", "user", as_text(args.get("content")) or as_text(event.get("message")) or "")]
            blocks += [Block("image", "user", "[image]") for _ in as_list(args.get("image_urls"))]
            self._note(event, self.run.say(blocks))
        elif kind == "condensation":
            self._condense(args)
        elif kind in _SILENT or kind == "recall":
            return
        elif event.get("source") == "agent" or "tool_call_metadata" in event:
            self._respond(kind, event, args)
            if kind == "delegate":
                self._delegate = Thread({}, self._source)
                self._delegate._clock = self._clock
        else:
            # What the user ran by hand is shown to the model as text.
            text = f"{kind} {json_text(_said(args))}"
            self._note(event, self.run.say([Block("text", "user", text)]))

    def _respond(self, kind: str, event: dict[str, Any], args: dict[str, Any]) -> None:
        data = as_dict(event.get("tool_call_metadata"))
        response = as_dict(data.get("model_response"))
        call_id = as_text(data.get("tool_call_id"))
        key = as_text(response.get("id"))
        number = event.get("id")
        if call_id is not None and isinstance(number, int):
            self._calls[number] = call_id
        if key is None or key not in self._responses:
            message = as_dict(as_dict((as_list(response.get("choices")) or [None])[0]).get("message"))
            blocks = chat_blocks({**message, "role": "assistant"}) if message else []
            if not blocks:
                call_id = call_id or f"event-{number if isinstance(number, int) else len(self.run.requests)}"
                if isinstance(number, int):
                    self._calls[number] = call_id
                blocks = _written(kind, event, args, call_id)
            usage = self._usage(response, key, event)
            first = len(self.run.blocks)
            model = as_text(response.get("model"))
            self.run.respond(blocks, start=self._clock, model=model, usage=usage, id=key)
            self._note(event, range(first, len(self.run.blocks)))
            if key is not None:
                self._responses.add(key)
        else:
            self._note(event, self._position(call_id))
        calls = [b.call_id for b in self.run.blocks[-8:] if b.kind == "call" and b.call_id]
        self._last_call = call_id or (calls[-1] if calls else None)

    def _usage(self, response: dict[str, Any], key: str | None, event: dict[str, Any]) -> Usage | None:
        """Usage of a response: its own, else the metrics', else what the running total grew by."""
        total = as_dict(as_dict(event.get("llm_metrics")).get("accumulated_token_usage"))
        names = ("prompt_tokens", "cache_read_tokens", "cache_write_tokens", "completion_tokens")
        now = tuple(tokens(total.get(name)) for name in names)
        grown = dict(zip(names, (a - b for a, b in zip(now, self._before, strict=True)), strict=True))
        if total:
            self._before = (now[0], now[1], now[2], now[3])
        return (
            chat_usage(response.get("usage")) or self._listed.get(key or "") or (chat_usage(grown) if total else None)
        )

    def _position(self, call_id: str | None) -> list[int]:
        for position in range(len(self.run.blocks) - 1, -1, -1):
            if self.run.blocks[position].kind == "call" and self.run.blocks[position].call_id == call_id:
                return [position]
        return []

    def _note(self, event: dict[str, Any], positions: range | list[int]) -> None:
        number = event.get("id")
        if isinstance(number, int):
            self._places.setdefault(number, []).extend(positions)

    def _observation(self, kind: str, event: dict[str, Any]) -> None:
        if kind == "delegate" and self._delegate is not None:
            self._end_delegate(self._delegate)
        if kind == "recall":
            self._knowledge += bool(as_list(as_dict(event.get("extras")).get("microagent_knowledge")))
        if kind in _SILENT or kind in ("recall", "condense"):
            return
        extras = as_dict(event.get("extras"))
        self._screens += bool(as_text(extras.get("screenshot")))
        text = _shown(event, extras)
        call_id = as_text(as_dict(event.get("tool_call_metadata")).get("tool_call_id"))
        cause = event.get("cause")
        if call_id is None:
            call_id = self._calls.get(cause) if isinstance(cause, int) else self._last_call
        self._last_call = None
        block = Block("result", "tool", text, call_id=call_id) if call_id else Block("text", "user", text)
        self._note(event, self.run.say([block]))

    def _condense(self, args: dict[str, Any]) -> None:
        first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
        listed = as_list(args.get("forgotten_event_ids"))
        if isinstance(first, int) and isinstance(last, int):
            forgotten = {number for number in self._places if first <= number <= last}
        else:
            forgotten = {number for number in listed if isinstance(number, int)}
        positions = [p for number in forgotten for p in self._places.get(number, ())]
        summary = as_text(args.get("summary"))
        if summary:
            self.run.summarize(positions, [Block("text", "user", summary)], trigger="condenser")
        else:
            self.run.remove("evict", positions, trigger="condenser")

    def _end_delegate(self, delegate: Thread) -> None:
        self._children.append(delegate.trace(f"delegate {len(self._children) + 1}", "subagent"))
        self._delegate = None

    def trace(self, name: str, kind: TraceKind = "session") -> Trace:
        """The Trace of the events so far."""
        if self._delegate is not None:
            self._end_delegate(self._delegate)
        rest = [(key, usage) for key, usage in self._listed.items() if key not in self._responses]
        summaries = sum(edit.kind == "summary" for edit in self.run.edits)
        if rest:
            self._children.append(uncounted(rest, "compaction" if summaries else "subagent", self._source))
            self.run.warnings.append(
                f"{len(rest)} calls are in the metrics but in no event: counted in a child of their own"
            )
        elif summaries:
            self.run.warnings.append(
                f"the calls that wrote {summaries} summaries are not recorded: what they cost is not counted"
            )
        if self._knowledge:
            self.run.warnings.append(
                f"{self._knowledge} recalls hold knowledge that the harness words into the prompt: not counted"
            )
        if self._screens:
            self.run.warnings.append(f"{self._screens} screenshots: whether the model saw them is not recorded")
        return self.run.trace(name, self._source, kind, self._children)


def uncounted(calls: list[tuple[str, Usage]], kind: TraceKind, source: str) -> Trace:
    """A Trace for calls of which only the usage is known."""
    requests = tuple(Request(i, usage=usage, id=key) for i, (key, usage) in enumerate(calls, 1))
    return Trace("calls without events", (), requests, kind=kind, source=source)


def _said(args: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in args.items() if key not in _NOT_SAID and value is not None}


def _written(kind: str, event: dict[str, Any], args: dict[str, Any], call_id: str) -> list[Block]:
    """Blocks of a response that is recorded as an action only."""
    if kind == "message":
        return [Block("text", "assistant", as_text(args.get("content")) or as_text(event.get("message")) or "")]
    thought = as_text(args.get("thought"))
    said = [Block("text", "assistant", thought)] if thought else []
    tool = as_text(as_dict(event.get("tool_call_metadata")).get("function_name")) or kind
    return [*said, call_block(tool, _said(args), call_id)]


def _shown(event: dict[str, Any], extras: dict[str, Any]) -> str:
    """The text of an observation as the model gets it.

    For an edit that is the tool's own words, not the difference which the file keeps as content; for
    a command it is the output between the prefix and the suffix.
    """
    formatted = as_text(extras.get("formatted_output_and_error"))
    if formatted:
        return formatted
    content = event.get("content")
    text = content if isinstance(content, str) else json_text(content)
    data = as_dict(extras.get("metadata"))
    return f"{as_text(data.get('prefix')) or ''}{text}{as_text(data.get('suffix')) or ''}"
