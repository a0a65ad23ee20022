"""Replaying a trace under a policy: the same actions, another context.

A replay is open-loop. It prices what the agent did under a context it might have had; it does not say
what the model would have done with that context. The loss columns say what was taken away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from labkit.errors import InputError
from labkit.ladder.events import Event, Step
from labkit.ladder.manager import ContextManager
from labkit.ladder.notes import notes_of
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summarizer
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.record.lines import LINE_ITEMS, line_of
from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Block, Trace, Usage
from labkit.replay.caching import ReplayedCache
from labkit.replay.fidelity import Fidelity

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Replay", "Row", "replay"]


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
    read : int
        Read from the cache if entries never expire.
    read_cold : int
        Read from the cache if entries expire after the rules' time to live.
    uncached : int
        Sent without being read from the cache or written to it, in either case.
    output : int
        What the request answered.
    lines : tuple of int
        The prompt by line item, in the order of ``LINE_ITEMS``; the sum is ``input``.
    facts_lost : int or None
        Facts that were said before and are not in this prompt; ``None`` where a trace lists no facts.
    unread : int
        Results taken away, up to here, before any request had carried them whole.
    uses_after_clear : int
        Needed excerpts, up to here, that were no longer in the prompt when they were needed.
    reread_tokens : int
        Tokens, up to here, of calling again for those excerpts, once each.
    """

    request: int
    start: float | None
    input: int
    read: int
    read_cold: int
    uncached: int
    output: int
    lines: tuple[int, ...]
    facts_lost: int | None
    unread: int
    uses_after_clear: int
    reread_tokens: int

    @property
    def fresh(self) -> int:
        """Tokens the model had to process anew: the prompt without what was read."""
        return self.input - self.read


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


def replay(
    trace: Trace,
    policy: Policy,
    rules: CacheRules = ARTICLE_RULES,
    *,
    sizes: Sizes | None = None,
    summarizer: Summarizer | None = None,
) -> Replay:
    """Replay a trace under a policy; written to be read, exact to the token.

    Parameters
    ----------
    trace : Trace
    policy : Policy
    rules : CacheRules
        How the provider caches. The default is the ctxkit article's append-only cache.
    sizes : Sizes, optional
        Default: ``measure(trace)``.
    summarizer : Summarizer, optional
        Default: the extractive one.

    Returns
    -------
    Replay

    Raises
    ------
    InputError
        If the trace has no requests.
    EditRefused
        If the policy edits on the client and the model binds its thinking to the prefix.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.ladder.presets import load_policy
    >>> from labkit.record.load import load
    >>> run = replay(load(data_path("traces", "invoice-60.jsonl")), load_policy("article"))
    >>> f"{run.input:,} tokens, peak {run.peak:,}, {len(run.events)} events"
    '1,286,153 tokens, peak 36,936, 13 events'
    """
    if not trace.requests:
        raise InputError(f"the trace {trace.name} has no requests: nothing can be replayed")
    sizes = sizes or measure(trace)
    lines = _lines(trace)
    seen = 0
    manager = ContextManager(
        policy=policy,
        summarizer=summarizer,
        read_notes=lambda: notes_of(trace.blocks[:seen]),
        count=_remembering(sizes),
        thinking_bound=rules.thinking_bound,
        prefix_tokens=sizes.prefix(trace.requests[0].prefix),
    )
    fidelity = Fidelity(trace, sizes)
    spent = dict.fromkeys(LINE_ITEMS, 0)
    spent["system"] = sizes.system[trace.requests[0].prefix]
    spent["tool_schemas"] = sizes.tools[trace.requests[0].prefix]
    outputs = _outputs(trace, sizes)
    warm, cold = ReplayedCache(rules, expires=False), ReplayedCache(rules, expires=True)
    rows = []
    for request, new in trace.new_blocks():
        for i in new:
            manager.append(trace.blocks[i], sizes.blocks[i])
            spent[lines[i]] += sizes.blocks[i]
            fidelity.appeared(i)
        seen = new.stop
        step = manager.step()
        _sort(step, spent)
        fidelity.edited(step)
        fidelity.needed(request.index)
        spent_warm = warm.request(step, request, manager)
        spent_cold = cold.request(step, request, manager)
        rows.append(
            Row(
                request=request.index,
                start=request.start,
                input=step.total,
                read=spent_warm.read,
                read_cold=spent_cold.read,
                uncached=spent_warm.uncached,
                output=outputs[request.index],
                lines=tuple(spent.values()),
                facts_lost=fidelity.facts_lost,
                unread=fidelity.unread,
                uses_after_clear=fidelity.uses_after_clear,
                reread_tokens=fidelity.reread_tokens,
            )
        )
    for i in range(seen, len(trace.blocks)):
        manager.append(trace.blocks[i], sizes.blocks[i])
        fidelity.appeared(i)
    seen = len(trace.blocks)
    fidelity.edited(manager.step())
    usages = [e.usage for e in manager.events if e.usage is not None]
    return Replay(
        trace=trace.name,
        policy=policy,
        rules=rules,
        counter=sizes.counter.name,
        rows=tuple(rows),
        events=tuple(manager.events),
        context=tuple(manager.blocks()),
        context_tokens=manager.total(),
        facts=tuple((f.label, f.probe, visible) for f, visible in fidelity.facts()),
        summarizer_usage=sum(usages[1:], usages[0]) if usages else None,
    )


def _sort(step: Step, spent: dict[str, int]) -> None:
    for block, size in step.removed:
        spent[line_of(block)] -= size
    for block, size in step.added:
        spent[line_of(block)] += size


def _outputs(trace: Trace, sizes: Sizes) -> dict[int, int]:
    """Output tokens of each request: as recorded, else the size of what the assistant said next."""
    outputs = {r.index: 0 for r in trace.requests}
    for block, size in zip(trace.blocks, sizes.blocks, strict=True):
        if block.role == "assistant" and block.request - 1 in outputs:
            outputs[block.request - 1] += size
    for request in trace.requests:
        if request.usage is not None and request.usage.output_quality == "exact":
            outputs[request.index] = request.usage.output
    return outputs


# A sweep replays one trace thousands of times: what depends on the trace alone is kept with it.
_kept_lines: WeakKeyDictionary[Trace, list[str]] = WeakKeyDictionary()
_kept_counts: WeakKeyDictionary[Sizes, dict[str, int]] = WeakKeyDictionary()


def _lines(trace: Trace) -> list[str]:
    if trace not in _kept_lines:
        _kept_lines[trace] = [line_of(block) for block in trace.blocks]
    return _kept_lines[trace]


def _remembering(sizes: Sizes) -> Callable[[str], int]:
    """The counter of the sizes, which remembers stubs and summaries it has counted."""
    known = _kept_counts.setdefault(sizes, {})

    def count(text: str) -> int:
        tokens = known.get(text)
        if tokens is None:
            tokens = known[text] = sizes.count(text)
        return tokens

    return count
