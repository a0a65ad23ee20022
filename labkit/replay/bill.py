"""A replay in dollars."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from labkit.ladder.given import given
from labkit.price.prices import Prices
from labkit.record.trace import Usage
from labkit.replay.rows import Replay, Row

__all__ = ["Bill", "bill"]


@dataclass(frozen=True)
class Bill:
    """What a replay costs, in US dollars.

    Parameters
    ----------
    plain : float
        Without a cache.
    cached : float
        With a cache whose entries never expire.
    cold : float
        With a cache whose entries expire during pauses.
    summaries : float
        The summarizer's own calls, contained in each of the three.
    reread : float
        Calling again for what was cleared and needed, as a first charge: each result once, written
        to the cache. Not contained in the three.
    reread_high : float
        The same if each request that relies on one has to call again, and each call is one request more,
        which reads its prompt from the cache.
    prices : Prices
    """

    plain: float
    cached: float
    cold: float
    summaries: float
    reread: float
    reread_high: float
    prices: Prices


def bill(run: Replay, prices: Prices) -> Bill:
    """Price a replay.

    Parameters
    ----------
    run : Replay
    prices : Prices
        A card of ``data/prices.json``; each request is priced at the band its prompt falls into.

    Returns
    -------
    Bill
        What is not read from the cache is written to it, at the price of the policy's lifetime, but for
        what the rules leave uncached. Readings that keep the cache alive are in ``cold``.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.ladder.presets import load_policy
    >>> from labkit.price.prices import prices
    >>> from labkit.record.load import load
    >>> from labkit.replay.replay import replay
    >>> run = replay(load(data_path("traces", "invoice-60.jsonl")), load_policy("article"))
    >>> charged = bill(run, prices("article"))
    >>> f"{charged.plain:.2f} {charged.cached:.2f} {charged.cold:.2f}"
    '4.00 1.60 1.75'
    """
    given("run", run, Replay, "replay(trace, policy) makes one")
    given("prices", prices, Prices, "prices(model) finds a card")
    own = 0.0 if run.summarizer_usage is None else prices.request_cost(run.summarizer_usage)

    def total(usage: Callable[[Row], Usage]) -> float:
        return math.fsum([own, *(prices.request_cost(usage(row)) for row in run.rows)])

    long = run.policy.lifetime == "1h"

    def cached(row: Row, read: int) -> Usage:
        written = row.input - row.uncached - read
        return Usage(row.uncached, read, 0 if long else written, written if long else 0, row.output)

    def again(tokens: int, prompts: int = 0) -> float:
        return prices.cost(read=prompts, write_5m=0 if long else tokens, write_1h=tokens if long else 0)

    return Bill(
        plain=total(lambda row: Usage(uncached=row.input, output=row.output)),
        cached=total(lambda row: cached(row, row.read)),
        cold=total(lambda row: cached(row, row.read_cold)) + prices.cost(read=sum(row.pinged for row in run.rows)),
        summaries=own,
        reread=again(run.reread_tokens),
        reread_high=again(run.reread_high, run.rows[-1].reread_prompts if run.rows else 0),
        prices=prices,
    )
