"""What the panel of a recorded session shows: its largest writes as rows, and the one that was clicked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from labkit.errors import InputError
from labkit.record.trace import Trace
from labkit.replay.audit import Audit, audit
from labkit.show.session_report import dollars
from labkit.show.setup import Control, Setup, View
from labkit.show.style import share
from labkit.show.timeline import CAUSE_STYLES, Moment, describe_moment, draw_session, moments, span

__all__ = ["session"]

ROWS = 12
"""Largest writes that can be clicked."""

_HEIGHT = 300  # the rows take what the figure gives up


def session(source: Audit | Trace) -> Setup:
    """Reads and writes over the clock, with the largest writes as rows to click.

    Parameters
    ----------
    source : Audit or Trace
        Of a recorded session.
    """
    report = source if isinstance(source, Audit) else audit(source)
    found = moments(report)
    if not found:
        raise InputError(f"{report.name} has no recorded usage: give a session whose harness logs what was billed")
    ranked = sorted(found, key=lambda m: (-m.new, m.request))[:ROWS]
    by_request = {m.request: m for m in found}
    whole = sum(m.new for m in found)
    spent = sum(m.dollars or 0.0 for m in found)
    writes = report.usage.cache_write_5m + report.usage.cache_write_1h > 0
    verb, name = ("wrote", "written") if writes else ("sent uncached", "uncached")

    def draw(values: Mapping[str, Any]) -> View:
        m = by_request[values["row"]]
        figure = draw_session(found, m.request, values["x"])
        figure["layout"]["height"] = _HEIGHT
        paid = "no price known" if m.dollars is None else f"{dollars(m.dollars)}, {share(m.dollars, spent)} of {name}"
        before = found[found.index(m) - 1] if found.index(m) else None
        numbers = (
            (name, f"{m.new:,}", paid),
            ("read", f"{m.read:,}", "" if before is None else f"the one before left {before.read + before.new:,}"),
            ("pause before it", span(m.pause), "from start to start"),
            ("all writes" if writes else "all uncached", f"{whole:,}", f"this one is {share(m.new, whole)}"),
        )
        along = "the clock: a pause is a gap" if values["x"] == "clock" else "requests: all stand at equal distances"
        return View(figure, numbers, f"{describe_moment(found, m.request, verb)} Drawn over {along}.")

    return Setup(
        f"session {report.name}",
        (
            Control("row", "largest", ranked[0].request, choices={_row(m, name): m.request for m in ranked}, rows=4),
            Control("x", "drawn over", "clock", choices={"clock time": "clock", "request": "request"}),
        ),
        draw,
        f"lk.plots.fig_session(report, request={ranked[0].request})",
        "Causes are worked out from the clock and from what was sent before, never from the row itself. "
        "Dollars are list prices of each request's day.",
    )


def _row(m: Moment, name: str) -> str:
    clock = ""
    if m.start is not None and m.start > 1e9:
        clock = f"{datetime.fromtimestamp(m.start, UTC):%H:%M:%S}  "
    label = CAUSE_STYLES[m.cause].label.removeprefix("again: ")
    return f"{clock}request {m.request:,}: {m.new:,} {name}, {label}"
