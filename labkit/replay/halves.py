"""What a choice is worth: chosen on one half of some sessions, scored on the other, for every way to halve them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb
from random import Random
from statistics import mean, quantiles
from typing import TYPE_CHECKING, Any

from labkit.errors import InputError
from labkit.ladder.policy import Policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.prices import Prices
from labkit.record.edits import unedited
from labkit.record.trace import Trace
from labkit.replay import fastpath
from labkit.replay.choose import holdout
from labkit.replay.fastpath_policies import Columns
from labkit.replay.session_sizes import session_sizes
from labkit.replay.sweep_frame import Gathered, finished
from labkit.replay.sweep_part import Work
from labkit.replay.whatif import session_rules

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Halves", "halves", "sweep_sessions"]

_MOST = 1_000
_SUMMARY = SizedSummarizer(4_000)


@dataclass(frozen=True)
class Halves:
    """How a policy that was chosen on one half does on the other, as shares of doing nothing's bill.

    Parameters
    ----------
    traces, splits : int
        How many traces there are, and how many ways of halving them were tried.
    nothing : int
        Splits in which doing nothing was chosen.
    here, there : float
        Mean saving on the half that was chosen on, and on the other.
    low, high : float
        Between these lie nine in ten of the means on the other half.
    worst, best : float
        Least and most that a choice saved on a single trace of the other half.
    dearer : int
        Splits in which the choice costs more than doing nothing on the other half.
    barred : int
        Splits in which the choice is disqualified on some trace of the other half.
    choices : tuple of (int, int)
        Policies by how often they were chosen, the most frequent first.
    """

    traces: int
    splits: int
    nothing: int
    here: float
    there: float
    low: float
    high: float
    worst: float
    best: float
    dearer: int
    barred: int
    choices: tuple[tuple[int, int], ...]

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        return asdict(self)


def halves(frame: pd.DataFrame, *, seed: int = 0) -> Halves:
    """Choose on each half of the traces of a sweep and score on the rest.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`labkit.sweep`, with two traces or more. Of an odd number the smaller half is chosen on.
    seed : int
        Which splits are drawn where there are more than a thousand.

    Raises
    ------
    InputError
        If there is nothing to halve.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(t, p, 10.0, s) for t, saved in (("a", 3.0), ("b", -1.0)) for p, s in ((0, 0.0), (1, saved))]
    >>> table = pd.DataFrame(rows, columns=["trace", "policy", "cold", "net_low"]).assign(events=1, disqualified="")
    >>> found = halves(table)
    >>> found.splits, found.nothing, found.here, found.there, found.dearer
    (2, 1, 0.15, -0.05, 1)
    """
    names = list(dict.fromkeys(frame["trace"]))
    if len(names) < 2:
        raise InputError(f"the sweep has {len(names)} traces: give two or more to halve them")
    size = len(names) // 2
    splits: Sequence[tuple[str, ...]]
    if comb(len(names), size) <= _MOST:
        splits = list(combinations(names, size))
    else:
        rng = Random(seed)
        splits = [tuple(rng.sample(names, size)) for _ in range(_MOST)]
    parts = dict(list(frame.groupby("trace")))
    out = frame["disqualified"] != ""
    barred = {(str(t), int(p)) for t, p in zip(frame["trace"][out], frame["policy"][out], strict=True) if p}
    here, there, bars = [], [], 0
    import pandas as pd

    for split in splits:
        rest = [name for name in names if name not in split]
        a, b = holdout(pd.concat([parts[n] for n in split]), pd.concat([parts[n] for n in rest]))
        here.append(a)
        there.append(b)
        bars += any((name, b.policy) in barred for name in rest)
    means = [choice.saving for choice in there]
    cuts = quantiles(means, n=20, method="inclusive") if len(means) > 1 else means * 19
    return Halves(
        traces=len(names),
        splits=len(splits),
        nothing=sum(choice.nothing for choice in here),
        here=round(mean(choice.saving for choice in here), 4),
        there=round(mean(means), 4),
        low=round(cuts[0], 4),
        high=round(cuts[-1], 4),
        worst=round(min(choice.worst for choice in there), 4),
        best=round(max(choice.best for choice in there), 4),
        dearer=sum(saving < -1e-9 for saving in means),
        barred=bars,
        choices=tuple(Counter(choice.policy for choice in here).most_common()),
    )


def sweep_sessions(traces: Sequence[Trace], policies: Sequence[Policy], prices: Prices) -> pd.DataFrame:
    """Many policies on recorded sessions, each by its own cache rules and fitted sizes, unedited.

    Parameters
    ----------
    traces : sequence of Trace
        Sessions of which :func:`labkit.replay.claims.why_not` says nothing. They are named by their place: two
        files can have one name.
    policies : sequence of Policy
    prices : Prices
    """
    table = Columns(policies).after(Policy.nothing())
    engine = "fast" if fastpath.available() else "reference"
    gathered = Gathered(len(traces), table.length)
    work = None
    for place, trace in enumerate(traces):
        base = unedited(trace)
        work = Work(table, session_rules(trace), prices, _SUMMARY, engine, table.length)
        rows = work.part(base, 0, session_sizes(trace, base)).assign(trace=f"session {place + 1}")
        gathered.put(place * table.length, rows)
    if work is None:
        raise InputError("no sessions to sweep: give at least one")
    return finished(gathered.frame(), table, work.shown(), prices, _SUMMARY.call)
