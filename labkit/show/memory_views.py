"""The panel over what is remembered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.ladder.rungs import Summarizer
from labkit.ladder.summaries import ExtractiveSummarizer, SizedSummarizer
from labkit.record.trace import Trace
from labkit.replay.memory import remember
from labkit.show.memory_plots import describe_memory, draw_memory
from labkit.show.setup import Control, Setup, View

__all__ = ["memory"]

_SUMMARIZERS: dict[str, Summarizer] = {
    "entries": ExtractiveSummarizer(),
    "lines": ExtractiveSummarizer(reads_back="lines"),
    "nothing": SizedSummarizer(200, call="free"),
}
_CHOICES = {"whole entries": "entries", "line by line": "lines", "says nothing": "nothing"}


def memory(trace: Trace) -> Setup:
    """What becomes of each fact: choose the summarizer, and how often it runs.

    Parameters
    ----------
    trace : Trace
        With facts.
    """
    most = min(len(trace.requests) - 1, 8)

    def draw(values: Mapping[str, Any]) -> View:
        made = remember(
            trace, values["compactions"], _SUMMARIZERS[values["summarizer"]], notes=values["notes"] == "kept"
        )
        seen, noted, lost = made.left
        numbers = (
            ("in sight", f"{seen}", f"of {len(made.facts)} facts, at the last request"),
            ("only in the notes", f"{noted}", "at the last request"),
            ("lost", f"{lost}", "for good"),
            ("compactions", f"{len(made.compactions)}", "at even distances"),
        )
        figure = draw_memory(made)
        kept = "notes kept" if values["notes"] == "kept" else "without notes"
        figure["layout"]["title"]["text"] += f" ({kept})"
        for bars in figure["data"]:
            bars["showlegend"] |= bars["name"] == "only in the notes" and values["notes"] == "kept"
        return View(figure, numbers, f"{describe_memory(made)} ({kept[:1].upper()}{kept[1:]}.)".replace("\n", " "))

    controls = (
        Control("summarizer", "summarizer", "lines", choices=_CHOICES),
        Control("compactions", "compactions", 2, 0, most),
        Control("notes", "notes", "kept", choices={"kept": "kept", "none": "none"}),
    )
    note = (
        "The same actions are replayed. A fact is in sight where the prompt holds its words; "
        "a model may have kept it in other words, and this does not see that."
    )
    return Setup(f"memory {trace.name}", controls, draw, "lk.plots.fig_memory(lk.remember(trace, 2))", note)
