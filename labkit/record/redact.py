"""Making a session safe to show: every string outside a printed list becomes a pseudonym.

What stays: the keys and values that the readers know, names of tools and models, ids, times, numbers
of the format, marker words, and the shape of the text: its signs, lines, path separators, endings.
One word gets one pseudonym all over the session, under a random key that is never written. So two
equal words can be seen to be equal, and common words might be guessed by how often they occur; names,
keys, addresses and numbers cannot.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.files import atomic_write
from labkit.record import formats
from labkit.record.formats.common import as_text
from labkit.record.formats.jsonl import first_objects, forget_head, read_text
from labkit.record.formats.packed import ENDINGS
from labkit.record.load import load
from labkit.record.redact_counts import Rehearsal, counted
from labkit.record.redact_values import Redaction
from labkit.record.redact_words import WORD, Pseudonyms
from labkit.record.sidecar import sidecar_path, write_sidecar

__all__ = ["Redacted", "known_words", "redact"]


@dataclass(frozen=True)
class Redacted:
    """What was written.

    Parameters
    ----------
    files : tuple of Path
        The redacted files, and last the sidecar with the counts.
    kept : tuple of str
        Every word of the original that stands in them: known keys and values, tools, models, markers.
    ids : tuple of str
        The ids and times that stand in them.
    differs : tuple of str
        Where the redacted session does not read like the original; empty when all is equal.
    """

    files: tuple[Path, ...]
    kept: tuple[str, ...]
    ids: tuple[str, ...]
    differs: tuple[str, ...]


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """The keys and values that the readers of sessions look for: every short string in their source.

    Examples
    --------
    >>> {"tool_use", "cache_read_input_tokens", "assistant"} <= known_words(), "my-password" in known_words()
    (True, False)
    """
    words = set(_LOOKED_AT)
    modules = [importlib.import_module(f"{formats.__name__}.{m.name}") for m in pkgutil.iter_modules(formats.__path__)]
    for module in [*modules, *map(importlib.import_module, _OTHERS)]:
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        words.update(
            node.value
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and 1 < len(node.value) <= 80
        )
        for name in getattr(module, "__dict__", {}).values():  # fields of the trace's classes are keys of our format
            words.update(getattr(name, "__dataclass_fields__", ()))
    return frozenset(w for w in words if re.fullmatch(r"[\[<]?[A-Za-z_$][\w .$-]*[\]>]?", w))


# Arguments of calls that symptoms look at.
_LOOKED_AT = (
    "file_path", "path", "absolute_path", "filePath", "filename", "notebook_path", "command", "view", "edit",
    "str_replace", "create", "insert", "todos", "content", "status", "pending", "in_progress", "completed", "open",
    "todo", "not_started",
)  # fmt: skip
_OTHERS = ("labkit.record.trace", "labkit.record.streams", "labkit.record.recorder", "labkit.record.blocks_from")


def redact(given: str | Path, out: str | Path, *, key: bytes | None = None, also: Sequence[Rehearsal] = ()) -> Redacted:
    """Write a copy of a session that can be shown, with its token counts beside it.

    Parameters
    ----------
    given : str or Path
        A session in JSON or JSON lines with the files of its subagents, or a folder of such files.
    out : str or Path
        A file, or for a folder a folder; it must not exist.
    key : bytes, optional
        For a test; else random and forgotten.
    also : sequence of callable
        What else must come out equal, each called with a trace and sizes, and giving what is compared: the
        texts that it counts, stubs and summaries, get a count beside the session too.

    Returns
    -------
    Redacted

    Raises
    ------
    InputError
        If there is nothing to read, or ``out`` exists.
    """
    source, target = Path(given).expanduser(), Path(out).expanduser()
    original = load(source)
    for path in (target, sidecar_path(target), target.with_suffix("") / "subagents"):
        if path.exists():
            raise InputError(f"{path} exists: give a name that is free, so that nothing is overwritten")
    pairs = list(_files(source, target))
    texts = {path: read_text(path) for path, _ in pairs}
    work = Redaction(Pseudonyms(_words(texts.values()), key), known_words())
    for path, to in pairs:
        atomic_write(to, work.file(texts[path]))
    differs, counts = counted(original, load(target), also)
    write_sidecar(target, counts)
    skipped = _unread(source, {p for p, _ in pairs})
    return Redacted(
        (*(to for _, to in pairs), sidecar_path(target)),
        tuple(sorted(work.kept | work.names.kept)),
        tuple(sorted(work.ids)),
        (*differs, *skipped),
    )


def _files(source: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    if source.is_dir():
        for path in sorted(p for p in source.rglob("*") if p.is_file()):
            plain = path.with_suffix("") if path.suffix in ENDINGS[1:] else path
            # The copy of a packed file is not packed; where both are there, the plain one is newer.
            if plain.suffix in (".json", ".jsonl", ".responses") and (plain == path or not plain.exists()):
                yield path, target / plain.relative_to(source)
        return
    yield source, target
    folder = source.with_suffix("")
    for file in sorted(folder.glob("subagents/**/agent-*.jsonl")):
        yield file, target.with_suffix("") / file.relative_to(folder)
    sessions = {o["sessionId"] for o in first_objects(source) if as_text(o.get("sessionId"))}
    for file in sorted(source.parent.glob("agent-*.jsonl")):
        if file != source and any(as_text(o.get("sessionId")) in sessions for o in first_objects(file)):
            yield file, target.with_suffix("") / "subagents" / file.name
    forget_head()


def _unread(source: Path, read: set[Path]) -> list[str]:
    if not source.is_dir():
        return []
    left = sum(p.is_file() and p not in read for p in source.rglob("*"))
    return [f"{left} files that are not JSON were left out"] if left else []


def _words(texts: Any) -> set[str]:
    """Words of the files as they stand, and as they read once escapes are resolved."""
    found: set[str] = set()
    for text in texts:
        found.update(w.lower() for w in WORD.findall(text))
        found.update(w.lower() for w in WORD.findall(re.sub(r"\\+u[0-9a-fA-F]{4}", " ", text)))
    return found
