"""The two scripted runs in data/traces: what each must hold, with its numbers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from labkit.files import data_path
from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.record.generate import documents, main
from labkit.record.generate_invoice import INVOICE_NEEDS, with_invoice_needs
from labkit.record.generate_support import CONSTRAINT, LONG_RESULT_TURN, PAUSE, SUPERSEDED
from labkit.record.lines import LINE_ITEMS, line_of
from labkit.record.load import load
from labkit.record.sizes import Sizes, measure
from labkit.record.tokens import get_counter
from labkit.record.trace import Block, Trace
from labkit.replay.replay import Replay, replay

NAMES = ("invoice-60", "support-40")


@pytest.fixture(scope="module")
def invoice() -> Trace:
    return load(data_path("traces", "invoice-60.jsonl"))


@pytest.fixture(scope="module")
def support() -> Trace:
    return load(data_path("traces", "support-40.jsonl"))


@pytest.fixture(scope="module")
def sizes(support: Trace) -> Sizes:
    """By the real counter: the fallback would hide a wrong size."""
    return measure(support, get_counter("o200k_base"))


def said(trace: Trace, turn: int, kind: str = "call") -> str:
    return "\n".join(b.text for b in trace.blocks if b.turn == turn and b.kind == kind)


def lost_at(run: Replay) -> list[int]:
    """Requests at which a needed excerpt was gone, one entry each."""
    counts = [0, *(row.uses_after_clear for row in run.rows)]
    return [i for i in range(1, len(counts)) for _ in range(counts[i] - counts[i - 1])]


# -- both ---------------------------------------------------------------------------------------


def test_the_command_gives_the_files_byte_for_byte(tmp_path: Path) -> None:
    main(tmp_path)
    for name in NAMES:
        assert (tmp_path / f"{name}.jsonl").read_bytes() == data_path("traces", f"{name}.jsonl").read_bytes(), name


@pytest.mark.parametrize("name", NAMES)
def test_every_need_is_true(name: str) -> None:
    trace = load(data_path("traces", f"{name}.jsonl"))
    assert trace.warnings == ()
    assert len(trace.needs) == 20
    for need in trace.needs:
        source = trace.blocks[need.source]
        assert source.kind == "result"
        assert need.excerpt in source.text
        assert source.turn < need.request
        assert need.excerpt in said(trace, need.request)
        # Nobody but results may have said it before, or its loss could not be noticed.
        before = [b for b in trace.blocks if b.turn < need.request and b.kind != "result"]
        assert not any(need.excerpt in b.text for b in before), need
        assert need.excerpt not in (trace.prefixes[0].system or "")


@pytest.mark.parametrize("name", NAMES)
def test_no_need_is_lost_where_nothing_is_removed(name: str) -> None:
    run = replay(load(data_path("traces", f"{name}.jsonl")), Policy.nothing())
    assert (run.uses_after_clear, run.reread_tokens, run.unread, run.facts_lost) == (0, 0, 0, 0)


# -- invoice-60 ---------------------------------------------------------------------------------


def test_invoice_needs_are_those_of_the_list(invoice: Trace) -> None:
    assert with_invoice_needs(invoice).needs == invoice.needs
    assert len(invoice.needs) == len(INVOICE_NEEDS) == 20
    distances = sorted(n.request - invoice.blocks[n.source].turn for n in invoice.needs)
    assert distances == [1, 1, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 17, 34]


def test_invoice_losses_by_keep(invoice: Trace) -> None:
    article = load_policy("article")
    assert lost_at(replay(invoice, article)) == [12, 17, 23, 28, 30, 33, 41]
    lost = {k: replay(invoice, replace(article, keep=k)).uses_after_clear for k in (0, 3, 10)}
    assert lost == {0: 11, 3: 7, 10: 6}


def test_invoice_pauses(invoice: Trace) -> None:
    starts = [r.start or 0.0 for r in invoice.requests]
    gaps = {i + 2: after - before for i, (before, after) in enumerate(pairwise(starts))}
    assert {turn for turn, gap in gaps.items() if gap > 300} == {20, 45}


# -- support-40 ---------------------------------------------------------------------------------


def test_support_has_all_six_lines_in_every_late_request(support: Trace) -> None:
    last = replay(support, Policy.nothing()).rows[-1]
    spent = dict(zip(LINE_ITEMS, last.lines, strict=True))
    # Four readings of documents: 2,056 twice, 1,773 and 1,998, and 379 for the calls.
    assert spent == {
        "system": 1_424,
        "tool_schemas": 13_128,
        "retrieved_docs": 2 * 2_056 + 1_773 + 1_998 + 379,
        "tool_output": 62_010,
        "history": 3_629,
        "scratchpad": 2_030,
    }
    assert sum(spent.values()) == last.input == 90_483


def test_support_schemas_are_large_and_its_tools_are_all_in_them(support: Trace, sizes: Sizes) -> None:
    schemas = json.loads(support.prefixes[0].tools or "")
    assert sizes.tools == (13_128,)
    assert sizes.system == (1_424,)
    assert len(schemas) == 37
    assert {b.tool for b in support.blocks if b.kind == "call"} <= {tool["name"] for tool in schemas}
    assert all(tool["input_schema"]["type"] == "object" and len(tool["description"]) > 20 for tool in schemas)


def test_support_has_one_long_result_of_which_two_lines_are_needed(support: Trace, sizes: Sizes) -> None:
    results = [i for i, b in enumerate(support.blocks) if b.kind == "result"]
    longest, second = sorted(results, key=lambda i: -sizes.blocks[i])[:2]
    assert support.blocks[longest].turn == LONG_RESULT_TURN == 12
    assert 29_500 <= sizes.blocks[longest] <= 30_500
    assert sizes.blocks[second] < 3_500
    needs = [n for n in support.needs if n.source == longest]
    assert [n.request for n in needs] == [13, 14, 19]
    lines = support.blocks[longest].text.split("\n")
    assert len({i for n in needs for i, line in enumerate(lines) if n.excerpt in line}) == 2


def test_support_reads_three_documents_and_one_decides_nothing(support: Trace) -> None:
    assert documents(support) == {
        "handbook/policies/refunds.md": 2,
        "handbook/programmes/lantern-club.md": 0,
        "handbook/guides/carrier-claims.md": 1,
    }


def test_support_overturns_a_decision(support: Trace) -> None:
    old, new = SUPERSEDED
    assert (old, new) == (9, 22)
    assert "DECISION: send a replacement" in said(support, old)
    assert f"this replaces the decision of turn {old}" in said(support, new)
    assert "DECISION: refund both charges" in said(support, new)


def test_support_sets_a_condition_in_a_second_line_and_needs_it_30_turns_later(support: Trace) -> None:
    told, needed = CONSTRAINT
    assert (told, needed) == (5, 35)
    (text,) = [b.text for b in support.blocks if b.kind == "text" and b.request == told]
    (probe,) = [f.probe for f in support.facts if f.label.startswith(f"user t{told}")]
    first, second = text.split("\n")
    assert probe in second
    assert probe not in first
    # The action repeats the condition, and no turn in between does.
    assert probe.lower() in said(support, needed).lower()
    assert not any(probe.lower() in b.text.lower() for b in support.blocks if told < b.turn < needed)


def test_support_user_texts(support: Trace) -> None:
    texts = {b.request: b.text for b in support.blocks if b.role == "user"}
    assert list(texts) == [1, 5, 20, 32]
    assert all(text.count("\n") == 1 for text in texts.values())
    # Of each text the second line holds a fact: a summary that keeps first lines loses it.
    for text in texts.values():
        assert any(f.probe in text.split("\n")[1] for f in support.facts)


def test_support_pauses_once_for_20_minutes(support: Trace) -> None:
    starts = [r.start or 0.0 for r in support.requests]
    gaps = [after - before for before, after in pairwise(starts)]
    turn, seconds = PAUSE
    assert gaps.pop(turn - 2) == seconds == 20 * 60
    assert all(20 <= gap <= 40 for gap in gaps)


def test_support_facts_are_said_and_end_visible(support: Trace) -> None:
    assert len(support.facts) == 10
    for fact in support.facts:
        assert any(fact.probe in b.text for b in support.blocks), fact


def test_support_needs_have_mixed_distances(support: Trace) -> None:
    distances = sorted(n.request - support.blocks[n.source].turn for n in support.needs)
    assert distances == [1, 1, 1, 2, 2, 2, 2, 3, 5, 7, 10, 10, 12, 12, 16, 17, 20, 24, 32, 39]


def test_support_has_thinking_notes_errors_markers_and_a_parallel_pair(support: Trace) -> None:
    kinds = Counter(b.kind for b in support.blocks)
    assert kinds["thinking"] == 23
    assert kinds["call"] == kinds["result"] == 41
    tools = Counter(b.tool for b in support.blocks if b.kind == "call")
    assert (tools["notes_write"], tools["notes_rewrite"], tools["notes_read"]) == (2, 1, 1)
    assert [b.call_id for b in support.blocks if b.turn == 3] == ["t3c1", "t3c2", "t3c1", "t3c2"]
    errors = ("GatewayTimeoutError: ", "AddressError: ", "ReservationExpiredError: ", "ClaimWindowError: ")
    assert all(any(e in b.text for b in support.blocks if b.kind == "result") for e in errors)
    words = "\n".join(b.text for b in support.blocks if b.kind == "call")
    todos = {line[6:] for line in words.split("\n") if line.startswith("TODO: ")}
    done = {line[6:] for line in words.split("\n") if line.startswith("DONE: ")}
    assert done < todos
    assert todos - done == {"tell the warehouse that the broken lamp must not go back into stock"}


def test_support_reads_things_again(support: Trace) -> None:
    read = Counter((b.tool, b.args) for b in support.blocks if b.kind == "result")
    again = {tool: n for (tool, _), n in read.items() if n > 1}
    assert again == {"get_order": 3, "track_parcel": 2, "check_stock": 2, "fetch_doc": 2}


def test_support_outputs_are_plausible(support: Trace) -> None:
    outputs = [row.output for row in replay(support, Policy.nothing()).rows]
    assert 30 <= min(outputs) <= max(outputs) <= 400
    assert 100 <= sum(outputs) / 40 <= 200


def test_support_by_policy(support: Trace) -> None:
    naive = replay(support, Policy.nothing())
    assert (naive.input, naive.peak, naive.rows[0].input) == (2_464_765, 90_483, 14_618)
    # No policy gets below the prefix, which every request carries.
    managed = replay(support, load_policy("article"))
    assert managed.peak == 53_599
    assert managed.input - 40 * 14_552 == 1_031_556 - 582_080
    assert [(e.request, e.kind) for e in managed.events] == [
        (11, "cleared"),
        (16, "cleared"),
        (24, "cleared"),
        (32, "compacted"),
    ]
    assert lost_at(managed) == [19, 26, 27, 29, 30, 32, 35, 36, 40]
    nothing_kept = replay(support, replace(load_policy("article"), keep=0))
    assert (nothing_kept.uses_after_clear, nothing_kept.unread) == (11, 3)


def test_support_can_be_cleared_without_loss_in_the_pause(support: Trace) -> None:
    """The cache is cold then, and a policy that pins what is needed later loses nothing."""
    pinned = {"notes_read", "fetch_doc", "reserve_stock", "get_ticket", "get_customer", "list_incidents"}
    run = replay(support, Policy(trigger=70_000, compact_above=None, pinned=frozenset(pinned)))
    assert [(e.request, e.kind) for e in run.events] == [(PAUSE[0], "cleared")]
    assert (run.uses_after_clear, run.unread, run.facts_lost) == (0, 0, 0)
    assert run.input < 0.8 * replay(support, Policy.nothing()).input


def test_nothing_personal_stands_in_the_notes(support: Trace) -> None:
    """The system prompt forbids it, so the run keeps to it."""
    card = next(f.probe for f in support.facts if "card ending" in f.probe).split()[3]
    notes = [b for b in support.blocks if (b.tool or "").startswith("notes_")]
    assert notes
    assert not any(card in b.text for b in notes)


def test_line_of_documents_counts_calls_too() -> None:
    assert line_of(Block("call", "assistant", "x", tool="fetch_doc")) == "retrieved_docs"
