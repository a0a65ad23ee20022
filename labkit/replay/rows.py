"""What a replay gives: a row a request, and what can be said of all of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from labkit.ladder.events import Event
from labkit.ladder.policy import Policy
from labkit.price.cache import CacheRules
from labkit.record.lines import LINE_ITEMS
from labkit.record.trace import Block, Need, Usage

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Replay", "Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """One request of a replay; tokens unless said otherwise.

    Parameters
    ----------
    request : int
        Index from 1.
    start : float or None
        Seconds, as in the trace.
    input : int
        Size of the prompt.
    shared : int
        Tokens at its start that equal the start of the request before.
    read : int
        Read from the cache if entries never expire.
    read_cold : int
        Read from the cache if entries expire after the rules' time to live.
    uncached : int
        Sent without being read from the cache or written to it, in either case.
    pinged : int
        Read from the cache during the pause before, only to keep its entries alive.
    output : int
        What the request answered.
    lines : tuple of int
        The prompt by line item, in the order of ``LINE_ITEMS``; the sum is ``input``.
    facts_lost : int or None
        Facts that were said before and are not in this prompt; ``None`` where a trace lists no facts.
    unread : int
        Results taken away, up to here, before any request had carried them whole, and kept nowhere.
    offloaded : int
        The same, up to here, but kept in a file whose path stands in the prompt.
    uses_after_clear : int
        Needed excerpts, up to here, that were no longer in the prompt when they were needed.
    reread_tokens : int
        Tokens, up to here, of calling again for what they stood in, once each.
    reread_high : int
        The same if each request that relies on one has to call again.
    reread_prompts : int
        Input tokens, up to here, of the further requests that those calls take.
    """

    request: int
    start: float | None
    input: int
    shared: int
    read: int
    read_cold: int
    uncached: int
    pinged: int
    output: int
    lines: tuple[int, ...]
    facts_lost: int | None
    unread: int
    offloaded: int
    uses_after_clear: int
    reread_tokens: int
    reread_high: int
    reread_prompts: int

    @property
    def fresh(self) -> int:
        """Tokens the model had to process anew: the prompt without what was read."""
        return self.input - self.read

    def without_found(self) -> Row:
        """The row without the higher charge for re-reads, which rests on words found in the texts."""
        return replace(self, reread_high=0, reread_prompts=0)


@dataclass(frozen=True, eq=False)
class Replay:
    """What replaying a trace under a policy gives.

    Parameters
    ----------
    trace : str
        Name of the trace.
    policy : Policy
    rules : CacheRules
    counter : str
        What counted the tokens.
    rows : tuple of Row
        A row a request.
    events : tuple of Event
        What the policy did. The last may carry the index after the last request: it is what the next
        request would have met.
    context : tuple of Block
        The messages the next request would carry, after everything the run did.
    context_tokens : int
        Their size, prefix included.
    facts : tuple of (str, str, bool)
        Label, probe, and whether it is in that last context.
    summarizer_usage : Usage or None
        What a model that wrote the summaries was billed.
    unmet : tuple of Need
        The excerpts that were gone when they were needed, listed ones and found ones, with the result that
        last showed each (:mod:`labkit.replay.uses`). Found ones beside listed ones are not in
        ``uses_after_clear``.
    """

    trace: str
    policy: Policy
    rules: CacheRules
    counter: str
    rows: tuple[Row, ...]
    events: tuple[Event, ...]
    context: tuple[Block, ...]
    context_tokens: int
    facts: tuple[tuple[str, str, bool], ...] = ()
    summarizer_usage: Usage | None = field(default=None)
    unmet: tuple[Need, ...] = ()

    @property
    def input(self) -> int:
        """Input tokens over all requests."""
        return sum(row.input for row in self.rows)

    @property
    def output(self) -> int:
        """Output tokens over all requests."""
        return sum(row.output for row in self.rows)

    @property
    def peak(self) -> int:
        """Largest prompt in tokens."""
        return max((row.input for row in self.rows), default=0)

    @property
    def fresh(self) -> int:
        """Tokens processed anew over all requests, with a cache that never expires."""
        return sum(row.fresh for row in self.rows)

    @property
    def cold(self) -> int:
        """Requests that found a cache entry expired."""
        return sum(row.read_cold < row.read for row in self.rows)

    @property
    def overflow(self) -> int | None:
        """First request larger than the policy's window, or ``None``."""
        return self.passes(self.policy.window)

    def passes(self, tokens: int | None) -> int | None:
        """Index of the first request larger than so many tokens, or ``None``.

        Examples
        --------
        >>> from labkit.files import data_path
        >>> from labkit.record.load import load
        >>> from labkit.replay.replay import replay
        >>> run = load(data_path("traces", "invoice-60.jsonl"))
        >>> replay(run, Policy.nothing()).passes(128_000)
        42
        """
        if tokens is None:
            return None
        return next((row.request for row in self.rows if row.input > tokens), None)

    @property
    def facts_lost(self) -> int | None:
        """The most facts missing at any one request; ``None`` where the trace lists none."""
        lost = [row.facts_lost for row in self.rows if row.facts_lost is not None]
        return max(lost) if lost else None

    @property
    def unread(self) -> int:
        """Results taken away before any request had carried them whole."""
        return self.rows[-1].unread if self.rows else 0

    @property
    def uses_after_clear(self) -> int:
        """Needed excerpts that were no longer in the prompt when they were needed."""
        return self.rows[-1].uses_after_clear if self.rows else 0

    @property
    def reread_tokens(self) -> int:
        """Tokens of calling again for those excerpts, once each."""
        return self.rows[-1].reread_tokens if self.rows else 0

    @property
    def reread_high(self) -> int:
        """The same if each request that relies on one has to call again."""
        return self.rows[-1].reread_high if self.rows else 0

    @property
    def offloaded(self) -> int:
        """Results cut before any request had carried them whole, but kept in a file."""
        return self.rows[-1].offloaded if self.rows else 0

    @property
    def breaks(self) -> int:
        """Requests that do not begin with the whole request before them."""
        return sum(after.shared < before.input for before, after in pairwise(self.rows))

    @property
    def summary(self) -> str | None:
        """Text of the newest summary in the last context."""
        return next((b.text for b in self.context if b.kind == "summary"), None)

    def frame(self) -> pd.DataFrame:
        """The rows as a table: a column a field, and one for each line item."""
        import pandas as pd

        columns = [s for s in Row.__slots__ if s != "lines"]
        table = pd.DataFrame([[getattr(r, c) for c in columns] for r in self.rows], columns=columns)
        table.insert(columns.index("output"), "fresh", table["input"] - table["read"])
        for i, line in enumerate(LINE_ITEMS):
            table[line] = [r.lines[i] for r in self.rows]
        return table
