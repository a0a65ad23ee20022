"""Many policies on one run or several: a row for each trace and policy."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import InputError
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summarizer
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.price.prices import Prices
from labkit.price.prices import prices as price_card
from labkit.record.trace import Trace
from labkit.replay import fastpath
from labkit.replay.fastpath_policies import Columns
from labkit.replay.grids import columns
from labkit.replay.sweep_frame import Gathered, finished
from labkit.replay.sweep_jobs import here, on_workers
from labkit.replay.sweep_part import Work
from labkit.replay.sweep_store import Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["sweep"]

SLOWER = "numba is not installed: the reference engine is used; labkit[fast] is about 400 times as fast"

PART = 20_000
"""Rows a part: what is lost when a sweep is interrupted, and what is held in memory beside the frame."""


def sweep(
    traces: Trace | str | Path | Sequence[Trace | str | Path],
    grid: Mapping[str, Iterable[Any]] | Sequence[Policy],
    *,
    base: Any = "default",
    rules: CacheRules = ARTICLE_RULES,
    prices: Prices | None = None,
    summarizer: Summarizer | None = None,
    engine: str = "auto",
    out: str | Path | None = None,
    progress: bool = False,
    jobs: Any = None,
) -> pd.DataFrame:
    """Replay traces under many policies.

    Parameters
    ----------
    traces : Trace, path, or a sequence of them
        A path is read where it is swept, on many machines each reads its own, and replayed as if its harness
        had edited nothing.
    grid : mapping or sequence of Policy
        Fields and their values, of which every combination is taken (:func:`labkit.grid`), or policies.
    base : Policy, name, file or mapping
        For a mapping: where all other fields come from.
    rules : CacheRules
    prices : Prices, optional
        Default: the ctxkit article's card. Without bands, for the fast engine.
    summarizer : Summarizer, optional
        Default: a size model of 1,500 tokens, which every engine can run. It says nothing, so a policy that
        compacts is charged for every fact and excerpt; give a summarizer with words to have them found.
    engine : {"auto", "fast", "reference"}
        ``auto`` takes the compiled engine for what it can express, where that pays for compiling it, and the
        reference for the rest; the column ``engine`` says which.
    out : path, optional
        A folder for finished parts. A sweep that was interrupted goes on from them.
    progress : bool
        Print a line a part to standard error.
    jobs : distributed.Client, optional
        Sweep the parts on the workers of a Dask cluster (extra ``scale``). A part of a worker that dies is
        made again by another. Default: here, on all cores.

    Returns
    -------
    DataFrame
        A row for each trace and policy; the first of each trace is doing nothing (``policy`` 0). Beside the
        fields that vary: tokens, costs in dollars (``plain``, ``cached``, ``cold``), losses, the saving
        against doing nothing net of re-reads (``net_low``, ``net_high``, from the cold bill), and why a policy
        is ``disqualified``.

    Raises
    ------
    InputError
        If nothing is to be swept, or the engine cannot be had.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> run = load(data_path("traces", "invoice-60.jsonl"))
    >>> frame = sweep(run, {"keep": [3, 5, 10]}, base="article", engine="reference")
    >>> [round(cost, 2) for cost in frame["cached"]]
    [2.63, 1.63, 2.32, 2.48]
    """
    listed = [traces] if isinstance(traces, Trace | str | Path) else list(traces)
    table = columns(grid, base) if isinstance(grid, Mapping) else Columns(grid)
    if not listed or not table.length:
        raise InputError("nothing to sweep: give a trace and a grid")
    if engine not in ("auto", "fast", "reference"):
        raise InputError(f"engine is {engine!r}: give 'auto', 'fast' or 'reference'")
    if engine == "fast" and not fastpath.available():
        raise InputError("the fast engine is not installed: run 'make lab', or pip install -e '.[fast]'")
    if progress and engine == "auto" and not fastpath.available():
        print(SLOWER, file=sys.stderr)
    card, writer = prices or price_card("article"), summarizer or SizedSummarizer()
    work = Work(table.after(Policy.nothing()), rules, card, writer, engine, PART)
    rows = work.table.length
    parts = [(t, at) for t in range(len(listed)) for at in range(0, rows, PART)]
    store = None if out is None else Store(Path(out), work.key(), listed)
    gathered, done, began = Gathered(len(listed), rows), 0, time.monotonic()

    def keep(place: int, frame: pd.DataFrame) -> None:
        nonlocal done
        t, at = parts[place]
        gathered.put(t * rows + at, frame)
        done += 1

    def name(place: int) -> str:
        return f"{parts[place][0]:04d}-{parts[place][1] // PART:06d}"

    left = []
    for place in range(len(parts)):
        frame = None if store is None else store.read(name(place))
        if frame is None:
            left.append(place)
        else:
            keep(place, frame)
    todo = [(work, listed[parts[place][0]], parts[place][1]) for place in left]
    for at, frame in here(todo) if jobs is None else on_workers(jobs, todo):
        if store is not None:
            store.write(name(left[at]), frame)
        keep(left[at], frame)
        if progress:
            took = time.monotonic() - began
            print(f"{done} of {len(parts)} parts, {took:.1f} s", file=sys.stderr)
    return finished(gathered.frame(), work.table, work.shown(), card, getattr(writer, "call", "cold"))
