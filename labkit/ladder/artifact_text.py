"""The artifact as Markdown: what a fresh context starts from, and what people read; and read back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from labkit.errors import InputError
from labkit.ladder.artifact import Artifact
from labkit.ladder.entries import Carried, Completed, Decision, Invariant, Open
from labkit.ladder.evidence import Evidence

__all__ = ["parse", "render"]

TITLE = "# Handoff record (version 1)"
LEAD = (
    "An earlier context worked on this and is gone. What stands here is what is left of it; read again what you need."
)
HASH = "Content hash: "
# A further line of an entry. No line of our own begins with a blank, so this is unambiguous.
INDENT = "  "
SECTIONS = ("Goal", "Task", "Status", "Invariants", "Decisions", "Completed", "Open", "Artifacts", "Carried")
WHEN = r"(?: \(request (?P<request>\d+)\))?"
DECISION = re.compile(rf"(?P<id>D-\d+){WHEN}(?: supersedes (?P<supersedes>D-\d+))?: (?P<decision>.*)", re.S)
BECAUSE = re.compile(r"because: (?P<rationale>.*)", re.S)
DONE = re.compile(rf"DONE{WHEN}(?: opened (?P<opened>\d+))?: (?P<step>.*)", re.S)
EVIDENCE = re.compile(
    r"evidence: request (?P<request>\d+), (?P<tool>\S+)(?:, call (?P<call_id>\S+))?(?:, digest (?P<digest>[0-9a-f]+))?"
    r": (?P<args>.*)",
    re.S,
)
OPEN = re.compile(r"TODO: (?P<step>.*)", re.S)
SINCE = re.compile(r"since request (?P<request>\d+)")
BLOCKED = re.compile(r"blocked by: (?P<blocker>.*)", re.S)
INVARIANT = re.compile(r"(?:\(request (?P<request>\d+)\) )?must hold: (?P<text>.*)", re.S)
CARRIED = re.compile(rf"(?P<what>user|system|summary|notes|error){WHEN}: (?P<text>.*)", re.S)


def _when(request: int | None) -> str:
    return "" if request is None else f" (request {request})"


def render(artifact: Artifact) -> str:
    """The record as text.

    Parameters
    ----------
    artifact : Artifact

    Returns
    -------
    str
        Markdown. :func:`parse` reads it back, word for word.

    Examples
    --------
    >>> a = Artifact("Fix the rounding.", "Fix the rounding.", open=(Open("run the tests", request=46),))
    >>> print(render(a))
    # Handoff record (version 1)
    An earlier context worked on this and is gone. What stands here is what is left of it; read again what you need.
    Content hash: ...
    <BLANKLINE>
    ## Goal
    - Fix the rounding.
    <BLANKLINE>
    ## Status
    - in_progress
    <BLANKLINE>
    ## Open
    - TODO: run the tests
    - since request 46
    """
    lines = [TITLE, LEAD, HASH + artifact.content_sha256]
    for section, entries in zip(SECTIONS, _sections(artifact), strict=True):
        if entries:
            lines += ["", f"## {section}", *("- " + entry.replace("\n", "\n" + INDENT) for entry in entries)]
    return "\n".join(lines)


def _sections(a: Artifact) -> Iterator[list[str]]:
    yield [a.goal]
    yield [a.task] if a.task != a.goal else []
    yield [a.status]
    yield [
        f"(request {i.request}) must hold: {i.text}" if i.request is not None else f"must hold: {i.text}"
        for i in a.invariants
    ]
    decisions = []
    for d in a.decisions:
        over = f" supersedes {d.supersedes}" if d.supersedes else ""
        decisions.append(f"{d.id}{_when(d.request)}{over}: {d.decision}")
        decisions += [f"because: {d.rationale}"] if d.rationale else []
    yield decisions
    completed = []
    for c in a.completed:
        opened = "" if c.opened is None else f" opened {c.opened}"
        completed += [f"DONE{_when(c.request)}{opened}: {c.step}", _evidence(c.evidence)]
    yield completed
    todo = []
    for o in a.open:
        todo.append(f"TODO: {o.step}")
        todo += [] if o.request is None else [f"since request {o.request}"]
        todo += [] if o.blocker is None else [f"blocked by: {o.blocker}"]
    yield todo
    yield list(a.artifacts)
    yield [f"{c.what}{_when(c.request)}: {c.text}" for c in a.carried]


def _evidence(e: Evidence) -> str:
    call = f", call {e.call_id}" if e.call_id else ""
    seen = f", digest {e.digest}" if e.digest else ""
    return f"evidence: request {e.request}, {e.tool}{call}{seen}: {e.args}"


def parse(text: str) -> Artifact | None:
    """Read back what :func:`render` wrote.

    Returns
    -------
    Artifact or None
        ``None`` where the text is another's, or was changed: then the stated hash is not that of the content.
    """
    lines = text.split("\n")
    if lines[:2] != [TITLE, LEAD] or not lines[2:3] or not lines[2].startswith(HASH):
        return None
    found: dict[str, list[str]] = {}
    entries: list[str] = []
    for line in lines[3:]:
        if line.startswith("## "):
            entries = found.setdefault(line[3:], [])
        elif line.startswith("- "):
            entries.append(line[2:])
        elif line.startswith(INDENT) and entries:
            entries[-1] += "\n" + line[len(INDENT) :]
        elif line:
            return None
    try:
        artifact = _read(found)
    except (InputError, LookupError, StopIteration, ValueError):
        return None
    return artifact if artifact.content_sha256 == lines[2][len(HASH) :] else None


def _read(found: dict[str, list[str]]) -> Artifact:
    goal = found["Goal"][0]
    return Artifact(
        task=found.get("Task", [goal])[0],
        goal=goal,
        status=found["Status"][0],  # type: ignore[arg-type]  # the record checks it
        invariants=tuple(Invariant(**_fields(INVARIANT, e)) for e in found.get("Invariants", [])),
        decisions=tuple(Decision(**f) for f in _grouped(found.get("Decisions", []), DECISION, BECAUSE)),
        completed=tuple(_completed(found.get("Completed", []))),
        open=tuple(Open(**f) for f in _grouped(found.get("Open", []), OPEN, SINCE, BLOCKED)),
        artifacts=tuple(found.get("Artifacts", [])),
        carried=tuple(Carried(**_fields(CARRIED, e)) for e in found.get("Carried", [])),
    )


def _completed(entries: list[str]) -> Iterator[Completed]:
    for done, seen in zip(entries[::2], entries[1::2], strict=True):
        yield Completed(**_fields(DONE, done), evidence=Evidence(**_fields(EVIDENCE, seen)))


def _grouped(entries: list[str], first: re.Pattern[str], *more: re.Pattern[str]) -> list[dict[str, Any]]:
    """Entries that begin something, each with the entries that say more about it."""
    groups: list[dict[str, Any]] = []
    for entry in entries:
        if first.fullmatch(entry):
            groups.append(_fields(first, entry))
        else:
            groups[-1].update(next(_fields(p, entry) for p in more if p.fullmatch(entry)))
    return groups


def _fields(pattern: re.Pattern[str], entry: str) -> dict[str, Any]:
    match = pattern.fullmatch(entry)
    if match is None:
        raise ValueError(entry)
    named = {name: value for name, value in match.groupdict().items() if value is not None}
    return {name: int(value) if name in ("request", "opened") else value for name, value in named.items()}
