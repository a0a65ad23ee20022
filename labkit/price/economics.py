"""Closed forms: what one edit, one compaction or one lifetime costs and when it has paid for itself.

They all assume the same plain case: the cache is warm, a request reads all of the standing prefix
and writes what is new, prices do not change with the size of the prompt, and the agent acts as it
would have acted (it does not read again what was cleared). Where that does not hold, replay.

Sizes are tokens. Costs are in *input equivalents*, tokens at the price of uncached input, so they
hold for a whole price list at once; times ``prices.input`` and divided by a million they are dollars.
"""

from __future__ import annotations

import math
from typing import Literal

from labkit.errors import InputError
from labkit.price.prices import Prices

__all__ = [
    "break_cost_multiplier",
    "compaction_break_even",
    "compaction_cost",
    "crossing_read_multiplier",
    "economic_batch",
    "requests_to_repay",
    "ttl_break_even",
    "ttl_choice",
]


def break_cost_multiplier(prices: Prices) -> float:
    """How many times dearer a prefix is on the request that breaks it: written again, not read.

    Examples
    --------
    >>> [round(break_cost_multiplier(Prices.from_multipliers(read=r)), 1) for r in (0.1, 0.05, 0.025)]
    [12.5, 25.0, 50.0]
    """
    _card(prices)
    return _ratio(prices.cache_write_5m, prices.cache_read)


def requests_to_repay(cleared: float, behind: float, prices: Prices, *, stubs: float = 0) -> float:
    """Requests until clearing has paid for the break it makes in the prefix.

    Without the edit each request reads all. With it, the first request writes what stands behind
    the first cleared token, and each request, this one included, is ``cleared`` tokens shorter.
    With ``w`` and ``r`` the prices of a write and a read::

        n * cleared * r  =  behind * (w - r)
        n * (cleared - stubs) * r  =  (behind + stubs) * (w - r)      with stubs left in place

    Parameters
    ----------
    cleared : float
        Tokens removed.
    behind : float
        Tokens that stay and stand after the first removed one: all of them are written again.
    prices : Prices
    stubs : float
        Tokens left in place of the removed ones.

    Returns
    -------
    float
        Rounded up: the requests, the edited one included, after which the edit is no dearer than
        leaving it alone. Infinite if nothing is saved, 0 if nothing stands behind.

    Raises
    ------
    InputError
        If a size is negative.

    Examples
    --------
    20,000 tokens cleared in front of 20,000: 12 requests at a read price of 0.1, 49 at 0.025.

    >>> cheap, cheaper = Prices.from_multipliers(read=0.1), Prices.from_multipliers(read=0.025)
    >>> round(requests_to_repay(20_000, 20_000, cheap), 1)
    11.5
    >>> round(requests_to_repay(20_000, 20_000, cheaper), 1)
    49.0
    """
    _sizes(prices, cleared=cleared, behind=behind, stubs=stubs)
    extra = (behind + stubs) * (prices.cache_write_5m - prices.cache_read)
    return _ratio(max(extra, 0.0), (cleared - stubs) * prices.cache_read)


def compaction_cost(
    span: float, summary: float, prices: Prices, *, ahead: float = 0, behind: float = 0, warm: bool = True
) -> float:
    """Input equivalents that one compaction bills: its own call, and the first write of the summary.

    The span is not written again, the summary is: the call reads what it summarizes (and what
    stands ahead of it), the summary is output, and the next request writes the summary and what
    stands behind it.

    Parameters
    ----------
    span, summary : float
        Tokens summarized, and tokens of the summary.
    prices : Prices
    ahead : float
        Tokens in front of the span that the summarizing call has to read too.
    behind : float
        Tokens kept word for word behind the span: their write replaces their read.
    warm : bool
        Whether the call finds the prefix in the cache; if not, because it changes the tools or the
        system prompt, it pays the input price for it. (After a pause the next request would be
        cold without a compaction too: that case is for a replay.)

    Examples
    --------
    80,000 tokens to 3,500: 0.1 x 80,000 + 5 x 3,500 + 1.25 x 3,500.

    >>> round(compaction_cost(80_000, 3_500, Prices.from_multipliers()))
    29875
    >>> round(compaction_cost(80_000, 3_500, Prices.from_multipliers(), warm=False))
    101875
    """
    _sizes(prices, span=span, summary=summary, ahead=ahead, behind=behind)
    if not prices.input:
        raise InputError(f"the input price of {prices.model} is 0: a cost in input equivalents needs one above 0")
    call = (ahead + span) * (prices.cache_read if warm else prices.input) + summary * prices.output
    after = summary * prices.cache_write_5m + behind * (prices.cache_write_5m - prices.cache_read)
    return (call + after) / prices.input


def compaction_break_even(
    span: float, summary: float, prices: Prices, *, ahead: float = 0, behind: float = 0, warm: bool = True
) -> float:
    """Requests after a compaction until it has paid for itself.

    Each of them carries the summary and not the span. The first one writes the summary, which is in
    :func:`compaction_cost`, and so does not read it::

        n * (span - summary) * r  =  cost - summary * r

    Parameters
    ----------
    span, summary, prices, ahead, behind, warm
        See :func:`compaction_cost`.

    Returns
    -------
    float
        Infinite if the summary is not shorter than the span.

    Examples
    --------
    About 4 requests at a read price of 0.1, 7 at 0.05, between 12 and 13 at 0.025.

    >>> for read in (0.1, 0.05, 0.025):
    ...     print(round(compaction_break_even(80_000, 3_500, Prices.from_multipliers(read=read)), 1))
    3.9
    6.7
    12.4
    """
    cost = compaction_cost(span, summary, prices, ahead=ahead, behind=behind, warm=warm)
    read = prices.cache_read / prices.input
    cost -= summary * read
    return _ratio(cost, (span - summary) * read)


def crossing_read_multiplier(
    naive_fresh: float, naive_read: float, managed_fresh: float, managed_read: float, *, write: float = 1.25
) -> float:
    """The read price below which a policy that saves tokens costs money.

    A policy writes more (it breaks the prefix) and reads less. The two bills are equal where::

        (managed_fresh - naive_fresh) * write  =  (naive_read - managed_read) * read

    Parameters
    ----------
    naive_fresh, naive_read : float
        Tokens written and read over the run without the policy.
    managed_fresh, managed_read : float
        The same with it.
    write : float
        Price of a write as a multiple of the input price.

    Returns
    -------
    float
        Read price as a multiple of the input price; 0 if the policy writes no more, infinite if it
        reads no less.

    Examples
    --------
    The ctxkit article's run: 5,856,377 and 1,286,153 input tokens, of which 213,241 and 310,929 fresh.

    >>> naive, managed = 5_856_377, 1_286_153
    >>> round(crossing_read_multiplier(213_241, naive - 213_241, 310_929, managed - 310_929), 4)
    0.0262
    """
    if not write >= 0:
        raise InputError(f"write is {write}: it is a multiple of the input price, so give 0 or more")
    _sizes(naive_fresh=naive_fresh, naive_read=naive_read, managed_fresh=managed_fresh, managed_read=managed_read)
    return _ratio(max(managed_fresh - naive_fresh, 0) * write, naive_read - managed_read)


def economic_batch(behind: float, growth: float, prices: Prices, *, cold: float = 0.0) -> float:
    """Stale tokens to let pile up before one clear takes them all: the floor that costs least.

    A clear every request breaks the prefix every time; a rare one carries what is stale for long. Let a
    request leave ``growth`` stale tokens behind, and clear after every ``n``. Between two clears on average
    ``growth * (n - 1) / 2`` stale tokens are read a request; a clear writes ``behind`` tokens that would have
    been read. With ``w`` and ``r`` the prices of a write and a read, a request costs beyond the rest::

        r * growth * (n - 1) / 2  +  (w - r) * behind / n

    which is least at ``n * n = 2 * (w - r) * behind / (r * growth)``; the batch is ``n * growth``. It is the
    form of the economic order quantity. Of requests that find the cache cold anyway, a share ``cold``, each
    stale token is written and not read, and a clear breaks nothing: ``r`` becomes
    ``r * (1 - cold) + w * cold``, and ``w - r`` becomes ``(w - r) * (1 - cold)``.

    Parameters
    ----------
    behind : float
        Tokens that a clear always leaves behind the stale ones, such as the protected results. What comes in
        between the stale ones is written again once, whatever the batch, and so does not count.
    growth : float
        Tokens that become stale with a request, less those of their stub.
    prices : Prices
    cold : float
        Share of requests, 0 to 1, that find the cache expired.

    Returns
    -------
    float
        Tokens to free at once, as in :attr:`labkit.Policy.floor`. At most one request's growth: clear at
        every request. Infinite if reads are free: never clear.

    Raises
    ------
    InputError
        If a size is negative, or the share is not between 0 and 1.

    Examples
    --------
    With 20,000 tokens protected and 2,000 more stale a request, 30,000 at a read price of 0.1, twice that
    at 0.025, a third less where one request in ten is cold.

    >>> for read in (0.1, 0.025):
    ...     print(round(economic_batch(20_000, 2_000, Prices.from_multipliers(read=read)), -2))
    30300.0
    62600.0
    >>> round(economic_batch(20_000, 2_000, Prices.from_multipliers(), cold=0.1), -2)
    19600.0
    """
    _sizes(prices, behind=behind, growth=growth)
    _share("cold", cold)
    write, read = prices.cache_write_5m, prices.cache_read
    carried = read * (1 - cold) + write * cold
    return math.sqrt(_ratio(2 * max(write - read, 0.0) * (1 - cold) * behind * growth, carried))


def ttl_break_even(prefix: float, growth: float, prices: Prices) -> float:
    """Share of requests after a pause above which the long lifetime is the cheaper one.

    A pause here is one that the short lifetime does not outlast and the long one does. After it the
    short one writes the whole prefix again; the long one pays more for each new token::

        share * prefix * (w - r)  =  growth * (w_long - w)

    Parameters
    ----------
    prefix : float
        Tokens that stand when a request is sent, on average.
    growth : float
        New tokens a request.
    prices : Prices

    Returns
    -------
    float
        Above 1 the long lifetime never pays.

    Examples
    --------
    50,000 tokens that grow by 2,500 a request: 1 request in 31.

    >>> round(1 / ttl_break_even(50_000, 2_500, Prices.from_multipliers()), 1)
    30.7
    """
    _sizes(prices, prefix=prefix, growth=growth)
    dearer = growth * max(prices.cache_write_1h - prices.cache_write_5m, 0.0)
    return _ratio(dearer, prefix * (prices.cache_write_5m - prices.cache_read))


def ttl_choice(prefix: float, growth: float, pause_share: float, prices: Prices) -> Literal["5m", "1h"]:
    """The cheaper lifetime of cache entries, the short one on a tie.

    Parameters
    ----------
    prefix, growth, prices
        See :func:`ttl_break_even`.
    pause_share : float
        Share of requests, 0 to 1, that follow a pause of more than the short lifetime and less than
        the long one.

    Raises
    ------
    InputError
        If the share is not between 0 and 1.

    Examples
    --------
    >>> card = Prices.from_multipliers()
    >>> ttl_choice(50_000, 2_500, 1 / 20, card), ttl_choice(50_000, 2_500, 1 / 60, card)
    ('1h', '5m')
    """
    _share("pause_share", pause_share)
    return "1h" if pause_share > ttl_break_even(prefix, growth, prices) else "5m"


def _ratio(cost: float, saving: float) -> float:
    """Cost over saving a unit; nothing to pay back takes no time, and no saving never pays."""
    if cost <= 0:
        return 0.0
    return cost / saving if saving > 0 else math.inf


def _sizes(prices: Prices | None = None, **sizes: float) -> None:
    if prices is not None:
        _card(prices)
    for name, value in sizes.items():
        try:
            fits = value >= 0
        except TypeError:
            fits = False
        if not fits:
            raise InputError(f"{name} is {value!r}: it counts tokens, so give 0 or more")


def _card(prices: Prices) -> None:
    if not isinstance(prices, Prices):
        raise InputError(f"prices is {prices!r}: give a price card, such as prices(model) or Prices.from_multipliers()")


def _share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise InputError(f"{name} is {value}: it is a share of the requests, so give 0 to 1")
