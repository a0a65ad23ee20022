"""What becomes of each fact when a run is summarized again and again: in sight, in the notes only, or lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from labkit.errors import InputError
from labkit.ladder.notes import notes_of
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summarizer, compact
from labkit.ladder.summaries import NOTES, ExtractiveSummarizer
from labkit.record.trace import Block, Fact, Trace

__all__ = ["Memory", "State", "remember"]

State = Literal["unsaid", "visible", "notes", "lost"]


@dataclass(frozen=True)
class Memory:
    """Each fact of a run, request by request.

    Parameters
    ----------
    facts : tuple of Fact
    states : tuple of tuple of {"unsaid", "visible", "notes", "lost"}
        For each fact a state at each request: not said yet; in the prompt; only in the notes, whether in
        their file or where a summary repeats them; nowhere.
    compactions : tuple of int
        Requests before which the history was summarized.
    """

    facts: tuple[Fact, ...]
    states: tuple[tuple[State, ...], ...]
    compactions: tuple[int, ...]

    def lost_at(self, fact: int) -> int | None:
        """The request from which on a fact is nowhere for good; ``None`` if it is somewhere at the end."""
        states = self.states[fact]
        if not states or states[-1] != "lost":
            return None
        at = len(states)
        while at > 1 and states[at - 2] == "lost":
            at -= 1
        return at

    @property
    def left(self) -> tuple[int, int, int]:
        """Facts in sight, in the notes only, and lost, at the last request."""
        last = [states[-1] for states in self.states if states]
        return last.count("visible"), last.count("notes"), last.count("lost")


def remember(
    trace: Trace,
    compactions: int,
    summarizer: Summarizer | None = None,
    *,
    keep_recent: int = 6,
    notes: bool = True,
) -> Memory:
    """Summarize a run so many times, at even distances, and follow its facts.

    Parameters
    ----------
    trace : Trace
        With facts.
    compactions : int
    summarizer : Summarizer, optional
        Default: the extractive one.
    keep_recent : int
        Messages left word for word.
    notes : bool
        Whether the agent keeps notes; without them the tools' entries count for nothing.

    Returns
    -------
    Memory

    Raises
    ------
    InputError
        If the trace lists no facts, or there are not so many requests.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> run = load(data_path("traces", "support-40.jsonl"))
    >>> remember(run, 2).left, remember(run, 2, ExtractiveSummarizer(reads_back="lines")).left
    ((10, 0, 0), (9, 0, 1))
    """
    if not trace.facts:
        raise InputError(f"{trace.name} lists no facts: give a scripted run")
    if not 0 <= compactions < len(trace.requests):
        raise InputError(
            f"compactions is {compactions}: the run has {len(trace.requests)} requests, so give 0 to "
            f"{len(trace.requests) - 1}"
        )
    policy = Policy(window=None, floor=0, keep_recent=keep_recent)
    chosen = {round((k + 1) * len(trace.requests) / (compactions + 1)) for k in range(compactions)}
    writer = summarizer or ExtractiveSummarizer()
    blocks: list[Block] = []
    said: set[int] = set()
    states: list[list[State]] = [[] for _ in trace.facts]
    made = []
    written = ""
    for request, new in trace.new_blocks():
        blocks += [trace.blocks[i] for i in new]
        if notes and any(trace.blocks[i].tool in ("notes_write", "notes_rewrite") for i in new):
            written = notes_of(trace.blocks[: new.stop])
        if request.index in chosen:
            after = compact(blocks, policy, writer, written, len)
            made += [request.index] if after != blocks else []
            blocks = after
        shown = [_without_notes(block) for block in blocks]
        for k, fact in enumerate(trace.facts):
            states[k].append(_state(fact, shown, written, k in said))
            if states[k][-1] != "unsaid":
                said.add(k)
    return Memory(trace.facts, tuple(map(tuple, states)), tuple(made))


def _state(fact: Fact, shown: Sequence[str], written: str, said: bool) -> State:
    if any(fact.probe in text for text in shown):
        return "visible"
    if fact.probe in written:
        return "notes"
    return "lost" if said else "unsaid"


def _without_notes(block: Block) -> str:
    return block.text.split(f"\n{NOTES}\n")[0] if block.kind == "summary" else block.text
