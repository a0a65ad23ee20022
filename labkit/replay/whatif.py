"""What a session would have cost under another policy or cache lifetime, and how sure that is.

A what-if is a replay of the unedited record: the same actions, another context. It is given only
where the cache model reproduces what the provider recorded, as a range, with its losses beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from labkit.errors import EditRefused, InputError
from labkit.ladder.policy import Policy
from labkit.price.cache import CacheRules, cache_rules
from labkit.price.prices import find_model
from labkit.record.calibrate import starts_midway
from labkit.record.edits import unedited
from labkit.record.growth import SHARE, check_growth
from labkit.record.trace import Trace
from labkit.replay.asrun import reproduce
from labkit.replay.audit_cost import price_on, unpriced
from labkit.replay.lifetime import Lifetime, recorded_lifetime, relived
from labkit.replay.replay import Replay
from labkit.replay.session_sizes import session_sizes, with_results
from labkit.replay.whatif_cost import both_replays, recorded_dollars, reread_dollars, summary_dollars

__all__ = ["BAR", "WhatIf", "session_rules", "whatif"]

BAR = 0.9
"""Share of the cache reads that the as-run replay must reproduce before a what-if is given."""


@dataclass(frozen=True, eq=False)
class WhatIf:
    """The answer, or why there is none; dollars at list price, of the main thread.

    Parameters
    ----------
    trace : str
        Name of the session.
    policy : Policy
    lifetime : {"5m", "1h"}
        Of the cache entries in the changed run.
    refused : str
        Why there is no answer; empty if there is one. Then all numbers below are 0.
    score : float or None
        Share of the recorded cache reads that the as-run replay reproduces.
    growth_error : float or None
        How far off the fitted sizes predicted the second half of the session.
    recorded : float
        What the recorded usage comes to, with the edits that the harness made; outputs as in the replays.
    nothing : float
        What the change is compared with: the replay that edits nothing. Of a lifetime alone it is
        ``recorded``, because that change leaves every prompt as it was.
    managed : float
        The replay under the policy and lifetime, with the charges below at their middle.
    saving : tuple of float
        Low, middle and high of ``nothing`` less ``managed``; below 0 it costs more. Of a policy: over
        results sized a seventh smaller and larger, with the larger and the smaller charges. Of a
        lifetime alone: with what it gains as predicted, and as rarely as the as-run score allows.
    reread : tuple of float
        Low and high charge for getting again what was removed and used later: one more request, and the
        result written. Low: once for each result of ``uses_low``. High: at each request whose answer uses a
        result of ``uses_high``.
    summaries : tuple of float
        Low and high charge for a model's summaries and what a harness attaches again after them.
    unread, uses_low, uses_high : int
        Results removed before any request carried them; results of which the agent later wrote at least
        three words or lines that stood nowhere else in its prompt, and at least one
        (:mod:`labkit.replay.uses`).
    overflow : int or None
        First request of the unedited run that is larger than the model's window: there the harness
        would have compacted, so from there on "nothing" is not something it can do.
    warnings : tuple of str
    naive, changed : Replay or None
        The two replays.
    """

    trace: str
    policy: Policy
    lifetime: Lifetime
    refused: str = ""
    score: float | None = None
    growth_error: float | None = None
    recorded: float = 0.0
    nothing: float = 0.0
    managed: float = 0.0
    saving: tuple[float, float, float] = (0.0, 0.0, 0.0)
    reread: tuple[float, float] = (0.0, 0.0)
    summaries: tuple[float, float] = (0.0, 0.0)
    unread: int = 0
    uses_low: int = 0
    uses_high: int = 0
    overflow: int | None = None
    warnings: tuple[str, ...] = ()
    naive: Replay | None = None
    changed: Replay | None = None

    @property
    def against_recorded(self) -> tuple[float, float, float]:
        """The saving against what the harness really did, its own edits included."""
        shift = self.recorded - self.nothing
        return (self.saving[0] + shift, self.saving[1] + shift, self.saving[2] + shift)

    @property
    def events(self) -> int:
        """How often the policy edited the context."""
        return 0 if self.changed is None else len(self.changed.events)

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        given = not self.refused
        return {
            "trace": self.trace,
            "policy": self.policy.to_dict(),
            "lifetime": self.lifetime,
            "refused": self.refused,
            "as_run_score": self.score,
            "as_run_bar": BAR,
            "calibration_error": self.growth_error,
            "recorded_usd": self.recorded if given else None,
            "nothing_usd": self.nothing if given else None,
            "managed_usd": self.managed if given else None,
            "saving_usd": dict(zip(("low", "middle", "high"), self.saving, strict=True)) if given else None,
            "saving_against_recorded_usd": (
                dict(zip(("low", "middle", "high"), self.against_recorded, strict=True)) if given else None
            ),
            "charges_usd": {"reread": list(self.reread), "summaries": list(self.summaries)} if given else None,
            "loss": {"unread": self.unread, "uses_after_clear": [self.uses_low, self.uses_high]} if given else None,
            "events": self.events,
            "overflow": self.overflow,
            "simulated": "open-loop: the recorded actions under another context, not what a model would have done",
            "warnings": list(self.warnings),
        }


def whatif(trace: Trace, policy: Policy | None = None, *, lifetime: Lifetime | None = None) -> WhatIf:
    """Answer a what-if on a recorded session, or say why not.

    Parameters
    ----------
    trace : Trace
        A recorded session.
    policy : Policy, optional
        Default: one that edits nothing.
    lifetime : {"5m", "1h"}, optional
        Of the cache entries in the changed run; default: as recorded.

    Returns
    -------
    WhatIf
        Refused where the as-run replay reproduces less than :data:`BAR` of the cache reads.

    Raises
    ------
    InputError
        If the trace is a scripted run.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> session = load(data_path("sessions", "sample"))
    >>> answer = whatif(session, lifetime="1h")
    >>> answer.refused, answer.unread, answer.saving[0] <= answer.saving[1] <= answer.saving[2]
    ('', 0, True)
    """
    if trace.kind == "scripted":
        raise InputError(f"{trace.name} is a scripted run: replay it with labkit.replay and price it with labkit.bill")
    policy = policy or Policy.nothing()
    run = reproduce(trace)
    was = recorded_lifetime(trace)
    answer = WhatIf(trace.name, policy, lifetime or was, score=run.score, growth_error=check_growth(trace).error)
    refused = _refusal(trace, run.score, run.reason)
    if refused:
        return replace(answer, refused=refused)
    rules = session_rules(trace)
    if lifetime == "1h" and rules.ttl_1h is None:
        return replace(answer, refused="the provider sells no longer lifetime for this model's cache")
    if policy == Policy.nothing() and lifetime is not None:
        recorded, gain, extra = relived(trace, run, lifetime)
        saving = (gain * (run.score or 0.0) - extra, gain - extra, gain - extra)
        return replace(answer, recorded=recorded, nothing=recorded, managed=recorded - gain + extra, saving=saving)
    if starts_midway(trace):
        return replace(
            answer, refused="the record starts in the middle of a session: what a policy would remove is not in it"
        )
    base = unedited(trace)
    sizes = session_sizes(trace, base)
    window = _window(trace)
    try:
        sized = [sizes, *(with_results(base, sizes, factor) for factor in _factors(policy))]
        central, *around = [both_replays(base, policy, rules, each, was, lifetime or was) for each in sized]
    except EditRefused as error:
        return replace(answer, refused=str(error))
    naive, changed, nothing, managed = central
    reread, uses = reread_dollars(base, sizes, changed, lifetime or was)
    summaries = summary_dollars(trace, base, changed)
    savings = [nothing - managed, *(n - m for _, _, n, m in around)]
    charge = (reread[0] + summaries[0], reread[1] + summaries[1])
    middle = (charge[0] + charge[1]) / 2
    return replace(
        answer,
        recorded=recorded_dollars(base, naive),
        nothing=nothing,
        managed=managed + middle,
        saving=(min(savings) - charge[1], savings[0] - middle, max(savings) - charge[0]),
        reread=reread,
        summaries=summaries,
        unread=changed.unread,
        uses_low=uses[0],
        uses_high=uses[1],
        overflow=naive.passes(window),
        warnings=_warnings(trace, base, naive, window),
        naive=naive,
        changed=changed,
    )


def _refusal(trace: Trace, score: float | None, reason: str) -> str:
    if score is None:
        return reason or "no request without a recorded edit can be checked against its record"
    if score < BAR:
        return f"the replay reproduces {score:.1%} of the recorded cache reads, and a what-if needs {BAR:.0%}"
    names = unpriced(replace(trace, children=()))
    if names:
        return f"the price list does not know the model {', '.join(name[:60] for name in names)}"
    if any(r.usage is None for r in trace.requests):
        return "some requests have no recorded usage, so their prompts cannot be sized"
    return ""


def session_rules(trace: Trace) -> CacheRules:
    """How the provider caches for the first model of a session, with the breakpoints that its harness sets."""
    model = next(r.model for r in trace.requests if r.model)
    rules = cache_rules(find_model(model))
    # Claude Code sets a breakpoint after the system prompt too; that of other harnesses is not known.
    return replace(rules, placement=("system", "last")) if trace.source.startswith("Claude Code") else rules


def _window(trace: Trace) -> int | None:
    windows = [price_on(r).window for r in trace.requests if r.model]
    return max((w for w in windows if w is not None), default=None)


def _factors(policy: Policy) -> tuple[float, ...]:
    return () if policy.trigger is None else (1 - SHARE, 1 + SHARE)


def _warnings(trace: Trace, base: Trace, naive: Replay, window: int | None) -> tuple[str, ...]:
    found = [w for w in base.warnings if w not in trace.warnings]
    past = naive.passes(window)
    if past is not None:
        found.append(
            f"unedited, request {past} passes the model's window of {window:,} tokens: the harness would have compacted"
        )
    switched = reproduce(trace).switched
    if switched:
        found.append(
            f"request {switched[0]:,} went to another model, which has a cache of its own: both replays keep one for "
            "all, so what the change of models wrote again is not in them"
        )
    if trace.edits:
        found.append(
            f"the harness edited the context {len(trace.edits)} times: both replays start from the record without that"
        )
    return tuple(found)
