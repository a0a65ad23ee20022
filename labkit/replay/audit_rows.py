"""One pass over a run that keeps the context's line items as it stands at each request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from labkit.record.calibrate import Calibration
from labkit.record.lines import LINE_ITEMS
from labkit.record.trace import Block, Edit, Trace

__all__ = ["AUDIT_LINES", "AuditRow", "Context", "ResultLife"]

AUDIT_LINES = (*LINE_ITEMS, "fixed_prefix_unsplit", "residual")
"""The six line items; the prefix where the record does not split it; what the lines do not explain."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One request: its prompt, and the lines that add up to it exactly.

    Parameters
    ----------
    request : int
        Index from 1.
    start : float, optional
        Time of sending, as in :class:`labkit.Request`.
    total : int
        Recorded tokens of the prompt; the counted ones where no usage was recorded.
    recorded : bool
        Which of the two ``total`` is.
    lines : dict of str to int
        Tokens by name of :data:`AUDIT_LINES`; only ``residual`` can be negative.
    """

    request: int
    start: float | None
    total: int
    recorded: bool
    lines: dict[str, int]


@dataclass(frozen=True, slots=True)
class ResultLife:
    """A tool result over its life in the context.

    Parameters
    ----------
    position : int
        Position in ``Trace.blocks``.
    turn : int
        The exchange it belongs to.
    tool, args : str
        The call it answers.
    size : int
        Tokens.
    requests : int
        How many requests carried it whole.
    tokens : int
        ``size`` times ``requests``: what it added to the bill, in input tokens.
    """

    position: int
    turn: int
    tool: str
    args: str
    size: int
    requests: int
    tokens: int


class Context:
    """The context as it stands at each request; every block enters and leaves once."""

    def __init__(self, trace: Trace, fit: Calibration, line: Callable[[Block], str]) -> None:
        self._trace = trace
        self._fit = fit
        self._sizes = fit.sizes
        self._line = [line(block) for block in trace.blocks]
        self._edits: dict[int, list[Edit]] = {}
        for edit in trace.edits:
            self._edits.setdefault(edit.request, []).append(edit)
        self._lines: Counter[str] = Counter()
        self._size: dict[int, int] = {}  # position -> tokens it has in the context now
        self._entered: dict[int, int] = {}
        self._left: dict[int, int] = {}
        self._stubs: dict[str, int] = {}

    def row(self, index: int, new: range) -> AuditRow:
        for position in new:
            self._size[position] = size = self._sizes.blocks[position]
            self._lines[self._line[position]] += size
            self._entered[position] = index
        for edit in self._edits.get(index, ()):
            self._apply(edit, index)
        request = self._trace.requests[index - 1]
        lines = {name: self._lines[name] for name in AUDIT_LINES}
        lines["system"] += self._sizes.system[request.prefix]
        lines["tool_schemas"] += self._sizes.tools[request.prefix]
        lines["fixed_prefix_unsplit"] = self._fit.prefix
        counted = sum(lines.values())
        usage = request.usage
        total = counted if usage is None else usage.total_input
        lines["residual"] = total - counted
        return AuditRow(index, request.start, total, usage is not None, lines)

    def _apply(self, edit: Edit, index: int) -> None:
        stays = edit.kind != "summary" and bool(edit.stub)
        for position in edit.blocks:
            size = self._size.get(position)
            if size is None:
                continue
            left = self._stub(edit.stub) if stays else 0
            self._lines[self._line[position]] += left - size
            self._left.setdefault(position, index)
            if stays:
                self._size[position] = left
            else:
                del self._size[position]

    def _stub(self, text: str) -> int:
        if text not in self._stubs:
            self._stubs[text] = self._sizes.count(text)
        return self._stubs[text]

    def results(self) -> tuple[ResultLife, ...]:
        end = len(self._trace.requests) + 1
        out = []
        for position, block in enumerate(self._trace.blocks):
            if block.kind != "result":
                continue
            entered = self._entered.get(position, end)
            carried = self._left.get(position, end) - entered
            size = self._sizes.blocks[position]
            out.append(
                ResultLife(position, block.turn, block.tool or "", block.args or "", size, carried, size * carried)
            )
        return tuple(out)
