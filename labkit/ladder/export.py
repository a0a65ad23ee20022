"""A policy in the words of a harness, and back; what the target cannot say is said, and not dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from labkit.errors import InputError, closest
from labkit.ladder.export_api import anthropic, from_config, openai
from labkit.ladder.export_code import langchain, pydantic_ai
from labkit.ladder.export_settings import settings
from labkit.ladder.export_values import Export
from labkit.ladder.given import given
from labkit.ladder.policy import Policy
from labkit.ladder.presets import knobs, preset, presets
from labkit.price.cache import cache_rules
from labkit.price.prices import find_model

__all__ = ["TARGETS", "Export", "export", "from_config"]

_WRITERS: dict[str, Callable[[Policy], Export]] = {
    "anthropic": anthropic,
    "openai": openai,
    "langchain": langchain,
    "pydantic-ai": pydantic_ai,
}
TARGETS = tuple(_WRITERS)
"""What a policy can be written for, beside the harnesses of the presets."""


_CLIENTS = ("langchain", "pydantic-ai")


def export(policy: Policy, target: str, *, model: str | None = None) -> Export:
    """Write a policy for a target.

    Parameters
    ----------
    policy : Policy
    target : str
        ``anthropic``, ``openai``, ``langchain``, ``pydantic-ai``, or a harness or one of its presets, whose
        settings are written.
    model : str, optional
        What it is for. Where that binds its thinking to the exact prefix and the target edits at the client,
        the server's form is written instead, and that is said.

    Returns
    -------
    Export

    Raises
    ------
    InputError
        If there is no such target, or no cache rules are known for the model.

    Examples
    --------
    >>> made = export(Policy(trigger=30_000, keep=3, compact_above=None, evict={"edited"}), "anthropic")
    >>> made.config["edits"][0]["type"], made.config["edits"][0]["clear_at_least"]
    ('clear_tool_uses_20250919', {'type': 'input_tokens', 'value': 10000})
    >>> print(*made.missing, sep="\\n")
    evict: the target removes no superseded results
    a pinned tool keeps its place among the newest results with some harnesses; here the order is not documented
    stub_text: the server writes a placeholder of its own, however short the result
    """
    given("policy", policy, Policy, "load_policy(name) makes one")
    given("target", target, str, f"one of {', '.join(TARGETS)}")
    bound = model is not None and cache_rules(find_model(model)).thinking_bound
    if target in _CLIENTS and bound:
        made = anthropic(replace(policy, edits_at="server"))
        why = f"{target}: {model} binds its thinking to the exact prefix and refuses edits at the client"
        return replace(made, missing=(f"{why}, so this is the server's form", *made.missing))
    if target in _WRITERS:
        return _WRITERS[target](policy)
    if (target in presets(unverified=True) and preset(target).harness) or knobs(target):
        return settings(policy, target)
    harnesses = {preset(name).harness for name in presets(unverified=True)}
    known = [*TARGETS, *sorted(h for h in harnesses if knobs(h)), *(n for n in presets() if preset(n).harness)]
    spelt = {name.lower(): name for name in reversed(known)}
    near = spelt.get(target.lower())
    meant = f", did you mean {near!r}?" if near else closest(target, known)
    raise InputError(f"there is no target {target!r}{meant}: give one of {', '.join(known)}")
