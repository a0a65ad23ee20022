"""A trace as integers for the compiled engine: sizes, forms, pairs, and who shows what."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from labkit.ladder.cap import capped
from labkit.ladder.evict import Overtakes, superseded_stub
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import bare_call, clears_inputs, speaks, stub
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import CacheRules
from labkit.record.pairs import answers
from labkit.record.sizes import Sizes
from labkit.record.tokens import MESSAGE_OVERHEAD
from labkit.record.trace import Block, Trace
from labkit.replay import fastpath_names as names
from labkit.replay.fidelity import Probes

__all__ = ["FAR", "FORMS", "Arrays", "arrays", "pauses", "rows"]

Ints = NDArray[np.int64]
FAR = 1 << 40

FORMS = (
    "pinned", "stub_if_smaller", "stub_chars", "stub_text", "clear_inputs", "evict", "cap", "cap_by", "cap_of",
    "cap_preview", "cap_tail", "offload",
)  # fmt: skip
"""The fields that decide what stands in a block's place: policies that agree in them share their arrays."""

Arrays = namedtuple("Arrays", "b r f l c")
"""Rows of what is known of each block and each request, all lists in one, and single numbers: see
:mod:`labkit.replay.fastpath_names`."""

LISTS = (
    "abandoned", "thoughts", "overtakes", "fact", "fact_mask", "at_start", "need_source", "need_counts", "source_size",
    "holder_at", "holder", "holder_mask",
)  # fmt: skip

_static: WeakKeyDictionary[Sizes, dict[Any, dict[str, Any]]] = WeakKeyDictionary()
_formed: WeakKeyDictionary[Sizes, dict[Any, dict[str, Any]]] = WeakKeyDictionary()


def arrays(trace: Trace, sizes: Sizes, policy: Policy, rules: CacheRules, summarizer: SizedSummarizer) -> Any:
    """Everything that a replay under policies of this form reads."""
    static = _static.setdefault(sizes, {})
    if trace not in static:
        static[trace] = _of_trace(trace, sizes)
    formed = _formed.setdefault(sizes, {})
    key = (trace, *(getattr(policy, name) for name in FORMS))
    if key not in formed:
        formed[key] = _of_form(trace, sizes, policy, static[trace])
    known = {**static[trace], **formed[key]}
    plain = rules.mode == "append_only"
    numbers = {
        "facts": known["facts"],
        "prefix": known["prefix"],
        "minimum": rules.minimum,
        "lookback": -1 if plain else FAR if rules.lookback is None else rules.lookback,
        "step": rules.step,
        "at_system": int("system" in rules.placement),
        "at_last": int("last" in rules.placement),
        "summary_tokens": summarizer.tokens,
        "billed": int(summarizer.call != "free"),
        "message_overhead": MESSAGE_OVERHEAD,
        "abandoned": len(known["abandoned"]),
    }
    begins = np.cumsum([0, *(len(known[name]) for name in LISTS)])[:-1]
    singles = {f"C_{name.upper()}": value for name, value in numbers.items()}
    singles |= {f"L_{name.upper()}": int(at) for name, at in zip(LISTS, begins, strict=True)}
    return Arrays(
        _stack("B_", known, len(trace.blocks) + 1, np.int64),
        _stack("R_", known, len(trace.requests) + 1, np.int64),
        _stack("F_", known, len(trace.requests) + 1, np.float64),
        np.concatenate([known[name] for name in LISTS]),
        np.array([singles[name] for name in sorted(singles, key=lambda name: getattr(names, name))], dtype=np.int64),
    )


def _stack(begin: str, known: dict[str, Any], length: int, kind: Any) -> Any:
    """The rows whose names begin so, in their order."""
    wanted = sorted((n for n in vars(names) if n.startswith(begin)), key=lambda name: getattr(names, name))
    out = np.zeros((len(wanted), length), kind)
    for name in wanted:
        row = known[name.removeprefix(begin).lower()]
        out[getattr(names, name), : len(row)] = row
    return out


def rows(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Lists of different lengths as offsets and values."""
    offsets = np.zeros(len(lists) + 1, np.int64)
    offsets[1:] = np.cumsum([len(row) for row in lists])
    return offsets, np.array([v for row in lists for v in row], dtype=np.int64)


def pauses(trace: Trace) -> tuple[list[float], list[float]]:
    """Seconds before each request and after the last, -1 where unknown; and the start of each."""
    starts = [request.start for request in trace.requests]
    gaps = [-1.0 if a is None or b is None else max(b - a, -1.0) for a, b in pairwise(starts)]
    return [-1.0, *gaps, -1.0], [start or 0.0 for start in starts]


def _of_trace(trace: Trace, sizes: Sizes) -> dict[str, Any]:
    blocks, n = trace.blocks, len(trace.blocks)

    def each(what: Callable[[Block], Any]) -> Ints:
        return np.array([what(block) for block in blocks], dtype=np.int64)

    starts = [i == 0 or b.message is None or b.message != blocks[i - 1].message for i, b in enumerate(blocks)]
    over = [min(MESSAGE_OVERHEAD * begins, size) for begins, size in zip(starts, sizes.blocks, strict=True)]
    messages: dict[int | None, int] = {None: -1}
    known: dict[Block, int] = {}
    call, answer = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for result, asked in answers(blocks).items():
        call[result], answer[asked] = asked, result
    stops = [new.stop for _, new in trace.new_blocks()]
    spokes = [i for i, b in enumerate(blocks) if b.role == "user" and b.kind not in ("call", "result", "thinking")]
    after = np.searchsorted(np.array(spokes), np.arange(n)) if spokes else np.zeros(n, np.int64)
    end_of_wait = [answer[i] if answer[i] >= 0 else n for i in range(n)]
    abandoned = [
        i
        for i, b in enumerate(blocks)
        if b.kind == "call" and after[i] < len(spokes) and spokes[after[i]] < end_of_wait[i]
    ]
    thoughts = [i for i, b in enumerate(blocks) if b.kind == "thinking"]
    idle, now = pauses(trace)
    waiting, spoke = _by_request(blocks, stops, answer)
    probes = Probes(trace, sizes)
    return {
        "size": np.array(sizes.blocks, dtype=np.int64),
        "is_result": each(lambda b: b.kind == "result"),
        "assistant": each(lambda b: b.role == "assistant"),
        "speaks": each(speaks),
        "message": each(lambda b: messages.setdefault(b.message, len(messages) - 1)),
        "run": each(lambda b: {"call": 1, "result": 2}.get(b.kind, 0)),
        "request": each(lambda b: b.request),
        "turns": each(lambda b: b.turn),
        "overhead": np.array(over, dtype=np.int64),
        "call": call,
        "answer": answer,
        "equal": each(lambda b: known.setdefault(b, len(known))),
        "stop": np.array(stops, dtype=np.int64),
        "first_new": np.array([0, *stops[:-1]], dtype=np.int64),
        "waiting": waiting,
        "spoke": spoke,
        "idle": np.array(idle),
        "now": np.array(now),
        "abandoned": np.array(abandoned, dtype=np.int64),
        "thoughts": np.array(thoughts, dtype=np.int64),
        "thoughts_by": np.searchsorted(np.array(thoughts, dtype=np.int64), np.arange(n + 1)).astype(np.int64),
        "at_start": np.array(probes.at_start[: len(trace.facts)], dtype=np.int64),
        "facts": len(trace.facts),
        "prefix": sizes.prefix(trace.requests[0].prefix),
    }


def _by_request(blocks: Sequence[Block], stops: list[int], answer: Ints) -> tuple[Ints, Ints]:
    """At each request: the first call that waits and has not been talked over, and the newest text of the user."""
    waiting, spoke = [], []
    open_calls: dict[int, None] = {}
    newest, at = -1, 0
    for stop in stops:
        for i in range(at, stop):
            block = blocks[i]
            if block.kind == "call":
                open_calls[i] = None
            elif block.kind == "result":
                continue
            elif block.role == "user" and block.kind != "thinking":
                newest = i
                open_calls.clear()  # what waited before it is abandoned
        at = stop
        open_calls = {i: None for i in open_calls if not 0 <= answer[i] < stop}
        waiting.append(next(iter(open_calls), FAR))
        spoke.append(newest)
    return np.array(waiting, dtype=np.int64), np.array(spoke, dtype=np.int64)


def _of_form(trace: Trace, sizes: Sizes, policy: Policy, static: dict[str, Any]) -> dict[str, Any]:
    from labkit.replay.replay import remembering

    blocks, n, over = list(trace.blocks), len(trace.blocks), static["overhead"]
    count = remembering(sizes)
    probes = Probes(trace, sizes)
    size = static["size"].copy()
    stubs, bare, evicted = (np.full(n, -1, np.int64) for _ in range(3))
    cap = np.zeros(n, np.int64)
    pinned = np.array([b.kind == "result" and b.tool in policy.pinned for b in blocks], dtype=np.int64)
    shows: list[dict[int, int]] = [dict.fromkeys(probes.held(i), 1 | 16) for i in range(n)]

    def also(i: int, form: int, text: str) -> None:
        for probe in probes.in_text(text):
            shows[i][probe] = shows[i].get(probe, 0) | form

    for i, block in enumerate(blocks):
        if block.kind != "result":
            continue
        shaped = capped(block, int(size[i] - over[i]), policy, count) if policy.cap or policy.cap_of else None
        if shaped is not None:
            blocks[i], size[i], cap[i] = shaped[0], shaped[1] + over[i], 2 if policy.offload else 1
            shows[i] = dict.fromkeys(shows[i], 16)
            also(i, 1, blocks[i].text)
        if pinned[i]:
            continue
        made = stub(blocks[i], int(size[i]), policy.stub_chars, policy.stub_text).text
        tokens = count(made) + over[i]
        if tokens < size[i] or not policy.stub_if_smaller:
            stubs[i] = tokens
            also(i, 2, made)
            asked = static["call"][i]
            if asked >= 0 and clears_inputs(block.tool, policy):
                text = bare_call(blocks[asked]).text
                bare[i] = count(text)
                also(int(asked), 8, text)
    overtakes: list[list[int]] = [[] for _ in range(n)]
    for old, (new, why) in _superseded(blocks, policy, static["call"]).items():
        text = superseded_stub(blocks[old], why, policy).text
        tokens = count(text) + over[old]
        if not pinned[old] and (tokens < size[old] or not policy.stub_if_smaller):
            evicted[old] = tokens
            overtakes[new].append(old)
            also(old, 4, text)
    facts = len(trace.facts)
    fact_at, fact = rows([[k for k in held if k < facts] for held in shows])
    mask = [held[k] for held in shows for k in held if k < facts]
    overtakes_at, overtaken = rows(overtakes)
    return {
        "size": size, "stub": stubs, "bare": bare, "evicted": evicted, "cap": cap, "pinned": pinned,
        "overtakes_at": overtakes_at, "overtakes": overtaken,
        "fact_at": fact_at, "fact": fact, "fact_mask": np.array(mask, dtype=np.int64),
        **_needs(trace, probes, shows, static["stop"]),
    }  # fmt: skip


def _superseded(blocks: Sequence[Block], policy: Policy, calls: Ints) -> dict[int, tuple[int, str]]:
    """Results that are overtaken: by which later result first, and why; as :mod:`labkit.ladder.evict` has it."""
    found: dict[int, tuple[int, str]] = {}
    if not policy.evict:
        return found
    overtakes = Overtakes[int](policy.evict)
    for i, block in enumerate(blocks):
        if block.kind == "result":
            for old, why in overtakes.came(block, i, blocks[calls[i]].text if calls[i] >= 0 else None):
                found.setdefault(old, (i, why))
    return found


def _needs(trace: Trace, probes: Probes, shows: list[dict[int, int]], stops: Ints) -> dict[str, Any]:
    """The needs of each request, by source, with the blocks that may show their excerpts, newest first."""
    facts = len(trace.facts)
    holders: dict[int, list[tuple[int, int]]] = {}
    for i, held in enumerate(shows):
        for probe, mask in held.items():
            if probe >= facts and mask & 15:
                holders.setdefault(probe - facts, []).append((i, mask))
    due: list[list[int]] = [[] for _ in stops]
    for k, need in enumerate(probes.needs):
        if 1 <= need.request <= len(stops) and not probes.at_start[facts + k]:
            due[need.request - 1].append(k)
    order = [k for wanted in due for k in sorted(wanted, key=lambda k: (probes.needs[k].source, k))]
    kept = [[h for h in holders.get(k, ())[::-1] if h[0] < stops[probes.needs[k].request - 1]] for k in order]
    holder_at, holder = rows([[block for block, _ in found] for found in kept])
    return {
        "due_at": rows(due)[0],
        "need_source": np.array([probes.needs[k].source for k in order], dtype=np.int64),
        "need_counts": np.array([k < probes.counted for k in order], dtype=np.int64),
        "source_size": np.array([probes.again(probes.needs[k].source) for k in order], dtype=np.int64),
        "holder_at": holder_at,
        "holder": holder,
        "holder_mask": np.array([mask for found in kept for _, mask in found], dtype=np.int64),
    }
