"""Sizes of an unedited session for a what-if, and the same with the doubt in them."""

from __future__ import annotations

from dataclasses import replace

from labkit.record.calibrate import calibrate
from labkit.record.grown import filled_sizes
from labkit.record.sizes import Sizes
from labkit.record.trace import Trace

__all__ = ["session_sizes", "with_results"]


def session_sizes(trace: Trace, base: Trace) -> Sizes:
    """Sizes of the unedited record: the audit's, and what it does not hold on the blocks beside the results."""
    fit = calibrate(trace)
    sizes = filled_sizes(trace, fit.sizes)
    kept, position = [], 0
    for block in base.blocks:  # a subsequence of the trace's
        while trace.blocks[position] is not block:
            position += 1
        kept.append(sizes.blocks[position])
        position += 1
    prefix = fit.prefix
    first = next((r.usage.total_input for r in trace.requests if r.usage is not None), 0)
    own = [i for i, b in enumerate(base.blocks) if b.request <= 1]
    # What the first prompt holds beyond prefix and messages is reminders and memory files, which stand in the
    # first message.
    if own and prefix:
        kept[own[0]] += max(first - prefix - sum(kept[i] for i in own), 0)
    if prefix:
        return replace(
            sizes, blocks=tuple(kept), system=(prefix,) * len(trace.prefixes), tools=(0,) * len(trace.prefixes)
        )
    return replace(sizes, blocks=tuple(kept))


def with_results(base: Trace, sizes: Sizes, factor: float) -> Sizes:
    """Sizes with every result larger or smaller and the rest of its request the other way, so that prompts stay."""
    blocks = list(sizes.blocks)
    for _, new in base.new_blocks():
        results = [i for i in new if base.blocks[i].kind == "result"]
        others = [i for i in new if base.blocks[i].kind != "result"]
        room = sum(blocks[i] for i in others)
        moved = (factor - 1) * sum(blocks[i] for i in results)
        if not results or not room:
            continue
        moved = min(moved, 0.8 * room)
        share = moved / sum(blocks[i] for i in results)
        for i in results:
            blocks[i] = round(blocks[i] * (1 + share))
        for i in others:
            blocks[i] = round(blocks[i] * (1 - moved / room))
    return replace(sizes, blocks=tuple(blocks))
