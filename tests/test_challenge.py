"""The challenge: what looks cheap scores below doing nothing, and a shared line is scored again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.course.challenge import board, challenge, score
from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy


@pytest.mark.parametrize(
    "policy",
    [
        replace(load_policy("article"), keep=0),
        replace(Policy.nothing(), cap=50),
        replace(Policy.nothing(), cap=50, offload=False),
        Policy(trigger=1, floor=0, keep=None, compact_above=1, keep_recent=2),
    ],
    ids=["keep 0", "cap 50", "cap 50, rest lost", "compact every request"],
)
def test_what_looks_cheap_scores_below_nothing(policy) -> None:
    assert score(policy).points < 0


def test_doing_nothing_scores_nothing_and_a_fair_policy_more() -> None:
    assert score(Policy.nothing()).points == 0
    fair = score(replace(Policy.nothing(), trigger=60_000, floor=10_000, keep=4))
    assert not fair.disqualified
    assert fair.points > 0


def test_a_line_carries_the_policy_and_its_claim_is_not_believed() -> None:
    made = score(replace(Policy.nothing(), trigger=60_000, floor=10_000, keep=4, cap_of={"read": 500}))
    lines = [
        made.line.replace("%", "9%"),
        "labkit-challenge-1 +99% garbage",
        "labkit-challenge-1 +99% eJwDAA",
        "",
        "words",
    ]
    again = board(lines)
    assert [(b.policy, b.points) for b in again if b.policy == made.policy] == [(made.policy, made.points)]
    assert len(again) == 1


def test_the_board_is_in_order() -> None:
    policies = [Policy(keep=0), Policy.nothing(), replace(Policy.nothing(), trigger=60_000, floor=10_000, keep=4)]
    assert [b.policy for b in board([score(p).line for p in policies])] == policies[::-1]


def test_it_never_raises(capsys) -> None:
    for given in ({"keep": -1}, "no such preset", {"kep": 3}):
        challenge(given)
    out = capsys.readouterr().out
    assert out.count("not scored:") == 3
    challenge({"keep": 0})
    assert "disqualified:" in capsys.readouterr().out
