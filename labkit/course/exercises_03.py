"""Exercises of notebook 03: what a cache makes of an edit."""

from __future__ import annotations

import math

from labkit.course.exercise import Case, Exercise, Wrong

__all__ = ["EXERCISES"]

_WRITE, _OUTPUT = 1.25, 5.0


def crossing(nothing_written: float, nothing_read: float, managed_written: float, managed_read: float) -> float:
    """Read price at which two runs cost the same."""
    return _WRITE * (managed_written - nothing_written) / (nothing_read - managed_read)


def repay(cleared: float, behind: float, read: float) -> int:
    """Requests after which one clearing has paid for itself."""
    return _up(behind * (_WRITE - read) / (cleared * read))


def compaction(span: float, summary: float, read: float) -> float:
    """Requests after which one warm compaction has paid for itself."""
    return (read * span + (_OUTPUT + _WRITE - read) * summary) / ((span - summary) * read)


def _up(value: float) -> int:
    # 49 comes out as 49.00000000000001.
    return math.ceil(round(value, 9))


EXERCISES = (
    Exercise(
        id="03.1",
        title="The price at which it stops paying",
        cases=lambda: [
            # The two scripted runs: totals of doing nothing and of the article's policy.
            Case((213_241, 5_643_136, 310_929, 975_224), crossing(213_241, 5_643_136, 310_929, 975_224)),
            Case((90_483, 2_374_282, 105_471, 926_085), crossing(90_483, 2_374_282, 105_471, 926_085)),
            Case((200_000, 5_000_000, 300_000, 1_000_000), 0.03125),
        ],
        solution=crossing,
        wrong=(
            Wrong(
                lambda w0, r0, w1, r1: (w1 - w0) / (r0 - r1),
                "A write costs 1.25 times the input price, so each token written more counts one and a quarter times.",
            ),
            Wrong(
                lambda w0, r0, w1, r1: 1.25 * w1 / (r0 - r1),
                "Doing nothing writes too: only what the policy writes more is its price.",
            ),
            Wrong(
                lambda w0, r0, w1, r1: (r0 - r1) / (1.25 * (w1 - w0)),
                "This is the other way up: it says how many reads one write is worth. The price is one over it.",
            ),
        ),
        difficulty=2,
        worth=5,
        minutes=6,
        tolerance=1e-4,
    ),
    Exercise(
        id="03.2",
        title="Requests to repay",
        cases=lambda: [
            Case((20_000, 20_000, 0.1), 12),
            Case((20_000, 20_000, 0.025), 49),
            Case((40_000, 10_000, 0.05), 6),
            Case((20_000, 0, 0.1), 0),
        ],
        solution=repay,
        wrong=(
            Wrong(
                lambda cleared, behind, read: _up(behind * 1.25 / (cleared * read)),
                "What stands behind would have been read without the edit. The edit costs the difference between a "
                "write and a read, not the whole write.",
            ),
            Wrong(
                lambda cleared, behind, read: _up(behind * (1.25 - read) / cleared),
                "A request without the cleared tokens saves their read, not their input price: with a cache they were "
                "cheap to carry.",
            ),
            Wrong(
                lambda cleared, behind, read: math.floor(round(behind * (1.25 - read) / (cleared * read), 9)),
                "After that many requests a part is still owed: round up.",
            ),
        ),
        difficulty=2,
        worth=5,
        minutes=6,
    ),
    Exercise(
        id="03.3",
        title="What a compaction costs",
        cases=lambda: [
            Case((80_000, 3_500, 0.1), compaction(80_000, 3_500, 0.1)),
            Case((80_000, 3_500, 0.025), compaction(80_000, 3_500, 0.025)),
            Case((150_000, 5_000, 0.05), compaction(150_000, 5_000, 0.05)),
        ],
        solution=compaction,
        wrong=(
            Wrong(
                lambda span, summary, read: _WRITE * span / ((span - summary) * read),
                "The span is not written again, the summary is. This prices 80,000 tokens as if all of them came back.",
            ),
            Wrong(
                lambda span, summary, read: (read * span + (1 + _WRITE - read) * summary) / ((span - summary) * read),
                "The summary is the model's output, at 5 times the input price.",
            ),
            Wrong(
                lambda span, summary, read: (_OUTPUT + _WRITE - read) * summary / ((span - summary) * read),
                "The call that writes the summary has to read the span first.",
            ),
        ),
        difficulty=3,
        worth=4,
        minutes=8,
        extra=True,
        tolerance=2e-3,
    ),
)
