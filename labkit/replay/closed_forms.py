"""The closed forms of :mod:`labkit.price.economics` against what a sweep finds: where they hold and where they part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from labkit.errors import InputError
from labkit.ladder.policy import Policy
from labkit.price.cache import CacheRules
from labkit.price.economics import economic_batch, ttl_break_even
from labkit.price.prices import Prices
from labkit.record.sizes import measure
from labkit.record.trace import Block, Request, Trace
from labkit.replay.sweep import sweep

__all__ = ["BatchCheck", "LifetimeCheck", "batch_check", "lifetime_check", "plain_run", "steady_run"]

_FLOORS = 200
_RULES = CacheRules(minimum=0, ttl_1h=3_600)  # the form reads every prefix, however short


@dataclass(frozen=True)
class BatchCheck:
    """The floor that the formula names, and what a sweep over floors says of it.

    Parameters
    ----------
    formula : float
        :func:`labkit.price.economics.economic_batch` of the run's averages, in tokens.
    best : int
        The cheapest floor of the sweep.
    dearer : float
        How much more the formula's floor costs than the best, as a share.
    nothing : float
        How much more doing nothing costs than the best, as a share.
    """

    formula: float
    best: int
    dearer: float
    nothing: float


@dataclass(frozen=True)
class LifetimeCheck:
    """One pause in a steady run: the request from which on it pays for the long lifetime.

    Parameters
    ----------
    formula : float
        By :func:`labkit.price.economics.ttl_break_even`.
    swept : int
        The first one at which the sweep finds the long lifetime cheaper; 0 for none.
    """

    formula: float
    swept: int


def steady_run(requests: int = 300, size: int = 400, *, task: int = 2_000, pause: int = 0) -> Trace:
    """A run that meets the assumptions: each request brings one call and one result of the same size.

    Parameters
    ----------
    requests, size, task : int
        Requests, and words of a result and of the task.
    pause : int
        Before this request comes a pause of ten minutes; 0 for never.

    Examples
    --------
    >>> run = steady_run(4, 10, pause=3)
    >>> len(run.blocks), [request.start for request in run.requests]
    (9, [0.0, 20.0, 620.0, 640.0])
    """
    blocks = [Block("text", "user", "word " * task, request=1)]
    requested, now = [], 0.0
    for i in range(1, requests + 1):
        blocks.append(Block("call", "assistant", "look", request=i, tool="look", call_id=f"c{i}"))
        blocks.append(Block("result", "tool", "word " * size, request=i, tool="look", call_id=f"c{i}"))
        now += 0.0 if i == 1 else 600.0 if i == pause else 20.0
        requested.append(Request(i, start=now))
    return Trace("steady", tuple(blocks), tuple(requested))


def plain_run(trace: Trace) -> Trace:
    """A run without what the formulas leave out: no pauses, and nothing is used later."""
    return replace(trace, requests=tuple(replace(r, start=None) for r in trace.requests), needs=(), facts=())


def batch_check(trace: Trace, keep: int, prices: Prices) -> BatchCheck:
    """Clear at every chance, with every floor: the best of them, and the one of the formula.

    Parameters
    ----------
    trace : Trace
    keep : int
        Results that stay, 1 or more.
    prices : Prices

    Examples
    --------
    >>> found = batch_check(steady_run(120), 10, Prices.from_multipliers())
    >>> round(found.formula), found.dearer < 0.01
    (5863, True)
    """
    if keep < 1:
        raise InputError(f"keep is {keep}: give 1 or more, with 0 the agent has not read what is cleared")
    sizes, requests = measure(trace), len(trace.requests)
    results = sum(size for size, block in zip(sizes.blocks, trace.blocks, strict=True) if block.kind == "result")
    first = sum(size for size, block in zip(sizes.blocks, trace.blocks, strict=True) if block.request <= 1)
    turn = (sum(sizes.blocks) - first) / max(requests - 1, 1)
    # The newest of the kept results is new to the request that clears, and is written in any case.
    formula = economic_batch((keep - 1) * turn, results / requests, prices)
    base = Policy(window=None, trigger=1, keep=keep, floor=0, stub_text="[gone]", compact_above=None)
    step = max(sum(sizes.blocks) // _FLOORS, 1)
    floors = [*range(0, step * _FLOORS, step), round(min(formula, sum(sizes.blocks)))]
    frame: Any = sweep(trace, {"floor": floors}, base=base, prices=prices)
    frame["paid"] = frame["cold"] + frame["reread_dear"]
    nothing, swept = frame["paid"].iloc[0], frame.iloc[1:]
    best = swept.loc[swept["paid"].idxmin()]
    least = min(best["paid"], nothing)
    return BatchCheck(
        formula, int(best["floor"]), float(swept["paid"].iloc[-1] / least - 1), float(nothing / least - 1)
    )


def lifetime_check(prices: Prices, requests: int = 60, size: int = 400) -> LifetimeCheck:
    """A steady run with one pause, at every place: where the long lifetime begins to be cheaper.

    Parameters
    ----------
    prices : Prices
    requests, size : int
        As for :func:`steady_run`; the run starts with a short task.

    Examples
    --------
    >>> found = lifetime_check(Prices.from_multipliers(), requests=20)
    >>> round(found.formula, 1), found.swept
    (14.0, 15)
    """
    swept = 0
    for pause in range(requests, 1, -1):
        run = steady_run(requests, size, task=1, pause=pause)
        frame = sweep(run, {"lifetime": ["5m", "1h"]}, base=Policy.nothing(), rules=_RULES, prices=prices)
        if frame["cold"].iloc[2] >= frame["cold"].iloc[1]:
            break
        swept = pause
    # One pause in so many requests is the share; the prefix that stands at request p is p - 1 growths.
    return LifetimeCheck(1 + requests * ttl_break_even(1, 1, prices), swept)
