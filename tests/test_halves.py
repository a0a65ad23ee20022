"""A choice on one half of some traces, scored on the other: every split, by hand on small frames."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pandas as pd
import pytest

from labkit.errors import InputError
from labkit.record.generate import scripted_run
from labkit.replay import halves as halves_module
from labkit.replay.choose import holdout
from labkit.replay.halves import halves
from labkit.replay.sweep import sweep


def frame(saved: dict[str, list[float]], barred: set[tuple[str, int]] = frozenset()) -> pd.DataFrame:
    """A sweep in which doing nothing costs 10 and each policy saves what is written."""
    rows = [
        (trace, p, 10.0, s, 1 if p else 0, "unread" if (trace, p) in barred else "")
        for trace, savings in saved.items()
        for p, s in enumerate([0.0, *savings])
    ]
    return pd.DataFrame(rows, columns=["trace", "policy", "cold", "net_low", "events", "disqualified"])


def test_each_split_is_chosen_on_and_scored() -> None:
    found = halves(frame({"a": [5.0, 2.0], "b": [-3.0, 2.0], "c": [-3.0, 2.0], "d": [-3.0, 2.0]}))
    # Six pairs: the three with a choose policy 2 (2 > 1), the three without it too.
    assert found.splits == 6
    assert found.choices == ((2, 6),)
    assert (found.here, found.there, found.low, found.high, found.dearer) == (0.2, 0.2, 0.2, 0.2, 0)


def test_luck_on_one_trace_does_not_travel() -> None:
    found = halves(frame({"a": [9.0], "b": [-2.0], "c": [-2.0]}))
    # Chosen on a alone: 90 % there, -20 % on the others. On b or on c: do nothing.
    assert (found.splits, found.nothing, found.dearer) == (3, 2, 1)
    assert found.here == pytest.approx(0.3)
    assert found.there == pytest.approx(-0.0667, abs=1e-4)
    assert (found.worst, found.best) == (-0.2, 0.0)


def test_a_choice_that_is_barred_elsewhere_is_counted() -> None:
    saved = {"a": [3.0], "b": [3.0]}
    assert halves(frame(saved)).barred == 0
    assert halves(frame(saved, {("b", 1)})).barred == 1


def test_of_many_traces_some_splits_are_drawn_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halves_module, "_MOST", 20)
    many = frame({f"t{i}": [i - 4.0] for i in range(8)})
    assert halves(many).splits == 20
    assert halves(many, seed=1) == halves(many, seed=1) != halves(many, seed=2)


def test_a_split_is_what_holdout_gives() -> None:
    runs = [scripted_run(30, seed=seed) for seed in (1, 2)]
    both = sweep(runs, {"trigger": [5_000, 20_000], "keep": [1, 5]}, engine="reference")
    parts = [part for _, part in both.groupby("trace", sort=False)]
    each = [holdout(parts[0], parts[1])[1].saving, holdout(parts[1], parts[0])[1].saving]
    assert halves(both).there == pytest.approx(sum(each) / 2, abs=1e-4)


def test_one_trace_has_no_halves() -> None:
    with pytest.raises(InputError, match="the sweep has 1 traces: give two or more"):
        halves(frame({"a": [1.0]}))


@pytest.mark.long
def test_the_kept_result_is_what_the_script_gives(corpus: Path, root: Path, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("halves_script", root / "scripts" / "halves.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    out = tmp_path / "halves.json"
    assert script.main([str(corpus), "--out", str(out)]) == 0
    made = json.loads(out.read_text(encoding="utf-8"))
    kept = json.loads((root / "data" / "results" / "halves.json").read_text(encoding="utf-8"))
    assert {**made, "as_of": ""} == {**kept, "as_of": ""}
