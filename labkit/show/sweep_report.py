"""What the command line says of a sweep."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import InputError
from labkit.record.load import load
from labkit.replay.choose import choose, frontier, knee
from labkit.replay.grids import grid
from labkit.replay.sweep import sweep

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Swept", "swept"]


@dataclass(frozen=True, eq=False)
class Swept:
    """A sweep and what it comes to.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`labkit.sweep`.
    axes : tuple of str
        The fields that varied.
    compile_s, compute_s : float
        Seconds until the first policy was replayed, and for the sweep after that.
    """

    frame: pd.DataFrame
    axes: tuple[str, ...]
    compile_s: float
    compute_s: float

    def _front(self) -> pd.DataFrame:
        return frontier(self.frame) if self.frame["trace"].nunique() == 1 else self.frame.iloc[:0]

    def _said(self, policy: int) -> dict[str, Any]:
        row = self.frame[self.frame["policy"] == policy].iloc[0]
        values = {name: _plain(row[name]) for name in self.axes} if policy else {"do nothing": True}
        columns = ("cold", "net_low", "net_high", "uses_after_clear", "events")
        return {"policy": policy, **values, **{c: _plain(row[c]) for c in columns}, "engine": row["engine"]}

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        chosen = choose(self.frame)
        return {
            "policies": int(self.frame["policy"].nunique()),
            "traces": int(self.frame["trace"].nunique()),
            "rows": len(self.frame),
            "compile_s": round(self.compile_s, 3),
            "compute_s": round(self.compute_s, 3),
            "disqualified": int((self.frame["disqualified"] != "").sum()),
            "best": {**self._said(chosen.policy), "saving": chosen.saving, "worst": chosen.worst},
            "frontier": [self._said(int(p)) for p in self._front()["policy"]],
            "simulated": "open-loop: the recorded actions under another context, not what a model would have done",
        }

    def lines(self) -> list[str]:
        """A few lines for people."""
        told = self.to_json()
        best = told["best"]
        took = f"{told['compute_s']:.2f} s, and {told['compile_s']:.2f} s to start"
        count = f"{told['rows']:,} rows: {told['policies']:,} policies on {told['traces']} traces"
        lines = [f"{count}, {told['disqualified']:,} disqualified; {took}"]
        if best["policy"] == 0:
            lines.append("best: do nothing. No policy saves more than half a percent once re-reads are paid.")
        else:
            lines.append(
                f"best: {_words(best, self.axes)}: saves {best['saving']:.1%} of ${told_nothing(self.frame):.2f}, "
                f"re-reads at their higher charge; {best['uses_after_clear']} excerpts missing when needed"
            )
        front = self._front()
        if len(front) > 2:
            bend = self._said(knee(front))
            lines.append(f"the knee of {len(front)} on the frontier: {_words(bend, self.axes)}")
        lines.append("simulated, open-loop: the same actions under another context")
        return lines


def told_nothing(frame: pd.DataFrame) -> float:
    """What doing nothing costs, over the traces."""
    return float(frame.loc[frame["policy"] == 0, "cold"].sum())


def swept(path: str, axes_file: str, out: str | None) -> Swept:
    """Sweep a run over a grid from a file.

    Raises
    ------
    InputError
        If the grid is no JSON object of lists, or the rows cannot be written.
    """
    try:
        axes = json.loads(Path(axes_file).expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f'{axes_file} is not a grid in JSON ({error}): give {{"trigger": [20000, 30000]}}') from None
    if not isinstance(axes, dict):
        raise InputError(f'{axes_file} holds a JSON {type(axes).__name__}: give {{"trigger": [20000, 30000]}}')
    base = axes.pop("preset", "default")
    policies = grid(axes, base)
    trace = load(path)
    began = time.perf_counter()
    sweep(trace, policies[:1])
    ready = time.perf_counter()
    frame = sweep(trace, policies, progress=len(policies) > 20_000)
    done = time.perf_counter()
    if out is not None:
        _write(frame, Path(out).expanduser())
    return Swept(frame, tuple(axes), ready - began, done - ready)


def _write(frame: pd.DataFrame, path: Path) -> None:
    try:
        if path.suffix == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
    except (OSError, ImportError) as error:
        raise InputError(f"{path} cannot be written ({error}): give another file, such as sweep.csv") from None


def _words(said: dict[str, Any], axes: tuple[str, ...]) -> str:
    if said["policy"] == 0:
        return "do nothing"
    return ", ".join(f"{name.replace('_', ' ')} {_number(said.get(name))}" for name in axes)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
