"""What a recorded session says about sizes: its fixed prefix, and a scale for the counter.

A session holds the usage of each response but rarely its system prompt and tool schemas, and the
provider's tokenizer is not ours. Both gaps can be closed from the usage: the prefix is what is
still read from the cache when everything after it changed, and the scale is how much the recorded
prompt grew for each token that we counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from labkit.record.grown import grown_sizes
from labkit.record.growth import SHARE, TOKENS, fit_growth
from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Request, Trace

__all__ = ["Calibration", "calibrate"]

# Smaller growths say more about reminders and message overhead than about the text.
_SMALLEST_GROWTH = 50
_FEWEST_STEPS = 3
# A read below this part of the previous prompt means that the prompt changed, or expired.
_FALL = 0.9


@dataclass(frozen=True)
class Calibration:
    """Sizes fitted to a session's own usage.

    Parameters
    ----------
    sizes : Sizes
        Sizes of the blocks by the fitted growth, or as counted where none could be fitted;
        ``sizes.error`` says how well they fit. Texts that a policy makes get its ``scale``.
    prefix : int
        Tokens of system prompt and tool schemas together, where the record does not hold them; 0
        where it does.
    prefix_from : str
        How the prefix was found, one sentence.
    steps : int
        Number of requests whose growth the scale rests on; 0 for an unscaled count.
    """

    sizes: Sizes
    prefix: int
    prefix_from: str
    steps: int


def calibrate(trace: Trace, sizes: Sizes | None = None) -> Calibration:
    """Fit the counter's scale and the fixed prefix to the recorded usage.

    Parameters
    ----------
    trace : Trace
    sizes : Sizes, optional
        Unscaled sizes; default: :func:`labkit.measure`.

    Returns
    -------
    Calibration
        Without recorded usage the sizes stay as counted.

    Examples
    --------
    Two requests grow by 240 tokens where 200 were counted, so the scale is 1.2; three such steps
    are the fewest that count.

    >>> from labkit.record.trace import Block, Usage
    >>> text = "word " * 195 + "x"  # 196 tokens, and 4 for the message
    >>> blocks = tuple(Block("text", "user", text, request=i) for i in range(1, 5))
    >>> requests = tuple(Request(i, usage=Usage(uncached=10_000 + 240 * i)) for i in range(1, 5))
    >>> fit = calibrate(Trace("tiny", blocks, requests))
    >>> fit.sizes.scale, fit.steps
    (1.2, 3)
    """
    sizes = sizes or measure(trace)
    scale, error, steps = _scale(trace, sizes)
    if steps:
        # One scale would do for the whole, and not for a call or a result by itself.
        sizes = replace(grown_sizes(trace, fit_growth(trace, sizes), sizes), scale=scale)
    sizes = replace(sizes, error=error)
    prefix, source = _prefix(trace, sizes)
    return Calibration(sizes, prefix, source, steps)


def _scale(trace: Trace, sizes: Sizes) -> tuple[float, str, int]:
    """Median of recorded growth per counted token, each step weighted by what was counted."""
    edited = {e.request for e in trace.edits}
    steps: list[tuple[float, int]] = []
    before: Request | None = None
    for request, new in trace.new_blocks():
        usage = request.usage
        if usage is not None and before is not None and before.usage is not None and request.index not in edited:
            grown = usage.total_input - before.usage.total_input
            counted = sum(sizes.blocks[i] for i in new if trace.blocks[i].kind != "image")
            images = any(trace.blocks[i].kind == "image" for i in new)
            # A prompt that shrank without a logged edit was edited all the same.
            if grown > 0 and counted >= _SMALLEST_GROWTH and not images:
                steps.append((grown / counted, counted))
        before = request
    counted_by = sizes.counter.name
    if trace.usage is None:
        return 1.0, sizes.error, 0
    scale = _weighted_median(steps) if len(steps) >= _FEWEST_STEPS else 0.0
    if not 0.5 <= scale <= 3.0:
        return 1.0, f"{counted_by} unscaled: the usage holds too few growing requests to fit a scale; {sizes.error}", 0
    scale = round(scale, 3)
    explained = scale * sum(weight for _, weight in steps) / sum(ratio * weight for ratio, weight in steps)
    error = (
        f"{counted_by} x {scale:g}, the median of {len(steps)} growing requests; together these counts give "
        f"{explained * 100:.0f} % of the recorded growth. Each block was then sized by its kind and by the growth of "
        f"its own request; of what is not recorded, most requests are off by at most {SHARE:.0%} and {TOKENS} tokens"
    )
    return scale, error, len(steps)


def _weighted_median(pairs: list[tuple[float, int]]) -> float:
    half = sum(weight for _, weight in pairs) / 2
    seen = 0
    for value, weight in sorted(pairs):
        seen += weight
        if seen >= half:
            return value
    return 0.0


def starts_midway(trace: Trace) -> bool:
    """Whether the first request already answers a call that the record does not hold."""
    return any(b.kind == "result" and b.tool is None for b in trace.blocks if b.request <= 1)


def _prefix(trace: Trace, sizes: Sizes) -> tuple[int, str]:
    held = [name for name in ("system", "tools") if any(getattr(p, name) is not None for p in trace.prefixes)]
    if held == ["system"] and trace.kind != "scripted" and trace.usage is not None:
        return 0, "the record holds the system prompt and no tool schemas: what these take stands in the residual"
    if held:
        return 0, "the record holds system prompt and tool schemas; they were counted"
    first = next((r for r in trace.requests if r.usage is not None), None)
    if first is None or first.usage is None:
        return 0, "the record holds neither system prompt, tool schemas nor usage: the fixed prefix is not known"
    edited = {e.request for e in trace.edits}
    for requests, cause in ((edited, "a recorded clearing or compaction"), (None, "the prompt had changed")):
        reads = _reads_after_falls(trace, requests, first.usage.total_input)
        if reads:
            # The last entry written before a change may lie after the prefix, never inside it; so the
            # number that comes back each time is the prefix.
            (read, times), *_ = sorted(Counter(reads).items(), key=lambda item: (-item[1], item[0]))
            again = "seen once" if times == 1 else f"the same {times} times"
            return read, f"its {read:,} tokens are what was still read from the cache after {cause} ({again})"
    if trace.kind == "compaction" or starts_midway(trace):
        return 0, "the record starts in the middle of a session and shows no break: the fixed prefix is not known"
    own = sum(s for s, b in zip(sizes.blocks, trace.blocks, strict=True) if b.request <= first.index)
    rest = max(first.usage.total_input - own, 0)
    return rest, (
        f"its {rest:,} tokens are the total of request {first.index} less its counted messages, so reminders and "
        "memory files that the harness added are among them"
    )


def _reads_after_falls(trace: Trace, only: set[int] | None, most: int) -> list[int]:
    """Cache reads, neither 0 nor above ``most``, of requests that read much less than was cached before them."""
    reads = []
    cached = 0
    for request in trace.requests:
        usage = request.usage
        if usage is None:
            continue
        fell = 0 < usage.cache_read < _FALL * cached
        if fell and usage.cache_read <= most and (only is None or request.index in only):
            reads.append(usage.cache_read)
        cached = usage.total_input - usage.uncached
    return reads
