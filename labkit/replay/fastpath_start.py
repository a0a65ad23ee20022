"""What the long compiled kernel reads of policies: each as a row of numbers."""

from __future__ import annotations

from functools import partial
from operator import eq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.ladder.policy import Policy
from labkit.ladder.summaries import SizedSummarizer
from labkit.price.cache import CacheRules
from labkit.record.sizes import Sizes
from labkit.record.trace import Trace
from labkit.replay.fastpath_arrays import arrays
from labkit.replay.fastpath_plain import NEVER, Work, lifetimes
from labkit.replay.fastpath_policies import Columns

__all__ = ["full_knobs", "start_full"]

Numbers = NDArray[np.float64]


def start_full(
    trace: Trace, sizes: Sizes, policy: Policy, knobs: Numbers, rules: CacheRules, summarizer: SizedSummarizer
) -> Work:
    """The kernel for everything with all but the place for its rows; the policies agree in the forms of ``policy``."""
    from labkit.replay import fastpath_full

    kernel: Any = fastpath_full.kernel
    a = arrays(trace, sizes, policy, rules, summarizer)

    def work(at: slice, part: NDArray[np.int64]) -> None:
        kernel(knobs[at], a, part[at])

    return work


def full_knobs(policies: Columns, rules: CacheRules, prefix: int, summarizer: SizedSummarizer) -> Numbers:
    """Policies as rows of numbers, in the order of :mod:`labkit.replay.fastpath_names`."""
    known = policies.numbers

    def place(name: str, *values: str) -> Any:
        where = [policies.where(name, partial(eq, value)) for value in values]
        return np.select(where, range(len(values)))

    client = rules.thinking_bound & policies.where("edits_at", partial(eq, "client"))
    refuse = policies.where("bound_thinking", partial(eq, "refuse"))
    return np.column_stack(
        [
            known("trigger", NEVER),
            place("trigger_by", "tokens", "tool_uses", "fraction"),
            known("strict"),
            np.where(policies.where("count_prefix", bool), 0, prefix),
            known("window", NEVER),
            known("only_cold", -1.0),
            known("remembers"),
            known("floor"),
            place("floor_is", "minimum", "target"),
            policies.where("evict", bool),
            known("keep", -1.0),
            place("keep_by", "results", "groups", "user_turns", "tokens"),
            known("pinned_take_keep"),
            known("batch"),
            known("keep_thinking", -1.0),
            known("compact_above", NEVER),
            known("keep_recent"),
            place("keep_recent_by", "messages", "tokens"),
            known("keep_first"),
            known("compact_before_pause"),
            known("hand_off_above", NEVER),
            lifetimes(policies, rules),
            known("keep_alive"),
            np.where(client, np.where(refuse, 1, 2), 0),
            np.full(policies.length, float(summarizer.share)),
        ]
    ).astype(np.float64)
