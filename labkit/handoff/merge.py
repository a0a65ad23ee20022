"""Two records that began from one: what both say is kept, and what cannot be kept is named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from labkit.ladder.artifact import Artifact
from labkit.ladder.entries import Carried, Completed, Decision, Open

__all__ = ["Merge", "merge"]

T = TypeVar("T")


@dataclass(frozen=True)
class Merge:
    """A merged record; where both sides changed the same thing, and what one side had taken out."""

    artifact: Artifact
    conflicts: tuple[str, ...]
    left_out: tuple[str, ...]


def merge(base: Artifact | None, ours: Artifact, theirs: Artifact) -> Merge:
    """Merge two records.

    Parameters
    ----------
    base : Artifact or None
        What both began from, as the store's history has it; ``None`` where they share nothing.
    ours, theirs : Artifact

    Returns
    -------
    Merge
        Entries that either side added are kept. An entry that one side took out and the other left as it
        was goes, and ``left_out`` names it; a step that either side completed is completed. Where both
        changed the task, the goal or the status, ours stands, theirs is carried, and ``conflicts`` says
        so. Their new decisions get new numbers. Two decisions that overturn the same one both stand.

    Examples
    --------
    >>> base = Artifact("t", "g", open=(Open("a"), Open("b")))
    >>> ours, theirs = replace(base, open=(Open("b"),)), replace(base, open=(*base.open, Open("c")))
    >>> done = merge(base, ours, theirs)
    >>> [o.step for o in done.artifact.open], done.left_out, done.conflicts
    (['b', 'c'], ('open: a',), ())
    """
    start = base or Artifact("", "")
    conflicts: list[str] = []
    left_out: list[str] = []
    carried: list[Carried] = []
    words = {}
    for name in ("task", "goal", "status"):
        was, a, b = getattr(start, name), getattr(ours, name), getattr(theirs, name)
        if a != b and a != was and b != was:
            conflicts.append(f"{name}: ours says {a!r}, theirs {b!r}; ours stands")
            carried.append(Carried("summary", f"another session wrote as {name}: {b}"))
        words[name] = b if a == was else a
    decisions = _decisions(start, ours, theirs, conflicts)
    completed, opened = _steps(start, ours, theirs, conflicts, left_out)
    kept = {
        name: _union(getattr(start, name), getattr(ours, name), getattr(theirs, name), name, left_out)
        for name in ("invariants", "artifacts", "carried")
    }
    kept["carried"] = (*kept["carried"], *(c for c in carried if c not in kept["carried"]))
    if words["status"] == "done" and opened:
        conflicts.append(f"status: one side is done, and {opened[0].step!r} is open; the work goes on")
        words["status"] = "in_progress"
    artifact = Artifact(**words, decisions=decisions, completed=completed, open=opened, **kept)  # type: ignore[arg-type]
    return Merge(artifact, tuple(conflicts), tuple(left_out))


def _union(base: Iterable[T], ours: Iterable[T], theirs: Iterable[T], name: str, left_out: list[str]) -> tuple[T, ...]:
    """What either side has, but what one side took out."""
    was, a, b = (dict.fromkeys(entries) for entries in (base, ours, theirs))
    gone = [e for e in was if e not in a or e not in b]
    left_out += [f"{name.removesuffix('s')}: {getattr(e, 'text', e)}" for e in gone]
    return tuple(e for e in {**a, **b} if e not in gone)


def _decisions(base: Artifact, ours: Artifact, theirs: Artifact, conflicts: list[str]) -> tuple[Decision, ...]:
    """All of both: a record of decisions only grows. Theirs come after ours, with numbers of their own."""
    made = list(ours.decisions)
    number = {d.id: d.id for d in made if d in theirs.decisions}
    gone = {d.supersedes: d for d in made if d.supersedes}
    for d in (*theirs.decisions, *(d for d in base.decisions if d not in ours.decisions)):
        if d in made:
            continue
        if d.id in number:
            conflicts.append(f"decision {d.id} is worded otherwise by each side; both are kept")
        highest = max((int(m.id[2:]) for m in made), default=0)
        new = d.id if all(m.id != d.id for m in made) else f"D-{highest + 1:02}"
        number[d.id] = new
        over = number.get(d.supersedes, d.supersedes) if d.supersedes else None
        if over is not None and over in gone:
            conflicts.append(
                f"{over} is overturned twice: by {gone[over].decision!r} and by {d.decision!r}; both stand"
            )
            over = None
        if over is not None and all(m.id != over for m in made):
            conflicts.append(f"{d.decision!r} overturns {over}, which is not there")
            over = None
        made.append(replace(d, id=new, supersedes=over))
        if over is not None:
            gone[over] = made[-1]
    return tuple(made)


def _steps(
    base: Artifact, ours: Artifact, theirs: Artifact, conflicts: list[str], left_out: list[str]
) -> tuple[tuple[Completed, ...], tuple[Open, ...]]:
    """A step that either side completed is completed, unless the other took it up again."""
    was = {c.step: c for c in base.completed}
    done: dict[str, Completed] = {}
    for c in (*ours.completed, *theirs.completed):
        done.setdefault(c.step, c)
    opened: dict[str, Open] = {}
    for side in (ours, theirs):
        for o in side.open:
            old = opened.get(o.step)
            if old is None or (old != o and old in base.open):
                opened[o.step] = o
            elif old != o and o not in base.open and old.blocker != o.blocker:
                conflicts.append(
                    f"open {o.step!r}: ours is blocked by {old.blocker}, theirs by {o.blocker}; ours stands"
                )
    for step in list(opened):
        if step in was and step in done:
            del done[step]  # it was done before, and one side opened it again
            conflicts.append(f"{step!r} was done, and is taken up again")
        elif step in done:
            del opened[step]
    for o in base.open:
        if o.step in done or o.step not in opened:
            if o.step not in done:
                left_out.append(f"open: {o.step}")
            continue
        sides = [{x.step: x for x in side.open}.get(o.step) for side in (ours, theirs)]
        if None in sides:
            other = next((x for x in sides if x is not None), None)
            if other == o:
                del opened[o.step]
                left_out.append(f"open: {o.step}")
            else:
                conflicts.append(f"open {o.step!r}: one side took it out, the other changed it; it is kept")
    for c in base.completed:
        if c.step in done and not all(any(x.step == c.step for x in s.completed) for s in (ours, theirs)):
            conflicts.append(f"completed {c.step!r}: one side took it out; it is kept")
        elif c.step not in done and c.step not in opened:
            left_out.append(f"completed: {c.step}")
    return tuple(done.values()), tuple(opened.values())
