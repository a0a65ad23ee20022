"""A session over the clock: cache reads up, writes down, coloured by why they were written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as go

from labkit.errors import InputError
from labkit.record.trace import Trace, Usage
from labkit.replay.audit import Audit, audit
from labkit.replay.audit_cost import price_on
from labkit.replay.causes import CAUSES, why
from labkit.show.style import INK, Spec, Style, about, count, round_up, share, spec

__all__ = ["Moment", "describe_moment", "describe_session", "draw_session", "fig_session", "moments", "span"]

CAUSE_STYLES = {
    "growth": Style("new in the context", "#009E73", "#007A59", "circle"),
    "expired": Style("again: after a pause", "#D55E00", "#C04F00", "x"),
    "edit": Style("again: after an edit", "#0072B2", "#0072B2", "square"),
    "unexplained": Style("again: unexplained", "#595959", "#404040", "diamond"),
}
"""Of what was written; the symbol stands at the end of the line, so that nothing rests on colour alone."""

_READ = "#B0B0B0"


@dataclass(frozen=True, slots=True)
class Moment:
    """One request on the clock.

    Parameters
    ----------
    request : int
        Index from 1.
    start : float or None
        Seconds since the epoch; since its start in a scripted run.
    pause : float or None
        Seconds since the start of the request before it.
    read, new : int
        Tokens that the cache held, and tokens that it did not: written, or uncached where a provider
        reports no writes.
    cause : str
        One of :data:`labkit.replay.asrun.CAUSES`.
    dollars : float or None
        What ``new`` cost at list price; ``None`` where the model has no price.
    """

    request: int
    start: float | None
    pause: float | None
    read: int
    new: int
    cause: str
    dollars: float | None


def moments(report: Audit) -> tuple[Moment, ...]:
    """Every request with a recorded usage, in order.

    Parameters
    ----------
    report : Audit

    Returns
    -------
    tuple of Moment
        Empty where no usage was recorded.
    """
    cause = why(report.trace, report.as_run)
    whole = report.usage
    writes = whole.cache_write_5m + whole.cache_write_1h > 0
    found: list[Moment] = []
    before: float | None = None
    for request in report.trace.requests:
        usage = request.usage
        if usage is None or not usage.total_input:
            continue
        new = usage.cache_write_5m + usage.cache_write_1h if writes else usage.uncached
        bought = Usage(0 if writes else new, 0, usage.cache_write_5m, usage.cache_write_1h)
        try:
            dollars: float | None = price_on(request).at(usage.total_input).request_cost(bought)
        except InputError:
            dollars = None
        pause = None if request.start is None or before is None else request.start - before
        found.append(Moment(request.index, request.start, pause, usage.cache_read, new, cause[request.index], dollars))
        before = request.start
    return tuple(found)


def fig_session(report: Audit | Trace, request: int | None = None, x: str = "clock") -> go.Figure:
    """Cache reads up and writes down at the time of each request, coloured by why they were written.

    Parameters
    ----------
    report : Audit or Trace
    request : int, optional
        One to point at; the largest write by default.
    x : {"clock", "request"}
        ``request``: evenly spaced, for a session with nights in it.
    """
    report = report if isinstance(report, Audit) else audit(report)
    return go.Figure(draw_session(moments(report), request, x))


def draw_session(found: Sequence[Moment], request: int | None = None, x: str = "clock") -> Spec:
    """The figure of :func:`fig_session` as plain values."""
    if x not in ("clock", "request"):
        raise InputError(f"x is {x!r}: give 'clock' or 'request'")
    if not found:
        return spec("No usage is recorded, so nothing can be said about its cache", [])
    places, axis = _places(found, x)
    chosen = _chosen(found, request)
    top = max(m.read for m in found)
    deep = max(m.new for m in found)
    traces: list[dict[str, Any]] = [_stems("read from the cache", _READ, "", found, places, [m.read for m in found], 1)]
    for cause in CAUSES:
        style = CAUSE_STYLES[cause]
        of = [i for i, m in enumerate(found) if m.cause == cause]
        traces.append(
            _stems(
                style.label,
                style.line,
                style.pattern,
                [found[i] for i in of],
                [places[i] for i in of],
                [found[i].new for i in of],
                -1,
            )
        )
    traces.append(_pointer(found[chosen], places[chosen], right=_along(found, chosen, places[chosen]) < 0.6))
    again = sum(m.new for m in found if m.cause != "growth")
    whole = sum(m.new for m in found)
    who = sum(m.cause != "growth" for m in found)
    title = (
        f"{who:,} of {count(len(found), 'request')} wrote again: {share(again, whole)} of {about(whole)} tokens written"
    )
    return spec(
        title if again else f"Nothing was written again in {count(len(found), 'request')}",
        traces,
        xaxis={"title": {"text": axis}, "showgrid": False},
        yaxis={
            "title": {"text": "tokens: written down, read up"},
            "range": [-round_up(1.08 * max(deep, 1)), round_up(1.06 * max(top, 1))],
            "tickformat": ",",
            "zeroline": True,
            "zerolinewidth": 1.5,
        },
    )


def _places(found: Sequence[Moment], x: str) -> tuple[list[Any], str]:
    starts = [m.start for m in found if m.start is not None]
    if x == "request" or len(starts) < len(found) or starts[0] < 1e9:
        return [m.request for m in found], "request" if x == "request" else "request (no times of day are recorded)"
    return [datetime.fromtimestamp(s, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] for s in starts], "clock time (UTC)"


def _along(found: Sequence[Moment], i: int, place: Any) -> float:
    """How far to the right a request stands, from 0 to 1."""
    first, last, here = found[0].start, found[-1].start, found[i].start
    if isinstance(place, str) and first is not None and last is not None and here is not None and last > first:
        return (here - first) / (last - first)
    return i / len(found)


def _chosen(found: Sequence[Moment], request: int | None) -> int:
    if request is None:
        return max(range(len(found)), key=lambda i: found[i].new)
    return min(range(len(found)), key=lambda i: abs(found[i].request - request))


def _stems(
    name: str, color: str, symbol: str, found: Sequence[Moment], places: Sequence[Any], sizes: Sequence[int], sign: int
) -> dict[str, Any]:
    """A line from zero for each request, one trace for all; a mark at its far end."""
    xs: list[Any] = []
    ys: list[int | None] = []
    hovers: list[str] = []
    for moment, place, size in zip(found, places, sizes, strict=True):
        text = f"request {moment.request:,}: {size:,} tokens {name}"
        if sign < 0 and moment.pause is not None:
            text += f"<br>{span(moment.pause)} after the one before"
        xs += [place, place, None]
        ys += [0, sign * size, None]
        hovers += [text, text, ""]
    return {
        "type": "scatter",
        "x": xs,
        "y": ys,
        "name": name,
        "mode": "lines+markers" if symbol else "lines",
        "line": {"color": color, "width": 3},
        "marker": {
            "symbol": symbol or "circle",
            "color": color,
            "size": [0, 6, 0] * len(sizes),
            "opacity": 1,
            "line": {"width": 0},
        },
        "customdata": hovers,
        "hovertemplate": "%{customdata}<extra></extra>",
        "showlegend": bool(sizes),
    }


def _pointer(moment: Moment, place: Any, right: bool) -> dict[str, Any]:
    pause = "" if moment.pause is None else f", after {span(moment.pause)}"
    text = f"request {moment.request:,}{pause}"
    return {
        "type": "scatter",
        "x": [place, place],
        "y": [moment.read, -moment.new],
        "text": ["", f"   {text}" if right else f"{text}   "],
        "mode": "markers+text",
        "textposition": "middle right" if right else "middle left",
        "marker": {"symbol": "circle-open", "size": 14, "color": INK, "line": {"width": 2}},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def span(seconds: float | None) -> str:
    """A time as one says it.

    Examples
    --------
    >>> span(7.2), span(142), span(1_322), span(7_500), span(200_000), span(None)
    ('7 s', '2 min', '22 min', '2.1 h', '2.3 days', 'not known')
    """
    if seconds is None:
        return "not known"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 5_970:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def describe_session(report: Audit | Trace) -> str:
    """When a session wrote to the cache, and why.

    Parameters
    ----------
    report : Audit or Trace
    """
    report = report if isinstance(report, Audit) else audit(report)
    found = moments(report)
    if not found:
        return "No usage is recorded: give a session whose harness logs what was billed."
    read, whole = sum(m.read for m in found), sum(m.new for m in found)
    starts = [m.start for m in found if m.start is not None]
    within = f" within {span(max(starts) - min(starts))}" if len(starts) > 1 else ""
    verb = _verb(report)
    lines = [f"{count(len(found), 'request')}{within} read {read:,} tokens from the cache and {verb} {whole:,}."]
    for cause in ("expired", "edit", "unexplained"):
        of = [m for m in found if m.cause == cause]
        if of:
            tokens = sum(m.new for m in of)
            lines.append(
                f"{CAUSE_STYLES[cause].label[7:].capitalize()}: {count(len(of), 'request')}, "
                f"{tokens:,} tokens, {share(tokens, whole)} of them."
            )
    grown = [m for m in found if m.cause == "growth"]
    if grown:
        tokens = sum(m.new for m in grown)
        lines.append(f"New in the context: {count(len(grown), 'request')}, {tokens:,} tokens, {share(tokens, whole)}.")
    lines.append(describe_moment(found, found[_chosen(found, None)].request, verb))
    return "\n".join(lines)


def _verb(report: Audit) -> str:
    return "wrote" if report.usage.cache_write_5m + report.usage.cache_write_1h else "sent uncached"


def describe_moment(found: Sequence[Moment], request: int, verb: str = "wrote") -> str:
    """What one request wrote, and why."""
    i = _chosen(found, request)
    m = found[i]
    place = sum(other.new > m.new for other in found) + 1
    rank = "the most of all" if place == 1 else f"number {place:,} of {len(found):,}"
    reason = {
        "growth": "it was new",
        "expired": f"the pause of {span(m.pause)} outlived the cache entry",
        "edit": "the context had been edited, and behind the edit nothing could be read",
        "unexplained": "why is not in the record",
    }[m.cause]
    if i == 0:
        reason = "it was the first"
    return f"Request {m.request:,} {verb} {m.new:,} tokens, {rank}: {reason}."
