"""Many policies, field by field: most fields are the same in all of them, and are then looked at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.ladder.policy import Policy

__all__ = ["Columns", "Mask"]

Mask = NDArray[np.bool_]


class Columns:
    """Policies as columns.

    Parameters
    ----------
    policies : sequence of Policy

    Attributes
    ----------
    same : dict of str to value
        The fields in which all policies agree.
    varied : dict of str to list
        All others: a value for each policy.

    Examples
    --------
    >>> table = Columns([Policy(keep=1), Policy(keep=None)])
    >>> table.varied, table.same["floor"]
    ({'keep': [1, None]}, 10000)
    >>> table.numbers("keep", never=-1.0)
    array([ 1., -1.])
    >>> table.where("keep", lambda keep: keep is None)
    array([False,  True])
    """

    def __init__(self, policies: Sequence[Policy]) -> None:
        self.length = len(policies)
        self.same: dict[str, Any] = {}
        self.varied: dict[str, list[Any]] = {}
        for field in fields(Policy) if policies else ():
            column = list(map(attrgetter(field.name), policies))
            if column and column.count(column[0]) == len(column):
                self.same[field.name] = column[0]
            else:
                self.varied[field.name] = column

    @classmethod
    def of(cls, columns: Mapping[str, Any], varied: Mapping[str, list[Any]], length: int) -> Columns:
        """Policies that agree in some fields, and a column for each of the others.

        Examples
        --------
        >>> table = Columns.of(vars(Policy()), {"keep": [1, 2], "floor": [0, 0]}, 2)
        >>> table.varied, table.same["floor"], table.policy(1).keep
        ({'keep': [1, 2]}, 0, 2)
        """
        out = cls(())
        out.length = length
        for field in fields(Policy):
            column = varied.get(field.name)
            if column is None:
                out.same[field.name] = columns[field.name]
            elif column.count(column[0]) == len(column):
                out.same[field.name] = column[0]
            else:
                out.varied[field.name] = column
        return out

    def policy(self, place: int) -> Policy:
        """One of the policies. A million of them as values would take gigabytes: they are made when asked for."""
        policy = object.__new__(Policy)  # each value was checked when its column was made
        vars(policy).update(self.same)
        vars(policy).update({name: column[place] for name, column in self.varied.items()})
        return policy

    def after(self, first: Policy) -> Columns:
        """The same policies with one in front of them.

        Examples
        --------
        >>> Columns([Policy(keep=1), Policy(keep=1)]).after(Policy(keep=2)).varied
        {'keep': [2, 1, 1]}
        """
        values = vars(first)
        columns = {name: [values[name], *column] for name, column in self.varied.items()}
        columns |= {name: [values[name]] + [v] * self.length for name, v in self.same.items() if v != values[name]}
        return Columns.of(values, columns, self.length + 1)

    def part(self, start: int, stop: int) -> Columns:
        """Some of the policies, those from one place to another.

        Examples
        --------
        >>> Columns([Policy(keep=1), Policy(keep=2), Policy(keep=3)]).part(1, 3).varied
        {'keep': [2, 3]}
        """
        out = Columns(())
        out.same, out.varied = self.same, {name: column[start:stop] for name, column in self.varied.items()}
        out.length = min(stop, self.length) - start
        return out

    def take(self, places: Sequence[int]) -> Columns:
        """Some of the policies, by their places.

        Examples
        --------
        >>> Columns([Policy(keep=1), Policy(keep=2), Policy(keep=3)]).take([0, 2]).varied
        {'keep': [1, 3]}
        """
        out = Columns(())
        out.same = self.same
        out.varied = {name: [column[i] for i in places] for name, column in self.varied.items()}
        out.length = len(places)
        return out

    def where(self, name: str, holds: Callable[[Any], bool]) -> Mask:
        """For which policies something holds of a field."""
        if name in self.same:
            return np.full(self.length, bool(holds(self.same[name])))
        return np.fromiter(map(holds, self.varied[name]), bool, self.length)

    def numbers(self, name: str, never: float = 0.0) -> NDArray[np.float64]:
        """A field as numbers, with one for ``None``."""
        if name in self.same:
            value = self.same[name]
            return np.full(self.length, never if value is None else float(value))
        found = self.varied[name]
        if None in found:
            found = [never if value is None else value for value in found]
        return np.array(found, dtype=np.float64)

    def groups(self, names: Sequence[str], among: Mask) -> list[NDArray[np.int64]]:
        """Places of the policies that agree in some fields, group by group.

        Examples
        --------
        >>> table = Columns([Policy(stub_chars=5), Policy(stub_chars=9), Policy(stub_chars=5)])
        >>> [list(map(int, group)) for group in table.groups(["stub_chars", "pinned"], np.array([True, True, True]))]
        [[0, 2], [1]]
        """
        places = np.flatnonzero(among)
        differ = [self.varied[name] for name in names if name in self.varied]
        if not differ or not len(places):
            return [places] if len(places) else []
        found: dict[Any, list[int]] = {}
        keys = list(zip(*differ, strict=True))
        for i in places.tolist():
            found.setdefault(keys[i], []).append(i)
        return [np.array(members, dtype=np.int64) for members in found.values()]
