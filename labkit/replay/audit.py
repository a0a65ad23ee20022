"""Where the tokens of a run went: each request's prompt, split into line items to the last token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from labkit.errors import InputError
from labkit.record.calibrate import Calibration, calibrate
from labkit.record.growth import GrowthCheck, check_growth
from labkit.record.lines import line_of
from labkit.record.sizes import Sizes
from labkit.record.trace import Block, Trace, Usage
from labkit.replay.asrun import AsRun, reproduce
from labkit.replay.audit_cost import Cost, cost_of
from labkit.replay.audit_json import audit_json
from labkit.replay.audit_notes import notes
from labkit.replay.audit_rewrites import Rewrite, rewrites
from labkit.replay.audit_rows import AUDIT_LINES, AuditRow, Context, ResultLife
from labkit.replay.causes import writes_by_cause
from labkit.replay.symptoms import Symptom, symptoms

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AUDIT_LINES", "Audit", "AuditRow", "Child", "ResultLife", "audit", "costliest"]


@dataclass(frozen=True, slots=True)
class Child:
    """What a subagent, or a call that wrote a summary, used by itself."""

    name: str
    kind: str
    requests: int
    tool_calls: int
    usage: Usage


@dataclass(frozen=True)
class Audit:
    """The audit of one run.

    Parameters
    ----------
    name, source : str
        Of the trace.
    usage : Usage
        Recorded usage of the main thread; of quality ``absent`` where there is none.
    requests, tool_calls : int
        Of the main thread.
    fixed_prefix : int
        Tokens of system prompt and tool schemas of the last request.
    rows : tuple of AuditRow
        A row a request.
    results : tuple of ResultLife
        Every tool result, in order.
    children : tuple of Child
        Subagents and recorded summary calls; their usage is in no other number here.
    warnings : tuple of str
        What was skipped, guessed or is missing.
    fit : Calibration
        What the blocks were counted with, and the fixed prefix.
    trace : Trace
        What was audited.

    Notes
    -----
    What a person asks next (``cost``, ``as_run``, ``symptoms`` and so on) is worked out when it is
    first asked for.
    """

    name: str
    source: str
    usage: Usage
    requests: int
    tool_calls: int
    fixed_prefix: int
    rows: tuple[AuditRow, ...]
    results: tuple[ResultLife, ...]
    children: tuple[Child, ...]
    warnings: tuple[str, ...]
    fit: Calibration
    trace: Trace

    @property
    def sizes(self) -> Sizes:
        """Sizes of the blocks, at the fitted scale."""
        return self.fit.sizes

    @property
    def format(self) -> str:
        """Name of the format the trace was read from; of a trace made in memory, its kind."""
        return self.trace.source.partition(":")[0] or self.trace.kind

    @cached_property
    def as_run(self) -> AsRun:
        """How well the cache model reproduces the recorded reads."""
        return reproduce(self.trace)

    @cached_property
    def cost(self) -> Cost:
        """Dollars at list price, by cause."""
        return cost_of(self.trace, fit=self.fit, run=self.as_run)

    @cached_property
    def writes_by_cause(self) -> dict[str, int]:
        """Recorded cache writes of the main thread: growth, expired, edit, unexplained."""
        return writes_by_cause(self.trace, self.as_run)

    @cached_property
    def growth(self) -> GrowthCheck:
        """How well the first half of the session predicts the prompts of the second."""
        return check_growth(self.trace)

    @cached_property
    def symptoms(self) -> tuple[Symptom, ...]:
        """Signs of a lost thread, with positions."""
        return symptoms(self.trace, self.sizes)

    @cached_property
    def rewrites(self) -> tuple[Rewrite, ...]:
        """What each recorded edit made the next request write."""
        return rewrites(self.trace)

    @property
    def peak(self) -> AuditRow | None:
        """The request with the largest prompt, or ``None`` where there are no requests."""
        return max(self.rows, key=lambda row: row.total, default=None)

    @property
    def fresh(self) -> float | None:
        """Recorded tokens a request that were not read from the cache; ``None`` without usage."""
        used = [r.usage for r in self.trace.requests if r.usage is not None]
        return sum(u.total_input - u.cache_read for u in used) / len(used) if used else None

    @property
    def lines_billed(self) -> dict[str, int]:
        """Tokens of each line, summed over all requests: what the bill is made of."""
        return {line: sum(row.lines[line] for row in self.rows) for line in AUDIT_LINES}

    @property
    def lines_last(self) -> dict[str, int]:
        """Tokens of each line in the last request."""
        return dict(self.rows[-1].lines) if self.rows else dict.fromkeys(AUDIT_LINES, 0)

    def costliest(self, n: int = 10, by: Literal["tokens", "size"] = "tokens") -> tuple[ResultLife, ...]:
        """The results that cost most, over their life (``tokens``) or by ``size``."""
        return _rank(self.results, n, by)

    def frame(self) -> pd.DataFrame:
        """A row a request: request, start, total, recorded, and a column a line."""
        import pandas as pd

        rows = [
            {"request": r.request, "start": r.start, "total": r.total, "recorded": r.recorded, **r.lines}
            for r in self.rows
        ]
        return pd.DataFrame(rows, columns=["request", "start", "total", "recorded", *AUDIT_LINES])

    def to_json(self) -> dict[str, Any]:
        """The audit as one object for programs; ``labkit audit --json`` prints it."""
        return audit_json(self)


def audit(trace: Trace, *, sizes: Sizes | None = None, line: Callable[[Block], str] = line_of) -> Audit:
    """Split every request of a run into line items.

    Parameters
    ----------
    trace : Trace
        A session or a scripted run. Recorded clearings and compactions are applied where they
        happened.
    sizes : Sizes, optional
        Unscaled sizes to calibrate; default: :func:`labkit.measure`.
    line : callable
        Sorts a block into a line item.

    Returns
    -------
    Audit
        In every row the lines add up to ``total`` exactly; what the counted sizes do not explain of
        a recorded total is ``residual``.

    Examples
    --------
    >>> from labkit.record.trace import Prefix, Request
    >>> blocks = (Block("text", "user", "hello world", request=1), Block("result", "tool", "42", request=2, tool="run"))
    >>> a = audit(Trace("tiny", blocks, (Request(1), Request(2)), (Prefix(system="Be brief."),), kind="scripted"))
    >>> [row.total for row in a.rows], a.lines_last["history"], a.lines_billed["system"]
    ([13, 18], 6, 14)
    """
    fit = calibrate(trace, sizes)
    context = Context(trace, fit, line)
    rows = tuple(context.row(request.index, new) for request, new in trace.new_blocks())
    last = trace.requests[-1].prefix if trace.requests else 0
    return Audit(
        name=trace.name,
        source=trace.source,
        usage=trace.usage or Usage(input_quality="absent", output_quality="absent"),
        requests=len(trace.requests),
        tool_calls=_calls(trace),
        fixed_prefix=fit.prefix + fit.sizes.prefix(last),
        rows=rows,
        results=context.results(),
        children=tuple(_child(c) for c in _all_children(trace)),
        warnings=(*trace.warnings, *notes(trace, fit)),
        fit=fit,
        trace=trace,
    )


def costliest(
    trace: Trace, n: int = 10, by: Literal["tokens", "size"] = "tokens", *, sizes: Sizes | None = None
) -> tuple[ResultLife, ...]:
    """The tool results that cost most: by size, or by size times the requests that carried them.

    Parameters
    ----------
    trace : Trace
    n : int
        How many.
    by : {"tokens", "size"}
        ``tokens`` ranks by what a result added to the bill over its life.
    sizes : Sizes, optional
        Unscaled sizes to calibrate.

    Examples
    --------
    >>> from labkit.record.trace import Request
    >>> early = Block("result", "tool", "a b c", request=1, tool="x")
    >>> late = Block("result", "tool", "a b c d", request=3, tool="y")
    >>> trace = Trace("tiny", (early, late), (Request(1), Request(2), Request(3)), kind="scripted")
    >>> [(r.tool, r.size, r.tokens) for r in costliest(trace)], costliest(trace, 1, by="size")[0].tool
    ([('x', 7, 21), ('y', 8, 8)], 'y')
    """
    return _rank(audit(trace, sizes=sizes).results, n, by)


def _rank(results: tuple[ResultLife, ...], n: int, by: str) -> tuple[ResultLife, ...]:
    if by not in ("tokens", "size"):
        raise InputError(f"cannot rank results by {by!r}: use 'tokens' (over their life) or 'size'")
    return tuple(sorted(results, key=lambda r: (-getattr(r, by), r.position))[:n])


def _calls(trace: Trace) -> int:
    return sum(block.kind == "call" for block in trace.blocks)


def _all_children(trace: Trace) -> list[Trace]:
    found: list[Trace] = []
    for child in trace.children:
        found += [child, *_all_children(child)]
    return found


def _child(trace: Trace) -> Child:
    usage = trace.usage or Usage(input_quality="absent", output_quality="absent")
    return Child(trace.name, trace.kind, len(trace.requests), _calls(trace), usage)
