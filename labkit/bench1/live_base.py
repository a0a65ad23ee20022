"""What the interfaces to a real model have in common: what is asked, what comes back, a client and its errors."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from labkit.errors import InputError, LabError
from labkit.ladder.policy import Policy
from labkit.record.trace import Block, Usage

__all__ = ["ABOUT", "Api", "Asked", "Client", "LiveError", "Said", "TooLong", "call_block", "parsed", "schema"]

Json = dict[str, Any]

ABOUT = {
    "list": ("All paths of the service, one a line.", ()),
    "grep": ("Lines that hold a text, as path:line: content.", ("text",)),
    "read": ("A file, whole.", ("path",)),
    "edit": ("Replace a text that stands exactly once in a file.", ("path", "old", "new")),
    "check": ("Which files parse. Call it at the end.", ()),
}


class LiveError(LabError, RuntimeError):
    """The model's interface refused, or could not be reached; what was done before is kept."""


class TooLong(Exception):
    """The prompt is longer than the model's window."""


@dataclass(frozen=True)
class Asked:
    """A call of a tool; ``given`` is ``None`` where its arguments are no object."""

    id: str
    tool: str
    given: Json | None


@dataclass(frozen=True)
class Said:
    """An answer: what to send back, the calls in it, why it ended (``""`` for a plain end), and each pass's usage."""

    items: tuple[Json, ...]
    blocks: tuple[Block, ...]
    calls: tuple[Asked, ...]
    stop: str
    usages: tuple[Usage, ...]
    goes_on: bool = False


class Api(Protocol):
    """One interface of a provider."""

    name: str

    def server(self, policy: Policy) -> Json:
        """What has the provider edit the context by a policy; refused where the interface cannot."""

    def opening(self, task: str) -> list[Json]:
        """The conversation's first items."""

    def from_blocks(self, blocks: Sequence[Block]) -> list[Json]:
        """The items of a context that the client manages."""

    def request(self, model: str, system: str, items: Sequence[Json], most: int, server: Json) -> Json:
        """What is sent."""

    def answers(self, results: Sequence[tuple[Asked, str]]) -> list[Json]:
        """The items that bring tools' results."""

    def read(self, response: Json) -> Said:
        """What came back."""

    def send(self, request: Json) -> Json:
        """Ask the model.

        Raises
        ------
        TooLong, LiveError
        """

    def close(self) -> None:
        """Let go of the connections."""


def schema(tool: str) -> Json:
    """The JSON Schema of a tool's arguments, all of them texts.

    Examples
    --------
    >>> schema("read")["required"]
    ['path']
    """
    names = ABOUT[tool][1]
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
        "additionalProperties": False,
    }


def call_block(call: Asked) -> Block:
    """The call as a block."""
    args = json.dumps(call.given or {}, ensure_ascii=False)
    return Block("call", "assistant", f"{call.tool} {args}", tool=call.tool, args=args, call_id=call.id)


def parsed(text: str) -> Json | None:
    """Arguments as an object, ``None`` where they are none."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _plain(answer: Any) -> Json:
    made: Json = json.loads(answer.model_dump_json(exclude_unset=True))
    return made


class Client:
    """The part that both SDKs share: a client, its key, and its errors as ours."""

    sdk = ""
    key = ""

    def __init__(self, base_url: str | None = None) -> None:
        try:
            self._sdk = __import__(self.sdk)
        except ImportError:
            raise InputError(f"{self.sdk} is not installed: pip install -e '.[live]'") from None
        self.base_url = base_url or os.environ.get(f"{self.sdk.upper()}_BASE_URL")
        given = os.environ.get(self.key, "")
        if not given and not self.base_url:
            raise InputError(
                f"{self.key} is not set: set it to the key of your account, or give --base-url of a server that "
                "needs none"
            )
        name = "Anthropic" if self.sdk == "anthropic" else "OpenAI"
        self._client = getattr(self._sdk, name)(api_key=given or "none", base_url=self.base_url, max_retries=4)

    def close(self) -> None:
        self._client.close()

    def _ask(self, method: Any, request: Json) -> Json:
        try:
            return _plain(method(**request))
        except self._sdk.APIStatusError as error:
            said = str(error)
            if error.status_code in (400, 413) and ("too long" in said or "context_length_exceeded" in said):
                raise TooLong(said) from error
            raise LiveError(
                f"the model's interface answered {error.status_code} ({said[:300]}): what came before is kept, so "
                "mend it and give the same command again"
            ) from error
        except self._sdk.APIError as error:
            raise LiveError(
                f"the model's interface cannot be used ({type(error).__name__}: {str(error)[:300]}): what came before "
                "is kept, so check the connection and give the same command again"
            ) from error
