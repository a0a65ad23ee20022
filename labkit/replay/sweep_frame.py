"""The frame of a sweep: its parts in one place, then costs, savings and why a policy is disqualified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.price.prices import Prices
from labkit.replay.fastpath import COLUMNS
from labkit.replay.fastpath_policies import Columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Gathered", "finished"]

_NUMBERS = ("policy", *(name for name in COLUMNS if name not in ("refused", "bound")), "output", "facts")
_ENGINES = ("fast", "reference")


class Gathered:
    """The rows of all parts: each part is copied to its place and can be forgotten.

    Parts kept until the last is there, and then put together, would take their memory twice.

    Parameters
    ----------
    traces, policies : int
        How many there are; a trace's rows stand together, doing nothing first.
    """

    def __init__(self, traces: int, policies: int) -> None:
        rows = traces * policies
        self._policies = policies
        self._numbers = np.zeros((len(_NUMBERS), rows), np.int64)
        self._reference = np.zeros(rows, bool)
        self._refused: dict[int, str] = {}
        self._names = [""] * traces

    def put(self, at: int, part: pd.DataFrame) -> None:
        """Keep a part whose first row has this place."""
        here = slice(at, at + len(part))
        for row, name in zip(self._numbers, _NUMBERS, strict=True):
            row[here] = part[name].to_numpy()
        self._reference[here] = (part["engine"] == "reference").to_numpy()
        self._names[at // self._policies] = part["trace"].iloc[0]
        refused = part["refused"].to_numpy(object)
        self._refused.update((at + int(i), refused[i]) for i in np.flatnonzero(refused != ""))

    def frame(self) -> pd.DataFrame:
        """All rows. The parts' numbers are handed over, not copied."""
        import pandas as pd

        refused = np.full(len(self._reference), "", object)
        for row, words in self._refused.items():
            refused[row] = words
        numbers = dict(zip(_NUMBERS, self._numbers, strict=True))
        columns: dict[str, Any] = {
            "trace": np.repeat(np.array(_apart(self._names), object), self._policies),
            "policy": numbers.pop("policy"),
            "engine": np.array(_ENGINES, object)[self._reference.astype(int)],
        }
        before = {name: numbers.pop(name) for name in list(numbers) if name not in ("output", "facts")}
        return pd.DataFrame({**columns, **before, "refused": refused, **numbers}, copy=False)


def finished(frame: pd.DataFrame, table: Columns, shown: dict[str, list[Any]], card: Prices, call: str) -> pd.DataFrame:
    """Add the fields that vary, the costs and the saving.

    Parameters
    ----------
    frame : DataFrame
        Of :meth:`Gathered.frame`; it is changed.
    table : Columns
        All policies.
    shown : dict of str to list
        Fields to show, with a value for each policy.
    card : Prices
    call : {"warm", "cold", "free"}
        How the summarizer reads what it summarizes.
    """
    import pandas as pd

    index = frame["policy"].to_numpy()
    for place, (name, values) in enumerate(shown.items(), start=2):
        frame.insert(place, name, pd.Series(values, dtype=object).to_numpy()[index])
    per = 1e6
    long = table.where("lifetime", lambda lifetime: lifetime == "1h")[index]
    write = np.where(long, card.cache_write_1h, card.cache_write_5m) / per
    read = card.cache_read if call == "warm" else card.input
    own = (frame["summaries_in"] * read + frame["summaries_out"] * card.output) / per
    out = frame["output"] * card.output / per + own
    sent = frame["uncached"] * card.input / per
    frame["summaries"] = own
    frame["plain"] = frame["input"] * card.input / per + out
    kept = frame["input"] - frame["uncached"]
    frame["cached"] = frame["read"] * card.cache_read / per + (kept - frame["read"]) * write + sent + out
    cold = (frame["read_cold"] + frame["pinged"]) * card.cache_read / per
    frame["cold"] = cold + (kept - frame["read_cold"]) * write + sent + out
    frame["fresh"] = frame["input"] - frame["read"]
    frame["reread"] = frame["reread_tokens"] * write
    frame["reread_dear"] = frame["reread_high"] * write + frame["reread_prompts"] * card.cache_read / per
    base = np.repeat(frame["cold"].to_numpy()[:: table.length], table.length)
    frame["net_low"] = base - frame["cold"] - frame["reread_dear"]
    frame["net_high"] = base - frame["cold"] - frame["reread"]
    frame["disqualified"] = np.select(
        [frame["refused"] != "", frame["unread"] > 0, frame["facts_lost"] > 0, frame["overflow"] > 0],
        ["refused", "unread", "facts lost", "overflow"],
        "",
    )
    return frame


def _apart(names: list[str]) -> list[str]:
    """Names that differ: many harnesses call every file the same.

    >>> _apart(["run", "other", "run"])
    ['run', 'other', 'run (2)']
    """
    taken: dict[str, int] = {}
    out = []
    for name in names:
        taken[name] = taken.get(name, 0) + 1
        out.append(name if taken[name] == 1 else f"{name} ({taken[name]})")
    return out
