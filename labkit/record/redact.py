"""Making a session safe to show: every string outside a printed list becomes a pseudonym.

What stays: the keys and values that the readers know, names of tools and models, ids, times, numbers
of the format, marker words, and the shape of the text: its signs, lines, path separators, endings.
One word gets one pseudonym all over the session, under a random key that is never written. So two
equal words can be seen to be equal, and common words might be guessed by how often they occur; names,
keys, addresses and numbers cannot.
"""

from __future__ import annotations

import ast
import base64
import importlib
import json
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
from labkit.record.formats.claude_code_content import _pixels
from labkit.record.formats.jsonl import first_objects, forget_head, read_text
from labkit.record.load import load
from labkit.record.redact_counts import Rehearsal, counted
from labkit.record.redact_words import WORD, Pseudonyms
from labkit.record.sidecar import sidecar_path, write_sidecar

__all__ = ["Redacted", "known_words", "redact"]

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?")
_ID = re.compile(
    r"(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?:msg|toolu|srvtoolu|req|call|chatcmpl|resp|rs|fc|item|prt|ses)(?:_|-)[A-Za-z0-9_]{1,64})"
)
_ID_KEY = re.compile(r"(?:^|_|[a-z])(?:[iI]ds?|IDs?|UUIDs?|[uU]uids?)$")
_MEDIA = re.compile(r"(?:image|audio|video|text|application)/[a-z0-9.+-]{1,40}")
_NAME = re.compile(r"[A-Za-z_][\w.:-]{0,80}|<synthetic>")
_MODEL = re.compile(r"[\w./:@\[\]-]{1,80}")
_LONG = re.compile(r"[A-Za-z0-9]{17,}")
_DATA_URL = re.compile(r"data:([\w.+/-]{1,40});base64,([A-Za-z0-9+/=_-]*)")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?P<colon>\s*:)?|-?\d[\d.eE+-]*')
_decoder = json.JSONDecoder()
_SEALED = {"signature", "thoughtSignature", "thought_signature", "encrypted_content", "reasoning_opaque"}
_MODELS = {"model", "modelID", "modelId", "model_id", "model_name", "modelName", "modelVersion", "llm"}
_TOOLS = {"tool", "tool_name", "toolName", "function_name"}
_BESIDE_A_TOOL = {
    "input", "args", "arguments", "parameters", "input_schema", "inputSchema", "call_id", "tool_call_id",
    "callId", "response", "function_name",
}  # fmt: skip
_ARGUMENTS = {"input", "args", "arguments", "parameters", "input_schema", "inputSchema", "toolUseResult"}
_MEDIA_KEYS = {"media_type", "mimeType", "mime_type"}
_AGENTS = {"agentId", "agent_id"}


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
    work = _Redaction(Pseudonyms(_words(texts.values()), key))
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
        found = [p for p in sorted(source.rglob("*")) if p.is_file() and p.suffix in (".json", ".jsonl", ".responses")]
        yield from ((p, target / p.relative_to(source)) for p in found)
        return
    yield source, target
    folder = source.with_suffix("")
    for file in sorted(folder.glob("subagents/**/agent-*.jsonl")):
        yield file, target.with_suffix("") / file.relative_to(folder)
    sessions = {o["sessionId"] for o in first_objects(source) if isinstance(o.get("sessionId"), str)}
    for file in sorted(source.parent.glob("agent-*.jsonl")):
        if file != source and any(o.get("sessionId") in sessions for o in first_objects(file) if "sessionId" in o):
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


class _Redaction:
    def __init__(self, names: Pseudonyms) -> None:
        self.names = names
        self.kept: set[str] = set()
        self.ids: set[str] = set()
        self._known = known_words()

    def file(self, text: str) -> str:
        try:
            return self._dump(self._value(json.loads(text), None, {}, False))
        except (ValueError, RecursionError):
            return "".join(self._line(line) for line in re.split(r"(?<=\n)", text))

    def _line(self, line: str) -> str:
        """A line of JSON values; what does not parse, as after a crash, is redacted as text."""
        done: list[str] = []
        at = 0
        while at < len(line):
            if line[at] in "\r\n \t\0,":
                done.append(line[at])
                at += 1
                continue
            try:
                value, after = _decoder.raw_decode(line, at)
                done.append(self._dump(self._value(value, None, {}, False)))
            except (ValueError, RecursionError):
                return "".join(done) + self.names.text(line[at:], self._known)
            at = after
        return "".join(done)

    @staticmethod
    def _dump(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def _value(self, value: Any, key: str | None, beside: dict[str, Any], free: bool) -> Any:
        """A value under a key; ``free`` inside of arguments and results, where anything may stand."""
        if isinstance(value, dict):
            inside = free or key in _ARGUMENTS
            return {self._key(k): self._value(v, k, value, inside) for k, v in value.items()}
        if isinstance(value, list):
            return [self._value(v, key, beside, free or key in _ARGUMENTS) for v in value]
        if isinstance(value, str):
            return self._string(value, key, beside, free)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 99_999:
            if free or key not in self._known:
                return int(self.names.word(str(abs(value)))) * (-1 if value < 0 else 1)
        elif isinstance(value, float) and (free or key not in self._known):
            return round(value, 3) if abs(value) < 1_000 else float(self.names.word(str(int(abs(value)) % 10**15)))
        return value

    def _key(self, key: str) -> str:
        return self._keep(key) if key in self._known else self.names.text(key)

    def _keep(self, text: str) -> str:
        self.kept.add(text)
        return text

    def _string(self, text: str, key: str | None, beside: dict[str, Any], free: bool) -> str:
        if text in self._known:
            return self._keep(text)
        if key in _SEALED or (key == "data" and beside.get("type") == "redacted_thinking"):
            return " " if text else ""
        if key == "data" and beside.get("type") != "text" and not _MEDIA_KEYS.isdisjoint(beside):
            return _blank(text)
        if self._stays(text, key, beside, free):
            return text
        if _DATA_URL.search(text):
            pieces = _DATA_URL.split(text)  # between, media type, data, between, ...
            for i in range(0, len(pieces), 3):
                pieces[i] = self.names.text(pieces[i])
                if i + 2 < len(pieces):
                    media = pieces[i + 1] if _MEDIA.fullmatch(pieces[i + 1]) else "image"
                    pieces[i + 1 : i + 3] = [f"data:{self._keep(media)};base64,", _blank(pieces[i + 2])]
            return "".join(pieces)
        return self._json(text) or self.names.text(text)

    def _stays(self, text: str, key: str | None, beside: dict[str, Any], free: bool) -> bool:
        agent = key in _AGENTS and _NAME.fullmatch(text) and not _secret(text)
        id_or_time = not free and ((_ID.fullmatch(text) and _ID_KEY.search(key or "")) or _TIME.fullmatch(text))
        if agent or id_or_time:
            self.ids.add(text)
            return True
        if free:
            return False
        tool = key in _TOOLS or (key == "name" and not _BESIDE_A_TOOL.isdisjoint(beside))
        named = (tool and _NAME.fullmatch(text)) or (key in _MODELS and _MODEL.fullmatch(text))
        if (named and not _secret(text)) or _MEDIA.fullmatch(text):
            self._keep(text)
            return True
        return False

    def _json(self, text: str) -> str | None:
        """JSON in a string, as arguments often are, redacted as JSON so that it still parses."""
        bare = text.strip()
        if bare[:1] not in ("{", "["):
            return None
        try:
            value = json.loads(bare)
        except (ValueError, RecursionError):
            return None
        if isinstance(value, (dict, list)):
            return _TOKEN.sub(self._token, text)
        return None

    def _token(self, match: re.Match[str]) -> str:
        """One string or number of JSON; what lies between them, line ends too, stays."""
        token, colon = match[0], match["colon"]
        if not token.startswith('"'):
            number = json.loads(token)
            changed = self._value(number, None, {}, True)
            return token if changed == number else json.dumps(changed)
        inner = json.loads(token.removesuffix(colon or ""), strict=False)
        given = self._key(inner) if colon else self._string(inner, None, {}, True)
        return json.dumps(given, ensure_ascii=False) + (colon or "")


def _secret(name: str) -> bool:
    """Whether a name holds a run that looks like a key rather than a word."""
    return any(re.search(r"\d", run) and re.search(r"[A-Za-z]", run) for run in _LONG.findall(name)) or bool(
        re.match(r"(?:sk|pk|ghp|gho|xox[a-z]|AKIA)[-_A-Z0-9]", name)
    )


def _blank(data: str) -> str:
    """The header of an empty PNG of the same size: what readers take an image's tokens from."""
    size = _pixels(data)
    if size is None:
        return ""
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"".join(n.to_bytes(4, "big") for n in size) + b"\x08\0\0\0\0"
    return base64.b64encode(header).decode()
