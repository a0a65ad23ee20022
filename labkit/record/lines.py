"""Sorting blocks into the six line items of a context budget, by rule.

The rules stand in ``data/line_items.json``: a line for each kind of block, and lists of tools whose
calls and results belong to another line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from labkit.files import load_data
from labkit.record.trace import Block

__all__ = ["LINE_ITEMS", "line_of", "line_rule"]

LINE_ITEMS = ("system", "tool_schemas", "retrieved_docs", "tool_output", "history", "scratchpad")
"""What a token is spent on, in the order of a request: the prefix first."""


def line_rule(rules: Mapping[str, Any]) -> Callable[[Block], str]:
    """Make a sorting function from rules of the shape of ``data/line_items.json``.

    Examples
    --------
    >>> rule = line_rule({"kinds": {"result": "tool_output"}, "tools": {"retrieved_docs": ["lookup"]}})
    >>> rule(Block("result", "tool", "42", tool="lookup")), rule(Block("text", "user", "hi"))
    ('retrieved_docs', 'history')
    """
    kinds = dict(rules["kinds"])
    tools = {tool: line for line, names in rules["tools"].items() for tool in names}

    def rule(block: Block) -> str:
        if block.tool in tools and block.kind in ("call", "result"):
            return str(tools[block.tool])
        return str(kinds.get(block.kind, "history"))

    return rule


@lru_cache(maxsize=1)
def _default() -> Callable[[Block], str]:
    return line_rule(load_data("line_items.json"))


def line_of(block: Block) -> str:
    """The line item a block belongs to, by the rules of ``data/line_items.json``.

    Examples
    --------
    >>> line_of(Block("thinking", "assistant", "hm"))
    'scratchpad'
    >>> line_of(Block("result", "tool", "ok", tool="notes_write"))
    'scratchpad'
    """
    return _default()(block)
