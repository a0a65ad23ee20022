"""ATIF, the Agent Trajectory Interchange Format of Harbor: one JSON object of steps.

Source of the fields: github.com/laude-institute/harbor, "Agent Trajectory Interchange Format". A run
whose context was summarised goes on in another file; both are read where both are there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.chat import call_block, chat_blocks, chat_text, chat_usage
from labkit.record.formats.common import as_dict, as_list, as_text, json_text, timestamp, tokens
from labkit.record.formats.whole import whole_json
from labkit.record.trace import Block, Kind, Trace, TraceKind, Usage

NAME = "ATIF"

# A chain of files longer than this is a circle.
_MOST_FILES = 100


def matches(path: Path) -> bool:
    """Whether the file says so, or holds steps with their source."""
    document = as_dict(whole_json(path))
    if str(document.get("schema_version", "")).upper().startswith("ATIF"):
        return True
    steps = [as_dict(step) for step in as_list(document.get("steps"))[:3]]
    return "agent" in document and any({"step_id", "source"} <= set(step) for step in steps)


def read(path: Path) -> Trace:
    """Read a run and the files it goes on in.

    Parameters
    ----------
    path : Path
        A trajectory.

    Returns
    -------
    Trace
        ``children`` holds the trajectories of subagents that were found beside the file.
    """
    return _read(path, "session", {path.resolve()})


def _read(path: Path, kind: TraceKind, seen: set[Path]) -> Trace:
    source = f"{NAME}: {path.name}"
    run = _Run(path, seen)
    document = as_dict(whole_json(path))
    name = path.name.removesuffix(".json").removesuffix(".trajectory")
    part, where = document, path
    while True:
        run.take(part, where)
        after = _beside(where, as_text(part.get("continued_trajectory_ref")))
        if after is None or after.resolve() in seen or len(seen) > _MOST_FILES:
            break
        seen.add(after.resolve())
        part, where = as_dict(whole_json(after)), after
    if "continued_trajectory_ref" in part and after is None:
        run.builder.warnings.append(
            f"the run goes on in {str(part['continued_trajectory_ref'])[:80]!r}, which is not here"
        )
    return run.trace(name, kind, source, as_dict(part.get("final_metrics")))


def _beside(path: Path, reference: str | None) -> Path | None:
    """The file a trajectory refers to: by its name, or by this file's name with the same ending."""
    if reference is None:
        return None
    plain = Path(reference).name
    _, mark, ending = plain.partition(".")
    stem = path.name.removesuffix(".json")
    for name in (plain, f"{stem}.{ending}" if mark else plain):
        try:
            if (path.parent / name).is_file():
                return path.parent / name
        except (OSError, ValueError):
            continue
    return None


class _Run:
    """Collects the steps of one run over its files."""

    def __init__(self, path: Path, seen: set[Path]) -> None:
        self.builder = TraceBuilder()
        self.model: str | None = None
        self._seen = seen
        self._clock: float | None = None
        self._children: list[Trace] = []
        self._missing = 0
        self._events = 0
        self._copies = 0
        self._replaced: list[int] | None = None  # what a compaction took out, until the new context is known
        self._carried: list[Block] = []

    def take(self, document: dict[str, Any], path: Path) -> None:
        """Take the steps of one file."""
        agent = as_dict(document.get("agent"))
        self.model = as_text(agent.get("model_name")) or self.model
        listed = as_list(agent.get("tool_definitions"))
        tools = json_text(listed) if listed else None
        steps = [as_dict(step) for step in as_list(document.get("steps"))]
        if tools and not any(step.get("source") == "system" for step in steps[:1]):
            self.builder.prefix(None, tools)
        for number, step in enumerate(steps):
            origin = as_text(step.get("source"))
            copied = step.get("is_copied_context") is True
            if not copied:
                self._resume()
            if origin == "system" and number == 0:
                self.builder.prefix(chat_text(step.get("message")), tools)
            elif origin == "system":
                self._system(step, path)
            elif copied:
                self._copied(step, origin)
            elif origin == "agent":
                self._agent(step, path)
            elif origin == "user":
                self.builder.say(chat_blocks({"role": "user", "content": step.get("message")}))
            else:
                self.builder.skipped[f"step of {origin}"[:40]] += 1
            time = timestamp(step.get("timestamp"))
            self._clock = time if time is not None else self._clock

    def _system(self, step: dict[str, Any], path: Path) -> None:
        """A later system step is an event of the harness: a compaction, or news for people."""
        management = as_dict(as_dict(step.get("extra")).get("context_management"))
        self._results(step, path)
        if management.get("type") == "compaction":
            self._replaced = list(self.builder.live)
        else:
            self._events += 1

    def _copied(self, step: dict[str, Any], origin: str | None) -> None:
        """A step that another file already bills: context, but no request."""
        role = "assistant" if origin == "agent" else "user"
        blocks = chat_blocks({"role": role, "content": step.get("message")})
        self._copies += 1
        if self._replaced is None:
            self.builder.say(blocks)
        else:
            self._carried += blocks

    def _resume(self) -> None:
        """Place what the context was made of after a compaction.

        What stood there before, word for word, was kept; the longest of the user's new texts is the handoff.
        """
        if self._replaced is None:
            return
        gone = {self.builder.blocks[position].text: position for position in reversed(self._replaced)}
        kept = {gone[block.text] for block in self._carried if block.text in gone}
        new = [block for block in self._carried if block.text not in gone]
        self.builder.remove("summary", set(self._replaced) - kept, trigger="auto")
        lengths = [len(b.text) if b.role == "user" and b.kind == "text" else -1 for b in new]
        for number, block in enumerate(new):
            longest = lengths[number] == max(lengths) and lengths[number] >= 0
            kind: Kind = "summary" if longest else block.kind
            placed = self.builder.say([replace(block, kind=kind, edited="summary")])
            if longest:
                self.builder.edits[-1] = replace(self.builder.edits[-1], summary=placed[0])
        self._replaced, self._carried = None, []

    def _agent(self, step: dict[str, Any], path: Path) -> None:
        message = {
            "role": "assistant",
            "content": step.get("message"),
            "reasoning_content": step.get("reasoning_content"),
        }
        blocks = chat_blocks(message)
        for item in as_list(step.get("tool_calls")):
            call = as_dict(item)
            blocks.append(call_block(call.get("function_name"), call.get("arguments"), call.get("tool_call_id")))
        self.builder.respond(
            blocks,
            start=self._clock,
            model=as_text(step.get("model_name")) or self.model,
            usage=_usage(as_dict(step.get("metrics"))),
        )
        self._results(step, path, [b.call_id for b in blocks if b.kind == "call"])

    def _results(self, step: dict[str, Any], path: Path, calls: list[str | None] | None = None) -> None:
        """Results of a step; one that names no call answers the step's only call."""
        results = [as_dict(r) for r in as_list(as_dict(step.get("observation")).get("results"))]
        for result in results:
            for reference in as_list(result.get("subagent_trajectory_ref")):
                self._subagent(as_dict(reference), path)
            if "content" not in result or calls is None:
                continue
            call_id = as_text(result.get("source_call_id")) or (calls[0] if len(calls) == 1 else None)
            self.builder.say(chat_blocks({"role": "tool", "content": result.get("content"), "tool_call_id": call_id}))

    def _subagent(self, reference: dict[str, Any], path: Path) -> None:
        file = _beside(path, as_text(reference.get("trajectory_path")))
        if file is None or file.resolve() in self._seen or len(self._seen) > _MOST_FILES:
            self._missing += 1
            return
        self._seen.add(file.resolve())
        said = json_text([reference, file.name])
        self._children.append(_read(file, "compaction" if "summar" in said else "subagent", self._seen))

    def trace(self, name: str, kind: TraceKind, source: str, total: dict[str, Any]) -> Trace:
        """The Trace of all steps, with what the files say and do not hold."""
        self._resume()
        warnings = self.builder.warnings
        if self._missing:
            warnings.append(f"{self._missing} trajectories of subagents are not here: what they spent is not counted")
        if self._events:
            warnings.append(f"{self._events} later system steps are events of the harness: not counted as context")
        if self._copies:
            warnings.append(f"{self._copies} steps are carried over from an earlier file: context, but no requests")
        trace = self.builder.trace(name, source, kind, self._children)
        warning = _compare(trace, total)
        return replace(trace, warnings=(*trace.warnings, warning)) if warning else trace


def _usage(metrics: dict[str, Any]) -> Usage | None:
    extra = as_dict(metrics.get("extra"))
    written = tokens(extra.get("cache_creation_input_tokens")) or tokens(metrics.get("cache_creation_tokens"))
    return chat_usage({**metrics, "cache_creation_input_tokens": written})


def _compare(trace: Trace, total: dict[str, Any]) -> str | None:
    """What the file's own totals hold beyond its steps, if anything."""
    prompt, completion = tokens(total.get("total_prompt_tokens")), tokens(total.get("total_completion_tokens"))
    usages = [r.usage for t in (trace, *trace.children) for r in t.requests if r.usage]
    found = sum(u.total_input for u in usages), sum(u.output for u in usages)
    if not prompt or found == (prompt, completion):
        return None
    return (
        f"the file's own total is {prompt:,} tokens in and {completion:,} out, its steps add up to {found[0]:,} and "
        f"{found[1]:,}: it holds earlier files or subagents too, or steps are missing"
    )
