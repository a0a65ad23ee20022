"""Passages of plain words that a tool result was the first to show and that the agent wrote again: shingles.

No single word of "a cancelled invoice has a total of zero" can be told from chance; eight of them in a row can.
"""

from __future__ import annotations

from collections.abc import Iterator

from labkit.record.trace import Need, Trace

__all__ = ["WORDS", "passage_needs", "plain"]

WORDS = 8
"""Words in a row that make a passage."""

# Two texts that differ in stops and quotation marks, or in where a line ends, say the same.
_MARKS = str.maketrans("", "", ".,;:!?\"'`()[]{}*|“”‘’")
# A passage that many blocks show is the run's vocabulary, as with words.
_MOST_BLOCKS = 8

Shingle = tuple[str, ...]


def plain(text: str) -> str:
    """Return a text as words with one space between them, without marks.

    Examples
    --------
    >>> plain('A "cancelled" invoice\\nhas a total of zero.')
    'A cancelled invoice has a total of zero'
    """
    return " ".join(_words(text))


def passage_needs(trace: Trace) -> tuple[list[Need], dict[str, list[int]]]:
    """Find the passages that a turn of the agent repeats from a result.

    Parameters
    ----------
    trace : Trace
        Unedited.

    Returns
    -------
    needs : list of Need
        One for each run of repeated words, in order; ``excerpt`` is its first eight words, as `plain` gives them.
    holders : dict of str to list of int
        Of each excerpt, the positions of the blocks that show it.

    Examples
    --------
    >>> from labkit.record.trace import Block, Request
    >>> blocks = (
    ...     Block("result", "tool", "Note: a cancelled invoice has a total of zero euros.", request=2, tool="read"),
    ...     Block("text", "assistant", "As read, a cancelled invoice has\\na total of zero euros.", request=4),
    ... )
    >>> needs, holders = passage_needs(Trace("tiny", blocks, tuple(Request(i) for i in range(1, 5))))
    >>> [(need.source, need.request, need.excerpt) for need in needs], holders
    ([(0, 3, 'a cancelled invoice has a total of zero')], {'a cancelled invoice has a total of zero': [0, 1]})
    """
    # Results are most of a session and the agent's words the least of it: only these are kept.
    asked = {s for b in trace.blocks if b.role == "assistant" for s in _in(_words(b.text)) if _telling(s)}
    # Eight words in a row hold one of every fifth four: a quick look says of most results that nothing is there.
    fours = {shingle[i : i + 4] for shingle in asked for i in range(WORDS - 3)}
    known: set[Shingle] = set()  # said by somebody before a result showed it
    for prefix in trace.prefixes:
        known |= asked.intersection(_in(_words(f"{prefix.system or ''}\n{prefix.tools or ''}")))
    shown: dict[Shingle, int] = {}  # to the newest result that shows it
    holders: dict[Shingle, list[int]] = {}
    needs: list[Need] = []
    for position, block in enumerate(trace.blocks):
        words = _words(block.text)
        if fours.isdisjoint(zip(words[::5], words[1::5], words[2::5], words[3::5], strict=False)):
            continue
        here = asked.intersection(_in(words))
        if block.kind == "result":
            shown |= dict.fromkeys(here - known, position)
        elif block.role == "assistant":
            used = {s: shown[s] for s in here if s in shown and len(holders[s]) <= _MOST_BLOCKS}
            # What was answered to request r stands in the input of r + 1.
            request = max(block.request - 1, 1)
            needs += [Need(used[s], request, " ".join(s)) for s in _starts(words, used)]
        if block.kind != "result":
            known |= here - shown.keys()
        for shingle in here:
            holders.setdefault(shingle, []).append(position)
    said = {need.excerpt for need in needs}
    return needs, {e: at for s, at in holders.items() if (e := " ".join(s)) in said}


def _words(text: str) -> list[str]:
    # The arguments of a call are JSON, in which a line ends with a backslash and an n.
    return text.replace("\\n", "\n").translate(_MARKS).split()


def _in(words: list[str]) -> Iterator[Shingle]:
    return zip(*(words[i:] for i in range(WORDS)), strict=False)


def _telling(shingle: Shingle) -> bool:
    """Whether it is prose, and more than the small words that any sentence has."""
    letters = [word for word in set(shingle) if word.isalpha()]
    return len(letters) >= WORDS - 1 and sum(len(word) >= 5 for word in letters) >= 3


def _starts(words: list[str], used: dict[Shingle, int]) -> Iterator[Shingle]:
    """The first shingle of each run of shingles from one result, each run once."""
    before, said = None, set()
    for shingle in _in(words):
        source = used.get(shingle)
        if source is not None and source != before and shingle not in said:
            said.add(shingle)
            yield shingle
        before = source
