"""A policy as the settings of a harness: what its user can set, and what it does so by itself."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from labkit.ladder.export_values import Export, beyond, clears, compacts_above, tokens_of
from labkit.ladder.policy import Policy
from labkit.ladder.presets import Knob, knobs, preset, presets

__all__ = ["settings"]

# Four characters count as a token where a knob counts the one and the policy the other.
_CHARACTERS = 4
# Fields that say nothing of a policy that does not clear, or does not compact.
_OF_CLEARING = frozenset({"keep", "keep_by", "batch", "clear_inputs", "floor_is", "pinned", "pinned_take_keep"})
_OF_COMPACTING = frozenset({"compact_above", "keep_recent", "keep_recent_by", "keep_first"})
_WHAT = {"tokens": "tokens", "user_turns": "user turns"}


def settings(policy: Policy, name: str) -> Export:
    """The knobs of a harness, by its name or that of one of its presets, set as the policy asks.

    Parameters
    ----------
    policy : Policy
    name : str

    Returns
    -------
    Export
        What the harness does by itself just as the policy asks is not missing.

    Examples
    --------
    >>> made = settings(Policy(trigger=90_000, keep=None, compact_above=90_000, keep_recent=0), "Codex CLI")
    >>> made.text.split(" #")[0].strip(), made.missing
    ('model_auto_compact_token_limit = 90000', ('keep_recent: the user cannot set what a summary leaves',))
    """
    alone = name in presets(unverified=True)
    harness = preset(name).harness if alone else name
    known = preset(name).knobs if alone else knobs(name)
    own = [p.policy for p in map(preset, presets(unverified=True)) if (p.name == name if alone else p.harness == name)]
    missing: list[str] = []
    lines = [line for knob in known for line in _line(policy, knob, own, missing)]
    can = {knob.field for knob in known}
    said = {"window", "trigger", "edits_at", "stub_text", *can, *_as_it_does(policy, own)}
    said |= {"cap"} if "cap_of" in can else set()
    if clears(policy) and "keep" not in can:
        said |= _OF_CLEARING
        if not _clears_so(policy, own):
            missing.append("clear: the user cannot set what is cleared, and when")
    if compacts_above(policy) is not None and not said >= {"keep_recent", "keep_recent_by"}:
        missing.append("keep_recent: the user cannot set what a summary leaves")
        said |= {"keep_recent", "keep_recent_by"}
    if policy.cap_of and "cap_of" in can:
        tools = {tool for tool, _ in policy.cap_of} - {knob.tool for knob in known}
        missing += [f"cap_of: no setting for {tool} alone" for tool in sorted(tools)]
    if "trigger" in can and not any(line.startswith("trigger:") for line in missing):
        said.add("trigger_by")
    missing = beyond(policy, frozenset(said - {"keep"})) + _otherwise(policy, own) + missing
    if not known:
        missing.append(f"{harness} lets its user set nothing that labkit knows")
    return Export(name, "\n".join(lines) + "\n" if lines else "", {}, tuple(missing))


def _line(policy: Policy, knob: Knob, own: list[Policy], missing: list[str]) -> list[str]:
    """A knob's line, or none where the policy asks nothing of it; what it cannot take is added to what is missing."""
    shown, note = _shown(policy, knob, own, missing)
    if shown is None:
        return []
    for bound, word in ((knob.low, "least"), (knob.high, "most")):
        if bound is not None and isinstance(shown, int) and (shown < bound if word == "least" else shown > bound):
            missing.append(f"{knob.field}: the {word} of {knob.name} is {bound:,}, so that is written")
            shown = bound
    return [f"{knob.name} = {json.dumps(shown)}    # {knob.unit}; {knob.where}{note}"]


def _shown(policy: Policy, knob: Knob, own: list[Policy], missing: list[str]) -> tuple[Any, str]:
    """A knob's value and a note on it."""
    field = knob.field
    value = getattr(policy, field) if field else None
    if field == "cap_of":
        return _cap(policy, knob)
    if field in ("lifetime", "evict"):
        return (sorted(value) if field == "evict" and value else value or None), ""
    if value is None or value == frozenset() or policy.trigger is None:
        return None, ""
    if (field in _OF_CLEARING and not clears(policy)) or (field in _OF_COMPACTING and compacts_above(policy) is None):
        return None, ""
    if field == "trigger":
        return _trigger(policy, knob, own, missing), ""
    if field == "keep":
        return _keep(policy, own, missing), ""
    if field == "compact_above":
        return compacts_above(policy), ""
    if field == "clear_inputs" and "true" in knob.unit:
        if "*" not in value and "names" not in knob.unit:
            missing.append("clear_inputs: all inputs or none; all are cleared")
        return (sorted(value) if "*" not in value and "names" in knob.unit else True), ""
    return (sorted(value) if isinstance(value, frozenset) else value), ""


def _trigger(policy: Policy, knob: Knob, own: list[Policy], missing: list[str]) -> float | None:
    """The trigger in what the knob counts; ``None`` where it cannot be said, or is that of another rung."""
    does = own[0] if own else policy
    summary = does.compact_above is not None and not clears(does) and does.trim is None
    if summary and compacts_above(policy) is None:
        return None
    # A harness of the policy's own kind, or one whose words for it are the same.
    if policy.trigger_by == "fraction":
        share = "fraction" in knob.unit and not (summary and (policy.compact_above or 0) > (tokens_of(policy) or 0))
        if share:
            return policy.trigger
    elif policy.trigger_by == "tool_uses" and ("tool_uses" in knob.unit or does.trigger_by == "tool_uses"):
        return policy.trigger
    at = compacts_above(policy) if summary else tokens_of(policy)
    if "tokens" in knob.unit and at is not None:
        return at
    missing.append(
        f"trigger: it counts {policy.trigger_by.replace('_', ' ')}, and {knob.name} does not: it is left out"
    )
    return None


def _keep(policy: Policy, own: list[Policy], missing: list[str]) -> int | None:
    """What is kept, in what the knob counts; ``None`` where that is another thing."""
    counts = own[0].keep_by if own else "results"
    if counts == policy.keep_by or not {counts, policy.keep_by} & set(_WHAT):
        return policy.keep
    theirs, ours = (_WHAT.get(by, "results") for by in (counts, policy.keep_by))
    missing.append(f"clear: keep counts {ours}, and the setting counts {theirs}: it is left out")
    return None


def _as_it_does(policy: Policy, own: list[Policy]) -> set[str]:
    """Fields that the harness has as the policy asks, with nothing set."""
    found = set()
    for does in own:
        silent = (frozenset() if clears(does) else _OF_CLEARING) | (
            frozenset() if compacts_above(does) is not None else _OF_COMPACTING
        )
        same = {f.name for f in fields(Policy) if getattr(does, f.name) == getattr(policy, f.name)}
        found |= same - silent - (set() if does.trigger is not None else {"strict", "count_prefix", "trigger_by"})
    return found


def _otherwise(policy: Policy, own: list[Policy]) -> list[str]:
    """What the policy leaves as it is where nothing is asked, and the harness has the other way."""
    acting = [does for does in own if does.trigger is not None]
    if policy.trigger is None or not acting:
        return []
    plain = Policy.nothing()
    return [
        f"{name}: the harness has it the other way, and its user cannot set it"
        for name in ("strict", "count_prefix", "remembers")
        if getattr(policy, name) == getattr(plain, name)
        and all(getattr(does, name) != getattr(policy, name) for does in acting)
    ]


def _clears_so(policy: Policy, own: list[Policy]) -> bool:
    """Whether the harness clears like that by itself."""
    asked = (policy.trigger, policy.trigger_by, policy.keep, policy.keep_by, policy.floor)
    return asked in [(p.trigger, p.trigger_by, p.keep, p.keep_by, p.floor) for p in own]


def _cap(policy: Policy, knob: Knob) -> tuple[int | None, str]:
    cap = policy.cap_for(knob.tool)
    counts = "characters" if knob.unit == "characters" else "tokens"
    if cap is None or counts == policy.cap_by:
        return cap, ""
    other = cap * _CHARACTERS if counts == "characters" else -(-cap // _CHARACTERS)
    return other, f"; {cap:,} {policy.cap_by} at {_CHARACTERS} characters a token"
