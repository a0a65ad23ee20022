"""The three interfaces through which a real model runs the benchmark: what is sent, and what came back."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from labkit.bench1.tools import NAMES
from labkit.errors import InputError, LabError, closest
from labkit.ladder.export import export
from labkit.ladder.policy import Policy
from labkit.record.formats.anthropic_usage import samplings
from labkit.record.formats.chat import chat_usage
from labkit.record.messages import to_anthropic, to_openai
from labkit.record.trace import Block, Usage

__all__ = ["APIS", "Api", "Asked", "LiveError", "Said", "TooLong", "api"]

Json = dict[str, Any]

_ABOUT = {
    "list": ("All paths of the service, one a line.", ()),
    "grep": ("Lines that hold a text, as path:line: content.", ("text",)),
    "read": ("A file, whole.", ("path",)),
    "edit": ("Replace a text that stands exactly once in a file.", ("path", "old", "new")),
    "check": ("Which files parse. Call it at the end.", ()),
}


class LiveError(LabError, RuntimeError):
    """The model's interface refused, or could not be reached; what was done before is kept."""


class TooLong(Exception):
    """The prompt is longer than the model's window."""


@dataclass(frozen=True)
class Asked:
    """A call of a tool; ``given`` is ``None`` where its arguments are no object."""

    id: str
    tool: str
    given: Json | None


@dataclass(frozen=True)
class Said:
    """An answer: what to send back, the calls in it, why it ended (``""`` for a plain end), and each pass's usage."""

    items: tuple[Json, ...]
    blocks: tuple[Block, ...]
    calls: tuple[Asked, ...]
    stop: str
    usages: tuple[Usage, ...]
    goes_on: bool = False


class Api(Protocol):
    """One interface of a provider."""

    name: str

    def server(self, policy: Policy) -> Json:
        """What has the provider edit the context by a policy; refused where the interface cannot."""

    def opening(self, task: str) -> list[Json]:
        """The conversation's first items."""

    def from_blocks(self, blocks: Sequence[Block]) -> list[Json]:
        """The items of a context that the client manages."""

    def request(self, model: str, system: str, items: Sequence[Json], most: int, server: Json) -> Json:
        """What is sent."""

    def answers(self, results: Sequence[tuple[Asked, str]]) -> list[Json]:
        """The items that bring tools' results."""

    def read(self, response: Json) -> Said:
        """What came back."""

    def send(self, request: Json) -> Json:
        """Ask the model.

        Raises
        ------
        TooLong, LiveError
        """


def schema(tool: str) -> Json:
    """The JSON Schema of a tool's arguments, all of them texts.

    Examples
    --------
    >>> schema("read")["required"]
    ['path']
    """
    names = _ABOUT[tool][1]
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
        "additionalProperties": False,
    }


def _call_block(call: Asked) -> Block:
    args = json.dumps(call.given or {}, ensure_ascii=False)
    return Block("call", "assistant", f"{call.tool} {args}", tool=call.tool, args=args, call_id=call.id)


def _parsed(text: str) -> Json | None:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _plain(answer: Any) -> Json:
    made: Json = json.loads(answer.model_dump_json(exclude_unset=True))
    return made


class _Client:
    """The part that both SDKs share: a client, its key, and its errors as ours."""

    sdk = ""
    key = ""

    def __init__(self, base_url: str | None = None) -> None:
        try:
            self._sdk = __import__(self.sdk)
        except ImportError:
            raise InputError(f"{self.sdk} is not installed: pip install 'labkit[live]'") from None
        self.base_url = base_url or os.environ.get(f"{self.sdk.upper()}_BASE_URL")
        given = os.environ.get(self.key, "")
        if not given and not self.base_url:
            raise InputError(
                f"{self.key} is not set: set it to the key of your account, or give --base-url of a server that "
                "needs none"
            )
        name = "Anthropic" if self.sdk == "anthropic" else "OpenAI"
        self._client = getattr(self._sdk, name)(api_key=given or "none", base_url=self.base_url, max_retries=4)

    def _ask(self, method: Any, request: Json) -> Json:
        try:
            return _plain(method(**request))
        except self._sdk.APIStatusError as error:
            said = str(error)
            if error.status_code in (400, 413) and ("too long" in said or "context_length_exceeded" in said):
                raise TooLong(said) from error
            raise LiveError(
                f"the model's interface answered {error.status_code} ({said[:300]}): what came before is kept, so "
                "mend it and give the same command again"
            ) from error
        except self._sdk.APIError as error:
            raise LiveError(
                f"the model's interface cannot be used ({type(error).__name__}: {str(error)[:300]}): what came before "
                "is kept, so check the connection and give the same command again"
            ) from error


class Messages(_Client):
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
        tools = [{"name": name, "description": _ABOUT[name][0], "input_schema": schema(name)} for name in NAMES]
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
                blocks.append(_call_block(calls[-1]))
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


class Chat(_Client):
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
        functions = [{"name": n, "description": _ABOUT[n][0], "parameters": schema(n)} for n in NAMES]
        tools = [{"type": "function", "function": function} for function in functions]
        messages = [{"role": "system", "content": system}, *items]
        return {"model": model, limit: most, "messages": messages, "tools": tools}

    def answers(self, results: Sequence[tuple[Asked, str]]) -> list[Json]:
        return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results]

    def read(self, response: Json) -> Said:
        choice = response["choices"][0]
        message = {k: v for k, v in choice["message"].items() if v is not None and k in _SENT_BACK}
        calls = [
            Asked(c["id"], c["function"]["name"], _parsed(c["function"]["arguments"]))
            for c in message.get("tool_calls", ())
        ]
        words = message.get("content") or ""
        blocks = [Block("text", "assistant", words)] if words.strip() else []
        blocks += map(_call_block, calls)
        usage = chat_usage(response.get("usage"))
        stop = {"length": "cut off", "content_filter": "refused"}.get(str(choice.get("finish_reason")), "")
        items = (message,) if calls or words.strip() else ()
        return Said(items, tuple(blocks), tuple(calls), stop, () if usage is None else (usage,))

    def send(self, request: Json) -> Json:
        return self._ask(self._client.chat.completions.create, request)


_SENT_BACK = ("role", "content", "tool_calls")


class Responses(_Client):
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
        functions = [{"name": n, "description": _ABOUT[n][0], "parameters": schema(n)} for n in NAMES]
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
                calls.append(Asked(item["call_id"], item["name"], _parsed(item["arguments"])))
                blocks.append(_call_block(calls[-1]))
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
