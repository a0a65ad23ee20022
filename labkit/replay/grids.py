"""Policies to sweep over: every combination, or a sample of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.errors import InputError, closest
from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.replay.fastpath_policies import Columns

__all__ = ["columns", "grid", "latin_hypercube", "random_sample"]


def grid(axes: Mapping[str, Iterable[Any]], base: Any = "default") -> list[Policy]:
    """Every combination of some values of some fields.

    Parameters
    ----------
    axes : mapping of str to values
        A field of :class:`labkit.Policy` and the values it takes: a list, a range.
    base : Policy, name, file or mapping
        Where all other fields come from.

    Returns
    -------
    list of Policy
        The last axis varies fastest. Combinations that contradict themselves, such as a trigger above the
        window, are left out.

    Raises
    ------
    InputError
        If a name is no field, an axis is empty, or nothing is left.

    Examples
    --------
    >>> policies = grid({"trigger": [20_000, 30_000], "keep": range(3)})
    >>> len(policies), policies[1].trigger, policies[1].keep
    (6, 20000, 1)
    """
    return _policies(columns(axes, base))


def random_sample(axes: Mapping[str, Iterable[Any]], count: int, base: Any = "default", seed: int = 0) -> list[Policy]:
    """Some combinations, each value drawn by itself.

    Parameters
    ----------
    axes, base
        As for :func:`grid`.
    count : int
        How many are drawn; contradictory ones are left out, so there can be fewer.
    seed : int

    Examples
    --------
    >>> len(random_sample({"trigger": range(1_000, 100_000), "keep": range(20)}, 50))
    50
    """
    rng = Random(seed)
    known = {name: _values(name, values) for name, values in axes.items()}
    drawn = [[rng.choice(range(len(values))) for values in known.values()] for _ in range(_count(count))]
    return _policies(_columns(load_policy(base), known, np.array(drawn).T))


def latin_hypercube(
    axes: Mapping[str, Iterable[Any]], count: int, base: Any = "default", seed: int = 0
) -> list[Policy]:
    """Some combinations that spread evenly over each axis: each of ``count`` equal parts of it is used once.

    Parameters
    ----------
    axes, base, count, seed
        As for :func:`random_sample`.

    Examples
    --------
    >>> sorted(p.trigger for p in latin_hypercube({"trigger": [1_000, 2_000, 3_000, 4_000]}, 4))
    [1000, 2000, 3000, 4000]
    """
    rng = Random(seed)
    known = {name: _values(name, values) for name, values in axes.items()}
    places = []
    for values in known.values():
        parts = [(k + rng.random()) / _count(count) for k in range(count)]
        rng.shuffle(parts)
        places.append([int(part * len(values)) for part in parts])
    return _policies(_columns(load_policy(base), known, np.array(places)))


# Fields that are checked against each other; each other field is checked by itself.
_TOGETHER = ("window", "trigger", "trigger_by", "compact_above", "hand_off_above")


def columns(axes: Mapping[str, Iterable[Any]], base: Any = "default") -> Columns:
    """The policies of :func:`grid` field by field: a million of them take a few bytes each.

    Parameters
    ----------
    axes, base
        As for :func:`grid`.

    Returns
    -------
    Columns

    Examples
    --------
    >>> table = columns({"trigger": [20_000, 30_000], "keep": range(3)})
    >>> table.length, table.varied["keep"]
    (6, [0, 1, 2, 0, 1, 2])
    """
    known = {name: _values(name, values) for name, values in axes.items()}
    shape = [len(values) for values in known.values()]
    places = np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), np.int64)
    return _columns(load_policy(base), known, places)


def _columns(start: Policy, axes: Mapping[str, Sequence[Any]], places: NDArray[np.int64]) -> Columns:
    """The policies at some places of the axes, a row an axis; what is the same in many is checked once."""
    bound = [i for i, name in enumerate(axes) if name in _TOGETHER]
    names = list(axes)
    # Of each set of fields that are checked at once: what came of each of their values, and which of them is where.
    sets = [([name], [(v,) for v in axes[name]], places[i]) for i, name in enumerate(names) if i not in bound]
    if bound:
        shape = [len(axes[names[i]]) for i in bound]
        some, which = np.unique(np.ravel_multi_index(tuple(places[bound]), shape), return_inverse=True)
        rows = np.transpose(np.unravel_index(some, shape)).tolist()
        values = [tuple(axes[names[i]][k] for i, k in zip(bound, row, strict=True)) for row in rows]
        sets.append(([names[i] for i in bound], values, which))
    good = np.ones(places.shape[1], bool)
    found, trouble = [], "give an axis with values"
    for together, values, which in sets:
        checked = [_checked(start, dict(zip(together, value, strict=True))) for value in values]
        trouble = next((c for c in checked if isinstance(c, str)), trouble)
        good &= np.array([not isinstance(c, str) for c in checked])[which]
        found.append((together, checked, which))
    if not good.any():
        raise InputError(f"no combination is a policy: {trouble}")
    varied = {}
    for together, checked, which in found:
        where = which[good].tolist()
        for name in together:
            said = [None if isinstance(c, str) else c[name] for c in checked]
            varied[name] = list(map(said.__getitem__, where))
    return Columns.of(vars(start), varied, int(good.sum()))


def _policies(table: Columns) -> list[Policy]:
    return [table.policy(i) for i in range(table.length)]


def _checked(start: Policy, wanted: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """Some values of a policy as it would have them, or why it cannot have them."""
    try:
        policy = replace(start, **wanted)
    except InputError as error:
        return str(error)
    return {name: getattr(policy, name) for name in wanted}


def _values(name: str, values: Iterable[Any]) -> list[Any]:
    known = [field.name for field in fields(Policy)]
    if name not in known:
        raise InputError(f"unknown policy field {name!r}{closest(name, known)}: the fields are {', '.join(known)}")
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name} is {values!r}: give a list of values, or a range")
    listed = list(values)
    if not listed:
        raise InputError(f"{name} has no values: give a list of values, or a range")
    return listed


def _count(count: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"count is {count!r}: it counts policies, so give 1 or more")
    return count
