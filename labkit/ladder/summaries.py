"""Summarizers: a deterministic one that extracts, and in ``llm_summary`` one that asks a model.

The extractive summarizer relies on a convention the system prompt asks for: the agent writes its
decisions and its open work on lines that begin with ``DECISION:``, ``TODO:`` and ``DONE:``. It also
keeps the task, every later instruction, the errors that tools returned and the files they touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from labkit.errors import InputError
from labkit.ladder.rungs import Summary, errors_in
from labkit.record.trace import Block, Usage

__all__ = ["ExtractiveSummarizer", "SizedSummarizer"]

HEADER = "Summary of turns 1 to {}. Older tool output was dropped; re-read what you need."
OURS = re.compile(re.escape(HEADER).replace(r"\{\}", r"(\d{1,9})") + "$")
SAID = re.compile(r"^(DECISION|TODO|DONE): (.+)$", re.M)
SEEN = re.compile(r"^(.*) \(last seen turn (\d+)\)$", re.S)
CAPPED = "{} errors, {} files, the oldest, beyond what a summary keeps"
LOST = re.compile(re.escape(CAPPED).replace(r"\{\}", r"(\d{1,9})") + "$")
# Arguments can be a megabyte without a blank. So each expression starts only where a word does, and a
# path is matched once a word: from its start, or nowhere in it.
URL = re.compile(r"\b\w+://\S+")
WORD = re.compile(r"[\w.@~/-]+")
PATH = re.compile(r"(?:[\w.@~-]*/)+[\w.@-]*\.[A-Za-z]\w*")
# A further line of an entry. Lines of our own never begin with a blank, so this is unambiguous.
INDENT = "  "
NOTES = "Current notes:"


@dataclass
class _Record:
    """What has been extracted so far. The dicts are ordered by recency, oldest first."""

    turn: int = 0
    task: str = ""
    earlier: list[str] = field(default_factory=list)
    system: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    todos: dict[str, None] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    lost_errors: int = 0
    lost_files: int = 0


def _touch(entries: dict[str, int] | dict[str, str], key: str, value: int | str) -> None:
    entries.pop(key, None)
    entries[key] = value  # type: ignore[assignment]


@dataclass(frozen=True)
class ExtractiveSummarizer:
    """Keeps, word for word, what later turns tend to need; the same input always gives the same summary.

    Parameters
    ----------
    max_errors, max_files : int
        The newest that are kept. What a cap leaves out is counted in the summary's own text and named
        in ``Summary.dropped``.
    reads_back : {"entries", "lines"}
        ``lines`` reads an earlier summary line by line, as simple programs do: of an entry with several
        lines only the first is found again. It is here to show what that costs.

    Notes
    -----
    Summarizing a summary gives the same summary: every entry is read back as it was written, entries
    of several lines included. A summary in a form this class does not know is kept whole.

    Examples
    --------
    >>> blocks = [Block("text", "user", "Fix the rounding.\\nKeep USD as it is.", request=1)]
    >>> summary = ExtractiveSummarizer().summarize(blocks, "")
    >>> print(summary.text)
    Summary of turns 1 to 1. Older tool output was dropped; re-read what you need.
    TASK: Fix the rounding.
      Keep USD as it is.
    <BLANKLINE>
    Current notes:
    (empty)
    """

    max_errors: int = 20
    max_files: int = 40
    reads_back: Literal["entries", "lines"] = "entries"

    def summarize(self, blocks: Sequence[Block], notes: str) -> Summary:
        """Summarize blocks, an earlier summary perhaps among them.

        Parameters
        ----------
        blocks : sequence of Block
        notes : str
            Text of the notes file; the summary ends with it.

        Returns
        -------
        Summary
            Without usage: no model is called.
        """
        record = _Record()
        for block in blocks:
            record.turn = max(record.turn, block.turn)
            if block.kind == "summary":
                self._read_back(block, record)
            elif block.role == "user" and block.kind in ("text", "image"):
                if record.task:
                    record.users.append(f"(turn {block.turn}) {block.text}")
                else:
                    record.task = block.text
            elif block.role == "system":
                record.system.append(f"(turn {block.turn}) {block.text}")
            elif block.role == "assistant" and block.kind in ("text", "call"):
                self._said(block, record)
            elif block.kind == "result":
                self._returned(block, record)
        return self._write(record, notes)

    def _said(self, block: Block, record: _Record) -> None:
        for kind, text in SAID.findall(block.text):
            if kind == "DECISION":
                record.decisions.append(f"(turn {block.turn}) {text}")
            elif kind == "TODO":
                record.todos[text] = None
            else:
                record.todos.pop(text, None)

    def _returned(self, block: Block, record: _Record) -> None:
        for error in errors_in(block.text):
            _touch(record.errors, error, block.turn)
        for path in _paths(block.args or ""):
            _touch(record.files, path, f"{path}, last {block.tool or 'used'} at turn {block.turn}")

    def _read_back(self, block: Block, record: _Record) -> None:
        turn, entries = _parse(block.text)
        if entries is not None and self.reads_back == "lines":
            entries = [(kind, text.split("\n")[0]) for kind, text in entries]
        if entries is None:
            record.earlier.append(block.text)
            return
        record.turn = max(record.turn, turn)
        for kind, text in entries:
            if kind == "TASK":
                if record.task and text:
                    record.users.append(text)  # two histories met: the first task stays the task
                record.task = record.task or text
            elif kind == "EARLIER":
                record.earlier.append(text)
            elif kind == "SYSTEM":
                record.system.append(text)
            elif kind == "USER":
                record.users.append(text)
            elif kind == "DECISION":
                record.decisions.append(text)
            elif kind == "TODO":
                record.todos[text] = None
            elif kind == "ERROR":
                seen = SEEN.match(text)
                _touch(record.errors, seen.group(1) if seen else text, int(seen.group(2)) if seen else block.turn)
            elif kind == "FILE":
                _touch(record.files, text.split(", last ", 1)[0], text)
            elif lost := LOST.match(text):
                record.lost_errors += int(lost.group(1))
                record.lost_files += int(lost.group(2))

    def _write(self, record: _Record, notes: str) -> Summary:
        errors = [f"{e} (last seen turn {t})" for e, t in record.errors.items()]
        files = list(record.files.values())
        lost_errors = errors[: max(len(errors) - self.max_errors, 0)]
        lost_files = files[: max(len(files) - self.max_files, 0)]
        entries = [("TASK", record.task)]
        entries += [("EARLIER", text) for text in record.earlier]
        entries += [("SYSTEM", text) for text in record.system]
        entries += [("USER", text) for text in record.users]
        entries += [("DECISION", text) for text in record.decisions]
        entries += [("TODO", text) for text in record.todos]
        entries += [("ERROR", text) for text in errors[len(lost_errors) :]]
        entries += [("FILE", text) for text in files[len(lost_files) :]]
        few, many = record.lost_errors + len(lost_errors), record.lost_files + len(lost_files)
        if few or many:
            entries.append(("DROPPED", CAPPED.format(few, many)))
        header = HEADER.format(record.turn)
        body = [f"{kind}: " + text.replace("\n", "\n" + INDENT) for kind, text in entries]
        text = "\n".join([header, *body, "", NOTES, notes or "(empty)"])
        return Summary(text, tuple([f"ERROR: {e}" for e in lost_errors] + [f"FILE: {f}" for f in lost_files]))


def _paths(args: str) -> Iterator[str]:
    """The files named in arguments.

    Examples
    --------
    >>> list(_paths("src/a.py, ./b.txt: see https://example.org/c.html and README.md"))
    ['src/a.py', './b.txt']
    """
    for word in WORD.findall(URL.sub(" ", args)):
        path = PATH.match(word)
        if path:
            yield path.group(0)


@dataclass(frozen=True)
class SizedSummarizer:
    """A size in the place of a summary: what a summary of this size would do to the bill. It says nothing.

    Parameters
    ----------
    tokens : int
        Tokens that every summary has.
    share : float
        Share of what is summarized that is added to them, 0 to 1.
    call : {"warm", "cold", "free"}
        How its own call is billed: it reads what it summarizes from the cache, or sends it uncached because
        the call changes the prompt's beginning, or is no model call. The summary is output.

    Examples
    --------
    >>> summary = SizedSummarizer(1_500, 0.02).of_size(100_000)
    >>> summary.tokens, summary.usage.cache_read, summary.usage.output
    (3500, 100000, 3500)
    """

    tokens: int = 1_500
    share: float = 0.0
    call: Literal["warm", "cold", "free"] = "warm"

    def __post_init__(self) -> None:
        if self.tokens < 0 or not 0 <= self.share <= 1:
            raise InputError(
                f"tokens is {self.tokens} and share is {self.share}: give 0 tokens or more, and a share of 0 to 1"
            )
        if self.call not in ("warm", "cold", "free"):
            raise InputError(f"call is {self.call!r}: give 'warm', 'cold' or 'free'")

    def of_size(self, weight: int) -> Summary:
        """The summary of so many tokens."""
        tokens = self.tokens + int(weight * self.share)
        usage = Usage(
            uncached=weight if self.call == "cold" else 0,
            cache_read=weight if self.call == "warm" else 0,
            output=tokens,
        )
        text = f"[a summary of {tokens:,} tokens: only its size is modelled]"
        return Summary(text, usage=None if self.call == "free" else usage, tokens=tokens)

    def summarize(self, blocks: Sequence[Block], notes: str) -> Summary:
        """As every summarizer; without sizes it knows only its fixed part."""
        return self.of_size(0)


KINDS = ("TASK", "EARLIER", "SYSTEM", "USER", "DECISION", "TODO", "ERROR", "FILE", "DROPPED")


def _parse(text: str) -> tuple[int, list[tuple[str, str]] | None]:
    """Turn and entries of a summary of ours; no entries at all if any line of it is somebody else's."""
    header, *lines = text.split("\n")
    ours = OURS.match(header)
    end = next((i for i, line in enumerate(lines) if line == ""), None)
    if not ours or end is None or lines[end + 1 : end + 2] != [NOTES]:
        return 0, None
    entries: list[tuple[str, list[str]]] = []
    for line in lines[:end]:
        kind, colon, rest = line.partition(": ")
        if line.startswith(INDENT) and entries:
            entries[-1][1].append(line[len(INDENT) :])
        elif colon and kind in KINDS:
            entries.append((kind, [rest]))
        else:
            return 0, None
    return int(ours.group(1)), [(kind, "\n".join(parts)) for kind, parts in entries]
