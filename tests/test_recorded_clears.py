"""Clearings that a harness recorded, with the results still in the file, against the preset that stands for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.ladder.evict import file_use
from labkit.ladder.presets import load_policy
from labkit.record.edits import unedited
from labkit.record.load import load
from labkit.record.trace import Edit, Trace
from labkit.replay.session_sizes import session_sizes
from labkit.replay.uses import found_needs

NAME = "claude-code/entire-microcompact2-compact1.jsonl"
PRESET = load_policy("claude-code-micro")


@pytest.fixture(scope="module")
def session(corpus: Path) -> tuple[Trace, list[Edit], list[dict]]:
    """The session, its clearings, and what the harness noted of each."""
    path = corpus / NAME
    trace = load(path)
    noted = [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if "microcompact_boundary" in line
    ]
    return trace, [e for e in trace.edits if e.kind == "clear"], [n["microcompactMetadata"] for n in noted]


def test_the_preset_takes_what_the_harness_took(session) -> None:
    """Four characters a token, as the harness counts: the oldest results go until at most ``keep`` tokens stand."""
    trace, clears, noted = session
    assert PRESET.keep_by == "tokens"
    gone: set[int] = set()
    for edit, note in zip(clears, noted, strict=True):
        freed = sum(len(trace.blocks[i].text) / 4 for i in edit.blocks)
        assert freed == pytest.approx(note["tokensSaved"], abs=3)
        assert note["tokensSaved"] >= PRESET.floor
        standing = note["preTokens"] - note["tokensSaved"]
        last = len(trace.blocks[edit.blocks[-1]].text) / 4
        assert standing <= PRESET.keep < standing + last
        # The oldest that stood, without a gap.
        results = [i for i, b in enumerate(trace.blocks) if b.kind == "result" and b.request < edit.request]
        left = [i for i in results if i >= edit.blocks[0] and i not in gone]
        assert left[: len(edit.blocks)] == list(edit.blocks)
        gone |= set(edit.blocks)
        assert edit.stub == PRESET.stub_text


def test_the_next_prompt_is_as_large_as_recorded(session) -> None:
    trace, clears, _ = session
    base = unedited(trace)
    sizes = session_sizes(trace, base)
    for edit in clears:
        before, after = trace.requests[edit.request - 2].usage, trace.requests[edit.request - 1].usage
        new = sum(sizes.blocks[i] for i, b in enumerate(base.blocks) if b.request == edit.request)
        removed = sum(sizes.blocks[i] - sizes.count(edit.stub) for i in edit.blocks)
        assert before.total_input + new - removed == pytest.approx(after.total_input, rel=0.03)


def test_predicted_uses_beside_what_was_read_again(session, capsys) -> None:
    """Predicted: a removed result whose words the agent wrote again. Recorded: the same file read again."""
    trace, clears, _ = session
    base = unedited(trace)
    rows = []
    for edit in clears:
        used = {n.source for n in found_needs(base) if n.source in edit.blocks and n.request >= edit.request}
        paths = {i: use.path for i in edit.blocks if (use := file_use(base.blocks[i].tool, base.blocks[i].args))}
        later = {
            use.path
            for b in base.blocks
            if b.kind == "call"
            and b.request > edit.request
            and (use := file_use(b.tool, b.args))
            and use.does == "read"
        }
        again = {i for i, path in paths.items() if path in later}
        rows.append((len(edit.blocks), len(used), len(again), len(used & again)))
    with capsys.disabled():
        for removed, used, again, both in rows:
            print(f"\n{removed} results cleared: {used} predicted to be used, {again} files read again, {both} both")
    assert all(both <= min(used, again) for _, used, again, both in rows)
    assert any(used or again for _, used, again, _ in rows)
