"""Where a trace meets a closed form's assumptions, a sweep finds the same optimum; where not, it says by how much."""

from __future__ import annotations

import math

import pytest

from labkit.errors import InputError
from labkit.files import data_path
from labkit.price.prices import Prices
from labkit.record.load import load
from labkit.replay import fastpath
from labkit.replay.closed_forms import batch_check, lifetime_check, plain_run, steady_run

pytestmark = pytest.mark.skipif(not fastpath.available(), reason="the extra fast is not installed")


@pytest.mark.parametrize("read", [0.1, 0.025])
@pytest.mark.parametrize("keep", [2, 10])
def test_on_a_steady_run_the_formula_names_the_best_floor(keep: int, read: float) -> None:
    found = batch_check(steady_run(), keep, Prices.from_multipliers(read=read))
    assert found.dearer < 0.01
    # The optimum is flat and floors act in whole results, here of 400 tokens.
    assert abs(found.best - found.formula) < max(600, 0.15 * found.formula)
    assert found.nothing > 1


def test_on_an_uneven_run_it_does_not_and_re_reads_part_them_further() -> None:
    run = load(data_path("traces", "invoice-60.jsonl"))
    plain, whole = (batch_check(r, 3, Prices.from_multipliers()) for r in (plain_run(run), run))
    assert plain.formula == whole.formula
    assert 0.01 < plain.dearer < whole.dearer


@pytest.mark.parametrize("read", [0.1, 0.05])
def test_one_pause_pays_for_the_long_lifetime_from_the_request_on_that_the_formula_names(read: float) -> None:
    found = lifetime_check(Prices.from_multipliers(read=read), requests=40)
    assert found.swept == math.ceil(found.formula)


def test_keep_0_is_refused() -> None:
    with pytest.raises(InputError, match="keep is 0: give 1 or more"):
        batch_check(steady_run(5), 0, Prices.from_multipliers())
