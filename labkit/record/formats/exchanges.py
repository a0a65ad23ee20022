"""What ``labkit.record`` wrote: each line one call of the model with its whole request.

The context is rebuilt by :mod:`labkit.record.formats.conversations`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.record.blocks_from import blocks_from_anthropic, blocks_from_openai
from labkit.record.formats.claude_code_content import usage_of
from labkit.record.formats.common import as_dict, tokens
from labkit.record.formats.conversations import Call, Conversation, conversation_of, split_system
from labkit.record.formats.jsonl import first_object, read_lines
from labkit.record.trace import Prefix, Trace, Usage

NAME = "labkit recording"
FORMAT = "labkit-exchange"
VERSION = 1


def matches(path: Path) -> bool:
    """Whether the first object is an exchange."""
    head = first_object(path)
    return head is not None and head.get("type") == "exchange" and head.get("format") == FORMAT


def read(path: Path) -> Trace:
    """Read a recording; the longest conversation is the trace, the others are its children.

    Raises
    ------
    InputError
        If no line holds an answered call.
    """
    lines, warnings = read_lines(path)
    threads: list[Conversation] = []
    failed = 0
    for number, entry in lines:
        if entry.get("type") != "exchange" or not isinstance(entry.get("request"), dict):
            warnings.append(f"line {number}: not an exchange, skipped")
        elif tokens(entry.get("version")) > VERSION:
            warnings.append(f"line {number}: version {entry['version']}, this labkit reads {VERSION}; skipped")
        elif not isinstance(entry.get("response"), dict):
            failed += 1
        else:
            try:
                call = _call(entry)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                warnings.append(f"line {number}: not a valid exchange ({type(error).__name__}: {error}), skipped")
                continue
            thread = conversation_of(call, threads)
            if thread is None:
                thread = Conversation()
                threads.append(thread)
            if not thread.add(call):
                warnings.append(
                    f"line {number}: the request does not begin with the whole previous one; kept as an edit"
                )
    if not threads:
        raise InputError(f"{path} holds no answered call ({failed} failed): record a session that got an answer")
    if failed:
        warnings.append(f"{failed} calls failed and are left out: they were not billed, but they explain pauses")
    main = max(threads, key=lambda t: len(t.requests))
    source = f"{NAME}: {path.name}"
    others = [t for t in threads if t is not main]
    children = tuple(t.trace(f"{path.stem}-{i}", "subagent", source) for i, t in enumerate(others, 1))
    if children:
        warnings.append(f"{len(children)} other conversations in the file are kept apart as children")
    return replace(main.trace(path.stem, "session", source), children=children, warnings=tuple(warnings))


def _call(entry: dict[str, Any]) -> Call:
    request, response, api = entry["request"], entry["response"], entry.get("api")
    if api == "anthropic.messages":
        asked = blocks_from_anthropic(request["messages"], whole=False)
        answered = blocks_from_anthropic([{"role": "assistant", "content": response["content"]}], whole=False)
        system, usage = _text(request.get("system")), usage_of(response)
    elif api == "openai.chat":
        asked = blocks_from_openai(request["messages"])
        answered = blocks_from_openai([response["choices"][0]["message"]])
        system, usage = None, _openai_usage(response, "prompt_tokens", "completion_tokens")
    elif api == "openai.responses":
        given = request.get("input")
        asked = blocks_from_openai([{"role": "user", "content": given}] if isinstance(given, str) else given or [])
        answered = blocks_from_openai(response["output"])
        system, usage = request.get("instructions"), _openai_usage(response, "input_tokens", "output_tokens")
    else:
        raise ValueError(f"unknown interface {api!r}")
    if api != "anthropic.messages":
        # OpenAI's system prompt is the first message.
        first, asked = split_system(asked)
        system = "\n".join(filter(None, [system, first]))
    tools = request.get("tools")
    return Call(
        start=entry["start"] if isinstance(entry.get("start"), (int, float)) else None,
        model=str(response.get("model") or request.get("model") or "") or None,
        id=response.get("id"),
        prefix=Prefix(system or None, json.dumps(tools, ensure_ascii=False) if tools else None),
        asked=asked,
        answered=answered,
        usage=usage,
    )


def _text(system: Any) -> str | None:
    if isinstance(system, list):
        return "\n".join(str(part.get("text", "")) for part in system if isinstance(part, dict))
    return system if isinstance(system, str) else None


def _openai_usage(response: dict[str, Any], total: str, output: str) -> Usage | None:
    """OpenAI counts what was cached, and what was written to the cache, among the input."""
    raw = as_dict(response.get("usage"))
    if not raw:
        return None
    details = as_dict(raw.get("prompt_tokens_details") or raw.get("input_tokens_details"))
    prompt = tokens(raw.get(total))
    read = min(tokens(details.get("cached_tokens")), prompt)
    written = min(tokens(details.get("cache_write_tokens")), prompt - read)
    return Usage(prompt - read - written, read, written, 0, tokens(raw.get(output)))
