"""A local server that speaks the Anthropic Messages API and OpenAI's two, strictly and offline.

It checks what the real ones check (roles, pairs, empty texts, ids) and answers 400 otherwise; what it
says is up to the test's ``reply``. It also bills: a prompt cache that remembers the last request.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass
class Server:
    """What the test sees: the address, the requests as received, and what to answer next.

    ``reply`` gets the parsed request and returns the content: a list of blocks (Anthropic), a message
    (chat) or a list of items (responses). ``extra`` is more of an Anthropic
    answer. ``fail`` holds statuses to answer first.
    """

    url: str = ""
    requests: list[Json] = field(default_factory=list)
    headers: list[Json] = field(default_factory=list)
    reply: Callable[[Json], Any] = lambda request: [{"type": "text", "text": "ok"}]
    stop_reason: str | None = None
    usage: Json | None = None
    extra: Json = field(default_factory=dict)
    fail: list[int] = field(default_factory=list)
    break_stream: bool = False


class Refused(Exception):
    """The request is not valid."""


def check_anthropic(request: Json) -> None:
    for name in ("model", "max_tokens", "messages"):
        if name not in request:
            raise Refused(f"{name}: field required")
    messages = request["messages"]
    if not messages or messages[0]["role"] != "user":
        raise Refused("messages: first message must use the user role")
    open_calls: list[str] = []
    seen: set[str] = set()
    for i, message in enumerate(messages):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] not in ("user", "assistant") or not parts:
            raise Refused(f"messages.{i}: bad role or empty content")
        if i and message["role"] == messages[i - 1]["role"]:
            raise Refused(f"messages.{i}: roles must alternate")
        answered = [p["tool_use_id"] for p in parts if p["type"] == "tool_result"]
        if sorted(answered) != sorted(open_calls):
            raise Refused(f"messages.{i}: tool_result ids {answered} do not answer tool_use ids {open_calls}")
        if any(p["type"] != "tool_result" for p in parts[: len(answered)]):
            raise Refused(f"messages.{i}: tool_result blocks must come first")
        open_calls = []
        for part in parts:
            if part["type"] == "text" and not part["text"].strip():
                raise Refused(f"messages.{i}: text content blocks must be non-empty")
            if part["type"] == "thinking" and not part.get("signature"):
                raise Refused(f"messages.{i}: thinking without signature")
            if part["type"] == "tool_use":
                if message["role"] != "assistant" or part["id"] in seen or not isinstance(part["input"], dict):
                    raise Refused(f"messages.{i}: bad tool_use {part['id']}")
                if not part["id"].replace("-", "").replace("_", "").isalnum():
                    raise Refused(f"messages.{i}: bad id {part['id']!r}")
                seen.add(part["id"])
                open_calls.append(part["id"])
    if open_calls:
        raise Refused(f"tool_use ids {open_calls} were not answered")


def check_chat(request: Json) -> None:
    open_calls: set[str] = set()
    for i, message in enumerate(request["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                raise Refused(f"messages.{i}: no call {message['tool_call_id']}")
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            raise Refused(f"messages.{i}: calls {sorted(open_calls)} were not answered")
        open_calls = {call["id"] for call in message.get("tool_calls") or []}
        for call in message.get("tool_calls") or []:
            json.loads(call["function"]["arguments"])
        if not message.get("content") and not open_calls:
            raise Refused(f"messages.{i}: empty")
    if open_calls:
        raise Refused(f"calls {sorted(open_calls)} were not answered")


def anthropic_events(message: Json) -> Iterator[Json]:
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    for i, part in enumerate(message["content"]):
        if part["type"] == "tool_use":
            yield {"type": "content_block_start", "index": i, "content_block": {**part, "input": {}}}
            text = json.dumps(part["input"])
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in (text[:3], text[3:])]
        elif part["type"] == "thinking":
            blank = {"type": "thinking", "thinking": "", "signature": ""}
            yield {"type": "content_block_start", "index": i, "content_block": blank}
            deltas = [{"type": "thinking_delta", "thinking": part["thinking"]}]
            deltas.append({"type": "signature_delta", "signature": part["signature"]})
        else:
            yield {"type": "content_block_start", "index": i, "content_block": {"type": "text", "text": ""}}
            deltas = [{"type": "text_delta", "text": p} for p in (part["text"][:2], part["text"][2:])]
        for delta in deltas:
            yield {"type": "content_block_delta", "index": i, "delta": delta}
        yield {"type": "content_block_stop", "index": i}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def chat_chunks(response: Json) -> Iterator[Json]:
    head = {k: response[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    message = response["choices"][0]["message"]
    pieces: list[Json] = [{"role": "assistant", "content": ""}]
    pieces += [{"content": word} for word in (message.get("content") or "")]
    for i, call in enumerate(message.get("tool_calls") or []):
        function = call["function"]
        head_of_call = {"index": i, "id": call["id"], "type": "function"}
        pieces.append({"tool_calls": [{**head_of_call, "function": {"name": function["name"], "arguments": ""}}]})
        pieces += [{"tool_calls": [{"index": i, "function": {"arguments": c}}]} for c in function["arguments"]]
    for piece in pieces:
        yield {**head, "choices": [{"index": 0, "delta": piece, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": response["choices"][0]["finish_reason"]}]}
    yield {**head, "choices": [], "usage": response["usage"]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Server

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.state.requests.append(request)
        self.state.headers.append(dict(self.headers))
        if self.state.fail:
            status = self.state.fail.pop(0)
            self._json(status, {"type": "error", "error": {"type": "api_error", "message": f"status {status}"}})
            return
        try:
            answer = {
                "/v1/messages": self._messages,
                "/v1/messages/count_tokens": self._count_messages,
                "/v1/chat/completions": self._chat,
                "/v1/responses": self._items,
                "/v1/responses/input_tokens": self._count_items,
            }
            answer[self.path.split("?")[0]](request)
        except Refused as error:
            kind = {"type": "invalid_request_error", "message": str(error)}
            self._json(400, {"type": "error", "error": kind})

    def _json(self, status: int, body: Json) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _events(self, events: Iterator[Json], named: bool, last: str = "") -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for i, event in enumerate(events):
            if self.state.break_stream and i == 3:
                break
            name = f"event: {event['type']}\n" if named else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(last.encode())
        self.close_connection = True

    def _messages(self, request: Json) -> None:
        check_anthropic(request)
        content = self.state.reply(request)
        prompt = len(json.dumps(request["messages"])) // 4
        usage = self.state.usage or {"input_tokens": prompt, "output_tokens": len(json.dumps(content)) // 4}
        calls = any(part["type"] == "tool_use" for part in content)
        message = {
            "id": f"msg_{len(self.state.requests)}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": content,
            "stop_reason": self.state.stop_reason or ("tool_use" if calls else "end_turn"),
            "stop_sequence": None,
            "usage": usage,
            **self.state.extra,
        }
        if request.get("stream"):
            self._events(anthropic_events(message), named=True)
        else:
            self._json(200, message)

    def _count_messages(self, request: Json) -> None:
        """A token a word, and 8 for each message."""
        check_anthropic({"max_tokens": 1, **request})
        said = [message["content"] for message in request["messages"]]
        if not all(text.strip() for text in said):
            raise Refused("messages: text content blocks must be non-empty")
        self._json(200, {"input_tokens": sum(8 + len(text.split()) for text in said)})

    def _count_items(self, request: Json) -> None:
        """A token a word, and 5 for the request."""
        self._json(200, {"object": "response.input_tokens", "input_tokens": 5 + len(request["input"].split())})

    def _chat(self, request: Json) -> None:
        check_chat(request)
        message = {"role": "assistant", "content": None, **self.state.reply(request)}
        response = {
            "id": f"chatcmpl-{len(self.state.requests)}",
            "object": "chat.completion",
            "created": 1,
            "model": request["model"],
            "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
            ],
            "usage": self.state.usage
            or {
                "prompt_tokens": 100,
                "completion_tokens": 7,
                "total_tokens": 107,
                "prompt_tokens_details": {"cached_tokens": 60},
            },
        }
        if request.get("stream"):
            self._events(chat_chunks(response), named=False, last="data: [DONE]\n\n")
        else:
            self._json(200, response)

    def _items(self, request: Json) -> None:
        response = {
            "id": f"resp_{len(self.state.requests)}",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": request["model"],
            "output": self.state.reply(request),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": self.state.usage
            or {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
                "output_tokens": 7,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 107,
            },
        }
        if request.get("stream"):
            started = {"type": "response.created", "response": {**response, "output": [], "usage": None}}
            done = {"type": "response.completed", "response": response}
            events = [{**e, "sequence_number": i} for i, e in enumerate((started, done))]
            self._events(iter(events), named=True)
        else:
            self._json(200, response)


@contextmanager
def serving() -> Iterator[Server]:
    """Run the server on a free loopback port."""
    state = Server()
    handler = type("Handler", (_Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
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
