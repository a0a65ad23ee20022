"""One conversation of the OpenHands agent SDK, event by event, to a Trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.chat import call_block, chat_blocks, chat_text, chat_usage
from labkit.record.formats.common import as_dict, as_list, as_text, json_text, timestamp, tokens
from labkit.record.formats.openhands_thread import uncounted
from labkit.record.trace import Block, Trace, Usage

__all__ = ["Thread"]

# Events that never reach the model.
_SILENT = {
    "CondensationRequest",
    "ConversationErrorEvent",
    "ConversationIterationLimitEvent",
    "ConversationWarningEvent",
    "InterruptEvent",
    "PauseEvent",
    "StreamingDeltaEvent",
    "TokenEvent",
}

_TOTALS = ("prompt_tokens", "cache_read_tokens", "cache_write_tokens", "completion_tokens")


class Thread:
    """Collects events; :meth:`trace` makes the Trace.

    Parameters
    ----------
    listed, condensers : mapping of str to Usage
        Usage by response id, of the agent and of a condenser, where the state of the conversation holds it.
    source : str
        The format and the file.

    Attributes
    ----------
    model : str, optional
        The model of the requests from here on.
    """

    def __init__(self, listed: Mapping[str, Usage], condensers: Mapping[str, Usage], source: str) -> None:
        self.run = TraceBuilder()
        self._listed = listed
        self._condensers = dict(condensers)
        self._source = source
        self._requests: dict[str, int] = {}  # response id -> index of its request
        self._places: dict[str, list[int]] = {}  # event id -> positions of its blocks
        self._clock: float | None = None
        self._totals: dict[str, tuple[int, ...]] = {}
        self._grown: Usage | None = None  # growth of the totals that no response has taken yet
        self._waits: int | None = None  # index of a request that waits for its usage
        self._lost = 0
        self.model: str | None = None

    def add(self, event: dict[str, Any]) -> None:
        """Take one event."""
        kind = as_text(event.get("kind")) or "event of no kind"
        if kind == "SystemPromptEvent":
            parts = [event.get("system_prompt"), event.get("dynamic_context")]
            texts = [as_text(p) or as_text(as_dict(p).get("text")) for p in parts]
            tools = as_list(event.get("tools"))
            self.run.prefix("\n".join(t for t in texts if t) or None, json_text(tools) if tools else None)
        elif kind == "MessageEvent":
            self._message(event)
        elif kind == "ActionEvent":
            self._respond(event, [*_thoughts(event), *_call(event)])
        elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
            if as_text(event.get("action_id")) not in self._places:
                self._spill()
            self._note(event, self.run.say([_result(event)]))
        elif kind == "Condensation":
            self._condense(event)
        elif kind == "ConversationStateUpdateEvent":
            if event.get("key") == "stats":
                self._stats(as_dict(event.get("value")))
        elif kind not in _SILENT:
            self.run.skipped[kind[:40]] += 1
        time = timestamp(event.get("timestamp"))
        if time is not None:
            self._clock = time if self._clock is None else max(self._clock, time)

    def _message(self, event: dict[str, Any]) -> None:
        message = as_dict(event.get("llm_message"))
        extended = as_list(event.get("extended_content"))
        content = message.get("content")
        parts = [content] if isinstance(content, str) else as_list(content)
        role = "assistant" if event.get("source") == "agent" else "user"
        blocks = chat_blocks({**message, "role": role, "content": [*parts, *extended]})
        if role == "assistant":
            self._respond(event, blocks)
        else:
            self._note(event, self.run.say(blocks))

    def _respond(self, event: dict[str, Any], blocks: list[Block]) -> None:
        key = as_text(event.get("llm_response_id"))
        first = len(self.run.blocks)
        if key is not None and key in self._requests:
            self.run.go_on(blocks)
        else:
            usage = self._listed.get(key or "")
            if usage is None and self._grown is not None:
                usage, self._grown = self._grown, None
            index = self.run.respond(blocks, start=self._clock, model=self.model, usage=usage, id=key)
            self._waits = index if usage is None else None
            if key is not None:
                self._requests[key] = index
        self._note(event, range(first, len(self.run.blocks)))

    def _stats(self, value: dict[str, Any]) -> None:
        """Take running totals: what they grew by belongs to the response before or after."""
        for name, metrics in as_dict(value.get("usage_to_metrics")).items():
            total = as_dict(as_dict(metrics).get("accumulated_token_usage"))
            now = tuple(tokens(total.get(key)) for key in _TOTALS)
            before = self._totals.get(name, (0,) * len(_TOTALS))
            self._totals[name] = now
            grown = chat_usage({key: a - b for key, a, b in zip(_TOTALS, now, before, strict=True)})
            if grown is None or self._listed:
                continue
            if "condenser" in name:
                self._condensers[f"condenser {len(self._condensers) + 1}"] = grown
                continue
            self.model = as_text(as_dict(metrics).get("model_name")) or self.model
            if self._waits is not None:
                self.run.set_usage(self._waits, grown)
                self._waits = None
            else:
                self._spill()
                self._grown = grown

    def _spill(self) -> None:
        """Count growth that no response took: a call whose event is not in the file."""
        if self._grown is not None:
            self.run.respond(start=self._clock, model=self.model, usage=self._grown)
            self._grown = None
            self._lost += 1

    def _condense(self, event: dict[str, Any]) -> None:
        forgotten = [as_text(i) for i in as_list(event.get("forgotten_event_ids"))]
        positions = [p for key in forgotten if key for p in self._places.get(key, ())]
        summary = as_text(event.get("summary"))
        if summary:
            self.run.summarize(positions, [Block("text", "user", summary)], trigger="condenser")
        else:
            self.run.remove("evict", positions, trigger="condenser")

    def _note(self, event: dict[str, Any], positions: range) -> None:
        key = as_text(event.get("id"))
        if key is not None:
            self._places.setdefault(key, []).extend(positions)

    def trace(self, name: str) -> Trace:
        """The Trace of the events so far."""
        self._spill()
        children = []
        if self._condensers:
            children.append(uncounted(list(self._condensers.items()), "compaction", self._source))
        missing = sum(e.kind == "summary" for e in self.run.edits) - len(self._condensers)
        if missing > 0:
            self.run.warnings.append(
                f"the calls that wrote {missing} summaries are not recorded: what they cost is not counted"
            )
        if self._lost:
            self.run.warnings.append(
                f"{self._lost} calls are in the running totals but in no event: counted as requests without text"
            )
        return self.run.trace(name, self._source, children=children)


def _thoughts(event: dict[str, Any]) -> list[Block]:
    """What an action's response said besides its call; reasoning that the text repeats counts once."""
    text = chat_text(event.get("thought"))
    reasoning = as_text(event.get("reasoning_content"))
    repeated = reasoning is not None and reasoning.strip() in text
    message = {
        "role": "assistant",
        "content": text,
        "thinking_blocks": event.get("thinking_blocks"),
        "reasoning_content": None if repeated else reasoning,
    }
    return chat_blocks(message)


def _call(event: dict[str, Any]) -> list[Block]:
    call = as_dict(event.get("tool_call"))
    tool = as_text(call.get("name")) or as_text(event.get("tool_name"))
    arguments = call.get("arguments", as_dict(event.get("action")))
    call_id = as_text(event.get("tool_call_id")) or as_text(call.get("id"))
    return [call_block(tool, arguments, call_id)] if tool else []


def _result(event: dict[str, Any]) -> Block:
    """What answers a call: an observation, the harness's error, a user's refusal."""
    call_id = as_text(event.get("tool_call_id"))
    tool = as_text(event.get("tool_name"))
    if "error" in event:
        text = as_text(event.get("error")) or ""
    elif "rejection_reason" in event:
        text = f"Action rejected: {as_text(event.get('rejection_reason')) or ''}"
    else:
        seen = as_dict(event.get("observation"))
        content = seen.get("content", seen.get("output", seen.get("error")))
        text = chat_text([*_parts(content), *as_list(event.get("extended_content"))])
    return Block("result", "tool", text, tool=tool, call_id=call_id)


def _parts(content: Any) -> list[Any]:
    return [content] if isinstance(content, str) else as_list(content)
