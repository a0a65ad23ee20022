"""What the command line does with records: make one, write it, set two side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.handoff.diff import Diff, diff
from labkit.handoff.lanes import record_at
from labkit.handoff.store import JsonStore
from labkit.ladder.artifact import Artifact
from labkit.ladder.artifact_text import render
from labkit.record.edits import unedited
from labkit.record.load import load
from labkit.record.trace import Trace

__all__ = ["Made", "handed_off", "handoff", "two_records"]


@dataclass(frozen=True)
class Made:
    """A record, and what is to be said beside it."""

    artifact: Artifact
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The record as its file holds it."""
        return self.artifact.to_dict()

    def lines(self) -> list[str]:
        """The record as Markdown."""
        return render(self.artifact).split("\n")


@dataclass(frozen=True)
class Differing:
    """What differs between two records."""

    found: Diff
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A row a change; ``before`` or ``after`` is null where only the other record has it."""
        rows = [{"about": c.about, "before": c.before, "after": c.after} for c in self.found.changes]
        return {"changes": rows}

    def lines(self) -> list[str]:
        """A line a change."""
        return str(self.found).split("\n")


def handoff(paths: Sequence[str], side_by_side: bool, at: int | None, out: str | None) -> Made | Differing:
    """What the command line asked for: the record of one session, or what differs between two.

    Raises
    ------
    InputError
        If there are too many paths or too few, or an option is for the other.
    """
    if not side_by_side:
        if len(paths) != 1:
            raise InputError(f"{len(paths)} paths are given: give one, or --diff and two")
        return handed_off(paths[0], at, out)
    if len(paths) != 2:
        raise InputError(f"--diff with {len(paths)} paths: give two, of records, sessions or runs")
    if at is not None or out is not None:
        raise InputError("--at and --out are for one session: leave them out, or leave --diff out")
    return Differing(two_records(*paths))


def handed_off(path: str, at: int | None = None, out: str | None = None) -> Made:
    """The record of a session up to a request, built without a model, and written where that is asked for.

    Parameters
    ----------
    path : str
        A session or a run.
    at : int, optional
        The request after which it is written; default: the last.
    out : str, optional
        A file of records. One that holds a record keeps it in its history.

    Raises
    ------
    InputError
        If there is no such request.
    StoreError
        If the file cannot be written, or is no record; it is as it was.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> made = handed_off(str(data_path("traces", "invoice-60.jsonl")), 45)
    >>> [d.id for d in made.artifact.decisions], len(made.artifact.completed)
    (['D-01', 'D-02', 'D-03'], 3)
    """
    trace = _trace(path)
    artifact = record_at(trace, _request(trace, path, at))
    if out is None:
        return Made(artifact)
    file = Path(out).expanduser()
    store = JsonStore(file)
    before = store.read()
    expected = before.content_sha256 if before else None
    store.write(artifact, expected, seen=trace)
    if before == artifact:
        return Made(artifact, (f"{file} holds this record already",))
    kept = f"; the record before it is in its history, with {len(store.history())} in all" if before else ""
    return Made(artifact, (f"wrote {file}{kept}",))


def two_records(before: str, after: str) -> Diff:
    """What differs between two records; of a session or a run its record at the end is taken."""
    return diff(_record(before), _record(after))


def _record(path: str) -> Artifact:
    """A record that a file holds, else that of the session."""
    file = Path(path).expanduser()
    if file.suffix == ".json" and file.is_file() and b'"content_sha256"' in file.read_bytes():
        found = JsonStore(file).read()
        if found is not None:
            return found
    trace = _trace(path)
    return record_at(trace, _request(trace, path, None))


def _trace(path: str) -> Trace:
    return unedited(load(path))


def _request(trace: Trace, path: str, at: int | None) -> int:
    last = len(trace.requests)
    if not last:
        raise InputError(f"{path} holds no request to a model: there is nothing to hand off; give another session")
    if at is not None and not 1 <= at <= last:
        raise InputError(f"--at is {at}: {path} has {last} requests, so give 1 to {last}")
    return at or last
