"""Policies by name, from ``data/presets.json``, and policies from files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.errors import InputError, closest
from labkit.files import load_data
from labkit.ladder.policy import Policy

__all__ = ["load_policy", "presets"]


def presets() -> dict[str, Policy]:
    """The policies of ``data/presets.json`` by name.

    Examples
    --------
    >>> presets()["article"].stub_if_smaller
    False
    """
    return {name: Policy.from_dict(p["policy"]) for name, p in load_data("presets.json")["presets"].items()}


def load_policy(given: str | Path | Mapping[str, Any] | Policy) -> Policy:
    """A policy from a preset's name, a JSON file, a mapping, or itself.

    Parameters
    ----------
    given : str, Path, mapping or Policy
        A name is looked up among the presets first, then as a file. A file or mapping may name a
        ``preset`` to start from, for example ``{"preset": "article", "keep": 5}``.

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
        values = dict(given)
        base = values.pop("preset", None)
        return Policy.from_dict(values if base is None else {**_preset(str(base)).to_dict(), **values})
    known = presets()
    if str(given) in known:
        return known[str(given)]
    path = Path(given).expanduser()
    if not path.is_file():
        raise InputError(
            f"{given} is neither a preset nor a file{closest(str(given), known)}: "
            f"the presets are {', '.join(known)}, or give a JSON file"
        )
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f'{path} is not a policy in JSON ({error}): give an object such as {{"keep": 5}}') from None
    if not isinstance(values, dict):
        raise InputError(f'{path} holds a JSON {type(values).__name__}: give an object such as {{"keep": 5}}')
    return load_policy(values)


def _preset(name: str) -> Policy:
    known = presets()
    if name not in known:
        raise InputError(f"unknown preset {name!r}{closest(name, known)}: the presets are {', '.join(known)}")
    return known[name]
