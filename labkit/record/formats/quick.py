"""Blocks made in half the time: a session has tens of thousands, and a frozen value's constructor is felt."""

from __future__ import annotations

from labkit.record.trace import Block, Kind, Role

__all__ = ["placed", "quick_block"]

_new = Block.__new__
_kind, _role, _text, _request, _message, _tool, _args, _call_id, _edited = (
    vars(Block)[name].__set__
    for name in ("kind", "role", "text", "request", "message", "tool", "args", "call_id", "edited")
)


def quick_block(
    kind: Kind, role: Role, text: str, tool: str | None = None, args: str | None = None, call_id: str | None = None
) -> Block:
    """A block that has no place yet, as ``Block(kind, role, text, ...)`` makes it.

    Examples
    --------
    >>> quick_block("result", "tool", "3", call_id="c1") == Block("result", "tool", "3", call_id="c1")
    True
    """
    made = _new(Block)
    _kind(made, kind)
    _role(made, role)
    _text(made, text)
    _request(made, 0)
    _message(made, None)
    _tool(made, tool)
    _args(made, args)
    _call_id(made, call_id)
    _edited(made, None)
    return made


def placed(block: Block, request: int, message: int, call: Block) -> Block:
    """A block in its place, with the tool and arguments of its call.

    Examples
    --------
    >>> call, result = Block("call", "assistant", "ls {}", tool="ls", args=""), Block("result", "tool", "3")
    >>> placed(result, 2, 1, call) == Block("result", "tool", "3", 2, 1, "ls", "")
    True
    """
    made = _new(Block)
    _kind(made, block.kind)
    _role(made, block.role)
    _text(made, block.text)
    _request(made, request)
    _message(made, message)
    _tool(made, call.tool)
    _args(made, call.args)
    _call_id(made, block.call_id)
    _edited(made, block.edited)
    return made
