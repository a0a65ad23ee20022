"""What a panel is before it is wired: controls, and for every setting a view. Plain values, no widgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.show.style import Spec

__all__ = ["Control", "Setup", "View"]


@dataclass(frozen=True)
class Control:
    """One setting of a panel: a slider with a number box, or a choice.

    Parameters
    ----------
    name : str
        Key of its value.
    label : str
        What people read, unit included.
    value : int or str
        At the start.
    low, high, step : int
        Of a slider.
    choices : mapping
        Of a choice: what people read, and the value it stands for.
    more : bool
        Whether it stands under "more".
    rows : int
        Of a choice: so many stand below each other, to be clicked; 0 for a menu.
    """

    name: str
    label: str
    value: Any
    low: int = 0
    high: int = 0
    step: int = 1
    choices: Mapping[str, Any] = field(default_factory=dict)
    more: bool = False
    rows: int = 0


@dataclass(frozen=True)
class View:
    """What a panel shows for one setting: a figure, four numbers with their notes, and words."""

    figure: Spec
    numbers: tuple[tuple[str, str, str], ...]
    words: str


@dataclass(frozen=True)
class Setup:
    """A panel before it is wired.

    Parameters
    ----------
    key : str
        A new panel of the same key replaces the old one.
    controls : tuple of Control
    draw : callable
        From a value for each control to a View; raises LabError where the setting cannot be shown.
    code : str
        How to draw the same without a panel.
    note : str
        Words under "more".
    trouble : str
        What is wrong with how the panel was asked for.
    fallback : Spec, optional
        Shown while the first setting cannot be drawn.
    reset : callable
        Forgets what the panel remembers.
    """

    key: str
    controls: tuple[Control, ...]
    draw: Callable[[Mapping[str, Any]], View]
    code: str
    note: str = ""
    trouble: str = ""
    fallback: Spec | None = None
    reset: Callable[[], None] = lambda: None
