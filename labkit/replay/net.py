"""What a policy really saves: the reads it spares, less everything that it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from labkit.errors import InputError
from labkit.ladder.given import given
from labkit.price.prices import Prices
from labkit.replay.bill import bill
from labkit.replay.rows import Replay

__all__ = ["Net", "net"]


@dataclass(frozen=True)
class Net:
    """A policy against doing nothing, in US dollars; what costs is below 0.

    Parameters
    ----------
    reads : float
        Cached reads that the policy spares.
    writes : float
        Writes and uncached input, but for what the policy itself put into the context: what an edit breaks
        and what it spares of later writes.
    inserted : float
        The first write of stubs, previews, summaries and records.
    summaries : float
        The calls that wrote them.
    kept_alive : float
        Readings that kept the cache alive.
    reread : tuple of float
        Calling again for what was removed and used later: low and high, see :class:`labkit.Bill`.
    nothing, managed : float
        The two bills.
    disqualified : str
        Why no saving counts; empty if it does.
    fresh, fresh_nothing : float
        Tokens the model had to process anew, a request on average: what a first token waits for.
    """

    reads: float
    writes: float
    inserted: float
    summaries: float
    kept_alive: float
    reread: tuple[float, float]
    nothing: float
    managed: float
    disqualified: str
    fresh: float
    fresh_nothing: float

    @property
    def low(self) -> float:
        """The saving with the higher charge for re-reads."""
        return self.nothing - self.managed - self.reread[1]

    @property
    def high(self) -> float:
        """The saving with the lower charge."""
        return self.nothing - self.managed - self.reread[0]


def net(run: Replay, nothing: Replay, prices: Prices, *, cold: bool = True) -> Net:
    """Take a saving apart, at the trace's own mix of reads and writes.

    Parameters
    ----------
    run : Replay
        Under a policy.
    nothing : Replay
        The same trace under :meth:`Policy.nothing`, by the same cache rules but for the lifetime.
    prices : Prices
        Without bands: a part of a bill has no prompt size of its own.
    cold : bool
        Whether cache entries expire during the run's pauses.

    Returns
    -------
    Net
        ``reads + writes + inserted + summaries + kept_alive`` is ``nothing - managed``.

    Raises
    ------
    InputError
        If the two replays are of different traces or cache rules, the second one edits, or the prices depend on
        the size of the prompt.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.ladder.policy import Policy
    >>> from labkit.ladder.presets import load_policy
    >>> from labkit.price.prices import prices
    >>> from labkit.record.load import load
    >>> from labkit.replay.replay import replay
    >>> run = load(data_path("traces", "invoice-60.jsonl"))
    >>> parts = net(replay(run, load_policy("article")), replay(run, Policy.nothing()), prices("article"), cold=False)
    >>> [round(part, 2) for part in (parts.reads, parts.writes, parts.inserted, *parts.reread, parts.low, parts.high)]
    [1.4, -0.36, -0.01, 0.11, 0.28, 0.76, 0.92]
    """
    for name, value in (("run", run), ("nothing", nothing)):
        given(name, value, Replay, "replay(trace, policy) makes one")
    given("prices", prices, Prices, "prices(model) finds a card")
    if run.trace != nothing.trace or len(run.rows) != len(nothing.rows):
        raise InputError(f"{run.trace} and {nothing.trace} are different runs: compare two replays of one trace")
    if nothing.events:
        raise InputError(
            f"the second replay of {nothing.trace} edits {len(nothing.events)} times: give doing nothing, "
            "replay(trace, Policy.nothing()), and the policy first"
        )
    if replace(run.rules, ttl=nothing.rules.ttl) != nothing.rules:
        raise InputError(
            f"the two replays of {run.trace} have different cache rules, {run.rules.name} and {nothing.rules.name}: "
            "give both the same"
        )
    if prices.bands:
        raise InputError(f"{prices.model} has other prices for larger prompts: give one price, prices.at(tokens)")
    charged, free = bill(run, prices), bill(nothing, prices)
    read, read_nothing = (sum(row.read_cold if cold else row.read for row in r.rows) for r in (run, nothing))
    pinged, pinged_nothing = (sum(row.pinged for row in r.rows) if cold else 0 for r in (run, nothing))
    long = run.policy.lifetime == "1h"
    put = sum(event.added for event in run.events if event.request <= len(run.rows))
    inserted = prices.cost(write_5m=0 if long else put, write_1h=put if long else 0)
    managed, naive = (charged.cold, free.cold) if cold else (charged.cached, free.cached)
    reads = prices.cost(read=read_nothing - read)
    kept = prices.cost(read=pinged - pinged_nothing)
    return Net(
        reads=reads,
        writes=naive - managed - reads + inserted + charged.summaries + kept,
        inserted=-inserted,
        summaries=-charged.summaries,
        kept_alive=-kept,
        reread=(charged.reread, charged.reread_high),
        nothing=naive,
        managed=managed,
        disqualified=_disqualified(run),
        fresh=_a_request(run.input - read, run),
        fresh_nothing=_a_request(nothing.input - read_nothing, nothing),
    )


def _a_request(tokens: int, run: Replay) -> float:
    return tokens / len(run.rows) if run.rows else 0.0


def _disqualified(run: Replay) -> str:
    if run.unread:
        return f"{run.unread} results went before any request had carried them whole"
    if run.facts_lost:
        return f"{run.facts_lost} of {len(run.facts)} facts were missing from a prompt"
    if run.overflow is not None:
        return f"request {run.overflow} does not fit the window"
    return ""
