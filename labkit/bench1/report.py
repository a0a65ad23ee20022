"""What the command line says of the benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from labkit.bench1.agent import Recall
from labkit.bench1.bench import Table, table
from labkit.bench1.maps import Rereads, reread_check
from labkit.bench1.run import curves
from labkit.errors import InputError, closest

__all__ = ["Benched", "benched", "row_lines"]


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


def benched(seeds: int, curve: str | None, say: Callable[[str], None]) -> Benched:
    """Run the table, and say after each seed how far it is.

    Raises
    ------
    InputError
        If the curve is unknown.
    """
    known = curves()
    if curve is not None and curve not in known:
        raise InputError(f"there is no curve {curve!r}{closest(curve, known)}: give one of {'; '.join(known)}")
    start = time.monotonic()

    def progress(todo: Iterable[int]) -> Iterator[int]:
        for seed in todo:
            yield seed
            say(f"seed {seed + 1} of {seeds}, {time.monotonic() - start:.0f} s")

    recall = Recall() if curve is None else known[curve]
    return Benched(table(seeds, recall, progress=progress), reread_check(seeds, recall))
