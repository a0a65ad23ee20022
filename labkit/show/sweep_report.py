"""What the command line says of a sweep."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import InputError, LabError
from labkit.record.edits import unedited
from labkit.record.load import load
from labkit.record.trace import Trace
from labkit.replay.choose import choose, frontier, knee
from labkit.replay.grids import columns, grid
from labkit.replay.sessions import sessions_in
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
    axes : dict of str to list
        The fields of the grid and their values; one value alone stands in no column of the frame.
    compile_s, compute_s : float
        Seconds until the first policy was replayed, and for the sweep after that.
    """

    frame: pd.DataFrame
    axes: dict[str, list[Any]]
    compile_s: float
    compute_s: float

    def _front(self) -> pd.DataFrame:
        return frontier(self.frame) if self.frame["trace"].nunique() == 1 else self.frame.iloc[:0]

    def _said(self, policy: int) -> dict[str, Any]:
        row = self.frame[self.frame["policy"] == policy].iloc[0]
        values = {n: _plain(row[n] if n in row.index else given[0]) for n, given in self.axes.items()}
        values = values if policy else {"do nothing": True}
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


def swept(path: str, axes_file: str, out: str | None, resume: str | None = None) -> Swept:
    """Sweep a run, or all sessions of a folder, over a grid from a file.

    Parameters
    ----------
    path : str
        A run, a recorded session (as if its harness had edited nothing), or a folder of sessions.
    axes_file : str
        JSON of lists, and a ``preset`` for all other fields.
    out : str, optional
        Where all rows go.
    resume : str, optional
        A folder for finished parts; a sweep that was interrupted goes on from them.

    Raises
    ------
    InputError
        If the grid is no JSON object of lists, no run can be read, or the rows cannot be written.
    """
    try:
        axes = json.loads(Path(axes_file).expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f'{axes_file} is not a grid in JSON ({error}): give {{"trigger": [20000, 30000]}}') from None
    if not isinstance(axes, dict):
        raise InputError(f'{axes_file} holds a JSON {type(axes).__name__}: give {{"trigger": [20000, 30000]}}')
    base = axes.pop("preset", "default")
    traces = _traces(path)
    began = time.perf_counter()
    sweep(traces[0], grid(axes, base)[:1])
    ready = time.perf_counter()
    many = len(traces) > 1 or columns(axes, base).length > 20_000
    frame = sweep(traces, axes, base=base, progress=many, out=resume)
    done = time.perf_counter()
    if out is not None:
        _write(frame, Path(out).expanduser())
    return Swept(frame, axes, ready - began, done - ready)


def _traces(path: str) -> list[Trace]:
    """What a path holds; of a folder of sessions, those that can be read."""
    folder = Path(path).expanduser()
    try:
        return [unedited(load(path))]
    except InputError:
        if not folder.is_dir():
            raise
    found = []
    for file in sessions_in(str(folder)):
        try:
            trace = unedited(load(file))
        except LabError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        if trace.requests:
            found.append(trace)
    if not found:
        raise InputError(f"no session of {folder} can be read: 'labkit formats' lists the kinds")
    return found


def _write(frame: pd.DataFrame, path: Path) -> None:
    try:
        if path.suffix == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
    except (OSError, ImportError) as error:
        raise InputError(f"{path} cannot be written ({error}): give another file, such as sweep.csv") from None


def _words(said: dict[str, Any], axes: Iterable[str]) -> str:
    if said["policy"] == 0:
        return "do nothing"
    return ", ".join(f"{name.replace('_', ' ')} {_number(said.get(name))}" for name in axes)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
