"""Logs of Inspect AI: one JSON document, or an archive (``.eval``) with a document a sample.

Each event of a model holds its whole prompt, so the context is followed from prompt to prompt; what
a sample lists as its messages is only the last state. A sample without events is read from that.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.record.formats.common import as_dict, as_list, as_text
from labkit.record.formats.inspect_sample import sample_trace
from labkit.record.formats.packed import zip_with_zstd
from labkit.record.formats.several import several
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Trace

NAME = "Inspect AI"

_LARGEST = 512 * 1024 * 1024
"""A sample above this size is skipped: a few bytes of an archive can stand for gigabytes."""

_ZSTD = 93


def matches(path: Path) -> bool:
    """Whether the file is an archive with a log's entries, a log, a sample, or a list of its events."""
    with suppress(OSError, ValueError):
        with path.open("rb") as file:
            if file.read(2) == b"PK":
                return _is_archive(path)
        document = as_dict(whole_json(path))
        if isinstance(document.get("eval"), dict):
            return bool({"samples", "stats", "plan", "results"} & document.keys())
        if "epoch" in document and "messages" in document:
            return True
        return _are_events(document.get("events"))
    return False


def _is_archive(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        return False
    return any(name in ("header.json", "_journal/start.json") or _is_sample(name) for name in names)


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _are_events(events: Any) -> bool:
    known = {"model", "tool", "span_begin", "sample_init", "state", "step"}
    return any(as_text(as_dict(e).get("event")) in known for e in as_list(events)[:20])


def read(path: Path) -> Trace:
    """Read a log.

    Returns
    -------
    Trace
        The sample, or a Trace whose children are the samples.

    Raises
    ------
    InputError
        If the log holds no sample, or is packed in a way this Python cannot unpack.
    """
    warnings: list[str] = []
    header: dict[str, Any] = {}
    with path.open("rb") as file:
        packed = file.read(2) == b"PK"
    if packed:
        samples: list[dict[str, Any]] = list(_unpacked(path, header, warnings))
    else:
        header = as_dict(whole_json(path))
        given = as_list(header.get("samples")) if "eval" in header else [header]
        samples = [s for s in given if isinstance(s, dict)]
        if len(samples) < len(given):
            warnings.append(f"{len(given) - len(samples)} samples are not objects; skipped")
    if not samples:
        raise InputError(f"{path} is a log of Inspect AI without samples: give one whose run was not cut to its header")
    # The log's own sum stands for the one sample where that has none.
    totals = as_dict(as_dict(header.get("stats")).get("model_usage")) if len(samples) == 1 else {}
    source = f"{NAME}: {path.name}"
    runs = [sample_trace(sample, source, totals) for sample in samples]
    return several(runs, path.stem, source, warnings)


def _unpacked(path: Path, header: dict[str, Any], warnings: list[str]) -> Iterator[dict[str, Any]]:
    """Samples of an archive, in the order of their names; fills in the header."""
    lost = 0
    try:
        with _archive(path) as archive:
            entries = archive.infolist()
            for entry in sorted(entries, key=lambda e: e.filename):
                if entry.filename == "header.json":
                    header.update(as_dict(_entry(archive, entry)))
                elif _is_sample(entry.filename):
                    sample = _entry(archive, entry)
                    lost += not isinstance(sample, dict)
                    if isinstance(sample, dict):
                        yield sample
    except InputError:
        raise
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{path} is a damaged archive ({error}): give the log as Inspect AI wrote it") from None
    if not header:
        warnings.append("the log has no header: the evaluation did not finish")
    if lost:
        warnings.append(f"{lost} samples of the archive cannot be read; skipped")


def _archive(path: Path) -> zipfile.ZipFile:
    """Newer logs are compressed by zstd, which zipfile reads from Python 3.14 on."""
    with zipfile.ZipFile(path) as archive:
        zstd = any(entry.compress_type == _ZSTD for entry in archive.infolist())
    opened: zipfile.ZipFile = (zip_with_zstd(path) if zstd else zipfile).ZipFile(path)
    return opened


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Any:
    """The JSON value of an entry, ``None`` for one that is damaged or too large."""
    if entry.file_size > _LARGEST:
        return None
    try:
        return json.loads(archive.read(entry).decode("utf-8-sig", errors="replace"))
    except MemoryError:
        raise
    except Exception:  # damaged, encrypted, too deep: zipfile, zlib and zstd each have errors of their own
        return None
