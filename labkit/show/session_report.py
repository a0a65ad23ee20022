"""What the command line says about recorded sessions: lines of plain text, at most 80 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime

from labkit.ladder.export import Export
from labkit.replay.advice import Advice, Offer
from labkit.replay.audit import Audit
from labkit.replay.sessions import Compared, Listed
from labkit.replay.whatif import BAR, WhatIf
from labkit.show.style import DRAWN, STYLES, about, count, plain, share

__all__ = [
    "CAUSE_LABELS",
    "advice_lines",
    "comparison_lines",
    "dollars",
    "first_screen",
    "list_lines",
    "offer_lines",
    "whatif_lines",
]

WIDTH = 79
MOST_LINES = 24

CAUSE_LABELS = {
    "reads": "cache reads",
    "growth": "written: new in the context",
    "expired": "written again: after a pause (expired)",
    "edit": "written again: after an edit or compaction",
    "unexplained": "written again: unexplained",
    "uncached": "uncached input",
    "output": "output",
    "children": "subagents and summary calls",
}
"""How people read the names of :data:`labkit.replay.audit_cost.COSTS`; summaries stand with the children."""


def dollars(amount: float) -> str:
    """An amount as people read it.

    Examples
    --------
    >>> dollars(12.5), dollars(0.0031), dollars(-0.5), dollars(0)
    ('$12.50', '$0.0031', '-$0.50', '$0.00')
    """
    amount = round(amount, 4)  # a sum of floats that should be 0 may miss it by a hair
    sign = "-" if amount < 0 else ""
    return f"{sign}${abs(amount):,.2f}" if abs(amount) >= 0.01 or amount == 0 else f"{sign}${abs(amount):.4f}"


def first_screen(audit: Audit, advice: Advice, path: str) -> list[str]:
    """What was paid and why it was written again, what cost most, and one thing to do; at most 24 lines.

    Parameters
    ----------
    audit : Audit
    advice : Advice
    path : str
        As the next command names it.
    """
    cost = audit.cost
    models = dict.fromkeys(r.model for r in audit.trace.requests if r.model)
    name = plain(", ".join(models), 32) or "model not recorded"
    lines = [_fit(f"{plain(audit.name, 30)}: {audit.format}, {count(audit.requests, 'request')}, {name}")]
    lines += _paid(audit)
    spent = dict(cost.by_cause)
    spent["children"] += spent.pop("summaries")
    whole = sum(spent.values())
    if cost.exact is not None and whole:
        for cause, label in CAUSE_LABELS.items():
            if spent[cause]:
                lines.append(f"  {label:<46} {dollars(spent[cause]):>12} {share(spent[cause], whole):>10}")
        if cost.main:
            part = share(cost.untouchable, cost.main)
            lines.append(f"No context policy can touch {part} of the main thread (prefix, new, output).")
    else:
        written = {k: v for k, v in audit.writes_by_cause.items() if v}
        if written:
            lines.append(_fit("written: " + ", ".join(f"{k} {about(v)}" for k, v in written.items())))
    lines += _context(audit)
    results = [r for r in audit.costliest(5) if r.tokens]
    if results:
        lines.append(f"{'costliest results over their life':<45} {'size':>9} {'x requests':>10} {'tokens':>12}")
    for r in results:
        who = f"turn {r.turn:,} {plain(r.tool, 14)} "
        who += _argument(r.args, 43 - len(who))
        lines.append(f"  {who:<43} {r.size:>9,} {r.requests:>10,} {about(r.tokens):>12}")
    lines += advice_lines(audit, advice)
    found = len(audit.symptoms)
    signs = f"{count(found, 'symptom')} of a lost thread; " if found else ""
    further = f"{signs}next: labkit audit --full {path}"
    # A path that is cut short cannot be copied, so a long one is not repeated.
    lines.append(further if len(further) <= WIDTH else f"{signs}next: the same with --full, or --html report.html")
    return lines


def _argument(args: str, width: int) -> str:
    """The first argument's value; of a long path the end, which tells files apart."""
    value = plain(args, 400).partition("=")[2].partition(", ")[0] or plain(args, 400)
    if len(value) > width and "/" in value and " " not in value:
        return "…" + value[1 - width :]
    return _fit(value, width)


def _paid(audit: Audit) -> list[str]:
    cost = audit.cost
    if cost.exact is None:
        return [_fit(f"no total in dollars: no price is known for {plain(', '.join(cost.unpriced), 40)}")]
    if audit.trace.usage is None:
        return ["no usage is recorded: nothing can be billed"]
    total = dollars(cost.exact)
    if cost.estimated_high:
        total += f" + {dollars(cost.estimated_low or 0)} to {dollars(cost.estimated_high)} for outputs not recorded"
    note = "list-price equivalent, not your bill" if cost.subscription else f"list prices as of {cost.as_of}"
    return _wrap(f"{total} ({note})", 2)


def _context(audit: Audit) -> list[str]:
    peak = audit.peak
    if peak is None:
        return []
    words = (
        f"peak {peak.total:,} tokens (request {peak.request:,}), {share(audit.fixed_prefix, peak.total)} fixed prefix"
    )
    if audit.fresh is not None:
        words += f"; {audit.fresh:,.0f} fresh a request"
    billed = audit.lines_billed
    whole = sum(billed.values())
    parts = sorted((line for line in DRAWN if billed[line] > 0), key=lambda line: -billed[line])
    shares = ", ".join(f"{STYLES[line].label.partition(',')[0]} {share(billed[line], whole)}" for line in parts[:3])
    return [_fit(words), _fit(f"billed input: {shares}")] if shares else [_fit(words)]


def advice_lines(audit: Audit, advice: Advice) -> list[str]:
    """The recommendation with its range, loss and score, and what doing nothing costs; at most 3 lines."""
    if advice.nothing or advice.answer is None:
        return _wrap(f"advice: change nothing: {advice.reason}", 3)
    answer = advice.answer
    low, _, high = answer.against_recorded
    recorded, managed = answer.recorded, answer.recorded - (low + high) / 2
    loss = f"{answer.uses_low}-{answer.uses_high} removed results used later" if answer.events else "loss none"
    return _wrap(
        f"advice: {advice.change} ({advice.where.partition(',')[0]}): saves {dollars(low)} to {dollars(high)}, "
        f"about {dollars(managed)} against {dollars(recorded)} for doing nothing; {loss}; "
        f"as-run score {answer.score or 0:.0%}",
        3,
    )


def offer_lines(made: Sequence[Offer], harness: str) -> list[str]:
    """What-ifs in rows: those that the session's harness can set, and those that need another one.

    Parameters
    ----------
    made : sequence of Offer
    harness : str
    """
    lines = [f"{'against what was recorded: saving (low, middle, high)':<54} {'unread':>6} {'used later':>11}"]
    for here, head in ((True, f"{harness} can set"), (False, "needs another harness")):
        part = [offer for offer in made if bool(offer.where) == here]
        if not part:
            lines.append(_fit(f"{head}: {'nothing that labkit knows' if here else 'not looked at'}"))
            continue
        lines.append(_fit(f"{head}:"))
        for offer in part:
            lines += _offer(offer)
    return lines


def _offer(offer: Offer) -> list[str]:
    answer = offer.answer
    words = _fit(f"  {offer.change}{': ' + offer.where.partition(',')[0] if offer.where else ''}")
    if answer.refused:
        return [words, *_wrap(f"    refused: {answer.refused}", 3)]
    saving = " ".join(f"{dollars(v):>11}" for v in answer.against_recorded)
    used = f"{answer.uses_low:,} to {answer.uses_high:,}"
    return [words, f"    {saving:<50} {answer.unread:>6,} {used:>11}"]


def whatif_lines(answer: WhatIf, settable: Export | None = None) -> list[str]:
    """A what-if in words, and how the session's harness is set to it, where that is given."""
    if answer.refused:
        return _wrap(f"no what-if: {answer.refused}", 4)
    low, middle, high = answer.saving
    lines = [
        f"{'recorded, as the harness ran it':<46} {dollars(answer.recorded):>12}",
        f"{'do nothing, replayed':<46} {dollars(answer.nothing):>12}",
        f"{'changed, with its charges':<46} {dollars(answer.managed):>12}",
        f"{'saving (low, middle, high)':<46} {dollars(low):>12} {dollars(middle):>9} {dollars(high):>9}",
        f"{'against what was recorded':<46} "
        + " ".join(f"{dollars(v):>{w}}" for v, w in zip(answer.against_recorded, (12, 9, 9), strict=True)),
        f"{'results removed unread':<46} {answer.unread:>12,}",
        f"{'removed results used later (low, high)':<46} {answer.uses_low:>12,} {answer.uses_high:>9,}",
    ]
    score = "not known" if answer.score is None else f"{answer.score:.1%}"
    error = "" if answer.growth_error is None else f", sizes off by {answer.growth_error:.1%} on the second half"
    lines += _wrap(f"as-run score {score} (at least {BAR:.0%} is needed){error}", 2)
    lines += [line for warning in answer.warnings for line in _wrap(f"note: {plain(warning, 300)}", 4)]
    if settable is not None:
        lines += [line for row in settable.text.splitlines() for line in _wrap(f"set: {row}", 3)]
        lines += [line for said in settable.missing for line in _wrap(f"needs another harness: {said}", 3)]
    return lines + _wrap(
        "The same actions are replayed: what the model would have done with another context is not known.", 2
    )


def list_lines(listed: Sequence[Listed]) -> list[str]:
    """A row a session, the dearest first, and their total: what several files repeat counts once."""
    lines = [f"{'last used':<17} {'requests':>8} {'peak':>10} {'dollars':>10} {'as run':>7}  session"]
    for row in listed:
        when = "-" if row.last is None else datetime.fromtimestamp(row.last, UTC).strftime("%Y-%m-%d %H:%M")
        paid = "-" if row.dollars is None else dollars(row.dollars)
        score = "-" if row.score is None else f"{row.score:.0%}"
        name = plain(row.problem or row.path, 200)
        if row.shared:
            name += f" ({row.shared:,} of its responses counted in an older file)"
        lines.append(f"{when:<17} {row.requests:>8,} {row.peak:>10,} {paid:>10} {score:>7}  {name}")
    known = [row.dollars for row in listed if row.dollars is not None]
    if len(known) > 1:
        lines.append(f"{'together':<17} {'':>8} {'':>10} {dollars(sum(known)):>10}")
    return lines


def comparison_lines(both: Compared) -> list[str]:
    """Two sessions, request for request."""
    lines = [_fit(f"{'a request':<34} {plain(both.names[0], 20):>20} {plain(both.names[1], 20):>20}")]
    for name, (before, after) in both.figures().items():
        money = "dollars" in name
        cells = ["-" if v is None else dollars(v) if money else f"{v:,.1f}" for v in (before, after)]
        lines.append(f"{name:<34} {cells[0]:>20} {cells[1]:>20}")
    return lines


def _clean(text: str) -> str:
    """Without control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() else "�" for c in text)


def _fit(text: str, width: int = WIDTH) -> str:
    text = _clean(text)
    return text if len(text) <= width else text[: width - 1] + "…"


def _wrap(text: str, most: int) -> list[str]:
    return textwrap.wrap(_clean(text), WIDTH, max_lines=most, placeholder=" …", subsequent_indent="  ")
