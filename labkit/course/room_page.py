"""A room's ranges as a page for the wall: plain HTML and SVG, without scripts and without anything from outside."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence

from labkit.course.predict import plain
from labkit.course.room import Pool, Room

__all__ = ["page"]

_WIDTH, _LEFT, _ROW = 900, 20, 16
_MOST_ROWS = 60
_STYLE = """
body { font: 18px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 60rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin: 2rem 0 0; } svg { max-width: 100%; height: auto; }
"""


def page(pool: Pool) -> str:
    """The whole page.

    Parameters
    ----------
    pool : Pool

    Returns
    -------
    str
        HTML that opens from the disk without a network.

    Examples
    --------
    >>> made = page(Pool((Room("01.p1", ((40, 60), (70, 90)), 95.4, 0),), 2, 0))
    >>> made.count("<circle"), "95.4" in made
    (2, True)
    """
    head, *_ = pool.lines()
    parts = [f"<h1>What the room said</h1><p>{html.escape(head)}.</p>", *(_question(room) for room in pool.rooms)]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>What the room said</title><style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _question(room: Room) -> str:
    words = html.escape(room.words())
    shown = room.ranges[:_MOST_ROWS]
    ends = [end for pair in shown for end in pair] + ([] if room.value is None else [room.value])
    place = _scale(ends)
    note = " Each step to the right multiplies." if _multiplies(ends) else ""
    height = 30 + _ROW * len(shown) + 30
    rows = [_range(place, pair, 30 + _ROW * row) for row, pair in enumerate(shown)]
    left = "" if len(shown) == len(room.ranges) else f"<p>The first {len(shown)} of {len(room.ranges)} are drawn.</p>"
    return (
        f"<h2>{html.escape(room.id)}</h2><p>{words}.{note}</p>"
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{words}">'
        f"{''.join(rows)}{_number(room, place, height)}{_ends(ends, height)}</svg>{left}"
    )


def _range(place: Callable[[float], float], pair: tuple[float, float], y: float) -> str:
    low, high = pair
    ends = f'x1="{place(low):.1f}" x2="{place(high):.1f}" y1="{y}" y2="{y}"'
    dot = f'cx="{place(low + (high - low) / 2):.1f}" cy="{y}"'
    return f'<line {ends} stroke="#0072B2" stroke-width="2"/><circle {dot} r="5" fill="#0072B2"/>'


def _number(room: Room, place: Callable[[float], float], height: float) -> str:
    if room.value is None:
        return ""
    x = place(room.value)
    anchor = "start" if x < _WIDTH / 2 else "end"
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="20" y2="{height - 30}" stroke="#A33C00" stroke-width="2"'
    return f'{line} stroke-dasharray="6 4"/><text x="{x:.1f}" y="14" text-anchor="{anchor}">{plain(room.value)}</text>'


def _ends(ends: Sequence[float], height: float) -> str:
    y = height - 8
    low, high = plain(min(ends)), plain(max(ends))
    return (
        f'<line x1="{_LEFT}" x2="{_WIDTH - _LEFT}" y1="{height - 26}" y2="{height - 26}" stroke="#555"/>'
        f'<text x="{_LEFT}" y="{y}">{low}</text><text x="{_WIDTH - _LEFT}" y="{y}" text-anchor="end">{high}</text>'
    )


def _multiplies(ends: Sequence[float]) -> bool:
    return min(ends) > 0 and max(ends) > 20 * min(ends)


def _scale(ends: Sequence[float]) -> Callable[[float], float]:
    """From a number to its place; by factors where the numbers span many."""
    least, most = min(ends), max(ends)
    log = _multiplies(ends)

    def place(value: float) -> float:
        if most == least:
            return _WIDTH / 2
        share = math.log(value / least) / math.log(most / least) if log else (value - least) / (most - least)
        return _LEFT + share * (_WIDTH - 2 * _LEFT)

    return place
