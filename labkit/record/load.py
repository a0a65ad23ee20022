"""One way in: ``load(path)`` recognises a session by its content."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol

from labkit.errors import InputError
from labkit.record.formats.common import odd_counts
from labkit.record.formats.jsonl import Watcher, first_object, read_text, watched
from labkit.record.formats.packed import check_unpacks, is_packed, plain_stem
from labkit.record.formats.whole import forget
from labkit.record.sidecar import attach
from labkit.record.trace import Trace

__all__ = ["load"]


class Format(Protocol):
    """What a module of ``labkit.record.formats`` offers; one that also reads a folder says ``FOLDERS = True``."""

    NAME: str

    def matches(self, path: Path, /) -> bool:
        """Whether the content is in this format; never raises."""

    def read(self, path: Path, /) -> Trace:
        """Read it, with a warning for everything skipped or guessed."""


# A module of labkit.record.formats each, in the order in which they are asked. They are imported when the
# first file is read: together they take longer than the rest of the package.
FORMATS = (
    "labkit_jsonl",
    "exchanges",
    "iflow",
    "claude_code",
    "codex",
    "gemini_cli",
    "gemini_api",
    "pi",
    "swe_agent",
    "mini_swe_agent",
    "tau_bench",
    "openhands",
    "openhands_sdk",
    "atif",
    "kimi",
    "copilot_cli",
    "opencode",
    "inspect_ai",
    "langfuse",
    "langsmith",
    "openclaw_telemetry",
    "otel",
    "langchain",
    "anthropic_api",
    "openai_responses",
    "openai_chat",
    "aider",
)


@cache
def formats() -> tuple[Format, ...]:
    """The modules of all formats."""
    return tuple(import_module(f"labkit.record.formats.{name}") for name in FORMATS)


def load(path: str | Path, progress: Watcher | None = None) -> Trace:
    """Read a recorded session or a scripted run.

    Parameters
    ----------
    path : str or Path
        A file, or a folder or a pattern (``runs/*.json``) that holds exactly one session with its
        subagent files.
    progress : callable, optional
        Called with the bytes of a file that were read and its size, every 4 MB. What it raises ends the
        reading.

    Returns
    -------
    Trace
        With one warning for everything that was skipped or guessed.

    Raises
    ------
    InputError
        If there is nothing there, or nothing in a known format; the message names what was given,
        what is allowed and the nearest fix.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> trace = load(data_path("traces", "invoice-60.jsonl"))
    >>> trace.name, len(trace.requests), len(trace.blocks)
    ('invoice-60', 60, 122)
    """
    if not str(path):
        raise InputError("the path is empty: give a session file")
    with watched(progress):
        return _load(Path(path))


def _load(path: Path) -> Trace:
    try:
        path = path.expanduser()
        exists = path.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"{str(path)!r:.200} is not a usable path ({error}): give a session file") from None
    if path.is_dir():
        for module in formats():
            if getattr(module, "FOLDERS", False) and module.matches(path):
                return attach(_read(module, path), path)
        return _load(_only_session(path, path.rglob("*")))
    if not exists and glob.has_magic(str(path)):
        return _load(_only_session(path, map(Path, glob.iglob(str(path), recursive=True))))
    if not exists:
        raise InputError(f"{path} does not exist: give a session file{_nearby(path)}")
    if not path.is_file():
        raise InputError(f"{path} is not a regular file: give a session in JSON or JSON lines")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty: give a session with at least one line")
    check_unpacks(path)
    try:
        for module in formats():
            if module.matches(path):
                return attach(_read(module, path), path)
    finally:
        forget()
    read_text(path)  # a binary file has a sentence of its own
    head = first_object(path)
    seen = "no JSON object in its first lines" if head is None else f"a first object with the keys {sorted(head)[:6]}"
    raise InputError(
        f"{path} is not in a format labkit knows ({seen}): give a session of Claude Code, Codex, Gemini CLI or one of "
        f"{len(FORMATS) - 3} other kinds; 'labkit formats' lists them"
    )


# A sentence that quotes a file is no longer than this, whatever the file holds.
_LONGEST = 500


def _one_line(trace: Trace) -> Trace:
    """A trace whose warnings are single lines; what a reader quotes may hold anything."""
    children = tuple(map(_one_line, trace.children))
    warnings = tuple(w if w.isprintable() and len(w) <= _LONGEST else _plain(w) for w in trace.warnings)
    if warnings == trace.warnings and all(a is b for a, b in zip(children, trace.children, strict=True)):
        return trace
    return replace(trace, children=children, warnings=warnings)


def _plain(text: str) -> str:
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def _read(module: Format, path: Path) -> Trace:
    with odd_counts() as odd:
        trace = _one_line(module.read(path))
    if trace.name == path.stem and is_packed(path):
        trace = replace(trace, name=plain_stem(path))
    if not odd or module.NAME == "Claude Code":  # which says it line by line
        return trace
    shown = ", ".join(dict.fromkeys(odd[:3])) + (", ..." if odd[3:] else "")
    said = f"{len(odd)} recorded counts are no numbers of tokens ({shown}): they are taken as 0"
    return replace(trace, warnings=(*trace.warnings, said))


def _only_session(given: Path, files: Iterable[Path]) -> Path:
    found = [
        p
        for p in sorted(files)
        if p.is_file() and not p.name.startswith(".") and "subagents" not in p.parts and _known(p)
    ]
    # A subagent's file beside its session belongs to it.
    found = [p for p in found if not p.name.startswith("agent-")] or found
    if not found:
        raise InputError(
            f"{given} holds no session in a known format: give a session file; 'labkit formats' lists the kinds"
        )
    if len(found) > 1:
        names = ", ".join(p.name for p in found[:3]) + (", ..." if len(found) > 3 else "")
        raise InputError(f"{given} holds {len(found)} sessions ({names}): give one of them")
    return found[0]


def _known(path: Path) -> bool:
    try:
        return path.stat().st_size > 0 and any(m.matches(path) for m in formats())
    finally:
        forget()


def _nearby(path: Path) -> str:
    import difflib

    folder = path.parent
    if not folder.is_dir():
        return f" (the folder {folder} does not exist either)"
    close = difflib.get_close_matches(path.name, [p.name for p in folder.iterdir()], n=1, cutoff=0.5)
    return f", did you mean {folder / close[0]}?" if close else ""
