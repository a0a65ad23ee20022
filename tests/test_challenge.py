"""The challenge: what looks cheap scores below doing nothing, and a shared line is scored again."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.course.challenge import Board, board, challenge, score
from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy

NOTHING = Policy.nothing()
FAIR = replace(NOTHING, trigger=20_000, floor=5_000, keep=2)
OVERFITTED = replace(NOTHING, trigger=70_000, floor=10_000, keep=4)
"""What a grid of triggers, floors and keeps finds best on support-40 alone."""


@pytest.mark.parametrize(
    "policy",
    [
        replace(load_policy("article"), keep=0),
        replace(NOTHING, trigger=30_000, floor=0, keep=0),
        replace(NOTHING, cap=50),
        replace(NOTHING, cap=50, offload=False),
        Policy(trigger=1, floor=0, keep=None, compact_above=1, keep_recent=2),
        replace(NOTHING, trigger=1, floor=0, compact_above=1, keep_recent=10),
    ],
    ids=["keep 0", "keep 0, no floor", "cap 50", "cap 50, rest lost", "compact every request", "with ten kept"],
)
def test_what_looks_cheap_scores_below_nothing(policy: Policy) -> None:
    assert score(policy).points < score(NOTHING).points == 0


def test_compacting_at_every_request_is_dear_and_not_only_forbidden() -> None:
    made = score(replace(NOTHING, trigger=1, floor=0, compact_above=1, keep_recent=10))
    assert not made.disqualified
    assert max(made.here, made.cheap, made.unseen) < 0


def test_a_fair_policy_scores_more_than_nothing() -> None:
    fair = score(FAIR)
    assert not fair.disqualified
    assert min(fair.here, fair.cheap, fair.unseen) > 0


def test_cheaper_reads_leave_less_to_save() -> None:
    assert score(FAIR).cheap < score(FAIR).here


def test_a_policy_that_fits_one_run_falls_behind_on_the_others() -> None:
    best_here, fair = score(OVERFITTED), score(FAIR)
    assert best_here.here > fair.here
    assert best_here.unseen < fair.unseen
    assert best_here.points < fair.points


# -- the board ----------------------------------------------------------------------------------


def packed(values: Any) -> str:
    text = values if isinstance(values, bytes) else json.dumps(values).encode()
    return base64.urlsafe_b64encode(zlib.compress(text)).decode().rstrip("=")


def test_a_line_carries_the_policy_and_what_stands_before_it() -> None:
    made = score(replace(NOTHING, trigger=60_000, floor=10_000, keep=4, cap_of={"read": 500}))
    pasted = ["> Anna and Ben: " + made.line, "", "hello", made.line + "  well done"]
    again = board(pasted)
    assert [(b.policy, b.points) for b in again] == [(made.policy, made.points)] * 2
    assert again.labels == ("> Anna and Ben", "")
    assert again.refused == ()
    assert board("\n".join(pasted)) == again
    assert again[0] == again.scores[0]


def test_the_board_is_in_order_and_reads_as_a_table() -> None:
    policies = [Policy(keep=0), NOTHING, FAIR]
    found = board([score(p).line for p in policies])
    assert [b.policy for b in found] == policies[::-1]
    table = repr(found).splitlines()
    assert [line.split()[0] for line in table] == ["place", "1", "2", "3", "disqualified:"]
    assert "trigger=20000" in table[1]


def refusal(line: str) -> str:
    found = board([line])
    assert len(found) == 0, found
    (sentence,) = found.refused
    assert sentence.startswith("line 1 is refused: ")
    assert "\n" not in sentence and len(sentence) < 600
    return sentence.removeprefix("line 1 is refused: ")


def test_a_changed_claim_is_refused_with_the_true_score() -> None:
    made = score(FAIR)
    assert refusal(made.line.replace(f"{made.points:+.1%}", "+99.0%")) == (
        f"it claims +99.0%, and its policy scores {made.points:+.1%}"
    )


BOMB = zlib.compress(b" " * 50_000_000)
HOSTILE = {
    "nothing behind the mark": "",
    "no policy": "+9.0%",
    "no base64": "+9.0% ???",
    "no zlib": "+9.0% aGVsbG8",
    "no JSON": "+9.0% " + packed(b"{"),
    "a list": "+9.0% " + packed([1]),
    "a number": "+9.0% " + packed(3),
    "deep": "+9.0% " + packed(b"[" * 15_000),
    "a bomb": f"+9.0% {base64.urlsafe_b64encode(BOMB).decode()}",
    "an unknown field": "+9.0% " + packed({"trigr": 3}),
    "a value that does not fit": "+9.0% " + packed({"keep": -1}),
    "another type": "+9.0% " + packed({"keep": "x"}),
    "a list where a number belongs": "+9.0% " + packed({"trigger": [1]}),
    "not a number": "+9.0% " + packed(b'{"trigger": NaN}'),
    "infinite": "+9.0% " + packed(b'{"trigger": 1e999}'),
    "code": "+9.0% " + packed({"__class__": "os.system"}),
}


@pytest.mark.parametrize("rest", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_line_is_refused_in_one_sentence(rest: str) -> None:
    assert refusal(f"labkit-challenge-2 {rest}")


def test_each_damaged_copy_of_a_line_is_refused() -> None:
    line = score(FAIR).line
    start = line.index(" ") + 1
    for at in range(start, len(line)):
        assert refusal(line[:at])  # cut off
        other = "A" if line[at] != "A" else "B"
        changed = board([line[:at] + other + line[at + 1 :]])
        assert changed.refused or changed[0].line == line  # the last character has bits that mean nothing


@given(st.one_of(st.text(), st.text(alphabet="ABCab01-_+%. ").map(lambda t: f"labkit-challenge-2 +1.0% {t}")))
def test_no_line_makes_the_board_raise(line: str) -> None:
    assert isinstance(board([line]), Board)


def test_what_is_no_text_is_passed_over_and_too_many_lines_are_said() -> None:
    line = score(NOTHING).line
    assert len(board([None, 3, b"x", line])) == 1  # type: ignore[list-item]
    many = board([line] * 501)
    assert (len(many), len(many.refused)) == (500, 1)


# -- never raises -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy",
    [{"keep": -1}, "no such preset", {"kep": 3}, None, 3, [], ["article"], object(), "\0", "x" * 10_000, {1: 2},
     {"trigger": float("nan")}, {"trigger": "many"}, {"preset": "no such"}, lambda: 1],
    ids=repr,
)  # fmt: skip
def test_it_never_raises(policy: Any, capsys: pytest.CaptureFixture[str]) -> None:
    challenge(policy)
    said = capsys.readouterr().out
    assert said.startswith("not scored: ")
    assert said.count("\n") == 1


def test_an_object_that_raises_everywhere_is_no_policy(capsys: pytest.CaptureFixture[str]) -> None:
    class Bad:
        @property
        def __class__(self) -> type:  # type: ignore[override]
            raise RuntimeError("no")

    challenge(Bad())
    assert "is no policy" in capsys.readouterr().out


def test_it_says_why_a_policy_does_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    challenge({"keep": 0})
    said, line = capsys.readouterr().out.splitlines()
    assert said.startswith("disqualified: ")
    assert len(board([line])) == 1
