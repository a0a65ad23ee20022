"""A model for live runs: the built-in agent with perfect recall, behind a local server that speaks the interfaces."""

from __future__ import annotations

import json
from typing import Any

from labkit.bench1.agent import Agent, Move, Recall
from labkit.record.trace import Block

Json = dict[str, Any]


def _pair(name: str, given: str, call_id: str) -> Block:
    return Block("call", "assistant", name, tool=name, args=given, call_id=call_id)


def _text(text: str) -> Block:
    # A record of earlier work reads like one, whoever wrote it.
    record = "\nedited: " in text or "\nopen: " in text
    return Block("summary" if record else "text", "user", text.replace("\nedited: ", "\ndone: "))


def of_anthropic(messages: list[Json]) -> list[Block]:
    """What the model reads, from the last compaction on."""
    blocks: list[Block] = []
    tools: dict[str, str] = {}
    for message in messages:
        for part in message["content"]:
            if part["type"] == "tool_use":
                tools[part["id"]] = part["name"]
                blocks.append(_pair(part["name"], json.dumps(part["input"]), part["id"]))
            elif part["type"] == "tool_result":
                call = part["tool_use_id"]
                blocks.append(Block("result", "tool", part["content"], tool=tools[call], call_id=call))
            elif part["type"] == "compaction":
                blocks = [_text(part["content"])]
            else:
                blocks.append(_text(part["text"]))
    return blocks


def of_chat(messages: list[Json]) -> list[Block]:
    blocks: list[Block] = []
    tools: dict[str, str] = {}
    for message in messages[1:]:
        for call in message.get("tool_calls") or []:
            tools[call["id"]] = call["function"]["name"]
            blocks.append(_pair(call["function"]["name"], call["function"]["arguments"], call["id"]))
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            blocks.append(Block("result", "tool", message["content"], tool=tools[call_id], call_id=call_id))
        elif message.get("content"):
            blocks.append(_text(message["content"]))
    return blocks


def of_items(items: list[Json]) -> list[Block]:
    blocks: list[Block] = []
    tools: dict[str, str] = {}
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call":
            tools[item["call_id"]] = item["name"]
            blocks.append(_pair(item["name"], item["arguments"], item["call_id"]))
        elif kind == "function_call_output":
            call_id = item["call_id"]
            blocks.append(Block("result", "tool", item["output"], tool=tools[call_id], call_id=call_id))
        elif kind == "message" and isinstance(item["content"], str):
            blocks.append(_text(item["content"]))
    return blocks


class Model:
    """Answers requests; ``calls`` numbers them, so that ids are unique."""

    def __init__(self) -> None:
        self.calls = 0

    def move(self, blocks: list[Block]) -> Move:
        self.calls += 1
        return Agent(Recall()).move(blocks, 1, 1, ())

    def anthropic(self, request: Json) -> list[Json]:
        move = self.move(of_anthropic(request["messages"]))
        if move.tool is None:
            return [{"type": "text", "text": "Done."}]
        call = {"type": "tool_use", "id": f"toolu_{self.calls}", "name": move.tool, "input": dict(move.given)}
        return [{"type": "text", "text": f"Next: {move.tool}."}, call]

    def chat(self, request: Json) -> Json:
        move = self.move(of_chat(request["messages"]))
        if move.tool is None:
            return {"role": "assistant", "content": "Done."}
        function = {"name": move.tool, "arguments": move.args}
        return {"content": None, "tool_calls": [{"id": f"c{self.calls}", "type": "function", "function": function}]}

    def items(self, request: Json) -> list[Json]:
        move = self.move(of_items(request["input"]))
        thought = {"type": "reasoning", "id": f"rs_{self.calls}", "summary": [], "encrypted_content": "gAAA"}
        if move.tool is None:
            part = {"type": "output_text", "text": "Done.", "annotations": []}
            end = {"type": "message", "id": f"m{self.calls}", "role": "assistant", "status": "completed"}
            return [thought, {**end, "content": [part]}]
        call = {"type": "function_call", "id": f"fc_{self.calls}", "call_id": f"c{self.calls}", "status": "completed"}
        return [thought, {**call, "name": move.tool, "arguments": move.args}]
