"""The growth of recorded prompts: a fit by kind of text, held against the half it did not see."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from labkit.files import data_path
from labkit.record.edits import unedited
from labkit.record.grown import filled_sizes, grown_sizes
from labkit.record.growth import SHARE, TOKENS, Growth, check_growth, fit_growth
from labkit.record.load import load
from labkit.record.sizes import measure
from labkit.record.trace import Block, Edit, Request, Trace, Usage
from labkit.replay.audit import audit
from labkit.replay.session_sizes import session_sizes


def words(n: int) -> str:
    """A text of n tokens, 4 more with the message's own."""
    return "word " * (n - 1)


def session(growths: list[int], *, first: int = 20_000, edits: tuple[Edit, ...] = ()) -> Trace:
    """A call and a result a request, and the recorded prompts."""
    blocks, requests, total = [], [], first
    for i, grown in enumerate([0, *growths], 1):
        total += grown
        blocks += [
            Block("call", "assistant", words(96), request=i, tool="Read", call_id=f"c{i}"),
            Block("result", "tool", words(2_996), request=i, tool="Read", call_id=f"c{i}"),
        ]
        requests.append(Request(i, usage=Usage(uncached=total)))
    return Trace("made up", tuple(blocks), tuple(requests), edits=edits)


def truth(result: float = 1.2) -> int:
    """100 tokens of call at 1.15, 3,000 of result, 60 a call, 30 a request."""
    return round(115 + 3_000 * result + 60 + 30)


def test_without_growth_the_fit_stays_where_it_starts() -> None:
    assert fit_growth(session([])) == Growth((1.15, 1.15, 1.3, 1.15, 60.0, 30.0), 0)


def test_the_scale_of_results_is_found() -> None:
    fit = fit_growth(session([truth(1.25)] * 40))
    assert fit.steps == 40
    assert fit.predict((0, 100, 0, 3_000, 1, 1)) == pytest.approx(truth(1.25), rel=0.02)  # the start still pulls
    assert 1.2 < fit.terms[3] < 1.26


def test_edited_steps_images_and_falls_are_left_out() -> None:
    plain = [truth()] * 12
    odd = session([*plain, -9_000, 60_000, truth()], edits=(Edit("clear", 15, (1,)),))
    assert fit_growth(odd).steps == 13


FIT = Growth((1.1, 1.5, 1.3, 1.2, 60.0, 30.0), 9)


def test_sizes_without_a_growth_by_hand() -> None:
    # 100 x 1.5, 60 for the call, 30 for the request whose first block it is; 3,000 x 1.2
    trace = session([])
    assert measure(trace).blocks == (100, 3_000)
    assert grown_sizes(trace, FIT).blocks == (240, 3_600)
    assert grown_sizes(trace, FIT).scale == 1.1


@pytest.mark.parametrize(
    ("grown", "blocks", "filled"),
    [
        (3_840, (240, 3_600), (240, 3_600)),
        (4_800, (300, 4_500), (300, 4_500)),  # a quarter more for both
        (
            7_000,
            (360, 5_400),
            (1_600, 5_400),
        ),  # half as much again; the rest is in no block, or beside it
        (1_000, (120, 1_800), (63, 937)),  # under half: half of what was counted, or all shrink alike
    ],
)
def test_blocks_add_up_to_the_recorded_growth(grown: int, blocks: tuple[int, int], filled: tuple[int, int]) -> None:
    trace = session([grown])
    sizes = grown_sizes(trace, FIT)
    assert sizes.blocks[2:] == blocks
    assert filled_sizes(trace, sizes).blocks[2:] == filled


def test_the_audits_results_are_those_of_the_what_if() -> None:
    """One size for a result, whoever asks: the list of the dearest, a rewrite, a policy that clears it."""
    growths = [truth(), truth(1.3), 9_000, truth(), 2_600, truth(), truth(1.1), truth()]
    trace = session([*growths, -20_000, truth()], edits=(Edit("clear", 10, (1, 3)),))
    base = unedited(trace)
    sized = dict(zip(base.blocks, session_sizes(trace, base).blocks, strict=True))
    lives = audit(trace).results
    assert len(lives) == 11
    assert all(sized[trace.blocks[life.position]] == life.size for life in lives)
    # The same in a session that nobody made up.
    sample = load(data_path("sessions", "sample"))
    base = unedited(sample)
    by_block = {id(b): size for b, size in zip(base.blocks, session_sizes(sample, base).blocks, strict=True)}
    compared = [(by_block[id(sample.blocks[r.position])], r.size) for r in audit(sample).results]
    assert len(compared) > 30
    assert [pair for pair in compared if pair[0] != pair[1]] == []


def test_what_is_far_off_hardly_moves_the_fit() -> None:
    """Calls that a harness did not send as it logged them must not shrink all others."""
    blocks, requests, total = [], [], 20_000
    for i in range(1, 81):
        cut = i % 10 == 0  # of 1,500 logged tokens it sent a few
        size = 1_496 if cut else 996
        blocks.append(Block("call", "assistant", words(size), request=i, tool="Write", call_id=f"c{i}"))
        blocks.append(Block("result", "tool", words(96), request=i, tool="Write", call_id=f"c{i}"))
        total += 300 if cut else round(1.15 * 1_100 + 90)
        requests.append(Request(i, usage=Usage(uncached=total)))
    assert 0.85 < fit_growth(Trace("made up", tuple(blocks), tuple(requests))).terms[1] < 1.2  # without it 0


def test_the_second_half_is_predicted_from_the_first() -> None:
    good = check_growth(session([truth(1.15)] * 20))
    assert good.requests == 10
    assert good.error is not None and good.error < 0.001
    assert good.covered == 1.0
    changed = check_growth(session([truth(1.15)] * 10 + [2 * truth(1.15)] * 10))
    assert changed.error is not None and changed.error > 0.05
    assert changed.covered == 0.0


@pytest.mark.parametrize(("over", "covered"), [(-10, 5), (10, 4)])
def test_the_interval_is_what_it_states(over: int, covered: int) -> None:
    # 14 requests: the first 7 are fitted, 9 to 12 are predicted right, 13 is edited, 14 is off by the interval
    grown = truth(1.15)
    off = round(grown * (1 + SHARE)) + TOKENS + over
    check = check_growth(session([*[grown] * 11, -9_000, off], edits=(Edit("clear", 13, (1,)),)))
    assert check.requests == 5
    assert check.covered == covered / 5


def test_an_edit_starts_a_new_stretch() -> None:
    growths = [truth(1.15)] * 15 + [-30_000] + [truth(1.15)] * 4
    edited = check_growth(session(growths, edits=(Edit("clear", 17, (1,)),)))
    assert edited.flags == ()
    assert edited.error is not None and edited.error < 0.001
    unlogged = check_growth(session(growths))
    assert unlogged.flags == ("a fall without a recorded cause at request 17",)
    assert unlogged.error is not None and unlogged.error > 0.05


def test_too_short_a_session_is_not_judged() -> None:
    assert check_growth(session([truth()] * 5)).error is None


def test_real_sessions_grow_as_predicted(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checks = []
    for file in sorted((corpus / "claude-code").glob("**/*.jsonl")):
        if "subagents" in file.parts or file.name == "entire-overlap-b.jsonl":
            continue
        trace = load(file)
        checks += [c for t in (trace, *trace.children) if (c := check_growth(t)).error is not None]
    plain = sorted(c.error for c in checks if not c.flags and c.error is not None)
    median, ninth = statistics.median(plain), plain[int(0.9 * len(plain))]
    flagged = sum(bool(c.flags) for c in checks) / len(checks)
    covered = sum((c.covered or 0) * c.requests for c in checks) / sum(c.requests for c in checks)
    with capsys.disabled():
        print(
            f"\ngrowth: {len(checks)} sessions, median {median:.2%}, 90th percentile {ninth:.2%} off; "
            f"{flagged:.0%} flagged; the interval covers {covered:.0%} of {sum(c.requests for c in checks)} requests"
        )
    assert len(checks) >= 20
    assert median <= 0.015
    assert ninth <= 0.05
    assert covered >= 0.8
    assert flagged <= 0.3
    assert all(c.flags for c in checks if c.error is not None and c.error > 0.05)
