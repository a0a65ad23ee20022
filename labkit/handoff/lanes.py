"""Hand off or compact, on the same trace: what it costs, what is in sight, and what is left after a kill.

A kill ends the process. A summary goes with the context it stands in; the artifact is on disk, as it was
when it was last written. What follows is open-loop, as every replay: the same blocks come in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from labkit.errors import InputError
from labkit.ladder.artifact import Artifact
from labkit.ladder.artifact_text import render
from labkit.ladder.artifact_writer import ArtifactWriter, extract
from labkit.ladder.manager import ContextManager
from labkit.ladder.notes import notes_of
from labkit.ladder.policy import Policy
from labkit.record.sizes import measure
from labkit.record.trace import Block, Trace

__all__ = ["Lane", "Lanes", "compact_policy", "hand_off_policy", "lanes"]


@dataclass(frozen=True)
class Lane:
    """One way through a run.

    Parameters
    ----------
    name : str
        ``compact`` or ``hand off``.
    facts : tuple of int
        At each request, how many of the facts said so far are in the prompt.
    said : tuple of int
        How many have been said: a fact is lost, or was never there.
    edits : tuple of int
        Requests before which the history was summarized or left behind.
    left : tuple of str
        Labels of the facts that a new process finds after the kill.
    """

    name: str
    facts: tuple[int, ...]
    said: tuple[int, ...]
    edits: tuple[int, ...]
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lanes:
    """Both ways, with the same threshold and the same kill.

    Parameters
    ----------
    compact, hand_off : Lane
    kill : int or None
        The request after which the process ends.
    written : int or None
        The request at which the record on disk was last written before that.
    record : Artifact or None
        That record.
    """

    compact: Lane
    hand_off: Lane
    kill: int | None
    written: int | None
    record: Artifact | None


def compact_policy(above: int) -> Policy:
    """Only compact, past so many tokens, and leave nothing word for word but what is new."""
    return replace(Policy.nothing(), trigger=above, keep=None, floor=0, compact_above=above, keep_recent=2)


def hand_off_policy(above: int) -> Policy:
    """Only hand off, past so many tokens."""
    return replace(Policy.nothing(), hand_off_above=above)


def lanes(trace: Trace, above: int = 20_000, kill: int | None = None, *, every: int = 1, errors: int = 0) -> Lanes:
    """Follow the facts of a scripted run down both lanes.

    Parameters
    ----------
    trace : Trace
        With facts.
    above : int
        Tokens past which the one compacts and the other hands off.
    kill : int, optional
        The request after which the process ends; ``None`` for never.
    every : int
        The record is written to disk at every so many requests, and at each hand off.
    errors : int
        Newest error messages the record carries; see :func:`labkit.ladder.artifact_writer.extract`.

    Returns
    -------
    Lanes

    Raises
    ------
    InputError
        If the trace lists no facts, or there is no such request.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> both = lanes(load(data_path("traces", "invoice-60.jsonl")), kill=30)
    >>> both.compact.facts[28:32], both.hand_off.facts[28:32]
    ((6, 6, 0, 0), (5, 5, 5, 5))
    """
    if not trace.facts:
        raise InputError(f"{trace.name} lists no facts: give a scripted run")
    last = len(trace.requests)
    if kill is not None and not 1 <= kill < last:
        raise InputError(f"kill is {kill}: the run has {last} requests, so give 1 to {last - 1}, or None")
    if every < 1:
        raise InputError(f"every is {every}: it counts requests, so give 1 or more")
    said = _said(trace)
    one, one_edits = _whole(trace, compact_policy(above), errors)
    other, other_edits = _whole(trace, hand_off_policy(above), errors)
    record, written = None, None
    if kill is not None:
        one_edits = tuple(r for r in one_edits if r <= kill)
        other_edits = tuple(r for r in other_edits if r <= kill)
        written = max({*range(every, kill + 1, every), *other_edits}, default=None)
        record = None if written is None else record_at(trace, written, errors)
        later: tuple[int, ...] = ()
        later_edits: tuple[int, ...] = ()
        if record is not None:
            later, later_edits = _follow(trace, hand_off_policy(above), kill, record, errors)
        none = (0,) * (last - kill)
        one, other = one[:kill] + none, other[:kill] + (later or none)
        other_edits += later_edits
    text = render(record) if record else ""
    left = tuple(f.label for f in trace.facts if record and f.probe in text)
    return Lanes(
        Lane("compact", one, said, one_edits),
        Lane("hand off", other, said, other_edits, left),
        kill,
        written,
        record,
    )


def record_at(trace: Trace, request: int, errors: int = 0) -> Artifact:
    """The record of everything up to a request, as a harness writes it that keeps what happened."""
    blocks = [b for b in trace.blocks if b.request <= request]
    return extract(blocks, notes_of(blocks), errors=errors)


def _said(trace: Trace) -> tuple[int, ...]:
    """How many facts have been said by each request."""
    first = [min((b.request for b in trace.blocks if f.probe in b.text), default=None) for f in trace.facts]
    return tuple(sum(at is not None and at <= request.index for at in first) for request in trace.requests)


@lru_cache(maxsize=8)
def _whole(trace: Trace, policy: Policy, errors: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A lane without a kill; a slider over the kill asks for it again and again."""
    return _follow(trace, policy, 0, None, errors)


def _follow(
    trace: Trace, policy: Policy, after: int, record: Artifact | None, errors: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Facts in sight at each request after one, and the edits there; the context starts with the record."""
    sizes = measure(trace)
    seen = 0
    manager = ContextManager(
        policy=policy,
        read_notes=lambda: notes_of(trace.blocks[:seen]),
        writer=ArtifactWriter(errors),
        count=sizes.count,
        prefix_tokens=sizes.prefix(trace.requests[0].prefix),
    )
    manager.requests = after
    if record is not None:
        manager.append(Block("summary", "user", render(record), request=after, edited="summary"))
    shown = lru_cache(maxsize=None)(lambda block: frozenset(f for f in trace.facts if f.probe in block.text))
    facts = []
    for request, new in trace.new_blocks():
        if request.index <= after:
            continue
        for i in new:
            manager.append(trace.blocks[i], sizes.blocks[i])
        seen = new.stop
        manager.step()
        facts.append(len(frozenset().union(*map(shown, manager.blocks()))))
    return tuple(facts), tuple(e.request for e in manager.events if e.messages)
