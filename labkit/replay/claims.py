"""Claims about context policies, put to the test on recorded sessions: what pays at which read price, and where.

Each claim is a few policies on the same session. The prices vary in one number only, what a cached read costs,
so that the answer holds for a kind of price list and not for one vendor. All of it is open-loop: the recorded
actions under another context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from labkit.ladder.policy import SUPERSEDED, Policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.prices import Prices
from labkit.record.calibrate import starts_midway
from labkit.record.edits import unedited
from labkit.record.trace import Trace
from labkit.replay.asrun import reproduce
from labkit.replay.net import net
from labkit.replay.replay import replay
from labkit.replay.session_sizes import session_sizes
from labkit.replay.whatif import BAR, session_rules

__all__ = ["READS", "TRIALS", "Outcome", "claim_lines", "outcomes", "why_not"]

READS = (0.1, 0.05, 0.025)
"""Prices of a cached read, as multiples of the input price."""

_SUMMARY = SizedSummarizer(4_000)
_FEWEST = 30  # requests: shorter sessions hardly reach a trigger


def _clear(trigger: int, **more: int) -> Policy:
    return replace(Policy(window=None, trigger=trigger, keep=3, compact_above=None), **more)  # type: ignore[arg-type]


def _compact(above: int) -> Policy:
    return Policy(window=None, trigger=above, floor=0, keep=None, compact_above=above, keep_first=1)


_EVICT = replace(Policy.nothing(), evict=frozenset(SUPERSEDED), floor=0)

TRIALS: tuple[tuple[str, str, Policy], ...] = (
    *(("clear", f"past {t:,}, at least 10,000", _clear(t)) for t in (20_000, 40_000, 80_000)),
    ("evict", "at any time", _EVICT),
    ("evict", "only after a pause of 5 minutes", replace(_EVICT, only_cold=300)),
    *(("batch", f"past 20,000, every {n} results", _clear(20_000, floor=0, batch=n)) for n in (1, 5, 20)),
    *(("floor", f"past 20,000, at least {n:,}", _clear(20_000, floor=n)) for n in (0, 5_000, 20_000, 50_000)),
    *(("compact", f"past {n:,}, to 4,000", _compact(n)) for n in (60_000, 120_000)),
    ("lifetime", "1 hour", replace(Policy.nothing(), lifetime="1h")),
    ("lifetime", "5 minutes, kept alive 3 times", replace(Policy.nothing(), keep_alive=3)),
)
"""What is tried: the claim it belongs to, its words, the policy."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One trial on one session at one read price.

    Parameters
    ----------
    claim, trial : str
    read : float
        Price of a cached read as a multiple of the input price.
    low, high : float
        Net saving as a share of the bill for doing nothing, with the higher and the lower charge for reading
        again what was used later.
    unread : int
        Results that were removed before any request had carried them whole.
    edits : int
        How often the policy edited the context.
    """

    claim: str
    trial: str
    read: float
    low: float
    high: float
    unread: int
    edits: int

    @property
    def verdict(self) -> str:
        """One of pays, costs, open, idle and unread.

        Examples
        --------
        >>> savings = (0.1, 0.2), (-0.1, 0.2), (-0.2, -0.1)
        >>> [Outcome("clear", "", 0.1, low, high, 0, 1).verdict for low, high in savings]
        ['pays', 'open', 'costs']
        """
        if self.unread:
            return "unread"
        if self.low == self.high == 0:
            return "idle"
        return "pays" if self.low > 0 else "costs" if self.high < 0 else "open"


def why_not(trace: Trace) -> str:
    """Why nothing is tried on a session; empty if it can be.

    Parameters
    ----------
    trace : Trace
    """
    if len(trace.requests) < _FEWEST:
        return f"{len(trace.requests)} requests, and at least {_FEWEST} are needed"
    if any(request.usage is None for request in trace.requests):
        return "some requests have no recorded usage"
    if starts_midway(trace):
        return "the record starts in the middle of a session"
    score = reproduce(trace).score
    if score is None or score < BAR:
        return f"the replay reproduces {score or 0:.1%} of the recorded cache reads, and {BAR:.0%} are needed"
    return ""


def outcomes(trace: Trace) -> tuple[Outcome, ...]:
    """All trials on one recorded session, each at every one of :data:`READS`.

    Parameters
    ----------
    trace : Trace
        One of which :func:`why_not` says nothing.

    Returns
    -------
    tuple of Outcome
        A summary is modelled by its size and says nothing, so the low saving of *compact* charges for
        everything that was used later.
    """
    base = unedited(trace)
    sizes, rules = session_sizes(trace, base), session_rules(trace)
    nothing = replay(base, Policy.nothing(), rules, sizes=sizes)
    found = []
    for claim, trial, policy in TRIALS:
        run = replay(base, policy, rules, sizes=sizes, summarizer=_SUMMARY)
        for read in READS:
            parts = net(run, nothing, Prices.from_multipliers(read=read))
            low, high = parts.low / parts.nothing, parts.high / parts.nothing
            found.append(Outcome(claim, trial, read, low, high, run.unread, len(run.events)))
    return tuple(found)


def claim_lines(found: Sequence[Sequence[Outcome]]) -> list[str]:
    """The outcomes of several sessions as a table: in how many a trial pays, is open, costs, and the median.

    Parameters
    ----------
    found : sequence of sequence of Outcome
        Of each session what :func:`outcomes` gave.
    """
    head = f"{'':<42}" + "".join(f"{f'read {read:g}x':>24}" for read in READS)
    lines = [head, f"{'':<42}" + f"{'pays/open/costs median':>24}" * len(READS)]
    for claim, trial, _ in TRIALS:
        cells = ""
        for read in READS:
            here = [o for session in found for o in session if (o.claim, o.trial, o.read) == (claim, trial, read)]
            verdicts = [o.verdict for o in here]
            counts = "/".join(str(verdicts.count(word)) for word in ("pays", "open", "costs"))
            counted = [(o.low + o.high) / 2 for o in here if o.verdict not in ("unread", "idle")]
            cells += f"{counts:>14}{f'{median(counted):+.1%}' if counted else '-':>10}"
        lines.append(f"{claim + ', ' + trial:<42}{cells}")
    return lines
