"""TypeScript as a tree: parsing, and what is asked of its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from labkit.errors import InputError

__all__ = ["NotUnderstood", "in_async", "inside", "parse", "piece", "raw_named", "statements", "text_of"]


class NotUnderstood(InputError):
    """TypeScript of a kind that is not followed here, or that would fail when it is run."""


@lru_cache(maxsize=1)
def _parser() -> Any:
    try:
        import tree_sitter
        import tree_sitter_typescript
    except ImportError as error:
        raise InputError(f"{error.name} is not installed: run 'make lab', or pip install -e '.[bench1]'") from error
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_typescript.language_typescript()))


@lru_cache(maxsize=256)
def parse(text: str) -> Any:
    """The syntax tree of a file."""
    return _parser().parse(text.encode("utf-8", "replace"))


def text_of(node: Any) -> str:
    """The source of a node."""
    return str(node.text.decode())


def inside(node: Any) -> Iterator[Any]:
    """A node and all that stands in it, in the order of the source."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\0": "\0"}


def piece(node: Any) -> str:
    """A part of a string or a template as the text that it stands for.

    Raises
    ------
    NotUnderstood
        If it is an escape by number.
    """
    text = text_of(node)
    if node.type != "escape_sequence":
        return text
    if text in _ESCAPES:
        return _ESCAPES[text]
    if text[1] in "xu" or text[1].isdigit():
        raise NotUnderstood(f"the escape {text} is not followed: write the character")
    return "" if text[1] in "\r\n" else text[1:]


_FUNCTIONS = ("function_declaration", "function_expression", "arrow_function", "method_definition")


def in_async(node: Any) -> bool:
    """Whether a node stands in an async function, or in none."""
    while node is not None and node.type not in _FUNCTIONS:
        node = node.parent
    return node is None or any(child.type == "async" for child in node.children)


_NAMES = (
    *("identifier", "property_identifier", "shorthand_property_identifier"),
    *("shorthand_property_identifier_pattern", "string_fragment"),
)


@lru_cache(maxsize=256)
def raw_named(text: str) -> bool:
    """Whether ``queryRaw`` stands in a file as a name, or as a whole string; comments do not count.

    Examples
    --------
    >>> raw_named("// queryRaw"), raw_named("db.queryRaw(x)"), raw_named("db['queryRaw'](x)")
    (False, True, True)
    """
    if "queryRaw" not in text:
        return False
    return any(node.type in _NAMES and text_of(node) == "queryRaw" for node in inside(parse(text).root_node))


@lru_cache(maxsize=512)
def statements(text: str) -> tuple[tuple[str, ...], ...]:
    """The statements at the top of a file as words, without comments, white space and kinds of quotes.

    Examples
    --------
    >>> statements('const a = "x"; // a comment') == statements("const a = 'x'")
    True
    """
    found = []
    for node in parse(text).root_node.named_children:
        words = _words(node)
        # A comma before a closing bracket and a semicolon are a matter of taste.
        after = [*words[1:], "end"]
        kept = (w for w, then in zip(words, after, strict=False) if not (w == "," and then in ")]}"))
        if words:
            found.append(tuple(w for w in kept if w != ";"))
    return tuple(found)


def _words(node: Any) -> list[str]:
    if node.type == "comment":
        return []
    if node.type == "string":
        return ['"' + "".join(text_of(part) for part in node.named_children) + '"']
    if node.type == "template_string" or not node.children:
        return [text_of(node)]
    return [word for child in node.children for word in _words(child)]
