"""Why tokens were written to the cache: a cause for each request, and the sums."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.record.trace import Trace
from labkit.replay.asrun import AsRun, Prediction, reproduce

__all__ = ["CAUSES", "causes", "why", "writes_by_cause"]

CAUSES = ("growth", "expired", "edit", "unexplained")
"""Why tokens were written: they were new; the entry had died; the context was changed; not known."""


def causes(predictions: Sequence[Prediction]) -> dict[str, int]:
    """Written tokens by what made them necessary.

    Examples
    --------
    >>> causes([Prediction(2, 0, 0, 0, 9_000, 9_500, 900.0, "expired")])["expired"]
    9500
    """
    written = dict.fromkeys(("growth", "expired", "edit", "unexplained"), 0)
    for p in predictions:
        written["growth" if p.cause == "reproduced" else p.cause] += p.written
    return written


def why(trace: Trace, run: AsRun | None = None) -> dict[int, str]:
    """The cause, one of ``CAUSES``, of what each request had to write, by the request's index.

    What was never predicted, such as the first request, counts as growth: all of it was new.
    """
    named = {p.request: "growth" if p.cause == "reproduced" else p.cause for p in (run or reproduce(trace)).predictions}
    return {r.index: named.get(r.index, "growth") for r in trace.requests}


def writes_by_cause(trace: Trace, run: AsRun | None = None) -> dict[str, int]:
    """All tokens the main thread wrote to the cache, by cause.

    Parameters
    ----------
    trace : Trace
    run : AsRun, optional
        Default: :func:`reproduce`.

    Returns
    -------
    dict
        A count for each of ``CAUSES``; together the recorded writes. A request counts whole, so what
        was new after a pause stands under ``expired``.

    Examples
    --------
    >>> from labkit.record.trace import Request, Usage
    >>> usages = [Usage(cache_write_5m=9_000), Usage(cache_read=9_000, cache_write_5m=500), Usage(cache_write_5m=9_900)]
    >>> starts = [0.0, 60.0, 900.0]
    >>> requests = tuple(Request(i + 1, start=s, usage=u) for i, (s, u) in enumerate(zip(starts, usages)))
    >>> writes_by_cause(Trace("tiny", (), requests))
    {'growth': 9500, 'expired': 9900, 'edit': 0, 'unexplained': 0}
    """
    cause = why(trace, run)
    written = dict.fromkeys(CAUSES, 0)
    for request in trace.requests:
        if request.usage is not None:
            written[cause[request.index]] += request.usage.cache_write_5m + request.usage.cache_write_1h
    return written
