"""How much of a window may be used: published recall by length of the context, and how far it was measured.

Two kinds of rows stand in ``data/recall.json``: curves fitted to tables, and single published values. Neither
goes further than what was measured without saying so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from labkit.bench1.agent import Recall
from labkit.errors import InputError
from labkit.files import load_data

__all__ = ["Published", "published", "usable"]


@dataclass(frozen=True)
class Published:
    """One model on one test.

    Parameters
    ----------
    name : str
        Model and test.
    year : int
        Of the model.
    test : str
    reach : int
        The longest context that was measured, in tokens.
    top : float
        Per cent where the context is short; of a fit.
    recall : Recall or None
        The fit; ``None`` where too few values were published for one.
    values : tuple of (int, float)
        Published single values: tokens (of a range its upper end), and per cent.
    source : str
    """

    name: str
    year: int
    test: str
    reach: int
    top: float
    recall: Recall | None
    values: tuple[tuple[int, float], ...]
    source: str

    def accuracy(self, tokens: float) -> float:
        """Per cent by the fit in a context of so many tokens; beyond ``reach`` a guess.

        Raises
        ------
        InputError
            If there is no fit.
        """
        if self.recall is None:
            raise InputError(f"{self.name} has {len(self.values)} published values and no fit: look at its values")
        return self.top * self.recall.chance(tokens)


def published() -> tuple[Published, ...]:
    """All rows of ``data/recall.json``, the oldest model first; of one year the steepest first.

    Examples
    --------
    >>> [row.name for row in published() if row.recall is None]
    ['Claude Opus 4.7, MRCR v2', 'GPT-5.5, MRCR v2', 'GPT-6 Astra, MRCR v2']
    """
    data = load_data("recall.json")
    rows = [
        Published(
            c["name"],
            c["year"],
            _test(c["name"]),
            c["reach"],
            c["top"],
            Recall(c["half"], c["k"], data["sources"][c["source"]]),
            (),
            data["sources"][c["source"]],
        )
        for c in data["curves"]
    ]
    for v in data["values"]:
        points = tuple((int(tokens), float(per_cent)) for tokens, per_cent in v["values"])
        top = max(per_cent for _, per_cent in points)
        rows.append(Published(v["name"], v["year"], _test(v["name"]), points[-1][0], top, None, points, v["source"]))
    return tuple(sorted(rows, key=lambda row: (row.year, row.recall is None, _half(row))))


def _test(name: str) -> str:
    return name.rpartition(", ")[2]


def _half(row: Published) -> float:
    return 0.0 if row.recall is None else float(row.recall.half or math.inf)


def usable(row: Published, share: float = 0.8) -> tuple[int, bool]:
    """The longest context in which a model keeps a share of what it recalls in a short one.

    Parameters
    ----------
    row : Published
        With a fit.
    share : float
        Above 0 and below 1.

    Returns
    -------
    tokens : int
        No more than ``row.reach``.
    measured : bool
        False where the share still held at the longest context that was measured: then it is at least so many.

    Raises
    ------
    InputError
        If there is no fit, or ``share`` is out of range.

    Examples
    --------
    >>> by_name = {row.name: row for row in published()}
    >>> usable(by_name["GPT-4o, NoLiMa"]), usable(by_name["GPT-4-1106, RULER"])
    ((18000, True), (128000, False))
    """
    if not 0 < share < 1:
        raise InputError(f"share is {share}: it is what is left of the recall, so give more than 0 and less than 1")
    if row.recall is None or row.recall.half is None:
        raise InputError(f"{row.name} has {len(row.values)} published values and no fit: look at its values")
    length = row.recall.half * (1 / share - 1) ** (1 / row.recall.k)
    return (row.reach, False) if length > row.reach else (round(length), True)
