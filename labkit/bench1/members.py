"""What the members of TypeScript's values are, and the names that every file knows."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from labkit.bench1.tree import NotUnderstood
from labkit.bench1.values import (
    DB,
    Builtin,
    Expectation,
    Function,
    Method,
    Pattern,
    Promise,
    Rows,
    shown,
    truthy,
    unwrapped,
)

__all__ = ["GLOBALS", "member"]

Call = Callable[[Any, list[Any]], Any]


def member(owner: Any, name: Any, call: Call) -> Any:
    """A member of a value.

    Parameters
    ----------
    owner : object
    name : str or int
    call : callable
        Calls a function with a list of arguments.

    Raises
    ------
    NotUnderstood
        If it has none, or one that is not followed.

    Examples
    --------
    >>> member([1, 2], "join", None).run(["-"]), member("ab", "length", None)
    ('1-2', 2)
    """
    if owner is DB and name in ("query", "queryRaw"):
        return Method(name)
    if isinstance(owner, Promise) and name not in ("then", "catch", "finally"):
        raise NotUnderstood(f".{name} of a promise that is not awaited")
    if isinstance(owner, Rows):
        return Rows((*owner.path, name))
    if isinstance(owner, dict):
        return owner.get(name)
    if isinstance(owner, str | list) and isinstance(name, int):
        return owner[name] if 0 <= name < len(owner) else None
    if isinstance(owner, Expectation):
        return _expected(owner, name)
    if isinstance(owner, Builtin) and name in owner.members:
        return owner.members[name]
    if name == "length" and isinstance(owner, str | list):
        return len(owner)
    made = _methods(owner, call).get(name)
    if made is None:
        raise NotUnderstood(f".{name} is not followed")
    return Builtin(made)


def _expected(of: Expectation, name: str) -> Any:
    if name == "not":
        return Expectation(of.value, of.log, not of.negated)
    if name == "resolves":
        return Expectation(unwrapped(of.value), of.log, of.negated)

    def note(given: list[Any]) -> None:
        value, matcher = of.value, name
        if matcher == "toHaveLength" and isinstance(value, Rows):
            value, matcher = Rows((*value.path, "length")), "toBe"
        if matcher in ("toEqual", "toStrictEqual") and all(isinstance(x, str | int | float) for x in given):
            matcher = "toBe"
        of.log.append((value, of.negated, matcher, tuple(given)))

    return Builtin(note)


def _methods(owner: Any, call: Call) -> dict[str, Callable[[list[Any]], Any]]:
    if isinstance(owner, str):
        return {
            "concat": lambda a: owner + "".join(map(shown, a)),
            "endsWith": lambda a: owner.endswith(_word(a[0])),
            "includes": lambda a: _word(a[0]) in owner,
            "replace": lambda a: _replaced(owner, a[0], _word(a[1]), 1),
            "replaceAll": lambda a: _replaced(owner, a[0], _word(a[1]), -1),
            "slice": lambda a: owner[slice(*a)],
            "split": lambda a: owner.split(_word(a[0])) if a[0] else list(owner),
            "startsWith": lambda a: owner.startswith(_word(a[0])),
            "toLowerCase": lambda a: owner.lower(),
            "toString": lambda a: owner,
            "toUpperCase": lambda a: owner.upper(),
            "trim": lambda a: owner.strip(),
        }
    if isinstance(owner, list):
        return {
            "concat": lambda a: [*owner, *(x for part in a for x in (part if isinstance(part, list) else [part]))],
            "filter": lambda a: [x for i, x in enumerate(owner) if truthy(call(a[0], [x, i]))],
            "forEach": lambda a: [call(a[0], [x, i]) for i, x in enumerate(owner)] and None,
            "includes": lambda a: a[0] in owner,
            "join": lambda a: (_word(a[0]) if a else ",").join("" if x is None else shown(x) for x in owner),
            "map": lambda a: [call(a[0], [x, i]) for i, x in enumerate(owner)],
            "push": lambda a: _pushed(owner, a),
            "reduce": lambda a: functools.reduce(
                lambda sofar, at: call(a[0], [sofar, at[1], at[0]]),
                list(enumerate(owner))[len(a) < 2 :],
                a[1] if len(a) > 1 else owner[0],
            ),
            "reverse": lambda a: _pushed(owner, owner[::-1], start=0) and owner,
            "slice": lambda a: owner[slice(*a)],
        }
    if isinstance(owner, int | float) and not isinstance(owner, bool):
        return {"toString": lambda a: shown(owner)}
    if isinstance(owner, Promise):
        return {
            "then": lambda a: Promise(unwrapped(call(a[0], [owner.value]))),
            "finally": lambda a: (call(a[0], []), owner)[1],
        }
    if isinstance(owner, Function | Method | Builtin):
        return {
            "apply": lambda a: call(owner, a[1] if len(a) > 1 else []),
            "bind": lambda a: owner if len(a) < 2 else Builtin(lambda more: call(owner, [*a[1:], *more])),
            "call": lambda a: call(owner, a[1:]),
        }
    return {}


def _replaced(text: str, what: Any, by: str, times: int) -> str:
    if isinstance(what, Pattern):
        if "$" in by:
            raise NotUnderstood(f"{by!r} in the place of a pattern is not followed")
        return re.sub(what.source, lambda found: by, text, count=0 if what.everywhere else 1)
    return text.replace(_word(what), by, times)


def _pushed(owner: list[Any], more: list[Any], start: int | None = None) -> int:
    owner[len(owner) if start is None else start :] = more
    return len(owner)


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise NotUnderstood(f"{value!r} stands where a text is followed")
    return value


def _number(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and value.strip().lstrip("-").isdigit():
        return int(value)
    raise NotUnderstood(f"{value!r} is taken for a number")


GLOBALS: Mapping[str, Any] = {
    "Array": Builtin(
        list,
        {
            "from": Builtin(lambda a: list(a[0])),
            "isArray": Builtin(lambda a: isinstance(a[0], list)),
            "of": Builtin(list),
        },
    ),
    "Number": Builtin(lambda a: _number(a[0]), {"isInteger": Builtin(lambda a: isinstance(a[0], int))}),
    "Object": Builtin(
        lambda a: a[0],
        {
            "entries": Builtin(lambda a: [[k, v] for k, v in a[0].items()]),
            "freeze": Builtin(lambda a: a[0]),
            "keys": Builtin(lambda a: list(a[0])),
            "values": Builtin(lambda a: list(a[0].values())),
        },
    ),
    "Promise": Builtin(
        lambda a: None,
        {
            "all": Builtin(lambda a: Promise(list(map(unwrapped, a[0])))),
            "resolve": Builtin(lambda a: Promise(unwrapped(a[0]))),
        },
    ),
    "String": Builtin(lambda a: shown(a[0])),
    "console": {name: Builtin(lambda a: None) for name in ("debug", "error", "info", "log", "warn")},
    "parseInt": Builtin(lambda a: int(_number(a[0]))),
    "undefined": None,
}
"""Names that every file knows."""
