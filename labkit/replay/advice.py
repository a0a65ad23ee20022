"""One change for a session, among those its harness lets a person make; or none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from labkit.files import load_data
from labkit.ladder.policy import Policy
from labkit.ladder.presets import Knob, knobs, preset
from labkit.replay.audit import Audit
from labkit.replay.lifetime import Lifetime, recorded_lifetime
from labkit.replay.whatif import WhatIf, whatif

__all__ = ["Advice", "Offer", "advise", "offers"]

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
    as_of = str(load_data("presets.json")["as_of"])
    if audit.trace.kind == "scripted" or audit.trace.usage is None:
        return Advice("nothing", "", None, "no usage is recorded, so no saving can be checked", as_of)
    settable = _by_field(audit.format)
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
            best = (low, change, f"{knob.name}, {knob.where}", answer)
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


def _by_field(harness: str) -> dict[str, Knob]:
    return {knob.field: knob for knob in reversed(knobs(harness)) if knob.field}


def _candidates(audit: Audit, settable: dict[str, Knob]) -> Iterator[tuple[str, Knob, WhatIf]]:
    if "lifetime" in settable:
        other: Lifetime = "5m" if recorded_lifetime(audit.trace) == "1h" else "1h"
        words: dict[Lifetime, str] = {"1h": "keep cache entries for 1 hour", "5m": "keep cache entries for 5 minutes"}
        yield words[other], settable["lifetime"], whatif(audit.trace, lifetime=other)
    peak = 0 if audit.peak is None else audit.peak.total
    if "compact_above" in settable and peak >= _SMALLEST_PEAK:
        above = max(round(peak / 20_000) * 10_000, 60_000)
        policy = Policy(window=None, trigger=above, floor=0, keep=1_000_000_000, compact_above=above, keep_recent=4)
        yield f"compact above {above:,} tokens", settable["compact_above"], whatif(audit.trace, policy)


@dataclass(frozen=True)
class Offer:
    """A change that a what-if was made for.

    Parameters
    ----------
    change : str
        In words.
    where : str
        The setting, and where it is set; empty where the harness has none and the change needs another one.
    answer : WhatIf
    """

    change: str
    where: str
    answer: WhatIf

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        return {
            "change": self.change,
            "where": self.where or None,
            "needs_another_harness": not self.where,
            "what_if": self.answer.to_json(),
        }


# One of each kind of rung that no session's harness lets a user set. Their triggers are set to half of the
# session's own peak, or they would not act in most sessions.
_ELSEWHERE = ("anthropic-clear-tool-uses", "langchain-clear", "pydantic-ai-deduplicate")


def offers(audit: Audit) -> tuple[Offer, ...]:
    """What-ifs on a session: first what its harness lets a person set, then what needs another harness.

    Parameters
    ----------
    audit : Audit
        Of a recorded session.

    Returns
    -------
    tuple of Offer
        Within either part, the largest saving that is certain first, and what is refused last. Where all are
        refused for one reason, only the first.

    Raises
    ------
    InputError
        If the trace is a scripted run.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> from labkit.replay.audit import audit
    >>> made = offers(audit(load(data_path("sessions", "sample"))))
    >>> [bool(offer.where) for offer in made], made[0].change
    ([True, False, False, False], 'keep cache entries for 1 hour')
    """
    here = [Offer(c, f"{k.name}, {k.where}", a) for c, k, a in _candidates(audit, _by_field(audit.format))]
    peak = 0 if audit.peak is None else audit.peak.total
    elsewhere = []
    for name in _ELSEWHERE:
        policy = preset(name).policy
        if policy.trigger is not None:
            policy = replace(policy, trigger=max(peak // 2, 1))
        elsewhere.append(Offer(_change(name, policy), "", whatif(audit.trace, policy)))
    found = (*_best_first(here), *_best_first(elsewhere))
    reasons = {offer.answer.refused for offer in found}
    return found[:1] if len(reasons) == 1 and "" not in reasons else found


def _change(name: str, policy: Policy) -> str:
    return name if policy.trigger is None else f"{name} past {policy.trigger:,} tokens"


def _best_first(found: list[Offer]) -> list[Offer]:
    return sorted(found, key=lambda o: (bool(o.answer.refused), o.answer.unread > 0, -o.answer.against_recorded[0]))
