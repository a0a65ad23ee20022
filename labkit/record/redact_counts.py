"""The counts of a redacted session: those of the original, text by text, and what does not pair up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from labkit.record.sidecar import digest
from labkit.record.sizes import Sizes, measure
from labkit.record.tokens import CHARS, Counter, get_counter
from labkit.record.trace import Trace

__all__ = ["Rehearsal", "counted"]

Rehearsal = Callable[[Trace, Sizes], object]
"""Gives what must come out equal of a trace and of its redacted copy."""

Found = dict[str, dict[str, int]]


def counted(original: Trace, redacted: Trace, also: Sequence[Rehearsal]) -> tuple[list[str], Found]:
    """Counts of the original's texts under the pseudonyms, for the counter in use and the plain one."""
    counts: Found = {}
    differs: list[str] = []
    for counter in {c.name: c for c in (get_counter(), CHARS)}.values():
        known = counts.setdefault(counter.name, {})
        found = [*_pair(original, redacted, counter, known)]
        for number, task in enumerate(also if not found else ()):
            # Sizes are kept by the name of their counter, so each rehearsal has counters of its own.
            found += _rehearse(task, original, redacted, replace(counter, name=f"{counter.name}, {number}"), known)
        differs += [sentence for sentence in found if sentence not in differs]
    return differs, counts


def _pair(original: Trace, redacted: Trace, counter: Counter, known: dict[str, int]) -> Iterator[str]:
    where = original.name
    shapes = [
        (
            [(b.kind, b.role, b.request, b.message, b.edited) for b in t.blocks],
            [replace(r, id=None, model=None) for r in t.requests],
            len(t.prefixes),
        )
        for t in (original, redacted)
    ]
    if shapes[0] != shapes[1]:
        yield f"{where} reads differently once redacted: its blocks or requests are not those of the original"
        return
    renamed = sum(r.model != s.model for r, s in zip(original.requests, redacted.requests, strict=True))
    if renamed:
        yield f"{renamed} requests of {where} have a pseudonym for their model, which has no price"
    renamed = sum(b.tool != c.tool for b, c in zip(original.blocks, redacted.blocks, strict=True))
    if renamed:
        yield f"{renamed} calls and results of {where} have a pseudonym for their tool"
    texts = [(b.text, c.text) for b, c in zip(original.blocks, redacted.blocks, strict=True) if b.kind != "image"]
    texts += [(e.stub, f.stub) for e, f in zip(original.edits, redacted.edits, strict=False)]
    for p, q in zip(original.prefixes, redacted.prefixes, strict=True):
        texts += [(p.system or "", q.system or ""), (p.tools or "", q.tools or "")]
    clashes = 0
    for before, after in texts:
        tokens = counter.count(before)
        clashes += known.setdefault(digest(after), tokens) != tokens
    if clashes:
        yield f"{clashes} texts of {where} have the same pseudonym as another of another size"
    if len(original.children) != len(redacted.children):
        yield f"{where} has {len(redacted.children)} of {len(original.children)} subagents: give its whole folder"
        return
    for child, other in zip(original.children, redacted.children, strict=True):
        yield from _pair(child, other, counter, known)


def _rehearse(
    task: Rehearsal, original: Trace, redacted: Trace, counter: Counter, known: dict[str, int]
) -> Iterator[str]:
    """Run a task on both and note, call by call, the original's count under the redacted text."""
    first: list[int] = []

    def listen(text: str) -> int:
        first.append(counter.count(text))
        return first[-1]

    before = task(original, measure(original, _listening(counter, listen, "first")))
    again = iter(first)
    heard = 0

    def repeat(text: str) -> int:
        nonlocal heard
        heard += 1
        tokens = next(again, 0)
        return known.setdefault(digest(text), tokens)

    after = task(redacted, measure(redacted, _listening(counter, repeat, "again")))
    if heard != len(first) or before != after:
        yield f"{original.name} takes another course in a replay once redacted"


def _listening(counter: Counter, count: Callable[[str], int], name: str) -> Counter:
    return _Listening(f"{counter.name}, {name}", counter.error, count)


class _Listening(Counter):
    def count(self, text: str) -> int:
        return self.encode_length(text)
