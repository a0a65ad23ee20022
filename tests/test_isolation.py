"""Folding a stretch into a child and back: nothing lost, nothing twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.sizes import measure
from labkit.record.trace import Block, Edit, Need, Prefix, Request, Trace, Usage
from labkit.replay.isolation import Isolation, fold, refolded, unfold
from labkit.replay.isolation_cost import enough
from runs import runs


def said(request: int, n: int, text: str = "") -> list[Block]:
    """A call and its result, with words of their own."""
    more = {"tool": "look", "args": f"file {n}", "call_id": f"c{n}"}
    return [
        Block("call", "assistant", f"look file {n}", request, **more),
        Block("result", "tool", text or f"seen {n}", request, **more),
    ]


def trace(**more: object) -> Trace:
    """Seven requests: the user's, three looks, the user again, two looks."""
    blocks = [Block("text", "user", "Find it.", 1)]
    for n in (2, 3, 4):
        blocks += said(n, n)
    blocks += [Block("text", "user", "Go on.", 5), *said(6, 6), *said(7, 7)]
    requests = tuple(Request(n, start=10.0 * n, usage=Usage(uncached=n)) for n in range(1, 8))
    return Trace("seven", tuple(blocks), requests, (Prefix("Be brief."),), **more)  # type: ignore[arg-type]


def told(side: Trace) -> list[tuple[int, str]]:
    return [(b.request, b.text) for b in side.blocks]


def test_fold_by_hand() -> None:
    """What requests 2 and 3 answered: the looks that requests 3 and 4 carry."""
    made = fold(trace(), 2, 3, brief="look at 3 and 4", returned="both seen", prefix=Prefix("A child."))
    assert made.child is not None
    assert told(made.parent.trace) == [
        (1, "Find it."),
        (2, "look file 2"),
        (2, "seen 2"),
        (3, "agent look at 3 and 4"),
        (3, "both seen"),
        (4, "Go on."),
        (5, "look file 6"),
        (5, "seen 6"),
        (6, "look file 7"),
        (6, "seen 7"),
    ]
    assert told(made.child.trace) == [
        (1, "look at 3 and 4"),
        (2, "look file 3"),
        (2, "seen 3"),
        (3, "look file 4"),
        (3, "seen 4"),
        (4, "both seen"),
    ]
    # The parent waits from request 2 to what was request 4; the child sends at 20, 30 and 40.
    assert [r.start for r in made.parent.trace.requests] == [10, 20, 40, 50, 60, 70]
    assert [r.start for r in made.child.trace.requests] == [20, 30, 40]
    assert [r.index for r in made.parent.trace.requests] == [1, 2, 3, 4, 5, 6]
    assert made.left == 4
    assert all(r.usage is None for side in (made.inline, made.parent, made.child) for r in side.trace.requests)
    counted = measure(Trace("x", (), (), (Prefix("A child."),)))
    assert made.child.sizes.prefix(0) == counted.prefix(0) > 0
    assert made.parent.trace.children == (made.child.trace,)


def test_sizes_that_are_given() -> None:
    made = fold(trace(), 2, 3, brief=70, returned=30, prefix=5_000)
    assert made.child is not None
    own = measure(trace()).blocks
    assert made.parent.sizes.blocks == (*own[:3], 70, 30, *own[7:])
    assert made.child.sizes.blocks == (70, *own[3:7], 30)
    assert made.child.sizes.prefix(0) == 5_000


def test_a_fork_begins_with_the_parent() -> None:
    made = fold(trace(), 2, 3, how="fork", brief="go", returned="both seen")
    assert made.child is not None
    assert told(made.child.trace) == [
        (1, "Find it."),
        (2, "look file 2"),
        (2, "seen 2"),
        (3, "go"),
        (4, "look file 3"),
        (4, "seen 3"),
        (5, "look file 4"),
        (5, "seen 4"),
        (6, "both seen"),
    ]
    assert made.child.trace.prefixes == trace().prefixes
    # The fork's last request is at 40 and kept the entry alive: the parent waited 0 seconds, not 20.
    assert [r.start for r in made.parent.trace.requests] == [10, 20, 20, 30, 40, 50]


def test_a_script_is_a_line_a_call() -> None:
    made = fold(trace(), 2, 3, how="script")
    assert made.child is None
    assert told(made.parent.trace)[3:5] == [
        (3, "run_script look(file 3)\nlook(file 4)"),
        (3, "seen 4"),
    ]
    assert made.parent.sizes.blocks[4] == measure(trace()).blocks[6]
    # Sent at 20, and back as soon after it as request 4 came after request 3.
    assert [r.start for r in made.parent.trace.requests] == [10, 20, 30, 40, 50, 60]


def test_what_cannot_be_folded() -> None:
    with pytest.raises(InputError, match="the trace has requests 1 to 7"):
        fold(trace(), 3, 8)
    with pytest.raises(InputError, match="the user spoke before request 5, which a child would not hear: end at 3"):
        fold(trace(), 2, 5)
    with pytest.raises(InputError, match="made no call"):
        fold(trace(), 4, 4)
    with pytest.raises(InputError, match="how is 'spoon'"):
        fold(trace(), 2, 3, how="spoon")  # type: ignore[arg-type]
    for name in ("brief", "returned", "prefix"):
        with pytest.raises(InputError, match=f"{name} is -1"):
            fold(trace(), 2, 3, **{name: -1})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="fold the trace again"):
        refolded(fold(trace(), 2, 3, how="script"), "fork")


def test_what_cannot_be_unfolded() -> None:
    parent = trace()
    silent = Trace("agent-x", (Block("text", "user", "hm", 1), Block("text", "assistant", "ok", 2)), (Request(1),))
    with pytest.raises(InputError, match="made no call"):
        unfold(parent, silent)
    busy = Trace("agent-x", (Block("text", "user", "hm", 1), *said(2, 9)), (Request(1),))
    with pytest.raises(InputError, match="no call of seven started agent-x"):
        unfold(parent, busy)
    with pytest.raises(InputError, match="was edited"):
        unfold(parent, replace(busy, edits=(Edit("clear", 1, (0,)),)))
    late = replace(parent, blocks=(*parent.blocks[:2], replace(parent.blocks[2], request=3), *parent.blocks[3:]))
    with pytest.raises(InputError, match="in the background"):
        unfold(late, replace(busy, blocks=(Block("text", "user", "file 2", 1), *said(2, 9))))


def test_unfold_finds_the_call_by_the_agent_that_its_result_names() -> None:
    """Two calls told the same; only the second's result names the child."""
    asks = [Block("call", "assistant", 'Task {"prompt":"dig\\nhere"}', 2, tool="Task", call_id=c) for c in "ab"]
    back = [
        Block("result", "tool", f"done\nagentId: {n}", 2, tool="Task", call_id=c)
        for c, n in zip("ab", (11, 22), strict=True)
    ]
    parent = Trace("p", (Block("text", "user", "hi", 1), *asks, *back), (Request(1), Request(2)))
    child = Trace("agent-22", (Block("text", "user", "dig\nhere", 1), *said(2, 9)), (Request(1),))
    made = unfold(parent, child)
    assert [b.text for b in made.inline.trace.blocks] == [
        "hi",
        asks[0].text,
        "look file 9",
        "seen 9",
        back[0].text,
    ]
    assert made.parent.trace.blocks == parent.blocks


def test_children_without_a_recorded_brief_are_found_by_their_order() -> None:
    """As many calls of a tool for agents as children, and what each was told stands nowhere: in order."""
    asks = [Block("call", "assistant", f"invoke_agent {n}", n, tool="invoke_agent") for n in (2, 3)]
    kin = tuple(Trace(f"agent-{n}", tuple(said(2, n)), (Request(1), Request(2)), kind="subagent") for n in (8, 9))
    requests = tuple(Request(n) for n in (1, 2, 3))
    parent = Trace("p", (Block("text", "user", "hi", 1), *asks), requests, children=kin)
    for at, child in enumerate(kin):
        made = unfold(parent, child)
        assert made.errand.call == asks[at]
        assert made.child is not None and made.child.trace.blocks == child.blocks
        assert made.parent.trace.blocks == parent.blocks
    for other in (
        replace(parent, children=kin[:1]),
        replace(parent, blocks=tuple(replace(b, tool="look") if b.kind == "call" else b for b in parent.blocks)),
        replace(parent, children=(replace(kin[0], blocks=(Block("text", "user", "dig", 1), *kin[0].blocks)), kin[1])),
    ):
        with pytest.raises(InputError, match="no call of p started agent-8"):
            unfold(other, kin[0])


def test_a_child_whose_return_was_never_recorded() -> None:
    """The parent's record ends with the call: no result, no request left."""
    ask = Block("call", "assistant", "Task dig", 2, tool="Task", call_id="a")
    parent = Trace("p", (Block("text", "user", "hi", 1), ask), (Request(1),))
    child = Trace(
        "agent-1",
        (Block("text", "user", "dig", 1), *said(2, 8), *said(3, 9)),
        (Request(1), Request(2)),
        kind="subagent",
    )
    made = unfold(parent, child)
    assert made.left == 0
    assert [r.index for r in made.inline.trace.requests] == [1, 2]
    assert told(made.inline.trace)[1:] == [(2, "look file 8"), (2, "seen 8"), (3, "look file 9"), (3, "seen 9")]
    assert made.parent.trace.blocks == parent.blocks
    assert made.child is not None and made.child.trace.blocks == child.blocks


def test_edits_and_needs_go_along() -> None:
    """A clear of results 3 and 6 (positions 4 and 9), a summary at 8 (block 7) of positions 0 to 6."""
    edits = (Edit("clear", 6, (4, 9)), Edit("summary", 5, tuple(range(7)), summary=7))
    needs = (Need(2, 3, "seen 2"), Need(4, 3, "seen 3"), Need(4, 6, "seen 3"), Need(9, 6, "seen 6"))
    made = fold(trace(edits=edits, needs=needs), 2, 3, brief="go", returned="seen 3")
    # In the parent the call stands at 3, its return at 4, and everything behind moves by -2.
    assert made.parent.trace.edits == (
        Edit("clear", 5, (4, 7)),
        Edit("summary", 4, (0, 1, 2, 3, 4), summary=5),
    )
    assert made.parent.trace.needs == (Need(7, 5, "seen 6"),)
    assert made.child is not None
    again = unfold(made.parent.trace, made.child.trace)
    # All results of the stretch count as cleared where the parent's return was.
    assert again.inline.trace.edits == (Edit("clear", 6, (4, 6, 9)), Edit("summary", 5, tuple(range(7)), summary=7))
    assert again.parent.trace.edits == made.parent.trace.edits
    found = enough(made)
    assert [n.excerpt for n in found.needed] == ["seen 3"] and found.missing == ()
    assert [n.excerpt for n in found.asked] == ["seen 2"] and found.untold == found.asked
    assert [n.excerpt for n in found.within] == ["seen 3"]


def test_enough_charges_what_is_missing_once() -> None:
    needs = (Need(4, 6, "seen 3"), Need(4, 7, "seen 3"), Need(6, 7, "seen 4"))
    run = trace(needs=needs)
    found = enough(fold(run, 2, 3, brief=0, returned="nothing"))
    own = measure(run)
    assert found.needed == found.missing == needs
    assert found.reread_tokens == sum(own.blocks[3:7])
    # Called again at request 6 and at request 7, of the parent's 5 and 6: the prompts without the stretch.
    made = fold(run, 2, 3, brief=0, returned="nothing")
    prompt = own.prefix(0) + sum(own.blocks[i] for i in (0, 1, 2, 7, 8, 9)) + made.parent.sizes.blocks[4]
    assert found.reread_prompts == prompt + (prompt + own.blocks[10] + own.blocks[11])
    # A fork has seen what stood before, so it misses nothing of it.
    before = (Need(2, 3, "seen 2"),)
    assert enough(fold(trace(needs=before), 2, 3, how="fork", brief=0)).untold == ()
    assert enough(fold(trace(needs=before), 2, 3, brief=0)).untold == before
    assert enough(fold(trace(needs=before), 2, 3, brief=50)).untold == ()


def test_what_the_parent_sees_again_in_time_is_not_missing() -> None:
    """Result 7 shows "seen 3" again, at request 7: too late for a use at request 6, in time for one at 7."""
    run = trace(needs=(Need(4, 6, "seen 3"), Need(4, 7, "seen 3")))
    blocks = (*run.blocks[:-1], replace(run.blocks[-1], text="seen 3 and 7"))
    found = enough(fold(replace(run, blocks=blocks), 2, 3, brief=0, returned="nothing"))
    assert [n.request for n in found.needed] == [6, 7]
    assert [n.request for n in found.missing] == [6]


def test_a_fork_has_seen_the_newest_result_too() -> None:
    run = trace(needs=(Need(4, 3, "seen 3"),))
    assert [n.excerpt for n in enough(fold(run, 3, 3, brief=0)).untold] == ["seen 3"]
    forked = enough(fold(run, 3, 3, how="fork", brief=0))
    assert len(forked.asked) == 1 and forked.untold == ()


def signature(side: Trace) -> list[tuple[object, ...]]:
    """Blocks without the numbers of messages, which only have to be equal where they were."""
    starts = [i == 0 or b.message is None or b.message != side.blocks[i - 1].message for i, b in enumerate(side.blocks)]
    return [(replace(b, message=None), new) for b, new in zip(side.blocks, starts, strict=True)]


@given(runs(), st.data())
def test_unfold_undoes_fold(blocks: list[Block], data: st.DataObject) -> None:
    last = max(b.request for b in blocks)
    run = Trace("random", tuple(blocks), tuple(Request(n) for n in range(1, last + 1)))
    first = data.draw(st.integers(1, last))
    end = data.draw(st.integers(first, last))
    assume(any(b.kind == "call" and b.request == end + 1 for b in blocks))
    try:
        made = fold(run, first, end, brief="a brief like no other", returned="a return")
    except InputError:
        assume(False)
    assert made.child is not None
    again = unfold(made.parent.trace, made.child.trace, parent_sizes=made.parent.sizes, child_sizes=made.child.sizes)
    assert again.stretch == made.stretch
    assert again.inline.sizes.blocks == made.inline.sizes.blocks
    assert [replace(b, message=None) for b in again.inline.trace.blocks] == [replace(b, message=None) for b in blocks]
    assert same(again, made)


def same(a: Isolation, b: Isolation) -> bool:
    """Parent and child to the token, the block and the request."""
    assert a.child is not None and b.child is not None
    return all(
        signature(x.trace) == signature(y.trace)
        and x.sizes.blocks == y.sizes.blocks
        and x.trace.requests == y.trace.requests
        and (x.sizes.system, x.sizes.tools) == (y.sizes.system, y.sizes.tools)
        for x, y in ((a.parent, b.parent), (a.child, b.child))
    )
