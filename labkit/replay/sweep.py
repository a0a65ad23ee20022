"""Many policies on one run or several: a row for each trace and policy."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.errors import EditRefused, InputError
from labkit.ladder.gate import refusal
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summarizer
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.price.prices import Prices
from labkit.price.prices import prices as price_card
from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Trace
from labkit.replay import fastpath
from labkit.replay.fastpath_policies import Columns
from labkit.replay.grids import grid as make_grid
from labkit.replay.replay import replay
from labkit.replay.rows import Replay
from labkit.replay.sweep_jobs import here, named, on_workers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["sweep"]

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
        A path is read where it is swept: on many machines each reads its own.
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
    policies = make_grid(grid, base) if isinstance(grid, Mapping) else list(grid)
    if not listed or not policies:
        raise InputError("nothing to sweep: give a trace and a grid")
    if engine not in ("auto", "fast", "reference"):
        raise InputError(f"engine is {engine!r}: give 'auto', 'fast' or 'reference'")
    if engine == "fast" and not fastpath.available():
        raise InputError("the fast engine is not installed: pip install 'labkit[fast]'")
    card = prices or price_card("article")
    writer = summarizer or SizedSummarizer()
    if progress and engine == "auto" and not fastpath.available():
        print(
            "numba is not installed: the reference engine is used; labkit[fast] is some 300 times faster",
            file=sys.stderr,
        )
    everything = [Policy.nothing(), *policies]
    job = _Job(everything, rules, card, writer, engine)
    parts = [(t, at) for t in range(len(listed)) for at in range(0, len(everything), PART)]
    store = None if out is None else _Store(Path(out), job, listed)
    names = [f"{t:04d}-{at // PART:06d}" for t, at in parts]
    frames = [None if store is None else store.read(name) for name in names]
    left = [i for i, frame in enumerate(frames) if frame is None]
    began = time.monotonic()
    todo = [(job, listed[parts[i][0]], parts[i][1]) for i in left]
    for at, frame in here(todo) if jobs is None else on_workers(jobs, todo):
        if store is not None:
            store.write(names[left[at]], frame)
        frames[left[at]] = frame
        if progress:
            done = [f for f in frames if f is not None]
            took = time.monotonic() - began
            print(f"{len(done)} of {len(parts)} parts, {sum(map(len, done)):,} rows, {took:.1f} s", file=sys.stderr)
    return job.finished([frame for frame in frames if frame is not None])


class _Job:
    """What a sweep computes, part by part."""

    def __init__(
        self,
        policies: list[Policy],
        rules: CacheRules,
        card: Prices,
        summarizer: Summarizer,
        engine: str,
    ) -> None:
        self.policies, self.rules, self.card = policies, rules, card
        self.summarizer, self.engine = summarizer, engine
        self.size = PART

    @cached_property
    def table(self) -> Columns:
        """The policies field by field."""
        return Columns(self.policies)

    @property
    def varied(self) -> list[str]:
        """The fields in which the policies differ, doing nothing left out where there are others."""
        columns = ((name, column[1:]) for name, column in self.table.varied.items())
        return [name for name, column in columns if column and column.count(column[0]) < len(column)]

    def __getstate__(self) -> dict[str, Any]:
        """What travels to a worker: the table is made again there."""
        return {name: value for name, value in vars(self).items() if name != "table"}

    def part(self, trace: Trace, at: int) -> pd.DataFrame:
        """The rows of some policies on one trace."""
        import pandas as pd

        policies = self.policies[at : at + self.size]
        sizes = measure(trace)
        columns = self.table.part(at, at + self.size)
        chosen = self._fast(columns, trace)
        fast, slow = np.flatnonzero(chosen), np.flatnonzero(~chosen).tolist()
        pieces = []
        if len(fast):
            # Where it is a text summarizer, none of these policies compacts.
            model = self.summarizer if isinstance(self.summarizer, SizedSummarizer) else SizedSummarizer()
            some = [policies[i] for i in fast] if slow else policies
            made = fastpath.run(trace, sizes, some, self.rules, model, columns=None if slow else columns)
            piece = pd.DataFrame(made, columns=list(fastpath.COLUMNS))
            piece.insert(0, "policy", at + fast)
            piece.insert(1, "engine", "fast")
            refused, bound = piece["refused"].to_numpy(), piece.pop("bound").to_numpy()
            words = np.full(len(fast), "", dtype=object)
            for i in np.flatnonzero(refused).tolist():
                words[i] = refusal(int(refused[i]), int(bound[i]))
            piece["refused"] = words
            pieces.append(piece)
        if slow:
            piece = pd.DataFrame([self._reference(trace, sizes, policies[i]) for i in slow])
            piece.insert(0, "policy", [at + i for i in slow])
            piece.insert(1, "engine", "reference")
            pieces.append(piece)
        frame = pd.concat(pieces).sort_values("policy", ignore_index=True) if len(pieces) > 1 else pieces[0]
        frame.insert(0, "trace", trace.name)
        frame["output"] = _output(trace, sizes)
        frame["facts"] = len(trace.facts)
        return frame

    def _fast(self, policies: Columns, trace: Trace) -> Any:
        """Which policies go through the compiled engine."""
        if self.engine == "reference" or not fastpath.available() or self.card.bands:
            return np.zeros(policies.length, bool)
        chosen = fastpath.are_supported(policies, self.rules, trace)
        if not isinstance(self.summarizer, SizedSummarizer):
            for name in ("compact_above", "hand_off_above"):
                chosen &= policies.where(name, lambda above: above is None)
        if self.engine == "fast":
            return chosen
        longer = chosen & ~fastpath.are_plain(policies, self.rules, trace)
        if longer.any() and not fastpath.pays(int(longer.sum()) * len(trace.requests)):
            return chosen & ~longer
        return chosen

    def _reference(self, trace: Trace, sizes: Sizes, policy: Policy) -> dict[str, Any]:
        try:
            run = replay(trace, policy, self.rules, sizes=sizes, summarizer=self.summarizer)
        except EditRefused as refused:
            return {**dict.fromkeys(fastpath.COLUMNS[:-1], 0), "refused": str(refused)}
        return {**columns_of(run), "refused": ""}

    def finished(self, frames: list[pd.DataFrame]) -> pd.DataFrame:
        """All rows, with the fields that vary, the costs and the saving."""
        import pandas as pd

        frame = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
        index = frame["policy"].to_numpy()
        for place, name in enumerate(self.varied, start=2):
            frame.insert(place, name, pd.Series(self._said(name), dtype=object).to_numpy()[index])
        card, per = self.card, 1e6
        long = self.table.where("lifetime", lambda lifetime: lifetime == "1h")[index]
        write = np.where(long, card.cache_write_1h, card.cache_write_5m) / per
        own = self._summaries(frame)
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
        nothing = frame.loc[frame["policy"] == 0].set_index("trace")["cold"]
        base = frame["trace"].map(nothing)
        frame["net_low"] = base - frame["cold"] - frame["reread_dear"]
        frame["net_high"] = base - frame["cold"] - frame["reread"]
        frame["disqualified"] = np.select(
            [frame["refused"] != "", frame["unread"] > 0, frame["facts_lost"] > 0, frame["overflow"] > 0],
            ["refused", "unread", "facts lost", "overflow"],
            "",
        )
        return frame

    def _said(self, name: str) -> list[Any]:
        """The values of a field that varies, as a frame shows them."""
        column = self.table.varied.get(name)
        if column is None:
            return [_plain(self.table.same[name])] * len(self.policies)
        return [_plain(value) for value in column] if name in _SETS else column

    def _summaries(self, frame: pd.DataFrame) -> pd.Series:
        card = self.card
        call = getattr(self.summarizer, "call", "cold")
        read = card.cache_read if call == "warm" else card.input
        return (frame["summaries_in"] * read + frame["summaries_out"] * card.output) / 1e6

    def key(self) -> str:
        """What a stored part depends on."""
        what = [policy.to_dict() for policy in self.policies]
        text = json.dumps([what, repr(self.rules), repr(self.card), repr(self.summarizer), self.engine], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def columns_of(run: Replay) -> dict[str, int]:
    """The columns of :data:`labkit.replay.fastpath.COLUMNS`, but for the last two, from the reference engine."""
    rows = run.rows
    made = [event for event in run.events if event.request <= len(rows)]
    paid = [event.usage for event in made if event.usage is not None]
    return {
        "input": run.input,
        "peak": run.peak,
        "shared": sum(row.shared for row in rows),
        "read": sum(row.read for row in rows),
        "read_cold": sum(row.read_cold for row in rows),
        "pinged": sum(row.pinged for row in rows),
        "events": len(made),
        "breaks": run.breaks,
        "expired": run.cold,
        "unread": run.unread,
        "facts_lost": run.facts_lost or 0,
        "uses_after_clear": run.uses_after_clear,
        "reread_tokens": run.reread_tokens,
        "reread_high": run.reread_high,
        "reread_prompts": rows[-1].reread_prompts if rows else 0,
        "summaries_in": sum(usage.cache_read + usage.uncached for usage in paid),
        "summaries_out": sum(usage.output for usage in paid),
        "overflow": run.overflow or 0,
        "offloaded": run.offloaded,
        "uncached": sum(row.uncached for row in rows),
    }


class _Store:
    """Finished parts in a folder, as Parquet, each under the key of its job."""

    def __init__(self, folder: Path, job: _Job, traces: list[Trace | str | Path]) -> None:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise InputError("out needs pyarrow to keep its parts: pip install 'labkit[fast]'") from None
        names = hashlib.sha256("\0".join(map(named, traces)).encode())
        self._folder = folder / f"{job.key()}-{names.hexdigest()[:8]}"

    def read(self, name: str) -> pd.DataFrame | None:
        """A part that was finished before, or ``None``."""
        import pandas as pd

        path = self._folder / f"{name}.parquet"
        if not path.is_file():
            return None
        try:
            return pd.read_parquet(path)
        except (OSError, ValueError):
            return None  # torn or foreign: it is made again

    def write(self, name: str, frame: pd.DataFrame) -> None:
        """Keep a part; whole or not at all."""
        path = self._folder / f"{name}.parquet"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            frame.to_parquet(path.with_suffix(".part"))
            path.with_suffix(".part").replace(path)
        except OSError as error:
            raise InputError(f"{self._folder} cannot be written ({error}): give another folder for out") from None


# Fields that hold several names or pairs, which a frame shows as one text.
_SETS = ("cap_of", "evict", "pinned", "clear_inputs")


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return ", ".join(sorted(value))
    return ", ".join(f"{k}: {v}" for k, v in value) if isinstance(value, tuple) else value


def _output(trace: Trace, sizes: Sizes) -> int:
    return replay(trace, Policy.nothing(), sizes=sizes).output
