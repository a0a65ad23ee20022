"""OpenHands (before its agent SDK): a list of events, an evaluation's output lines, a folder of events.

An event is an action or an observation. The model's whole response stands in the action, again in
its observation, and once more in each action of a parallel response; here it counts once.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.errors import InputError
from labkit.record.formats.chat import chat_usage
from labkit.record.formats.common import as_dict, as_list, as_text, tokens
from labkit.record.formats.jsonl import first_objects, read_lines
from labkit.record.formats.openhands_thread import Thread
from labkit.record.formats.several import several
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Trace, Usage

NAME = "OpenHands"
FOLDERS = True


def matches(path: Path) -> bool:
    """Whether the content is events, or lines with a history of events."""
    if path.is_dir():
        return any(_is_event(event) for event in _folder(path, limit=3))
    first = list(first_objects(path, 1))
    if any(_is_event(e) or _history(e) for e in first):
        return True
    document = whole_json(path)
    return bool(_history(document)) or any(_is_event(e) for e in _flat(as_list(document)[:5]))


def _is_event(value: Any) -> bool:
    event = as_dict(value)
    action, observation = as_text(event.get("action")), as_text(event.get("observation"))
    return bool((action and isinstance(event.get("args"), dict)) or (observation and "content" in event))


def _history(value: Any) -> list[Any]:
    """Events of an evaluation's line or of an export, if it is one."""
    entry = as_dict(value)
    for key in ("history", "trajectory"):
        events = as_list(entry.get(key))
        if any(_is_event(e) for e in _flat(events[:5])):
            return events
    return []


def _flat(events: list[Any]) -> list[Any]:
    """Events one by one: old files hold pairs of action and observation."""
    return [e for event in events for e in (event if isinstance(event, list) else [event])]


def _folder(path: Path, limit: int | None = None) -> list[Any]:
    """Events of a folder with a file each, by number."""
    folder = path / "events" if (path / "events").is_dir() else path
    files = [file for file in folder.glob("*.json") if re.fullmatch(r"\d{1,9}", file.stem)]
    return [whole_json(file) for file in sorted(files, key=lambda file: int(file.stem))[:limit]]


def read(path: Path) -> Trace:
    """Read the run or the runs of a file or folder.

    Parameters
    ----------
    path : Path
        An exported trajectory, an ``output.jsonl`` of an evaluation, or a session's folder of events.

    Returns
    -------
    Trace
        ``children`` holds delegates, and calls that the metrics list but no event shows, such as
        those of a condenser. Times without a zone are taken as UTC.
    """
    source = f"{NAME}: {path.name}"
    if path.is_dir():
        return _run(_folder(path), {}, path.name, source)
    document = whole_json(path)
    if isinstance(document, list):
        return _run(_flat(document), {}, path.stem, source)
    if isinstance(document, dict):
        return _run(_flat(_history(document)), document, path.stem, source)
    lines, warnings = read_lines(path)
    entries = [line for _, line in lines]
    if not any(isinstance(line.get("history"), list) for line in entries):
        return _run(entries, {}, path.stem, source, warnings)
    runs = [_run(_flat(_history(line)), line, path.stem, source) for line in entries if _history(line)]
    empty = len(entries) - len(runs)
    if empty:
        warnings.append(f"{empty} lines have no history of events; skipped")
    if not runs:
        raise InputError(f"{path} holds no history of events: give an output file of a run that got further")
    return several(runs, path.stem, source, warnings)


def _run(events: list[Any], entry: dict[str, Any], name: str, source: str, warnings: list[str] | None = None) -> Trace:
    metrics = as_dict(entry.get("metrics"))
    listed: dict[str, Usage] = {}
    for item in as_list(metrics.get("token_usages")):
        usage, key = chat_usage(item), as_text(as_dict(item).get("response_id"))
        if usage is not None and key is not None:
            listed[key] = usage
    thread = Thread(listed, source)
    thread.run.warnings += warnings or []
    for event in events:
        if isinstance(event, dict):
            thread.add(event)
        else:
            thread.run.skipped[type(event).__name__] += 1
    trace = thread.trace(as_text(entry.get("instance_id")) or name)
    return _checked(trace, as_dict(metrics.get("accumulated_token_usage")))


def _checked(trace: Trace, total: dict[str, Any]) -> Trace:
    """Compare the sum of the responses with the file's own total."""
    prompt, completion = tokens(total.get("prompt_tokens")), tokens(total.get("completion_tokens"))
    usages = [r.usage for t in (trace, *trace.children) for r in t.requests if r.usage]
    found = (sum(u.total_input for u in usages), sum(u.output for u in usages))
    if not prompt or found == (prompt, completion):
        return trace
    said = (
        f"the file's own total is {prompt:,} tokens in and {completion:,} out, its responses add up to "
        f"{found[0]:,} and {found[1]:,}"
    )
    return replace(trace, warnings=(*trace.warnings, said))
