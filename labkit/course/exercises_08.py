"""Exercises of notebook 08: why something was written again, and whether a longer lifetime pays."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.course.exercise import Case, Exercise, Wrong

__all__ = ["EXERCISES"]

LIVES = 300


def cause(kept: int, read: int, pause: float, edited: bool) -> str:
    """Why a request wrote what it wrote, from what the request before left and the clock."""
    if edited:
        return "edit"
    if pause > LIVES:
        return "expired" if read == 0 else "unexplained"
    return "growth" if abs(read - kept) <= 0.01 * kept else "unexplained"


def _clock_only(kept: int, read: int, pause: float, edited: bool) -> str:
    if edited:
        return "edit"
    return "expired" if pause > LIVES else "growth"


def _no_clock(kept: int, read: int, pause: float, edited: bool) -> str:
    if edited:
        return "edit"
    if abs(read - kept) <= 0.01 * kept:
        return "growth"
    return "expired" if read == 0 else "unexplained"


def _falls_are_edits(kept: int, read: int, pause: float, edited: bool) -> str:
    right = cause(kept, read, pause, edited)
    return "edit" if right == "unexplained" else right


def _pause_first(kept: int, read: int, pause: float, edited: bool) -> str:
    return "expired" if pause > LIVES and read == 0 else cause(kept, read, pause, edited)


def one_hour_saves(requests: Sequence[tuple[float, int, int]]) -> float:
    """What a 1-hour lifetime saves over one of 5 minutes, in tokens at the input price."""
    return _cost(requests, LIVES, 1.25) - _cost(requests, 3_600, 2.0)


def _cost(requests: Sequence[tuple[float, int, int]], lives: float, write: float, read: float = 0.1) -> float:
    total = 0.0
    for pause, kept, new in requests:
        total += write * (kept + new) if pause > lives else read * kept + write * new
    return total


SENTENCES = {
    "a": "What a cache lifetime of an hour would have cost may be worked out for this session.",
    "b": "The saving of clearing is right within 2 %.",
    "c": "The agent would have done the same work with the results cleared.",
    "d": "The requests that read otherwise than predicted have no explanation yet.",
    "e": "The next session will come out at 98 % too.",
}
ALLOWED = {"a": True, "b": False, "c": False, "d": True, "e": False}

EXERCISES = (
    Exercise(
        id="08.1",
        title="Why was it written?",
        cases=lambda: [
            Case((20_592, 20_592, 20, False), "growth"),
            Case((60_561, 0, 1_322, False), "expired"),
            Case((86_361, 18_214, 12, True), "edit"),
            Case((60_000, 0, 40, False), "unexplained"),
            Case((60_000, 14_000, 12, False), "unexplained"),
            Case((60_000, 60_000, 900, False), "unexplained"),
            Case((80_000, 0, 2_000, True), "edit"),
            Case((50_000, 49_700, 300, False), "growth"),
        ],
        solution=cause,
        wrong=(
            Wrong(
                _clock_only,
                "This never looks at what was read. A pause predicts that the entry is gone; only the record says "
                "whether it was.",
            ),
            Wrong(
                _no_clock,
                "This calls every read of 0 expired. Within 5 minutes an entry should have lived: something else "
                "happened, and the record does not say what.",
            ),
            Wrong(
                _falls_are_edits,
                "This takes every fall for an edit. Without an edit in the record it is unexplained: a cause that "
                "is guessed makes the score look better than it is.",
            ),
            Wrong(
                _pause_first,
                "With an edit in the record the pause proves nothing: the rewrite was due anyway. Ask for the edit "
                "first.",
            ),
        ),
        difficulty=2,
        worth=4,
        minutes=8,
    ),
    Exercise(
        id="08.2",
        title="Does an hour pay?",
        cases=lambda: [
            Case(([(60, 10_000, 1_000)],), -750.0),
            Case(([(1_200, 60_000, 600)],), 68_550.0),
            Case(([(7_200, 60_000, 600)],), -45_450.0),
            Case(([(20, 0, 146_000), (1_200, 60_000, 600)],), -40_950.0),
            Case(([(300, 10_000, 0), (3_600, 10_000, 0)],), 11_500.0),
        ],
        solution=one_hour_saves,
        wrong=(
            Wrong(
                lambda requests: _cost(requests, LIVES, 1.25) - _cost(requests, 3_600, 1.25),
                "This prices all writes alike. With the longer lifetime every write costs 2, also those that no "
                "pause threatens.",
            ),
            Wrong(
                lambda requests: _cost(requests, LIVES, 1.25) - _cost(requests, 1e12, 2.0),
                "This saves every pause. After more than an hour the longer entry is gone too, and its write was "
                "dearer.",
            ),
            Wrong(
                lambda requests: _cost(requests, LIVES, 1.25) - _cost(requests, 3_600, 2.0, 0.0),
                "This reads for nothing. What is still in the cache is read, at 0.1, under both lifetimes.",
            ),
            Wrong(
                lambda requests: -one_hour_saves(requests),
                "That is what the hour costs more. A saving is the old cost less the new one.",
            ),
        ),
        difficulty=3,
        worth=5,
        minutes=8,
    ),
    Exercise(
        id="08.3",
        title="What 98 % allows one to say",
        cases=lambda: [Case((key,), ALLOWED[key], f"{key}: {words}") for key, words in SENTENCES.items()],
        solution=ALLOWED,
        wrong=(
            Wrong(
                dict.fromkeys(SENTENCES, True),
                "The score is about what the cache read in this session as it ran. It is no error bar of a saving: "
                "that has a range of its own, for what a summary and a second reading would have cost.",
            ),
            Wrong(
                {**ALLOWED, "c": True},
                "The score never saw the agent do without a result. A replay is open-loop: it prices the recorded "
                "actions, and what the agent would have done instead is not known.",
            ),
            Wrong(
                {**ALLOWED, "e": True},
                "One session is one session. The next may have edits, or another version of the harness: score it too.",
            ),
            Wrong(
                {**ALLOWED, "a": False},
                "That is what the score is for. A lifetime changes nothing the agent sees, only what is still in the "
                "cache, and that is what the model has just predicted.",
            ),
            Wrong(
                {**ALLOWED, "d": False},
                "The rest is not rounding: those requests read something else, and the lab calls them unexplained.",
            ),
        ),
        difficulty=2,
        worth=5,
        minutes=5,
        extra=True,
    ),
)
