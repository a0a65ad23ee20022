"""Files packed by gzip or zstd, read as if they were not.

Codex packs rollouts that are older than a week as ``.jsonl.zst`` (from version 0.137 on; openai/codex
pull requests 25087 and 25089 of June 2026). Packing is recognised by content, as formats are.
"""

from __future__ import annotations

import gzip
import io
import zipfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, cast

from labkit.errors import InputError

__all__ = [
    "ENDINGS",
    "check_unpacks",
    "damage_of",
    "is_packed",
    "open_plain",
    "plain_stem",
    "read_of",
    "zip_with_zstd",
]

ENDINGS = ("", ".zst", ".gz")
"""What may stand after the name of a file."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"

# Records shrink to a twentieth or so; what grows more than this is a trap, or damage.
_GROWS, _FREE = 200, 64_000_000


def is_packed(path: Path) -> bool:
    """Whether a file begins as one packed by gzip or zstd does; never raises."""
    try:
        with path.open("rb") as file:
            return _kind(file.read(4)) != ""
    except (OSError, ValueError):
        return False


def _kind(head: bytes) -> str:
    return "gzip" if head.startswith(_GZIP) else "zstd" if head.startswith(_ZSTD) else ""


def plain_stem(path: Path) -> str:
    """Name of a file without its ending, and without that of its packing.

    Examples
    --------
    >>> plain_stem(Path("a/rollout-1.jsonl.zst")), plain_stem(Path("a/rollout-1.jsonl"))
    ('rollout-1', 'rollout-1')
    """
    return Path(path.stem).stem if path.suffix in ENDINGS[1:] else path.stem


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading; a packed one gives what was packed.

    A packed file that ends too early gives what can be unpacked, as a torn log does.

    Raises
    ------
    OSError
        If it cannot be opened.
    InputError
        If it is packed by zstd and this Python has no module for that; while it is read, if it grows
        beyond reason.
    """
    file = path.open("rb")
    head = file.read(4)
    file.seek(0)
    kind = _kind(head)
    if not kind:
        return file
    try:
        inner: Any = gzip.GzipFile(fileobj=file) if kind == "gzip" else _zstd(path).ZstdFile(file)
    except BaseException:
        file.close()
        raise
    return cast(BinaryIO, io.BufferedReader(_Unpacked(file, inner, path), 65_536))


def check_unpacks(path: Path) -> None:
    """Refuse a file that this Python cannot unpack, before all formats say that it is none of theirs.

    Raises
    ------
    InputError
    """
    with suppress(OSError):
        open_plain(path).close()


def damage_of(file: BinaryIO) -> str:
    """Why the unpacking of a file that was read ended; empty where all is well."""
    raw = getattr(file, "raw", None)
    return raw.damage if isinstance(raw, _Unpacked) else ""


def read_of(file: BinaryIO, done: int) -> int:
    """How much of a file on the disk was read, where ``done`` bytes of what it holds were."""
    raw = getattr(file, "raw", None)
    return raw.packed_at if isinstance(raw, _Unpacked) else done


def _zstd(path: Path) -> ModuleType:
    """The module of Python 3.14, or the same for older ones."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise InputError(
        f"{path} is compressed by zstd, which this Python cannot unpack: pip install backports.zstd, use Python 3.14 "
        "or newer, or unpack it"
    )


def zip_with_zstd(path: Path) -> ModuleType:
    """A ``zipfile`` that can unpack entries packed by zstd.

    Raises
    ------
    InputError
        If there is none.
    """
    return zipfile if hasattr(zipfile, "ZIP_ZSTANDARD") else import_module(f"{_zstd(path).__name__}.zipfile")


class _Unpacked(io.RawIOBase):
    """What a packed file holds; its end is where unpacking fails."""

    def __init__(self, file: BinaryIO, inner: Any, path: Path) -> None:
        self._file, self._inner, self._path = file, inner, path
        self.damage = ""
        self._most = _FREE + _GROWS * path.stat().st_size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        try:
            return int(self._inner.seek(offset, whence))
        except Exception as error:
            return self._ends(error)

    def tell(self) -> int:
        return int(self._inner.tell())

    def readinto(self, buffer: Any) -> int:
        if self.damage:
            return 0
        try:
            data = self._inner.read1(len(buffer))
        except Exception as error:
            self._ends(error)
            return 0
        if self._inner.tell() > self._most:
            raise InputError(
                f"{self._path} unpacks to more than {self._most // 1_000_000:,} MB, over {_GROWS} times its size: give "
                "the record of a session, unpacked if it is one"
            )
        buffer[: len(data)] = data
        return len(data)

    def _ends(self, error: Exception) -> int:
        """Unpacking failed, in one of the ways that gzip, zlib and zstd have: what came before it stands."""
        if isinstance(error, MemoryError):
            raise error
        self.damage = str(error) or type(error).__name__
        return int(self._inner.tell())

    @property
    def packed_at(self) -> int:
        """How much of the packed file was read."""
        return self._file.tell()

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
            self._file.close()
        super().close()
