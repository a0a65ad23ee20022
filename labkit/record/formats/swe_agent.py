"""SWE-agent trajectories (``.traj``): one JSON object with the history of messages and the steps.

Format: swe-agent.com, "Trajectories". Demonstrations are part of the prompt, not of the run. Old
files write commands as text; there a message is split at the command, so that the call can be told
from the thought and its result be paired.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.chat import chat_blocks, chat_text, text_result
from labkit.record.formats.common import as_dict, as_list, as_text, json_text, tokens
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Block, Edit, Role, Trace

NAME = "SWE-agent"

_STEP_KEYS = {"action", "observation", "response", "thought"}


def matches(path: Path) -> bool:
    """Whether the file is one object with steps or a history as SWE-agent writes them."""
    document = as_dict(whole_json(path))
    steps = [as_dict(step) for step in as_list(document.get("trajectory"))[:3]]
    if any(len(_STEP_KEYS & set(step)) >= 3 for step in steps):
        return True
    history = [as_dict(message) for message in as_list(document.get("history"))[:6]]
    return any("role" in m and ("message_type" in m or {"thought", "action"} <= set(m)) for m in history)


def read(path: Path) -> Trace:
    """Read a trajectory.

    Parameters
    ----------
    path : Path
        A ``.traj`` file.

    Returns
    -------
    Trace
        Without usage by request: the file holds only what the client counted for the whole run,
        which is said in a warning. Results that a history processor shortened are recorded edits,
        where the file holds the prompt of each step.
    """
    document = as_dict(whole_json(path))
    steps = [as_dict(step) for step in as_list(document.get("trajectory"))]
    history = [as_dict(m) for m in as_list(document.get("history")) if isinstance(m, dict)]
    prompts = [[as_dict(m) for m in as_list(s.get("query")) or as_list(s.get("messages"))] for s in steps]
    rebuilt = not history
    if rebuilt:
        history = _from_steps(steps, prompts)
    agent = as_dict(_config(document).get("agent"))
    model = as_text(as_dict(agent.get("model")).get("name"))
    if model == "replay":  # a recorded run played again, not a model
        model = None
    main = as_text(next((m.get("agent") for m in history if as_text(m.get("agent"))), None))
    agents = dict.fromkeys(as_text(m.get("agent")) or main for m in history)
    threads = {agent: [m for m in history if (as_text(m.get("agent")) or main) == agent] for agent in agents}
    children = [
        _thread(thread, [], model).trace(str(agent), f"{NAME}: {path.name}", "subagent")
        for agent, thread in threads.items()
        if agent != main
    ]
    run = _thread(threads.get(main, []), prompts, model)
    if rebuilt:
        run.warnings.append("the file has no history: it was put together from the steps, without system prompt")
    processors = _processors(agent)
    if processors and not any(prompts):
        run.warnings.append(
            f"the run used {' and '.join(processors)} on its history, but no prompt is recorded: what they left out "
            "of it is not known"
        )
    run.warnings += _totals(as_dict(as_dict(document.get("info")).get("model_stats")), len(run.requests))
    return run.trace(path.stem, f"{NAME}: {path.name}", children=children)


def _config(document: dict[str, Any]) -> dict[str, Any]:
    """The recorded configuration, which some versions store as a string of JSON."""
    config = document.get("replay_config")
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except (ValueError, RecursionError):
            config = None
    return as_dict(config)


def _processors(agent: dict[str, Any]) -> list[str]:
    """Names of the history processors that change what is sent."""
    given = [*as_list(agent.get("history_processors")), agent.get("history_processor")]
    names = [as_text(as_dict(processor).get("type")) for processor in given]
    # A name is one short word; whatever stands there instead must not break a warning's line.
    return [" ".join(name.split())[:40] for name in names if name and name not in ("cache_control", "default")]


def _from_steps(steps: list[dict[str, Any]], prompts: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """A history out of the steps: the first prompt, then each response with its observation."""
    history = [m for m in (prompts[0] if prompts else []) if m.get("role") in ("system", "user")][:3]
    for step in steps:
        history.append({"role": "assistant", "content": step.get("response"), **_said(step)})
        if isinstance(step.get("observation"), str):
            history.append({"role": "user", "content": step["observation"]})
    return history


def _said(step: dict[str, Any]) -> dict[str, Any]:
    return {key: step[key] for key in ("thought", "action", "tool_calls") if key in step}


def _thread(history: list[dict[str, Any]], prompts: list[list[dict[str, Any]]], model: str | None) -> TraceBuilder:
    """One agent's messages, with the edits its prompts show."""
    run = TraceBuilder()
    places: list[range] = []
    asked: str | None = None  # the id of a call written as text that waits for its result
    for message in history:
        role = as_text(message.get("role"))
        if message.get("is_demo") is True:
            text = chat_text(message.get("content"))
            calls = as_list(message.get("tool_calls"))
            speaker: Role = "assistant" if role == "assistant" else "user"
            places.append(run.say([Block("text", speaker, text + (json_text(calls) if calls else ""))]))
        elif role == "system" and not run.blocks:
            run.prefix(chat_text(message.get("content")))
            places.append(range(0))
        elif role == "assistant":
            blocks, asked = _response(message, len(run.requests))
            first = len(run.blocks)
            run.respond(blocks, model=model)
            places.append(range(first, len(run.blocks)))
        else:
            places.append(run.say(text_result(message, asked) if asked and role == "user" else chat_blocks(message)))
            asked = None
    _elisions(run, history, places, prompts)
    return run


def _response(message: dict[str, Any], number: int) -> tuple[list[Block], str | None]:
    """Blocks of a response, and the id given to a command that it wrote as text."""
    blocks = chat_blocks(message)
    action = as_text(message.get("action"))
    content = message.get("content")
    if action is None or not action.strip() or any(b.kind == "call" for b in blocks) or not isinstance(content, str):
        return blocks, None
    thought = as_text(message.get("thought")) or ""
    before = thought if content.startswith(thought) else ""
    call_id = f"text-{number}"
    line = " ".join(action.split())
    call = Block(
        "call", "assistant", content[len(before) :], tool=line.split(" ")[0][:40], args=line[:120], call_id=call_id
    )
    return ([Block("text", "assistant", before)] if before else []) + [call], call_id


def _elisions(
    run: TraceBuilder, history: list[dict[str, Any]], places: list[range], prompts: list[list[dict[str, Any]]]
) -> None:
    """Note where a prompt shows another text than the history: old observations that were shortened.

    Some versions store the prompt of the step, some the one after it; the number of responses in it
    tells which request it belongs to.
    """
    known: dict[int, str] = {}
    apart = 0
    for prompt in prompts:
        if not prompt:
            continue
        request = 1 + sum(m.get("role") == "assistant" and m.get("is_demo") is not True for m in prompt)
        found: dict[str, list[int]] = {}
        if len(prompt) > len(history) or any(_differ(p, h) for p, h in zip(prompt, history, strict=False)):
            apart += 1
            continue
        for now, was, place in zip(prompt, history, places, strict=False):
            text = chat_text(now.get("content"))
            if len(place) == 1 and text != chat_text(was.get("content")) and known.get(place[0]) != text:
                known[place[0]] = text
                found.setdefault(text, []).append(place[0])
        if request <= len(run.requests):
            for stub, positions in found.items():
                run.edits.append(Edit("clear", request, tuple(positions), stub=stub, trigger="history processor"))
    if apart:
        run.warnings.append(
            f"{apart} recorded prompts do not line up with the history: what was left out of them is not known"
        )


def _differ(now: dict[str, Any], was: dict[str, Any]) -> bool:
    """Whether two messages cannot be the same one: what the model said is never shortened."""
    spoken = now.get("role") == "assistant" and chat_text(now.get("content")) != chat_text(was.get("content"))
    return spoken or now.get("role") != was.get("role")


def _totals(stats: dict[str, Any], requests: int) -> list[str]:
    """What the file says about the whole run, which no request can be given."""
    warnings = []
    sent, received = tokens(stats.get("tokens_sent")), tokens(stats.get("tokens_received"))
    if sent or received:
        warnings.append(
            f"tokens are recorded for the whole run only, counted by the client and blind to caching: "
            f"{sent:,} sent, {received:,} received"
        )
    calls = tokens(stats.get("api_calls"))
    if calls > requests:
        warnings.append(
            f"the run made {calls} calls of the model, {requests} are in the file: retries are not recorded"
        )
    return warnings
