"""What differs between two records, in the words of the work: decisions, steps, constraints, what lasts.

Numbers of decisions and of requests do not count: two runs that decide the same at other times agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from labkit.ladder.artifact import Artifact
from labkit.ladder.entries import Decision

__all__ = ["Change", "Diff", "diff"]

About = Literal["task", "goal", "status", "decision", "completed", "open", "invariant", "artifact", "carried"]


@dataclass(frozen=True)
class Change:
    """One difference; ``before`` or ``after`` is ``None`` where only the other record has it."""

    about: About
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"+ {self.about}: {self.after}"
        if self.after is None:
            return f"- {self.about}: {self.before}"
        return f"~ {self.about}: {self.before} -> {self.after}"


@dataclass(frozen=True)
class Diff:
    """The differences, in the order of the record's fields; false if there is none."""

    changes: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        return "\n".join(map(str, self.changes)) or "no difference"


def diff(a: Artifact, b: Artifact) -> Diff:
    """What changes from one record to another.

    Parameters
    ----------
    a, b : Artifact
        Two versions, or the records of two runs.

    Returns
    -------
    Diff
        Decisions taken at the same request and worded otherwise are one change. A step that was open and
        is completed is one change.

    Examples
    --------
    >>> a = Artifact("t", "g", decisions=(Decision("D-01", "round lines", request=9),))
    >>> b = Artifact("t", "g", decisions=(Decision("D-01", "round once", request=9),))
    >>> print(diff(a, b))
    ~ decision: round lines -> round once
    """
    return Diff((*_words(a, b), *_decisions(a, b), *_steps(a, b), *_lists(a, b)))


def _words(a: Artifact, b: Artifact) -> Iterator[Change]:
    names: tuple[Literal["task", "goal", "status"], ...] = ("task", "goal", "status")
    for name in names:
        before, after = getattr(a, name), getattr(b, name)
        if before != after:
            yield Change(name, before, after)


def _said(artifact: Artifact) -> dict[str, Decision]:
    """Decisions by what they say: words, reason, and the words of what they overturn."""
    by_id = {d.id: d.decision for d in artifact.decisions}
    said = {}
    for d in artifact.decisions:
        because = f", because {d.rationale}" if d.rationale else ""
        over = f" (overturns: {by_id[d.supersedes]})" if d.supersedes else ""
        said[f"{d.decision}{because}{over}"] = d
    return said


def _decisions(a: Artifact, b: Artifact) -> Iterator[Change]:
    before, after = _said(a), _said(b)
    gone = {text: d for text, d in before.items() if text not in after}
    new = {text: d for text, d in after.items() if text not in before}
    for text, d in gone.items():
        # The same words with another reason, else another decision at the same point of the run.
        match = next((t for t, e in new.items() if e.decision == d.decision), None) or next(
            (t for t, e in new.items() if e.request == d.request is not None), None
        )
        if match is not None:
            del new[match]
        yield Change("decision", text, match)
    for text in new:
        yield Change("decision", None, text)


def _steps(a: Artifact, b: Artifact) -> Iterator[Change]:
    was, now = _step_states(a), _step_states(b)
    for step in dict.fromkeys([*was, *now]):
        before, after = was.get(step), now.get(step)
        if before == after:
            continue
        about: About = "completed" if (after or before or "").startswith("done") else "open"
        yield Change(
            about,
            None if before is None else f"{step} ({before})",
            None if after is None else f"{step} ({after})",
        )


def _step_states(artifact: Artifact) -> dict[str, str]:
    states = {o.step: "open" + (f", blocked by: {o.blocker}" if o.blocker else "") for o in artifact.open}
    for c in artifact.completed:
        e = c.evidence
        # Request and call id say where, not what: another run has others.
        states[c.step] = f"done, shown by {e.tool}({e.args})" + (f" {e.digest}" if e.digest else "")
    return states


def _lists(a: Artifact, b: Artifact) -> Iterator[Change]:
    def texts(x: Artifact) -> Iterator[tuple[About, str]]:
        yield from (("invariant", i.text) for i in x.invariants)
        yield from (("artifact", path) for path in x.artifacts)
        yield from (("carried", f"{c.what}: {c.text}") for c in x.carried)

    before, after = dict.fromkeys(texts(a)), dict.fromkeys(texts(b))
    yield from (Change(about, text, None) for about, text in before if (about, text) not in after)
    yield from (Change(about, None, text) for about, text in after if (about, text) not in before)
