"""The context of each request as it was sent, and the record without edits."""

from __future__ import annotations

from functools import cache

from labkit.record.edits import as_sent, unedited
from labkit.record.load import load
from labkit.record.trace import Block, Edit, Request, Trace
from labkit.replay.audit import audit


def text(words: str, request: int, **more) -> Block:
    return Block("text", "user", words, request=request, **more)


def result(words: str, request: int) -> Block:
    return Block("result", "tool", words, request=request, tool="read")


def test_a_clear_leaves_the_stub_from_its_request_on():
    blocks = (text("go", 1), result("long", 2), result("short", 3))
    trace = Trace("t", blocks, tuple(map(Request, (1, 2, 3, 4))), edits=(Edit("clear", 3, (1,), stub="gone"),))
    sent = [[b.text for b in blocks] for _, blocks in as_sent(trace)]
    assert sent == [["go"], ["go", "long"], ["go", "gone", "short"], ["go", "gone", "short"]]
    assert [b.text for b in unedited(trace).blocks] == ["go", "long", "short"]
    assert unedited(trace).edits == ()


def test_a_summary_stands_before_what_was_kept():
    summary = Block("summary", "user", "S", request=2, edited="summary")
    blocks = (text("a", 1), text("b", 1), text("kept", 1), summary, text("new", 2))
    trace = Trace("t", blocks, (Request(1), Request(2)), edits=(Edit("summary", 2, (0, 1), summary=3),))
    assert [[b.text for b in blocks] for _, blocks in as_sent(trace)] == [["a", "b", "kept"], ["S", "kept", "new"]]
    assert [b.text for b in unedited(trace).blocks] == ["a", "b", "kept", "new"]


def test_what_was_attached_again_after_a_summary_is_not_there_twice():
    summary = Block("summary", "user", "S", request=2, edited="summary")
    again = Block("text", "user", "the file again", request=2, edited="summary")
    blocks = (text("a", 1), text("the file", 1), summary, again, text("new", 2))
    trace = Trace("t", blocks, (Request(1), Request(2)), edits=(Edit("summary", 2, (0, 1), summary=2),))
    assert [b.text for b in unedited(trace).blocks] == ["a", "the file", "new"]


def test_a_summary_of_what_is_not_recorded_stays_and_is_said():
    blocks = (Block("summary", "user", "S", request=1, edited="summary"), text("new", 1))
    whole = unedited(Trace("t", blocks, (Request(1),)))
    assert [b.text for b in whole.blocks] == ["S", "new"]
    assert "not in the record" in whole.warnings[0]


def test_real_sessions_are_rebuilt_within_what_the_log_holds(corpus):
    """As sent, the counted context follows the recorded one through two clears and a compaction."""
    trace = load(corpus / "claude-code" / "entire-microcompact2-compact1.jsonl")
    count = cache(audit(trace).sizes.count)
    counted = {r.index: sum(count(b.text) for b in blocks) for r, blocks in as_sent(trace)}
    recorded = {r.index: r.usage.total_input for r in trace.requests if r.usage}
    for edit in trace.edits:
        fell = recorded[edit.request - 1] - recorded[edit.request]
        assert counted[edit.request] < counted[edit.request - 1]
        if edit.kind == "clear":
            assert abs((counted[edit.request - 1] - counted[edit.request]) - fell) < 0.25 * fell
    whole = unedited(trace)
    assert sum(len(b.text) for b in whole.blocks) > sum(len(b.text) for b in list(as_sent(trace))[-1][1])
    assert not any(b.kind == "summary" for b in whole.blocks)
