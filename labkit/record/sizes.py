"""How large each block of a trace is, by a counter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from labkit.record.sidecar import with_counts
from labkit.record.tokens import MESSAGE_OVERHEAD, Counter, get_counter
from labkit.record.trace import Prefix, Trace

__all__ = ["Sizes", "measure"]


@dataclass(frozen=True)
class Sizes:
    """An integer a block.

    Parameters
    ----------
    blocks : tuple of int
        Tokens of each block of the trace, message overhead included, in the trace's order.
    system, tools : tuple of int
        Tokens of each prefix's system prompt (with its message overhead) and tool schemas; 0 where
        the record does not hold them.
    counter : Counter
        What counted them.
    scale : float
        Factor applied to the counts, for another vendor's tokenizer (1.0: none).
    error : str
        How far off the sizes may be, in words.
    """

    blocks: tuple[int, ...]
    system: tuple[int, ...]
    tools: tuple[int, ...]
    counter: Counter
    scale: float = 1.0
    error: str = ""

    def count(self, text: str) -> int:
        """Tokens of another text on the same footing, without message overhead."""
        return scaled(self.counter.count(text), self.scale)

    def prefix(self, index: int) -> int:
        """Tokens of a whole prefix: system prompt and tool schemas."""
        return self.system[index] + self.tools[index]


def scaled(tokens: int, scale: float) -> int:
    """Scale a count and round half up, so that one text always gets the same size."""
    return tokens if scale == 1.0 else int(tokens * scale + 0.5)


def image_tokens(text: str) -> int:
    """Tokens of an image that a text like ``[image/png 800x600]`` stands for.

    A token for 750 pixels, after the image was scaled down to 1.15 megapixels (Anthropic's vision
    guide for its models before the high-resolution ones); an image of unknown size counts as full.

    Examples
    --------
    >>> image_tokens("[image/png 600x500]"), image_tokens("[image/png 1421x1999]"), image_tokens("[image]")
    (400, 1533, 1533)
    """
    size = re.search(r" (\d{1,6})x(\d{1,6})\]$", text)
    pixels = int(size[1]) * int(size[2]) if size else _IMAGE_PIXELS
    return min(pixels, _IMAGE_PIXELS) // 750


_IMAGE_PIXELS = 1_150_000

_measured: WeakKeyDictionary[Trace, dict[tuple[str, float], Sizes]] = WeakKeyDictionary()


def measure(trace: Trace, counter: Counter | None = None, scale: float = 1.0) -> Sizes:
    """Count every block of a trace once; the answer is kept for the life of the trace.

    Parameters
    ----------
    trace : Trace
    counter : Counter, optional
        Default: :func:`labkit.get_counter`.
    scale : float
        Factor on every count.

    Returns
    -------
    Sizes
        The first block of each message carries the overhead of 4 tokens a message.

    Examples
    --------
    >>> from labkit.record.trace import Block, Prefix, Request
    >>> trace = Trace("tiny", (Block("text", "user", "hello world", request=1),), (Request(1),), (Prefix("Be brief."),))
    >>> sizes = measure(trace)
    >>> sizes.blocks, sizes.system
    ((6,), (7,))
    """
    counter = with_counts(counter or get_counter(), trace.counts)
    kept = _measured.setdefault(trace, {})
    key = (counter.name, scale)
    if key not in kept:
        kept[key] = _measure(trace, counter, scale)
    return kept[key]


def _measure(trace: Trace, counter: Counter, scale: float) -> Sizes:
    sizes = []
    previous: int | None = None
    for block in trace.blocks:
        first = block.message is None or block.message != previous
        previous = block.message
        tokens = image_tokens(block.text) if block.kind == "image" else scaled(counter.count(block.text), scale)
        sizes.append(tokens + (MESSAGE_OVERHEAD if first else 0))

    def system(prefix: Prefix) -> int:
        return 0 if prefix.system is None else scaled(counter.count(prefix.system), scale) + MESSAGE_OVERHEAD

    return Sizes(
        tuple(sizes),
        tuple(system(p) for p in trace.prefixes),
        tuple(0 if p.tools is None else scaled(counter.count(p.tools), scale) for p in trace.prefixes),
        counter,
        scale,
        counter.error,
    )
