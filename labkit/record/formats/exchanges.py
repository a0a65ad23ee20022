"""What ``labkit.record`` wrote: each line one call of the model with its whole request.

The context is rebuilt by comparing each request with what the last one and its answer would lead to:
what is new becomes blocks, what changed becomes an edit. Several conversations in one file (a
subagent's, a second client's) come apart by what they begin with.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.record.blocks_from import blocks_from_anthropic, blocks_from_openai
from labkit.record.formats.claude_code_content import usage_of
from labkit.record.formats.common import as_dict, tokens
from labkit.record.formats.jsonl import first_object, read_lines
from labkit.record.trace import Block, Edit, Prefix, Request, Trace, TraceKind, Usage

NAME = "labkit recording"
FORMAT = "labkit-exchange"
VERSION = 1

Key = tuple[str, str, str, str | None]


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
    threads: list[_Thread] = []
    failed = 0
    for number, entry in lines:
        if entry.get("type") != "exchange" or not isinstance(entry.get("request"), dict):
            warnings.append(f"line {number}: not an exchange, skipped")
        elif int(entry.get("version", 0)) > VERSION:
            warnings.append(f"line {number}: version {entry['version']}, this labkit reads {VERSION}; skipped")
        elif not isinstance(entry.get("response"), dict):
            failed += 1
        else:
            try:
                call = _Call.of(entry)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                warnings.append(f"line {number}: not a valid exchange ({type(error).__name__}: {error}), skipped")
                continue
            _thread_of(call, threads).add(call, number, warnings)
    if not threads:
        raise InputError(f"{path} holds no answered call ({failed} failed): record a session that got an answer")
    if failed:
        warnings.append(f"{failed} calls failed and are left out: they were not billed, but they explain pauses")
    main = max(threads, key=lambda t: len(t.requests))
    children = tuple(
        t.trace(f"{path.stem}-{i}", "subagent", path) for i, t in enumerate((t for t in threads if t is not main), 1)
    )
    if children:
        warnings.append(f"{len(children)} other conversations in the file are kept apart as children")
    return replace(main.trace(path.stem, "session", path), children=children, warnings=tuple(warnings))


@dataclass(frozen=True)
class _Call:
    """One exchange in labkit's words."""

    start: float | None
    model: str | None
    id: str | None
    prefix: Prefix
    asked: list[Block]
    answered: list[Block]
    usage: Usage | None

    @classmethod
    def of(cls, entry: dict[str, Any]) -> _Call:
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
        first = next((i for i, b in enumerate(asked) if b.role != "system"), len(asked))
        if api != "anthropic.messages" and first:
            # OpenAI's system prompt is the first message; later ones stay where they are.
            system = "\n".join(filter(None, [system, *(b.text for b in asked[:first])]))
            asked = asked[first:]
        tools = request.get("tools")
        return cls(
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


def _key(block: Block) -> Key:
    return block.kind, block.role, block.text, block.call_id


def _thread_of(call: _Call, threads: list[_Thread]) -> _Thread:
    """The conversation a call goes on with: the newest that shares its beginning, else its last words."""
    keys = [_key(b) for b in call.asked]
    for thread in reversed(threads):
        if keys and thread.context and keys[0] == thread.context[0][0]:
            return thread
    for thread in reversed(threads):
        # After a compaction the beginning is new, but the newest messages are still there.
        said = {key for key, _ in thread.context[-8:] if key[0] in ("call", "result")}
        if said & set(keys):
            return thread
    threads.append(_Thread())
    return threads[-1]


@dataclass
class _Thread:
    """One conversation: what happened, and what its next request would carry if nothing is edited."""

    blocks: list[Block] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    prefixes: list[Prefix] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    context: list[tuple[Key, int]] = field(default_factory=list)
    message: int = 0

    def add(self, call: _Call, number: int, warnings: list[str]) -> None:
        index = len(self.requests) + 1
        keys = [_key(block) for block in call.asked]
        shared = 0
        while shared < min(len(keys), len(self.context)) and keys[shared] == self.context[shared][0]:
            shared += 1
        if shared < len(self.context):
            warnings.append(f"line {number}: the request does not begin with the whole previous one; kept as an edit")
        self._merge(call.asked, shared, index)
        if call.prefix not in self.prefixes:
            self.prefixes.append(call.prefix)
        prefix = self.prefixes.index(call.prefix)
        self.requests.append(Request(index, call.start, call.model, prefix, call.usage, call.id))
        self._append(call.answered, index + 1)

    def _append(self, blocks: Iterable[Block], request: int) -> list[tuple[Key, int]]:
        """New blocks at the end of what happened and of the context; returns their places."""
        added = []
        last = None
        for block in blocks:
            if block.message != last:
                self.message, last = self.message + 1, block.message
            added.append((_key(block), len(self.blocks)))
            self.blocks.append(replace(block, request=request, message=self.message))
        self.context += added
        return added

    def _merge(self, asked: list[Block], shared: int, index: int) -> None:
        old, new = self.context[shared:], asked[shared:]
        if not old:
            self._append(new, index)
            return
        self.context = self.context[:shared]
        matcher = SequenceMatcher(None, [key for key, _ in old], [_key(b) for b in new], autojunk=False)
        for step, a, b, c, d in matcher.get_opcodes():
            gone, come = old[a:b], new[c:d]
            if step == "equal":
                self.context += gone
            elif self._cleared(gone, come):
                for (_, position), block in zip(gone, come, strict=True):
                    self.edits.append(Edit("clear", index, (position,), stub=block.text))
                    self.context.append((_key(block), position))
            else:
                first = len(self.blocks)
                self._append(come, index)
                if gone:
                    summary = first if come and len(come) < len(gone) and come[0].role == "user" else None
                    kind = "evict" if summary is None else "summary"
                    if summary is not None:
                        self.blocks[first] = replace(self.blocks[first], kind="summary", edited="summary")
                    self.edits.append(Edit(kind, index, tuple(p for _, p in gone), summary))  # type: ignore[arg-type]

    def _cleared(self, gone: list[tuple[Key, int]], come: list[Block]) -> bool:
        """Whether results were only replaced by other words, each in its place."""
        return (
            len(gone) == len(come)
            and bool(gone)
            and all(
                key[0] == block.kind == "result" and key[3] == block.call_id
                for (key, _), block in zip(gone, come, strict=True)
            )
        )

    def trace(self, name: str, kind: TraceKind, path: Path) -> Trace:
        blocks = tuple(self.blocks)
        return Trace(
            name=name,
            blocks=blocks,
            requests=tuple(self.requests),
            prefixes=tuple(self.prefixes),
            edits=tuple(self.edits),
            kind=kind,
            source=f"{NAME}: {path.name}",
        )
