"""A policy in the words of a harness, and back; what the target cannot say is said, and not dropped."""

from __future__ import annotations

from collections.abc import Callable

from labkit.errors import InputError, closest
from labkit.ladder.export_api import anthropic, from_config, openai
from labkit.ladder.export_code import langchain, pydantic_ai, settings
from labkit.ladder.export_values import Export
from labkit.ladder.policy import Policy
from labkit.ladder.presets import preset, presets

__all__ = ["TARGETS", "Export", "export", "from_config"]

_WRITERS: dict[str, Callable[[Policy], Export]] = {
    "anthropic": anthropic,
    "openai": openai,
    "langchain": langchain,
    "pydantic-ai": pydantic_ai,
}
TARGETS = tuple(_WRITERS)
"""What a policy can be written for, beside the harnesses of the presets."""


def export(policy: Policy, target: str) -> Export:
    """Write a policy for a target.

    Parameters
    ----------
    policy : Policy
    target : str
        ``anthropic``, ``openai``, ``langchain``, ``pydantic-ai``, or the name of a preset, whose harness's
        settings are written.

    Returns
    -------
    Export

    Raises
    ------
    InputError
        If there is no such target.

    Examples
    --------
    >>> made = export(Policy(trigger=30_000, keep=3, compact_above=None, evict={"edited"}), "anthropic")
    >>> made.config["edits"][0]["type"], made.config["edits"][0]["clear_at_least"]
    ('clear_tool_uses_20250919', {'type': 'input_tokens', 'value': 10000})
    >>> print(*made.missing, sep="\\n")
    evict: the target removes no superseded results
    a pinned tool keeps its place among the newest results with some harnesses; here the order is not documented
    """
    if target in _WRITERS:
        return _WRITERS[target](policy)
    if target in presets(unverified=True) and preset(target).harness:
        return settings(policy, target)
    known = [*TARGETS, *(name for name in presets() if preset(name).harness)]
    raise InputError(f"there is no target {target!r}{closest(target, known)}: give one of {', '.join(known)}")
