"""Finished parts of a sweep in a folder, so that an interrupted one goes on from them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.errors import InputError
from labkit.record.trace import Trace
from labkit.replay.sweep_jobs import named

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Store"]


class Store:
    """Finished parts in a folder, as Parquet, each under the key of its job.

    Parameters
    ----------
    folder : Path
    key : str
        What the rows depend on, but for the traces.
    traces : sequence of Trace or path

    Raises
    ------
    InputError
        If there is no library for Parquet.
    """

    def __init__(self, folder: Path, key: str, traces: Sequence[Trace | str | Path]) -> None:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise InputError(
                "out needs pyarrow to keep its parts: run 'make lab', or pip install -e '.[fast]'"
            ) from None
        names = hashlib.sha256("\0".join(map(named, traces)).encode())
        self._folder = folder / f"{key}-{names.hexdigest()[:8]}"

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
