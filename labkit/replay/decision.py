"""A decision about a harness, written so that it can be proved wrong."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from labkit.errors import InputError
from labkit.price.prices import Prices
from labkit.replay.advice import Advice, advise
from labkit.replay.asrun import LONG
from labkit.replay.audit import Audit
from labkit.replay.audit_cost import price_on
from labkit.replay.lifetime import recorded_lifetime

__all__ = ["Decision", "break_even", "decide"]


@dataclass(frozen=True)
class Decision:
    """One change to a harness, or none, with what is expected of it.

    Parameters
    ----------
    session : str
        What it rests on.
    change, where : str
        What is changed and where it is set; ``nothing`` and empty for no change.
    reason : str
        Why nothing; empty for a change.
    saving : tuple of float or None
        Low and high, in dollars at list price, against what was recorded. ``None`` for no change.
    recorded : float or None
        What the main thread cost as recorded; ``None`` where that is not known.
    unread, uses_low, uses_high : int
        What the change would have taken away.
    requests : int
        Of the session's main thread.
    score : float or None
        Of the as-run replay.
    wrong_if : tuple of str
        What would prove it wrong; each can be measured.
    today, again : date
        When it was made, and when to measure again.
    """

    session: str
    change: str
    where: str
    reason: str
    saving: tuple[float, float] | None
    recorded: float | None
    unread: int
    uses_low: int
    uses_high: int
    requests: int
    score: float | None
    wrong_if: tuple[str, ...]
    today: date
    again: date

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        return {
            "session": self.session,
            "change": self.change,
            "where": self.where,
            "reason": self.reason,
            "saving_usd": None if self.saving is None else {"low": self.saving[0], "high": self.saving[1]},
            "recorded_usd": self.recorded,
            "loss": {"unread": self.unread, "uses_after_clear": [self.uses_low, self.uses_high]},
            "as_run_score": self.score,
            "wrong_if": list(self.wrong_if),
            "decided": self.today.isoformat(),
            "measure_again": self.again.isoformat(),
        }


def decide(report: Audit, advice: Advice | None = None, *, today: date | None = None, days: int = 14) -> Decision:
    """Turn the advice for a session into a record that can be checked later.

    Parameters
    ----------
    report : Audit
        Of a recorded session.
    advice : Advice, optional
        Default: :func:`labkit.replay.advice.advise`.
    today : date, optional
        Default: this day in UTC.
    days : int
        Until the next measurement.

    Raises
    ------
    InputError
        If ``days`` is under 1.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> from labkit.replay.audit import audit
    >>> decision = decide(audit(load(data_path("sessions", "sample"))), today=date(2026, 12, 1))
    >>> decision.change, decision.again.isoformat()
    ('nothing', '2026-12-15')
    """
    if days < 1:
        raise InputError(f"days is {days}: give 1 or more, 14 for two weeks")
    advice = advice or advise(report)
    today = today or datetime.now(UTC).date()
    answer = None if advice.nothing else advice.answer
    known = report.trace.usage is not None and report.cost.exact is not None
    return Decision(
        session=report.name,
        change=advice.change,
        where=advice.where,
        reason=advice.reason,
        saving=None if answer is None else (answer.against_recorded[0], answer.against_recorded[2]),
        recorded=report.cost.main if known else None,
        unread=0 if answer is None else answer.unread,
        uses_low=0 if answer is None else answer.uses_low,
        uses_high=0 if answer is None else answer.uses_high,
        requests=report.requests,
        score=report.as_run.score,
        wrong_if=_wrong_if(report, advice),
        today=today,
        again=today + timedelta(days=days),
    )


def break_even(card: Prices) -> float | None:
    """Share of the written tokens that must stand after a pause before a 1-hour lifetime pays.

    Parameters
    ----------
    card : Prices

    Returns
    -------
    float or None
        ``None`` where no longer lifetime is sold.

    Notes
    -----
    Of ``w`` written tokens ``e`` follow a pause that the longer entry outlives. They are read instead
    of written, and all other writes become dearer; the two are equal where
    ``e / w = (long - short) / (long - read)``.

    Examples
    --------
    >>> from labkit.price.prices import prices
    >>> round(break_even(prices("claude-sonnet-4-6")), 4)
    0.3947
    """
    if not card.cache_write_1h or card.cache_write_1h <= card.cache_write_5m:
        return None
    return (card.cache_write_1h - card.cache_write_5m) / (card.cache_write_1h - card.cache_read)


def _wrong_if(report: Audit, advice: Advice) -> tuple[str, ...]:
    found = []
    answer = advice.answer
    if not advice.nothing and answer is not None and report.requests:
        at_most = (answer.recorded - answer.against_recorded[0]) / report.requests
        found.append(
            f"labkit compare shows more than ${at_most:,.4f} a request for the main thread "
            f"(now ${answer.recorded / report.requests:,.4f})"
        )
        if answer.events:
            rereads = sum(s.kind == "reread_after_edit" for s in report.symptoms)
            found.append(
                f"files are read again after the agent's own edit of them more than {rereads} times in "
                f"{report.requests} requests, or work that was done is done again"
            )
        expired = report.writes_by_cause["expired"] / report.requests
        if expired and not answer.events and answer.lifetime == "1h":
            found.append(f"labkit compare shows {expired:,.0f} tokens a request or more under 'written: expired'")
        return tuple(found)
    shares = _after_pauses(report)
    if shares is not None:
        found.append(
            f"in later sessions {shares[1]:.0%} or more of the written tokens stand after pauses of 5 minutes to an "
            f"hour (here {shares[0]:.0%}): then entries that live 1 hour pay"
        )
    found.append("labkit audit of a later session names a setting whose saving is above $0 at its low end")
    return tuple(found)


def _after_pauses(report: Audit) -> tuple[float, float] | None:
    """The share that a 1-hour lifetime would have read instead, and from which share on it pays."""
    written = report.usage.cache_write_5m + report.usage.cache_write_1h
    last = next((r for r in reversed(report.trace.requests) if r.model), None)
    if not written or last is None or recorded_lifetime(report.trace) == "1h":
        return None
    try:
        bar = break_even(price_on(last))
    except InputError:
        return None
    expired = [p for p in report.as_run.predictions if p.cause == "expired" and p.pause is not None and p.pause <= LONG]
    return None if bar is None else (sum(min(p.baseline - p.read, p.written) for p in expired) / written, bar)
