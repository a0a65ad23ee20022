"""Over the sourced range and not on a grid; re-reads predicted and made; records that leave something out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from labkit import cli
from labkit.bench1.bench import Cell, cell
from labkit.bench1.filler import filler_text, occupancies
from labkit.bench1.maps import EARLY, drop_at, map_cells, reread_check, sampled, share, sourced_range
from labkit.bench1.run import curves
from labkit.errors import InputError
from labkit.files import data_path
from labkit.record.tokens import get_counter
from labkit.show.bench_views import cells_of


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(data_path("results", "bench1.json").read_text(encoding="utf-8"))
    return found


def test_points_spread_evenly_over_the_range_and_are_always_the_same() -> None:
    made = sampled(6, hazard=True, seeds=1, jobs=1)
    assert made == sampled(6, hazard=True, seeds=1, jobs=1)
    reach = sourced_range()
    for name, (low, high) in reach.items():
        values = [getattr(c, name) for c in made]
        assert all(low <= v <= high for v in values) and len(set(values)) == 6
        middle = (low * high) ** 0.5 if low else (low + high) / 2
        assert 2 <= sum(v < middle for v in values) <= 4, name
    assert {c.hazard for c in sampled(2, hazard=False, seeds=1, jobs=1)} == {0.0}
    with pytest.raises(InputError, match="points is 0"):
        sampled(0, hazard=False)


def test_the_share_by_hand() -> None:
    """Twenty of twenty against none wins, the reverse loses, one more ties: a quarter, a quarter, a half."""
    pairs = [(20, 0), (0, 20), (11, 10), (7, 7)]
    made = share([Cell(1.0, 1.0, 0.0, 1, 20, a, b) for a, b in pairs])
    assert (made["wins"][0], made["ties"][0], made["loses"][0]) == (1, 2, 1)
    assert (made["more"], made["same"], made["fewer"]) == (2, 1, 1)
    # Wilson's interval of 1 of 4: (1 + z z / 2 -+ z sqrt(3 / 4 + z z / 4)) / (4 + z z).
    assert made["wins"][1:] == [pytest.approx(0.0456, abs=1e-4), pytest.approx(0.6994, abs=1e-4)]


@pytest.mark.parametrize("name", ["hazard_0", "hazard_varies"])
def test_the_share_on_file_is_that_of_its_points(kept: dict[str, Any], name: str) -> None:
    found = kept["share"][name]
    rows = [dict(zip(found["columns"], json.loads(row), strict=True)) for row in found["rows"]]
    cells = [Cell(runs=20, **row) for row in rows]
    assert len(cells) == found["points"] == 200
    assert share(cells) == {key: value for key, value in found.items() if key not in ("columns", "rows")}
    # A point made again.
    point = next(c for c in cells if 0 < c.budgeted < 20)
    again = cell(point.half, point.hazard, point.window, k=point.k, seeds=20)
    assert (again.budgeted, again.unbounded) == (point.budgeted, point.unbounded)


def test_rereads_are_predicted_where_an_agent_forgets(kept: dict[str, Any]) -> None:
    perfect, steep = reread_check(3), reread_check(6, curves()["Llama 3.3 70B, NoLiMa"])
    assert (perfect.predicted, perfect.made, perfect.error) == (0, 0, 0.0)
    assert steep.predicted > 0 and steep.made > 0
    assert steep.error == pytest.approx(sum(abs(p - m) for _, p, m in steep.rows) / 6)
    rows = kept["rereads"]
    assert [row["name"] for row in rows] == ["perfect", *curves()]
    # In sum over all curves the replay is not off by more than a third.
    predicted, made = (sum(row[n] for row in rows) for n in ("predicted", "made"))
    assert abs(predicted - made) <= made / 3


def test_with_early_hand_offs_a_careless_record_fails_where_a_faithful_one_passes(kept: dict[str, Any]) -> None:
    faithful, careless = (cell(None, seeds=2, drop=drop, hand_off=EARLY) for drop in (0, 1))
    assert (faithful.budgeted, careless.budgeted) == (2, 0)
    assert faithful.unbounded == careless.unbounded == 2
    verdicts = {name: [c.verdict for c in cells_of(kept, record=name)] for name in ("faithful", "early", "careless")}
    assert "wins" in verdicts["faithful"] and "wins" in verdicts["early"] and "loses" in verdicts["careless"]
    assert "loses" not in verdicts["faithful"] and "wins" not in verdicts["careless"]
    with pytest.raises(InputError, match="record is 'lazy'"):
        cells_of(kept, record="lazy")


def test_the_map_does_not_depend_on_how_many_processes_make_it() -> None:
    asked = ([40_000], [0.0], [200_000])
    assert map_cells(*asked, seeds=1, jobs=1) == map_cells(*asked, seeds=1, jobs=2)


def test_where_the_pass_rate_drops(kept: dict[str, Any]) -> None:
    rows = [tuple(row) for row in kept["occupied"]["rows"]]
    assert drop_at(rows, 20) == 16_000
    assert drop_at([(0, 10), (1, 9)], 20) is None
    # A fall that is made good again is no drop from there on.
    assert drop_at([(0, 18), (1, 3), (2, 18), (3, 2)], 20) == 3


def test_the_command_line_measures_a_budget(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["bench1", "--seeds", "2", "--occupied", "0,64000", "--curve", "GPT-4o, NoLiMa"]
    assert cli.main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["simulated"] and set(found["occupied"]) == {"unbounded", "budgeted"}
    assert [row[0] for row in found["occupied"]["budgeted"]["rows"]] == [0, 64_000]
    assert cli.main(asked) == 0
    assert "64,000 tokens there before: 0 of 2 pass, 0% to 66%" in capsys.readouterr().out
    for given in ("", "a", "5,5", "-1,3"):
        with pytest.raises(InputError, match="--occupied is"):
            occupancies(given)


def test_what_fills_a_window_is_as_large_as_asked_and_of_no_use() -> None:
    count = get_counter().count
    for tokens in (1, 5_000, 20_000):
        text = filler_text(tokens)
        assert 0.98 * tokens <= count(text) < tokens + 250 and text == filler_text(tokens)
        assert "queryRaw" not in text and "db" not in text
