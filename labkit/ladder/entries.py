"""What an artifact has lists of: decisions, steps, constraints, and words carried as they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from labkit.ladder.evidence import Evidence

__all__ = ["Carried", "Completed", "Decision", "Invariant", "Open", "What"]

What = Literal["user", "system", "summary", "notes", "error"]


@dataclass(frozen=True)
class Decision:
    """What was decided: ``D-01`` and so on, why, which decision it overturns, and since which request."""

    id: str
    decision: str
    rationale: str = ""
    supersedes: str | None = None
    request: int | None = None


@dataclass(frozen=True)
class Completed:
    """A step that is done, with evidence; ``opened`` and ``request`` say when it was begun and done."""

    step: str
    evidence: Evidence
    request: int | None = None
    opened: int | None = None


@dataclass(frozen=True)
class Open:
    """A step that is not done, what blocks it, and the request since which it is open."""

    step: str
    blocker: str | None = None
    request: int | None = None


@dataclass(frozen=True)
class Invariant:
    """A constraint that must hold at every step, and the request since which it does."""

    text: str
    request: int | None = None


@dataclass(frozen=True)
class Carried:
    """Words kept as they were: of a user, of the system, of an earlier summary, the notes, an error."""

    what: What
    text: str
    request: int | None = None
