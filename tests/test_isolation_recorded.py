"""Recorded subagents: brought back into their parents and taken out again, priced both ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from labkit.errors import InputError
from labkit.ladder.policy import Policy
from labkit.price.prices import prices
from labkit.record.edits import unedited
from labkit.record.load import load
from labkit.record.sizes import Sizes
from labkit.record.trace import Request, Trace
from labkit.replay.isolation import Isolation, recorded_sizes, unfold
from labkit.replay.isolation_cost import sides
from labkit.replay.isolation_growth import held_out
from labkit.replay.replay import replay

SESSIONS = {
    "claude-code/entire-context_management-field.jsonl": 1,
    "claude-code/entire-orphan-and-missing.jsonl": 1,
    "claude-code/entire-tasks-progress.jsonl": 8,
    "claude-code/spotter-projects/4d5611e5-241a-462a-8d15-5122611a9569.jsonl": 1,
    "codex/langsmith-rollout-subagents.jsonl": 1,
    "gemini/gemini-cli-browser-agent.persistent-session.responses": 2,
    "otel/openclaw-crux1-sample-telemetry.jsonl": 1,
}
"""Sessions whose record holds a subagent's own requests, and how many of them made a call."""


def recorded(corpus: Path) -> Iterator[tuple[str, Trace, Sizes, Trace, Isolation]]:
    """Each child with the parent as it would stand had its harness never edited."""
    for name, expected in SESSIONS.items():
        session = load(corpus / name)
        base = unedited(session)
        own = recorded_sizes(session, base)
        found = 0
        for child in session.children:
            if child.kind != "subagent" or not any(b.kind == "call" for b in child.blocks):
                continue
            made = unfold(base, child, parent_sizes=own)
            found += 1
            yield name, base, own, child, made
        assert found == expected, name


def bare(requests: tuple[Request, ...]) -> list[Request]:
    return [replace(r, usage=None) for r in requests]


def test_the_sample_session(root: Path) -> None:
    """The made-up session in the repository: five calls by one child, its parent cleared later."""
    session = load(next((root / "data" / "sessions" / "sample").glob("*.jsonl")))
    (child,) = session.children
    made = unfold(session, child)
    assert made.child is not None
    assert (made.parent.trace.blocks, made.child.trace.blocks) == (session.blocks, child.blocks)
    assert made.parent.trace.edits == session.edits
    assert (made.stretch.calls, made.left) == (5, 31)
    # Its clearing took results from before the child and from behind it, never the child's return.
    cleared = made.inline.trace.edits[0]
    assert cleared.request == session.edits[0].request + 4
    texts = [[trace.blocks[i].text for i in edit.blocks] for trace, edit in ((session, session.edits[0]),)]
    assert [made.inline.trace.blocks[i].text for i in cleared.blocks if not 30 <= i < 49] == [
        text for text, i in zip(texts[0], session.edits[0].blocks, strict=True) if i != made.stretch.start + 1
    ]


def test_fold_of_unfold_restores_both(corpus: Path) -> None:
    for name, base, sizes, child, made in recorded(corpus):
        where = f"{name} {child.name}"
        assert made.child is not None
        assert made.parent.trace.blocks == base.blocks, where
        assert bare(made.parent.trace.requests) == bare(base.requests), where
        assert made.parent.sizes.blocks == sizes.blocks and made.parent.sizes.tools == sizes.tools, where
        assert made.child.sizes.blocks == recorded_sizes(child).blocks, where
        assert made.child.sizes.prefix(0) == recorded_sizes(child).prefix(0), where
        assert made.child.trace.blocks == child.blocks, where
        # On the way the requests between the first and the last belonged to the parent, and its model.
        assert bare(made.child.trace.requests) == bare(child.requests), where
        assert len(made.inline.trace.requests) == len(base.requests) + made.stretch.calls - 1, where


def test_the_inline_trace_holds_new_blocks_once(corpus: Path) -> None:
    """Neither the brief nor the return nor a prefix: parent and child less what passes between them."""
    for name, base, _, child, made in recorded(corpus):
        passed = made.errand.call_size + made.errand.result_size
        passed += sum(made.errand.brief_sizes) + sum(made.errand.answer_sizes)
        assert made.child is not None
        whole = sum(made.parent.sizes.blocks) + sum(made.child.sizes.blocks)
        assert sum(made.inline.sizes.blocks) == whole - passed, (name, child.name)
        assert len(made.inline.trace.children) == len(base.children) - 1


def test_calibrated_growth_matches_the_record(corpus: Path) -> None:
    """Replayed without a policy, a child's prompts are the recorded ones within 3 %, and so is their growth."""
    compared = 0
    for name, _, _, child, made in recorded(corpus):
        assert made.child is not None
        totals = [r.usage.total_input for r in child.requests if r.usage is not None]
        rows = replay(made.child.trace, Policy.nothing(), sizes=made.child.sizes).rows
        inputs = [row.input for row in rows][: len(totals)]
        assert sum(inputs) == pytest.approx(sum(totals), rel=0.03), (name, child.name)
        # One prompt of each of Gemini CLI's children falls, and nothing in its record says why.
        fell = sum(max(before - after, 0) for before, after in pairwise(totals))
        assert fell <= (180 if name.startswith("gemini") else 0), (name, child.name)
        assert inputs[-1] - inputs[0] == pytest.approx(totals[-1] - totals[0] + fell, rel=0.03), (name, child.name)
        compared += 1
    assert compared == sum(SESSIONS.values())


def test_a_child_is_predicted_by_a_fit_that_did_not_see_it(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its parent and its siblings alone: what is billed is within 3 %, the growth itself is not always."""
    found = {name: held_out(load(corpus / name)) for name in SESSIONS}
    children = [child for made in found.values() for child in made]
    with capsys.disabled():
        print()
        for child in children:
            print(child)
        print(f"growth within 3 %: {sum(abs(c.growth_error) <= 0.03 for c in children)} of {len(children)}")
    assert [len(made) for made in found.values()] == list(SESSIONS.values())
    assert all(abs(c.total_error) <= 0.03 for c in children)
    assert all(abs(c.last_error) <= 0.04 for c in children)
    # Not reached for all: growth alone. Where it is off by more, it is by a part of some thousands of tokens, or it
    # is of a few tokens; the requests of Gemini CLI's children are not in the record.
    assert sum(abs(c.growth_error) <= 0.03 for c in children) >= 6
    assert all(abs(c.growth_error) <= 0.08 or c.recorded[-1] - c.recorded[0] < 2_500 for c in children)


def test_both_bills_are_reported(corpus: Path) -> None:
    """At one price list for both, so that only the way differs; warm, and on the session's clock (see pytest -s)."""
    card = prices("claude-sonnet-4-5")
    card = replace(card, bands=())
    lines = []
    for name, _, _, child, made in recorded(corpus):
        for cold in (False, True):
            priced = sides(made, card, cold=cold)
            assert priced.inline_dollars > 0 and priced.isolated_dollars > 0
            lines.append((name, child.name, cold, made, priced))
        assert made.child is not None
        who = [s.who for s in priced.isolated]
        assert who.count("child") == len(made.child.trace.requests)
        assert who.count("parent") == made.left + 1
        assert len(priced.inline) == made.stretch.calls + made.left
    for name, child_name, cold, made, priced in lines:
        parent = priced.inline[0].usage.total_input
        print(
            f"{Path(name).stem[:24]:25}{child_name[-14:]:15}{'clock' if cold else 'warm':6}"
            f"parent {parent:>7,}, {made.stretch.calls:>2} calls, {made.left:>3} left: inline "
            f"${priced.inline_dollars:.3f}, isolated ${priced.isolated_dollars:.3f}, {priced.difference:+.3f}"
        )


def test_a_recorded_child_that_never_called(corpus: Path) -> None:
    session = load(corpus / "codex/langsmith-rollout-subagents.jsonl")
    silent = next(c for c in session.children if not any(b.kind == "call" for b in c.blocks))
    with pytest.raises(InputError, match="made no call"):
        unfold(session, silent)
