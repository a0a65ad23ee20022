"""How a provider's prompt cache behaves, from ``data/cache_rules.json``; what it charges is in prices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from labkit.errors import InputError
from labkit.files import load_data

__all__ = ["ARTICLE_RULES", "CacheRules", "cache_rules"]


@dataclass(frozen=True)
class CacheRules:
    """The rules by which a prompt's prefix is kept and found again.

    Parameters
    ----------
    name : str
        The model, or a name for people.
    minimum : int
        A prefix of fewer tokens is not cached.
    ttl : float
        Seconds that an entry lives, from the start of the request that last wrote or read it.
    ttl_1h : float, optional
        The longer lifetime that can be bought: 1 hour at Anthropic, 12 hours at OpenAI; ``None``
        where there is none.
    mode : {"append_only", "breakpoints"}
        ``append_only``: a request reads the prefix it shares with the request before it and writes
        the rest, whole. ``breakpoints``: it writes only up to a breakpoint, and finds only what
        was written at one.
    lookback : int, optional
        Positions searched back from a breakpoint, itself the first; ``None`` for no limit.
    breakpoints : int
        Explicit breakpoints that a request may set.
    placement : tuple of {"system", "last"}
        Where the harness sets them: after the system prompt, at the last block. Automatic caching
        sets the last only; Claude Code sets both.
    step : int
        Tokens that a reported count is rounded down to a multiple of.
    thinking_bound : bool
        Thinking is valid only after the exact prefix it was made with, so a client may not edit
        what was sent.
    as_of, source : str
        Date of the data, and where it comes from.
    unconfirmed : str
        What was not seen at the source; empty if nothing.

    Raises
    ------
    InputError
        If a number is out of range or the mode is unknown.

    Examples
    --------
    >>> rules = cache_rules("claude-fable-5-1")
    >>> rules.minimum, rules.ttl, rules.lookback, rules.thinking_bound
    (512, 300, 20, True)
    """

    name: str = "made up"
    minimum: int = 1024
    ttl: float = 300
    ttl_1h: float | None = None
    mode: Literal["append_only", "breakpoints"] = "append_only"
    lookback: int | None = None
    breakpoints: int = 0
    placement: tuple[Literal["system", "last"], ...] = ("last",)
    step: int = 1
    thinking_bound: bool = False
    as_of: str = ""
    source: str = ""
    unconfirmed: str = ""

    def __post_init__(self) -> None:
        if self.minimum < 0:
            raise InputError(f"minimum is {self.minimum}: it counts tokens, so give 0 or more")
        if not self.ttl > 0:
            raise InputError(f"ttl is {self.ttl}: it counts seconds, so give more than 0")
        if self.ttl_1h is not None and not self.ttl_1h >= self.ttl:
            raise InputError(f"ttl_1h is {self.ttl_1h}: it is the longer lifetime, so give {self.ttl} or more, or None")
        if not self.placement or not set(self.placement) <= {"system", "last"}:
            raise InputError(f"placement is {self.placement!r}: give 'system', 'last' or both")
        if self.mode not in ("append_only", "breakpoints"):
            raise InputError(f"mode is {self.mode!r}: give 'append_only' or 'breakpoints'")
        if self.step < 1 or self.breakpoints < 0 or (self.lookback is not None and self.lookback < 1):
            raise InputError(
                f"step is {self.step}, breakpoints {self.breakpoints}, lookback {self.lookback}: "
                "give a step and a lookback of 1 or more, and 0 breakpoints or more"
            )


ARTICLE_RULES = CacheRules(
    name="article",
    as_of="2026-11-30",
    source="Context Engineering for Long-Running Agents: Budgets, Clearing, Compaction and Memory "
    "(the ctxkit article), printed output of simulate.py",
    unconfirmed="Inferred from the printed figures; the article's cold turns, 20 and 45, are pauses longer than the "
    "5 minutes.",
)
"""The model of the ctxkit article: append-only, minimum 1,024 tokens, 5 minutes.

Written here and not only in the data because it is a default argument, which has to exist before
any file is read; a test holds the two together.
"""


def cache_rules(model: str) -> CacheRules:
    """The cache rules of a model.

    Parameters
    ----------
    model : str
        Name as recorded, see :func:`labkit.price.prices.find_model`; ``"article"`` is the model of
        the ctxkit article.

    Returns
    -------
    CacheRules

    Raises
    ------
    InputError
        If the model is unknown; the message names the closest one.

    Examples
    --------
    >>> cache_rules("claude-opus-4-5-20251101").minimum
    4096
    >>> cache_rules("article") == ARTICLE_RULES
    True
    """
    from labkit.price.prices import find_model  # here, so that import labkit need not read the prices' code

    return _cache_rules(find_model(model))


@lru_cache(maxsize=None)
def _cache_rules(model: str) -> CacheRules:
    from labkit.price.prices import sources

    data = load_data("cache_rules.json")
    own = data["models"][model]
    merged = {**data["families"][own["family"]], **own}
    keys = [*merged["source"], *([own["thinking_source"]] if "thinking_source" in own else [])]
    return CacheRules(
        name=model,
        minimum=merged["minimum"],
        ttl=merged["ttl"],
        ttl_1h=merged["ttl_1h"],
        mode=merged["mode"],
        lookback=merged["lookback"],
        breakpoints=merged["breakpoints"],
        step=merged["step"],
        thinking_bound=merged.get("thinking_bound", False),
        as_of=data["as_of"],
        source=sources(data, keys),
        unconfirmed=merged.get("unconfirmed", ""),
    )
