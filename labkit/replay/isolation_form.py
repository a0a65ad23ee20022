"""When a child is the cheaper way, as a formula: what it adds, what it spares, and where the two are equal.

The plain case: the cache is warm, a request reads all of the prompt before it and writes what is new, calls
and results are all of one size, prices do not change with the size of the prompt, every prefix is large
enough to be cached, and agent and child act alike. Where that does not hold, price the replays:
:func:`labkit.replay.isolation_cost.sides`.

With ``w``, ``r``, ``o`` the prices of a write, a read and output, *n* calls that add *S* tokens to a parent of
*P*, a brief of *b*, a return of *k*, a child's prefix of *F* and *R* requests left, child less inline is::

    fresh   w(F + 2b + k) + o(b + k) + r[ n(F + b) - (n-1)P - (R-1)(S - b - k) ]
    fork    w(2b + k)     + o(b + k) + r[ 2P + nb           - (R-1)(S - b - k) ]
    script  w(b + k - S)  + o(b - A) - r[ (n-1)P + S(n-1)/2 + (R-1)(S - b - k) ]

A child's own requests write the stretch and re-read its growing part as the parent's would, so that cancels;
``2b`` because the brief is written in the call and in the child's prompt. A script of *b* tokens replaces *A*
tokens of calls. All are linear in each of the variables, so a break-even is the difference over its slope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal

from labkit.errors import InputError
from labkit.price.prices import PER, Prices

__all__ = ["BreakEven", "Work", "break_even", "difference", "parts"]

Variable = Literal["parent", "calls", "returned", "left", "prefix"]

_STEP = 1_000


@dataclass(frozen=True)
class Work:
    """A piece of work that could be handed away.

    Parameters
    ----------
    parent : float
        Tokens of the parent's prompt when the work begins.
    stretch : float
        Tokens that its calls and results add.
    calls : float
        Requests that it takes.
    returned : float
        Tokens that come back.
    left : float
        The parent's requests afterwards; the first carries the last result, or the return.
    prefix : float
        Tokens of the child's system prompt and tool schemas.
    brief : float
        Tokens of what the child is told; of a script, the script.
    said : float
        Tokens of the stretch that are calls and thus output; only a script spares them.
    warm : float
        Tokens of the child's prefix that are in the cache already, because another child has the same.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    parent: float
    stretch: float
    calls: float
    returned: float
    left: float
    prefix: float = 20_000
    brief: float = 0
    said: float = 0
    warm: float = 0

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            least = 1 if f.name in ("calls", "left") else 0
            if not value >= least:
                raise InputError(f"{f.name} is {value}: give {least} or more")
        if self.warm > self.prefix:
            raise InputError(f"warm is {self.warm}, over the prefix of {self.prefix}: it is a part of it")


def parts(work: Work, prices: Prices, how: str = "fresh") -> dict[str, float]:
    """Child less inline in US dollars, by cause; what is spared is below 0.

    Parameters
    ----------
    work : Work
    prices : Prices
        Without bands, see :meth:`labkit.Prices.at`.
    how : {"fresh", "fork", "script"}

    Returns
    -------
    dict
        ``parent not re-read``, ``stretch not carried``, ``own prefix``, ``brief and return``,
        ``stretch not written``; a fork's first is above 0, because it takes two requests more.

    Raises
    ------
    InputError
        If prices depend on the prompt's size, or ``how`` is unknown.

    Examples
    --------
    Ten calls, 40,000 tokens, a parent of 120,000: most is spared by not reading the parent nine times.

    >>> work = Work(120_000, 40_000, 10, 200, 5)
    >>> for cause, dollars in parts(work, Prices.from_multipliers()).items():
    ...     print(f"{cause:20}{dollars:8.4f}")
    parent not re-read   -0.3240
    stretch not carried  -0.0478
    own prefix            0.1350
    brief and return      0.0037
    stretch not written   0.0000
    """
    if prices.bands:
        raise InputError(f"{prices.model} has other prices for larger prompts: give one price, prices.at(tokens)")
    w, r, o = prices.cache_write_5m / PER, prices.cache_read / PER, prices.output / PER
    n, b, k = work.calls, work.brief, work.returned
    carried = -r * (work.left - 1) * (work.stretch - b - k)
    if how == "fresh":
        again, own = -(n - 1) * r * work.parent, w * work.prefix - work.warm * (w - r) + n * r * work.prefix
        told, spared = w * (2 * b + k) + n * r * b + o * (b + k), 0.0
    elif how == "fork":
        again, own = 2 * r * work.parent, 0.0
        told, spared = w * (2 * b + k) + n * r * b + o * (b + k), 0.0
    elif how == "script":
        again, own = -(n - 1) * r * work.parent, 0.0
        told = w * (b + k) + o * (b - work.said)
        spared = -w * work.stretch - r * work.stretch * (n - 1) / 2
    else:
        raise InputError(f"how is {how!r}: give 'fresh', 'fork' or 'script'")
    return {
        "parent not re-read": again,
        "stretch not carried": carried,
        "own prefix": own,
        "brief and return": told,
        "stretch not written": spared,
    }


def difference(work: Work, prices: Prices, how: str = "fresh") -> float:
    """Child less inline in US dollars; below 0 the child is the cheaper way.

    Examples
    --------
    >>> [round(difference(Work(p, 40_000, 10, 200, 5), Prices.from_multipliers()), 4) for p in (20_000, 120_000)]
    [0.037, -0.233]
    """
    return math.fsum(parts(work, prices, how).values())


@dataclass(frozen=True)
class BreakEven:
    """Where both ways cost the same.

    Parameters
    ----------
    at : float
        Value of the variable; may lie outside what is possible, infinite where the variable does not matter.
    cheaper : {"above", "below", "always", "never"}
        Where the child is the cheaper way, among values that are possible.
    """

    at: float
    cheaper: Literal["above", "below", "always", "never"]


def break_even(work: Work, prices: Prices, variable: Variable = "parent", how: str = "fresh") -> BreakEven:
    """The value of one variable at which a child costs as much as doing it inline, all else as it is.

    Parameters
    ----------
    work : Work
    prices : Prices
    variable : {"parent", "calls", "returned", "left", "prefix"}
        ``calls`` is the length of the stretch: its tokens a call stay, so twice the calls add twice the tokens.
    how : {"fresh", "fork", "script"}
        ``calls`` not for a script, whose saving grows with the square of them.

    Examples
    --------
    >>> work, card = Work(120_000, 40_000, 10, 200, 5), Prices.from_multipliers()
    >>> for name in ("parent", "calls", "returned", "left"):
    ...     found = break_even(work, card, name)
    ...     print(name, round(found.at, 1), found.cheaper)
    parent 33700.0 above
    calls 3.3 above
    returned 11879.7 below
    left -14.5 always
    """
    if variable not in ("parent", "calls", "returned", "left", "prefix"):
        raise InputError(f"variable is {variable!r}: give parent, calls, returned, left or prefix")
    if variable == "calls" and how == "script":
        raise InputError("a script's saving grows with the square of its calls: price it for each number of them")
    least = 1.0 if variable in ("calls", "left") else work.warm if variable == "prefix" else 0.0
    low = difference(_with(work, variable, least), prices, how)
    # A long step, so that little is lost in the difference of two sums.
    slope = (difference(_with(work, variable, least + _STEP), prices, how) - low) / _STEP
    if abs(slope) < 1e-15:
        return BreakEven(math.inf, "always" if low < 0 else "never")
    at = least - low / slope
    if at <= least:
        return BreakEven(at, "always" if slope < 0 else "never")
    return BreakEven(at, "above" if slope < 0 else "below")


def _with(work: Work, variable: Variable, value: float) -> Work:
    if variable == "calls":
        scale = value / work.calls
        return replace(work, calls=value, stretch=work.stretch * scale, said=work.said * scale)
    return replace(work, **{variable: value})
