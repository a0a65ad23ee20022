"""Token counts that travel beside a redacted session, so that its sizes are those of the original.

``session.jsonl`` has ``session.jsonl.sizes.json``: for each counter, the count of an original text under
a digest of the text that stands in its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from labkit.files import atomic_write
from labkit.record.tokens import Counter
from labkit.record.trace import Trace

__all__ = ["KnownCounts", "attach", "digest", "sidecar_path", "with_counts", "write_sidecar"]

FORMAT = "labkit-sizes"
VERSION = 1

Counts = Mapping[str, Mapping[str, int]]
"""Tokens by name of the counter and digest of the text."""


def digest(text: str) -> str:
    """The name of a text in a sidecar.

    Examples
    --------
    >>> digest("hello"), len(digest(""))
    ('2cf24dba5fb0a30e26e83b2ac5b9e29e', 32)
    """
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()[:32]


@dataclass(frozen=True)
class KnownCounts(Counter):
    """A counter that looks a text up before it counts it.

    Parameters
    ----------
    known : mapping of str to int
        Tokens by digest.

    Examples
    --------
    >>> from labkit.record.tokens import CHARS
    >>> counter = KnownCounts(CHARS.name, CHARS.error, CHARS.encode_length, {digest("hello"): 7})
    >>> counter.count("hello"), counter.count("hellos")
    (7, 2)
    """

    known: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)

    def count(self, text: str) -> int:
        """Number of tokens of a text, or of the text that it stands for."""
        tokens = self.known.get(digest(text))
        return Counter.count(self, text) if tokens is None else tokens


def with_counts(counter: Counter, counts: Counts) -> Counter:
    """The counter, with what a sidecar says about it."""
    known = counts.get(counter.name)
    if not known or isinstance(counter, KnownCounts):
        return counter
    return KnownCounts(counter.name, counter.error, counter.encode_length, known)


def sidecar_path(path: Path) -> Path:
    """Where the counts of a redacted file or folder stand."""
    return path.with_name(path.name + ".sizes.json")


def write_sidecar(path: Path, counts: Counts) -> None:
    """Write the counts beside a redacted file or folder."""
    given = {"format": FORMAT, "version": VERSION, "counts": counts}
    atomic_write(sidecar_path(path), json.dumps(given, separators=(",", ":")) + "\n")


def attach(trace: Trace, path: Path) -> Trace:
    """Give a trace and its children the counts that stand beside its file; without any, the trace itself."""
    file = sidecar_path(path)
    try:
        if not file.is_file():
            return trace
        given = json.loads(file.read_text(encoding="utf-8"))
        if given["format"] != FORMAT or given["version"] > VERSION:
            raise ValueError("not its format")
        counts = {
            str(name): {str(k): int(n) for k, n in known.items() if 0 <= int(n) < 10**9}
            for name, known in given["counts"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        warning = f"{file.name} beside the session cannot be read: sizes are those of the pseudonyms"
        return replace(trace, warnings=(*trace.warnings, warning))
    return _attached(trace, counts)


def _attached(trace: Trace, counts: Counts) -> Trace:
    return replace(trace, counts=counts, children=tuple(_attached(c, counts) for c in trace.children))
