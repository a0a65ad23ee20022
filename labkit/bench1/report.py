"""What the command line says of the benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.bench1.agent import Recall
from labkit.bench1.bench import Table, table, wilson
from labkit.bench1.maps import Rereads, drop_at, occupied, reread_check
from labkit.bench1.run import curves, policies
from labkit.errors import InputError, closest

__all__ = ["Benched", "Budget", "benched", "budget_lines", "budget_of", "budgeted", "row_lines"]


@dataclass(frozen=True)
class Benched:
    """A table with its re-reads, predicted and made.

    Parameters
    ----------
    table : Table
    rereads : Rereads
    """

    table: Table
    rereads: Rereads

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"simulated": True, **self.table.to_json(), "rereads": [list(row) for row in self.rereads.rows]}

    def lines(self) -> list[str]:
        """The table for people."""
        made = self.table.to_json()
        n = made["seeds"]
        out = [f"BENCH-1, simulated: {n} seeds; recall {self.table.recall.source}; stop hazard {self.table.hazard:g}"]
        out += row_lines(made["configurations"], n, "seconds_simulated")
        rate, low, high = made["difference"]
        verdict = "budgeted wins" if low > 0 else "budgeted loses" if high < 0 else "the interval holds 0: a tie"
        out.append(f"budgeted less unbounded: {rate:+.0%}, from {low:+.0%} to {high:+.0%}; {verdict}")
        out.append(f"re-reads: {self.rereads}")
        out.append("Seconds come from assumed rates of prefill and decode. One point of a map: see notebook 07.")
        return out


def row_lines(rows: dict[str, dict[str, Any]], seeds: int, clock: str) -> list[str]:
    """The rows of a table under their head."""
    head = ("", "passed", "95 % interval", "input", "output", "seconds", "$", "$ a pass", "stops", "full", "missed")
    out = ["{:<10}{:>8}{:>17}{:>12}{:>9}{:>9}{:>8}{:>10}{:>7}{:>6}{:>8}{:>7}".format(*head, "wrong")]
    for name, row in rows.items():
        low, high = row["interval"]
        a_pass = "none" if row["dollars_a_pass"] is None else f"{row['dollars_a_pass']:.3f}"
        out.append(
            f"{name:<10}{row['passed']:>5}/{seeds:<3}{f'{low:.0%} to {high:.0%}':>16}{row['input']:>12,}"
            f"{row['output']:>9,}{row[clock]:>9,.0f}{row['dollars']:>8.2f}{a_pass:>10}"
            f"{row['premature_stops']:>7}{row['window_full']:>6}{row['missed']:>8}{row['wrong']:>7}"
        )
    return out


@dataclass(frozen=True)
class Budget:
    """Passed runs of the simulated agent by what its window held before.

    Parameters
    ----------
    seeds : int
    recall : Recall
    rows : dict of str to list of (int, int)
        By configuration: tokens, and runs that passed.
    """

    seeds: int
    recall: Recall
    rows: dict[str, list[tuple[int, int]]]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        curve = {"half": self.recall.half, "k": self.recall.k, "source": self.recall.source}
        found = {name: budget_of(rows, self.seeds) for name, rows in self.rows.items()}
        return {"simulated": True, "seeds": self.seeds, "recall": curve, "occupied": found}

    def lines(self) -> list[str]:
        """The table for people."""
        head = f"BENCH-1, simulated: {self.seeds} seeds; recall {self.recall.source}"
        return [head, *budget_lines(self.to_json()["occupied"], self.seeds)]


def budget_of(rows: Sequence[tuple[int, int]], runs: int) -> dict[str, Any]:
    """The rows with their intervals, and from where on fewer pass beyond doubt.

    Examples
    --------
    >>> budget_of([(0, 20), (16_000, 4)], 20)["drop_at"]
    16000
    """
    plain = [[tokens, passed, *(round(x, 4) for x in wilson(passed, runs))] for tokens, passed in rows]
    return {"rows": plain, "drop_at": drop_at(rows, runs)}


def budget_lines(found: Mapping[str, Any], runs: int) -> list[str]:
    """What :func:`budget_of` gives, for people."""
    out = []
    for name, made in found.items():
        for tokens, passed, low, high in made["rows"]:
            out.append(f"{name}, {tokens:,} tokens there before: {passed} of {runs} pass, {low:.0%} to {high:.0%}")
        at = made["drop_at"]
        out.append(f"{name}: " + (f"fewer pass from {at:,} tokens on" if at else "no drop that so many runs can show"))
    return out


def budgeted(seeds: int, curve: str | None, occupied_by: Sequence[int], say: Callable[[str], None]) -> Budget:
    """Run both configurations in windows that hold so much before, and say how far it is.

    Raises
    ------
    InputError
        If the curve is unknown.
    """
    recall = _recall(curve)
    rows: dict[str, list[tuple[int, int]]] = {name: [] for name in policies()}
    for name in rows:
        for tokens in occupied_by:
            rows[name] += occupied(recall, (tokens,), seeds=seeds, name=name)
            say(f"{name}, {tokens:,} tokens there before: {rows[name][-1][1]} of {seeds} pass")
    return Budget(seeds, recall, rows)


def _recall(curve: str | None) -> Recall:
    known = curves()
    if curve is not None and curve not in known:
        raise InputError(f"there is no curve {curve!r}{closest(curve, known)}: give one of {'; '.join(known)}")
    return Recall() if curve is None else known[curve]


def benched(seeds: int, curve: str | None, say: Callable[[str], None]) -> Benched:
    """Run the table, and say after each seed how far it is.

    Raises
    ------
    InputError
        If the curve is unknown.
    """
    recall, start = _recall(curve), time.monotonic()

    def progress(todo: Iterable[int]) -> Iterator[int]:
        for seed in todo:
            yield seed
            say(f"seed {seed + 1} of {seeds}, {time.monotonic() - start:.0f} s")

    return Benched(table(seeds, recall, progress=progress), reread_check(seeds, recall))
