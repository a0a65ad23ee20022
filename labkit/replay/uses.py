"""Which later turn relies on which excerpt, found in any trace: the ground on which a loss is counted.

A scripted run lists its needs. In a recorded session they are looked for: words and lines of a kind that is
not guessed (a path, an identifier, a number, an error, a line of code) and passages of eight words, that a tool
result was the first to show and that the agent wrote again later. What was used in other words is not found,
so the count is a lower bound.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from weakref import WeakKeyDictionary

from labkit.ladder.rungs import errors_in
from labkit.record.trace import Need, Trace
from labkit.replay.passages import passage_needs, plain

__all__ = ["excerpts_in", "found_holders", "found_needs", "needs_of", "shows"]

# A word that nobody would guess: it has a digit, an inner mark, or a capital behind a small letter.
_WORD = re.compile(r"\w[\w./@:#-]*\w")
_TELLING = re.compile(r"[0-9]|[a-z][A-Z]|[^\W_][_./@:#-][^\W_]")
# A place in a file, as searches and stack traces give it: the path stands before the line's number.
_PLACE = re.compile(r"^(\S*?[./]\S*?):[0-9]+(?:[:-]\S*)?$")
_FOUND_LINE = re.compile(r"^[^\s:]*[./][^\s:]*:[0-9]+:")
_NUMBER = re.compile(r"(?<![\w.,])[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?!\w|,[0-9])")
# Names of errors that anybody knows; what such an error said is another matter.
_ERRORS = frozenset(name for name in dir(builtins) if name.endswith(("Error", "Exception"))) | {
    "RangeError",
    "ReferenceError",
}
_ERROR_WORDS = 5
_LINE, _LONGEST = 24, 600
_SHORTEST = 5
# A word that many blocks show is the run's vocabulary, and no excerpt of one of them.
_MOST_BLOCKS = 8

_found: WeakKeyDictionary[Trace, tuple[tuple[Need, ...], dict[str, list[int]]]] = WeakKeyDictionary()


def needs_of(trace: Trace) -> tuple[Need, ...]:
    """The needs a trace lists, or else those that are found in it.

    Parameters
    ----------
    trace : Trace
        Unedited: what was removed from it cannot be seen to be used.

    Returns
    -------
    tuple of Need
        In order of request; one for each excerpt and block that uses it. ``source`` is the newest result
        that showed the excerpt.

    Examples
    --------
    >>> from labkit.record.trace import Block, Request
    >>> blocks = (
    ...     Block("result", "tool", "order FL-47018 of 2026", request=2, tool="get_order"),
    ...     Block("text", "assistant", "I will look at FL-47018.", request=4),
    ... )
    >>> trace = Trace("tiny", blocks, tuple(Request(i) for i in range(1, 5)))
    >>> [(need.source, need.request, need.excerpt) for need in needs_of(trace)]
    [(0, 3, 'FL-47018')]
    """
    return trace.needs or found_needs(trace)


def found_needs(trace: Trace) -> tuple[Need, ...]:
    """The needs that are found in a trace, whatever it lists; kept for the life of the trace."""
    return _looked(trace)[0]


def found_holders(trace: Trace) -> dict[str, list[int]]:
    """Of each excerpt of a found need, the positions of the blocks that hold it."""
    return _looked(trace)[1]


def _looked(trace: Trace) -> tuple[tuple[Need, ...], dict[str, list[int]]]:
    if trace not in _found:
        holders: dict[str, list[int]] = {}
        needs = list(_search(trace, holders))
        # A passage that holds a telling word or line is found by it, and once is enough.
        pairs = {(need.source, need.request) for need in needs}
        passages, passage_holders = passage_needs(trace)
        passages = [need for need in passages if (need.source, need.request) not in pairs]
        needs = sorted([*needs, *passages], key=lambda need: need.request)
        holders |= passage_holders
        _found[trace] = (tuple(needs), {need.excerpt: holders[need.excerpt] for need in needs})
    return _found[trace]


def shows(text: str, excerpt: str) -> bool:
    """Whether a text shows the excerpt of a found need: as a whole word or line, or as a passage.

    Examples
    --------
    >>> shows("see FL-47018.", "FL-47018"), shows("see FL-470180.", "FL-47018")
    (True, False)
    >>> shows("A cancelled invoice has a total of zero.", "A cancelled invoice has a total of zero")
    True
    """
    word = re.search(r"\w+", excerpt)  # a quick look, before the text is taken apart
    if word and word[0] in text and excerpt in excerpts_in(text):
        return True
    return " " in excerpt and f" {excerpt} " in f" {plain(text)} "


@lru_cache(maxsize=4_096)
def excerpts_in(text: str) -> frozenset[str]:
    """The words and lines of a text that can be told from chance.

    Examples
    --------
    >>> sorted(excerpts_in("see money.py"))
    ['money.py']
    """
    found = set()
    # The arguments of a call are JSON, in which a line ends with a backslash and an n.
    said = text.replace("\\n", "\n").replace('\\"', '"')
    numbers = _NUMBER.findall(text) if "," in text else ()
    found |= {number for number in numbers if len(number) - number.count(",") >= _SHORTEST}
    for word in _WORD.findall(_NUMBER.sub(" ", text) if numbers else text):
        if _SHORTEST <= len(word) <= 200 and _TELLING.search(word) and word not in _ERRORS:
            found.add(word)
            path = _path_of(word)
            if path and len(path) >= _SHORTEST:
                found.add(path)
    found |= {_short_error(error) for error in errors_in(said)}
    for line in map(str.strip, said.split("\n")):
        if not _LINE <= len(line) <= _LONGEST:  # nor are the expressions made for a megabyte without a blank
            continue
        # Some tools number the lines of a file, "  12→text", "12\ttext", or name the file too, "a.py:12:text".
        bare = _FOUND_LINE.sub("", line).strip().lstrip("0123456789").lstrip("→\t: ").strip()
        # A line of a patch, of a list or of a quotation.
        if bare[:1] in ("+", "-", ">") and bare[1:2] != bare[0]:
            bare = bare[1:].strip()
        if _LINE <= len(bare) <= 400:
            found.add(bare)
    return frozenset(found)


def _once(used: Iterable[str]) -> set[str]:
    """Without the paths of places that are used themselves."""
    used = set(used)
    return used - {_path_of(excerpt) for excerpt in used}


def _path_of(word: str) -> str:
    """The path of a place in a file, ``src/a.py:12``; empty where a word is none."""
    place = _PLACE.match(word)
    return place[1] if place and re.search(r"[^\W\d_]", place[1]) else ""


def _short_error(error: str) -> str:
    """An error with the first words of what it said, as far as the first stop."""
    words = []
    for word in error.split()[: _ERROR_WORDS + 1]:
        words.append(word)
        if word[-1] in ".;!?":
            break
    return " ".join(words).rstrip(".,;:!?\"'`")


def _search(trace: Trace, holders: dict[str, list[int]]) -> Iterator[Need]:
    """Find the needs; ``holders`` is filled with the blocks that hold each excerpt."""
    shown: dict[str, int] = {}  # excerpt to the newest result that shows it
    known: set[str] = set()  # said by somebody before a result showed it
    for prefix in trace.prefixes:
        known |= excerpts_in((prefix.system or "") + "\n" + (prefix.tools or ""))
    for position, block in enumerate(trace.blocks):
        excerpts = excerpts_in(block.text)
        if block.kind == "result":
            for excerpt in excerpts:
                if excerpt not in known:
                    shown[excerpt] = position
        elif block.role == "assistant":
            used = [e for e in excerpts if e in shown and len(holders[e]) <= _MOST_BLOCKS]
            for excerpt in sorted(_once(used)):
                # What was answered to request r stands in the input of r + 1.
                yield Need(shown[excerpt], max(block.request - 1, 1), excerpt)
        if block.kind != "result":
            known |= {e for e in excerpts if e not in shown}
        for excerpt in excerpts:
            holders.setdefault(excerpt, []).append(position)
