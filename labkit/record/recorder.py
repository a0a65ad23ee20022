"""Recording a live client: each call of the model becomes a line of JSON that ``labkit.load`` reads."""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from inspect import isawaitable
from pathlib import Path
from typing import Any, TypeVar

from labkit.errors import InputError

__all__ = ["FORMAT", "VERSION", "record"]

FORMAT = "labkit-exchange"
VERSION = 1

APIS = {
    ("messages", "create"): "anthropic.messages",
    ("messages", "stream"): "anthropic.messages",
    ("beta", "messages", "create"): "anthropic.messages",
    ("beta", "messages", "stream"): "anthropic.messages",
    ("chat", "completions", "create"): "openai.chat",
    ("responses", "create"): "openai.responses",
}
# Rooms on the way to those methods, and methods that give another client.
ROOMS = {path[:i] for path in APIS for i in range(1, len(path))}
CLIENTS = ("with_options", "copy")
# Options of the transport are no part of a request, and headers may hold a key.
LEFT_OUT = {"extra_headers", "extra_query", "timeout"}

Client = TypeVar("Client")


def record(client: Client, path: str | Path) -> Client:
    """Wrap an Anthropic or OpenAI client so that every call of the model is written down.

    Parameters
    ----------
    client : Anthropic, AsyncAnthropic, OpenAI or AsyncOpenAI
        Stays as it is.
    path : str or Path
        A file to append to, a line a call: request, response or error, start (seconds since the
        epoch) and duration. It holds everything the model was told, but no key.

    Returns
    -------
    client
        Use it in place of the given one. ``messages.create`` and ``messages.stream``,
        ``chat.completions.create`` and ``responses.create`` are recorded, streams when they end;
        everything else, also ``with_raw_response``, is passed through unrecorded.

    Raises
    ------
    InputError
        If the client has none of these methods, or the file cannot be written.

    Notes
    -----
    A failure to write never breaks a call; it gives one warning. Each line holds its whole request,
    so a file grows with the sum of the prompts.
    """
    if not any(hasattr(client, name) for name in ("messages", "chat", "responses")):
        raise InputError(f"{type(client).__name__} is no client labkit knows: give one of Anthropic's or OpenAI's")
    log = _Log(Path(path).expanduser())
    try:
        log.write("")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): give a file in a folder that exists") from None
    wrapped: Any = _Wrapped(client, (), log)
    return wrapped  # type: ignore[no-any-return]


class _Log:
    """The file; one write a line, so that lines of several threads or processes do not mix."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._warned = False

    def write(self, text: str) -> None:
        data = text.encode("utf-8", errors="replace")
        with self._lock:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(handle, data)
            finally:
                os.close(handle)

    def line(self, entry: Mapping[str, Any]) -> None:
        try:
            self.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":"), default=_plain) + "\n")
        except Exception as error:  # the agent's call has succeeded: it must not fail because of us
            self.warn(error)

    def warn(self, error: Exception) -> None:
        if self._warned:
            return
        self._warned = True
        with suppress(Warning):  # where warnings are errors, the call must not fail still
            warnings.warn(f"labkit could not record a call to {self.path} ({error})", stacklevel=4)


def _plain(value: Any) -> Any:
    """What json cannot write by itself: the SDKs' models, and anything iterable."""
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json", exclude_unset=True)
    if isinstance(value, (bytes, bytearray)):
        return f"[{len(value)} bytes]"
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return str(value)


class _Wrapped:
    """A client, or a room of one, that looks like the original but for the recorded methods."""

    def __init__(self, target: Any, path: tuple[str, ...], log: _Log) -> None:
        self._labkit = target, path, log

    @property
    def __class__(self) -> Any:
        return type(self._labkit[0])

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise AttributeError("__class__ of a recorded client cannot be set")

    def __getattr__(self, name: str) -> Any:
        target, path, log = self._labkit
        value = getattr(target, name)
        here = (*path, name)
        if here in APIS:
            return _recorded(value, APIS[here], log)
        if here in ROOMS:
            return _Wrapped(value, here, log)
        if not path and name in CLIENTS:
            return lambda *args, **options: _Wrapped(value(*args, **options), (), log)
        return value

    def __repr__(self) -> str:
        return f"recorded {self._labkit[0]!r}"

    def __enter__(self) -> Any:
        self._labkit[0].__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._labkit[0].__exit__(*error)

    async def __aenter__(self) -> Any:
        await self._labkit[0].__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._labkit[0].__aexit__(*error)


class _Call:
    """One call: what was asked and when, until the answer is known."""

    def __init__(self, api: str, options: Mapping[str, Any], log: _Log) -> None:
        self.api, self.log = api, log
        self.start, self._began = time.time(), time.perf_counter()
        self._done = False
        self.request: Any = None
        try:
            # Written now: the caller may append to the same list of messages before the answer comes.
            kept = {k: v for k, v in options.items() if k not in LEFT_OUT and not _absent(v)}
            self.request = json.loads(json.dumps(kept, default=_plain))
        except Exception as error:
            log.warn(error)

    def done(self, **outcome: Any) -> None:
        if self._done:
            return
        self._done = True
        seconds = round(time.perf_counter() - self._began, 3)
        head = {"type": "exchange", "format": FORMAT, "version": VERSION, "api": self.api}
        self.log.line({**head, "start": self.start, "seconds": seconds, "request": self.request, **outcome})

    def failed(self, error: BaseException) -> None:
        status = getattr(error, "status_code", None)
        self.done(error={"type": type(error).__name__, "message": str(error), "status": status})

    def streamed(self, events: list[Any], error: BaseException | None = None) -> None:
        response, whole = None, False
        try:
            from labkit.record.streams import assemble

            response, whole = assemble(self.api, [_plain(event) for event in events])
        except Exception as problem:
            self.log.warn(problem)
        if error is not None:
            self.failed(error)
        elif response is not None:
            self.done(response=response, **({} if whole else {"incomplete": True}))
        else:
            self.done(error={"type": "Stream", "message": "the stream ended before an answer began", "status": None})


def _absent(value: Any) -> bool:
    """The SDKs' marks for an option that was not given."""
    return type(value).__name__ in ("NotGiven", "Omit")


def _recorded(method: Callable[..., Any], api: str, log: _Log) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        entry = _Call(api, options, log)
        try:
            answer = method(*args, **options)
        except BaseException as error:
            entry.failed(error)
            raise
        if isawaitable(answer):
            return _awaited(answer, entry)
        return _answered(answer, entry)

    return call


async def _awaited(answer: Any, entry: _Call) -> Any:
    try:
        answer = await answer
    except BaseException as error:
        entry.failed(error)
        raise
    return _answered(answer, entry)


def _answered(answer: Any, entry: _Call) -> Any:
    if hasattr(answer, "model_dump"):
        entry.done(response=answer)
        return answer
    from labkit.record.streams import Recorded, RecordedManager  # only a client that streams needs them

    if hasattr(answer, "__aiter__") or hasattr(answer, "__iter__"):
        return Recorded(answer, entry)
    if hasattr(answer, "__enter__") or hasattr(answer, "__aenter__"):
        return RecordedManager(answer, entry)
    return answer
