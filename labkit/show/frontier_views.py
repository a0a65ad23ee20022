"""The panel over a frontier: the policies worth looking at as a list, and the one that was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labkit.replay.choose import frontier, knee
from labkit.show.frontier_plots import describe_frontier, draw_frontier, named
from labkit.show.setup import Control, Setup, View
from labkit.show.style import share

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frontier_setup"]

_HEIGHT = 300  # the rows take what the figure gives up


def frontier_setup(frame: pd.DataFrame) -> Setup:
    """The frontier of a sweep: click a point of it, or move along the list.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`labkit.sweep`, with one trace.
    """
    front = frontier(frame)
    base = float(frame.loc[frame["policy"] == 0, "cold"].iloc[0])
    rows: dict[int, Any] = {int(row["policy"]): row for row in front.to_dict("records")}
    least = front.iloc[0]

    def draw(values: Mapping[str, Any]) -> View:
        row = rows[values["policy"]]
        figure = draw_frontier(frame, values["policy"])
        figure["layout"]["height"] = _HEIGHT
        cost = row["cold"] + row["reread_dear"]
        numbers = (
            ("cost", f"${cost:,.2f}", f"do nothing ${base:,.2f}"),
            ("saved", share(max(row["net_low"], 0.0), base), f"at most {share(float(least['net_low']), base)}"),
            ("missing when needed", f"{row['uses_after_clear']:,}", f"at most {int(least['uses_after_clear']):,} here"),
            ("edits", f"{row['events']:,}", "events of the policy"),
        )
        return View(figure, numbers, describe_frontier(frame, values["policy"]).replace("\n", " "))

    choices = {_row(frame, row): policy for policy, row in rows.items()}
    name = str(frame["trace"].iloc[0])
    return Setup(
        f"frontier {name}",
        (Control("policy", "policy", knee(front), choices=choices, rows=min(max(len(choices), 2), 5)),),
        draw,
        "lk.plots.fig_frontier(frame)",
        "Costs are those of a cache that expires, with what was missing read again at its higher charge. "
        "A policy that leaves a result unread or loses a fact is not here.",
    )


def _row(frame: Any, row: Any) -> str:
    paid = row["cold"] + row["reread_dear"]
    return f"{named(frame, row['policy'])}: ${paid:,.2f}, {row['uses_after_clear']} missing"
