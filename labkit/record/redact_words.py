"""Pseudonyms: one word for one word, the same all over a session, and no way back without the key."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from collections.abc import Set

__all__ = ["ERRORS", "EXTENSIONS", "FRAMES", "MARKERS", "WORD", "Pseudonyms"]

# What lies between words and stays: blanks, ASCII punctuation, and signs that harnesses draw with. Everything
# else is part of a word, also emoji and the vowel signs that Unicode does not count as letters. The letter of an
# escaped line end or tab is a word of its own, and stays.
WORD = re.compile(r"(?<=\\)[nrt]|[^\s\x00-\x20_!-/:-@\[-`{-~→←↑↓…—–•·“”‘’«»│├└─┌┐┘┤┬┴┼╭╮╰╯✓✗×⎿●]+")

_MARKS = "DECISION TODO DONE FACT NOTE ERROR WARNING supersedes Supersedes SUPERSEDES ok true false null http https"
# What symptoms take for "done".
_DONE = (
    "all All done Done set tasks tests pass is now complete Complete finished Finished ready are successfully "
    "Successfully fully Fully completed Completed implemented fixed Fixed"
)
_ENDINGS = (
    "bash c cc cfg conf cpp cs css csv env gif go h hpp html ini ipynb java jpeg jpg js json jsonl jsx kt lock log lua "
    "md mjs pdf php png py pyi rb rs rst sh sql svg swift tar toml ts tsx txt vue xml yaml yml zip"
)

MARKERS = frozenset(f"{_MARKS} {_DONE} Error Exception Traceback".split())
"""Words that stay wherever they stand: the labkit's markers, and what its symptoms look for."""

ERRORS = frozenset(
    name
    for name, value in vars(__import__("builtins")).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)
"""Names of Python's own errors; of others only the ending stays."""

EXTENSIONS = frozenset(_ENDINGS.split())
"""Endings of files that stay after a dot."""

FRAMES = re.compile(
    r"```(?:mswea_bash_command|bash)\b|</?(?:returncode|output|function|parameter|state_snapshot)(?=[=>])|(?<=:)subagent(?=:)"
)
"""What some harnesses put around calls and results in their texts; a reader finds them by it."""

_LETTERS = string.ascii_lowercase
_CAPITALS = string.ascii_uppercase


class Pseudonyms:
    """Replaces words by others of about the same length that occur nowhere in the original.

    A digit stays a digit, a capital a capital: whether a word can be told from chance, and so what is found
    to be used later, must not change.

    Parameters
    ----------
    taken : set of str
        Words of the original, in lower case: none of them is given as a pseudonym.
    key : bytes, optional
        Default: random, and kept in memory only.

    Examples
    --------
    >>> names = Pseudonyms({"cart", "open"}, key=b"for the example")
    >>> text = names.text("open app/cart.py: cart")
    >>> text.split(".")[1][:4], text.split("/")[1].split(".")[0] == text.split()[-1], "cart" in text
    ('py: ', True, False)
    """

    def __init__(self, taken: set[str], key: bytes | None = None) -> None:
        self._key = secrets.token_bytes(32) if key is None else key
        self._taken = set(taken) | {w.lower() for w in MARKERS | ERRORS} | EXTENSIONS
        self._given: dict[str, str] = {}
        self.kept: set[str] = set()

    def text(self, text: str, keep: Set[str] = frozenset()) -> str:
        """A text with every word replaced that is not on the list; its signs and lines stay."""
        done, at = [], 0
        for frame in FRAMES.finditer(text):
            done += [self._plain(text[at : frame.start()], keep), frame[0]]
            self.kept.update(WORD.findall(frame[0]))
            at = frame.end()
        return "".join(done) + self._plain(text[at:], keep)

    def _plain(self, text: str, keep: Set[str]) -> str:
        return WORD.sub(lambda match: self._match(match, keep), text)

    def _match(self, match: re.Match[str], keep: Set[str]) -> str:
        word = match[0]
        before = match.string[match.start() - 1 : match.start()]
        if before == "\\" and word in ("n", "r", "t"):
            return word
        if word in MARKERS or word in ERRORS or word in keep or (before == "." and word in EXTENSIONS):
            self.kept.add(word)
            return word
        return self.word(word)

    def word(self, word: str) -> str:
        """The pseudonym of one word, of its shape; an ending in Error or Exception stays."""
        given = self._given.get(word)
        if given is None:
            given = self._given[word] = self._new(word)
            self._taken.add(given.lower())
        return given

    def _new(self, word: str) -> str:
        if word[0].isascii() and word[0].isupper():
            for ending in ("Error", "Exception"):
                if word.endswith(ending) and word != ending:
                    stem = self._free(word, len(word) - len(ending), ending)
                    self.kept.add(ending)
                    return stem[0].upper() + stem[1:] + ending
        return self._free(word, len(word), "")

    def _free(self, word: str, length: int, ending: str) -> str:
        kinds = [string.digits if c in string.digits else _CAPITALS if c.isupper() else _LETTERS for c in word[:length]]
        seed = hmac.new(self._key, word.encode("utf-8", errors="surrogatepass"), hashlib.sha256).digest()
        for attempt in range(10_000):
            # After a few tries a short word becomes longer: there are only so many of two letters.
            size = length + attempt // 8
            stream = hashlib.shake_256(seed + attempt.to_bytes(4, "big")).digest(2 * size)
            numbers = [int.from_bytes(stream[2 * i : 2 * i + 2], "big") for i in range(size)]
            shape = kinds + kinds[-1:] * (size - length)
            made = "".join(kind[n % len(kind)] for kind, n in zip(shape, numbers, strict=True))
            if (made + ending).lower() not in self._taken:
                return made
        raise AssertionError("the pseudonyms are used up")  # not before 36 ** 1250 words
