"""What an audit has to say about the record it rests on."""

from __future__ import annotations

from labkit.record.calibrate import Calibration, starts_midway
from labkit.record.trace import Trace
from labkit.replay.asrun import reproduce
from labkit.replay.audit_cost import unpriced

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
    switched = reproduce(trace).switched
    if switched:
        where = ", ".join(f"{index:,}" for index in switched[:5]) + (", ..." if switched[5:] else "")
        found.append(
            f"request {where} went to another model, whose cache did not hold the context: what was written there "
            "stands with the edits"
        )
    falls = _unlogged_falls(trace)
    if falls:
        where = ", ".join(f"{index} (by {lost:,})" for index, lost in falls[:5]) + (", ..." if len(falls) > 5 else "")
        found.append(
            f"the recorded prompt shrank without a recorded cause at request {where}: "
            "what left is not known, so from there on the residual is too low"
        )
    return found


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
