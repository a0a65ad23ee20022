"""OpenHands agent SDK (version 1): events as JSON lines, or a conversation's folder.

Source of the fields: github.com/OpenHands/software-agent-sdk, ``openhands/sdk/event``. Usage is not
in the events: a conversation's state lists it by response, and a log holds running totals, from
which each response gets what its total grew by.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit.record.formats.chat import chat_usage
from labkit.record.formats.common import as_dict, as_list, as_text
from labkit.record.formats.jsonl import first_objects, read_lines
from labkit.record.formats.openhands_sdk_thread import Thread
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Trace, Usage

NAME = "OpenHands SDK"
FOLDERS = True

_KINDS = {
    "ActionEvent",
    "AgentErrorEvent",
    "Condensation",
    "CondensationRequest",
    "ConversationStateUpdateEvent",
    "MessageEvent",
    "ObservationEvent",
    "SystemPromptEvent",
    "UserRejectObservation",
}


def matches(path: Path) -> bool:
    """Whether the content is events with the SDK's kinds."""
    if path.is_dir():
        return any(_is_event(whole_json(file)) for file in _files(path)[:3])
    if any(_is_event(line) for line in first_objects(path, 5)):
        return True
    document = whole_json(path)
    return any(_is_event(event) for event in as_list(document)[:5])


def _is_event(value: Any) -> bool:
    event = as_dict(value)
    return as_text(event.get("kind")) in _KINDS and "source" in event and "timestamp" in event


def _files(path: Path) -> list[Path]:
    return sorted((path / "events" if (path / "events").is_dir() else path).glob("event-*.json"))


def read(path: Path) -> Trace:
    """Read a conversation.

    Parameters
    ----------
    path : Path
        A file of events, or the folder with ``base_state.json`` and ``events``.

    Returns
    -------
    Trace
        ``children`` holds the calls of a condenser. Times without a zone are taken as UTC.
    """
    warnings: list[str] = []
    listed: dict[str, Usage] = {}
    condensers: dict[str, Usage] = {}
    model = None
    if path.is_dir():
        files = _files(path)
        events = [whole_json(file) for file in files]
        state = as_dict(whole_json(path / "base_state.json"))
        for name, metrics in as_dict(as_dict(state.get("stats")).get("usage_to_metrics")).items():
            into = condensers if "condenser" in name else listed
            model = model or as_text(as_dict(metrics).get("model_name"))
            for item in as_list(as_dict(metrics).get("token_usages")):
                usage, key = chat_usage(item), as_text(as_dict(item).get("response_id"))
                if usage is not None and key is not None:
                    into[key] = usage
    else:
        document = whole_json(path)
        if isinstance(document, list):
            events = document
        else:
            lines, warnings = read_lines(path)
            events = [line for _, line in lines]
    source = f"{NAME}: {path.name}"
    thread = Thread(listed, condensers, source)
    thread.model = model
    thread.run.warnings += warnings
    for event in events:
        if isinstance(event, dict):
            thread.add(event)
        else:
            thread.run.skipped[type(event).__name__] += 1
    return thread.trace(path.stem if path.is_file() else path.name)
