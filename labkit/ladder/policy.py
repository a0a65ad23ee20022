"""The thresholds of the ladder, as one frozen value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from labkit.errors import InputError
from labkit.files import load_data

__all__ = ["Policy", "load_policy", "presets"]


@dataclass(frozen=True)
class Policy:
    """What a harness does to its context, and when.

    Parameters
    ----------
    window : int, optional
        The model's hard limit, in tokens; ``None`` for no limit.
    trigger : int, optional
        The rungs run only above this many tokens; ``None`` for never.
    floor : int
        A rung changes nothing unless it removes at least this many tokens: every edit breaks the
        cached prefix, so a small one costs more than it saves. Anthropic calls it ``clear_at_least``.
    keep : int
        The newest tool results that are never cleared.
    compact_above : int, optional
        If the context is still larger than this after clearing, it is summarized; ``None`` for never.
    keep_recent : int
        The newest messages that a summary leaves word for word.
    pinned : frozenset of str
        Tools whose results are never cleared.
    stub_if_smaller : bool
        Clear a result only where the stub is smaller than the result.
    stub_chars : int, optional
        The longest arguments, and the longest error, that a stub repeats; ``None`` for all of them.
    edits_at : {"client", "server"}
        Who edits. Some models bind their thinking to the exact prefix: there a client may not edit
        what was sent, a server may.
    bound_thinking : {"refuse", "drop"}
        What a client-side edit does on such a model: refuse, or drop the thinking it would invalidate.

    Raises
    ------
    InputError
        If a number is out of range or two of them contradict each other.

    Examples
    --------
    >>> Policy(trigger=50_000, keep=5).floor
    10000
    >>> Policy(keep=-1)
    Traceback (most recent call last):
    ...
    labkit.errors.InputError: keep is -1: it counts tool results, so give 0 or more
    """

    window: int | None = 200_000
    trigger: int | None = 30_000
    floor: int = 10_000
    keep: int = 3
    compact_above: int | None = 20_000
    keep_recent: int = 10
    pinned: frozenset[str] = frozenset({"notes_read"})
    stub_if_smaller: bool = True
    stub_chars: int | None = 200
    edits_at: Literal["client", "server"] = "client"
    bound_thinking: Literal["refuse", "drop"] = "refuse"

    def __post_init__(self) -> None:
        counted = {"floor": "tokens", "keep": "tool results", "keep_recent": "messages", "stub_chars": "characters"}
        for name, unit in counted.items():
            value = getattr(self, name)
            if name == "stub_chars" and value is None:
                continue
            _whole(name, value)
            if value < 0:
                raise InputError(f"{name} is {value}: it counts {unit}, so give 0 or more")
        for name in ("window", "trigger", "compact_above"):
            value = getattr(self, name)
            if value is not None:
                _whole(name, value)
                if value < 1:
                    raise InputError(f"{name} is {value}: it counts tokens, so give 1 or more, or None for never")
        for name in ("trigger", "compact_above"):
            value = getattr(self, name)
            if value is not None and self.window is not None and value > self.window:
                raise InputError(
                    f"{name} is {value:,}, over the window of {self.window:,}: it would never act, "
                    f"so give at most {self.window:,}, or None for never"
                )
        if self.edits_at not in ("client", "server"):
            raise InputError(f"edits_at is {self.edits_at!r}: give 'client' or 'server'")
        if self.bound_thinking not in ("refuse", "drop"):
            raise InputError(f"bound_thinking is {self.bound_thinking!r}: give 'refuse' or 'drop'")
        if not isinstance(self.stub_if_smaller, bool):
            raise InputError(f"stub_if_smaller is {self.stub_if_smaller!r}: give true or false")
        pinned: object = self.pinned
        if not isinstance(pinned, list | tuple | set | frozenset) or not all(isinstance(tool, str) for tool in pinned):
            raise InputError(f"pinned is {pinned!r}: give a list of tool names")
        object.__setattr__(self, "pinned", frozenset(pinned))

    @classmethod
    def nothing(cls) -> Policy:
        """The policy that never edits: what every other one has to beat."""
        return cls(window=None, trigger=None, compact_above=None)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Policy:
        """Make a policy from parsed JSON.

        Raises
        ------
        InputError
            If a name is unknown (with the closest known one) or a value does not fit.
        """
        known = [f.name for f in fields(cls)]
        for name in values:
            if name not in known:
                raise InputError(
                    f"unknown policy field {name!r}{_closest(name, known)}: the fields are {', '.join(known)}"
                )
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(f"a policy value has the wrong type ({error}): see labkit.Policy") from None

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain JSON values; :meth:`from_dict` reads them back."""
        return {**asdict(self), "pinned": sorted(self.pinned)}


def _whole(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} is {value!r}: give a whole number")


def _closest(name: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f", did you mean {close[0]!r}?" if close else ""


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
            f"{given} is neither a preset nor a file{_closest(str(given), list(known))}: "
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
        raise InputError(f"unknown preset {name!r}{_closest(name, list(known))}: the presets are {', '.join(known)}")
    return known[name]
