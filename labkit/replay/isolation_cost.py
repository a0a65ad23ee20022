"""Both ways of doing a piece of work, request by request, in dollars; and whether what came back was enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from labkit.errors import InputError
from labkit.ladder.policy import Policy
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.price.prices import Prices
from labkit.record.trace import Need, Trace, Usage
from labkit.replay.isolation import Isolation
from labkit.replay.isolation_text import relied_on
from labkit.replay.isolation_trace import Sized
from labkit.replay.replay import replay
from labkit.replay.rows import Row
from labkit.replay.uses import shows

__all__ = ["Enough", "Sent", "Sides", "enough", "sides"]


@dataclass(frozen=True, slots=True)
class Sent:
    """One request of one way.

    Parameters
    ----------
    who : {"inline", "parent", "child"}
    request : int
        Index in its own trace.
    usage : Usage
        Tokens as they are billed.
    dollars : float
    """

    who: Literal["inline", "parent", "child"]
    request: int
    usage: Usage
    dollars: float

    def __str__(self) -> str:
        u = self.usage
        return (
            f"{self.who:6} {self.request:>4}: {u.total_input:>9,} in = {u.cache_read:>9,} read "
            f"+ {u.cache_write_5m:>7,} written + {u.uncached:>6,} uncached, {u.output:>6,} out, ${self.dollars:.4f}"
        )


@dataclass(frozen=True)
class Sides:
    """Both ways, from the request whose answer begins the work.

    Parameters
    ----------
    inline, isolated : tuple of Sent
        In order of sending; ``isolated`` holds the parent's requests and the child's.
    before : float
        Dollars of the requests before, which are the same in both.
    """

    inline: tuple[Sent, ...]
    isolated: tuple[Sent, ...]
    before: float

    @property
    def inline_dollars(self) -> float:
        """What doing it in the parent costs, and all that follows."""
        return math.fsum(sent.dollars for sent in self.inline)

    @property
    def isolated_dollars(self) -> float:
        """What handing it away costs, and all that follows."""
        return math.fsum(sent.dollars for sent in self.isolated)

    @property
    def difference(self) -> float:
        """Child less inline; below 0 the child is the cheaper way."""
        return math.fsum([*(s.dollars for s in self.isolated), *(-s.dollars for s in self.inline)])

    def __str__(self) -> str:
        lines = [*map(str, self.inline), f"inline ${self.inline_dollars:.4f}", *map(str, self.isolated)]
        return "\n".join([*lines, f"isolated ${self.isolated_dollars:.4f}, {self.difference:+.4f}"])


def sides(
    made: Isolation,
    prices: Prices,
    rules: CacheRules = ARTICLE_RULES,
    *,
    child_prices: Prices | None = None,
    child_rules: CacheRules | None = None,
    cold: bool = False,
    warm: int = 0,
) -> Sides:
    """Price both ways.

    Parameters
    ----------
    made : Isolation
    prices, rules : Prices, CacheRules
        The parent's, and those of the work done inline.
    child_prices, child_rules : Prices, CacheRules, optional
        Where the child runs on another model; not for a fork, which could not read its parent's cache.
    cold : bool
        Whether entries expire on the trace's clock. The parent waits while its child works, so its own may.
    warm : int
        Tokens of a fresh child's prefix that are in the cache already.

    Returns
    -------
    Sides
        Every request from the one whose answer begins the work. It has the same prompt both ways, but
        answers otherwise. Nothing is charged for what the return left out: see :func:`enough`.

    Raises
    ------
    InputError
        If a fork is to run on another model, or ``warm`` is more than the child's prefix.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> from labkit.replay.isolation import fold
    >>> made = fold(load(data_path("traces", "invoice-60.jsonl")), 41, 50, returned=200, brief=100)
    >>> priced = sides(made, Prices.from_multipliers())
    >>> len(priced.inline), len(priced.isolated), round(priced.difference, 4)
    (20, 22, -0.3349)
    """
    other = child_prices not in (None, prices) or child_rules not in (None, rules)
    if made.how == "fork" and other:
        raise InputError("a fork reads its parent's cache, which another model cannot: leave out child_prices, _rules")
    first = made.stretch.first
    inline = _sent("inline", made.inline, prices, rules, cold)
    parent = _sent("parent", made.parent, prices, rules, cold)
    child: list[Sent] = []
    if made.child is not None:
        child = _sent("child", made.child, child_prices or prices, child_rules or rules, cold, warm)
    if made.how == "fork":
        child = child[first:]
    isolated = [parent[first - 1], *child, *parent[first:]]
    return Sides(tuple(inline[first - 1 :]), tuple(isolated), math.fsum(s.dollars for s in inline[: first - 1]))


def _sent(
    who: Literal["inline", "parent", "child"],
    side: Sized,
    prices: Prices,
    rules: CacheRules,
    cold: bool,
    warm: int = 0,
) -> list[Sent]:
    if warm and warm > side.sizes.prefix(side.trace.requests[0].prefix):
        raise InputError(f"warm is {warm:,}, more than the child's prefix: it is the part that is cached already")
    sent = []
    for row in replay(side.trace, Policy.nothing(), rules, sizes=side.sizes).rows:
        usage = _usage(row, cold, warm if row.request == 1 else 0)
        sent.append(Sent(who, row.request, usage, prices.request_cost(usage)))
    return sent


def _usage(row: Row, cold: bool, warm: int) -> Usage:
    read = row.read_cold if cold else row.read
    written = row.input - row.uncached - read
    warm = min(warm, written)
    return Usage(row.uncached, read + warm, written - warm, 0, row.output)


@dataclass(frozen=True)
class Enough:
    """What crosses the border of an isolated piece of work, and what does not.

    Parameters
    ----------
    needed, missing : tuple of Need
        What the parent uses later of what the stretch showed; of that, what neither the return nor anything
        else in its prompt shows it. Positions and requests are those of the inline trace.
    tokens : int
        Size of the needed excerpts, each once: no shorter return holds them.
    asked, untold : tuple of Need
        What the stretch uses of the parent's earlier results; of that, what neither brief nor child's own
        results show. A fork has seen it all.
    within : tuple of Need
        What the stretch uses of its own results. A script has to work it out without being read.
    reread_tokens, reread_prompts : int
        The missing results and their calls, once each; the prompts of the requests that would take.
    """

    needed: tuple[Need, ...]
    missing: tuple[Need, ...]
    tokens: int
    asked: tuple[Need, ...]
    untold: tuple[Need, ...]
    within: tuple[Need, ...]
    reread_tokens: int
    reread_prompts: int

    def charge(self, prices: Prices) -> tuple[float, float]:
        """Dollars of calling again for what is missing: each result once written; and a request more for each."""
        low = prices.cost(write_5m=self.reread_tokens)
        return low, low + prices.cost(read=self.reread_prompts)


def enough(made: Isolation) -> Enough:
    """Was the return enough, and the brief?

    Parameters
    ----------
    made : Isolation

    Returns
    -------
    Enough
        By the needs the inline trace lists, or those that are found in it (:func:`labkit.needs_of`).

    Notes
    -----
    What was used in other words is not seen. And a found use is no proof: of 54 uses found behind eleven
    recorded subagents, 16 were of something that the parent had not been shown, and it wrote it all the same.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> from labkit.replay.isolation import fold
    >>> run = load(data_path("traces", "invoice-60.jsonl"))
    >>> for returned in (10, 200):
    ...     found = enough(fold(run, 21, 25, returned=returned))
    ...     print(len(found.needed), len(found.missing), found.tokens)
    3 2 19
    3 0 19
    """
    trace, stretch = made.inline.trace, made.stretch
    asked, within, needed = relied_on(trace, stretch)
    listed = bool(trace.needs)
    more = stretch.calls - 1
    missing = [n for n in needed if not _shown(made.parent.trace, n.excerpt, n.request - more, listed)]
    untold: list[Need] = []
    if made.how == "fresh" and made.child is not None:
        untold = [n for n in asked if not _shown(made.child.trace, n.excerpt, n.request - stretch.first + 1, listed)]
    sources = {n.source for n in missing}
    calls = {b.call_id: i for i, b in enumerate(trace.blocks) if b.kind == "call"}
    again = sum(
        made.inline.sizes.blocks[i] + _size(made, calls.get(trace.blocks[i].call_id, -1), stretch.start, i)
        for i in sources
    )
    first_use = {source: min(n.request for n in missing if n.source == source) for source in sources}
    prompts = _prompts(made.parent)
    return Enough(
        needed,
        tuple(missing),
        sum(made.inline.sizes.count(excerpt) for excerpt in {n.excerpt for n in needed}),
        asked,
        tuple(untold),
        within,
        again,
        sum(prompts[request - more] for request in first_use.values()),
    )


def _size(made: Isolation, call: int, start: int, result: int) -> int:
    """Tokens of a result's call, where it stands in the stretch before it."""
    if start <= call < result and made.inline.trace.blocks[result].call_id is not None:
        return made.inline.sizes.blocks[call]
    before = made.inline.trace.blocks[result - 1] if result else None
    return made.inline.sizes.blocks[result - 1] if before is not None and before.kind == "call" else 0


def _shown(trace: Trace, excerpt: str, request: int, listed: bool) -> bool:
    """Whether the prompt of a request holds an excerpt."""
    for block in trace.blocks:
        if block.request > request:
            return False
        if (excerpt in block.text) if listed else shows(block.text, excerpt):
            return True
    return False


def _prompts(side: Sized) -> Sequence[int]:
    """Tokens of the prompt of each request, by its index."""
    total, sizes = side.sizes.prefix(side.trace.requests[0].prefix), [0]
    for _, new in side.trace.new_blocks():
        total += sum(side.sizes.blocks[i] for i in new)
        sizes.append(total)
    return sizes
