"""Memory that the agent writes itself and that survives every compaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import InputError
from labkit.files import atomic_write
from labkit.record.tokens import get_counter
from labkit.record.trace import Block

__all__ = ["Notes", "NotesFile", "notes_of"]

# A further line of an entry. Titles and entries never begin with a blank, so this is unambiguous.
INDENT = "  "
# Where a line goes that a person wrote above the first section.
LOOSE = "Notes"


@dataclass(frozen=True)
class Notes:
    """Sections of entries, in the order in which they were opened.

    Parameters
    ----------
    sections : tuple of (str, tuple of str)
        Title and entries.

    Examples
    --------
    >>> print(Notes().write("Open", "run the tests\\nall of them").text, end="")
    ## Open
    - run the tests
      all of them
    """

    sections: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Notes:
        """Read notes back; what :attr:`text` wrote comes back as it was.

        A file that a person edited loses nothing either: a line in no known form becomes an entry,
        a section that is opened twice goes on.

        Examples
        --------
        >>> Notes.parse("buy milk\\n## Open\\n- run the tests\\n").sections
        (('Notes', ('buy milk',)), ('Open', ('run the tests',)))
        """
        kept: dict[str, list[list[str]]] = {}  # the lines of each entry of each section
        entries: list[list[str]] | None = None
        for line in text.split("\n"):
            if line.startswith("## "):
                entries = kept.setdefault(line[3:], [])
            elif line.startswith(INDENT) and entries:
                entries[-1].append(line[len(INDENT) :])
            elif line:
                entries = kept.setdefault(LOOSE, []) if entries is None else entries
                entries.append([line.removeprefix("- ")])
        return cls(tuple((title, tuple("\n".join(lines) for lines in items)) for title, items in kept.items()))

    def write(self, section: str, entry: str) -> Notes:
        """Append an entry to a section.

        Raises
        ------
        InputError
            If the title has several lines.
        """
        kept = dict(self.sections)
        kept[_title(section)] = (*kept.get(section, ()), entry)
        return Notes(tuple(kept.items()))

    def rewrite(self, section: str, entries: Iterable[str]) -> Notes:
        """Replace a section's entries; without entries the section goes."""
        kept = dict(self.sections)
        kept[_title(section)] = tuple(entries)
        return Notes(tuple((title, items) for title, items in kept.items() if items or title != section))

    @property
    def text(self) -> str:
        """The notes as Markdown; empty when there are none."""
        parts = [
            f"## {title}\n" + "".join("- " + entry.replace("\n", "\n" + INDENT) + "\n" for entry in entries)
            for title, entries in self.sections
        ]
        return "\n".join(parts)


def _title(section: str) -> str:
    if "\n" in section or "\r" in section:
        raise InputError(f"the section {section[:40]!r} has several lines: give a title of one line")
    return section


@dataclass(frozen=True)
class NotesFile:
    """A notes file with a limit: what an agent's notes tools call.

    Every method answers with the sentence that the tool returns to the model. A refusal begins with
    ``error`` and leaves the file as it was.

    Parameters
    ----------
    path : str or Path
        The file; its folder is made when missing. A lock file stands beside it, so several
        processes may write.
    max_tokens : int
        Notes that grow without a limit are a second history.
    count : callable, optional
        Tokens of a text; default the counter in use.

    Examples
    --------
    >>> import tempfile
    >>> notes = NotesFile(Path(tempfile.mkdtemp()) / "notes.md", max_tokens=20)
    >>> notes.write("Open", "run the tests")
    'ok: Open has 1 entries'
    >>> notes.write("Open", "word " * 20)
    'error: the notes would have 30 tokens of at most 20; merge entries with notes_rewrite first, nothing was written'
    >>> notes.read()
    '## Open\\n- run the tests\\n'
    """

    path: str | Path
    max_tokens: int = 1_500
    count: Callable[[str], int] | None = None

    def read(self) -> str:
        """The notes as they stand; empty when there are none yet."""
        try:
            data = Path(self.path).read_bytes()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise InputError(
                f"the notes file {self.path} cannot be read ({error.strerror}): give a file that can"
            ) from None
        return _lines(data.decode("utf-8-sig", errors="replace"))

    def write(self, section: str, entry: str) -> str:
        """Append an entry to a section."""

        def change(notes: Notes) -> tuple[Notes, str]:
            notes = notes.write(section, _lines(entry))
            return notes, f"ok: {section} has {len(dict(notes.sections)[section])} entries"

        return self._change(change)

    def rewrite(self, section: str, entries: Iterable[str]) -> str:
        """Replace a section's entries; without entries the section goes."""
        kept = [_lines(entry) for entry in entries]
        return self._change(lambda notes: (notes.rewrite(section, kept), f"ok: {section} rewritten"))

    def _change(self, change: Callable[[Notes], tuple[Notes, str]]) -> str:
        from filelock import FileLock

        count = self.count or get_counter().count
        path = Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            before = self.read()
            try:
                notes, reply = change(Notes.parse(before))
            except InputError as error:
                return f"error: {error}"
            tokens = count(notes.text)
            # Notes that are too long already, by hand or by an older limit, may still be shortened.
            if tokens > self.max_tokens and tokens >= count(before):
                return (
                    f"error: the notes would have {tokens:,} tokens of at most {self.max_tokens:,}; "
                    "merge entries with notes_rewrite first, nothing was written"
                )
            atomic_write(path, notes.text)
        return reply


def _lines(text: str) -> str:
    """The text with one kind of line end, so that an editor's do not differ from ours."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def notes_of(blocks: Iterable[Block]) -> str:
    """The notes file as it stood after a run's recorded ``notes_write`` and ``notes_rewrite`` results.

    Examples
    --------
    >>> notes_of([Block("result", "tool", "ok", tool="notes_write", args="Open | run the tests")])
    '## Open\\n- run the tests\\n'
    """
    notes = Notes()
    for block in blocks:
        if block.kind == "result" and block.tool in ("notes_write", "notes_rewrite") and block.text.startswith("ok"):
            section, _, entry = (block.args or "").partition(" | ")
            section = " ".join(_lines(section).split("\n"))
            notes = notes.write(section, entry) if block.tool == "notes_write" else notes.rewrite(section, [entry])
    return notes.text
