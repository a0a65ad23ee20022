"""The lab as a person without a mouse meets it, in a real JupyterLab at 1280 x 720."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab import Notebook

pytestmark = pytest.mark.browser
Open = Callable[[str], "Notebook"]


@pytest.mark.parametrize(
    "name",
    [
        "00_start_here.ipynb",
        "02_compaction_ladder.ipynb",
        "03_cache_costs.ipynb",
        "04_memory.ipynb",
        "05_handoff_artifacts.ipynb",
        "06_subagent_isolation.ipynb",
        "09_parameter_sweeps.ipynb",
    ],
)
def test_run_all_and_move_a_slider_from_the_keyboard(open_notebook: Open, name: str) -> None:
    notebook = open_notebook(name)
    notebook.run_all()
    panels = notebook.panels()
    assert panels, f"no panel in {name}"
    for panel in panels:
        panel.show()
        assert panel.hidden() == []
        before, after = panel.change()
        assert after[0] != before[0], f"the words did not change: {before[0]}"
        assert after[1] != before[1], "the figure did not change"
        assert panel.hidden() == [], "after the change something moved out of view"


def test_the_check_tells_good_panels_from_bad_ones(open_notebook: Open) -> None:
    """Three panels of plain HTML: one that works, one whose slider moves nothing, one too tall to see at once."""
    notebook = open_notebook("panels.ipynb")
    notebook.run_all()
    good, dead, tall = notebook.panels()
    good.show()
    assert good.hidden() == []
    before, after = good.change()
    assert (before[0], after[0]) == ("The top is 3.", "The top is 4.")
    assert after[1] != before[1]
    dead.show()
    before, after = dead.change(seconds=1)
    assert before == after
    tall.show()
    assert [what.split()[0] for what in tall.hidden()] == ["control", "figure", "words"]


def test_a_failing_cell_is_seen(open_notebook: Open) -> None:
    notebook = open_notebook("failing.ipynb")
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        notebook.run_all()
