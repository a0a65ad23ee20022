"""Hand off or compact on any trace, priced: the same threshold, the same actions, side by side."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.errors import InputError
from labkit.handoff.lanes import compact_policy, hand_off_policy, record_at
from labkit.ladder.artifact_text import render
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.price.prices import Prices
from labkit.record.sizes import Sizes
from labkit.record.trace import Trace
from labkit.replay.bill import bill
from labkit.replay.replay import replay
from labkit.replay.uses import needs_of

__all__ = ["Side", "compare"]


@dataclass(frozen=True)
class Side:
    """One of the two.

    Parameters
    ----------
    name : str
    edits : int
        How often the history was summarized or left behind.
    input : int
        Input tokens of the run.
    dollars : float
        With a cache; what a loss would add is not in it.
    breaks : int
        Requests that do not begin with the whole request before.
    carried : int
        Tokens of the last summary or record.
    missing : int
        Needed excerpts that were not in the prompt when a block used them.
    needed, survives : int
        Different excerpts that are used after the kill and were shown before it, and how many of them a
        new process finds. Their source can be read again; nothing says where it was.
    evidence : int
        Completed steps of the record, each with a result that exists.
    """

    name: str
    edits: int
    input: int
    dollars: float
    breaks: int
    carried: int
    missing: int
    needed: int
    survives: int
    evidence: int


def compare(
    trace: Trace,
    above: int,
    prices: Prices,
    *,
    kill: int | None = None,
    rules: CacheRules = ARTICLE_RULES,
    sizes: Sizes | None = None,
) -> tuple[Side, Side]:
    """Replay a trace once with *compact* alone and once with *hand off* alone.

    Parameters
    ----------
    trace : Trace
        Unedited; of a session, ``trace.unedited()``.
    above : int
        Tokens past which each acts.
    prices : Prices
    kill : int, optional
        The request after which the process ends; default: half way.
    rules : CacheRules
    sizes : Sizes, optional
        Default: ``measure(trace)``.

    Returns
    -------
    compact, hand_off : Side

    Raises
    ------
    InputError
        If there is no such request.
    """
    kill = len(trace.requests) // 2 if kill is None else kill
    if not 1 <= kill <= len(trace.requests):
        raise InputError(f"kill is {kill}: give 1 to {len(trace.requests)}, a request of the run")
    record = record_at(trace, kill)
    text = render(record)
    needed = {
        need.excerpt for need in needs_of(trace) if need.request > kill and trace.blocks[need.source].request <= kill
    }
    sides = []
    for name, policy in (("compact", compact_policy(above)), ("hand off", hand_off_policy(above))):
        run = replay(trace, policy, rules, sizes=sizes)
        edits = [e for e in run.events if e.messages]
        sides.append(
            Side(
                name=name,
                edits=len(edits),
                input=run.input,
                dollars=bill(run, prices).cached,
                breaks=run.breaks,
                carried=edits[-1].added if edits else 0,
                missing=run.uses_after_clear,
                needed=len(needed),
                survives=sum(x in text for x in needed) if name == "hand off" else 0,
                evidence=len(record.completed) if name == "hand off" else 0,
            )
        )
    return sides[0], sides[1]
