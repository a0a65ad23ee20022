"""The values that a run of TypeScript meets, and the names that hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.bench1.tree import NotUnderstood

__all__ = [
    "DB",
    "Builtin",
    "Expectation",
    "Function",
    "Method",
    "Pattern",
    "Promise",
    "Rows",
    "Scope",
    "Unknown",
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


@dataclass(frozen=True)
class Pattern:
    """A regular expression, as plain ones are written in both languages."""

    source: str
    everywhere: bool


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
