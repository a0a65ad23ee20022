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
    ("name", "panels"), [("tiny.ipynb", 1), ("00_start_here.ipynb", 1), ("02_compaction_ladder.ipynb", 1)]
)
def test_run_all_and_move_a_slider_from_the_keyboard(open_notebook: Open, name: str, panels: int) -> None:
    notebook = open_notebook(name)
    notebook.run_all()
    found = notebook.panels()
    assert len(found) >= panels, f"{len(found)} panels in {name}"
    for panel in found:
        panel.show()
        assert panel.hidden() == []
        before, after = panel.change()
        assert after[0] != before[0], f"the words did not change: {before[0]}"
        assert after[1] != before[1], "the figure did not change"
        assert panel.hidden() == [], "after the change something moved out of view"


def test_a_failing_cell_is_seen(open_notebook: Open) -> None:
    notebook = open_notebook("failing.ipynb")
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        notebook.run_all()
