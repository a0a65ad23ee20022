"""The values that a run of TypeScript meets, and what their members are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.bench1.tree import NotUnderstood

__all__ = [
    "DB",
    "GLOBALS",
    "Builtin",
    "Expectation",
    "Function",
    "Method",
    "Promise",
    "Rows",
    "Scope",
    "Unknown",
    "member",
    "shown",
    "truthy",
    "unwrapped",
]

DB = object()
"""The database object of ``src/db.ts``."""


class Scope:
    """Names and their values, inside another scope or in none."""

    def __init__(self, parent: Scope | None = None, names: Mapping[str, Any] | None = None) -> None:
        self.parent, self.names, self.fixed = parent, dict(names or {}), set[str]()

    def find(self, name: str) -> Any:
        """The value of a name; raises NotUnderstood if there is none."""
        value = self._holder(name).names[name]
        if isinstance(value, Unknown):
            raise NotUnderstood(value.why)
        return value

    def declare(self, name: str, value: Any, *, fixed: bool = False) -> None:
        """A new name; raises NotUnderstood if it is there already."""
        if name in self.names:
            raise NotUnderstood(f"{name!r} is declared twice")
        self.names[name] = value
        if fixed:
            self.fixed.add(name)

    def assign(self, name: str, value: Any) -> None:
        """Another value for a name; raises NotUnderstood if it is a constant."""
        holder = self._holder(name)
        if name in holder.fixed:
            raise NotUnderstood(f"{name!r} is a constant and is assigned to")
        holder.names[name] = value

    def _holder(self, name: str) -> Scope:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope
            scope = scope.parent
        raise NotUnderstood(f"{name!r} is not defined in this file")


@dataclass(frozen=True)
class Unknown:
    """A name whose value is not followed; ``why`` is told to whoever uses it."""

    why: str


@dataclass(eq=False)
class Function:
    """A function of the file, and the scope in which it was made."""

    node: Any
    scope: Scope


@dataclass(frozen=True)
class Builtin:
    """A function of the language: takes the list of arguments."""

    run: Callable[[list[Any]], Any]
    members: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A method of the database object."""

    name: str


@dataclass(frozen=True)
class Rows:
    """What the database gives back, or a part of it: the number of the query, and the way to the part."""

    path: tuple[Any, ...]


@dataclass(frozen=True)
class Promise:
    """A value that has to be awaited."""

    value: Any


@dataclass(frozen=True)
class Expectation:
    """What ``expect(value)`` gives; ``log`` takes what is expected of it."""

    value: Any
    log: list[Any] = field(compare=False)
    negated: bool = False


def unwrapped(value: Any) -> Any:
    """A value without the promises around it."""
    while isinstance(value, Promise):
        value = value.value
    return value


def shown(value: Any) -> str:
    """A value as it looks in a text.

    Raises
    ------
    NotUnderstood
        If it is no plain value.
    """
    if value is None or value is True or value is False:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str | int | float):
        return str(value)
    raise NotUnderstood("what is put into a text is not followed: put plain values there")


def truthy(value: Any) -> bool:
    """Whether a condition holds; raises NotUnderstood where it depends on rows or on a promise."""
    if isinstance(value, Rows | Promise):
        raise NotUnderstood("a condition depends on what the database gives back")
    return value not in (None, False, 0, "")


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
            "replace": lambda a: owner.replace(_word(a[0]), _word(a[1]), 1),
            "replaceAll": lambda a: owner.replace(_word(a[0]), _word(a[1])),
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
            "catch": lambda a: owner,
            "finally": lambda a: (call(a[0], []), owner)[1],
        }
    if isinstance(owner, Function | Method | Builtin):
        return {
            "apply": lambda a: call(owner, a[1] if len(a) > 1 else []),
            "bind": lambda a: owner if len(a) < 2 else Builtin(lambda more: call(owner, [*a[1:], *more])),
            "call": lambda a: call(owner, a[1:]),
        }
    return {}


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
    "Promise": Builtin(lambda a: None, {"resolve": Builtin(lambda a: Promise(unwrapped(a[0])))}),
    "String": Builtin(lambda a: shown(a[0])),
    "console": {name: Builtin(lambda a: None) for name in ("debug", "error", "info", "log", "warn")},
    "parseInt": Builtin(lambda a: int(_number(a[0]))),
    "undefined": None,
}
"""Names that every file knows."""
