"""Sweeps: the same rows from either engine, exact costs, interrupted and resumed, and what is chosen."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import product
from random import Random

import pandas as pd
import pytest

from labkit.errors import InputError
from labkit.files import data_path
from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import cache_rules
from labkit.price.prices import prices
from labkit.record.generate import scripted_run
from labkit.record.load import load
from labkit.replay import fastpath
from labkit.replay import sweep as sweep_module
from labkit.replay.bill import bill
from labkit.replay.choose import choose, frontier, holdout, knee
from labkit.replay.grids import grid, latin_hypercube, random_sample
from labkit.replay.net import net
from labkit.replay.replay import replay
from labkit.replay.sweep import sweep
from labkit.replay.sweep_part import Work

AXES = {"trigger": [10_000, 30_000, 60_000], "keep": [0, 1, 3, 10], "floor": [0, 10_000]}
CARD = prices("article")

needs_numba = pytest.mark.skipif(not fastpath.available(), reason="the extra fast is not installed")


@pytest.fixture(scope="module")
def runs():
    return [load(data_path("traces", f"{name}.jsonl")) for name in ("invoice-60", "support-40")]


def same(a: pd.DataFrame, b: pd.DataFrame, *, but: tuple[str, ...] = ()) -> None:
    pd.testing.assert_frame_equal(a.drop(columns=list(but)), b.drop(columns=list(but)), check_dtype=False)


@needs_numba
def test_either_engine_gives_the_same_frame(runs) -> None:
    fast, slow = (sweep(runs, AXES, engine=engine) for engine in ("auto", "reference"))
    assert set(fast["engine"]) == {"fast"}
    assert set(slow["engine"]) == {"reference"}
    same(fast, slow[fast.columns], but=("engine",))


def test_the_costs_are_those_of_a_bill(runs) -> None:
    axes = {**AXES, "lifetime": ["5m"], "keep_alive": [0, 2]}
    frame = sweep(runs[0], axes, base="article")
    policies = [Policy.nothing(), *grid(axes, "article")]
    summarizer = SizedSummarizer()
    nothing = replay(runs[0], Policy.nothing(), summarizer=summarizer)
    for row in frame.sample(12, random_state=1).to_dict("records"):
        run = replay(runs[0], policies[row["policy"]], summarizer=summarizer)
        charged = bill(run, CARD)
        for column in ("plain", "cached", "cold", "summaries", "reread"):
            assert row[column] == pytest.approx(getattr(charged, column), abs=1e-9), column
        assert row["reread_dear"] == pytest.approx(charged.reread_high, abs=1e-9)
        parts = net(run, nothing, CARD)
        assert (row["net_low"], row["net_high"]) == (pytest.approx(parts.low), pytest.approx(parts.high))
        assert bool(row["disqualified"]) == bool(parts.disqualified)


def test_what_the_fast_engine_cannot_do_goes_through_the_reference(runs) -> None:
    frame = sweep(runs[1], [load_policy("article"), replace(load_policy("article"), cap=2_000)])
    assert list(frame["engine"][1:]) == (["fast", "reference"] if fastpath.available() else ["reference"] * 2)
    assert frame["offloaded"].iloc[2] == 7
    provider = sweep(runs[1], {"keep": [3]}, rules=cache_rules("claude-sonnet-4-5"), prices=prices("claude-sonnet-4-5"))
    assert set(provider["engine"]) == {"reference"}
    charged = bill(
        replay(runs[1], load_policy("default"), cache_rules("claude-sonnet-4-5"), summarizer=SizedSummarizer()),
        prices("claude-sonnet-4-5"),
    )
    assert provider["cold"].iloc[1] == pytest.approx(charged.cold)


def test_traces_of_one_name_stay_apart(runs) -> None:
    other = replace(runs[1], name=runs[0].name)
    frame = sweep([runs[0], other, runs[0]], {"keep": [1, 5]}, base="article", engine="reference")
    assert list(frame["trace"]) == [n for n in ("invoice-60", "invoice-60 (2)", "invoice-60 (3)") for _ in range(3)]
    alone = sweep(other, {"keep": [1, 5]}, base="article", engine="reference")
    assert list(frame["net_low"][3:6]) == list(alone["net_low"])
    assert choose(frame).traces == 3


def test_a_trim_goes_through_the_reference_and_its_row_says_so(runs) -> None:
    only = Policy(window=None, trigger=10_000, floor=0, keep=None, compact_above=None)
    frame = sweep(runs[1], {"trim": [None, 0.5]}, base=only)
    assert list(frame["engine"][1:]) == (["fast", "reference"] if fastpath.available() else ["reference"] * 2)
    trimmed = replay(runs[1], replace(only, trim=0.5))
    assert frame["input"].iloc[2] == trimmed.input < frame["input"].iloc[1]


def test_interrupted_and_resumed(runs, tmp_path, monkeypatch) -> None:
    pytest.importorskip("pyarrow", reason="the extra fast is not installed")
    monkeypatch.setattr(sweep_module, "PART", 5)
    whole = sweep(runs, AXES)
    made = []
    part = Work.part

    def until_interrupted(job, trace, at):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append((trace.name, at))
        return part(job, trace, at)

    monkeypatch.setattr(Work, "part", until_interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(runs, AXES, out=tmp_path)
    torn = sorted(tmp_path.rglob("*.parquet"))
    assert len(torn) == 3
    torn[0].write_bytes(torn[0].read_bytes()[:40])
    again = []
    monkeypatch.setattr(Work, "part", lambda job, trace, at: again.append(at) or part(job, trace, at))
    same(sweep(runs, AXES, out=tmp_path), whole)
    assert len(again) == 2 * 5 - 2  # ten parts; two of three were whole
    again.clear()
    same(sweep(runs, AXES, out=tmp_path), whole)
    assert again == []
    sweep(runs, {**AXES, "keep": [2]}, out=tmp_path)
    assert again  # another grid is another job


def test_a_refused_policy_is_a_row_and_not_an_error() -> None:
    trace = scripted_run(20, seed=3)
    assert any(b.kind == "thinking" for b in trace.blocks)
    rules = cache_rules("claude-opus-5-5")
    frame = sweep(trace, [Policy(trigger=1_000, floor=0, compact_above=None, window=None)], rules=rules)
    assert frame["disqualified"].iloc[1] == "refused"
    assert "binds to the exact prefix" in frame["refused"].iloc[1]
    assert choose(frame).nothing


def test_grids() -> None:
    assert len(grid(AXES)) == 24
    # A trigger above the window is left out.
    assert [p.trigger for p in grid({"trigger": [100, 300_000]})] == [100]
    drawn = random_sample({"trigger": range(1_000, 90_000), "keep": range(9)}, 40, seed=3)
    assert drawn == random_sample({"trigger": range(1_000, 90_000), "keep": range(9)}, 40, seed=3)
    assert drawn != random_sample({"trigger": range(1_000, 90_000), "keep": range(9)}, 40, seed=4)
    spread = latin_hypercube({"trigger": range(1, 101), "keep": range(10)}, 10)
    assert sorted((p.trigger - 1) // 10 for p in spread) == list(range(10))
    assert sorted(p.keep for p in spread) == list(range(10))


def test_a_grid_holds_what_making_each_policy_by_itself_gives() -> None:
    """A grid makes each check once; policies that contradict themselves are left out all the same."""
    choices: dict[str, list[object]] = {
        "window": [None, 900, 20_000],
        "trigger": [None, 0.5, 3, 800, 30_000, -1],
        "trigger_by": ["tokens", "fraction", "tool_uses", "words"],
        "compact_above": [None, 500, 1_000],
        "hand_off_above": [None, 950],
        "keep": [0, None, -2, True, 1.0],
        "keep_by": ["results", "pages"],
        "pinned": [["a"], [], frozenset({"b"}), "c"],
        "cap_of": [{"a": 3}, {}, ()],
        "evict": [["edited"], ["nothing"]],
        "only_cold": [None, 0, -1],
        "trim": [None, 0.5, 2],
    }
    rng = Random(6)
    start = load_policy("default").to_dict()
    compared = 0
    for _ in range(150):
        axes = {
            name: rng.sample(v, rng.randint(1, min(3, len(v)))) for name, v in rng.sample(sorted(choices.items()), 4)
        }
        expected = []
        for values in product(*axes.values()):
            with suppress(InputError):
                expected.append(Policy(**{**start, **dict(zip(axes, values, strict=True))}))
        if expected:
            made = grid(axes)
            assert [vars(policy) for policy in made] == [vars(policy) for policy in expected]
            compared += len(made)
        else:
            with pytest.raises(InputError, match="no combination is a policy"):
                grid(axes)
    assert compared > 300


@pytest.mark.parametrize(
    ("axes", "sentence"),
    [
        ({"triger": [1]}, "unknown policy field 'triger', did you mean 'trigger'"),
        ({"keep": []}, "keep has no values"),
        ({"keep": 3}, "keep is 3: give a list of values"),
        ({"keep": "35"}, "keep is '35': give a list of values"),
        ({"keep": [-1]}, "no combination is a policy: keep is -1"),
    ],
)
def test_a_wrong_grid_is_a_sentence(axes, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        grid(axes)


def test_choosing(runs) -> None:
    frame = sweep(runs[0], AXES, base="article")
    front = frontier(frame)
    assert (front["disqualified"] == "").all()
    assert list(front["policy"])[-1] == 0
    assert list(front["net_low"]) == sorted(front["net_low"], reverse=True)
    for row in front.to_dict("records"):  # nothing qualified beats a point in both
        better = frame[
            (frame["disqualified"] == "")
            & (frame["net_low"] > row["net_low"] + 1e-9)
            & (frame["uses_after_clear"] <= row["uses_after_clear"])
        ]
        assert better.empty
    assert knee(front) in set(front["policy"])
    chosen = choose(frame)
    best = frame[frame["disqualified"] == ""]["net_low"].max()
    nothing = frame.loc[0, "cold"]
    assert chosen.saving >= best / nothing - 0.005
    assert not frame.loc[frame["policy"] == chosen.policy, "disqualified"].iloc[0]
    both = sweep(runs, AXES, base="article")
    parts = [both[both["trace"] == name] for name in ("invoice-60", "support-40")]
    trained, scored = holdout(parts[0], parts[1])
    assert trained.policy == scored.policy
    assert scored.saving != trained.saving
    with pytest.raises(InputError, match="a frontier is of one trace"):
        frontier(both)


def test_doing_nothing_wins_where_nothing_helps() -> None:
    """A run that fits: whatever a policy does only breaks the cache."""
    frame = sweep(scripted_run(8, seed=1), {"trigger": [500, 1_000], "keep": [1, 3], "floor": [0]}, base="article")
    cheap = sweep(
        scripted_run(8, seed=1), {"trigger": [500], "keep": [1]}, prices=replace(CARD, cache_read=0.0), base="article"
    )
    assert choose(cheap).nothing
    assert (frame["policy"] == 0).sum() == 1
