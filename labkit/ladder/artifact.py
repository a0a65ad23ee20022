"""The artifact: the record that a fresh context starts from, its content hash, and the rules of evidence.

The fields are those of the handoff article; ``carried`` is added, for words that must survive as they were
said. A step is completed only with evidence: a tool result that exists in the Trace. The digest of its text
is part of the evidence, so the result counts as well when a policy has cleared it from the context since.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from labkit.errors import InputError
from labkit.ladder.entries import Carried, Completed, Decision, Invariant, Open
from labkit.ladder.evidence import Evidence, digest, evidence_of, find_evidence
from labkit.record.trace import Block, Trace

__all__ = [
    "VERSION",
    "Artifact",
    "Carried",
    "Completed",
    "Decision",
    "Evidence",
    "Invariant",
    "Open",
    "Status",
    "check_evidence",
    "digest",
    "evidence_of",
    "find_evidence",
    "ground",
    "json_schema",
]

VERSION = 1
"""Version of the schema; a file of another version is refused and not guessed at."""

Status = Literal["in_progress", "blocked", "done"]
ID = re.compile(r"D-\d{2,9}")


_NAMES = {"decisions": Decision, "completed": Completed, "open": Open, "invariants": Invariant, "carried": Carried}


@dataclass(frozen=True)
class Artifact:
    """The record on disk that outlives the context.

    Parameters
    ----------
    task : str
        What was asked, word for word.
    goal : str
        The one line that a fresh session must honour.
    status : {"in_progress", "blocked", "done"}
        ``done`` only where nothing is open. :func:`extract` never says it: lists that are empty do
        not prove that the work is over.
    decisions : tuple of Decision
        Oldest first. One that supersedes another stands after it.
    completed : tuple of Completed
    open : tuple of Open
    invariants : tuple of Invariant
    artifacts : tuple of str
        Paths, commits, branches: what lasts.
    carried : tuple of Carried
        What must survive as it was said.
    version : int
        Of this schema.

    Raises
    ------
    InputError
        If a step has no evidence, a decision supersedes none that stands before it, or one that was
        superseded already, or a text is empty or cannot be stored.

    Examples
    --------
    >>> seen = Evidence(16, "run_tests", "tests", digest=digest("3 passed"))
    >>> a = Artifact("Fix it.", "Fix it.", completed=(Completed("add a test", seen),))
    >>> a.content_sha256 == Artifact.from_json(a.to_json()).content_sha256
    True
    >>> Artifact("Fix it.", "Fix it.", completed=(Completed("add a test", None),))
    Traceback (most recent call last):
    ...
    labkit.errors.InputError: the completed step 'add a test' has no evidence: name the tool result that shows it
    """

    task: str
    goal: str
    status: Status = "in_progress"
    decisions: tuple[Decision, ...] = ()
    completed: tuple[Completed, ...] = ()
    open: tuple[Open, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    artifacts: tuple[str, ...] = ()
    carried: tuple[Carried, ...] = ()
    version: int = VERSION

    def __post_init__(self) -> None:
        for name, kind in {**_NAMES, "artifacts": str}.items():
            entries = tuple(getattr(self, name))
            object.__setattr__(self, name, entries)
            for entry in entries:
                if not isinstance(entry, kind):
                    raise InputError(f"{name} has {entry!r}: give {kind.__name__} values")
                if not _words(entry):
                    raise InputError(f"{name} has an entry without words: leave it out")
        if self.version != VERSION:
            raise InputError(f"the record has version {self.version!r}, this labkit knows {VERSION}: update labkit")
        if self.status not in get_args(Status):
            raise InputError(f"status is {self.status!r}: give {' or '.join(map(repr, get_args(Status)))}")
        if self.status == "done" and self.open:
            raise InputError(f"status is 'done', and {self.open[0].step!r} is open: complete it, or give 'in_progress'")
        for step in self.completed:
            if not isinstance(step.evidence, Evidence):
                raise InputError(
                    f"the completed step {step.step!r} has no evidence: name the tool result that shows it"
                )
        self._check_chains()
        try:
            self.canonical()
        except UnicodeEncodeError:
            raise InputError("a text has half a character (a lone surrogate): it cannot be stored as UTF-8") from None

    def _check_chains(self) -> None:
        seen: dict[str, str | None] = {}  # decision to the one that superseded it
        for d in self.decisions:
            if not ID.fullmatch(d.id) or d.id in seen:
                raise InputError(f"a decision has the id {d.id!r}: give D-01, D-02 and so on, each once")
            old = d.supersedes
            if old is not None and old not in seen:
                raise InputError(f"{d.id} supersedes {old}: give a decision that stands before it")
            if old is not None and seen[old] is not None:
                raise InputError(
                    f"{d.id} supersedes {old}, which {seen[old]} superseded already: let it supersede {seen[old]}"
                )
            if old is not None:
                seen[old] = d.id
            seen[d.id] = None

    @property
    def standing(self) -> tuple[Decision, ...]:
        """The decisions that none has superseded."""
        gone = {d.supersedes for d in self.decisions}
        return tuple(d for d in self.decisions if d.id not in gone)

    def canonical(self) -> bytes:
        """What the content hash is taken of: JSON with sorted keys, no blanks, in UTF-8."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")

    @cached_property
    def content_sha256(self) -> str:
        """SHA-256 of :meth:`canonical`, in hexadecimal: equal records have equal hashes."""
        return hashlib.sha256(self.canonical()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, with the hash last."""
        return {**asdict(self), "content_sha256": self.content_sha256}

    def to_json(self) -> str:
        """The record as a file holds it: JSON for people and for git, one line end at the end."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Artifact:
        """Read parsed JSON.

        Raises
        ------
        InputError
            If it is of another version, something is missing or too much, or the hash is not that of
            the content: then it is torn, or was changed by hand.
        """
        from pydantic import ValidationError  # here, so that import labkit stays light

        values = dict(values)
        version = values.get("version")
        if version != VERSION:
            named = f"version {version!r}" if "version" in values else "no version"
            raise InputError(f"the record has {named}, this labkit knows version {VERSION}: give a record it wrote")
        stated = values.pop("content_sha256", None)
        for name in sorted(set(values) - {f.name for f in fields(cls)}):
            raise InputError(f"the record has an unknown field {name!r}: give a record that labkit wrote")
        try:
            artifact: Artifact = _adapter().validate_python(values)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the record"
            raise InputError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None
        if stated != artifact.content_sha256:
            raise InputError(
                f"the record says its hash is {str(stated)[:12]}, its content has {artifact.content_sha256[:12]}: "
                "it was changed by hand or is damaged; restore it from its history"
            )
        return artifact

    @classmethod
    def from_json(cls, text: str) -> Artifact:
        """Read what :meth:`to_json` wrote; raises InputError as :meth:`from_dict`."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"the record is not JSON ({error}): it is torn, or another program's file") from None
        if not isinstance(values, dict):
            raise InputError("the record is no JSON object: give a file that labkit wrote")
        return cls.from_dict(values)


@lru_cache(maxsize=1)
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Artifact)


def _words(entry: object) -> object:
    """What an entry says: a path itself, a decision's decision, a step, a text."""
    return next((w for n in ("decision", "step", "text") if (w := getattr(entry, n, None)) is not None), entry)


def json_schema() -> dict[str, Any]:
    """JSON Schema of a record, for other programs and for a model's tool.

    Examples
    --------
    >>> sorted(json_schema()["required"])
    ['content_sha256', 'goal', 'task', 'version']
    """
    schema = _adapter().json_schema()
    schema["properties"]["version"] = {"const": VERSION, "title": "Version"}
    schema["properties"]["content_sha256"] = {"pattern": "^[0-9a-f]{64}$", "title": "Content Sha256", "type": "string"}
    schema["required"] = [*schema["required"], "version", "content_sha256"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "additionalProperties": False}


def ground(artifact: Artifact, trace: Trace | Sequence[Block], known: Sequence[Completed] = ()) -> Artifact:
    """The same record with every piece of evidence found in the Trace, and its digest filled in.

    Parameters
    ----------
    artifact : Artifact
    trace : Trace or sequence of Block
        What really happened.
    known : sequence of Completed
        Steps whose evidence was found before, perhaps in the Trace of an earlier session.

    Raises
    ------
    InputError
        If evidence does not exist, with the step that claims it.

    Examples
    --------
    >>> made_up = Completed("run the tests", Evidence(9, "run_tests", digest=digest("all passed")))
    >>> ground(Artifact("Fix it.", "Fix it.", completed=(made_up,)), [])
    Traceback (most recent call last):
    ...
    labkit.errors.InputError: 'run the tests' names run_tests() at request 9, and there is no such result...
    """
    blocks = trace.blocks if isinstance(trace, Trace) else trace
    found = []
    for step in artifact.completed:
        if step in known:
            found.append(step)
            continue
        at = find_evidence(step.evidence, blocks)
        if at is None:
            raise InputError(
                f"{step.step!r} names {step.evidence}, and there is no such result in the record of the run: "
                "name a result that exists, or leave the step open"
            )
        found.append(replace(step, evidence=evidence_of(blocks[at])) if step.evidence.digest is None else step)
    return artifact if tuple(found) == artifact.completed else replace(artifact, completed=tuple(found))


def check_evidence(artifact: Artifact, trace: Trace | Sequence[Block]) -> tuple[str, ...]:
    """The completed steps whose evidence does not exist; empty where all of it does."""
    blocks = trace.blocks if isinstance(trace, Trace) else trace
    return tuple(c.step for c in artifact.completed if find_evidence(c.evidence, blocks) is None)
