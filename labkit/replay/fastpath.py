"""The ladder on integers, compiled: what a sweep runs ten thousand times.

It gives the same columns as the reference engine, to the token, for what it can express: *clear* by results
under one trigger in tokens, *compact* with a size model, and a cache that reads whatever is the same. What it
cannot express goes through the reference; :func:`supports` tells which.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from labkit.ladder.policy import Policy
from labkit.ladder.rungs import speaks, stub
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import CacheRules
from labkit.record.pairs import answers
from labkit.record.sizes import Sizes
from labkit.record.tokens import MESSAGE_OVERHEAD
from labkit.record.trace import Trace
from labkit.replay.fidelity import Probes

__all__ = ["COLUMNS", "available", "run", "supports"]

Ints = NDArray[np.int64]

THREADS = max(os.cpu_count() or 1, 1)

COLUMNS = (
    "input",
    "peak",
    "shared",
    "read",
    "read_cold",
    "pinged",
    "events",
    "breaks",
    "expired",
    "unread",
    "facts_lost",
    "uses_after_clear",
    "reread_tokens",
    "reread_high",
    "reread_prompts",
    "summaries_in",
    "summaries_out",
    "overflow",
)
"""What a run of the kernel gives for each policy, in tokens and counts; ``overflow`` is 0 for never."""

# Fields whose value the kernel reads, and those that may differ from group to group of policies.
_READ = frozenset(
    {"window", "trigger", "strict", "floor", "keep", "compact_above", "keep_recent", "lifetime", "keep_alive"}
)
_GROUPS = frozenset({"pinned", "stub_if_smaller", "stub_chars", "stub_text", "count_prefix"})
# Without thinking that is bound, who edits makes no difference to the tokens.
_FREE = frozenset({"edits_at", "bound_thinking", "cap_by", "cap_preview", "cap_tail", "offload"})


@lru_cache(maxsize=1)
def available() -> bool:
    """Whether the compiler is installed (the extra ``fast``)."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def supports(policy: Policy, rules: CacheRules, trace: Trace) -> str:
    """Why a policy has to go through the reference engine; empty if it does not.

    Examples
    --------
    >>> from labkit.price.cache import ARTICLE_RULES
    >>> empty = Trace("empty", (), ())
    >>> supports(Policy(), ARTICLE_RULES, empty), supports(Policy(cap=500), ARTICLE_RULES, empty)
    ('', 'cap')
    """
    plain = Policy()
    for field in fields(Policy):
        if field.name in _READ | _GROUPS | _FREE:
            continue
        if getattr(policy, field.name) != getattr(plain, field.name):
            return field.name
    if rules.mode != "append_only":
        return "cache with breakpoints"
    if rules.thinking_bound and any(block.kind == "thinking" for block in trace.blocks):
        return "bound thinking"
    if any(block.edited for block in trace.blocks):
        return "an edited trace"
    return ""


@dataclass(frozen=True, eq=False)
class _Arrays:
    """A trace as integers; what depends on the stub's form is for one group of policies."""

    size: Ints
    stub: Ints  # size of the stub; -1 where a result is never cleared
    is_result: Ints
    request: Ints
    starts: Ints  # position at which each message begins
    messages: Ints  # messages begun by the end of each request's blocks
    is_start: Ints
    call: Ints  # of a result: its call, else -1
    stop: Ints  # end of each request's blocks
    waiting: Ints  # at each request the first call that waits for its result, or a large number
    counted: Ints  # positions of the results that keep counts
    seen: Ints  # how many of them each request has seen
    held: tuple[Ints, Ints]  # probes that each block holds: offsets and values
    stub_held: tuple[Ints, Ints]
    at_start: Ints  # whether a probe stands in the system prompt
    due: tuple[Ints, Ints]  # needs of each request, by source
    need_source: Ints
    need_counts: Ints
    source_size: Ints
    facts: int
    prefix: int


_arrays: WeakKeyDictionary[Sizes, dict[Any, _Arrays]] = WeakKeyDictionary()


def _prepared(trace: Trace, sizes: Sizes, policy: Policy) -> _Arrays:
    kept = _arrays.setdefault(sizes, {})
    key = (trace, policy.pinned, policy.stub_if_smaller, policy.stub_chars, policy.stub_text)
    if key not in kept:
        kept[key] = _prepare(trace, sizes, policy)
    return kept[key]


def _prepare(trace: Trace, sizes: Sizes, policy: Policy) -> _Arrays:
    blocks, size = trace.blocks, np.array(sizes.blocks, dtype=np.int64)
    n = len(blocks)
    starts, is_start = [], np.zeros(n, np.int64)
    for i, block in enumerate(blocks):
        if i == 0 or block.message is None or block.message != blocks[i - 1].message:
            starts.append(i)
            is_start[i] = 1
    call = np.full(n, -1, np.int64)
    for result, asked in answers(blocks).items():
        call[result] = asked
    stub_size = np.full(n, -1, np.int64)
    stubs: dict[int, str] = {}
    counted = []
    for i, block in enumerate(blocks):
        if block.kind != "result" or block.tool in policy.pinned:
            continue
        counted.append(i)
        text = stub(block, sizes.blocks[i], policy.stub_chars, policy.stub_text).text
        tokens = sizes.count(text) + min(MESSAGE_OVERHEAD * int(is_start[i]), sizes.blocks[i])
        if tokens < sizes.blocks[i] or not policy.stub_if_smaller:
            stub_size[i], stubs[i] = tokens, text
    stop, waiting, messages = _by_request(trace, is_start)
    probes = Probes(trace, sizes)
    held = _rows([probes.held(i) for i in range(n)])
    stub_held = _rows([probes.in_text(stubs[i]) if i in stubs else () for i in range(n)])
    order = sorted(range(len(probes.needs)), key=lambda k: (probes.needs[k].request, probes.needs[k].source))
    last = len(trace.requests)
    due: list[list[int]] = [[] for _ in range(last + 1)]
    for k in order:
        if 1 <= probes.needs[k].request <= last:
            due[probes.needs[k].request].append(k)
    sources = [need.source for need in probes.needs]
    return _Arrays(
        size=size,
        stub=stub_size,
        is_result=np.array([b.kind == "result" for b in blocks], dtype=np.int64),
        request=np.array([b.request for b in blocks], dtype=np.int64),
        starts=np.array(starts, dtype=np.int64),
        messages=messages,
        is_start=is_start,
        call=call,
        stop=stop,
        waiting=waiting,
        counted=np.array(counted, dtype=np.int64),
        seen=np.searchsorted(np.array(counted, dtype=np.int64), stop).astype(np.int64),
        held=held,
        stub_held=stub_held,
        at_start=np.array(probes.at_start, dtype=np.int64),
        due=_rows(due[1:]),
        need_source=np.array(sources, dtype=np.int64),
        need_counts=np.array([k < probes.counted for k in range(len(sources))], dtype=np.int64),
        source_size=np.array([probes.again(s) for s in sources], dtype=np.int64),
        facts=len(trace.facts),
        prefix=sizes.prefix(trace.requests[0].prefix),
    )


def _by_request(trace: Trace, is_start: Ints) -> tuple[Ints, Ints, Ints]:
    """Of each request: the end of its blocks, the first call that waits, and the messages begun."""
    blocks = trace.blocks
    pending: dict[str | None, list[int]] = {}
    spoke = -1
    stops, firsts, begun = [], [], []
    total = 0
    for _, new in trace.new_blocks():
        for i in new:
            block = blocks[i]
            total += int(is_start[i])
            if block.kind == "call":
                pending.setdefault(block.call_id, []).append(i)
            elif block.kind == "result":
                asked = pending.get(block.call_id)
                if asked:
                    asked.pop()
                    if not asked:
                        del pending[block.call_id]
            elif speaks(block) or (block.role == "user" and block.kind != "thinking"):
                spoke = i
        stops.append(new.stop)
        firsts.append(min((i for asked in pending.values() for i in asked if i > spoke), default=_FAR))
        begun.append(total)
    return tuple(np.array(v, dtype=np.int64) for v in (stops, firsts, begun))  # type: ignore[return-value]


_FAR = 1 << 40


def _rows(lists: list[Any]) -> tuple[Ints, Ints]:
    """Lists of different lengths as offsets and values."""
    offsets = np.zeros(len(lists) + 1, np.int64)
    offsets[1:] = np.cumsum([len(row) for row in lists])
    values = np.array([v for row in lists for v in row], dtype=np.int64)
    return offsets, values


def run(trace: Trace, sizes: Sizes, policies: list[Policy], rules: CacheRules, summarizer: SizedSummarizer) -> Ints:
    """Replay a trace under many policies.

    Parameters
    ----------
    trace : Trace
    sizes : Sizes
    policies : list of Policy
        Each one that :func:`supports` lets through.
    rules : CacheRules
    summarizer : SizedSummarizer

    Returns
    -------
    array of int, (policies, len(COLUMNS))
    """
    from labkit.replay import fastpath_kernel

    kernel: Any = fastpath_kernel.kernel

    out = np.zeros((len(policies), len(COLUMNS)), np.int64)
    idle = np.full(len(trace.requests), -1.0)
    for i in range(1, len(trace.requests)):
        before, here = trace.requests[i - 1].start, trace.requests[i].start
        if before is not None and here is not None:
            idle[i] = here - before
    groups: dict[Any, list[int]] = {}
    for i, policy in enumerate(policies):
        groups.setdefault(tuple(getattr(policy, name) for name in sorted(_GROUPS)), []).append(i)
    for members in groups.values():
        a = _prepared(trace, sizes, policies[members[0]])
        knobs = np.array([_knobs(policies[i], rules, a.prefix) for i in members], dtype=np.float64)
        part = np.zeros((len(members), len(COLUMNS)), np.int64)
        shared = (idle, rules.minimum, summarizer.tokens, float(summarizer.share), summarizer.call != "free")

        def work(
            at: slice, knobs: NDArray[np.float64] = knobs, part: Ints = part, a: _Arrays = a, shared: Any = shared
        ) -> None:
            kernel(
                knobs[at], *shared, MESSAGE_OVERHEAD, a.size, a.stub, a.is_result, a.request, a.starts, a.messages,
                a.is_start, a.call, a.stop, a.waiting, a.counted, a.seen, *a.held, *a.stub_held, a.at_start, *a.due,
                a.need_source, a.need_counts, a.source_size, a.facts, a.prefix, part[at],
            )  # fmt: skip

        # The kernel holds no lock, so threads share the work; small parts even out slow policies.
        step = max(min(len(members) // (4 * THREADS), 512), 16)
        slices = [slice(i, i + step) for i in range(0, len(members), step)]
        if len(slices) == 1:
            work(slices[0])
        else:
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(work, slices))
        out[members] = part
    return out


_NEVER = float(1 << 50)


def _knobs(policy: Policy, rules: CacheRules, prefix: int) -> tuple[float, ...]:
    """The thresholds on the scale of the whole prompt; whole numbers, but for the lifetime."""
    extra = 0 if policy.count_prefix else prefix

    def above(value: float | None, strict: bool = True) -> float:
        return _NEVER if value is None else value + extra - (0 if strict else 1)

    ttl = rules.ttl_1h if policy.lifetime == "1h" and rules.ttl_1h is not None else rules.ttl
    return (
        above(policy.trigger, policy.strict),
        float(policy.floor),
        _NEVER if policy.keep is None else float(policy.keep),
        above(policy.compact_above),
        float(policy.keep_recent),
        _NEVER if policy.window is None else float(policy.window),
        float(ttl),
        float(policy.keep_alive),
    )
