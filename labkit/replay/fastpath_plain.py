"""What the short compiled kernel reads: a trace for one form of stub, and policies as rows of eight numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
from labkit.record.trace import Block, Trace
from labkit.replay.fastpath_arrays import FAR, pauses, rows
from labkit.replay.fastpath_policies import Columns
from labkit.replay.fidelity import Probes

__all__ = ["NEVER", "Work", "lifetimes", "plain_knobs", "start_plain"]

Ints = NDArray[np.int64]
Numbers = NDArray[np.float64]
NEVER = float(1 << 50)
Work = Callable[[slice, Ints], None]


def start_plain(
    trace: Trace, sizes: Sizes, policy: Policy, knobs: Numbers, rules: CacheRules, summarizer: SizedSummarizer
) -> Work:
    """The short kernel with all but the place for its rows; the policies agree in the forms of ``policy``."""
    from labkit.replay import fastpath_kernel

    kernel: Any = fastpath_kernel.kernel
    a = _prepared(trace, sizes, policy)
    idle = np.array(pauses(trace)[0][:-1])

    def work(at: slice, part: Ints) -> None:
        kernel(
            knobs[at], idle, rules.minimum, summarizer.tokens, float(summarizer.share), summarizer.call != "free",
            MESSAGE_OVERHEAD, a.size, a.stub, a.is_result, a.request, a.starts, a.messages, a.is_start, a.call, a.stop,
            a.waiting, a.thought, a.answered, a.counted, a.seen, *a.held, *a.stub_held, a.at_start, *a.due,
            a.need_source, a.need_counts, a.source_size, a.facts, a.prefix, part[at],
        )  # fmt: skip

    return work


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
    thought: Ints  # at each request the first thinking in the newest answer, or -1
    answered: Ints  # and that answer's last block
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
    thought, answered = _thinking(blocks, stop)
    probes = Probes(trace, sizes)
    held = rows([probes.held(i) for i in range(n)])
    stub_held = rows([probes.in_text(stubs[i]) if i in stubs else () for i in range(n)])
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
        thought=thought,
        answered=answered,
        counted=np.array(counted, dtype=np.int64),
        seen=np.searchsorted(np.array(counted, dtype=np.int64), stop).astype(np.int64),
        held=held,
        stub_held=stub_held,
        at_start=np.array(probes.at_start, dtype=np.int64),
        due=rows(due[1:]),
        need_source=np.array(sources, dtype=np.int64),
        need_counts=np.array([k < probes.counted for k in range(len(sources))], dtype=np.int64),
        source_size=np.array([probes.again(s) for s in sources], dtype=np.int64),
        facts=len(trace.facts),
        prefix=sizes.prefix(trace.requests[0].prefix),
    )


def _thinking(blocks: tuple[Block, ...], stops: Ints) -> tuple[Ints, Ints]:
    """Of each request: the first thinking in the newest answer, and that answer's last block; -1 without thinking."""
    found, at = [], 0
    first = last = -1
    for stop in stops:
        for i in range(at, stop):
            if blocks[i].role != "assistant":
                continue
            first = first if i and blocks[i - 1].role == "assistant" else -1  # another answer begins
            first = i if first < 0 and blocks[i].kind == "thinking" else first
            last = i
        at = stop
        found.append((first, last if first >= 0 else -1))
    thought, answered = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return np.ascontiguousarray(thought), np.ascontiguousarray(answered)


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
        firsts.append(min((i for asked in pending.values() for i in asked if i > spoke), default=FAR))
        begun.append(total)
    return tuple(np.array(v, dtype=np.int64) for v in (stops, firsts, begun))  # type: ignore[return-value]


def plain_knobs(policies: Columns, rules: CacheRules, prefix: int, summarizer: SizedSummarizer) -> Numbers:
    """The thresholds on the scale of the whole prompt; whole numbers, but for the lifetime."""
    extra = np.where(policies.where("count_prefix", bool), 0, prefix)
    strict = policies.where("strict", bool)
    return np.column_stack(
        [
            policies.numbers("trigger", NEVER) + extra - np.where(strict, 0, 1),
            policies.numbers("floor"),
            policies.numbers("keep", NEVER),
            policies.numbers("compact_above", NEVER) + extra,
            policies.numbers("keep_recent"),
            policies.numbers("window", NEVER),
            lifetimes(policies, rules),
            policies.numbers("keep_alive"),
        ]
    )


def lifetimes(policies: Columns, rules: CacheRules) -> Numbers:
    """Seconds that the entries of each policy live."""
    long = float(rules.ttl if rules.ttl_1h is None else rules.ttl_1h)
    return np.where(policies.where("lifetime", lambda lifetime: lifetime == "1h"), long, float(rules.ttl))
