"""tau-bench results: a list of trials (version 1), or simulations with their settings (version 2).

Source of the fields: github.com/sierra-research/tau-bench and tau2-bench. Version 1 records neither
usage nor times nor tool definitions. In version 2 the simulated user is a model with tools of its
own: its usage and its tools' results never reach the agent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.chat import chat_blocks, chat_text, chat_usage
from labkit.record.formats.common import as_dict, as_list, as_text, json_text, timestamp
from labkit.record.formats.several import several
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Trace

NAME = "tau-bench"


def matches(path: Path) -> bool:
    """Whether the file holds trials or simulations."""
    document = whole_json(path)
    if isinstance(document, dict):
        runs = as_list(document.get("simulations"))[:1]
        return any(isinstance(as_dict(r).get("messages"), list) and "task_id" in r for r in runs)
    trials = [as_dict(trial) for trial in as_list(document)[:3]]
    return any(isinstance(t.get("traj"), list) and ("task_id" in t or "reward" in t) for t in trials)


def read(path: Path) -> Trace:
    """Read all trials of a file.

    Parameters
    ----------
    path : Path
        A results file.

    Returns
    -------
    Trace
        The trial, or a Trace whose children are the trials; a name says task, trial and reward.
    """
    document = whole_json(path)
    source = f"{NAME}: {path.name}"
    info = as_dict(as_dict(document).get("info"))
    entries = as_list(as_dict(document).get("simulations")) if isinstance(document, dict) else as_list(document)
    runs = [_run(entry, info, source) for entry in entries if isinstance(entry, dict)]
    lost = len(entries) - len(runs)
    warnings = [f"{lost} entries are not trials; skipped"] if lost else []
    return several(runs, path.stem, source, warnings)


def _run(entry: dict[str, Any], info: dict[str, Any], source: str) -> Trace:
    run = TraceBuilder()
    settings = as_dict(info.get("environment_info"))
    policy, tools = as_text(settings.get("policy")), as_list(settings.get("tool_defs"))
    if policy or tools:
        run.prefix(policy, json_text(tools) if tools else None)
        run.warnings.append("the system prompt is recorded as its policy only, without the instructions around it")
    model = as_text(as_dict(info.get("agent_info")).get("llm"))
    clock: float | None = None
    cut = 0
    for message in _flat(as_list(entry.get("traj")) or as_list(entry.get("messages"))):
        role = as_text(message.get("role"))
        time = timestamp(message.get("timestamp"))
        if role == "system" and not run.blocks:
            run.prefix(chat_text(message.get("content")))
        elif role == "assistant" and not run.blocks:
            # The benchmark itself opens the conversation with a fixed greeting.
            run.say(chat_blocks(message))
        elif role == "assistant":
            usage = chat_usage(message.get("usage"))
            cut += bool(as_dict(message.get("context_truncation")))
            run.respond(chat_blocks(message), start=clock if clock is not None else time, model=model, usage=usage)
        elif role == "tool":
            if message.get("requestor") != "user":
                ids = {"tool_call_id": message.get("tool_call_id", message.get("id"))}
                run.say(chat_blocks({**message, **ids}))
        elif role is not None:
            # What the simulated user calls is its own business; what it says is not.
            run.say(chat_blocks({"role": "user", "content": message.get("content")}))
        else:
            run.skipped["message without a role"] += 1
        clock = time if time is not None else clock
    if cut:
        run.warnings.append(f"{cut} requests were cut to a budget of tokens: which messages they lost is not recorded")
    return run.trace(_name(entry), source)


def _flat(messages: list[Any]) -> list[dict[str, Any]]:
    """Messages one by one: version 2 bundles the results of parallel calls."""
    flat: list[dict[str, Any]] = []
    for message in messages:
        bundle = as_list(as_dict(message).get("tool_messages"))
        flat += [as_dict(m) for m in bundle or [message]]
    return flat


def _name(entry: dict[str, Any]) -> str:
    reward = entry.get("reward", as_dict(entry.get("reward_info")).get("reward"))
    return f"task {entry.get('task_id')}, trial {entry.get('trial', 0)}, reward {reward}"[:120]
