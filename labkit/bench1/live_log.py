"""The recording of a live run: a line a call of the model. It is also what a run that was cut off goes on from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.files import atomic_write

__all__ = ["Log"]

Json = dict[str, Any]


class Log:
    """Answers of a model by their requests, in order, on disk.

    Parameters
    ----------
    path : Path
        JSON lines with ``start`` (seconds since the epoch), ``seconds``, ``request`` and ``response``, which
        :func:`labkit.record.load.load` reads. A last line that was cut off is dropped; it is asked for again.

    Raises
    ------
    InputError
        If another line is damaged, or the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Json] = []
        try:
            text = path.read_bytes().decode("utf-8", "replace") if path.exists() else ""
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}): give another --out") from None
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            entry = _entry(line)
            if entry is not None:
                self.entries.append(entry)
            elif line.strip() and number < len(lines):
                raise InputError(f"line {number} of {path} is damaged: take it out, or give another --out")
        if lines[-1]:
            kept = "".join(line + "\n" for line in lines if _entry(line) is not None)
            atomic_write(path, kept)

    def answered(self, number: int, request: Json) -> Json | None:
        """The recorded entry of a request, if it was made before.

        Raises
        ------
        InputError
            If another request was made in its place.
        """
        if number >= len(self.entries):
            return None
        entry = self.entries[number]
        if entry["request"] != json.loads(json.dumps(request)):
            differing = [k for k in {*entry["request"], *request} if entry["request"].get(k) != request.get(k)]
            raise InputError(
                f"{self.path} was made with other settings (request {number + 1} differs in "
                f"{', '.join(sorted(differing))}): give the same ones, or another --out"
            )
        return entry

    def add(self, entry: Json) -> Json:
        """Write an entry down, and return it as it will be read."""
        line = json.dumps(entry, separators=(",", ":"))  # ASCII, so that half a character survives
        data = (line + "\n").encode()
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            while data:  # a full disk takes a part
                data = data[os.write(handle, data) :]
        except OSError as error:
            error.filename = str(self.path)
            raise
        finally:
            os.close(handle)
        plain: Json = json.loads(line)
        self.entries.append(plain)
        return plain


def _entry(line: str) -> Json | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    known = isinstance(entry, dict) and all(isinstance(entry.get(key), dict) for key in ("request", "response"))
    return entry if known else None
