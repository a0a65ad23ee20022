"""What a child is told and what it returns, where only a size is given: as good as that size allows."""

from __future__ import annotations

from collections.abc import Iterable

from labkit.record.trace import Need, Trace
from labkit.replay.isolation_trace import Sized, Stretch
from labkit.replay.uses import needs_of

__all__ = ["brief_text", "relied_on", "return_text", "script_text"]


def relied_on(trace: Trace, stretch: Stretch) -> tuple[tuple[Need, ...], tuple[Need, ...], tuple[Need, ...]]:
    """Needs across the borders of a stretch.

    Returns
    -------
    tuple of tuple of Need
        What the stretch takes from results before it; what it takes from its own; and what comes after it
        takes from it.
    """
    taken, own, later = [], [], []
    for need in needs_of(trace):
        inside = stretch.start <= need.source < stretch.stop
        if stretch.first <= need.request <= stretch.last:
            if need.source < stretch.start:
                taken.append(need)
            elif inside:
                own.append(need)
        elif inside and need.request > stretch.last:
            later.append(need)
    return tuple(taken), tuple(own), tuple(later)


def brief_text(inline: Sized, stretch: Stretch, tokens: int) -> str:
    """The best brief of so many tokens: what the stretch relies on of the parent's results."""
    taken, _, _ = relied_on(inline.trace, stretch)
    return _packed(inline, "Do this, and return what you find.", taken, tokens)


def return_text(inline: Sized, stretch: Stretch, tokens: int | None) -> str:
    """The best return of so many tokens: what the parent uses later; for a script the last line printed."""
    if tokens is None:
        blocks = inline.trace.blocks[stretch.start : stretch.stop]
        printed = next((b.text for b in reversed(blocks) if b.kind == "result" and b.text.strip()), "")
        return next((line for line in reversed(printed.splitlines()) if line.strip()), "")
    _, _, later = relied_on(inline.trace, stretch)
    return _packed(inline, "Done.", later, tokens)


def script_text(trace: Trace, stretch: Stretch) -> str:
    """A script that makes the calls of a stretch: a line a call."""
    calls = [b for b in trace.blocks[stretch.start : stretch.stop] if b.kind == "call"]
    return "\n".join(f"{b.tool}({b.args or ''})" for b in calls)


def _packed(inline: Sized, opening: str, needs: Iterable[Need], tokens: int) -> str:
    lines, used = [], inline.sizes.count(opening) + 4
    if used <= tokens:
        lines.append(opening)
    else:
        used = 4
    for excerpt in dict.fromkeys(need.excerpt for need in needs):
        size = inline.sizes.count(excerpt + "\n")
        if used + size <= tokens:
            lines.append(excerpt)
            used += size
    return "\n".join(lines)
