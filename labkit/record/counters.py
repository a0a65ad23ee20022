"""Counting tokens by asking the provider, behind the same protocol as the offline counter.

Each text is sent as a message of its own and what a message costs beside its text is subtracted: the
count of a message of one character, less that character. The answers are kept on the disk, so a text
is sent once. Whoever does not want texts to leave the machine does not make such a counter.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.files import home
from labkit.record.tokens import Counter, get_counter

__all__ = ["AskingCounter", "anthropic_counter", "openai_counter"]

PROBE = "x"
"""A message of one character, which is one token in every tokenizer known here."""

# The provider has read these requests and will not count them; others it will.
_OF_THE_TEXT = (400, 413, 422)


@dataclass(frozen=True)
class AskingCounter(Counter):
    """A counter that asks a provider; made by :func:`anthropic_counter` and :func:`openai_counter`."""

    def count(self, text: str) -> int:
        """Number of tokens in a text, sent in one piece; never raises."""
        return self.encode_length(text) if text else 0


def anthropic_counter(client: Any, model: str, *, cache: str | Path | None = None) -> Counter:
    """Count by Anthropic's ``messages.count_tokens``.

    Parameters
    ----------
    client : anthropic.Anthropic
    model : str
        Each model may have a tokenizer of its own.
    cache : str or Path, optional
        File to keep counts in; default: ``counts.sqlite`` in :func:`labkit.files.home`.

    Returns
    -------
    Counter
        Give it to :func:`labkit.measure`. When the provider cannot be asked it warns once and counts the
        rest offline.

    Raises
    ------
    InputError
        If the client cannot count, or is asynchronous.

    Examples
    --------
    A client that counts words, and takes 8 more for each message:

    >>> import tempfile
    >>> from types import SimpleNamespace
    >>> def count_tokens(model, messages):
    ...     return SimpleNamespace(input_tokens=8 + len(messages[0]["content"].split()))
    >>> client = SimpleNamespace(messages=SimpleNamespace(count_tokens=count_tokens))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     anthropic_counter(client, "claude-opus-4-5", cache=folder + "/counts").count("one two three")
    3
    """
    ask = _method(client, "messages", "count_tokens")

    def total(text: str) -> int:
        return int(ask(model=model, messages=[{"role": "user", "content": text}]).input_tokens)

    return _counter("Anthropic count_tokens", client, model, total, cache)


def openai_counter(client: Any, model: str, *, cache: str | Path | None = None) -> Counter:
    """Count by OpenAI's ``responses.input_tokens.count``.

    Parameters
    ----------
    client : openai.OpenAI
    model : str
    cache : str or Path, optional
        As for :func:`anthropic_counter`.

    Returns
    -------
    Counter

    Raises
    ------
    InputError
        If the client cannot count, or is asynchronous.
    """
    ask = _method(client, "responses", "input_tokens", "count")

    def total(text: str) -> int:
        return int(ask(model=model, input=text).input_tokens)

    return _counter("OpenAI input_tokens", client, model, total, cache)


def _method(client: Any, *path: str) -> Callable[..., Any]:
    if type(client).__name__.startswith("Async"):
        raise InputError(
            f"{type(client).__name__} cannot be used for counting: give the client that is not asynchronous"
        )
    found = client
    for name in path:
        found = getattr(found, name, None)
    if not callable(found):
        raise InputError(
            f"{type(client).__name__} has no {'.'.join(path)}: give a client of the provider's present SDK"
        )
    return found  # type: ignore[no-any-return]


def _counter(api: str, client: Any, model: str, total: Callable[[str], int], cache: str | Path | None) -> Counter:
    file = home() / "counts.sqlite" if cache is None else Path(cache).expanduser()
    # A relay under another address may count differently, so the address is part of the key.
    kept = _Kept(file, f"{api} {getattr(client, 'base_url', '')} {model}")
    asking = _Asking(f"{api} of {model}", total, kept)
    return AskingCounter(f"{api}, {model}", "the provider's own count, which it calls an estimate", asking.count)


class _Asking:
    """Asks, remembers, and gives up once."""

    def __init__(self, name: str, total: Callable[[str], int], kept: _Kept) -> None:
        self._name = name
        self._total = total
        self._kept = kept
        self._given_up = False
        self._warned = False

    def count(self, text: str) -> int:
        """Tokens of a text that is not empty."""
        text = text.encode("utf-8", errors="replace").decode("utf-8")  # a lone surrogate cannot be sent
        try:
            # A message of blanks is refused, so it is sent behind the probe.
            if not text.strip():
                return max(self._of(PROBE + text) - self._of(PROBE), 1)
            return max(self._of(text) - self._of(PROBE) + 1, 1)
        except _Unasked:
            pass
        except Exception as error:
            if getattr(error, "status_code", None) not in _OF_THE_TEXT:
                self._given_up = True
            self._warn(error)
        return get_counter().count(text)

    def _of(self, text: str) -> int:
        """Tokens of a whole message."""
        tokens = self._kept.get(text)
        if tokens is None:
            if self._given_up:
                raise _Unasked
            tokens = self._total(text)
            self._kept.put(text, tokens)
        return tokens

    def _warn(self, error: Exception) -> None:
        if self._warned:
            return
        self._warned = True
        what = "what cannot be asked is" if not self._given_up else "this text and all new ones are"
        warnings.warn(
            f"{self._name} failed ({type(error).__name__}: {str(error)[:200]}); {what} counted offline by "
            f"{get_counter().name}, so the sizes are of two kinds.",
            stacklevel=5,
        )


class _Unasked(Exception):
    """The provider failed before and is not asked again."""


class _Kept:
    """Counts on the disk, each under a digest of who counted and what; only in memory if that fails."""

    def __init__(self, file: Path, who: str) -> None:
        self._file = file
        self._who = who
        self._lock = threading.Lock()
        self._memory: dict[str, int] = {}

    def get(self, text: str) -> int | None:
        key = self._key(text)
        with self._lock:
            if key not in self._memory and self._file.is_file():
                try:
                    with closing(sqlite3.connect(self._file, timeout=5)) as base:
                        row = base.execute("SELECT tokens FROM counts WHERE key = ?", (key,)).fetchone()
                    if row is not None and isinstance(row[0], int):
                        self._memory[key] = row[0]
                except sqlite3.Error:
                    pass  # damaged, or of another program: it is asked again
            return self._memory.get(key)

    def put(self, text: str, tokens: int) -> None:
        key = self._key(text)
        with self._lock:
            self._memory[key] = tokens
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                with closing(sqlite3.connect(self._file, timeout=5)) as base, base:
                    base.execute("CREATE TABLE IF NOT EXISTS counts (key TEXT PRIMARY KEY, tokens INTEGER NOT NULL)")
                    base.execute("INSERT OR REPLACE INTO counts VALUES (?, ?)", (key, tokens))
            except (sqlite3.Error, OSError):
                pass  # a cache that cannot be written costs time, not a count

    def _key(self, text: str) -> str:
        return f"{self._who} {hashlib.sha256(text.encode('utf-8')).hexdigest()}"
