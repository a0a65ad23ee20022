"""The ladder on integers, compiled: what a sweep runs ten thousand times.

It gives the same columns as the reference engine, to the token, for every rung and cache, where summaries have
a modelled size. There are two kernels: a short one for what most sweeps are made of (*clear* by results under one
trigger in tokens, *compact*, and a cache that reads whatever is the same), and one for everything. What neither
can express goes through the reference; :func:`supports` tells which.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import lru_cache, partial
from operator import eq
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from labkit.ladder.policy import Policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import CacheRules
from labkit.record.sizes import Sizes
from labkit.record.trace import Trace
from labkit.replay.fastpath_arrays import FORMS
from labkit.replay.fastpath_plain import plain_knobs, start_plain
from labkit.replay.fastpath_policies import Columns, Mask
from labkit.replay.fastpath_start import full_knobs, start_full

__all__ = ["COLUMNS", "are_plain", "are_supported", "available", "pays", "plain", "run", "supports"]

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
    "offloaded",
    "uncached",
    "refused",
    "bound",
)
"""What a run gives for each policy, in tokens and counts. ``overflow`` and ``refused`` are requests, 0 for never;
``bound`` are the blocks of thinking that a refused edit would have made invalid."""

# Fields whose value the kernel reads, and those that may differ from group to group of policies.
_READ = frozenset(
    {"window", "trigger", "strict", "floor", "keep", "compact_above", "keep_recent", "lifetime", "keep_alive"}
)
_GROUPS = frozenset({"pinned", "stub_if_smaller", "stub_chars", "stub_text", "count_prefix"})
# Without thinking that is bound, who edits makes no difference to the tokens.
_FREE = frozenset({"edits_at", "bound_thinking", "cap_by", "cap_preview", "cap_tail", "offload"})


_OTHERS = tuple((field.name, field.default) for field in fields(Policy) if field.name not in _READ | _GROUPS | _FREE)


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
    >>> supports(Policy(cap=500, evict=['edited']), ARTICLE_RULES, empty)
    ''
    """
    if trace not in _troubles:
        _troubles[trace] = _trouble(trace)
    if policy.trim is not None:
        return "a trim"
    if rules.ttl_1h is None and policy.lifetime == "1h":
        return "a lifetime that the rules do not have"
    return _troubles[trace]


_troubles: WeakKeyDictionary[Trace, str] = WeakKeyDictionary()
# The words around the number in what a size model writes.
_SUMMARY = SizedSummarizer(0).of_size(0).text.split("0")


def _trouble(trace: Trace) -> str:
    """What no kernel can follow in a trace; empty if there is nothing."""
    if any(block.edited for block in trace.blocks):
        return "an edited trace"
    for probe in (*(fact.probe for fact in trace.facts), *(need.excerpt for need in trace.needs)):
        words = re.split(r"\d[\d,]*", probe)
        like = any(probe in part for part in _SUMMARY) or (len(words) > 1 and "0".join(words) in "0".join(_SUMMARY))
        if like and not re.fullmatch(r"\d{4,}", probe):  # a summary's number has commas
            return "a fact in the words of a summary"
    waiting: dict[str | None, list[int]] = {}
    spoke = -1
    for i, block in enumerate(trace.blocks):
        if block.kind == "call":
            waiting.setdefault(block.call_id, []).append(i)
        elif block.kind == "result":
            asked = waiting.get(block.call_id, [])
            if len(asked) > 1 and spoke > asked[-1]:
                return "calls that share an id"
            if asked:
                asked.pop()
        elif block.role == "user" and block.kind != "thinking":
            spoke = i
        if block.kind == "result" and i and trace.blocks[i - 1].kind == "thinking" and block.message is not None:
            return "a result behind thinking in one message"
    return ""


def plain(policy: Policy, rules: CacheRules, trace: Trace) -> bool:
    """Whether the short kernel can do it.

    Examples
    --------
    >>> from labkit.price.cache import ARTICLE_RULES
    >>> empty = Trace("empty", (), ())
    >>> plain(Policy(keep=5), ARTICLE_RULES, empty), plain(Policy(cap=500), ARTICLE_RULES, empty)
    (True, False)
    """
    return bool(are_plain(Columns([policy]), rules, trace)[0])


def are_plain(policies: Columns, rules: CacheRules, trace: Trace) -> Mask:
    """Of which policies :func:`plain` holds."""
    bound = rules.thinking_bound and any(b.kind == "thinking" for b in trace.blocks)
    out = np.full(policies.length, rules.mode == "append_only" and not bound)
    for name, value in _OTHERS:
        if name not in policies.same or policies.same[name] != value:
            out &= policies.where(name, partial(eq, value))
    return out


def are_supported(policies: Columns, rules: CacheRules, trace: Trace) -> Mask:
    """Which policies :func:`supports` lets through."""
    out = policies.where("trim", lambda trim: trim is None)
    if rules.ttl_1h is None:
        out &= policies.where("lifetime", lambda lifetime: lifetime != "1h")
    return out & (supports(Policy(), rules, trace) == "")


def pays(requests: int) -> bool:
    """Whether so many requests, over all policies, are worth the long kernel, which takes seconds to compile.

    The reference engine does some ten thousand a second.
    """
    return requests > 100_000


def run(
    trace: Trace,
    sizes: Sizes,
    policies: Sequence[Policy] | Columns,
    rules: CacheRules,
    summarizer: SizedSummarizer,
) -> Ints:
    """Replay a trace under many policies.

    Parameters
    ----------
    trace : Trace
    sizes : Sizes
    policies : sequence of Policy, or Columns
        Each one that :func:`supports` lets through.
    rules : CacheRules
    summarizer : SizedSummarizer

    Returns
    -------
    array of int, (policies, len(COLUMNS))
    """
    table = policies if isinstance(policies, Columns) else Columns(policies)
    out = np.zeros((table.length, len(COLUMNS)), np.int64)
    short = are_plain(table, rules, trace)
    prefix = sizes.prefix(trace.requests[0].prefix)
    for kind, among, names in ((start_plain, short, sorted(_GROUPS)), (start_full, ~short, FORMS)):
        if not among.any():
            continue
        numbers = (plain_knobs if kind is start_plain else full_knobs)(table, rules, prefix, summarizer)
        for members in table.groups(names, among):
            work = kind(trace, sizes, table.policy(int(members[0])), numbers[members], rules, summarizer)
            part = np.zeros((len(members), len(COLUMNS)), np.int64)
            # The kernels hold no lock, so threads share the work; small parts even out slow policies.
            step = max(min(len(members) // (4 * THREADS), 512), 16)
            slices = [slice(i, i + step) for i in range(0, len(members), step)]
            if len(slices) == 1:
                work(slices[0], part)
            else:
                with ThreadPoolExecutor(THREADS) as pool:
                    list(pool.map(work, slices, [part] * len(slices)))
            out[members] = part
    return out
