"""Runs made from a seed: equal seeds give equal runs, and every run is well formed."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.ladder.policy import Policy
from labkit.record.generate import documents, scripted_run, support_run
from labkit.record.generate_invoice import needs_from
from labkit.record.generate_support import LONG_RESULT_TURN
from labkit.record.lines import line_of
from labkit.record.sizes import measure
from labkit.record.trace import Block, Need, Trace
from labkit.replay.replay import replay

seeds = st.integers(0, 10_000)


def faults(trace: Trace) -> list[str]:
    """What is wrong with a scripted run; empty when all is well."""
    found = []
    if [r.index for r in trace.requests] != list(range(1, len(trace.requests) + 1)):
        found.append("requests are not 1..n")
    starts = [r.start or 0.0 for r in trace.requests]
    if starts != sorted(starts):
        found.append("time runs backwards")
    order = [b.request for b in trace.blocks]
    if order != sorted(order):
        found.append("blocks are out of order")
    open_calls: dict[str | None, Block] = {}
    for block in trace.blocks:
        if block.kind == "call":
            open_calls[block.call_id] = block
        elif block.kind == "result":
            call = open_calls.pop(block.call_id, None)
            if call is None or (call.tool, call.args, call.request) != (block.tool, block.args, block.request):
                found.append(f"a result without its call at turn {block.turn}")
    if open_calls:
        found.append(f"calls without a result: {list(open_calls)}")
    for need in trace.needs:
        source = trace.blocks[need.source]
        used = [b for b in trace.blocks if b.kind == "call" and b.turn == need.request and need.excerpt in b.text]
        if source.kind != "result" or need.excerpt not in source.text or source.turn >= need.request or not used:
            found.append(f"a need that is not true: {need}")
    texts = [b.text for b in trace.blocks]
    found += [f"a fact that nobody says: {f}" for f in trace.facts if not any(f.probe in text for text in texts)]
    return found


@given(turns=st.integers(1, 150), seed=seeds)
@settings(max_examples=25)
def test_scripted_runs_are_well_formed(turns: int, seed: int) -> None:
    run = scripted_run(turns, seed)
    assert faults(run) == []
    assert len(run.requests) == turns
    assert run.kind == "scripted"
    assert all(b.message is None for b in run.blocks)


@given(seed=seeds)
@settings(max_examples=5)
def test_equal_seeds_give_equal_runs(seed: int) -> None:
    one, two = scripted_run(40, seed), scripted_run(40, seed)
    assert (one.blocks, one.requests, one.needs, one.facts) == (two.blocks, two.requests, two.needs, two.facts)
    assert one.blocks != scripted_run(40, seed + 1).blocks


@given(seed=seeds)
@settings(max_examples=8)
def test_no_loss_where_nothing_is_removed(seed: int) -> None:
    run = replay(scripted_run(80, seed), Policy.nothing())
    assert (run.facts_lost, run.uses_after_clear, run.unread) == (0, 0, 0)


def test_a_run_has_something_of_everything() -> None:
    run = scripted_run(400, seed=3)
    kinds = {kind: sum(b.kind == kind for b in run.blocks) for kind in ("text", "thinking", "call", "result")}
    assert all(kinds.values()), kinds
    assert kinds["call"] == kinds["result"] > 400  # some turns make two calls
    assert {line_of(b) for b in run.blocks} == {"history", "tool_output", "retrieved_docs", "scratchpad"}
    assert any("ValueError: " in b.text for b in run.blocks if b.kind == "result")
    assert len(run.needs) == 80
    gaps = {round((b.start or 0) - (a.start or 0)) for a, b in pairwise(run.requests)}
    assert 1_800 in gaps


def test_result_sizes_have_a_long_tail() -> None:
    run = scripted_run(1_000, seed=5)
    results = sorted(n for n, b in zip(measure(run).blocks, run.blocks, strict=True) if b.kind == "result")
    median = results[len(results) // 2]
    assert 200 <= median <= 400
    assert results[-1] > 10 * median


def test_what_a_summary_keeps_for_good_is_bounded() -> None:
    """Otherwise the summary of a long run outgrows every trigger, and each request compacts."""
    short, long = scripted_run(1_000, seed=0), scripted_run(5_000, seed=0)
    for run in (short, long):
        assert len(run.facts) <= 20
        assert len(run.needs) <= 100
        assert sum(b.role == "user" for b in run.blocks) <= 80
        assert sum(b.text.count("DECISION: ") for b in run.blocks) <= 20


def test_a_run_without_turns_is_refused() -> None:
    with pytest.raises(InputError, match="turns is 0"):
        scripted_run(0)


def test_the_fault_finder_can_fail() -> None:
    good = scripted_run(20, seed=1)
    broken = (
        ("alone", good.blocks[:-1], good.needs),
        ("not true", good.blocks, (Need(0, 5, "never said"),)),
        ("order", good.blocks[::-1], ()),
    )
    for _, blocks, needs in broken:
        assert faults(Trace("bad", blocks, good.requests, good.prefixes, needs=needs)) != []


# -- the support run ------------------------------------------------------------------------------


@given(seed=seeds)
@settings(max_examples=12)
def test_every_seed_tells_the_same_story(seed: int) -> None:
    run, model = support_run(seed), support_run()
    assert faults(run) == []
    assert [(b.kind, b.tool, b.request) for b in run.blocks] == [(b.kind, b.tool, b.request) for b in model.blocks]
    assert [(n.source, n.request) for n in run.needs] == [(n.source, n.request) for n in model.needs]
    assert not any("{" in b.text and b.kind in ("text", "thinking") for b in run.blocks)
    assert run.prefixes == model.prefixes


@given(seed=seeds)
@settings(max_examples=4)
def test_the_log_is_about_30_000_tokens_for_every_seed(seed: int) -> None:
    run = support_run(seed)
    sizes = measure(run).blocks
    (log,) = [n for n, b in zip(sizes, run.blocks, strict=True) if b.kind == "result" and b.turn == LONG_RESULT_TURN]
    assert 29_000 <= log <= 31_000
    assert 85_000 <= sum(sizes) + sum(measure(run).tools) + sum(measure(run).system) <= 100_000


def test_seeds_differ_in_names_and_numbers() -> None:
    tasks = {support_run(seed, turns=1).blocks[0].text for seed in range(8)}
    assert len(tasks) == 8


def test_the_amounts_of_the_story_add_up() -> None:
    run = support_run()
    invoice = json.loads(next(b.text for b in run.blocks if b.kind == "result" and b.tool == "get_invoice"))
    total = sum(Decimal(line["gross"]) for line in invoice["lines"])
    assert str(total) == invoice["totals"]["gross"]
    (refund,) = [b for b in run.blocks if b.kind == "call" and b.tool == "create_refund"]
    assert f"{2 * total} EUR" in refund.text


@pytest.mark.parametrize("turns", [1, 12, 39])
def test_a_part_of_the_story_is_its_beginning(turns: int) -> None:
    part, whole = support_run(turns=turns), support_run()
    assert len(part.requests) == turns
    assert part.blocks == whole.blocks[: len(part.blocks)]
    assert part.needs == tuple(n for n in whole.needs if n.request <= turns)
    assert faults(part) == []


def test_documents_counts_the_needs_a_document_serves() -> None:
    run = support_run()
    assert sum(documents(run).values()) == sum(line_of(run.blocks[n.source]) == "retrieved_docs" for n in run.needs)
    assert documents(Trace("empty", (), ())) == {}


# -- needs ----------------------------------------------------------------------------------------

BLOCKS = [
    Block("text", "user", "Pay it.", request=1),
    Block("call", "assistant", "look()", request=2),
    Block("result", "tool", "the number is 77-a", request=2),
    Block("call", "assistant", "wait()", request=3),
    Block("result", "tool", "77-b", request=3),
    Block("call", "assistant", "pay(77-a), not 77-b", request=4),
    Block("result", "tool", "ok", request=4),
    Block("call", "assistant", "tell(77-a)", request=5),
]


def test_a_need_points_at_its_result_and_its_request() -> None:
    assert needs_from(BLOCKS, [(1, 3, "77-a"), (2, 3, "77-b")]) == (Need(2, 3, "77-a"), Need(4, 3, "77-b"))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ((2, 3, "77-a"), "no result of turn 2 holds"),
        ((1, 2, "77-a"), "no call of turn 2 holds"),
        ((1, 4, "77-a"), "was said at turn 3"),
    ],
)
def test_an_untrue_need_is_refused(entry: tuple[int, int, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        needs_from(BLOCKS, [entry])
