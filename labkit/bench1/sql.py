"""What a query means: its words, with the values in the places of their placeholders."""

from __future__ import annotations

import re
from typing import Any

from labkit.bench1.script import Sent
from labkit.bench1.tree import NotUnderstood

__all__ = ["meaning"]

_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"[a-z_]\w*\"|\$\d+(?:\s*::\s*\w+)?|\|\||\w+(?:\.\w+)*|[^\s\w]", re.S
)
_CAST = re.compile(r"(\$\d+)\s*::\s*(\w+)")
_TYPES = {
    int: ("bigint", "int", "int4", "int8", "integer", "numeric"),
    str: ("character", "text", "varchar"),
}
"""Types that a value may be cast to and stay what it is."""

JOIN, OPEN, CLOSE, COMMA = ("word", "||"), ("word", "("), ("word", ")"), ("word", ",")


def meaning(sent: Sent) -> tuple[Any, ...]:
    """A query as its words, with values in the place of their placeholders.

    Parameters
    ----------
    sent : tuple
        What was called, its SQL, its values.

    Returns
    -------
    tuple
        Texts and numbers as they are, every other word as ``("word", ...)`` in capitals. Texts that SQL itself
        joins, by ``||`` or ``CONCAT``, are one text.

    Raises
    ------
    NotUnderstood
        If a placeholder has no value, a value no placeholder, the SQL a stray quote, or a placeholder is not of the
        database module's kind, ``$1`` and so on.

    Examples
    --------
    >>> meaning(("query", "WHERE id = $1", (7,))) == meaning(("queryRaw", "where  id = 7", ()))
    True
    >>> meaning(("query", "LIKE '%' || $1 || '%'", ("a",)))
    (('word', 'LIKE'), '%a%')
    """
    name, sql, values = sent
    words: list[Any] = []
    used: set[int] = set()
    for token in _TOKEN.findall(sql):
        if token.startswith(("--", "/*")):
            continue
        if token == "'":
            raise NotUnderstood("a quote is not closed")
        if token == "?" and name == "query":
            raise NotUnderstood("the placeholder ? is not the database's: $1 is the first value")
        if token.startswith("$") and len(token) > 1:
            words.append(_value(token, values, used))
        elif token.startswith("'"):
            words.append(token[1:-1].replace("''", "'"))
        elif token.startswith('"') and len(token) > 1:
            words.append(("word", token[1:-1].upper()))
        else:
            words.append(int(token) if token.isdigit() else ("word", token.upper()))
    if used != set(range(len(values))):
        raise NotUnderstood("a value has no placeholder")
    while words and words[-1] == ("word", ";"):
        words.pop()
    return tuple(_joined(words))


def _value(token: str, values: tuple[Any, ...], used: set[int]) -> Any:
    cast = _CAST.fullmatch(token)
    place = int((cast[1] if cast else token)[1:]) - 1
    if not 0 <= place < len(values):
        raise NotUnderstood(f"placeholder {token} has no value")
    used.add(place)
    value = values[place]
    if cast and cast[2].lower() not in _TYPES.get(type(value), ()):
        raise NotUnderstood(f"{token} makes another value of {value!r}")
    # A list or an object stands for no single value of the old text, and true is not the number 1.
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else ("value", repr(value))


def _joined(words: list[Any]) -> list[Any]:
    """Join what SQL would join: texts with ``||`` between them, and those in ``CONCAT(...)``."""
    made: list[Any] = []
    at = 0
    while at < len(words):
        if words[at] == ("word", "CONCAT") and words[at + 1 : at + 2] == [OPEN] and CLOSE in words[at:]:
            end = words.index(CLOSE, at)
            parts = words[at + 2 : end]
            if all(isinstance(p, str) for p in parts[::2]) and all(p == COMMA for p in parts[1::2]):
                made.append("".join(parts[::2]))
                at = end + 1
                continue
        if words[at] == JOIN and made and isinstance(made[-1], str) and isinstance([*words, None][at + 1], str):
            made[-1] += words[at + 1]
            at += 2
            continue
        made.append(words[at])
        at += 1
    return made
