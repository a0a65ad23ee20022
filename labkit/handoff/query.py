"""Questions to a record: what was decided about something, what is open, what held at a request."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.errors import InputError
from labkit.ladder.artifact import Artifact
from labkit.ladder.entries import Completed, Decision, Invariant, Open

__all__ = ["Held", "decided", "held_at", "open_steps"]


@dataclass(frozen=True)
class Held:
    """What held at one request."""

    request: int
    decisions: tuple[Decision, ...]
    invariants: tuple[Invariant, ...]
    completed: tuple[Completed, ...]
    open: tuple[str, ...]


def decided(artifact: Artifact, about: str) -> tuple[Decision, ...]:
    """The decisions about something, those that were overturned included, oldest first.

    Parameters
    ----------
    artifact : Artifact
    about : str
        Words that all stand in the decision or its reason, in any case and order.

    Returns
    -------
    tuple of Decision
        With what they overturn and what overturns them, whether or not that has the words.

    Examples
    --------
    >>> first, second = Decision("D-01", "refund one charge"), Decision("D-02", "pay it all back", supersedes="D-01")
    >>> [d.id for d in decided(Artifact("t", "g", decisions=(first, second)), "refund")]
    ['D-01', 'D-02']
    """
    wanted = about.casefold().split()
    if not wanted:
        raise InputError("no words to look for: say what the decision is about")
    found = {d.id for d in artifact.decisions if all(w in f"{d.decision} {d.rationale}".casefold() for w in wanted)}
    for d in artifact.decisions:  # forward along the chains,
        found |= {d.id} if d.supersedes in found else set()
    for d in reversed(artifact.decisions):  # and back
        found |= {d.supersedes} if d.id in found and d.supersedes else set()
    return tuple(d for d in artifact.decisions if d.id in found)


def held_at(artifact: Artifact, request: int) -> Held:
    """What stood decided, constrained, done and open when a request was sent.

    Parameters
    ----------
    artifact : Artifact
    request : int
        Its index. What the record gives no request for is taken to have held from the start.

    Examples
    --------
    >>> chain = (Decision("D-01", "x", request=9), Decision("D-02", "y", supersedes="D-01", request=23))
    >>> a = Artifact("t", "g", decisions=chain)
    >>> [d.id for d in held_at(a, 20).decisions], [d.id for d in held_at(a, 23).decisions]
    (['D-01'], ['D-02'])
    """
    if request < 1:
        raise InputError(f"request is {request}: requests count from 1")
    made = [d for d in artifact.decisions if (d.request or 0) <= request]
    gone = {d.supersedes for d in made}
    done = tuple(c for c in artifact.completed if (c.request or 0) <= request)
    was_open = [o.step for o in artifact.open if (o.request or 0) <= request]
    was_open += [c.step for c in artifact.completed if c.opened is not None and c.opened <= request < (c.request or 0)]
    return Held(
        request,
        tuple(d for d in made if d.id not in gone),
        tuple(i for i in artifact.invariants if (i.request or 0) <= request),
        done,
        tuple(was_open),
    )


def open_steps(artifact: Artifact, *, blocked: bool | None = None) -> tuple[Open, ...]:
    """What is open: all of it, only what is blocked, or only what is not."""
    return tuple(o for o in artifact.open if blocked is None or bool(o.blocker) == blocked)
