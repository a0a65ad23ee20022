"""OpenAI's two interfaces, and those of servers that speak one of them."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.bench1.live_base import ABOUT, Asked, Client, Json, Said, call_block, parsed, schema
from labkit.bench1.tools import NAMES
from labkit.errors import InputError
from labkit.ladder.export import export
from labkit.ladder.policy import Policy
from labkit.record.formats.chat import chat_usage
from labkit.record.messages import to_openai
from labkit.record.trace import Block

__all__ = ["Chat", "Responses"]


class Chat(Client):
    """OpenAI's Chat Completions, which many servers speak; it edits nothing by itself."""

    name, sdk, key = "chat", "openai", "OPENAI_API_KEY"

    def server(self, policy: Policy) -> Json:
        raise InputError("chat cannot edit the context at the server: give --api anthropic or responses, or leave out")

    def opening(self, task: str) -> list[Json]:
        return [{"role": "user", "content": task}]

    def from_blocks(self, blocks: Sequence[Block]) -> list[Json]:
        return to_openai(blocks)

    def request(self, model: str, system: str, items: Sequence[Json], most: int, server: Json) -> Json:
        # Servers other than the vendor's know the older name of the limit.
        limit = "max_tokens" if self.base_url else "max_completion_tokens"
        functions = [{"name": n, "description": ABOUT[n][0], "parameters": schema(n)} for n in NAMES]
        tools = [{"type": "function", "function": function} for function in functions]
        messages = [{"role": "system", "content": system}, *items]
        return {"model": model, limit: most, "messages": messages, "tools": tools}

    def answers(self, results: Sequence[tuple[Asked, str]]) -> list[Json]:
        return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results]

    def read(self, response: Json) -> Said:
        choice = response["choices"][0]
        message = {k: v for k, v in choice["message"].items() if v is not None and k in _SENT_BACK}
        calls = [
            Asked(c["id"], c["function"]["name"], parsed(c["function"]["arguments"]))
            for c in message.get("tool_calls", ())
        ]
        words = message.get("content") or ""
        blocks = [Block("text", "assistant", words)] if words.strip() else []
        blocks += map(call_block, calls)
        usage = chat_usage(response.get("usage"))
        stop = {"length": "cut off", "content_filter": "refused"}.get(str(choice.get("finish_reason")), "")
        items = (message,) if calls or words.strip() else ()
        return Said(items, tuple(blocks), tuple(calls), stop, () if usage is None else (usage,))

    def send(self, request: Json) -> Json:
        return self._ask(self._client.chat.completions.create, request)


_SENT_BACK = ("role", "content", "tool_calls")


class Responses(Client):
    """OpenAI's Responses API, stateless, also with its own compaction."""

    name, sdk, key = "responses", "openai", "OPENAI_API_KEY"

    def server(self, policy: Policy) -> Json:
        return dict(export(policy, "openai").config)

    def opening(self, task: str) -> list[Json]:
        return [{"role": "user", "content": task}]

    def from_blocks(self, blocks: Sequence[Block]) -> list[Json]:
        items: list[Json] = []
        for message in to_openai(blocks):
            if message["role"] == "tool":
                call_id, output = message["tool_call_id"], message["content"]
                items.append({"type": "function_call_output", "call_id": call_id, "output": output})
                continue
            if message["content"]:
                items.append({"role": message["role"], "content": message["content"]})
            items += [
                {"type": "function_call", "call_id": call["id"], **call["function"]}
                for call in message.get("tool_calls", ())
            ]
        return items

    def request(self, model: str, system: str, items: Sequence[Json], most: int, server: Json) -> Json:
        functions = [{"name": n, "description": ABOUT[n][0], "parameters": schema(n)} for n in NAMES]
        return {
            "model": model,
            "max_output_tokens": most,
            "instructions": system,
            "input": list(items),
            "tools": [{"type": "function", **function, "strict": True} for function in functions],
            # Nothing is kept at the provider, so what it thought has to travel with the conversation.
            "store": False,
            "include": ["reasoning.encrypted_content"],
            **server,
        }

    def answers(self, results: Sequence[tuple[Asked, str]]) -> list[Json]:
        return [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text in results]

    def read(self, response: Json) -> Said:
        calls, blocks = [], []
        refused = False
        for item in response["output"]:
            if item["type"] == "function_call":
                calls.append(Asked(item["call_id"], item["name"], parsed(item["arguments"])))
                blocks.append(call_block(calls[-1]))
            elif item["type"] == "message":
                refused = refused or any(part["type"] == "refusal" for part in item["content"])
                words = "".join(part.get("text") or "" for part in item["content"])
                blocks += [Block("text", "assistant", words)] if words.strip() else []
        usage = chat_usage(response.get("usage"))
        reason = (response.get("incomplete_details") or {}).get("reason")
        stop = "refused" if refused or reason == "content_filter" else "cut off" if reason else ""
        return Said(tuple(response["output"]), tuple(blocks), tuple(calls), stop, () if usage is None else (usage,))

    def send(self, request: Json) -> Json:
        return self._ask(self._client.responses.create, request)
