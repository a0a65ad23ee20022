"""Reading data files, and writing files so that a crash never leaves half of one."""

from __future__ import annotations

import json
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from labkit.errors import InputError

__all__ = ["atomic_write", "data_path", "home", "load_data"]


def data_path(*parts: str) -> Path:
    """Path of a file in the ``data`` folder.

    Parameters
    ----------
    *parts : str
        Path below ``data``, for example ``"traces", "invoice-60.jsonl"``.

    Returns
    -------
    Path
        In a checkout the folder beside the package, in a wheel the copy inside it.

    Examples
    --------
    >>> data_path("prices.json").name
    'prices.json'
    """
    package = Path(__file__).resolve().parent
    root = package.parent / "data"
    if not root.is_dir():
        root = package / "_data"
    return root.joinpath(*parts)


def home() -> Path:
    """Folder for what the lab remembers of a learner: predictions, progress.

    Returns
    -------
    Path
        ``LABKIT_HOME`` when set; in a checkout ``.labkit`` beside the package, which git ignores; else
        ``~/.labkit``. It may not exist yet.
    """
    given = os.environ.get("LABKIT_HOME")
    if given:
        return Path(given).expanduser()
    root = Path(__file__).resolve().parent.parent
    return (root if (root / "pyproject.toml").is_file() else Path.home()) / ".labkit"


@lru_cache(maxsize=None)
def load_data(name: str) -> Any:
    """Parse one JSON file of the ``data`` folder; the result is cached and must not be changed.

    Raises
    ------
    InputError
        If the file is missing or is not JSON.
    """
    path = data_path(name)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"the data file {path} is missing: check the repository out again") from None
    except ValueError as error:
        raise InputError(f"the data file {path} is not JSON ({error}): restore it from the repository") from None


def atomic_write(path: str | Path, text: str) -> None:
    """Write a text file whole or not at all.

    The text goes to a temporary file in the same folder, is flushed to the disk and then renamed, so
    a reader sees the old file or the new one and never a part.

    Parameters
    ----------
    path : str or Path
        File to replace; its folder is made when missing.
    text : str
        New content, written as UTF-8; a lone surrogate becomes ``?``.

    Raises
    ------
    InputError
        If the path is a folder.
    OSError
        If the disk refuses it; its ``filename`` is the path.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder: give the name of a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes a private file; a replaced one keeps its mode, a new one gets the usual mode.
        os.chmod(temporary, path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename is None:  # a full disk does not say which file it was
            error.filename = str(path)
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    # There is no way to read it but to set it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
