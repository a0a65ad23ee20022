"""Write the sample session of ``data/sessions``: made up, in Claude Code's format, the same each time.

An agent hunts a flaky test in a small web service. The usage of every response follows from the
texts: what was sent is counted, scaled as another vendor's tokenizer would, and put through a cache
that forgets after five minutes and matches prefixes. So an audit of the session finds what happened:
growth, one long pause, one clearing of old results, one subagent.

Usage: ``python scripts/make_sample_session.py [FOLDER]``
"""

from __future__ import annotations

import json
import sys
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from labkit.record.tokens import get_counter
from sample_story import CLEARED, STORY, SUBAGENT, Ask, Step

SEED = 20261117
START = datetime(2026, 11, 17, 9, 12, 4, tzinfo=UTC)
PREFIX = 18_214  # system prompt and tool schemas, tokens
REMINDERS = 2_316  # the project's memory file, sent with the first message and not recorded
SCALE = 1.2
TTL = 300.0
STUB = "[Old tool result content cleared]"
SESSION = "5e0c1d5a-7c1b-4f0e-9d35-3b1f6f2a9c10"
MAIN_MODEL, SUB_MODEL = "claude-sonnet-4-6", "claude-haiku-4-5-20251001"


def tokens(text: str) -> int:
    """Size of a text by the made-up vendor's tokenizer, whose ratio to ours depends on the text."""
    return round(get_counter("o200k_base").count(text) * SCALE * Random(text).uniform(0.96, 1.04))


@dataclass
class Thread:
    """One conversation: its lines, and the cache its prompts meet."""

    random: Random
    model: str
    prefix: int
    clock: datetime
    agent: str | None = None
    parent: str | None = None
    lines: list[dict[str, Any]] = field(default_factory=list)
    sent: list[tuple[str, int]] = field(default_factory=list)  # (call id or "", tokens), in order
    cached: int = 0
    cached_at: datetime | None = None

    def line(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Append one line of the transcript."""
        entry = {
            "parentUuid": self.parent,
            "isSidechain": self.agent is not None,
            "userType": "external",
            "cwd": "/home/dev/lending-desk",
            "sessionId": SESSION,
            "version": "2.1.39",
            "gitBranch": "flaky-renewals",
            **({"agentId": self.agent} if self.agent else {}),
            "type": kind,
            **fields,
            "uuid": self.id(),
            "timestamp": self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        self.parent = entry["uuid"]
        self.lines.append(entry)
        return entry

    def id(self) -> str:
        """A uuid from the seeded generator."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def wait(self, seconds: float) -> None:
        """Let time pass, a little unevenly."""
        self.clock += timedelta(seconds=round(seconds * self.random.uniform(0.85, 1.15), 3))

    def say(self, text: str) -> None:
        """The user's prompt."""
        self.line("user", message={"role": "user", "content": text})
        self.sent.append(("", tokens(text) + 4))

    def usage(self) -> dict[str, Any]:
        """Input side of the next response: read what the cache still holds, write the rest."""
        total = self.prefix + sum(size for _, size in self.sent)
        fresh = self.cached_at is not None and (self.clock - self.cached_at).total_seconds() <= TTL
        read = self.cached if fresh else 0
        uncached = 3 if self.lines[-1]["type"] == "user" else 8
        written = total - read - uncached
        self.cached, self.cached_at = total - uncached, self.clock
        return {
            "input_tokens": uncached,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "service_tier": "standard",
        }

    def clear(self, count: int) -> None:
        """Clear the oldest results, as the harness does when the context grows large."""
        ids = [name for name, _ in self.sent if name][:count]
        before = sum(size for name, size in self.sent if name)
        stub = tokens(STUB)
        self.sent = [(name, stub if name in ids else size) for name, size in self.sent]
        saved = before - sum(size for name, size in self.sent if name)
        self.cached = self.prefix
        data = {"trigger": "auto", "preTokens": before, "tokensSaved": saved, "compactedToolIds": ids}
        self.line(
            "system",
            subtype="microcompact_boundary",
            content="Context microcompacted",
            isMeta=False,
            level="info",
            microcompactMetadata={**data, "clearedAttachmentUUIDs": []},
        )

    def step(self, step: Step) -> list[tuple[str, str, str]]:
        """One response, a line for each content block; returns its calls as (id, tool, result)."""
        usage = self.usage()
        message = {"id": f"msg_01{self.id().replace('-', '')[:22]}", "type": "message", "role": "assistant"}
        request = f"req_011{self.id().replace('-', '')[:21]}"
        content: list[dict[str, Any]] = []
        if step.thinking:
            content.append({"type": "thinking", "thinking": step.thinking, "signature": "made-up"})
        if step.text:
            content.append({"type": "text", "text": step.text})
        calls = []
        for tool, args, result in step.calls:
            name = f"toolu_01{self.id().replace('-', '')[:22]}"
            content.append({"type": "tool_use", "id": name, "name": tool, "input": args})
            calls.append((name, tool, result))
        words = [step.thinking, step.text, *(f"{t} {json.dumps(a)}" for t, a, _ in step.calls)]
        output = sum(tokens(w) for w in words if w) + 9
        for position, block in enumerate(content):
            last = position == len(content) - 1
            self.wait(2.0 + tokens(str(block)) / 90)
            self.line(
                "assistant",
                message={
                    **message,
                    "model": self.model,
                    "content": [block],
                    "stop_reason": ("tool_use" if calls else "end_turn") if last else None,
                    "stop_sequence": None,
                    "usage": {**usage, "output_tokens": output if last else 4},
                },
                requestId=request,
            )
        self.sent.append(("", sum(tokens(w) for w in words if w) + 4))
        return calls

    def answer(self, call: tuple[str, str, str], extra: dict[str, Any] | None = None) -> None:
        """The result of one call."""
        name, tool, result = call
        self.wait(11.0 if tool == "Bash" else 0.7)
        block = {"type": "tool_result", "tool_use_id": name, "content": result}
        fields = {"toolUseResult": extra} if extra else {}
        self.line("user", message={"role": "user", "content": [block]}, **fields)
        self.sent.append((name, tokens(result) + 2))


def progress(thread: Thread, inner: dict[str, Any], call: str) -> None:
    """The main transcript repeats a subagent's lines for its display; they are not context."""
    kept = thread.parent
    data = {"type": "agent_progress", "agentId": inner["agentId"], "message": inner}
    thread.line("progress", data=data, parentToolUseID=call, toolUseID=f"agent_{inner['message'].get('id', 'prompt')}")
    thread.parent = kept


def run_subagent(main: Thread, call: tuple[str, str, str], prompt: str) -> Thread:
    """The subagent's own thread, started by a call of the main one."""
    agent = main.id()[:7]
    thread = Thread(main.random, SUB_MODEL, 11_460, main.clock, agent=f"a{agent}")
    thread.wait(1.0)
    thread.say(prompt)
    for step in SUBAGENT:
        for inner in thread.step(step):
            thread.answer(inner)
    for inner in thread.lines:
        if inner["type"] == "assistant":
            main.clock = datetime.fromisoformat(inner["timestamp"])
            progress(main, inner, call[0])
    main.clock = thread.clock
    return thread


def build() -> tuple[Thread, Thread]:
    """The whole session: main thread and subagent."""
    main = Thread(Random(SEED), MAIN_MODEL, PREFIX, START)
    main.sent.append(("", REMINDERS))
    child: Thread | None = None
    for step in STORY:
        if isinstance(step, Ask):
            main.clock += timedelta(seconds=step.pause)
            main.say(step.text)
            continue
        if step.cleared:
            main.clear(CLEARED)
        calls = main.step(step)
        for call in calls:
            extra = None
            if call[1] == "Task":
                prompt = next(args["prompt"] for tool, args, _ in step.calls if tool == "Task")
                child = run_subagent(main, call, prompt)
                call = (call[0], call[1], f"{call[2]}\n\nagentId: {child.agent}")
                extra = {"status": "completed", "agentId": child.agent, "totalToolUseCount": len(SUBAGENT)}
            main.answer(call, extra)
    assert child is not None
    return main, child


def write(folder: Path) -> None:
    """Write both files."""
    main, child = build()
    path = folder / f"{SESSION}.jsonl"
    for file, thread in ((path, main), (path.with_suffix("") / "subagents" / f"agent-{child.agent}.jsonl", child)):
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in thread.lines)
        file.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "data/sessions/sample")
