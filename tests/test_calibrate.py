"""The fixed prefix and the scale that a session's own usage gives away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from labkit.record.calibrate import calibrate
from labkit.record.load import load
from labkit.record.sizes import measure
from labkit.record.trace import Block, Edit, Prefix, Request, Trace, Usage

TEXT = "word " * 195 + "x"  # 196 tokens, 200 with the message's own 4


def growing(*totals: int, reads: tuple[int, ...] = (), edits: tuple[Edit, ...] = (), **fields: object) -> Trace:
    """A text of 200 tokens a request, and the recorded totals; the rest of each total is written."""
    blocks = tuple(Block("text", "user", TEXT, request=i) for i in range(1, len(totals) + 1))
    reads = reads or (0,) * len(totals)
    requests = tuple(
        Request(i, usage=Usage(cache_read=read, cache_write_5m=total - read))
        for i, (total, read) in enumerate(zip(totals, reads, strict=True), 1)
    )
    return Trace("made up", blocks, requests, edits=edits, **fields)  # type: ignore[arg-type]


def test_the_scale_is_recorded_growth_over_counted_growth() -> None:
    fit = calibrate(growing(10_000, 10_240, 10_480, 10_720))
    assert (fit.sizes.scale, fit.steps) == (1.2, 3)
    # What came with a request adds up to its growth; the first has none and is sized by the fit of the others:
    # 200 x 1.15 to 1.2, and what a request brings beside.
    assert fit.sizes.blocks == (249, 240, 240, 240)
    assert "x 1.2, the median of 3 growing requests; together these counts give 100 %" in fit.sizes.error


def test_the_scale_resists_one_wild_step() -> None:
    fit = calibrate(growing(10_000, 10_240, 10_480, 30_000, 30_240, 30_480))
    assert (fit.sizes.scale, fit.steps) == (1.2, 5)
    assert "give 6 % of the recorded growth" in fit.sizes.error  # 5 x 240 of 20,480


def test_a_shrinking_or_edited_step_does_not_count() -> None:
    edits = (Edit("clear", 4, (0,)),)
    fit = calibrate(growing(10_000, 10_240, 10_480, 12_000, 12_240, 9_000, 9_240, edits=edits))
    assert (fit.sizes.scale, fit.steps) == (1.2, 4)


@pytest.mark.parametrize("totals", [(10_000, 10_240, 10_480), (10_000, 19_000, 28_000, 37_000)])
def test_too_little_or_absurd_growth_gives_no_scale(totals: tuple[int, ...]) -> None:
    fit = calibrate(growing(*totals))
    assert (fit.sizes.scale, fit.steps) == (1.0, 0)
    assert "unscaled" in fit.sizes.error
    assert fit.sizes.blocks == measure(growing(*totals)).blocks


def test_an_image_step_does_not_count() -> None:
    trace = growing(10_000, 10_240, 10_480, 10_720, 12_300)
    image = Block("image", "user", "[image/png 800x600]", request=5)
    trace = Trace("made up", (*trace.blocks, image), trace.requests)
    fit = calibrate(trace)
    assert (fit.sizes.scale, fit.steps) == (1.2, 3)
    assert fit.sizes.blocks[-1] == 800 * 600 // 750 + 4


def test_the_prefix_is_what_an_edit_leaves_in_the_cache() -> None:
    edits = (Edit("clear", 3, (0,)), Edit("summary", 5, (0, 1)), Edit("clear", 7, (4,)))
    reads = (4_000, 10_000, 7_000, 10_050, 7_000, 9_000, 6_000)
    fit = calibrate(growing(10_000, 10_240, 10_100, 10_340, 9_000, 9_240, 9_100, reads=reads, edits=edits))
    assert fit.prefix == 7_000
    assert "after a recorded clearing or compaction (the same 2 times)" in fit.prefix_from


def test_a_read_larger_than_the_first_prompt_is_not_the_prefix() -> None:
    edits = (Edit("clear", 3, (0,)),)
    reads = (4_000, 50_000, 20_000, 30_000)
    fit = calibrate(growing(10_000, 60_000, 40_000, 40_240, reads=reads, edits=edits))
    assert fit.prefix == 10_000 - 200  # two of the growths are absurd: unscaled
    assert "less its counted messages" in fit.prefix_from


def test_without_a_recorded_edit_falls_of_the_read_tell_it() -> None:
    reads = (4_000, 10_000, 6_000, 10_450, 6_000)
    fit = calibrate(growing(10_000, 10_240, 10_480, 10_720, 10_960, reads=reads))
    assert fit.prefix == 6_000
    assert "the prompt had changed" in fit.prefix_from


def test_an_expired_cache_reads_nothing_and_tells_nothing() -> None:
    reads = (0, 10_000, 0, 10_480)
    fit = calibrate(growing(10_000, 10_240, 10_480, 10_720, reads=reads))
    assert fit.prefix == 10_000 - 249


def test_a_logged_prefix_is_counted_not_inferred() -> None:
    trace = growing(10_000, 10_240, 10_480, 10_720, prefixes=(Prefix("Be brief.", "[]"),))
    assert calibrate(trace).prefix == 0


def test_nothing_is_inferred_from_the_middle_of_a_session() -> None:
    orphan = Block("result", "tool", "of a call before the file", request=1, call_id="c0")
    trace = growing(10_000, 10_240, 10_480, 10_720)
    fit = calibrate(Trace("slice", (orphan, *trace.blocks), trace.requests))
    assert fit.prefix == 0
    assert "not known" in fit.prefix_from


def test_a_scripted_run_stays_as_counted() -> None:
    trace = Trace("scripted", (Block("text", "user", TEXT, request=1),), (Request(1),), kind="scripted")
    fit = calibrate(trace)
    assert (fit.sizes.scale, fit.prefix, fit.steps) == (1.0, 0, 0)
    assert fit.sizes.blocks == (200,)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("entire-microcompact2-compact1.jsonl", 18_591),
        ("entire-three-compactions.jsonl", 34_260),
        ("entire-microcompact1-compact1-small.jsonl", 19_330),
    ],
)
def test_the_prefix_of_real_sessions(corpus: Path, name: str, prefix: int) -> None:
    path = corpus / "claude-code" / name
    if not path.exists():
        pytest.skip(f"{name} is not in the corpus")
    fit = calibrate(load(path))
    assert fit.prefix == prefix
    assert 1.1 < fit.sizes.scale < 1.3


def test_a_record_without_tool_schemas_does_not_claim_them() -> None:
    blocks = (Block("text", "user", "go", request=1),)
    trace = Trace("tiny", blocks, (Request(1, usage=Usage(9_000)),), (Prefix(system="Be brief."),))
    fit = calibrate(trace)
    assert (fit.prefix, "no tool schemas" in fit.prefix_from) == (0, True)
    both = replace(trace, prefixes=(Prefix("Be brief.", "[]"),))
    assert "tool schemas; they were counted" in calibrate(both).prefix_from
