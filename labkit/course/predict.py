"""Predictions with commitment: a range before the number, and an honest count of how often it held."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

from labkit.course import memory
from labkit.course.judge import calm, named, shown

LOST = "It cannot be kept: see labkit doctor."

__all__ = ["Held", "plain", "predict", "reveal", "revealed"]


def predict(id: str, low: object, high: object) -> None:
    """Commit to a range before the number is shown.

    Parameters
    ----------
    id : str
        Of the question, for example ``"00.p1"``.
    low, high : number
        A range you would bet on. Left at ``...`` nothing is kept, and the notebook goes on.

    Notes
    -----
    The range that counts is the last one before :func:`reveal` first showed the number; that it was changed is kept
    and said. Once the number was shown, none is taken any more. Never raises.

    Examples
    --------
    >>> predict("00.p1", ..., ...)
    00.p1  no range yet: write two numbers for low and high, and run this cell before you go on.
    >>> predict("00.p1", 5, 2)
    00.p1  not kept: low is 5 and high is 2, so swap them.
    """
    id = named(id)
    if low is None or low is ... or high is None or high is ...:
        print(f"{id}  no range yet: write two numbers for low and high, and run this cell before you go on.")
        return
    bottom, top = _number(low), _number(high)
    if bottom is None or top is None:
        wrong = low if bottom is None else high
        print(f"{id}  not kept: {_short(wrong)} is not a finite number, so write digits such as 150_000.")
        return
    if bottom > top:
        print(f"{id}  not kept: low is {plain(bottom)} and high is {plain(top)}, so swap them.")
        return
    before = memory.recall()["predictions"].get(id)
    if before is not None and before["low"] is None:
        again = f'lk.progress("{id.split(".")[0]}", reset=True)'
        print(
            f"{id}  the number was shown before you wrote a range, so this one does not count; {again} starts afresh."
        )
        return
    if before is not None and before.get("value") is not None:
        print(f"{id}  the number was shown before: you said {_range(before)}, and that counts.")
        return
    entry = {"low": bottom, "high": top, "value": None}
    changed = before is not None and (before["low"], before["high"]) != (bottom, top)
    if before is not None and ("first" in before or changed):
        entry["first"] = before.get("first", [before["low"], before["high"]])
    kept = memory.remember("predictions", id, entry)
    instead = f" in place of {_range(before)}" if before is not None and changed else ""
    print(f"{id}  {plain(bottom)} to {plain(top)}" + (f", kept{instead}." if kept else f". {LOST}"))


def reveal(id: str, value: float) -> None:
    """Show the number and say whether the range held.

    Parameters
    ----------
    id : str
    value : number
        The true value.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     before = os.environ.get("LABKIT_HOME")
    ...     os.environ["LABKIT_HOME"] = folder
    ...     predict("00.p1", 300_000, 900_000)
    ...     reveal("00.p1", 5_856_377)
    ...     _ = os.environ.pop("LABKIT_HOME") if before is None else os.environ.update(LABKIT_HOME=before)
    00.p1  300,000 to 900,000, kept.
    00.p1  You said 300,000 to 900,000. It is 5,856,377: outside, 6.5 times your upper end.
    """
    id = named(id)
    entry = memory.recall()["predictions"].get(id)
    true = _number(value)
    if true is None:
        print(f"{id}  {_short(value)} is not a number that can be shown.")
    elif entry is None or entry["low"] is None:
        memory.remember("predictions", id, {"low": None, "high": None, "value": true})
        print(f"{id}  It is {plain(true)}. You wrote no range.")
    else:
        if entry.get("value") is None:
            memory.remember("predictions", id, {**entry, "value": true})
        said, verdict = _range(entry), _verdict(entry["low"], entry["high"], true)
        if "first" in entry:
            first, last = entry["first"]
            said += f", and {plain(first)} to {plain(last)} at first"
        print(f"{id}  You said {said}. It is {plain(true)}: {verdict}.")


@dataclass(frozen=True)
class Held:
    """How a learner's ranges did.

    Parameters
    ----------
    held, revealed : int
        Ranges that held the number, of those whose number was shown.
    open : int
        Ranges whose number was not shown yet.
    changed : int
        Of the shown ones, those that were changed before.
    width : float or None
        Median of high divided by low of the shown ones, where low is above 0: a range that is never
        wrong because it is a thousand times wide teaches nothing.
    """

    held: int
    revealed: int
    open: int
    changed: int
    width: float | None


def revealed(notebook: str | None = None) -> Held:
    """Count the ranges of one notebook, or of all."""
    kept = memory.recall()["predictions"].items()
    entries = [e for k, e in kept if e["low"] is not None and notebook in (None, k.split(".")[0])]
    shown = [e for e in entries if e.get("value") is not None]
    widths = sorted(e["high"] / e["low"] for e in shown if e["low"] > 0)
    return Held(
        sum(e["low"] <= e["value"] <= e["high"] for e in shown),
        len(shown),
        len(entries) - len(shown),
        sum("first" in e for e in shown),
        widths[len(widths) // 2] if widths else None,
    )


def _verdict(low: float, high: float, true: float) -> str:
    if low <= true <= high:
        return "inside"
    end, name = (high, "upper") if true > high else (low, "lower")
    if end > 0 and true > 0:
        times = true / end
        if times >= 1.1 or times <= 0.9:
            return (
                f"outside, {times:.2g} times your {name} end"
                if times < 1
                else f"outside, {times:,.1f} times your {name} end"
            )
        return f"outside, just {'above' if true > high else 'below'} your {name} end"
    return f"outside, beyond your {name} end"


def _number(value: object) -> float | None:
    """A finite number as a plain int or float; ``None`` for anything else, bools included."""
    found: float | None = calm(lambda: _finite(value), None)
    return found


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    plain = float(value)
    if not math.isfinite(plain):
        return None
    return int(plain) if plain == int(plain) else plain


def plain(value: float) -> str:
    """A number as a learner would write it.

    Examples
    --------
    >>> plain(5_856_377), plain(0.02616), plain(2.0)
    ('5,856,377', '0.02616', '2')
    """
    return f"{value:,}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:,.4g}"


def _range(entry: dict[str, float]) -> str:
    return f"{plain(entry['low'])} to {plain(entry['high'])}"


def _short(value: object) -> str:
    return shown(value)[:60]
