"""The one long result of support-40: a gateway's raw log in which two lines matter."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

from labkit.record.generate_support.case import Case

__all__ = ["gateway_log", "timeouts"]

LOG_CHARACTERS = 66_000
"""Length of the log; with identifiers this dense it is about 30,000 tokens."""

_ERRORS = (
    "CardDeclinedError: issuer said no",
    "InsufficientFundsError: limit of the day reached",
    "ExpiredCardError: card is past its date",
    "ChallengeAbandonedError: customer closed the page of the bank",
    "DuplicateAuthorisationError: authorised a moment ago",
)
TIMEOUT = "GatewayTimeoutError: no answer to capture within 30 s"
_EVENTS = ("auth.requested", "auth.answered", "capture.requested", "capture.answered", "webhook.sent", "risk.scored")
_HEX = "0123456789abcdef"


def _hex(rng: Random, n: int) -> str:
    return "".join(rng.choice(_HEX) for _ in range(n))


def _line(at: datetime, event: str, rest: str) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d} {event} {rest}"


def _other(at: datetime, rng: Random) -> str:
    """An event of some other order."""
    event = rng.choice(_EVENTS)
    rest = f"req_{_hex(rng, 12)} order=FL-{rng.randrange(10_000, 99_999)} amount={rng.randrange(900, 39_900) / 100:.2f}"
    rest += f" card={rng.randrange(1_000, 9_999)} key={_hex(rng, 8)}-{_hex(rng, 6)} node=gw-{rng.randrange(1, 7)}"
    if event.endswith("answered"):
        rest += f" ms={rng.randrange(90, 1_900)} " + (rng.choice(_ERRORS) if rng.random() < 0.12 else "code=00")
    return _line(at, event, rest)


def gateway_log(case: Case, rng: Random) -> str:
    """The export: every event of two hours, the two of this case among them.

    The late capture is the first; the retry with its new key, which the shop took for the only
    payment, is the second.
    """
    lines: list[str] = []
    at = datetime.fromisoformat(case.day) + timedelta(hours=13, seconds=rng.randrange(20))
    paid = datetime.fromisoformat(case.day) + timedelta(minutes=845, seconds=2)
    gap = timedelta(seconds=int(case.gap))
    ours = [
        _line(
            paid + gap,
            "capture.requested",
            f"order={case.order} amount={case.total} card={case.card} key={case.key2} attempt=2 after timeout",
        ),
        _line(
            paid + gap + timedelta(seconds=9),
            "capture.late",
            f"{case.late_request} order={case.order} amount={case.total} key={case.key1} booked as {case.late}",
        ),
    ]
    length = 0
    while length < LOG_CHARACTERS or ours:
        at += timedelta(milliseconds=rng.randrange(200, 22_000))
        while ours and ours[0][:19] < f"{at:%Y-%m-%dT%H:%M:%S}":
            lines.append(ours.pop(0))
        lines.append(_other(at, rng))
        length += len(lines[-1]) + 1
    return "\n".join([*lines, f"end of export, {len(lines)} events"])


def timeouts(case: Case, rng: Random) -> str:
    """The search for the error: a cluster of timeouts, none of which names a capture."""
    start = datetime.fromisoformat(case.day) + timedelta(minutes=840)
    found = []
    for i in range(18):
        order = case.order if i == 9 else f"FL-{rng.randrange(10_000, 99_999)}"
        at = start + timedelta(seconds=40 * i + rng.randrange(40))
        found.append(_line(at, "client.gave_up", f"order={order} node=gw-3 waited=30000 {TIMEOUT}"))
        found.append(
            _line(
                at + timedelta(seconds=1),
                "client.retry",
                f"order={order} node=gw-{rng.randrange(4, 7)} attempt=2 in {rng.randrange(200, 900)} ms",
            )
        )
    return "\n".join([*found, "18 matches, 1 page"])
