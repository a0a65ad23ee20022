"""One session of opencode: from messages and their parts to a Trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.chat import call_block, chat_blocks
from labkit.record.formats.common import as_dict, as_text, epoch, json_text, tokens
from labkit.record.trace import Block, Edit, Request, Trace, TraceKind, Usage

__all__ = ["thread"]

STUB = "[Old tool result content cleared]"
"""What opencode sends in place of a pruned output."""


def thread(
    messages: Sequence[tuple[dict[str, Any], list[dict[str, Any]]]],
    name: str,
    source: str,
    kind: TraceKind,
    children: Sequence[Trace],
) -> Trace:
    """A Trace of messages in order, each with its parts.

    Parameters
    ----------
    messages : sequence of (dict, list of dict)
        A message's own fields and its parts.
    name, source, kind, children
        As in :class:`labkit.Trace`.
    """
    run = TraceBuilder()
    pruned: list[tuple[float, int]] = []  # when, and the position of the result
    summaries: list[Trace] = []
    empty = 0
    for message, parts in messages:
        role = as_text(message.get("role"))
        empty += not parts
        if role == "user":
            run.say([block for part in parts for block in _said(part, "user")])
        elif role != "assistant":
            run.skipped[f"message of {role}"[:40]] += 1
        elif message.get("summary") is True:
            summaries.append(_summary(run, message, parts, f"compaction {len(summaries) + 1}", source))
        else:
            steps = _steps(parts)
            start = epoch(as_dict(message.get("time")).get("created"))
            for step in steps:
                _respond(run, message, step, start, pruned, alone=len(steps) == 1)
                # The results of one step set off the next.
                ended = [epoch(as_dict(as_dict(part.get("state")).get("time")).get("end")) for part in step]
                start = max((time for time in (start, *ended) if time is not None), default=None)
    _prune(run, pruned)
    if empty:
        run.warnings.append(f"{empty} messages have no parts here: what they said is not known")
    failed = sum(bool(as_dict(message.get("error"))) for message, _ in messages)
    if failed:
        run.warnings.append(f"{failed} responses ended with an error: what they spent may not be recorded")
    return run.trace(name, source, kind, [*children, *summaries])


def _steps(parts: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Parts by request: a step ends where its end is noted; what follows the last end belongs to it."""
    steps: list[list[dict[str, Any]]] = [[]]
    ended = False
    for part in parts:
        if part.get("type") == "step-start" and ended:
            steps.append([])
            ended = False
        steps[-1].append(part)
        ended = ended or part.get("type") == "step-finish"
    return steps


def _respond(
    run: TraceBuilder,
    message: dict[str, Any],
    parts: list[dict[str, Any]],
    start: float | None,
    pruned: list[tuple[float, int]],
    *,
    alone: bool,
) -> None:
    ends = [part for part in parts if part.get("type") == "step-finish"]
    usage = _usage(ends[-1].get("tokens")) if ends else None
    if usage is None and alone:
        usage = _usage(message.get("tokens"))
    model = as_text(message.get("modelID")) or as_text(as_dict(message.get("model")).get("modelID"))
    run.respond(
        [block for part in parts for block in _said(part, "assistant")],
        start=start,
        model=model,
        usage=usage,
        id=as_text(message.get("id")) if alone else None,
    )
    for part in parts:
        state = as_dict(part.get("state"))
        if part.get("type") != "tool" or state.get("status") in ("pending", "running"):
            continue
        output = state.get("output", state.get("error"))
        text = output if isinstance(output, str) else "" if output is None else json_text(output)
        placed = run.say([Block("result", "tool", text, call_id=as_text(part.get("callID")))])
        time = epoch(as_dict(state.get("time")).get("compacted"))
        if time is not None and placed:
            pruned.append((time, placed[0]))


def _said(part: dict[str, Any], role: str) -> list[Block]:
    kind = as_text(part.get("type"))
    if part.get("ignored") is True:
        return []
    if kind == "text":
        return chat_blocks({"role": role, "content": as_text(part.get("text"))})
    if kind == "reasoning":
        text = as_text(part.get("text"))
        return [Block("thinking", "assistant", text)] if text else []
    if kind == "tool":
        return [call_block(part.get("tool"), as_dict(part.get("state")).get("input"), part.get("callID"))]
    if kind == "file" and role == "user":
        url = as_text(part.get("url")) or ""
        if (as_text(part.get("mime")) or "").startswith("image/"):
            return chat_blocks({"role": role, "content": [{"type": "image_url", "image_url": {"url": url}}]})
        return [Block("text", "user", f"[file {as_text(part.get('filename')) or ''}]")]
    return []


def _summary(run: TraceBuilder, message: dict[str, Any], parts: list[dict[str, Any]], name: str, source: str) -> Trace:
    """Note a compaction: this message is the summary, and its request the call that wrote it."""
    text = "\n".join(b.text for part in parts for b in _said(part, "assistant") if b.kind == "text")
    run.summarize(list(run.live), [Block("text", "user", text)], trigger="compaction")
    ends = [part for part in parts if part.get("type") == "step-finish"]
    usage = _usage(message.get("tokens")) or (_usage(ends[-1].get("tokens")) if ends else None)
    start = epoch(as_dict(message.get("time")).get("created"))
    request = Request(1, start, as_text(message.get("modelID")), usage=usage, id=as_text(message.get("id")))
    return Trace(name, (), (request,), kind="compaction", source=source)


def _prune(run: TraceBuilder, pruned: list[tuple[float, int]]) -> None:
    """Note which outputs were taken out before which request, by the time of the pruning."""
    gone: dict[int, list[int]] = {}
    for time, position in pruned:
        later = (r.index for r in run.requests if r.start is not None and r.start >= time)
        gone.setdefault(next(later, len(run.requests) + 1), []).append(position)
    for request, positions in gone.items():
        run.edits.append(Edit("clear", request, tuple(sorted(positions)), stub=STUB, trigger="prune"))
    run.edits.sort(key=lambda edit: edit.request)


def _usage(value: Any) -> Usage | None:
    """Usage whose parts are disjoint; the reasoning is part of what the provider bills as output."""
    raw = as_dict(value)
    cache = as_dict(raw.get("cache"))
    usage = Usage(
        uncached=tokens(raw.get("input")),
        cache_read=tokens(cache.get("read")),
        cache_write_5m=tokens(cache.get("write")),
        output=tokens(raw.get("output")) + tokens(raw.get("reasoning")),
    )
    return usage if usage.total_input + usage.output else None
