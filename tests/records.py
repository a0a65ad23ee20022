"""What the tests of the readers share: records written as JSON lines, and a trace in short."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from labkit.record.trace import Trace


def write(path: Path, *records: Any) -> Path:
    """Write records as JSON lines."""
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def flat(trace: Trace) -> list[tuple[str, int, str]]:
    """Kind, request and text of each block."""
    return [(b.kind, b.request, b.text) for b in trace.blocks]


def total(trace: Trace) -> int:
    """Recorded tokens, in and out."""
    return 0 if trace.usage is None else trace.usage.total_input + trace.usage.output
