"""Policies to sweep over: every combination, or a sample of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from random import Random
from typing import Any

from labkit.errors import InputError, closest
from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy

__all__ = ["grid", "latin_hypercube", "random_sample"]


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
    known = {name: _values(name, values) for name, values in axes.items()}
    return _policies(load_policy(base), known, product(*(range(len(values)) for values in known.values())))


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
    drawn = [tuple(rng.choice(range(len(values))) for values in known.values()) for _ in range(_count(count))]
    return _policies(load_policy(base), known, drawn)


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
    columns = []
    for values in known.values():
        parts = [(k + rng.random()) / _count(count) for k in range(count)]
        rng.shuffle(parts)
        columns.append([int(part * len(values)) for part in parts])
    return _policies(load_policy(base), known, zip(*columns, strict=True))


# Fields that are checked against each other; each other field is checked by itself.
_TOGETHER = ("window", "trigger", "trigger_by", "compact_above", "hand_off_above")


def _policies(start: Policy, axes: Mapping[str, Sequence[Any]], places: Iterable[tuple[int, ...]]) -> list[Policy]:
    """The policies at some places of the axes; what is the same in many is checked once."""
    names = list(axes)
    bound = [i for i, name in enumerate(names) if name in _TOGETHER]
    free = [
        (i, [_checked(start, {name: value}) for value in axes[name]])
        for i, name in enumerate(names)
        if name not in _TOGETHER
    ]
    together: dict[tuple[int, ...], Mapping[str, Any] | str] = {}
    same = vars(start)
    made, trouble = [], ""
    for place in places:
        key = tuple([place[i] for i in bound])
        if key not in together:
            together[key] = _checked(start, {names[i]: axes[names[i]][place[i]] for i in bound})
        parts = [together[key], *[checked[place[i]] for i, checked in free]]
        # Each part was checked: a copy with other values, without the checks of each field for every policy.
        policy = object.__new__(Policy)
        values = vars(policy)
        values.update(same)
        for part in parts:
            if isinstance(part, str):
                trouble = part
                break
            values.update(part)
        else:
            made.append(policy)
    if not made:
        raise InputError(f"no combination is a policy: {trouble or 'give an axis with values'}")
    return made


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
