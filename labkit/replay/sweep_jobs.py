"""Where the parts of a sweep are made: here, or on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from labkit.errors import InputError
from labkit.record.edits import unedited
from labkit.record.load import load
from labkit.record.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["here", "named", "on_workers"]


class Job(Protocol):
    """What makes a part: the rows of some policies on one trace."""

    def part(self, trace: Trace, at: int) -> pd.DataFrame:
        """The rows from a policy on."""
        ...  # pragma: no cover


Todo = Sequence[tuple[Job, "Trace | str | Path", int]]

# A worker sweeps one file in several parts: it reads and counts it once.
_last: dict[str, Trace] = {}


def named(trace: Trace | str | Path) -> str:
    """What tells one trace from another, without reading a file.

    Raises
    ------
    InputError
        If there is no such file.
    """
    if isinstance(trace, Trace):
        return f"{trace.name} {len(trace.blocks)} {len(trace.requests)}"
    try:
        known = Path(trace).stat()
    except OSError as error:
        raise InputError(f"{trace} cannot be read ({error}): give a file that each worker can read") from None
    return f"{trace} {known.st_size} {known.st_mtime_ns}"


def here(todo: Todo) -> Iterator[tuple[int, pd.DataFrame]]:
    """Make the parts one after the other; each uses all cores."""
    for place, (job, trace, at) in enumerate(todo):
        yield place, make(job, trace, at)


def on_workers(client: Any, todo: Todo) -> Iterator[tuple[int, pd.DataFrame]]:
    """Make the parts on a cluster; they come back in any order.

    Traces and the job travel as tasks and not as data on one worker: what a dead worker held is made again
    from the scheduler's own copy.
    """
    if not hasattr(client, "submit"):
        raise InputError(f"jobs is {client!r}: give a distributed.Client, or nothing to sweep here")
    import distributed

    as_completed: Any = distributed.as_completed
    sent: dict[int, Any] = {}

    def once(thing: Any) -> Any:
        if isinstance(thing, str | Path):
            return str(thing)
        if id(thing) not in sent:
            sent[id(thing)] = client.submit(same, thing, pure=False, retries=3)
        return sent[id(thing)]

    futures = {
        client.submit(make, once(job), once(trace), at, pure=False, retries=3): place
        for place, (job, trace, at) in enumerate(todo)
    }
    try:
        for future in as_completed(list(futures)):
            yield futures[future], future.result()
    finally:
        client.cancel([*futures, *sent.values()])


def same(thing: Any) -> Any:
    """The thing itself, on a worker."""
    return thing


def make(job: Job, trace: Trace | str | Path, at: int) -> pd.DataFrame:
    """A part, of a trace or of the file that holds it, as if its harness had edited nothing."""
    if isinstance(trace, Trace):
        return job.part(trace, at)
    key = named(trace)
    if key not in _last:
        _last.clear()
        _last[key] = unedited(load(trace))
    return job.part(_last[key], at)
