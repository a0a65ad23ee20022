"""How well a recorded child's prompts are predicted by those who did not see its own recorded growth."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from labkit.record.growth import _fit, steps_of
from labkit.record.sizes import measure
from labkit.record.trace import Trace

__all__ = ["HeldOut", "held_out"]


@dataclass(frozen=True)
class HeldOut:
    """A child's prompts, recorded and predicted.

    Parameters
    ----------
    name : str
        Of the child.
    recorded, predicted : tuple of int
        Tokens of each prompt with a recorded usage. The first is given, the others follow from what was added.
    """

    name: str
    recorded: tuple[int, ...]
    predicted: tuple[int, ...]

    @property
    def total_error(self) -> float:
        """By what part all prompts together, which are what is billed, are predicted too large."""
        return sum(self.predicted) / sum(self.recorded) - 1

    @property
    def last_error(self) -> float:
        """By what part the last prompt is predicted too large."""
        return self.predicted[-1] / self.recorded[-1] - 1

    @property
    def growth_error(self) -> float:
        """By what part the growth from the first prompt to the last is predicted too large."""
        grown = self.recorded[-1] - self.recorded[0]
        return (self.predicted[-1] - self.predicted[0]) / grown - 1 if grown else 0.0

    def __str__(self) -> str:
        return (
            f"{self.name[-14:]:<15}{len(self.recorded):>3} prompts, first {self.recorded[0]:>7,}, last "
            f"{self.recorded[-1]:>7,}: all together {self.total_error:+.1%}, last {self.last_error:+.1%}, growth "
            f"{self.growth_error:+.1%} ({self.predicted[-1] - self.recorded[-1]:+,} tokens)"
        )


def held_out(session: Trace) -> tuple[HeldOut, ...]:
    """Predict each child's prompts by a fit on its parent and on the other children alone.

    Parameters
    ----------
    session : Trace
        As recorded, with children.

    Returns
    -------
    tuple of HeldOut
        One for each subagent with at least two prompts of recorded usage.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> (child,) = held_out(load(data_path("sessions", "sample")))
    >>> len(child.recorded), abs(child.total_error) < 0.03
    (6, True)
    """
    steps = [steps_of(child, measure(child)) for child in session.children if child.kind == "subagent"]
    names = [child.name for child in session.children if child.kind == "subagent"]
    parents = steps_of(session, measure(session))
    made = []
    for at, own in enumerate(steps):
        if len(own) < 2:
            continue
        others = [step for i, more in enumerate(steps) if i != at for step in more]
        growth = _fit([*parents, *others])
        predicted = accumulate([float(own[0].total), *(growth.predict(step.parts) for step in own[1:])])
        made.append(HeldOut(names[at], tuple(step.total for step in own), tuple(map(round, predicted))))
    return tuple(made)
