"""Counting tokens, offline, without ever raising.

The vocabulary of o200k_base ships in ``data/tokenizers``. It is OpenAI's tokenizer: for Claude or
Gemini its counts are estimates, good for shares and trends, not for reconciling an invoice.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from labkit.errors import InputError
from labkit.files import data_path

__all__ = ["MESSAGE_OVERHEAD", "Counter", "count", "get_counter"]

MESSAGE_OVERHEAD = 4
"""Tokens a chat format adds around each message; approximate, providers do not document it."""

# tiktoken looks for a file named by the sha1 of the vocabulary's address and checks its sha256
# (tiktoken 0.14.0, load.py); with both right it never touches the network.
O200K_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

# The regular expression inside tiktoken overflows its stack on very long runs of blanks, so long
# texts are counted in pieces. A cut costs at most a token or two in 20,000.
CHUNK = 20_000


@dataclass(frozen=True)
class Counter:
    """A way to turn text into a number of tokens.

    Parameters
    ----------
    name : str
        What a result says it was counted with.
    error : str
        How far off it may be, in words.
    encode_length : callable
        Takes a text of at most ``CHUNK`` characters, returns its number of tokens.
    """

    name: str
    error: str
    encode_length: Callable[[str], int] = field(repr=False, compare=False)

    def count(self, text: str) -> int:
        """Number of tokens in a text; never raises.

        Parameters
        ----------
        text : str
            Anything, also empty, a million spaces, or with lone surrogates.

        Returns
        -------
        int
            Tokens, 0 for an empty text.
        """
        if len(text) <= CHUNK:
            return self._piece(text)
        total, start = 0, 0
        while start < len(text):
            end = min(start + CHUNK, len(text))
            if end < len(text):
                # Cut before a blank, where tokens begin anyway, unless there is none near.
                blank = max(text.rfind(" ", end - 200, end), text.rfind("\n", end - 200, end))
                end = blank if blank > start else end
            total += self._piece(text[start:end])
            start = end
        return total

    def _piece(self, text: str) -> int:
        try:
            return self.encode_length(text)
        except Exception:
            return _quarter(text)


def _quarter(text: str) -> int:
    return -(-len(text) // 4)


CHARS = Counter("chars/4", "about 10 to 25 % for English prose and code, worse for other text", _quarter)


@lru_cache(maxsize=None)
def get_counter(name: str = "auto") -> Counter:
    """The counter to use.

    Parameters
    ----------
    name : {"auto", "o200k_base", "chars/4"}
        ``auto`` takes o200k_base and falls back to a quarter of the characters, with one warning,
        when the vocabulary cannot be loaded for whatever reason.

    Returns
    -------
    Counter

    Raises
    ------
    InputError
        If the name is unknown.

    Examples
    --------
    >>> get_counter("o200k_base").count("hello world")
    2
    >>> get_counter("chars/4").count("hello world")
    3
    """
    if name == "chars/4":
        return CHARS
    if name not in ("auto", "o200k_base"):
        raise InputError(f"unknown counter {name!r}: use 'auto', 'o200k_base' or 'chars/4'")
    try:
        return _load_o200k()
    except Exception as error:
        warnings.warn(
            f"o200k_base could not be loaded ({error}); counting a quarter of the characters instead. "
            "Run 'labkit doctor' to see how to mend it.",
            stacklevel=2,
        )
        return CHARS


def count(text: str) -> int:
    """Number of tokens of a text by the counter in use; never raises.

    Examples
    --------
    >>> count("")
    0
    """
    return get_counter().count(text)


def vocabulary_folder() -> Path:
    """Folder that holds an intact o200k_base vocabulary.

    Raises
    ------
    InputError
        If the file is missing or damaged. tiktoken would then try to download it, which fails slowly
        without a network, so it is not even asked.
    """
    for folder in filter(None, (os.environ.get("TIKTOKEN_CACHE_DIR"), str(data_path("tokenizers")))):
        file = Path(folder) / O200K_FILE
        if file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == O200K_SHA256:
            return Path(folder)
    raise InputError(f"no intact vocabulary {O200K_FILE} in {data_path('tokenizers')}: restore it from the repository")


def _load_o200k() -> Counter:
    folder = vocabulary_folder()
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        import tiktoken

        encoding = tiktoken.get_encoding("o200k_base")
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before

    def encode_length(text: str) -> int:
        # encode_ordinary treats the text of special tokens as text, which is what it is here.
        return len(encoding.encode_ordinary(text))

    return Counter(
        "o200k_base",
        "exact for OpenAI models that use it, an estimate for any other vendor's",
        encode_length,
    )
