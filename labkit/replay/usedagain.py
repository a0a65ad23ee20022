"""Which results a policy would remove that the recorded run went on to use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from labkit.ladder.manager import ContextManager
from labkit.ladder.notes import notes_of
from labkit.ladder.policy import Policy
from labkit.record.sizes import Sizes
from labkit.record.trace import Trace

__all__ = ["UsedAgain", "used_again"]

# A shorter line (a brace, "return None") is found in any file.
_DISTINCT = 24


@dataclass(frozen=True, slots=True)
class UsedAgain:
    """A result that was removed and quoted later.

    Parameters
    ----------
    position : int
        In ``Trace.blocks``.
    request : int
        Index of the first request whose answer quotes it.
    lines : int
        How many of its lines the agent wrote again before anything else showed them to it.
    """

    position: int
    request: int
    lines: int


def used_again(trace: Trace, policy: Policy, sizes: Sizes, *, thinking_bound: bool = False) -> tuple[UsedAgain, ...]:
    """Removed results that the agent's later words and calls repeat.

    Parameters
    ----------
    trace : Trace
        Unedited.
    policy : Policy
    sizes : Sizes
    thinking_bound : bool
        As in :class:`labkit.CacheRules`.

    Returns
    -------
    tuple of UsedAgain
        Lines of 24 characters or more, word for word. What was used in other words is not found, and
        what the agent could have written without it is counted too.

    Examples
    --------
    >>> from labkit.record.sizes import measure
    >>> from labkit.record.trace import Block, Request
    >>> line = "def rounded(amount: Decimal) -> Decimal:"
    >>> blocks = (
    ...     Block("result", "tool", line + "\\n" + "word " * 200, request=1, tool="Read", call_id="a"),
    ...     Block("result", "tool", "ok", request=2, tool="Bash", call_id="b"),
    ...     Block("text", "assistant", line, request=4),
    ... )
    >>> trace = Trace("tiny", blocks, tuple(Request(i) for i in range(1, 5)))
    >>> policy = Policy(trigger=1, floor=0, keep=1, compact_above=None)
    >>> [(u.position, u.request, u.lines) for u in used_again(trace, policy, measure(trace))]
    [(0, 3, 1)]
    """
    if policy.trigger is None:
        return ()
    removed = _removed(trace, policy, sizes, thinking_bound)[::-1]
    owner: dict[str, int] = {}  # a line that is out of sight, and the result that last showed it
    found: dict[int, tuple[int, int]] = {}
    for i, block in enumerate(trace.blocks):
        while removed and removed[-1][0] <= block.request:
            _, position = removed.pop()
            owner.update((line, position) for line in _lines(trace.blocks[position].text))
        if not owner:
            continue
        for line in _lines(block.text):
            position = owner.pop(line, -1)
            # A call and a text of request r stand in the input of r + 1; the answer to r wrote them.
            if position >= 0 and block.role == "assistant" and position != i:
                request, lines = found.get(position, (max(block.request - 1, 1), 0))
                found[position] = (request, lines + 1)
    return tuple(UsedAgain(p, request, lines) for p, (request, lines) in sorted(found.items()))


def _removed(trace: Trace, policy: Policy, sizes: Sizes, thinking_bound: bool) -> list[tuple[int, int]]:
    """The removed results: the request that could carry what was answered without one, and its position."""
    seen = 0
    manager = ContextManager(
        policy=policy,
        read_notes=lambda: notes_of(trace.blocks[:seen]),
        count=sizes.count,
        thinking_bound=thinking_bound,
        prefix_tokens=sizes.prefix(trace.requests[0].prefix),
    )
    at = {id(block): i for i, block in enumerate(trace.blocks)}
    removed: list[tuple[int, int]] = []
    for request, new in trace.new_blocks():
        for i in new:
            manager.append(trace.blocks[i], sizes.blocks[i])
        seen = new.stop
        for block, _ in manager.step().removed:
            position = at.get(id(block))
            if position is not None and block.kind == "result":
                removed.append((request.index + 1, position))
    return removed


def _lines(text: str) -> Iterator[str]:
    # The arguments of a call are JSON, in which a line ends with a backslash and an n.
    for line in text.replace("\\n", "\n").replace('\\"', '"').split("\n"):
        # Some tools number the lines of a file: "  12→text", "12\ttext".
        bare = line.strip().lstrip("0123456789").lstrip("→\t: ").strip()
        if len(bare) >= _DISTINCT:
            yield bare
