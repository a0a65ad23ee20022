"""A small Messages API on this machine that compacts, caches and bills by Anthropic's rules; it holds no model.

For lessons on what a client does to its bill. The rules are those of the vendor's pages on compaction at a threshold
(2026-08-21) and on demand (September 2026); what they leave open is simplified here: a prompt counts tokens of its
texts only, the cache keeps every prefix at the end of a message and never expires, a summary has the length it is told.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from labkit.record.tokens import get_counter

__all__ = ["LocalApi", "serving"]

THRESHOLD, ON_DEMAND = "compact-2026-01-12", "compact-2026-09-04"
_LEAST = 50_000


@dataclass
class LocalApi:
    """What the server was told and what it has seen.

    Parameters
    ----------
    summary : str
        The text of every summary.
    answer : str
        The text of every answer.
    url : str
        Its address, set by :func:`serving`.
    requests : list of dict
        Bodies as received.
    """

    summary: str = "What was found so far."
    answer: str = "ok"
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    cached: set[str] = field(default_factory=set)

    def message(self, request: dict[str, Any], betas: str) -> dict[str, Any]:
        """Answer one request.

        Raises
        ------
        ValueError
            If it breaks a rule: what the API answers with status 400.
        """
        self.requests.append(request)
        messages = [(m["role"], _parts(m["content"])) for m in request["messages"]]
        if request.get("compaction"):
            if ON_DEMAND not in betas:
                raise ValueError(f"compaction: needs the beta {ON_DEMAND}")
            summarized = self._usage(messages)
            block = {"type": "compaction", "content": self.summary, "signature": _signature(self.summary)}
            return self._made(request, [block], "compaction", [self._summing(summarized)], {})
        seen = _placed(messages, signed=ON_DEMAND in betas)
        edits = (request.get("context_management") or {}).get("edits", [])
        trigger = next((_trigger(e) for e in edits if e["type"] == "compact_20260112"), None)
        passes, content = [], [{"type": "text", "text": self.answer}]
        usage = self._usage(seen)
        if trigger is not None and THRESHOLD in betas and sum(usage.values()) >= trigger:
            passes.append(self._summing(usage))
            block = {"type": "compaction", "content": self.summary}
            content.insert(0, block)
            usage = self._usage([("assistant", [block])])
        passes.append({"type": "message", **usage, "output_tokens": _count(self.answer)})
        return self._made(request, content, "end_turn", passes, usage)

    def _usage(self, messages: list[tuple[str, list[dict[str, Any]]]]) -> dict[str, int]:
        """Tokens read from the cache as far as it knows the beginning, and the rest written to it."""
        digest, total, read = hashlib.sha256(), 0, 0
        for role, parts in messages:
            digest.update(json.dumps([role, parts], sort_keys=True).encode())
            total += sum(_count(str(part.get("text") or part.get("content") or "")) for part in parts)
            if digest.hexdigest() in self.cached:
                read = total
            self.cached.add(digest.hexdigest())
        return {"input_tokens": 0, "cache_read_input_tokens": read, "cache_creation_input_tokens": total - read}

    def _summing(self, usage: dict[str, int]) -> dict[str, Any]:
        return {"type": "compaction", **usage, "output_tokens": _count(self.summary)}

    def _made(
        self,
        request: dict[str, Any],
        content: list[dict[str, Any]],
        stop: str,
        passes: list[Any],
        usage: dict[str, int],
    ) -> dict[str, Any]:
        empty = {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        output = _count(self.answer) if usage else 0
        return {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            # The top level leaves compactions out.
            "usage": {**empty, **usage, "output_tokens": output, "iterations": passes},
        }


@lru_cache(maxsize=256)
def _count(text: str) -> int:
    return get_counter().count(text)


def _parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _signature(text: str) -> str:
    return hashlib.sha256(b"signed" + text.encode()).hexdigest()[:24]


def _trigger(edit: dict[str, Any]) -> int:
    value = int((edit.get("trigger") or {"value": 150_000})["value"])
    if value < _LEAST:
        raise ValueError(f"context_management.edits.trigger: {value} is below the minimum of {_LEAST}")
    return value


def _placed(messages: list[Any], *, signed: bool) -> list[Any]:
    """What of the messages is read: at a threshold from the last block on; on demand all, with the block first."""
    at = [i for i, (_, parts) in enumerate(messages) if any(p["type"] == "compaction" for p in parts)]
    if not at:
        return messages
    if not signed:
        role, parts = messages[at[-1]]
        first = max(k for k, part in enumerate(parts) if part["type"] == "compaction")
        return [(role, parts[first:]), *messages[at[-1] + 1 :]]
    block = messages[0][1][0]
    if at != [0] or block["type"] != "compaction":
        raise ValueError("compaction_block_misplaced: exactly one compaction block, first in messages")
    if block.get("signature") != _signature(block["content"]):
        raise ValueError("compaction_signature_invalid: send the block back as it came")
    return messages


class _Handler(BaseHTTPRequestHandler):
    state: LocalApi

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            status, body = 200, self.state.message(request, self.headers.get("anthropic-beta") or "")
        except ValueError as error:
            status, body = 400, {"type": "error", "error": {"type": "invalid_request_error", "message": str(error)}}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def serving(summary: str = "What was found so far.", answer: str = "ok") -> Iterator[LocalApi]:
    """Run the server on a free port of this machine while the block lasts.

    Parameters
    ----------
    summary, answer : str
        What it says.

    Examples
    --------
    >>> with serving() as api:
    ...     api.url.startswith("http://127.0.0.1:")
    True
    """
    state = LocalApi(summary, answer)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state}))
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
