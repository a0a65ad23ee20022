"""One sample of an Inspect AI log: its model events as calls, its messages as blocks, its usage."""

from __future__ import annotations

from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.chat import chat_blocks
from labkit.record.formats.claude_code_content import usage_of
from labkit.record.formats.common import as_dict, as_list, as_text, json_text, timestamp, tokens
from labkit.record.formats.conversations import Call, from_calls, split_system
from labkit.record.formats.usage import disjoint
from labkit.record.trace import Block, Prefix, Trace, Usage

__all__ = ["sample_trace", "usage_from"]

_REFERENCE = "attachment://"

# Spans inside which somebody else than the caller speaks to a model.
_OWN = ("agent", "subtask", "scorer", "scorers")


def usage_from(raw: Any, model: str | None, response: dict[str, Any]) -> Usage | None:
    """Usage of one answer, ``None`` where nothing is recorded.

    Inspect follows the provider: with some the input holds what came from the cache, with others it
    does not. The total says which; without one, the provider's name does.

    Parameters
    ----------
    raw : dict
        ``input_tokens``, ``output_tokens``, ``total_tokens``, ``input_tokens_cache_read`` and ``_write``.
    model : str or None
        With the provider in front.
    response : dict
        The provider's own answer, which splits cache writes by lifetime.

    Examples
    --------
    >>> usage_from({"input_tokens": 1568, "output_tokens": 17, "total_tokens": 1585,
    ...     "input_tokens_cache_read": 1024}, "openai/gpt-4o-mini", {}).uncached
    544
    >>> usage_from({"input_tokens": 4, "output_tokens": 7, "total_tokens": 1035,
    ...     "input_tokens_cache_read": 1024}, "openai/gpt-4o-mini", {}).uncached
    4
    """
    given = as_dict(raw)
    asked, output = tokens(given.get("input_tokens")), tokens(given.get("output_tokens"))
    read, written = tokens(given.get("input_tokens_cache_read")), tokens(given.get("input_tokens_cache_write"))
    own = usage_of(response)
    return disjoint(
        asked,
        output,
        read,
        written,
        total=tokens(given.get("total_tokens")),
        apart=(model or "").startswith(("anthropic/", "bedrock/anthropic")),
        hour=own.cache_write_1h if own else 0,
    )


def sample_trace(sample: dict[str, Any], source: str, totals: dict[str, Any]) -> Trace:
    """The Trace of one sample; ``totals`` are used where it has no usage of its own."""
    reader = _Sample(sample)
    name = f"sample {as_text(sample.get('id')) or sample.get('id', 0)}, epoch {sample.get('epoch', 1)}"[:120]
    calls = reader.calls()
    if not calls:
        return reader.from_messages(name, source, totals)
    _, end = split_system(reader.blocks(as_list(sample.get("messages"))))
    return from_calls(calls, name, source, end=end, warnings=reader.warnings())


class _Sample:
    def __init__(self, sample: dict[str, Any]) -> None:
        self._sample = sample
        self._texts = as_dict(sample.get("attachments"))
        pool = as_dict(sample.get("events_data")).get("messages") or sample.get("message_pool")
        self._pool: list[Any] = as_list(pool)
        self._pooled: dict[int, list[Block]] = {}
        self._missing = self._failed = self._stored = self._unfound = 0

    def warnings(self) -> list[str]:
        said = (
            (self._missing, "texts are attachments that are not in the log; their references stand for them"),
            (self._unfound, "messages are not in the log's pool; left out"),
            (self._failed, "calls failed or were not answered and are left out"),
            (self._stored, "answers came from Inspect's own cache: they were not billed"),
        )
        return [f"{count} {words}" for count, words in said if count]

    def calls(self) -> list[Call]:
        """The calls of models, in order, with who made them."""
        spans: dict[str, tuple[str, int]] = {}
        found: list[Call] = []
        for event, group, depth in _walk(as_list(self._sample.get("events")), spans, "", 0):
            if event.get("event") == "model":
                call = self._call(event, group, depth)
                found += [call] if call else []
        return found

    def _call(self, event: dict[str, Any], group: str, depth: int) -> Call | None:
        output = as_dict(event.get("output"))
        choice = as_dict(next(iter(as_list(output.get("choices"))), None))
        provider = as_dict(event.get("call"))
        answer, request = as_dict(provider.get("response")), as_dict(provider.get("request"))
        usage = usage_from(output.get("usage"), as_text(event.get("model")), answer)
        if event.get("pending") or (not choice and usage is None):
            self._failed += 1
            return None
        if event.get("cache") == "read":
            self._stored += 1
            usage = None
        system, asked = None, None
        if "input" in event:
            system, asked = split_system(self._asked(event))
        tools = as_list(self.resolved(request.get("tools") or event.get("tools")))
        return Call(
            start=timestamp(event.get("timestamp")),
            model=as_text(output.get("model")) or as_text(event.get("model")),
            id=as_text(answer.get("id")),
            prefix=Prefix(system, json_text(tools) if tools else None),
            asked=asked,
            answered=self.blocks([choice["message"]]) if "message" in choice else [],
            usage=usage,
            group=group,
            depth=depth,
        )

    def _asked(self, event: dict[str, Any]) -> list[Block]:
        blocks = self.blocks(as_list(event.get("input")))
        number = len(as_list(event.get("input")))
        for bounds in as_list(event.get("input_refs")):
            first, last = [*map(tokens, as_list(bounds)), 0, 0][:2]
            self._unfound += max(last - max(first, len(self._pool)), 0)
            for place in range(first, min(last, len(self._pool))):
                if place not in self._pooled:
                    self._pooled[place] = self.blocks([self._pool[place]], place)
                blocks += self._pooled[place]
                number += 1
        return blocks

    def blocks(self, messages: list[Any], first: int = 0) -> list[Block]:
        """Blocks of messages, numbered."""
        found: list[Block] = []
        for number, message in enumerate(messages, first):
            said = chat_blocks(_as_chat(as_dict(self.resolved(message))))
            found += [Block(b.kind, b.role, b.text, 0, number, b.tool, b.args, b.call_id) for b in said]
        return found

    def resolved(self, value: Any, depth: int = 0) -> Any:
        """The value with the texts that the log keeps apart put back."""
        if isinstance(value, str):
            if not value.startswith(_REFERENCE):
                return value
            text = self._texts.get(value.removeprefix(_REFERENCE))
            self._missing += not isinstance(text, str)
            return text if isinstance(text, str) else value
        if depth > 50:
            return value
        if isinstance(value, list):
            return [self.resolved(v, depth + 1) for v in value]
        if isinstance(value, dict):
            return {k: self.resolved(v, depth + 1) for k, v in value.items()}
        return value

    def from_messages(self, name: str, source: str, totals: dict[str, Any]) -> Trace:
        """The Trace of a sample that records no calls: each answer among its messages is one."""
        run = TraceBuilder()
        messages = [as_dict(self.resolved(m)) for m in as_list(self._sample.get("messages"))]
        for message in messages:
            blocks = chat_blocks(_as_chat(message))
            if message.get("role") == "assistant":
                run.respond(blocks, model=as_text(message.get("model")))
            elif message.get("role") == "system" and not run.blocks:
                run.prefix("\n".join(b.text for b in blocks))
            else:
                run.say(blocks)
        usages = as_dict(self._sample.get("model_usage")) or totals
        if len(run.requests) == len(usages) == 1:
            model, raw = next(iter(usages.items()))
            run.set_usage(1, usage_from(raw, model, {}))
        elif usages:
            run.warnings.append("usage is recorded for the whole sample only, not for each request: left out")
        if run.requests and not self._sample.get("events"):
            run.warnings.append("the sample holds no events: its calls are rebuilt from its last messages")
        run.warnings += self.warnings()
        return run.trace(name, source)


def _walk(
    events: list[Any], spans: dict[str, tuple[str, int]], group: str, depth: int
) -> list[tuple[dict[str, Any], str, int]]:
    """All events in order, those inside a tool's event too, each with its caller and how deep that stands."""
    found: list[tuple[dict[str, Any], str, int]] = []
    for event in events:
        event = as_dict(event)
        kind = event.get("event")
        at = spans.get(as_text(event.get("span_id")) or "", (group, depth))
        if kind == "span_begin":
            parent = spans.get(as_text(event.get("parent_id")) or "", (group, depth))
            name = as_text(event.get("id")) or ""
            spans[name] = (name, parent[1] + 1) if event.get("type") in _OWN else parent
        elif kind in ("tool", "subtask") and event.get("events") and depth < 50:
            name = as_text(event.get("uuid")) or as_text(event.get("id")) or f"{at[0]}/{len(found)}"
            found += _walk(as_list(event["events"]), spans, name, at[1] + 1)
        found.append((event, *at))
    return found


def _as_chat(message: dict[str, Any]) -> dict[str, Any]:
    """Inspect's message in the words of OpenAI's chat API."""
    said = {**message, "content": _parts(message.get("content"))}
    if message.get("role") == "tool":
        # A failed call answers with its error.
        error = as_text(as_dict(message.get("error")).get("message"))
        return {**said, "name": message.get("function"), "content": error or said["content"]}
    calls = (as_dict(c) for c in as_list(message.get("tool_calls")))
    return said | {
        "tool_calls": [{"id": c.get("id"), "name": c.get("function"), "arguments": c.get("arguments")} for c in calls]
    }


def _parts(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [_part(as_dict(part)) if isinstance(part, dict) else part for part in content]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind == "reasoning":
        # What the provider keeps secret is not text that anyone can count.
        text = None if part.get("redacted") else part.get("reasoning")
        return {"type": "thinking", "thinking": as_text(text) or as_text(part.get("summary")) or ""}
    if kind == "image":
        return {"type": "image_url", "image_url": part.get("image")}
    if kind == "text":
        return {"type": "text", "text": as_text(part.get("text")) or ""}
    return {key: value for key, value in part.items() if key != "internal"}
