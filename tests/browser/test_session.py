"""The panel of a recorded session: a row is clicked, and figure and words follow, all in view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab import Notebook

pytestmark = pytest.mark.browser


def test_click_a_row_and_go_on_from_the_keyboard(open_notebook: Callable[[str], Notebook]) -> None:
    notebook = open_notebook("08_your_own_session.ipynb")
    notebook.run_all()
    (panel,) = notebook.panels()
    rows = panel.box.locator("select").first
    panel.control = rows  # what has to be in view together with figure and words
    panel.show()
    assert panel.hidden() == []
    first = panel.read()
    assert first[0].startswith("Request 18 wrote 60,627 tokens, the most of all: the pause of 22 min")
    rows.locator("option").nth(1).click()
    panel.page.wait_for_function("words => words.innerText.startsWith('Request 26')", arg=panel.words.element_handle())
    second = panel.read()
    assert "the context had been edited" in second[0]
    assert second[1] != first[1], "the figure did not change"
    rows.focus()
    panel.page.keyboard.press("ArrowUp")
    panel.page.wait_for_function("words => words.innerText.startsWith('Request 18')", arg=panel.words.element_handle())
    assert panel.hidden() == [], "after the change something moved out of view"
