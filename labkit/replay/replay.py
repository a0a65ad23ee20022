"""Replaying a trace under a policy: the same actions, another context.

A replay is open-loop. It prices what the agent did under a context it might have had; it does not say
what the model would have done with that context. The loss columns say what was taken away.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace as changed
from itertools import pairwise
from weakref import WeakKeyDictionary

from labkit.errors import EditRefused, InputError
from labkit.ladder.events import Step
from labkit.ladder.given import given
from labkit.ladder.manager import ContextManager
from labkit.ladder.notes import notes_of
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summarizer
from labkit.price.cache import ARTICLE_RULES, CacheRules
from labkit.record.lines import LINE_ITEMS, line_of
from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Trace
from labkit.replay.caching import ReplayedCache
from labkit.replay.fidelity import Fidelity
from labkit.replay.rows import Replay, Row

__all__ = ["Replay", "Row", "replay"]


def replay(
    trace: Trace,
    policy: Policy,
    rules: CacheRules = ARTICLE_RULES,
    *,
    sizes: Sizes | None = None,
    summarizer: Summarizer | None = None,
) -> Replay:
    """Replay a trace under a policy; written to be read, exact to the token.

    Parameters
    ----------
    trace : Trace
    policy : Policy
    rules : CacheRules
        How the provider caches. The default is the ctxkit article's append-only cache.
    sizes : Sizes, optional
        Default: ``measure(trace)``.
    summarizer : Summarizer, optional
        Default: the extractive one.

    Returns
    -------
    Replay

    Raises
    ------
    InputError
        If the trace has no requests, or the policy asks for a lifetime that the rules do not have.
    EditRefused
        If the policy edits on the client and the model binds its thinking to the prefix.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.ladder.presets import load_policy
    >>> from labkit.record.load import load
    >>> run = replay(load(data_path("traces", "invoice-60.jsonl")), load_policy("article"))
    >>> f"{run.input:,} tokens, peak {run.peak:,}, {len(run.events)} events"
    '1,286,153 tokens, peak 36,936, 13 events'
    """
    given("trace", trace, Trace, "load(path) reads one")
    given("policy", policy, Policy, "load_policy(name) makes one")
    given("rules", rules, CacheRules, "cache_rules(model) finds them")
    if not trace.requests:
        raise InputError(f"the trace {trace.name} has no requests: nothing can be replayed")
    sizes = sizes or measure(trace)
    lines = _lines(trace)
    seen = 0
    rules = _living(rules, policy)
    manager = ContextManager(
        policy=policy,
        summarizer=summarizer,
        read_notes=lambda: notes_of(trace.blocks[:seen]),
        count=remembering(sizes),
        thinking_bound=rules.thinking_bound,
        prefix_tokens=sizes.prefix(trace.requests[0].prefix),
    )
    fidelity = Fidelity(trace, sizes)
    spent = dict.fromkeys(LINE_ITEMS, 0)
    spent["system"] = sizes.system[trace.requests[0].prefix]
    spent["tool_schemas"] = sizes.tools[trace.requests[0].prefix]
    outputs = _outputs(trace, sizes)
    warm, cold = ReplayedCache(rules, expires=False), ReplayedCache(rules, expires=True, keep_alive=policy.keep_alive)
    pauses = _pauses(trace)
    rows = []
    for request, new in trace.new_blocks():
        for i in new:
            manager.append(trace.blocks[i], sizes.blocks[i])
            spent[lines[i]] += sizes.blocks[i]
            fidelity.appeared(i)
        seen = new.stop
        idle, pause = pauses[request.index]
        warm_tokens = 0 if cold.expired(idle) else None
        step = manager.step(idle=idle, warm=warm_tokens, before_pause=pause is not None and pause > rules.ttl)
        _sort(step, spent)
        fidelity.edited(step)
        fidelity.needed(request.index, step.total)
        spent_warm = warm.request(step, request, manager)
        spent_cold = cold.request(step, request, manager)
        pinged = cold.pinged
        rows.append(
            Row(
                request=request.index,
                start=request.start,
                input=step.total,
                shared=step.shared,
                read=spent_warm.read,
                read_cold=spent_cold.read,
                uncached=spent_warm.uncached,
                pinged=pinged,
                output=outputs[request.index],
                lines=tuple(spent.values()),
                facts_lost=fidelity.facts_lost,
                unread=fidelity.unread,
                offloaded=fidelity.offloaded,
                uses_after_clear=fidelity.uses_after_clear,
                reread_tokens=fidelity.reread_tokens,
                reread_high=fidelity.reread_high,
                reread_prompts=fidelity.reread_prompts,
            )
        )
    for i in range(seen, len(trace.blocks)):
        manager.append(trace.blocks[i], sizes.blocks[i])
        fidelity.appeared(i)
    seen = len(trace.blocks)
    with suppress(EditRefused):  # of a request that was never sent: the run is what it was
        fidelity.edited(manager.step())
    usages = [e.usage for e in manager.events if e.usage is not None and e.request <= len(rows)]
    return Replay(
        trace=trace.name,
        policy=policy,
        rules=rules,
        counter=sizes.counter.name,
        rows=tuple(rows),
        events=tuple(manager.events),
        context=tuple(manager.blocks()),
        context_tokens=manager.total(),
        facts=tuple((f.label, f.probe, visible) for f, visible in fidelity.facts()),
        summarizer_usage=sum(usages[1:], usages[0]) if usages else None,
        unmet=tuple(fidelity.unmet),
    )


def _living(rules: CacheRules, policy: Policy) -> CacheRules:
    """The rules for the lifetime that the policy asks for."""
    if policy.lifetime == "5m":
        return rules
    if rules.ttl_1h is None:
        raise InputError(f"lifetime is '1h', but {rules.name} has no longer lifetime: give '5m', or other rules")
    return changed(rules, ttl=rules.ttl_1h)


def _pauses(trace: Trace) -> dict[int, tuple[float | None, float | None]]:
    """Seconds before and after each request, by its index; ``None`` where they are not known."""
    starts = [None, *(request.start for request in trace.requests), None]
    gaps = [None if a is None or b is None else b - a for a, b in pairwise(starts)]
    return dict(enumerate(pairwise(gaps), start=1))


def _sort(step: Step, spent: dict[str, int]) -> None:
    for block, size in step.removed:
        spent[line_of(block)] -= size
    for block, size in step.added:
        spent[line_of(block)] += size


def _outputs(trace: Trace, sizes: Sizes) -> dict[int, int]:
    """Output tokens of each request: as recorded, else the size of what the assistant said next."""
    outputs = {r.index: 0 for r in trace.requests}
    for block, size in zip(trace.blocks, sizes.blocks, strict=True):
        if block.role == "assistant" and block.request - 1 in outputs:
            outputs[block.request - 1] += size
    for request in trace.requests:
        if request.usage is not None and request.usage.output_quality == "exact":
            outputs[request.index] = request.usage.output
    return outputs


# A sweep replays one trace thousands of times: what depends on the trace alone is kept with it.
_kept_lines: WeakKeyDictionary[Trace, list[str]] = WeakKeyDictionary()
_kept_counts: WeakKeyDictionary[Sizes, dict[str, int]] = WeakKeyDictionary()


def _lines(trace: Trace) -> list[str]:
    if trace not in _kept_lines:
        _kept_lines[trace] = [line_of(block) for block in trace.blocks]
    return _kept_lines[trace]


def remembering(sizes: Sizes) -> Callable[[str], int]:
    """The counter of the sizes, which remembers stubs and summaries it has counted."""
    known = _kept_counts.setdefault(sizes, {})

    def count(text: str) -> int:
        tokens = known.get(text)
        if tokens is None:
            tokens = known[text] = sizes.count(text)
        return tokens

    return count
