"""The artifact as a branch of a git repository: a commit a version, and git's own compare-and-swap."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from labkit.errors import InputError
from labkit.handoff.store import Conflict, Seen, StoreError, Version, checked
from labkit.ladder.artifact import Artifact

__all__ = ["GitStore"]

FILE = "handoff.json"
NONE = "0" * 40


@dataclass(frozen=True)
class GitStore:
    """One artifact on a branch of its own; the working tree and the index are not touched.

    Parameters
    ----------
    repository : str or Path
        A folder in it.
    branch : str
        Made when first written. It must not be checked out.
    """

    repository: str | Path
    branch: str = "handoff"

    def read(self) -> Artifact | None:
        """The record, or ``None`` if there is no such branch; raises StoreError as the JSON store."""
        commit = self._commit()
        return None if commit is None else self._at(commit)

    def write(self, artifact: Artifact, expected: str | None, *, seen: Seen | None = None) -> str:
        """Commit the record, if the branch still holds the one that was read.

        Parameters, result and errors are those of :meth:`labkit.handoff.store.JsonStore.write`.
        """
        commit = self._commit()
        before = self._at(commit) if commit else None
        if (before.content_sha256 if before else None) != expected:
            raise Conflict(artifact, before, expected)
        artifact = checked(artifact, before, seen)
        if artifact == before:
            return artifact.content_sha256
        if self._try("symbolic-ref", "-q", "HEAD") == self._ref:
            raise StoreError(f"the branch {self.branch} is checked out: give another, or leave it first")
        blob = self._git("hash-object", "-w", "--stdin", text=artifact.to_json())
        tree = self._git("mktree", text=f"100644 blob {blob}\t{FILE}\n")
        parents = ["-p", commit] if commit else []
        made = self._git("commit-tree", tree, *parents, text=f"{artifact.goal or 'A record'}\n\n{artifact.status}\n")
        # Git moves the branch only if it still stands where it was read.
        if self._try("update-ref", self._ref, made, commit or NONE) is None:
            now = self.read()
            if now != before:
                raise Conflict(artifact, now, expected)
            # Nobody else moved it, so git says what is in the way: a folder that is read-only, or the lock of a
            # writer that was killed.
            self._git("update-ref", self._ref, made, commit or NONE)
        return artifact.content_sha256

    def history(self) -> tuple[Version, ...]:
        """What stood there before, oldest first; ``replaced`` is when its follower was committed."""
        if self._commit() is None:
            return ()
        log = self._git("log", "--first-parent", "--format=%H %ct", self._ref).splitlines()
        commits = [line.split(" ") for line in reversed(log)]
        return tuple(Version(float(after[1]), self._at(commit[0])) for commit, after in pairwise(commits))

    @property
    def _ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def _commit(self) -> str | None:
        self._git("rev-parse", "--git-dir")
        return self._try("rev-parse", "-q", "--verify", f"{self._ref}^{{commit}}")

    def _at(self, commit: str) -> Artifact:
        try:
            return Artifact.from_json(self._git("show", f"{commit}:{FILE}"))
        except StoreError:
            raise StoreError(f"the branch {self.branch} holds no {FILE}: it is another's, give another name") from None
        except InputError as error:
            raise StoreError(f"{FILE} on the branch {self.branch}: {error}") from None

    def _try(self, *args: str) -> str | None:
        """What git prints, or ``None`` where it fails."""
        done = self._run(args)
        return None if done.returncode else done.stdout.rstrip("\n")

    def _git(self, *args: str, text: str | None = None) -> str:
        done = self._run(args, text)
        if done.returncode:
            said = " ".join(done.stderr.split()) or f"status {done.returncode}"
            raise StoreError(f"git {args[0]} in {self.repository}: {said[:400]}")
        return done.stdout.rstrip("\n")

    def _run(self, args: tuple[str, ...], text: str | None = None) -> subprocess.CompletedProcess[str]:
        who = {"GIT_AUTHOR_NAME": "labkit", "GIT_AUTHOR_EMAIL": "labkit@localhost"}
        who |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in who.items()}
        command = ["git", "-C", str(self.repository), *args]
        environment = {**os.environ, **who}
        try:
            return subprocess.run(
                command, input=text, capture_output=True, encoding="utf-8", check=False, env=environment
            )
        except OSError as error:
            raise StoreError(f"git cannot be run ({error}): install it, or use a JSON file") from None
