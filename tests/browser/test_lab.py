"""The lab as a person without a mouse meets it, in a real JupyterLab at 1280 x 720."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab import Notebook

pytestmark = pytest.mark.browser
Open = Callable[[str], "Notebook"]


NOTEBOOKS = sorted(path.name for path in (Path(__file__).parents[2] / "notebooks").glob("[0-9]*.ipynb"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_run_all_and_move_each_control_from_the_keyboard(open_notebook: Open, name: str) -> None:
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
        panel.reset(before[0])
        for control in panel.controls():
            label = panel.name(control)
            assert label, "a control without a name"
            start, moved = panel.change(control)
            assert moved[0] != start[0], f"{label}: the words did not change: {start[0]}"
            assert moved[1] != start[1], f"{label}: the figure did not change"
            panel.reset(before[0])
        assert panel.faults() == []


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
    assert [fault.split(":")[0] for fault in good.faults()] == ["aria-input-field-name"], "its slider has no name"


def test_a_failing_cell_is_seen(open_notebook: Open) -> None:
    notebook = open_notebook("failing.ipynb")
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        notebook.run_all()
