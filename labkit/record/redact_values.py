"""What a redaction makes of each value of a session: which strings stay, and which become pseudonyms."""

from __future__ import annotations

import base64
import json
import re
from math import isfinite
from typing import Any

from labkit.record.formats.claude_code_content import _pixels
from labkit.record.redact_words import Pseudonyms

__all__ = ["Redaction"]

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
        elif isinstance(value, float) and isfinite(value) and (free or key not in self._known):
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
