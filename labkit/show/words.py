"""What a figure says, in two or three sentences: alt text, caption, and the checked output of a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from labkit.errors import InputError
from labkit.record.lines import LINE_ITEMS
from labkit.record.trace import Trace
from labkit.replay.audit import AUDIT_LINES, Audit, ResultLife, audit
from labkit.replay.replay import Replay
from labkit.show.style import STYLES, about, count, share, unlinked

__all__ = [
    "Growth",
    "describe_audit",
    "describe_billed",
    "describe_ladder",
    "describe_lines",
    "describe_results",
    "growth",
    "ranked",
    "telling",
]


class Growth:
    """What a run had created and was billed for, request by request.

    Parameters
    ----------
    created : sequence of int
        Input tokens that existed up to each request, each counted once, prefix included.
    billed : sequence of int
        Input tokens billed up to each request.
    output : int
        Output tokens of the whole run, billed apart.
    unit : {"turn", "request"}
        What a request is called: in a scripted run request t opens turn t.
    """

    def __init__(self, created: Sequence[int], billed: Sequence[int], output: int, unit: str) -> None:
        self.created, self.billed, self.output, self.unit = tuple(created), tuple(billed), output, unit

    def at(self, turn: int | None) -> int:
        """A turn within the run; the last one for ``None``."""
        if not self.billed:
            raise InputError("the run has no requests: there is nothing to show")
        return len(self.billed) if turn is None else min(max(turn, 1), len(self.billed))


def growth(source: Trace | Replay) -> Growth:
    """Tokens created and billed up to each request.

    Parameters
    ----------
    source : Trace or Replay
        For a trace, what was recorded (counted, where no usage is). For a replay, what it gives.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> g = growth(load(data_path("traces", "invoice-60.jsonl")))
    >>> g.created[-1], g.billed[-1]
    (212592, 5856377)
    """
    if isinstance(source, Replay):
        created, freed, events = [], 0, iter(source.events)
        event = next(events, None)
        for row in source.rows:
            while event is not None and event.request <= row.request:
                freed += event.freed
                event = next(events, None)
            created.append(row.input + freed)
        return Growth(created, _sums([row.input for row in source.rows]), source.output, "turn")
    report = audit(source)
    sizes, prefix = report.sizes.blocks, 0
    created, total = [], 0
    for split, (request, new) in zip(report.rows, source.new_blocks(), strict=True):
        total += sum(sizes[i] for i in new)
        prefix = max(prefix, report.sizes.prefix(request.prefix) + split.lines["fixed_prefix_unsplit"])
        created.append(prefix + total)
    output = report.usage.output if source.usage is not None else _said(source, sizes)
    return Growth(created, _sums([row.total for row in report.rows]), output, unit_of(source))


def unit_of(trace: Trace) -> str:
    """What a request of this trace is called."""
    return "turn" if trace.kind == "scripted" else "request"


def _said(trace: Trace, sizes: Sequence[int]) -> int:
    return sum(s for b, s in zip(trace.blocks, sizes, strict=True) if b.role == "assistant")


def _sums(values: Sequence[int]) -> list[int]:
    total, sums = 0, []
    for value in values:
        total += value
        sums.append(total)
    return sums


def describe_billed(source: Trace | Replay | Growth, turn: int | None = None) -> str:
    """Created against billed, up to a turn (the last one by default).

    Examples
    --------
    >>> print(describe_billed(Growth([100, 200], [100, 300], 50, "turn")))
    By turn 2 the run had created 200 input tokens and was billed for 300: each token 1.5 times, on average.
    Every request carries what was said before it. Output, 50 tokens in the whole run, is billed apart.
    """
    g = source if isinstance(source, Growth) else growth(source)
    t = g.at(turn)
    created, billed = g.created[t - 1], g.billed[t - 1]
    times = f": each token {billed / created:.1f} times, on average" if created else ""
    return (
        f"By {g.unit} {t:,} the run had created {created:,} input tokens and was billed for {billed:,}{times}.\n"
        f"Every request carries what was said before it. Output, {g.output:,} tokens in the whole run, is billed apart."
    )


def ranked(report: Audit, rank_by: str = "tokens", show: int = 12) -> tuple[ResultLife, ...]:
    """The results to draw, costliest first.

    Parameters
    ----------
    report : Audit
    rank_by : {"tokens", "size"}
        ``tokens``: by size times the requests that carried it.
    show : int
        How many.
    """
    if rank_by not in ("tokens", "size"):
        raise InputError(f"rank_by is {rank_by!r}: give 'tokens' (size x requests) or 'size'")
    return report.costliest(show, "tokens" if rank_by == "tokens" else "size")


def telling(results: Sequence[ResultLife]) -> tuple[ResultLife, ResultLife, ResultLife | None]:
    """The largest result, the costliest one, and the one that surprises: small and still dear.

    The last is the costliest of those less than half as large as the largest, if it costs more than
    the largest one; else ``None``.
    """
    if not results:
        raise InputError("the run has no tool results: there is nothing to rank")
    largest = max(results, key=lambda r: (r.size, -r.position))
    costliest = max(results, key=lambda r: (r.tokens, -r.position))
    small = max((r for r in results if 2 * r.size < largest.size), key=lambda r: r.tokens, default=None)
    return largest, costliest, small if small is not None and small.tokens > largest.tokens else None


def describe_results(trace: Trace | Audit, rank_by: str = "tokens") -> str:
    """Which results the bill is made of.

    Parameters
    ----------
    trace : Trace or Audit
    rank_by : {"tokens", "size"}
        The order in which the first three are named.
    """
    report = trace if isinstance(trace, Audit) else audit(trace)
    largest, costliest, small = telling(report.results)
    first = f"The largest of {count(len(report.results), 'result')} {_life(largest)}"
    if costliest is largest:
        lines = [f"{first}, and is also the one that costs most."]
    else:
        lines = [f"{first}.", f"The costliest {_life(costliest)}: {_times(costliest, largest)} the largest one."]
    if small is not None and small is not costliest:
        lines.append(
            f"A result of {small.size:,} tokens (turn {small.turn:,}) costs {_times(small, largest)} the largest one: "
            f"{small.requests:,} requests carried it."
        )
    order = "Largest" if rank_by == "size" else "Costliest"
    lines.append(f"{order} first: turns {', '.join(f'{r.turn:,}' for r in ranked(report, rank_by, 3))}.")
    return "\n".join(lines)


def _life(result: ResultLife) -> str:
    tool = unlinked(result.tool, 30) or "a tool"
    return (
        f"(turn {result.turn:,}, {tool}) has {result.size:,} tokens; {count(result.requests, 'request')} carried it, "
        f"which bills {result.tokens:,}"
    )


def _times(a: ResultLife, b: ResultLife) -> str:
    return f"{a.tokens / b.tokens:.1f} times" if b.tokens else "more than"


def describe_lines(source: Replay | Audit) -> str:
    """Which line items the bill is made of.

    Parameters
    ----------
    source : Replay or Audit
    """
    billed = lines_billed(source)
    total = sum(billed.values())
    named = sorted(((t, line) for line, t in billed.items() if t), key=lambda pair: -pair[0])
    parts = [f"{STYLES[line].label} {share(t, total)}" for t, line in named]
    last = {line: t for line, t in _lines_last(source).items() if t}
    top = max(last, key=lambda line: last[line]) if last else None
    end = (
        f"\nThe last request holds {sum(last.values()):,} tokens, {last[top]:,} of them {STYLES[top].label}."
        if top
        else ""
    )
    return f"Of {total:,} input tokens billed:\n{', '.join(parts)}.{end}"


def lines_billed(source: Replay | Audit) -> dict[str, int]:
    """Tokens of each line item over all requests."""
    if isinstance(source, Audit):
        return source.lines_billed
    return {line: sum(row.lines[i] for row in source.rows) for i, line in enumerate(LINE_ITEMS)}


def _lines_last(source: Replay | Audit) -> dict[str, int]:
    if isinstance(source, Audit):
        return source.lines_last
    return dict(zip(LINE_ITEMS, source.rows[-1].lines, strict=True)) if source.rows else {}


def describe_ladder(run: Replay, naive: Replay | None = None) -> str:
    """What a policy saved and what it took away.

    Parameters
    ----------
    run : Replay
    naive : Replay, optional
        The same trace under :meth:`Policy.nothing`.
    """
    first = f"Billed {run.input:,} input tokens"
    if naive is not None:
        first += f", {share(run.input, naive.input)} of doing nothing ({naive.input:,})"
    first += f"; the largest prompt has {run.peak:,}."
    return "\n".join([first, _acts(run), loss(run)])


def _acts(run: Replay) -> str:
    kinds: Counter[str] = Counter(event.kind for event in run.events)
    if not kinds:
        return "The ladder never acted." + _overflow(run)
    names = {
        "capped": ("cap", ""),
        "evicted": ("eviction", ""),
        "cleared": ("clearing", ""),
        "dropped_thinking": ("dropping of thinking", "droppings of thinking"),
        "compacted": ("compaction", ""),
        "trimmed": ("trimming", ""),
        "handed_off": ("hand-off", ""),
    }
    parts = [count(kinds[k], *names[k]) for k in names if kinds[k]]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    return f"The ladder acted {count(len(run.events), 'time')}: {listed}.{_overflow(run)}"


def _overflow(run: Replay) -> str:
    return (
        "" if run.overflow is None else f" Request {run.overflow:,} no longer fits the window of {run.policy.window:,}."
    )


def loss(run: Replay) -> str:
    """What the policy took away, in one sentence or two."""
    parts = []
    if run.unread:
        parts.append(
            f"{count(run.unread, 'result')} went before the agent had read {'it' if run.unread == 1 else 'them'}"
        )
    if run.offloaded:
        parts.append(f"{count(run.offloaded, 'result')} cut short, whole only in a file")
    if run.uses_after_clear:
        parts.append(
            f"{count(run.uses_after_clear, 'excerpt')} needed later had been removed "
            f"({run.reread_tokens:,} tokens to read again)"
        )
    if run.facts_lost:
        parts.append(f"up to {count(run.facts_lost, 'fact')} of {len(run.facts)} missing from a prompt")
    if parts:
        return f"Lost: {'; '.join(parts)}."
    facts = f"; all {len(run.facts)} facts stayed in sight" if run.facts else ""
    return f"Nothing went unread, and nothing removed is known to be needed later{facts}."


def describe_audit(report: Audit) -> str:
    """Where the tokens of a recorded run went."""
    billed = report.lines_billed
    total = sum(billed.values())
    top = max((line for line in AUDIT_LINES if line != "residual"), key=lambda line: billed[line])
    what = f"{count(report.requests, 'request')} and {count(report.tool_calls, 'tool call')}"
    name = STYLES[top].label
    lines = [f"{what} billed {total:,} input tokens; the most, {share(billed[top], total)}, is {name}."]
    left = billed["residual"]
    if any(row.recorded for row in report.rows):
        lines.append(
            f"The lines explain all but {left:,} tokens ({share(abs(left), total)}) of what was recorded."
            if left
            else "The lines explain every token that was recorded."
        )
    else:
        lines.append("No usage was recorded, so these are counts and not a bill.")
    if report.children:
        tokens = sum(child.usage.total_input for child in report.children)
        who = count(len(report.children), "subagent or summary call", "subagents and summary calls")
        lines.append(f"{who} billed {about(tokens)} more, counted apart.")
    return "\n".join(lines)
