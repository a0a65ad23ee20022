"""What a redaction makes of each value of a session: which strings stay, and which become pseudonyms."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

from labkit.record.formats.claude_code_content import _pixels
from labkit.record.redact_words import Pseudonyms

__all__ = ["Redaction"]

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?")
_ID = re.compile(
    r"(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?:msg|toolu|srvtoolu|req|call|chatcmpl|resp|rs|fc|item|prt|ses)(?:_|-)[A-Za-z0-9_]{1,64}"
    r"|response-\d{10,20}(?:-tool-call_[A-Za-z0-9]{1,64})?)"
)
_ID_KEY = re.compile(r"(?:^|[_.]|[a-z])(?:[iI]ds?|IDs?|UUIDs?|[uU]uids?)$")
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_.:/-]{0,60}")
# Messages and tools whose keys say where they stand: llm.input_messages.0.message.role, gen_ai.prompt.0.content.
_FLAT = re.compile(
    r"(?:llm\.(?:input_messages|output_messages|tools)|gen_ai\.(?:prompt|completion))\.\d+\.[a-z_.\d]{1,100}"
)
_FLAT_TOOL = re.compile(r"(?:tool_calls?\.\d+\.(?:tool_call\.function\.)?|^tool\.)name$")
_TYPE_KEYS = {"type", "event", "event_type", "kind", "object", "subtype", "record_type", "run_type", "method"}
# The class of a message, as LangChain's dumps name it.
_CLASS = re.compile(r"[A-Z][A-Za-z]{1,12}Message(?:Chunk)?|langchain(?:_core)?|schema|messages")
_EVENT_STREAM = re.compile(r"(data|event|id|retry):[ \t]?")
# Counts and times that some formats write as strings.
_COUNT_KEY = re.compile(r"(?i)token|usage|unixnano|unix_nano|^intvalue$")
_MEDIA = re.compile(r"(?:image|audio|video|text|application)/[a-z0-9.+-]{1,40}")
_NAME = re.compile(r"[A-Za-z_][\w.:-]{0,80}|<synthetic>")
_MODEL = re.compile(r"[\w./:@\[\]-]{1,80}")
_LONG = re.compile(r"[A-Za-z0-9]{17,}")
_DATA_URL = re.compile(r"data:([\w.+/-]{1,40});base64,([A-Za-z0-9+/=_-]*)")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?P<colon>\s*:)?|-?\d[\d.eE+-]*')
_decoder = json.JSONDecoder()
_SEALED = {"signature", "thoughtSignature", "thought_signature", "encrypted_content", "reasoning_opaque"}
_MODELS = {
    "model",
    "modelID",
    "modelId",
    "model_id",
    "model_name",
    "modelName",
    "modelVersion",
    "llm",
    "ls_model_name",
    "selectedModel",
}
_TOOLS = {"tool", "tool_name", "toolName", "function_name", "gen_ai.tool.name"}
_BESIDE_A_TOOL = {
    "input", "args", "arguments", "parameters", "input_schema", "inputSchema", "call_id", "tool_call_id",
    "callId", "response", "function_name",
}  # fmt: skip
_ARGUMENTS = {"input", "args", "arguments", "parameters", "input_schema", "inputSchema", "toolUseResult"}
_PART = {"role", "type"}
_MEDIA_KEYS = {"media_type", "mimeType", "mime_type"}
_AGENTS = {"agentId", "agent_id"}


class Redaction:
    """Redacts the values of a session's files.

    Parameters
    ----------
    names : Pseudonyms
    known : frozenset of str
        Words that the readers know, which stay.

    Attributes
    ----------
    kept, ids : set of str
        What stayed as it was: words, and ids and times.
    """

    def __init__(self, names: Pseudonyms, known: frozenset[str]) -> None:
        self.names = names
        self.kept: set[str] = set()
        self.ids: set[str] = set()
        self._known = known

    def file(self, text: str) -> str:
        """The text of a file, redacted."""
        try:
            return self._dump(self._value(json.loads(text), None, {}, False))
        except (ValueError, RecursionError):
            return "".join(self._line(line) for line in re.split(r"(?<=\n)", text))

    def _line(self, line: str) -> str:
        """A line of JSON values; what does not parse, as after a crash, is redacted as text."""
        done: list[str] = []
        at = 0
        stream = _EVENT_STREAM.match(line)
        if stream is not None:
            rest = line[stream.end() :]
            named = stream[1] == "event" and _TYPE.fullmatch(rest.strip()) and not _secret(rest.strip())
            return stream[0] + (self._keep(rest) if named else self._line(rest))
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
            name, held = value.get("key"), value.get("value")
            if len(value) == 2 and isinstance(name, str) and isinstance(held, dict):  # an attribute in OTLP
                given = {k: self._value(v, name if k == "stringValue" else k, held, free) for k, v in held.items()}
                return {
                    "key": self._key(name),
                    "value": {self._key(k): v for k, v in zip(held, given.values(), strict=True)},
                }
            inside = free or (key in _ARGUMENTS and not _are_messages(value))
            return {self._key(k): self._value(v, k, value, inside) for k, v in value.items()}
        if isinstance(value, list):
            inside = free or (key in _ARGUMENTS and not _are_messages(value))
            return [self._value(v, None if key in _ARGUMENTS else key, beside, inside) for v in value]
        if isinstance(value, str):
            return self._string(value, key, beside, free)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 99_999:
            if free or key not in self._known:
                return int(self.names.word(str(abs(value)))) * (-1 if value < 0 else 1)
        elif isinstance(value, float) and isfinite(value) and (free or key not in self._known):
            return round(value, 3) if abs(value) < 1_000 else float(self.names.word(str(int(abs(value)) % 10**15)))
        return value

    def _key(self, key: str) -> str:
        known = key in self._known or _camel(key) in self._known or _FLAT.fullmatch(key)
        return self._keep(key) if known else self.names.text(key)

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
        return self._json(text, key, beside, free) or self.names.text(text)

    def _stays(self, text: str, key: str | None, beside: dict[str, Any], free: bool) -> bool:
        agent = key in _AGENTS and _NAME.fullmatch(text) and not _secret(text)
        id_or_time = not free and ((_ID.fullmatch(text) and _ID_KEY.search(key or "")) or _TIME.fullmatch(text))
        if agent or id_or_time:
            self.ids.add(text)
            return True
        if free:
            return False
        if text.isascii() and text.isdigit() and key in self._known and _COUNT_KEY.search(key or ""):
            return True
        tool = (
            key in _TOOLS or _FLAT_TOOL.search(key or "") or (key == "name" and not _BESIDE_A_TOOL.isdisjoint(beside))
        )
        model = (key or "").rpartition(".")[2] in _MODELS and _MODEL.fullmatch(text)
        named = (tool and _NAME.fullmatch(text)) or model or (key in _TYPE_KEYS and _TYPE.fullmatch(text))
        named = named or (key == "id" and _CLASS.fullmatch(text))
        if (named and not _secret(text)) or _MEDIA.fullmatch(text):
            self._keep(text)
            return True
        return False

    def _json(self, text: str, key: str | None, beside: dict[str, Any], free: bool) -> str | None:
        """JSON in a string, as arguments often are, redacted as JSON so that it still parses."""
        bare = text.strip()
        if bare[:1] not in ("{", "["):
            return None
        try:
            value = json.loads(bare)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, (dict, list)):
            return None
        if not free and ((key or "").rpartition(".")[2] not in _ARGUMENTS or _are_messages(value)):
            # Attributes, messages or records of a format: what stays depends on their keys.
            new = iter([*_scalars(self._value(value, key, beside, False))])
            old = [*_scalars(value)]
            if len(old) == len(_TOKEN.findall(text)):  # no key twice
                return _TOKEN.sub(
                    lambda match: json.dumps(next(new), ensure_ascii=False) + (match["colon"] or ""), text
                )
        return _TOKEN.sub(self._token, text)

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


def _camel(key: str) -> str:
    """The other spelling of a key: Google's libraries write ``promptTokenCount`` or ``prompt_token_count``."""
    return re.sub(r"(?<=[a-z])_([a-z])", lambda match: match[1].upper(), key)


def _are_messages(value: Any) -> bool:
    """Whether an input is that of a model, not of a tool."""
    given = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(given, list) or not all(isinstance(m, dict) and not m.keys().isdisjoint(_PART) for m in given):
        return False
    return any("role" in m for m in given)


def _scalars(value: Any) -> Iterator[str | int | float]:
    """Keys, strings and numbers of a JSON value, in the order in which they are written."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    elif value is not None and not isinstance(value, bool):
        yield value


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
