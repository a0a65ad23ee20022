"""What an audit has to say about the record it rests on."""

from __future__ import annotations

from itertools import pairwise

from labkit.errors import InputError
from labkit.record.calibrate import Calibration, starts_midway
from labkit.record.trace import Trace
from labkit.replay.asrun import AsRun, Prediction, reproduce
from labkit.replay.audit_cost import price_on, unpriced

__all__ = ["notes"]


def notes(trace: Trace, fit: Calibration) -> list[str]:
    """One sentence for each gap or guess."""
    found = []
    if trace.usage is None:
        found.append("no usage is recorded: totals are counted, not billed, and the residual is 0")
    elif any(r.usage is None for r in trace.requests):
        bare = sum(r.usage is None for r in trace.requests)
        found.append(f"{bare} requests have no recorded usage: their totals are counted")
    if fit.prefix:
        found.append(
            "system prompt and tool schemas are not in the record and stand together as fixed_prefix_unsplit: "
            + fit.prefix_from
        )
    elif trace.kind != "scripted" and not any(p.tools for p in trace.prefixes):
        found.append(fit.prefix_from)
    if trace.requests and starts_midway(trace):
        found.append("the record starts in the middle of a session: what came before it stands in the residual")
    found += _without_price(trace)
    run = reproduce(trace)
    switched = run.switched
    if switched:
        where = ", ".join(f"{index:,}" for index in switched[:5]) + (", ..." if switched[5:] else "")
        found.append(
            f"request {where} went to another model, whose cache did not hold the context: what was written there "
            "stands with the edits"
        )
    if run.beyond:
        where = ", ".join(f"{index:,}" for index in run.beyond[:5]) + (", ..." if run.beyond[5:] else "")
        paid = _asked_by_itself(trace, run)
        found.append(
            f"request {where}: the cache held an answer that no recorded request had sent ({len(run.beyond)} in all): "
            "the harness asks by itself there, as for a prompt suggestion, and does not log it; to read the context "
            "and write the answer so often "
            + ("costs something" if paid is None else f"costs at least ${paid:,.2f}")
            + ", which stands in no number here"
        )
    toggled = thinking_switched(trace, run)
    if toggled:
        where = ", ".join(f"{p.request:,}" for p in toggled[:5]) + (", ..." if toggled[5:] else "")
        found.append(
            f"request {where}: thinking seems to have been switched on or off there, after which the provider reads no "
            f"message from the cache; that would explain {sum(p.written for p in toggled):,} of the tokens that stand "
            "as unexplained"
        )
    falls = _unlogged_falls(trace)
    if falls:
        where = ", ".join(f"{index} (by {lost:,})" for index, lost in falls[:5]) + (", ..." if len(falls) > 5 else "")
        found.append(
            f"the recorded prompt shrank without a recorded cause at request {where}: "
            "what left is not known, so from there on the residual is too low"
        )
    return found


def _asked_by_itself(trace: Trace, run: AsRun) -> float | None:
    """Dollars for what the harness asked without logging it, without its own words and the answers to them."""
    spent = 0.0
    read = {p.request: p for p in run.predictions}
    for index in run.beyond:
        p = read[index]
        try:
            card = price_on(trace.requests[index - 1]).at(p.read)
        except InputError:
            return None
        spent += card.cost(read=p.baseline, write_5m=max(p.read - p.baseline, 0))
    return spent


def thinking_switched(trace: Trace, run: AsRun) -> list[Prediction]:
    """Unexplained falls of the cache read where a user's text is answered with thinking and the one before was not.

    Parameters
    ----------
    trace : Trace
    run : AsRun
        Of the trace.

    Returns
    -------
    list of Prediction
        A guess from the answers, so they stay unexplained. Changed thinking parameters leave the system prompt
        and the tools cached and no message (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
    """
    asked = sorted({b.request for b in trace.blocks if b.kind == "text" and b.role == "user"})
    thought = {b.request - 1 for b in trace.blocks if b.kind == "thinking"}
    answered = {b.request - 1 for b in trace.blocks if b.role == "assistant"}
    before = {now: last for last, now in pairwise(i for i in asked if i in answered)}
    return [
        p
        for p in run.predictions
        if p.cause == "unexplained"
        and 0 < p.read < 0.9 * p.baseline
        and p.request in before
        and (p.request in thought) != (before[p.request] in thought)
    ]


def _without_price(trace: Trace) -> list[str]:
    if trace.kind == "scripted":
        return []
    names = ", ".join(f"{name[:60]!r}" for name in unpriced(trace))
    return [f"the price list does not know the model {names}: the session has no total in dollars"] if names else []


def _unlogged_falls(trace: Trace) -> list[tuple[int, int]]:
    """Requests whose prompt is over a tenth smaller than the one before, and by how much, with no edit recorded."""
    edited = {e.request for e in trace.edits}
    falls = []
    before = 0
    for request in trace.requests:
        total = before if request.usage is None else request.usage.total_input
        if total < 0.9 * before and request.index not in edited:
            falls.append((request.index, before - total))
        before = total
    return falls
