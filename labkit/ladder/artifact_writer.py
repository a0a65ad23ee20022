"""Building an artifact from blocks without a model: the same blocks always give the same record.

It relies on what agents are told to write, lines that begin with ``DECISION:``, ``TODO:``, ``DONE:`` and
``INVARIANT:``, and on the calls by which they keep lists of steps. It reads back what an earlier hand off
or an extractive summary says, so that a second hand off loses no more than the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from labkit.ladder.artifact import Artifact
from labkit.ladder.artifact_text import parse, render
from labkit.ladder.entries import Carried, Completed, Decision, Invariant, Open
from labkit.ladder.evict import file_use
from labkit.ladder.evidence import evidence_of
from labkit.ladder.plans import Plans, is_look
from labkit.ladder.rungs import Summary, errors_in
from labkit.ladder.summaries import _parse as entries_of_summary
from labkit.record.trace import Block

__all__ = ["ArtifactWriter", "extract"]

SAID = re.compile(r"^(DECISION|TODO|DONE|INVARIANT): (.+)$", re.M)
BECAUSE = re.compile(r"(?:, | )because (?=\S)")
REPLACES = re.compile(r"\b(?:supersedes|replaces) (?:(D-\d{2,9})|the decision of turn (\d{1,9}))")
BLOCKED = re.compile(r" \(blocked by (.+)\)$")
TURN = re.compile(r"\(turn (\d{1,9})\) ")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
BINDING = re.compile(r"\b(must|never|always|do not|don't|may not|should not|keep|unchanged|only|without)\b", re.I)
COMMIT = re.compile(r"^\[([\w./-]+)(?: \([\w-]+\))? ([0-9a-f]{7,40})\] ", re.M)
BRANCH = re.compile(r"^Switched to a new branch '([^'\n]+)'", re.M)
LONG = 2_000  # characters; a text that long is material that was pasted, its sentences are no constraints
GOAL = 300  # characters of the one line
NOTHING_SEEN = "said to be done, and no tool result shows it"
FAILED = "said to be done, and the result is an error: "
WAITING = "said to be done with a call whose result is not here"


@dataclass
class _Record:
    """What has been found so far."""

    task: str = ""
    goal: str = ""
    decisions: list[Decision] = field(default_factory=list)
    completed: dict[str, Completed] = field(default_factory=dict)
    open: dict[str, Open] = field(default_factory=dict)
    invariants: dict[str, Invariant] = field(default_factory=dict)
    artifacts: dict[str, None] = field(default_factory=dict)
    carried: list[Carried] = field(default_factory=list)
    errors: dict[str, Carried] = field(default_factory=dict)
    last: Block | None = None  # the newest result that shows something about the work
    claims: dict[str | None, list[str]] = field(default_factory=dict)  # by the call they were said with
    plans: Plans = field(default_factory=Plans)

    def done(self, step: str, request: int) -> None:
        """The newest result shows it, or nothing does."""
        opened = self.open.pop(step, None)
        if step in self.completed:
            return
        since = opened.request if opened else None
        if self.last is None:
            self.open[step] = Open(step, NOTHING_SEEN, since or request)
        elif error := next(errors_in(self.last.text), None):
            self.open[step] = Open(step, FAILED + error, since or request)
        else:
            self.completed[step] = Completed(step, evidence_of(self.last), request, since)

    def claim(self, step: str, call: Block) -> None:
        """The result of the call it was said with will show it."""
        if step not in self.completed:
            opened = self.open.get(step)
            self.open[step] = Open(step, WAITING, opened.request if opened else call.request)
            self.claims.setdefault(call.call_id, []).append(step)

    def todo(self, step: str, request: int | None) -> None:
        blocked = BLOCKED.search(step)
        step = step[: blocked.start()] if blocked else step
        before = self.open.get(step)
        blocker = blocked[1] if blocked else before.blocker if before else None
        self.completed.pop(step, None)  # it was taken up again
        self.open[step] = Open(step, blocker, before.request if before else request)

    def decide(self, text: str, request: int | None) -> None:
        because = BECAUSE.search(text)
        what, why = (text[: because.start()], text[because.end() :]) if because else (text, "")
        if not what or any(d.decision == what and d.rationale == why for d in self.decisions):
            return
        number = f"D-{len(self.decisions) + 1:02}"
        self.decisions.append(Decision(number, what, why, self._overturned(text), request))

    def _overturned(self, text: str) -> str | None:
        named = REPLACES.search(text)
        if not named:
            return None
        gone = {d.supersedes for d in self.decisions}
        turn = int(named[2]) + 1 if named[2] else None
        found = (d.id for d in self.decisions if d.id not in gone and (d.id == named[1] or d.request == turn))
        return next(found, None) if turn or named[1] else None

    def binds(self, text: str, request: int | None) -> None:
        if len(text) <= LONG:
            for sentence in filter(None, map(str.strip, SENTENCE.split(text))):
                if BINDING.search(sentence):
                    self.invariants.setdefault(sentence, Invariant(sentence, request))


def extract(blocks: Sequence[Block], notes: str = "", *, errors: int = 0) -> Artifact:
    """Build the record from blocks, word for word and without a model.

    Parameters
    ----------
    blocks : sequence of Block
        A Trace's, or those of a context; an earlier record or summary perhaps among them.
    notes : str
        Text of the notes file, which is carried.
    errors : int
        Newest error messages carried. The article's schema has no place for them.

    Returns
    -------
    Artifact
        A step that was said to be done is completed if a result shows it that is no error: the result of
        the call it was said with, else the newest one before; that is its evidence. Else the step is open,
        and its blocker says why. The first
        text of a user is the task; later ones are carried; their sentences that bind (*must*, *never*,
        *keep* and so on, in texts up to 2,000 characters) are invariants as well.

    Examples
    --------
    >>> blocks = [
    ...     Block("text", "user", "Fix the total. Keep USD unchanged.", request=1),
    ...     Block("call", "assistant", "TODO: add a test\\nedit_file(a.py)", request=2, tool="edit_file", args="a.py"),
    ...     Block("result", "tool", "ok", request=2, tool="edit_file", args="a.py"),
    ...     Block("text", "assistant", "DECISION: round once, because lines add up\\nDONE: add a test", request=3),
    ... ]
    >>> a = extract(blocks)
    >>> a.decisions[0].rationale, str(a.completed[0].evidence), a.artifacts, a.invariants[0].text
    ('lines add up', 'edit_file(a.py) at request 2', ('a.py',), 'Keep USD unchanged.')
    """
    record = _Record()
    for block in blocks:
        if block.kind == "summary":
            _read_back(block, record)
        elif block.role in ("user", "system") and block.kind == "text":
            _asked(block, record)
        elif block.role == "assistant" and block.kind in ("text", "call"):
            _said(block, record)
        elif block.kind == "result":
            _returned(block, record)
    return _artifact(record, notes, errors)


def _asked(block: Block, record: _Record) -> None:
    if not block.text.strip():
        return
    if block.role == "user" and not record.task:
        record.task = block.text
        lines = [line.strip() for line in block.text.splitlines() if line.strip()]
        goal = next((line for line in lines if not line.startswith("<")), lines[0])
        record.goal = goal if len(goal) <= GOAL else goal[: GOAL - 3] + "..."
    else:
        record.carried.append(Carried("user" if block.role == "user" else "system", block.text, block.request))
    record.binds(block.text, block.request)


def _said(block: Block, record: _Record) -> None:
    for kind, text in SAID.findall(block.text):
        if kind == "DECISION":
            record.decide(text, block.request)
        elif kind == "TODO":
            record.todo(text, block.request)
        elif kind == "DONE" and block.kind == "call" and not is_look(block.tool):
            record.claim(text, block)
        elif kind == "DONE":
            record.done(text, block.request)
        else:
            record.invariants.setdefault(text, Invariant(text, block.request))
    if block.kind == "call":
        for state, step in record.plans.called(block):
            if state == "done":
                record.done(step, block.request)
            elif state == "gone":
                record.open.pop(step, None)
            elif step not in record.open:
                record.todo(step, block.request)


def _returned(block: Block, record: _Record) -> None:
    record.plans.returned(block)
    if is_look(block.tool):
        return
    record.last = block
    for step in record.claims.pop(block.call_id, []):
        record.done(step, block.request)
    use = file_use(block.tool, block.args)
    failed = next(errors_in(block.text), None)
    if use is not None and use.does == "change" and failed is None:
        record.artifacts.setdefault(use.path)
    for branch in BRANCH.findall(block.text):
        record.artifacts.setdefault(f"branch {branch}")
    for branch, commit in COMMIT.findall(block.text):
        record.artifacts.setdefault(f"commit {commit} on {branch}")
    if failed is not None:
        record.errors.pop(failed, None)
        record.errors[failed] = Carried("error", failed, block.request)


def _read_back(block: Block, record: _Record) -> None:
    """Take up an earlier record or an extractive summary; another's summary is carried whole."""
    earlier = parse(block.text)
    if earlier is not None:
        record.task, record.goal = record.task or earlier.task, record.goal or earlier.goal
        record.decisions += earlier.decisions if not record.decisions else ()
        record.completed |= {c.step: c for c in earlier.completed}
        record.open |= {o.step: o for o in earlier.open}
        record.invariants |= {i.text: i for i in earlier.invariants}
        record.artifacts |= dict.fromkeys(earlier.artifacts)
        record.errors |= {c.text: c for c in earlier.carried if c.what == "error"}
        record.carried += [c for c in earlier.carried if c.what not in ("error", "notes")]
        return
    entries = entries_of_summary(block.text)[1]
    if entries is None:
        record.carried.append(Carried("summary", block.text, block.request))
        return
    for kind, text in entries:
        turn = TURN.match(text)
        said = text[turn.end() :] if turn else text
        request = int(turn[1]) + (kind == "DECISION") if turn else None
        if kind == "TASK" and text:
            _asked(replace(block, kind="text", role="user", text=text, request=1), record)
        elif kind in ("USER", "SYSTEM"):
            record.carried.append(Carried("user" if kind == "USER" else "system", said, request))
            record.binds(said, request)
        elif kind == "DECISION":
            record.decide(said, request)
        elif kind == "TODO":
            record.todo(text, None)
        elif kind == "EARLIER":
            record.carried.append(Carried("summary", text))
        elif kind == "ERROR":
            record.errors[text] = Carried("error", text)


def _artifact(record: _Record, notes: str, errors: int) -> Artifact:
    carried: list[Carried] = [c for c in record.carried if c.text]
    carried += list(record.errors.values())[-errors:] if errors else []
    carried += [Carried("notes", notes.rstrip("\n"))] if notes.strip() else []
    blocked = bool(record.open) and all(o.blocker for o in record.open.values())
    return Artifact(
        task=_clean(record.task),
        goal=_clean(record.goal),
        status="blocked" if blocked else "in_progress",
        decisions=tuple(
            replace(d, decision=_clean(d.decision), rationale=_clean(d.rationale)) for d in record.decisions
        ),
        completed=tuple(replace(c, step=_clean(c.step)) for c in record.completed.values()),
        open=tuple(
            replace(o, step=_clean(o.step), blocker=o.blocker and _clean(o.blocker)) for o in record.open.values()
        ),
        invariants=tuple(replace(i, text=_clean(i.text)) for i in record.invariants.values()),
        artifacts=tuple(map(_clean, record.artifacts)),
        carried=tuple(replace(c, text=_clean(c.text)) for c in carried),
    )


def _clean(text: str) -> str:
    """Half a character becomes a question mark: a record is stored as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True)
class ArtifactWriter:
    """Writes the record of a hand off, in the place of a summarizer; see :func:`extract`.

    Parameters
    ----------
    errors : int
        Newest error messages carried.
    """

    errors: int = 0

    def summarize(self, blocks: Sequence[Block], notes: str) -> Summary:
        """The rendered record of the blocks that are left behind."""
        return Summary(render(extract(blocks, notes, errors=self.errors)))
