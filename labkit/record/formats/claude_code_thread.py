"""One thread of a Claude Code session, line by line: from JSON lines to a Trace.

A response of the model is several lines, one content block each, with the results of its parallel
calls between them. The thread puts the blocks of a response together, keeps every call, and lets
the results follow as the next user message, which is how the request was really sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from labkit.record.formats.claude_code_content import attachment_text, content_blocks, no_count, usage_of
from labkit.record.formats.claude_code_layout import REWIND, Item, Layout
from labkit.record.formats.common import as_dict, as_text, timestamp
from labkit.record.trace import Block, Trace, TraceKind

__all__ = ["Thread"]

# Lines for the user interface, which never reach the model.
_SILENT = {
    "agent-name",
    "ai-title",
    "custom-title",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "summary",
}

SYNTHETIC = "<synthetic>"


class Thread:
    """Collects the lines of one thread; :meth:`trace` makes the Trace.

    Parameters
    ----------
    keys : mapping
        Response key of each assistant line, by the identity of the line's object.
    counted : set of str
        Keys of the responses that another thread of the session already counts; grows.
    """

    def __init__(self, keys: Mapping[int, str], counted: set[str]) -> None:
        self._keys = keys
        self._counted = counted
        self._items: list[Item] = []
        self._responses: dict[str, Item] = {}
        self._seen: dict[str, list[Any]] = {}
        self._prompts: dict[str, tuple[str, int]] = {}  # parent -> its last prompt, and the responses before it
        self._open: dict[str, list[Block]] = {}
        self._answered: Counter[str] = Counter()
        self._clock: float | None = None
        self._skipped: Counter[str] = Counter()
        self._odd: list[str] = []
        self._copies = 0
        self._shared = 0
        self.agents: dict[str, str] = {}
        self.warnings: list[str] = []

    def add(self, number: int, line: dict[str, Any]) -> None:
        """Take one line; its number is for warnings."""
        kind = as_text(line.get("type"))
        message = as_dict(line.get("message"))
        if kind in ("user", "assistant") and not message:
            self.warnings.append(f"line {number}: {kind} line without a message; skipped")
            return
        if kind in ("user", "assistant", "attachment") and self._is_copy(line):
            return
        if kind == "assistant":
            self._assistant(number, line, message)
        elif kind == "user":
            self._user(number, line, message)
        elif kind == "attachment":
            text = attachment_text(line)
            if text:
                self._said([Block("text", "user", text)], as_text(line.get("uuid")))
        elif kind == "system":
            if line.get("subtype") in ("compact_boundary", "microcompact_boundary"):
                self._items.append(Item(boundary=line))
        elif kind not in _SILENT:
            self._skipped[str(kind)[:40]] += 1
            return
        if kind in ("user", "assistant", "attachment", "system"):
            self._tick(timestamp(line.get("timestamp")))

    def _tick(self, time: float | None) -> None:
        if time is not None:
            self._clock = time if self._clock is None else max(self._clock, time)

    def _is_copy(self, line: dict[str, Any]) -> bool:
        """Whether the line was seen before: a resumed or branched session copies its history.

        The uuid alone does not tell: some tools blank it, and then all lines share one.
        """
        uuid = as_text(line.get("uuid"))
        if uuid is None:
            return False
        content = (line.get("type"), line.get("message"), line.get("attachment"))
        seen = self._seen.setdefault(uuid, [])
        if content in seen:
            self._copies += 1
            return True
        seen.append(content)
        return False

    def _assistant(self, number: int, line: dict[str, Any], message: dict[str, Any]) -> None:
        synthetic = message.get("model") == SYNTHETIC
        if line.get("isApiErrorMessage") is True:
            return
        blocks = content_blocks(message.get("content"), "assistant")
        if synthetic:
            self._said(blocks, as_text(line.get("uuid")))
            return
        key = self._keys[id(line)]
        item = self._responses.get(key)
        if item is None:
            item = Item(
                key=key, start=self._start(line), id=as_text(message.get("id")) or as_text(line.get("requestId"))
            )
            item.model = as_text(message.get("model"))
            item.counted = key not in self._counted
            self._shared += not item.counted
            self._counted.add(key)
            self._responses[key] = item
            self._items.append(item)
        for block in blocks:
            if block in item.blocks:  # a copy of the line under another uuid
                continue
            if block.kind == "result":  # of a tool at the provider
                paired = self._pair(number, block, None)
                if paired is None:
                    continue
                block = paired
            item.add([block], as_text(line.get("uuid")))
            if block.kind == "call" and block.call_id:
                self._open.setdefault(block.call_id, []).append(block)
        odd = no_count(message)
        if odd:
            self._odd.append(f"line {number}: {odd}")
        usage = usage_of(message)
        if usage is not None and (item.usage is None or usage.output >= item.usage.output):
            item.usage, item.raw = usage, message["usage"]
        item.stopped |= as_text(message.get("stop_reason")) is not None

    def _start(self, line: dict[str, Any]) -> float | None:
        """When the request was sent.

        A line is stamped when its content was complete, which for a response is up to minutes after
        its request was sent. The line before it, a prompt or a result, is what set the request off.
        """
        time = timestamp(line.get("timestamp"))
        if self._clock is None or (time is not None and time < self._clock):
            return time
        return self._clock

    def _user(self, number: int, line: dict[str, Any], message: dict[str, Any]) -> None:
        blocks = content_blocks(message.get("content"), "user")
        if line.get("isCompactSummary") is True:
            blocks = [replace(b, kind="summary", edited="summary") if b.kind == "text" else b for b in blocks]
        uuid = as_text(line.get("uuid"))
        if blocks and line.get("isMeta") is not True and all(b.kind in ("text", "image") for b in blocks):
            self._prompt(uuid, as_text(line.get("parentUuid")))
        agent = as_text(as_dict(line.get("toolUseResult")).get("agentId"))
        for block in blocks:
            if block.kind == "result":
                paired = self._pair(number, block, as_text(line.get("sourceToolUseID")))
                if paired is None:
                    continue
                block = paired
                if agent and block.tool:
                    self.agents[agent] = block.tool
            self._said([block], uuid)

    def _prompt(self, uuid: str | None, parent: str | None) -> None:
        """A second prompt below one line, after the first was answered: the user went back to that line.

        Prompts that were queued during one answer may share their parent; nothing was answered between them.
        """
        if uuid is None or parent is None or uuid == parent:
            return
        before, answered = self._prompts.get(parent, (uuid, 0))
        if before != uuid and answered < len(self._responses):
            self._items.append(Item(boundary={"subtype": REWIND, "to": before}))
        self._prompts[parent] = (uuid, len(self._responses))

    def _pair(self, number: int, block: Block, source: str | None) -> Block | None:
        """The result with its call's tool and arguments; ``None`` for a second answer to one call."""
        call_id = block.call_id or source
        waiting = self._open.get(call_id or "", [])
        if waiting:
            call = waiting.pop()
            self._answered[call_id or ""] += 1
            return replace(block, tool=call.tool, args=call.args, call_id=call_id)
        if call_id and self._answered[call_id]:
            self.warnings.append(f"line {number}: a second result for the call {call_id!r}; skipped")
            return None
        self.warnings.append(f"line {number}: the result of {call_id!r} has no call in this file; kept")
        return replace(block, call_id=call_id)

    def _said(self, blocks: list[Block], uuid: str | None) -> None:
        if not self._items or self._items[-1].key is not None or self._items[-1].boundary is not None:
            self._items.append(Item())
        self._items[-1].add(blocks, uuid)

    @property
    def empty(self) -> bool:
        """Whether nothing in the thread reaches the model."""
        return not any(item.blocks for item in self._items)

    def trace(self, name: str, kind: TraceKind, source: str, children: tuple[Trace, ...] = ()) -> Trace:
        """Number the requests, place the blocks and the recorded edits."""
        layout = Layout()
        guessed = self._placeholders()
        for item in self._items:
            if item.boundary is not None:
                layout.boundary(item.boundary)
            elif item.key is None:
                layout.say(item)
            else:
                layout.respond(item, item.key in guessed)
        warnings = [*self.warnings, *layout.warnings]
        if guessed:
            warnings.append(
                f"{len(guessed)} of {len(layout.requests)} responses hold a placeholder instead of their final "
                "output tokens: the recorded output is too low"
            )
        if self._odd:
            warnings.append(
                f"{len(self._odd)} lines record something else than a whole number of tokens, which is taken as 0: "
                f"{', '.join(self._odd[:3])}{', ...' if self._odd[3:] else ''}"
            )
        if self._copies:
            warnings.append(f"{self._copies} lines are copies of earlier lines; counted once")
        if self._shared:
            warnings.append(
                f"{self._shared} responses are counted in another file of the session; not counted again here"
            )
        if self._skipped:
            kinds = ", ".join(f"{n} {k!r}" for k, n in sorted(self._skipped.items()))
            warnings.append(f"lines of unknown types were skipped: {kinds}")
        unanswered = sum(map(len, self._open.values()))
        if unanswered:
            warnings.append(f"{unanswered} calls have no result in this file; kept")
        return Trace(
            name=name,
            blocks=tuple(layout.blocks),
            requests=tuple(layout.requests),
            edits=tuple(layout.edits),
            children=(*children, *layout.beside),
            kind=kind,
            source=source,
            warnings=tuple(warnings),
        )

    def _placeholders(self) -> set[str]:
        """Responses whose recorded output is a number from the start of the stream.

        Such a response has no stop reason on any line, and either its text is longer than its tokens
        could make it (10 characters each), or the whole thread averages below 10 tokens a response.
        """
        loose = [i for i in self._responses.values() if i.usage is not None and not i.stopped]
        low = sum(i.usage.output for i in loose if i.usage) < 10 * len(loose)
        return {
            i.key
            for i in loose
            if i.key and i.usage and (low or i.usage.output * 10 < sum(len(b.text) for b in i.blocks))
        }
