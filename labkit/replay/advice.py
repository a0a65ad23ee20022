"""One change for a session, among those its harness lets a person make; or none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from labkit.files import load_data
from labkit.ladder.policy import Policy
from labkit.replay.audit import Audit
from labkit.replay.lifetime import Lifetime, recorded_lifetime
from labkit.replay.whatif import WhatIf, whatif

__all__ = ["Advice", "advise", "knobs"]

# Below this a compaction costs more attention than it can save.
_SMALLEST_PEAK = 100_000


@dataclass(frozen=True)
class Advice:
    """What to change.

    Parameters
    ----------
    change : str
        In words; "nothing" where no change is worth it.
    where : str
        The setting, and where it is set; empty for nothing.
    answer : WhatIf or None
        The what-if behind it; where nothing is to be changed, the best one that was tried.
    reason : str
        Why, one sentence.
    as_of : str
        Date of what is known about the harness.
    """

    change: str
    where: str
    answer: WhatIf | None
    reason: str
    as_of: str

    @property
    def nothing(self) -> bool:
        """Whether the advice is to change nothing."""
        return not self.where

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        return {
            "change": self.change,
            "where": self.where,
            "reason": self.reason,
            "settings_as_of": self.as_of,
            "what_if": None if self.answer is None else self.answer.to_json(),
        }


def knobs(harness: str) -> dict[str, dict[str, str]]:
    """What a harness lets its user set, from ``data/knobs.json``.

    Examples
    --------
    >>> knobs("Claude Code")["lifetime"]["setting"], knobs("unheard of")
    ('promptCacheTtl', {})
    """
    known: dict[str, dict[str, str]] = load_data("knobs.json")["harnesses"].get(harness, {})
    return known


def advise(audit: Audit) -> Advice:
    """The one change with the largest saving that is certain, by the low end of its range.

    Parameters
    ----------
    audit : Audit
        Of a recorded session.

    Returns
    -------
    Advice
        Savings are against what was recorded. A policy that removes results unread is not advised.
    """
    as_of = str(load_data("knobs.json")["as_of"])
    if audit.trace.kind == "scripted" or audit.trace.usage is None:
        return Advice("nothing", "", None, "no usage is recorded, so no saving can be checked", as_of)
    settable = knobs(audit.format)
    if not settable:
        reason = (
            f"{audit.format} lets its user set nothing that labkit knows: clearing and compaction need another harness"
        )
        return Advice("nothing", "", None, reason, as_of)
    best: tuple[float, str, str, WhatIf] | None = None
    for change, knob, answer in _candidates(audit, settable):
        if answer.refused:
            return Advice("nothing", "", answer, f"no what-if: {answer.refused}", as_of)
        low = answer.against_recorded[0]
        if not answer.unread and (best is None or low > best[0]):
            best = (low, change, f"{knob['setting']}, {knob['where']}", answer)
    if best is None:
        return Advice(
            "nothing", "", None, "the context stayed small, and its harness has no setting that would matter", as_of
        )
    low, change, where, answer = best
    if low <= 0:
        return Advice(
            "nothing", "", answer, f"no setting is sure to save; to {change} comes closest, and may cost more", as_of
        )
    return Advice(change, where, answer, "", as_of)


def _candidates(audit: Audit, settable: dict[str, dict[str, str]]) -> Iterator[tuple[str, dict[str, str], WhatIf]]:
    if "lifetime" in settable:
        other: Lifetime = "5m" if recorded_lifetime(audit.trace) == "1h" else "1h"
        words: dict[Lifetime, str] = {"1h": "keep cache entries for 1 hour", "5m": "keep cache entries for 5 minutes"}
        yield words[other], settable["lifetime"], whatif(audit.trace, lifetime=other)
    peak = 0 if audit.peak is None else audit.peak.total
    if "compact" in settable and peak >= _SMALLEST_PEAK:
        above = max(round(peak / 20_000) * 10_000, 60_000)
        policy = Policy(window=None, trigger=above, floor=0, keep=1_000_000_000, compact_above=above, keep_recent=4)
        yield f"compact above {above:,} tokens", settable["compact"], whatif(audit.trace, policy)
