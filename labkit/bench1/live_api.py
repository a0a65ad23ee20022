"""The interfaces through which a real model runs the benchmark, by name; Anthropic's stands here."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.bench1.live_base import ABOUT, Api, Asked, Client, Json, LiveError, Said, TooLong, call_block, schema
from labkit.bench1.live_openai import Chat, Responses
from labkit.bench1.tools import NAMES
from labkit.errors import InputError, closest
from labkit.ladder.export import export
from labkit.ladder.policy import Policy
from labkit.record.formats.anthropic_usage import samplings
from labkit.record.messages import to_anthropic
from labkit.record.trace import Block

__all__ = ["APIS", "Api", "Asked", "LiveError", "Said", "TooLong", "api"]


class Messages(Client):
    """Anthropic's Messages API, also with its own context editing and compaction."""

    name, sdk, key = "anthropic", "anthropic", "ANTHROPIC_API_KEY"

    def server(self, policy: Policy) -> Json:
        made = export(policy, "anthropic")
        return {"betas": list(made.headers), "context_management": made.config}

    def opening(self, task: str) -> list[Json]:
        return [{"role": "user", "content": [{"type": "text", "text": task}]}]

    def from_blocks(self, blocks: Sequence[Block]) -> list[Json]:
        return to_anthropic(blocks)

    def request(self, model: str, system: str, items: Sequence[Json], most: int, server: Json) -> Json:
        mark = {"cache_control": {"type": "ephemeral"}}
        last = items[-1]
        content = [*last["content"][:-1], {**last["content"][-1], **mark}]
        tools = [{"name": name, "description": ABOUT[name][0], "input_schema": schema(name)} for name in NAMES]
        return {
            "model": model,
            "max_tokens": most,
            "system": [{"type": "text", "text": system, **mark}],
            "tools": tools,
            "messages": [*items[:-1], {**last, "content": content}],
            **server,
        }

    def answers(self, results: Sequence[tuple[Asked, str]]) -> list[Json]:
        content = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in results]
        return [{"role": "user", "content": content}] if content else []

    def read(self, response: Json) -> Said:
        blocks, calls = [], []
        for part in response["content"]:
            if part["type"] == "tool_use":
                given = part["input"] if isinstance(part["input"], dict) else None
                calls.append(Asked(part["id"], part["name"], given))
                blocks.append(call_block(calls[-1]))
            elif part["type"] == "thinking":
                blocks.append(Block("thinking", "assistant", part["thinking"], args=part.get("signature")))
            elif part["type"] == "redacted_thinking":
                blocks.append(Block("thinking", "assistant", "", tool="redacted_thinking", args=part["data"]))
            elif part["type"] == "text" and part["text"].strip():
                blocks.append(Block("text", "assistant", part["text"]))
        own, beside, _ = samplings(response, [])
        usages = tuple(s.usage for s in (*own, *beside) if s.usage is not None)
        reason = response.get("stop_reason")
        stop = {"max_tokens": "cut off", "refusal": "refused", "model_context_window_exceeded": "window full"}
        items = ({"role": "assistant", "content": response["content"]},) if response["content"] else ()
        goes_on = reason in ("pause_turn", "compaction")
        return Said(items, tuple(blocks), tuple(calls), stop.get(str(reason), ""), usages, goes_on)

    def send(self, request: Json) -> Json:
        room = self._client.beta.messages if "betas" in request else self._client.messages
        return self._ask(room.create, request)


APIS: dict[str, type[Messages] | type[Chat] | type[Responses]] = {
    "anthropic": Messages,
    "responses": Responses,
    "chat": Chat,
}
"""By the name that ``--api`` takes."""


def api(name: str, base_url: str | None = None) -> Api:
    """An interface, with the key from the environment.

    Raises
    ------
    InputError
        If the name is unknown, the SDK is not installed, or there is neither a key nor an address.
    """
    if name not in APIS:
        raise InputError(f"there is no interface {name!r}{closest(name, APIS)}: give one of {', '.join(APIS)}")
    return APIS[name](base_url)
