"""mini-swe-agent trajectories (``.traj.json``): chat messages, each response with what the provider sent.

Early files are the bare list of messages. In text mode the command stands in a code block of the
message, and its output comes back as the user's next message.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.chat import chat_blocks, chat_text, chat_usage, text_result
from labkit.record.formats.common import as_dict, as_list, as_text, epoch, tokens
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Block, Trace

NAME = "mini-swe-agent"

# The fence of a command: the one of version 2, and plain bash before it.
_COMMAND = re.compile(r"```(?:mswea_bash_command|bash)\s*\n(.*?)\n?```", re.DOTALL)


def matches(path: Path) -> bool:
    """Whether the file says so, or is a list of messages with commands and return codes."""
    document = whole_json(path)
    if isinstance(document, dict):
        return str(document.get("trajectory_format", "")).startswith("mini-swe-agent") or (
            "mini_version" in as_dict(document.get("info")) and isinstance(document.get("messages"), list)
        )
    messages = [as_dict(m) for m in as_list(document)[:6]]
    texts = [chat_text(m.get("content")) for m in messages if "role" in m]
    return any("```mswea_bash_command" in t for t in texts) or (
        any(_COMMAND.search(t) for t in texts) and any(t.startswith("<returncode>") for t in texts)
    )


def read(path: Path) -> Trace:
    """Read a run.

    Parameters
    ----------
    path : Path
        A ``.traj.json`` file.

    Returns
    -------
    Trace
        ``Request.start`` is the time of the message that set the request off; the final submission
        has no result, as in every run of this harness.
    """
    document = whole_json(path)
    info = as_dict(as_dict(document).get("info"))
    messages = as_list(as_dict(document).get("messages")) if isinstance(document, dict) else as_list(document)
    run = TraceBuilder()
    clock: float | None = None
    asked: str | None = None  # the id of a command written as text that waits for its output
    for message in messages:
        if not isinstance(message, dict):
            run.skipped[type(message).__name__] += 1
            continue
        extra = as_dict(message.get("extra"))
        role = as_text(message.get("role"))
        if role == "system" and not run.blocks:
            run.prefix(chat_text(message.get("content")))
        elif role == "assistant":
            response = as_dict(extra.get("response"))
            blocks, asked = _response(message, len(run.requests))
            run.respond(
                blocks,
                start=clock if clock is not None else epoch(response.get("created")),
                model=as_text(response.get("model")) or _model(info),
                usage=chat_usage(response.get("usage")),
                id=as_text(response.get("id")),
            )
        elif role == "exit":
            continue  # how the run ended, which no request carries
        else:
            answers = asked is not None and role == "user"
            run.say(text_result(message, asked) if answers and asked else chat_blocks(message))
            asked = None
        time = epoch(extra.get("timestamp"))
        clock = time if time is not None else clock
    calls = tokens(as_dict(info.get("model_stats")).get("api_calls"))
    if calls > len(run.requests):
        run.warnings.append(
            f"the run made {calls} calls of the model, {len(run.requests)} are in the file: retries are not recorded"
        )
    return run.trace(_name(document, path), f"{NAME}: {path.name}")


def _response(message: dict[str, Any], number: int) -> tuple[list[Block], str | None]:
    """Blocks of a response, and the id given to a command that it wrote as text."""
    blocks = chat_blocks(message)
    if len(blocks) != 1 or blocks[0].kind != "text":
        return blocks, None
    text = blocks[0].text
    found = _COMMAND.search(text)
    if found is None:
        return blocks, None
    call_id = f"text-{number}"
    line = " ".join(found[1].split())
    call = Block("call", "assistant", text[found.start() :], tool="bash", args=line[:120], call_id=call_id)
    return ([replace(blocks[0], text=text[: found.start()])] if found.start() else []) + [call], call_id


def _model(info: dict[str, Any]) -> str | None:
    return as_text(as_dict(as_dict(info.get("config")).get("model")).get("model_name"))


def _name(document: Any, path: Path) -> str:
    return as_text(as_dict(document).get("instance_id")) or path.name.removesuffix(".json").removesuffix(".traj")
