"""A folder for results that were capped: the whole text stays on disk, the context names its path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labkit.errors import InputError
from labkit.files import atomic_write
from labkit.ladder.cap import offload_path
from labkit.record.trace import Block

__all__ = ["Offload"]


@dataclass(frozen=True)
class Offload:
    """Keeps whole results in a folder; give ``Offload(folder).keep`` to a :class:`ContextManager`.

    Parameters
    ----------
    folder : Path
        Made when the first result is kept.

    Examples
    --------
    >>> import tempfile
    >>> from labkit.ladder.manager import ContextManager
    >>> from labkit.ladder.policy import Policy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Offload(Path(folder))
    ...     manager = ContextManager(policy=Policy(cap=50), offload=store.keep)
    ...     manager.append(Block("result", "tool", "one line of a log\\n" * 200, tool="run_tests"))
    ...     path = manager.blocks()[0].text.split("whole result is in ")[1].split(" ")[0]
    ...     len(store.read(path)), manager.total() < 100
    (3600, True)
    """

    folder: Path

    def keep(self, block: Block) -> str:
        """Write a result and return the path to name, relative to the folder.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        name = offload_path(block)
        try:
            atomic_write(self.folder / name, block.text)
        except OSError as error:
            raise InputError(f"the result cannot be kept in {self.folder} ({error}): give a folder with room") from None
        return name

    def read(self, path: str) -> str:
        """A result that was kept, whole.

        Raises
        ------
        InputError
            If the path leads out of the folder, or nothing is there.
        """
        file = (self.folder / path).resolve()
        if not file.is_relative_to(self.folder.resolve()):
            raise InputError(f"{path} leads out of {self.folder}: give a path that a preview names")
        try:
            return file.read_bytes().decode("utf-8", "replace")
        except OSError as error:
            raise InputError(
                f"{path} is not kept in {self.folder} ({error}): give a path that a preview names"
            ) from None
