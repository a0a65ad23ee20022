"""Trim by hand, in the manager and in a replay; compared with Inspect in test_conformance.py."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import EditRefused, InputError
from labkit.files import data_path
from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.ladder.presets import presets
from labkit.ladder.trim import left_by_trim
from labkit.price.cache import ARTICLE_RULES
from labkit.record.load import load
from labkit.record.trace import Block
from labkit.replay.fastpath import supports
from labkit.replay.replay import replay

CUT = replace(Policy.nothing(), trigger=1, trim=0.7, floor=0)


def pairs(n: int, together: int = 1) -> list[Block]:
    made = [Block("text", "system", "s", message=0), Block("text", "user", "task", message=1)]
    for k in range(n):
        ids = [f"{k}.{i}" for i in range(together)]
        made += [Block("call", "assistant", "c", message=100 * k + 2, call_id=i) for i in ids]
        made += [Block("result", "tool", "r", message=100 * k + 3 + j, call_id=i) for j, i in enumerate(ids)]
    return made


def left(blocks: list[Block], share: float) -> list[Block]:
    return [blocks[i] for i in left_by_trim(blocks, share)]


def ids(blocks: list[Block]) -> list[str]:
    return [b.call_id or b.text for b in blocks]


def test_by_hand() -> None:
    assert left(pairs(5), 1) == pairs(5)
    assert ids(left(pairs(2), 0)) == ["s", "task"]
    # Ten messages after the task; 0.7 leaves seven, the first of which has lost its call.
    assert ids(left(pairs(5), 0.7)) == ["s", "task", "2.0", "2.0", "3.0", "3.0", "4.0", "4.0"]
    # A call of three messages, cut in its results: all of it goes.
    assert ids(left(pairs(2, 2), 0.7)) == ["s", "task", "1.0", "1.1", "1.0", "1.1"]
    # A summary is no task: it is cut like the rest.
    assert ids(left([Block("summary", "user", "so far", message=1), *pairs(2)[2:]], 0.6)) == ["1.0", "1.0"]


def test_in_the_manager_by_hand() -> None:
    """Five calls of 10 tokens each side, the task 10: 110. Of ten messages seven stay, and one result lost its call."""
    manager = ContextManager(policy=CUT)
    for block in pairs(5)[1:]:
        manager.append(block, 10)
    step = manager.step()
    assert ids(manager.blocks()) == ["task", "2.0", "2.0", "3.0", "3.0", "4.0", "4.0"]
    assert (step.total, step.shared) == (70, 0)  # the first request shares nothing with one before it
    event = step.events[0]
    assert (event.kind, event.messages, event.freed, event.removed, event.added) == ("trimmed", 4, 40, 40, 0)
    assert event.unread == 2  # no request had carried them
    assert str(event) == "request 1: trimmed 4 messages (-40)"
    manager.append(Block("text", "user", "and?", message=900), 10)
    step = manager.step()  # seven messages after the task, of which int(7 * 0.3) = 2 go
    assert ids(manager.blocks()) == ["task", "3.0", "3.0", "4.0", "4.0", "and?"]
    assert (step.total, step.shared, step.events[0].unread) == (60, 10, 0)


def test_the_floor_and_the_model_that_binds_its_thinking() -> None:
    high = ContextManager(policy=replace(CUT, floor=41))
    bound = ContextManager(policy=CUT, thinking_bound=True)
    for block in pairs(5)[1:]:
        high.append(block, 10)
        bound.append(block, 10)
        if block.kind == "call":
            bound.append(Block("thinking", "assistant", "hm", message=block.message), 10)
    assert high.step().events == ()
    bound.append(Block("text", "user", "and?", message=900), 10)
    bound.requests = 1
    with pytest.raises(EditRefused):
        bound.step()


@given(st.integers(0, 6), st.integers(1, 3), st.floats(0, 1))
def test_no_orphan_and_nothing_but_the_oldest_goes(n: int, together: int, share: float) -> None:
    blocks = pairs(n, together)
    stays = left(blocks, share)
    assert {b.call_id for b in stays if b.kind == "call"} == {b.call_id for b in stays if b.kind == "result"}
    assert stays[:2] == blocks[:2]
    assert stays[2:] == blocks[len(blocks) - len(stays) + 2 :]


def test_replayed_on_invoice_60() -> None:
    invoice = load(data_path("traces", "invoice-60.jsonl"))
    run = replay(invoice, presets()["inspect-trim"])
    # 180,000 tokens are passed at request 54, with 107 messages after the task: 21 go, and a result that lost its call.
    # At request 60 there are 107 - 22 + 12 = 97: 19 go.
    assert [(e.request, e.kind, e.messages) for e in run.events] == [(54, "trimmed", 22), (60, "trimmed", 19)]
    assert [run.rows[i - 1].input for i in (53, 54, 59, 60)] == [179_086, 153_486, 178_206, 149_663]
    assert run.uses_after_clear > 0 or run.facts_lost
    assert supports(presets()["inspect-trim"], ARTICLE_RULES, invoice) == "a trim"


@pytest.mark.parametrize("wrong", [-0.1, 1.1, "0.8", True, float("nan")])
def test_a_share_that_is_none_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="trim is"):
        replace(CUT, trim=wrong)
