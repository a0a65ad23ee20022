"""The rungs as pure functions, with the article's faults beside them."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import article
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summary, clear, compact, errors_in, pair, stub, summary_block, summary_cut
from labkit.record.tokens import count
from labkit.record.trace import Block
from runs import quarter, runs


def text(number: int, role: str = "user") -> Block:
    return Block("text", role, f"message {number}", request=number + 1)  # type: ignore[arg-type]


def result(words: str, request: int = 2, args: str = "app.log", **more: object) -> Block:
    return Block("result", "tool", words, request=request, tool="read_file", args=args, **more)  # type: ignore[arg-type]


class Plain:
    """Names what it was given: enough to see who was summarized."""

    def summarize(self, blocks, notes):
        return Summary(f"{len(blocks)} messages")


# -- the article's faults, beside ours ----------------------------------------------------------------


def test_fewer_messages_than_keep_recent() -> None:
    eight = [text(i) for i in range(8)]
    theirs = article.compact(eight, 10, 0, lambda old: f"{len(old)} messages", count)
    assert article.cut(eight, 10) == -2
    assert [b.text for b in theirs] == ["6 messages", "message 6", "message 7"]
    ours = compact(eight, Policy(floor=0, keep_recent=10), Plain(), "", count)
    assert ours == eight
    assert summary_cut(eight, 8) == 0
    assert summary_cut(eight, 7) == 1


def test_keep_no_recent_message() -> None:
    eight = [text(i) for i in range(8)]
    with pytest.raises(IndexError):
        article.cut(eight, 0)
    assert summary_cut(eight, 0) == 8


def test_a_stub_larger_than_what_it_replaces() -> None:
    blocks = [result("ok"), result("new", 3)]
    theirs = article.clear(blocks, 1, -1_000, count)
    assert article.size(theirs[0], count) > article.size(blocks[0], count)
    assert clear(blocks, Policy(keep=1, floor=0), count) == blocks
    # The published run was made with the fault, so a policy can ask for it.
    larger = [*blocks, result("word " * 200, 4), result("newest", 5)]
    ours = clear(larger, Policy(keep=1, floor=0, stub_if_smaller=False), count)
    assert [b.edited for b in ours] == ["clear", "clear", "clear", None]


def test_a_stub_with_ten_thousand_tokens_of_arguments() -> None:
    args = "alpha beta " * 5_000
    assert count(args) >= 10_000
    block = result("TypeError: " + "x" * 5_000, args=args)
    assert count(article.stub_text(block, count)) > 10_000
    ours = stub(block, 5_000)
    assert count(ours.text) < 200
    assert "and 54,800 more characters" in ours.text
    assert "and 4,811 more characters" in ours.text
    assert ours.edited == "clear"
    # Without a limit both say the same.
    assert stub(block, article.size(block, count), None).text == article.stub_text(block, count)


# -- clear ---------------------------------------------------------------------------------------------


def test_clear_by_hand() -> None:
    """100 tokens each, stubs of 10: two stale results free 180."""
    sizes = {"a": 100, "b": 100, "c": 100}

    def of(words: str) -> int:
        return sizes.get(words, 10)

    blocks = [result("a"), result("b", 3), result("c", 4)]
    assert clear(blocks, Policy(keep=1, floor=181), of) == blocks
    cleared = clear(blocks, Policy(keep=1, floor=180), of)
    assert [b.edited for b in cleared] == ["clear", "clear", None]
    assert cleared[0].text == "[cleared: read_file(app.log) returned 104 tokens. Call it again if you need it.]"
    assert clear(cleared, Policy(keep=1, floor=0), of) == cleared


@given(runs(), st.integers(0, 4), st.integers(0, 60))
def test_clear_keeps_calls_and_the_newest_results(run: list[Block], keep: int, floor: int) -> None:
    policy = Policy(keep=keep, floor=floor)
    after = clear(run, policy, quarter)
    assert len(after) == len(run)
    for before, now in zip(run, after, strict=True):
        if before.kind != "result":
            assert now is before
        assert (now.tool, now.args, now.call_id, now.request) == (
            before.tool,
            before.args,
            before.call_id,
            before.request,
        )
    open_results = [i for i, b in enumerate(run) if b.kind == "result" and b.edited is None and b.tool != "notes_read"]
    assert all(after[i] is run[i] for i in open_results[len(open_results) - keep :])
    assert all(n is b for n, b in zip(after, run, strict=True) if b.tool == "notes_read")
    assert pair(after) == pair(run)


@given(runs(), st.integers(0, 3), st.booleans())
def test_a_gain_under_the_floor_changes_nothing(run: list[Block], keep: int, if_smaller: bool) -> None:
    of = quarter
    free = clear(run, Policy(keep=keep, floor=0, stub_if_smaller=if_smaller), of)
    freed = sum(of(b.text) - of(n.text) for b, n in zip(run, free, strict=True))
    assert freed >= 0 or not if_smaller  # without a floor a longer stub may stand in a short result's place
    if freed < 0:
        return
    assert clear(run, Policy(keep=keep, floor=freed + 1, stub_if_smaller=if_smaller), of) == run
    assert clear(run, Policy(keep=keep, floor=freed, stub_if_smaller=if_smaller), of) == free


# -- compact -------------------------------------------------------------------------------------------


def test_the_cut_spares_a_waiting_call_and_keeps_pairs() -> None:
    def call(i: str) -> Block:
        return Block("call", "assistant", i, call_id=i)

    def answer(i: str) -> Block:
        return Block("result", "tool", i, call_id=i)

    asked = [text(0), call("1"), call("2"), answer("2"), text(4, "assistant"), text(5, "assistant")]
    assert summary_cut(asked, 1) == 1, "call 1 still waits"
    assert summary_cut([*asked, answer("1")], 1) == 1, "its result is the newest message"
    assert summary_cut([*asked, answer("1"), text(7)], 1) == 7
    assert summary_cut([*asked, text(6), text(7)], 1) == 7, "the user spoke: nobody will answer call 1"


def test_ids_used_twice_pair_with_the_nearest_call() -> None:
    def call(i: str) -> Block:
        return Block("call", "assistant", "c", call_id=i)

    def answer(i: str) -> Block:
        return Block("result", "tool", "r", call_id=i)

    assert pair([call("x"), answer("x"), call("x"), answer("x")]) == {1: 0, 3: 2}
    assert pair([call("x"), answer("y"), answer("x")]) == {2: 0}


@given(runs(), st.integers(0, 6))
def test_compaction_never_orphans_a_result(run: list[Block], keep_recent: int) -> None:
    cut = summary_cut(run, keep_recent)
    assert all((call < cut) == (answer < cut) for answer, call in pair(run).items())
    assert cut == len(run) or cut == 0 or run[cut].message is None or run[cut].message != run[cut - 1].message
    after = compact(run, Policy(floor=0, keep_recent=keep_recent), Plain(), "", quarter)
    # Every call and every result that is left has the partner it had.
    answered = {id(run[r]): id(run[c]) for r, c in pair(run).items()}
    assert {id(after[r]): id(after[c]) for r, c in pair(after).items()} == {
        r: c for r, c in answered.items() if r in {id(b) for b in after}
    }
    kept = 0 if after == run else len(run) - cut
    assert after == run or [*after[1:]] == run[len(run) - kept :]


@given(runs(), st.integers(0, 4))
def test_compaction_under_the_floor_changes_nothing(run: list[Block], keep_recent: int) -> None:
    of = quarter
    cut = summary_cut(run, keep_recent)
    total = sum(of(b.text) for b in run[:cut]) + 4 * len(run)  # no less than the replaced part
    assert compact(run, Policy(floor=total + 1, keep_recent=keep_recent), Plain(), "", of) == run


def test_a_summary_that_is_not_smaller_is_not_used() -> None:
    class Wordy:
        def summarize(self, blocks, notes):
            return Summary("word " * 500)

    blocks = [text(i) for i in range(6)]
    assert compact(blocks, Policy(floor=0, keep_recent=1), Wordy(), "", count) == blocks


def test_a_summary_stands_at_the_last_turn_it_covers() -> None:
    old = [Block("text", "user", "a", request=3), Block("result", "tool", "r", request=5)]
    assert summary_block(Summary("s"), old) == Block("summary", "user", "s", request=4, edited="summary")


# -- errors --------------------------------------------------------------------------------------------

PLAIN = re.compile(r"\b[A-Z]\w*(?:Error|Exception): [^\n\]]+")


@given(
    st.lists(
        st.sampled_from(["Error: ", "Exception: ", "A", "x", "é", "_", "]", "\n", " ", "TypeError: ", ":", "9"])
    ).map("".join)
)
@example("fooTypeError: x AError: \nBError: y]CException: z")
@example("AError: BError: c")
def test_errors_are_those_of_the_plain_expression(words: str) -> None:
    assert list(errors_in(words)) == [m.group(0) for m in PLAIN.finditer(words)]
