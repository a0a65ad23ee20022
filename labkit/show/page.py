"""An audit as one page to keep: plain HTML and SVG, without scripts, links or anything from outside.

Everything a session holds goes through :func:`html.escape`, and the page forbids itself every script
and every request, so that no field of a session can become active in it.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from labkit.replay.advice import Advice
from labkit.replay.audit import Audit
from labkit.replay.causes import CAUSES, why
from labkit.show.session_report import CAUSE_LABELS, dollars, whatif_lines
from labkit.show.style import DRAWN, STYLES, about, count, plain, share, title_case

__all__ = ["page", "timeline"]

WIDTH, HEIGHT = 960, 300

COLORS = {"growth": "#009E73", "expired": "#D55E00", "edit": "#0072B2", "unexplained": "#595959"}
"""Of writes, by cause; reads are grey. Okabe and Ito's, which stay apart with colour deficiencies."""

MOST_ROWS = 400

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } caption { text-align: left; color: #555; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
thead th { border-bottom: 1px solid #888; } svg { max-width: 100%; height: auto; }
.key span { display: inline-block; margin-right: 1.2rem; } .key i { display: inline-block; width: .8em; height: .8em; }
pre { white-space: pre-wrap; }
"""


def page(audit: Audit, advice: Advice) -> str:
    """The whole page.

    Parameters
    ----------
    audit : Audit
    advice : Advice

    Returns
    -------
    str
        HTML that opens from the disk without a network.
    """
    name = _safe(audit.name, 80)
    size = f"{count(audit.requests, 'request')}, {count(audit.tool_calls, 'tool call')}"
    body = [
        f"<h1>{name}</h1>",
        f"<p>{_safe(audit.format)}, {size}. {_paid(audit)}</p>",
        "<h2>What the money went for</h2>",
        _causes(audit),
        "<h2>Request by request</h2>",
        timeline(audit),
        _key(),
        "<h2>One change</h2>",
        f"<p>{_safe(_advised(advice), 400)}</p>",
        f"<pre>{_safe_lines(whatif_lines(advice.answer))}</pre>" if advice.answer is not None else "",
        "<h2>What the context holds</h2>",
        _lines(audit),
        "<h2>The results that cost most over their life</h2>",
        _results(audit),
        *_rewrites(audit),
        *_symptoms(audit),
        "<h2>How sure this is</h2>",
        _sure(audit),
        "<h2>Notes</h2>",
        _list(audit.warnings),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Audit of {name}</title><style>{_STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def timeline(audit: Audit) -> str:
    """Cache reads up and writes down, a bar a request, coloured by why it was written: SVG with its words."""
    used = [(r.index, r.usage) for r in audit.trace.requests if r.usage is not None]
    if not used:
        return "<p>No usage is recorded.</p>"
    cause = why(audit.trace, audit.as_run)
    most_read = max(u.cache_read for _, u in used)
    most_new = max(u.total_input - u.cache_read for _, u in used)
    scale = (HEIGHT - 40) / max(most_read + most_new, 1)
    zero = 20 + most_read * scale
    step = WIDTH / len(used)
    bars = []
    for i, (index, usage) in enumerate(used):
        x, wide = i * step, max(step * 0.85, 0.5)
        new = usage.total_input - usage.cache_read
        up, down = usage.cache_read * scale, new * scale
        bars.append(f'<rect x="{x:.2f}" y="{zero - up:.2f}" width="{wide:.2f}" height="{up:.2f}" fill="#BBBBBB"/>')
        bars.append(
            f'<rect x="{x:.2f}" y="{zero:.2f}" width="{wide:.2f}" height="{down:.2f}" fill="{COLORS[cause[index]]}">'
            f"<title>request {index}: {usage.cache_read:,} read, {new:,} not read, {cause[index]}</title></rect>"
        )
    words = (
        f"Requests 1 to {used[-1][0]}: cache reads upwards, at most {most_read:,} tokens; what was not read "
        f"downwards, at most {most_new:,}, coloured by its cause"
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}"><title>{words}</title>'
        f"{''.join(bars)}"
        f'<line x1="0" x2="{WIDTH}" y1="{zero:.2f}" y2="{zero:.2f}" stroke="#222"/>'
        f'<text x="2" y="14" font-size="12">read: up to {about(most_read)} tokens</text>'
        f'<text x="2" y="{HEIGHT - 4}" font-size="12">not read: up to {about(most_new)} tokens</text></svg>'
    )


def _key() -> str:
    labels = {"growth": "new", "expired": "after a pause", "edit": "after an edit", "unexplained": "unexplained"}
    spans = ['<span><i style="background:#BBBBBB"></i> read from the cache</span>']
    spans += [f'<span><i style="background:{COLORS[c]}"></i> {labels[c]}</span>' for c in CAUSES]
    return f'<p class="key">{"".join(spans)}</p>'


def _paid(audit: Audit) -> str:
    cost = audit.cost
    if audit.trace.usage is None:
        return "No usage is recorded: nothing can be billed."
    if cost.exact is None:
        return f"No price is known for {_safe(', '.join(cost.unpriced))}."
    extra = ""
    if cost.estimated_high:
        extra = f" and {dollars(cost.estimated_low or 0)} to {dollars(cost.estimated_high)} for outputs not recorded"
    note = "A list-price equivalent, not your bill." if cost.subscription else "At list prices."
    return f"<strong>{dollars(cost.exact)}</strong>{extra}. {note} Prices as of {_safe(cost.as_of)}."


def _causes(audit: Audit) -> str:
    cost = audit.cost
    spent = dict(cost.by_cause)
    spent["children"] += spent.pop("summaries")
    whole = sum(spent.values())
    if cost.exact is None or not whole:
        rows = [(title_case(k), f"{v:,}", "") for k, v in audit.writes_by_cause.items()]
        return _table("Tokens written to the cache, by cause", ("cause", "tokens", ""), rows)
    rows = [
        (title_case(label), dollars(spent[k]), share(spent[k], whole)) for k, label in CAUSE_LABELS.items() if spent[k]
    ]
    table = _table("Exact dollars at list price", ("", "dollars", "share"), rows)
    part = share(cost.untouchable, cost.main)
    return (
        f"{table}<p>{part} of the main thread is out of reach of any policy for the context: the fixed prefix, "
        "the first write of what was new, the output.</p>"
    )


def _advised(advice: Advice) -> str:
    if advice.nothing:
        return f"Change nothing: {advice.reason}."
    return f"{title_case(advice.change)}: set {advice.where}. Settings as of {advice.as_of}."


def _lines(audit: Audit) -> str:
    billed, last = audit.lines_billed, audit.lines_last
    whole = sum(billed.values())
    rows = [
        (title_case(STYLES[k].label), f"{billed[k]:,}", share(max(billed[k], 0), whole), f"{last[k]:,}")
        for k in DRAWN
        if billed[k] or last[k]
    ]
    return _table("Input tokens over all requests, and in the last", ("line item", "billed", "share", "last"), rows)


def _results(audit: Audit) -> str:
    rows = [
        (
            f"turn {r.turn:,} {plain(r.tool, 30)} {plain(r.args, 120)}",
            f"{r.size:,}",
            f"{r.requests:,}",
            f"{r.tokens:,}",
        )
        for r in audit.costliest(10)
    ]
    return _table("Size times the requests that carried it", ("result", "size", "requests", "tokens"), rows)


def _rewrites(audit: Audit) -> Iterable[str]:
    if not audit.rewrites:
        return
    rows = [
        (
            f"request {r.request:,}: {r.kind} of {count(r.blocks, 'block')}",
            f"{r.read:,}",
            f"{r.written:,}",
            "-" if r.predicted is None else f"{r.predicted:,}",
            "-" if r.reattached is None else f"{r.reattached:,}",
        )
        for r in audit.rewrites
    ]
    yield "<h2>What edits made it write again</h2>"
    names = ("edit", "read", "written", "predicted", "attached again, not in the record")
    yield _table("Tokens of the request after each recorded edit", names, rows)


def _symptoms(audit: Audit) -> Iterable[str]:
    if not audit.symptoms:
        return
    yield "<h2>Symptoms of a lost thread</h2>"
    rows = [
        (plain(s.what, 160), s.kind.replace("_", " "), f"{s.request:,}", f"{s.position:,}")
        for s in audit.symptoms[:MOST_ROWS]
    ]
    yield _table("Found by rule: where to look, not what is wrong", ("what", "sign", "request", "block"), rows)


def _sure(audit: Audit) -> str:
    run, growth = audit.as_run, audit.growth
    found = []
    if run.score is None:
        found.append(f"The cache reads were not predicted: {run.reason or 'no request without an edit'}.")
    else:
        baseline = run.baseline or 0.0
        found.append(
            f"{run.score:.1%} of {len(run.predictions):,} cache reads are reproduced within 1 %; "
            f"without a model it would be {baseline:.1%}."
        )
    if growth.error is not None:
        found.append(f"The first half's sizes predict the second half's prompts to {growth.error:.1%}.")
    found += [f"The record holds {flag}." for flag in growth.flags]
    found.append(f"Sizes: {audit.sizes.error or audit.sizes.counter.name}.")
    found.append(f"Audited on {datetime.now(UTC).date().isoformat()}.")
    return _list(found)


def _table(caption: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{_safe(name)}</th>' for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_safe(cell, 400)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{_safe(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _list(sentences: Iterable[str]) -> str:
    items = "".join(f"<li>{_safe(s, 600)}</li>" for s in sentences)
    return f"<ul>{items}</ul>" if items else "<p>None.</p>"


def _safe(text: str, limit: int = 200) -> str:
    """Text of a session as it stands: one line, no control characters, every sign of HTML escaped."""
    return html.escape(plain(text, limit), quote=True)


def _safe_lines(lines: Sequence[str]) -> str:
    return "\n".join(html.escape(line, quote=True) for line in lines)
