"""Policies by name, from ``data/presets.json``, and policies from files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from labkit.errors import InputError, closest
from labkit.files import load_data
from labkit.ladder.given import given
from labkit.ladder.policy import Policy

__all__ = ["Knob", "Preset", "knobs", "load_policy", "preset", "presets"]


@dataclass(frozen=True)
class Knob:
    """One thing that a user of a harness can set.

    Parameters
    ----------
    name : str
        As the harness calls it.
    unit : str
        What it counts.
    low, high : int or None
        Its range; ``None`` where none is known.
    where : str
        Where it is set.
    field : str
        The field of :class:`labkit.Policy` it stands for; empty if none does.
    tool : str
        Where it caps the results of one tool: the tool, or how the names of such tools begin.
    source : str
        Where it comes from, and when that was seen; empty where the preset's own source says it.
    unconfirmed : str
        What is not certain about it; empty if nothing.
    """

    name: str
    unit: str
    low: int | None
    high: int | None
    where: str
    field: str = ""
    tool: str = ""
    source: str = ""
    unconfirmed: str = ""


@dataclass(frozen=True)
class Preset:
    """A policy as a harness runs it, with what is known about it.

    Parameters
    ----------
    name : str
    policy : Policy
    harness, version : str
        Empty for the policies of the lab itself.
    as_of, source : str
        Date, and where it comes from.
    oracle : str
        What it was compared with.
    unverified : bool
        Compared with nothing: for looking at, not for ranking.
    knobs : tuple of Knob
        Its own, or those of its harness.
    note : str
        Where the fields say less, or more, than the harness does.
    """

    name: str
    policy: Policy
    harness: str
    version: str
    as_of: str
    source: str
    oracle: str
    unverified: bool
    knobs: tuple[Knob, ...]
    note: str


def presets(*, unverified: bool = False) -> dict[str, Policy]:
    """The policies of ``data/presets.json`` by name.

    Parameters
    ----------
    unverified : bool
        Also those that were copied from constants and compared with nothing.

    Examples
    --------
    >>> presets()["article"].stub_if_smaller
    False
    >>> "goose" in presets(), "goose" in presets(unverified=True)
    (False, True)
    """
    return {name: p.policy for name, p in _all().items() if unverified or not p.unverified}


def preset(name: str) -> Preset:
    """One preset with everything that is known about it.

    Raises
    ------
    InputError
        If there is none of that name.

    Examples
    --------
    >>> clear = preset("langchain-clear")
    >>> clear.policy.remembers, clear.oracle, clear.knobs[0].name
    (False, 'installed peer, random cases', 'trigger')
    """
    given("name", name, str, f"one of {', '.join(presets())}")
    known = _all()
    if name not in known:
        raise InputError(f"unknown preset {name!r}{_near(name, known)}: the presets are {', '.join(presets())}")
    return known[name]


def knobs(harness: str) -> tuple[Knob, ...]:
    """What a harness lets its user set about context and cache, whatever the preset.

    Parameters
    ----------
    harness : str
        By the name that ``labkit audit`` prints.

    Returns
    -------
    tuple of Knob
        Empty where nothing is known: then a change needs another harness.

    Examples
    --------
    >>> [knob.name for knob in knobs("Codex CLI")], knobs("unheard of")
    (['model_auto_compact_token_limit'], ())
    """
    return tuple(map(_knob, load_data("presets.json")["harnesses"].get(harness, ())))


def _knob(values: Mapping[str, Any]) -> Knob:
    known = load_data("presets.json")["sources"].get(values.get("source", ""))
    source = f"{known['title']}, {known['url']}, seen {known['seen']}" if known else ""
    return Knob(**{**values, "source": source})


@lru_cache(maxsize=1)
def _all() -> dict[str, Preset]:
    return {
        name: Preset(
            name,
            Policy.from_dict(p["policy"]),
            p.get("harness", ""),
            p.get("version", ""),
            p["as_of"],
            p["source"],
            p.get("oracle", ""),
            p.get("unverified", False),
            tuple(map(_knob, p["knobs"])) if "knobs" in p else knobs(p.get("harness", "")),
            p["note"],
        )
        for name, p in load_data("presets.json")["presets"].items()
    }


def load_policy(given: str | Path | Mapping[str, Any] | Policy) -> Policy:
    """A policy from a preset's name, a JSON file, a mapping, or itself.

    Parameters
    ----------
    given : str, Path, mapping or Policy
        A name is looked up among the presets first, then as a file. A file or mapping may name a
        ``preset`` to start from, for example ``{"preset": "article", "keep": 5}``, or be what an API takes
        as ``context_management`` (:meth:`labkit.Policy.from_config`).

    Raises
    ------
    InputError
        If there is no such preset or file, or the file does not describe a policy.

    Examples
    --------
    >>> load_policy({"preset": "article", "keep": 5}).keep
    5
    """
    if isinstance(given, Policy):
        return given
    if isinstance(given, Mapping):
        if "context_management" in given or "edits" in given:
            return Policy.from_config(given)
        values = dict(given)
        base = values.pop("preset", None)
        return Policy.from_dict(values if base is None else {**preset(str(base)).policy.to_dict(), **values})
    if not isinstance(given, str | Path):
        raise InputError(
            f"{given!r} is no policy: give the name of a preset, a JSON file, a mapping, or a labkit.Policy"
        )
    known = _all()
    if str(given) in known:
        return known[str(given)].policy
    path = Path(given).expanduser()
    if not os.path.isfile(path):  # and not path.is_file(), to which a name that is too long is an error
        raise InputError(
            f"{str(given)[:200]} is neither a preset nor a file{_near(str(given), known)}: "
            f"the presets are {', '.join(presets())}, or give a JSON file"
        )
    try:
        values = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except (OSError, ValueError) as error:
        raise InputError(f'{path} is not a policy in JSON ({error}): give an object such as {{"keep": 5}}') from None
    if not isinstance(values, dict):
        raise InputError(f'{path} holds a JSON {type(values).__name__}: give an object such as {{"keep": 5}}')
    return load_policy(values)


def _near(name: str, known: Mapping[str, Preset]) -> str:
    """Words for the nearest preset, however the name is spelt: by that of its harness too."""
    spelt = name.lower().replace(" ", "-").replace("_", "-")
    return f", did you mean {spelt!r}?" if spelt in known else closest(spelt, known)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
        raise ValueError(f"{twice!r} stands there twice")
    return values
