"""Memory that the agent writes itself and that survives every compaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from labkit.record.trace import Block

__all__ = ["Notes", "notes_of"]


@dataclass(frozen=True)
class Notes:
    """Sections of entries, in the order in which they were opened.

    Parameters
    ----------
    sections : tuple of (str, tuple of str)
        Title and entries.

    Examples
    --------
    >>> print(Notes().write("Open", "run the tests").text, end="")
    ## Open
    - run the tests
    """

    sections: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def write(self, section: str, entry: str) -> Notes:
        """Append an entry to a section."""
        kept = dict(self.sections)
        kept[section] = (*kept.get(section, ()), entry)
        return Notes(tuple(kept.items()))

    def rewrite(self, section: str, entries: Iterable[str]) -> Notes:
        """Replace a section's entries; without entries the section goes."""
        kept = dict(self.sections)
        kept[section] = tuple(entries)
        return Notes(tuple((title, items) for title, items in kept.items() if items))

    @property
    def text(self) -> str:
        """The notes as Markdown; empty when there are none."""
        parts = [f"## {title}\n" + "".join(f"- {e}\n" for e in items) for title, items in self.sections]
        return "\n".join(parts)


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
            notes = notes.write(section, entry) if block.tool == "notes_write" else notes.rewrite(section, [entry])
    return notes.text
