"""Tables for the command line: values in, something rich can print out.

What comes from a session is put in as plain text, so that brackets in a tool's name are not read as markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from labkit.record.trace import Usage
from labkit.replay.audit import Audit
from labkit.replay.compare import Comparison
from labkit.show.style import DRAWN, STYLES, count, plain, share, title_case
from labkit.show.words import describe_audit, describe_ladder

__all__ = ["audit_report", "doctor_report", "replay_report"]

MOST_EVENTS = 15
MOST_RESULTS = 5
MOST_WARNINGS = 5


class Check(Protocol):
    """What :mod:`labkit.doctor` finds; that room stands further right, so only its shape is named here."""

    @property
    def name(self) -> str: ...
    @property
    def ok(self) -> bool: ...
    @property
    def found(self) -> str: ...
    @property
    def fix(self) -> str: ...


def replay_report(comparison: Comparison) -> Group:
    """A policy beside doing nothing: totals, what was lost, and what the ladder did.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    rich.console.Group
        At most 80 columns wide.
    """
    run, naive = comparison.managed, comparison.naive
    totals = _table("", "do nothing", "managed", "share")
    for name, pair in comparison.totals().items():
        money = name.startswith(("cost", "..."))
        cells = [f"${v:,.2f}" if money else f"{v:,.0f}" for v in (pair["naive"], pair["managed"])]
        totals.add_row(name, *cells, share(pair["managed"], pair["naive"]))
    window = _table("request", "do nothing", "managed")
    for turn in _few(comparison.turns, 7):
        window.add_row(f"{turn:,}", f"{naive.rows[turn - 1].input:,}", f"{run.rows[turn - 1].input:,}")
    card = comparison.managed_bill.prices
    events = [Text(f"  {event}") for event in run.events[:MOST_EVENTS]]
    if len(run.events) > MOST_EVENTS:
        events.append(Text(f"  ... and {len(run.events) - MOST_EVENTS:,} more; --json has all"))
    return Group(
        Text(f"{plain(comparison.trace.name, 60)}: {count(len(run.rows), 'request')} replayed", style="bold"),
        _paragraph(describe_ladder(run, naive)),
        totals,
        Text(""),
        window,
        *([Text("\nWhat the ladder did"), *events] if events else []),
        Text(""),
        _paragraph(
            f"Tokens by {run.counter}. Prices: {card.model}, as of {card.as_of or 'no date'}. The same actions are "
            "replayed: what the model would have done with another context is not known."
        ),
    )


def audit_report(report: Audit) -> Group:
    """Where the tokens of a run went.

    Parameters
    ----------
    report : Audit

    Returns
    -------
    rich.console.Group
        At most 80 columns wide.
    """
    billed, last = report.lines_billed, report.lines_last
    total, held = sum(billed.values()), sum(last.values())
    lines = _table("input tokens", "billed", "share", "last request", "share")
    for line in DRAWN:
        if billed[line] or last[line] or line == "residual":
            name = title_case(STYLES[line].label)
            lines.add_row(
                name, f"{billed[line]:,}", _part(billed[line], total), f"{last[line]:,}", _part(last[line], held)
            )
    lines.add_section()
    lines.add_row("All", f"{total:,}", "", f"{held:,}", "")
    parts: list[Any] = [
        Text(plain(report.name, 70), style="bold"),
        _paragraph(describe_audit(report)),
        lines,
        Text(""),
    ]
    if any(row.recorded for row in report.rows):
        parts += [_usages(report), Text("")]
    costliest = report.costliest(MOST_RESULTS)
    if costliest:
        results = _table("costliest results", "size", "requests", "billed")
        for r in costliest:
            who = Text(
                f"turn {r.turn:,} {plain(r.tool, 16)} {plain(r.args, 24)}".rstrip(), no_wrap=True, overflow="ellipsis"
            )
            results.add_row(who, f"{r.size:,}", f"{r.requests:,}", f"{r.tokens:,}")
        parts += [results, Text("")]
    shown = report.warnings[:MOST_WARNINGS]
    parts += [_paragraph(f"note: {plain(warning, 400)}") for warning in shown]
    if len(report.warnings) > len(shown):
        parts.append(_paragraph(f"... and {len(report.warnings) - len(shown):,} more notes; --json has all"))
    parts.append(_paragraph(f"Sizes: {report.sizes.error or report.sizes.counter.name}."))
    return Group(*parts)


def _usages(report: Audit) -> Table:
    table = _table("recorded usage", "uncached", "read", "written", "output")

    def row(name: str, usage: Usage) -> None:
        written = usage.cache_write_5m + usage.cache_write_1h
        table.add_row(name, *(f"{n:,}" for n in (usage.uncached, usage.cache_read, written, usage.output)))

    row("Main thread", report.usage)
    for name, compaction in (("Subagents, apart", False), ("Summary calls, apart", True)):
        usages = [c.usage for c in report.children if (c.kind == "compaction") is compaction]
        if usages:
            row(f"{name} ({len(usages)})", sum(usages, Usage()))
    return table


def doctor_report(found: Sequence[Check]) -> Group:
    """What was looked at, what was found, and how to mend what is wrong.

    Parameters
    ----------
    found : sequence of Check
    """
    table = Table.grid(padding=(0, 2, 0, 0))
    for check in found:
        table.add_row("ok" if check.ok else Text("WRONG", style="bold"), check.name, Text(check.found, overflow="fold"))
        if check.fix:
            table.add_row("", "", Text(f"{'better' if check.ok else 'to mend'}: {check.fix}", overflow="fold"))
    wrong = sum(not check.ok for check in found)
    last = "The lab is fit to use." if not wrong else f"{count(wrong, 'thing')} to mend; begin with the first."
    return Group(table, Text(""), Text(last, style="bold"))


def _table(*names: str) -> Table:
    """A table with names on the left and numbers, aligned on the right, beside them."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    for i, name in enumerate(names):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=i > 0)
    return table


def _paragraph(text: str) -> Padding:
    return Padding(Text(text.replace("\n", " ")), (0, 0, 1, 0))


def _part(tokens: int, whole: int) -> str:
    return share(tokens, whole) if tokens >= 0 else f"-{share(-tokens, whole)}"


def _few(turns: Sequence[int], most: int) -> list[int]:
    """So many of the turns, evenly spread, the first and the last among them."""
    if len(turns) <= most:
        return list(turns)
    return [turns[round(i * (len(turns) - 1) / (most - 1))] for i in range(most)]
