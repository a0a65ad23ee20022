"""Choosing from a sweep: the frontier of saving against loss, its knee, and how a choice does elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Choice", "choose", "frontier", "holdout", "knee"]


@dataclass(frozen=True)
class Choice:
    """A policy of a sweep, by the mean of its saving over some traces.

    Parameters
    ----------
    policy : int
        Its number in the sweep; 0 is doing nothing.
    saving : float
        Share of doing nothing's bill that it saves on average, the higher charge for re-reads paid.
    worst, best : float
        The same on the traces where it does worst and best.
    traces : int
    """

    policy: int
    saving: float
    worst: float
    best: float
    traces: int

    @property
    def nothing(self) -> bool:
        """Whether doing nothing was chosen."""
        return self.policy == 0


def frontier(frame: pd.DataFrame) -> pd.DataFrame:
    """The policies of one trace that no other beats both in net cost and in loss.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`labkit.sweep`, with one trace.

    Returns
    -------
    DataFrame
        By falling loss; loss is ``uses_after_clear``. Disqualified policies are left out; doing nothing is
        in it unless a policy loses nothing and costs less.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(0, 0, 10.0), (1, 3, 6.0), (2, 3, 7.0), (3, 5, 6.5), (4, 9, 5.0)]
    >>> table = pd.DataFrame(rows, columns=["policy", "uses_after_clear", "cold"])
    >>> table["trace"], table["disqualified"], table["net_low"] = "a", "", 10.0 - table["cold"]
    >>> list(frontier(table)["policy"])
    [4, 1, 0]
    """
    _one(frame)
    order = ["uses_after_clear", "net_low", "policy"]
    known = frame[frame["disqualified"] == ""].sort_values(order, ascending=[True, False, True])
    best = float("-inf")
    keep = []
    for index, saving in zip(known.index, known["net_low"].tolist(), strict=True):
        if saving > best + 1e-12:
            best = saving
            keep.append(index)
    return frame.loc[keep[::-1]]


def knee(frame: pd.DataFrame) -> int:
    """The policy at the bend of a frontier: farthest from the line between its two ends.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`frontier`.

    Returns
    -------
    int
        Number of the policy; with fewer than three points the last, which loses least.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"policy": [4, 1, 0], "uses_after_clear": [9, 1, 0], "net_low": [5.0, 4.5, 0.0]})
    >>> knee(table)
    1
    """
    if len(frame) < 3:
        return int(frame["policy"].iloc[-1])
    x: Any
    y: Any
    x, y = frame["uses_after_clear"].to_numpy(float), frame["net_low"].to_numpy(float)
    x, y = (x - x.min()) / (x.max() - x.min()), (y - y.min()) / ((y.max() - y.min()) or 1.0)
    above = y - (y[-1] + (y[0] - y[-1]) * (x - x[-1]) / (x[0] - x[-1]))
    return int(frame["policy"].iloc[int(above.argmax())])


def choose(frame: pd.DataFrame, *, margin: float = 0.005) -> Choice:
    """The policy that saves most on average over the traces of a sweep, or doing nothing.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`labkit.sweep`.
    margin : float
        Share of the bill below which two savings are a tie. A tie goes to the policy that acts less often, and
        doing nothing never acts.

    Returns
    -------
    Choice
        One that is disqualified on any trace is not chosen.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({
    ...     "trace": ["a", "a", "b", "b"], "policy": [0, 1, 0, 1], "cold": [10.0, 6.0, 10.0, 9.0],
    ...     "net_low": [0.0, 4.0, 0.0, -1.0], "events": [0, 5, 0, 5], "disqualified": ["", "", "", ""],
    ... })
    >>> choose(table)
    Choice(policy=1, saving=0.15, worst=-0.1, best=0.4, traces=2)
    """
    shares, events, barred = _shares(frame)
    mean: Any = shares.mean(axis=1).where(~barred, float("-inf"))
    good = mean[mean >= mean.max() - margin]
    simplest = events.loc[good.index].groupby(level=0).sum().idxmin()
    chosen = 0 if 0 in good.index else simplest
    return _choice(shares, int(chosen))


def holdout(train: pd.DataFrame, test: pd.DataFrame, *, margin: float = 0.005) -> tuple[Choice, Choice]:
    """Choose on some traces and score the choice on others.

    Parameters
    ----------
    train, test : DataFrame
        Of the same sweep on different traces.

    Returns
    -------
    Choice, Choice
        The same policy, on either.

    Raises
    ------
    InputError
        If the second sweep lacks the policy.
    """
    chosen = choose(train, margin=margin)
    shares, _, _ = _shares(test)
    if chosen.policy not in shares.index:
        raise InputError(f"policy {chosen.policy} is not in the second sweep: sweep the same grid on both")
    return chosen, _choice(shares, chosen.policy)


def _shares(frame: Any) -> tuple[Any, Any, Any]:
    """Saving as a share of doing nothing by policy and trace; events; and whether a policy is disqualified."""
    nothing = frame.loc[frame["policy"] == 0].set_index("trace")["cold"]
    table = frame.assign(share=frame["net_low"] / frame["trace"].map(nothing))
    shares = table.pivot(index="policy", columns="trace", values="share")
    barred = (table["disqualified"] != "").groupby(table["policy"]).any()
    events = table.groupby("policy")["events"].sum()
    # Doing nothing can overflow a window, and is still what there is.
    return shares, events, barred & (barred.index != 0)


def _choice(shares: Any, policy: int) -> Choice:
    row = shares.loc[policy]
    mean, worst, best = (round(float(v), 6) for v in (row.mean(), row.min(), row.max()))
    return Choice(policy, mean, worst, best, len(row))


def _one(frame: pd.DataFrame) -> None:
    if frame["trace"].nunique() != 1:
        raise InputError(f"a frontier is of one trace, and this sweep has {frame['trace'].nunique()}: take one of them")
