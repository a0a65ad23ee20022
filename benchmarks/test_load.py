"""Reading and counting a session, against orjson and tiktoken on the same file: what no reader can do without."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from labkit.record.load import load
from labkit.record.sizes import measure
from labkit.record.tokens import get_counter
from labkit.record.trace import Trace

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("LABKIT_CORPUS") or ROOT.parent / "shared" / "traces")

# Every recorded session of a megabyte or more, with the characters of all blocks and prefixes that the model read.
LARGE = {
    "claude-code/entire-image.jsonl": 296_216,
    "claude-code/entire-longest-303-calls.jsonl": 535_594,
    "claude-code/entire-microcompact2-compact1.jsonl": 748_515,
    "claude-code/entire-tasks-progress.jsonl": 653_638,
    "claude-code/entire-three-compactions.jsonl": 962_079,
    "claude-code/spotter-projects/4d5611e5-241a-462a-8d15-5122611a9569.jsonl": 783_688,
    "codex/localpush-rollout-2026-02-23T12-54-34-019c8a59-e9dd-71f0-9ae3-4079fe9726a9.jsonl": 55_660,
    "mini-swe-agent/astroid-1333.traj.json": 331_834,
    "other/pi-before-compaction.jsonl": 1_508_702,
    "tau-bench/gpt-4o-airline.json": 2_691_762,
}


def whole(trace: Trace) -> list[Trace]:
    return [trace, *(t for child in trace.children for t in whole(child))]


def texts(trace: Trace) -> list[str]:
    """Everything the model read: the blocks, and the system prompts and tools where they are recorded."""
    found = [b.text for t in whole(trace) for b in t.blocks]
    return found + [text for t in whole(trace) for p in t.prefixes for text in (p.system, p.tools) if text]


def parsed(files: list[Path]) -> int:
    """Parse the files and do nothing with them."""
    values = 0
    for file in files:
        data = file.read_bytes()
        for piece in data.split(b"\n") if file.suffix == ".jsonl" else [data]:
            if piece:
                orjson.loads(piece)
                values += 1
    return values


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.parametrize("name", LARGE)
def test_reading(name, capsys):
    path = CORPUS / name
    if not path.is_file():
        pytest.skip("no corpus: set LABKIT_CORPUS to a folder of recorded sessions")
    counter = get_counter("o200k_base")
    said = texts(load(path))
    assert sum(map(len, said)) == LARGE[name]
    files = [path, *sorted(path.with_suffix("").glob("subagents/**/*.jsonl"))]

    def read() -> None:
        for trace in whole(load(path)):
            measure(trace, counter)

    def reference() -> None:
        parsed(files)
        for text in said:
            counter.encode_length(text)

    times = [(seconds(read), seconds(reference)) for _ in range(15)]
    own, fixed = (statistics.median(t[i] for t in times) for i in (0, 1))
    with capsys.disabled():
        print(
            f"\n{path.name[:40]}: {own * 1e3:.1f} ms, orjson and tiktoken {fixed * 1e3:.1f} ms, ratio {own / fixed:.2f}"
        )
    assert own / fixed <= (3 if name.startswith("codex/") else 2)


BIG = 200_000_000

MEASURE_MEMORY = """
import resource, sys
from labkit.record.load import load
said = []
trace = load(sys.argv[1], progress=lambda done, size: said.append(done))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(trace.requests), peak * (1 if sys.platform == "darwin" else 1024), len(said))
"""


def write_big(path: Path) -> int:
    """A made-up Claude Code session: each result stands twice on its line, as there, and holds some Chinese."""
    words = ["alpha", "beta", "config", "return", "value", "测试", "import"]
    text = " ".join(words[(i * i) % 7] for i in range(5_000))
    turns = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < BIG:
            turns += 1
            time = f"2026-01-{1 + turns // 1_440:02}T{turns // 60 % 24:02}:{turns % 60:02}:00Z"
            shared = {"sessionId": "s", "timestamp": time}
            use = {"type": "tool_use", "id": f"t{turns}", "name": "Read", "input": {"file_path": f"/a/{turns}.py"}}
            said = {"id": f"m{turns}", "role": "assistant", "content": [use], "usage": {"input_tokens": 3}}
            result = {"type": "tool_result", "tool_use_id": f"t{turns}", "content": f"{turns} {text}"}
            for line in (
                {**shared, "type": "assistant", "uuid": f"a{turns}", "message": said},
                {
                    **shared,
                    "type": "user",
                    "uuid": f"u{turns}",
                    "message": {"role": "user", "content": [result]},
                    "toolUseResult": {"file": {"content": text}},
                },
            ):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return turns


def write_big_document(path: Path) -> int:
    """A made-up trajectory of mini-swe-agent: one JSON value."""
    words = ["alpha", "beta", "config", "return", "value", "测试", "import"]
    text = " ".join(words[(i * i) % 7] for i in range(5_000))
    turns = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(
            '{"trajectory_format": "mini-swe-agent-1", "info": {}, "messages": [{"role": "system", "content": "s"}'
        )
        while file.tell() < BIG:
            turns += 1
            usage = {"prompt_tokens": turns, "completion_tokens": 9}
            asked = {"role": "user", "content": f"{turns} {text}"}
            said = {"role": "assistant", "content": "```bash\nls\n```", "extra": {"response": {"usage": usage}}}
            file.write("".join(f", {json.dumps(message, ensure_ascii=False)}" for message in (asked, said)))
        file.write("]}")
    return turns


@pytest.mark.skipif(sys.platform == "win32", reason="the peak of memory is asked of the resource module")
@pytest.mark.parametrize("write", [write_big, write_big_document])
def test_memory(write, tmp_path, capsys):
    path = tmp_path / "big.jsonl"
    turns = write(path)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE_MEMORY, str(path)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    requests, peak, said = map(int, done.stdout.split())
    assert requests == turns
    assert said >= 40  # told every 4 MB
    with capsys.disabled():
        print(f"\n{path.stat().st_size / 1e6:.0f} MB: peak {peak / 1e6:.0f} MB, {peak / path.stat().st_size:.2f} times")
    assert peak < 6 * path.stat().st_size + 150_000_000
