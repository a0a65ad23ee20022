"""The same tokens and dollars as tokenbill: its recorded answers on made-up sessions, and tokenbill itself.

tokenbill is installed only by ``make conformance``; a plain run compares with what it answered when
``python tests/test_tokenbill.py`` last asked it. Three things differ, by name:

- The call that wrote a summary: where a session does not record it, tokenbill estimates one from the size before
  the compaction, and does so where its file is there as well. labkit counts what is recorded and says what is not.
  (https://platform.claude.com/docs/en/build-with-claude/compaction: its usage is an iteration of its own.)
- Subagents whose responses stand only in the parent's progress lines: tokenbill leaves them out, labkit counts them
  once as children. (https://code.claude.com/docs/en/prompt-caching: a subagent makes its own requests, with a cache
  of its own.)
- A model before the day from which tokenbill knows its price has none there; labkit takes its first price.
  (https://platform.claude.com/docs/en/about-claude/pricing gives no price of an earlier day.)
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import pytest

from labkit.record.load import load
from labkit.record.trace import Request, Trace
from labkit.replay.audit_cost import price_on
from session_lines import assistant, boundary, call, line, result, text, usage, user, write

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "data" / "conformance" / "tokenbill.json"
INPUT = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h")

live = pytest.mark.skipif(not os.environ.get("LABKIT_CONFORMANCE"), reason="tokenbill is installed by make conformance")


# -- made-up sessions --------------------------------------------------------------------------------


def answer(*given: Any, **more: Any) -> dict[str, Any]:
    return assistant(*given, **{"model": "claude-sonnet-4-5-20250929", **more})


def many_lines(folder: Path) -> Path:
    rows = [user("go")]
    for i, out in enumerate((2, 2, 90)):
        rows.append(answer("msg_1", call(f"t{i}"), usage(4, 5_000, 800, out), 1, stop="tool_use" if out > 2 else None))
    rows += [result(f"t{i}", "r", 2) for i in range(3)]
    return write(folder / "s.jsonl", *rows, answer("msg_2", text("ok"), usage(6, 5_800, 90, 12), 3, stop="end_turn"))


def both_lifetimes(folder: Path) -> Path:
    first = answer("msg_1", text("a"), usage(3, 0, 9_000, 20, hour=7_000), 1, stop="end_turn", model="claude-opus-4-5")
    second = answer("msg_2", text("b"), usage(3, 9_000, 700, 30), 9, stop="end_turn", model="claude-haiku-4-5")
    return write(folder / "s.jsonl", user("go"), first, user("on", 8), second)


def a_placeholder(folder: Path) -> Path:
    rows = [user("go"), answer("msg_1", call("t1"), usage(3, 100, 50, 1), 1), result("t1", "r", 2)]
    return write(folder / "s.jsonl", *rows, answer("msg_2", text("b"), usage(3, 150, 9, 40), 3, stop="end_turn"))


def a_subagent(folder: Path) -> Path:
    main = [user("go"), answer("msg_1", text("yes"), usage(10, 0, 600, 5), 2, stop="end_turn")]
    side = [
        line("user", 5, isSidechain=True, agentId="a1", message={"role": "user", "content": "look"}),
        answer("msg_9", text("x"), usage(50, 700, 0, 9), 6, isSidechain=True, agentId="a1", stop="end_turn"),
    ]
    write(folder / "s" / "subagents" / "agent-a1.jsonl", *side)
    return write(folder / "s.jsonl", *main)


def a_compaction(folder: Path) -> Path:
    rows = [user("go"), answer("msg_1", text("a"), usage(9, 0, 90_000, 50), 1, stop="end_turn")]
    rows += [boundary("compact_boundary", 2, preTokens=90_100), user("Summary.", 3, isCompactSummary=True)]
    return write(folder / "s.jsonl", *rows, answer("msg_2", text("b"), usage(9, 0, 20_000, 5), 4, stop="end_turn"))


def only_progress(folder: Path) -> Path:
    inner = answer("msg_8", text("x"), usage(50, 700, 0, 9), 6, stop="end_turn")
    inner["message"] = {**inner["message"]}
    relayed = line("progress", 6, data={"type": "agent_progress", "agentId": "a1", "message": inner})
    rows = [user("go"), answer("msg_1", call("t1", "Task"), usage(10, 0, 600, 5), 2, stop="tool_use"), relayed]
    return write(folder / "s.jsonl", *rows, result("t1", "found", 7))


def the_sample(_: Path) -> Path:
    return next((ROOT / "data" / "sessions" / "sample").glob("*.jsonl"))


CASES: dict[str, Callable[[Path], Path]] = {
    f.__name__: f
    for f in (many_lines, both_lifetimes, a_placeholder, a_subagent, a_compaction, only_progress, the_sample)
}


# -- the comparison ----------------------------------------------------------------------------------


def calls(trace: Trace) -> Iterator[Request]:
    yield from (r for r in trace.requests if r.usage is not None)
    for child in trace.children:
        yield from calls(child)


def dollars(request: Request) -> float:
    assert request.usage is not None
    return price_on(request).request_cost(replace(request.usage, output=0))


def agree(trace: Trace, rows: list[dict[str, Any]], *, without: set[str | None] = frozenset()) -> int:  # type: ignore[assignment]
    """Hold every number of tokenbill's recorded calls against ours; returns how many calls there were."""
    theirs = [row for row in rows if not row["estimated"]]
    ours = [r for r in calls(trace) if r.id not in without]
    for name in INPUT:
        assert sum(row[name] for row in theirs) == sum(getattr(r.usage, name) for r in ours), name
    priced = {row["id"]: row["nano"] for row in theirs if row["nano"] is not None}
    known = [r for r in ours if r.id in priced]
    assert sum(map(dollars, known)) == pytest.approx(sum(priced.values()) / 1e9, abs=1e-6)
    final = {row["id"]: row["output"] for row in theirs if row["final"]}
    for request in ours:
        if request.usage and request.usage.output_quality == "exact" and request.id in final:
            assert request.usage.output == final[request.id], request.id
    return len(known)


@pytest.mark.parametrize("case", CASES)
def test_as_tokenbill_answered(case: str, tmp_path: Path) -> None:
    rows = json.loads(KEPT.read_text(encoding="utf-8"))["answers"][case]
    trace = load(CASES[case](tmp_path))
    without: set[str | None] = {"msg_8"} if case == "only_progress" else set()
    assert agree(trace, rows, without=without) == len({row["id"] for row in rows if not row["estimated"]})
    # The named differences are there, and only there.
    assert any(row["estimated"] for row in rows) == (case in ("a_compaction",)), "an estimated summary call"
    if case == "only_progress":
        assert [c.requests[0].id for c in trace.children] == ["msg_8"]
    if case == "a_compaction":
        assert any("summaries are not recorded" in w for w in trace.warnings)


@live
@pytest.mark.parametrize("case", CASES)
def test_as_tokenbill_answers(case: str, tmp_path: Path) -> None:
    from conformance.tokenbill_peer import bill

    assert bill(CASES[case](tmp_path)) == json.loads(KEPT.read_text(encoding="utf-8"))["answers"][case]


@live
def test_real_sessions_as_tokenbill_bills_them(corpus: Path) -> None:
    from conformance.tokenbill_peer import bill

    folder, compared = corpus / "claude-code", 0
    for path in [*sorted(folder.glob("*.jsonl")), *sorted((folder / "spotter-projects").glob("*.jsonl"))]:
        trace, rows = load(path), bill(path)
        here = {row["id"] for row in rows}
        relayed = {r.id for child in trace.children for r in child.requests} - here
        compared += agree(trace, rows, without=relayed)
    assert compared > 1_000


if __name__ == "__main__":
    import tempfile
    from importlib.metadata import version

    from conformance.tokenbill_peer import bill

    with tempfile.TemporaryDirectory() as place:
        said = {name: bill(make(Path(place) / name)) for name, make in CASES.items()}
    kept = {"version": version("tokenbill"), "answers": said}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
