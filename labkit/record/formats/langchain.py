"""LangChain's messages as its tools dump them, and LangGraph's checkpoints, each of which holds the whole list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.record.formats.chat import chat_blocks, chat_usage
from labkit.record.formats.claude_code_content import usage_of
from labkit.record.formats.common import as_dict, as_list, as_text
from labkit.record.formats.jsonl import read_lines
from labkit.record.formats.span_messages import said_in
from labkit.record.formats.traffic import Exchange, Traffic
from labkit.record.formats.traffic_files import first_entry, name_of
from labkit.record.formats.usage import usage_metadata
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Block, Prefix, Trace, Usage

NAME = "LangChain"

_TYPES = {"ai", "human", "system", "tool", "function", "chat", "remove", "AIMessageChunk"}
_CLASSES = {
    f"{t}{c}" for t in ("AI", "Human", "System", "Tool", "Function", "Chat") for c in ("Message", "MessageChunk")
}


def _is_message(value: Any) -> bool:
    """Whether an object is a message in one of the four encodings, and no one else's."""
    message = as_dict(value)
    kind = message.get("type")
    if kind == "constructor":
        return bool(_CLASSES & {n for n in as_list(message.get("id")) if isinstance(n, str)})
    if not isinstance(kind, str):
        return isinstance(message.get("additional_kwargs"), dict) and "role" in message
    inner = as_dict(message.get("data")) or message
    return kind in _TYPES and "content" in inner and "role" not in message and "uuid" not in message


def _state(value: Any) -> list[Any]:
    """The messages of a state or a checkpoint, wherever it keeps them."""
    found = as_dict(value)
    for key in ("checkpoint", "values", "channel_values", "state", "data"):
        if isinstance(found.get(key), dict):
            found = found[key]
    messages = as_list(found.get("messages"))
    return messages if messages and _is_message(messages[0]) else []


def matches(path: Path) -> bool:
    """Whether the file begins with a message of LangChain's or with a state that holds some."""
    head = first_entry(path)
    return _is_message(head) or bool(_state(head))


def read(path: Path) -> Trace:
    """Read a list of messages, or states of one thread that each hold the list as it was then.

    Parameters
    ----------
    path : Path
        One JSON document or JSON lines.

    Notes
    -----
    What a middleware takes out of a request alone never reaches the state, so it is not seen here.
    """
    document = whole_json(path)
    warnings: list[str] = []
    if document is None:
        lines, warnings = read_lines(path)
        document = [line for _, line in lines]
    entries = document if isinstance(document, list) else [document]
    if entries and _is_message(entries[0]):
        entries = [{"messages": entries}]
    reader = _Reader()
    for entry in _in_order([e for e in entries if _state(e)]):
        reader.state(_state(entry))
    if not reader.answers:
        raise InputError(f"{path} holds no message of a model: give a dump of a whole conversation of LangChain's")
    return reader.traffic.trace(name_of(path), f"{NAME}: {path.name}", [*warnings, *reader.remarks()])


def _in_order(states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """States oldest first: LangGraph lists the newest first."""
    steps = [as_dict(s.get("metadata")).get("step") for s in states]
    if states and all(type(n) is int for n in steps):
        return [s for _, _, s in sorted(zip(steps, range(len(states)), states, strict=True), key=lambda t: t[:2])]
    lengths = [len(_state(s)) for s in states]
    newest_first = len(lengths) > 1 and lengths[0] > lengths[-1]
    return states[::-1] if newest_first else states


class _Reader:
    """Follows the list of messages from state to state."""

    def __init__(self) -> None:
        self.traffic = Traffic(single=True)
        self.answers = 0
        self._seen: set[str] = set()
        self._skipped = 0

    def state(self, raw: list[Any]) -> None:
        """Take one state: each answer that was not there before is a call of the model."""
        messages = [m for m in map(_flat, raw) if m.get("type") != "remove"]
        blocks = [list(_blocks(m)) for m in raw if as_dict(m).get("type") != "remove"]
        self._skipped += len(raw) - len(messages)
        head = next((i for i, b in enumerate(blocks) if b and b[0].role != "system"), len(blocks))
        system = "\n".join(b.text for message in blocks[:head] for b in message) or None
        last = head
        for i in range(head, len(messages)):
            if not blocks[i] or blocks[i][0].role != "assistant":
                continue
            last = i + 1
            name = as_text(messages[i].get("id")) or f"{i} {blocks[i]}"
            if name in self._seen:
                continue
            self._seen.add(name)
            self.answers += 1
            about = as_dict(messages[i].get("response_metadata"))
            self.traffic.add(
                Exchange(
                    asked=blocks[head:i],
                    answered=blocks[i],
                    prefix=Prefix(system),
                    model=as_text(about.get("model_name")) or as_text(about.get("model")),
                    usage=_usage(messages[i], about),
                    id=as_text(messages[i].get("id")),
                )
            )
        self.traffic.trail(blocks[head:], last - head)

    def remarks(self) -> list[str]:
        """One sentence for each kind of thing that was passed over."""
        return [f"{self._skipped} orders to remove a message were skipped"] if self._skipped else []


def _flat(message: Any) -> dict[str, Any]:
    """A message's fields, whichever encoding holds them."""
    given = as_dict(message)
    return {**given, **as_dict(given.get("data")), **as_dict(given.get("kwargs"))}


def _blocks(message: Any) -> Iterator[Block]:
    # Calls stand in up to three places of one message; each is taken once.
    for said in said_in(message, "user").messages:
        yield from chat_blocks(said)


def _usage(message: dict[str, Any], about: dict[str, Any]) -> Usage | None:
    """Usage in LangChain's words, else the provider's copy."""
    return usage_metadata(message.get("usage_metadata")) or chat_usage(about.get("token_usage")) or usage_of(about)
