"""A replay in dollars."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from labkit.price.prices import Prices
from labkit.record.trace import Usage
from labkit.replay.replay import Replay, Row

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
    prices : Prices
    """

    plain: float
    cached: float
    cold: float
    summaries: float
    reread: float
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
        What is not read from the cache is written to it at the short lifetime's price, but for what
        the rules leave uncached.

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
    own = 0.0 if run.summarizer_usage is None else prices.request_cost(run.summarizer_usage)

    def total(usage: Callable[[Row], Usage]) -> float:
        return math.fsum([own, *(prices.request_cost(usage(row)) for row in run.rows)])

    return Bill(
        plain=total(lambda row: Usage(uncached=row.input, output=row.output)),
        cached=total(lambda row: _cached(row, row.read)),
        cold=total(lambda row: _cached(row, row.read_cold)),
        summaries=own,
        reread=prices.cost(write_5m=run.reread_tokens),
        prices=prices,
    )


def _cached(row: Row, read: int) -> Usage:
    written = row.input - row.uncached - read
    return Usage(uncached=row.uncached, cache_read=read, cache_write_5m=written, output=row.output)
