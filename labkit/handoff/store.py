"""Where the artifact lies: one JSON file that is replaced whole, and only by who has read what it replaces.

A plain notes file (:class:`labkit.ladder.notes.NotesFile`) stays the simple case: one agent, no schema.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import InputError, LabError
from labkit.files import atomic_write
from labkit.handoff.diff import diff
from labkit.ladder.artifact import Artifact, ground
from labkit.record.trace import Block, Trace

__all__ = ["Conflict", "JsonStore", "StoreError", "Version", "checked"]

Seen = Trace | Sequence[Block]


class StoreError(InputError):
    """The record cannot be read or written; what was on disk is as it was."""


class Conflict(LabError, RuntimeError):
    """Somebody else has written since the record was read.

    Attributes
    ----------
    ours : Artifact
        What was to be written.
    theirs : Artifact or None
        What stands there now.
    """

    def __init__(self, ours: Artifact, theirs: Artifact | None, expected: str | None) -> None:
        self.ours, self.theirs, self.expected = ours, theirs, expected
        began = f"began from {expected[:12]}" if expected else "began from no record"
        if theirs is None:
            there, sides = "there is none any more", ""
        else:
            there = f"{theirs.content_sha256[:12]} stands there now"
            sides = "\nfrom theirs to ours:\n" + str(diff(theirs, ours))
        super().__init__(f"the record {began}, and {there}: read it, merge, and write again{sides}")


@dataclass(frozen=True)
class Version:
    """One state of the record: when it was replaced, in seconds since the epoch, and what it said."""

    replaced: float
    artifact: Artifact


def checked(artifact: Artifact, before: Artifact | None, seen: Seen | None) -> Artifact:
    """The record with its evidence found; what is completed newly needs a result that exists.

    Parameters
    ----------
    artifact, before : Artifact
        What is to be written, and what stands there.
    seen : Trace or sequence of Block, optional
        What happened.

    Raises
    ------
    InputError
        If a step is completed newly and its evidence is not in ``seen``, or there is none to look in.
    """
    known = before.completed if before else ()
    new = [step for step in artifact.completed if step not in known]
    if new and seen is None:
        raise InputError(f"{new[0].step!r} is completed newly: give seen=, the Trace in which its evidence is found")
    return ground(artifact, seen or (), known)


@dataclass(frozen=True)
class JsonStore:
    """One artifact in one JSON file, with its history beside it.

    Parameters
    ----------
    path : str or Path
        Of the file. ``<path>.lock`` and ``<path>.history.jsonl`` stand beside it.
    wait : float
        Seconds to wait for another process that is writing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = JsonStore(f"{folder}/handoff.json")
    ...     first = store.write(Artifact("Fix it.", "Fix it."), None)
    ...     second = store.write(Artifact("Fix it.", "Fix it.", status="blocked"), first)
    ...     store.read().status, [v.artifact.status for v in store.history()]
    ('blocked', ['in_progress'])
    """

    path: str | Path
    wait: float = 60.0

    def read(self) -> Artifact | None:
        """The record, or ``None`` if there is no file.

        Raises
        ------
        StoreError
            If the file is torn, another program's, of another version, or cannot be read.
        """
        try:
            text = Path(self.path).read_bytes().decode("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{self.path} cannot be read ({error}): is it a record that labkit wrote?") from None
        try:
            return Artifact.from_json(text)
        except InputError as error:
            raise StoreError(f"{self.path}: {error}") from None

    def write(self, artifact: Artifact, expected: str | None, *, seen: Seen | None = None) -> str:
        """Replace the record, if it is still the one that was read.

        Parameters
        ----------
        artifact : Artifact
        expected : str or None
            Content hash of the record it was made from; ``None`` where there was none.
        seen : Trace or sequence of Block, optional
            Where the evidence of newly completed steps is found.

        Returns
        -------
        str
            The content hash of what now stands there.

        Raises
        ------
        Conflict
            If another record stands there.
        InputError
            If evidence does not exist.
        StoreError
            If it cannot be written, or what is there is no record. The file is as it was.
        """
        return self._write(artifact, expected, seen).content_sha256

    def _write(self, artifact: Artifact, expected: str | None, seen: Seen | None) -> Artifact:
        from filelock import FileLock, Timeout

        path = Path(self.path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{path}.lock", timeout=self.wait):
                before = self.read()
                if (before.content_sha256 if before else None) != expected:
                    raise Conflict(artifact, before, expected)
                artifact = checked(artifact, before, seen)
                if artifact == before:
                    return artifact
                for left in path.parent.glob(f".{path.name}.*"):
                    left.unlink(missing_ok=True)  # of a writer that was killed: nobody else writes now
                if before is not None:
                    self._keep(before)
                atomic_write(path, artifact.to_json())
        except Timeout:
            raise StoreError(f"{path} has been locked for {self.wait:g} s: another process is writing it") from None
        except OSError as error:
            raise StoreError(f"{path} cannot be written ({error}): what was there is untouched") from None
        return artifact

    def update(
        self, change: Callable[[Artifact | None], Artifact], *, seen: Seen | None = None, tries: int = 100
    ) -> tuple[Artifact, tuple[Conflict, ...]]:
        """Read, change and write, again after each conflict.

        Returns
        -------
        artifact, conflicts : Artifact, tuple of Conflict
            What was written, and each conflict on the way.

        Raises
        ------
        Conflict
            The last one, after so many tries.
        """
        conflicts: list[Conflict] = []
        while True:
            before = self.read()
            try:
                after = self._write(change(before), before.content_sha256 if before else None, seen)
            except Conflict as conflict:
                conflicts.append(conflict)
                if len(conflicts) >= tries:
                    raise
                continue
            return after, tuple(conflicts)

    def history(self) -> tuple[Version, ...]:
        """What stood there before, oldest first, without what stands there now."""
        try:
            lines = self._history.read_bytes().split(b"\n")[:-1]  # what follows the last line end is torn
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreError(f"{self._history} cannot be read ({error})") from None
        versions: list[Version] = []
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                version = Version(float(entry["replaced"]), Artifact.from_dict(entry["artifact"]))
            except (InputError, ValueError, KeyError, TypeError) as error:
                raise StoreError(f"line {number} of {self._history} is no record ({error})") from None
            # A writer that was killed after it kept the old record left it here, and it was kept again.
            if not versions or versions[-1].artifact != version.artifact:
                versions.append(version)
        if versions and versions[-1].artifact == self.read():
            versions.pop()
        return tuple(versions)

    @property
    def _history(self) -> Path:
        return Path(f"{self.path}.history.jsonl")

    def _keep(self, before: Artifact) -> None:
        line = json.dumps({"replaced": time.time(), "artifact": before.to_dict()}, ensure_ascii=False)
        with self._history.open("ab+") as file:
            end = file.seek(0, 2)
            file.seek(max(end - 1, 0))
            if end and file.read(1) != b"\n":
                self._mend(end)
            file.write(line.encode("utf-8") + b"\n")

    def _mend(self, end: int) -> None:
        """Cut off the half line of a writer that was killed, or whose disk was full."""
        content = self._history.read_bytes()
        with self._history.open("rb+") as file:
            file.truncate(content.rfind(b"\n") + 1)
