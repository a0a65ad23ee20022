"""What becomes of each fact, request by request."""

from __future__ import annotations

import pytest

from labkit.errors import InputError
from labkit.files import data_path
from labkit.ladder.summaries import ExtractiveSummarizer, SizedSummarizer
from labkit.record.load import load
from labkit.record.trace import Block, Fact, Request, Trace
from labkit.replay.memory import remember

LINES = ExtractiveSummarizer(reads_back="lines")


def run() -> Trace:
    """Six requests; the task has two lines, the second of which is a fact; the notes repeat another."""
    blocks = [Block("text", "user", "Fix it.\nBefore 18:00.", 1)]
    for n in range(2, 7):
        tool, args = ("notes_write", "Findings | key 77") if n == 3 else ("look", f"{n}")
        more = {"tool": tool, "args": args, "call_id": str(n)}
        text = {2: "key 77 is the one ", 3: "ok "}.get(n, "") + "nothing new " * 60
        blocks += [Block("call", "assistant", f"{tool}()", n, **more), Block("result", "tool", text, n, **more)]
    facts = (Fact("limit", "Before 18:00"), Fact("key", "key 77"), Fact("never said", "key 99"))
    return Trace("six", tuple(blocks), tuple(Request(n) for n in range(1, 7)), facts=facts)


def test_by_hand() -> None:
    """Compactions before requests 2 and 4 (6 x 1/3 and 6 x 2/3), nothing kept word for word."""
    made = remember(run(), 2, LINES, keep_recent=0)
    assert made.compactions == (2, 4)
    limit, key, never = made.states
    assert limit == ("visible", "visible", "visible", "lost", "lost", "lost")
    assert made.lost_at(0) == 4
    # The result of request 2 is summarized at once; from request 3 on the notes hold the key.
    assert key[0] == "unsaid"
    assert key[3:] == ("notes", "notes", "notes")
    assert never == ("unsaid",) * 6
    assert made.left == (0, 1, 1)
    assert remember(run(), 2, keep_recent=0).states[0] == ("visible",) * 6
    assert remember(run(), 2, LINES, keep_recent=0, notes=False).states[1] == ("unsaid",) * 6


def test_the_support_run() -> None:
    trace = load(data_path("traces", "support-40.jsonl"))
    assert [remember(trace, n, LINES).left[0] for n in (0, 1, 2, 5)] == [10, 10, 9, 8]
    assert [remember(trace, n).left[0] for n in (0, 1, 2, 5)] == [10, 10, 10, 10]
    lost = remember(trace, 2, LINES)
    assert [trace.facts[k].label for k in range(10) if lost.lost_at(k)] == ["task, second line: close before 18:00"]
    assert remember(trace, 2, SizedSummarizer(200)).left[2] == 6


def test_what_cannot_be_followed() -> None:
    with pytest.raises(InputError, match="lists no facts"):
        remember(Trace("none", (), (Request(1),)), 1)
    with pytest.raises(InputError, match="compactions is 6: the run has 6 requests, so give 0 to 5"):
        remember(run(), 6)
