"""What a provider charges, by model and date, from ``data/prices.json``."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Any

from labkit.errors import InputError
from labkit.files import load_data
from labkit.record.trace import Usage

__all__ = ["Band", "Prices", "find_model", "models", "prices", "stale"]

PER = 1_000_000
"""Prices are in US dollars for this many tokens."""

DATED = ("prices.json", "cache_rules.json", "presets.json")
"""The data files that hold vendors' facts, each with an ``as_of``."""


@dataclass(frozen=True)
class Band:
    """Prices of a request whose prompt is larger than ``above`` tokens; they hold for all its tokens."""

    above: int
    input: float
    output: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float


@dataclass(frozen=True)
class Prices:
    """What one model charges, in US dollars per million tokens.

    Parameters
    ----------
    model : str
        Name of the card.
    input, output : float
        Uncached input, and output with thinking.
    cache_read : float
        Input read from the cache.
    cache_write_5m, cache_write_1h : float
        Input written to the cache for the provider's short and long lifetime: 5 minutes and 1 hour
        at Anthropic, 30 minutes and 12 hours at OpenAI. Where a provider asks nothing extra, this
        is the input price.
    bands : tuple of Band
        Other prices for larger prompts, smallest ``above`` first.
    provider : str
        Who sells it.
    window : int, optional
        The largest prompt, in tokens.
    valid_from, valid_until : date, optional
        First day, and first day after the last one, on which these prices hold; ``None`` is open.
    as_of : str
        Date of the data.
    source : str
        Where the numbers come from.
    unconfirmed : str
        What in the card was not seen at the source; empty if nothing.

    Raises
    ------
    InputError
        If a price is negative.

    Examples
    --------
    >>> card = prices("claude-opus-5-5")
    >>> card.input, card.cache_read, card.cache_write_5m
    (4.0, 0.2, 5.0)
    >>> round(card.cost(uncached=1_000, read=100_000, write_5m=2_000, output=500), 4)
    0.044
    """

    model: str
    input: float
    output: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    bands: tuple[Band, ...] = ()
    provider: str = ""
    window: int | None = None
    valid_from: date | None = None
    valid_until: date | None = None
    as_of: str = ""
    source: str = ""
    unconfirmed: str = ""

    def __post_init__(self) -> None:
        for name in ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h"):
            value = getattr(self, name)
            if not value >= 0:
                raise InputError(f"{name} is {value}: it is in dollars per million tokens, so give 0 or more")

    @classmethod
    def from_multipliers(
        cls,
        input: float = 3.0,
        output: float = 15.0,
        *,
        read: float = 0.1,
        write_5m: float = 1.25,
        write_1h: float = 2.0,
        model: str = "made up",
    ) -> Prices:
        """Prices with the cache's as multiples of the input price; for lessons that vary one number.

        Examples
        --------
        >>> Prices.from_multipliers(4.0, 20.0, read=0.025).cache_read
        0.1
        """
        return cls(model, input, output, input * read, input * write_5m, input * write_1h)

    @property
    def read_multiplier(self) -> float:
        """Price of a read as a multiple of the input price."""
        return self.cache_read / self.input

    @property
    def write_multiplier(self) -> float:
        """Price of a short-lived write as a multiple of the input price."""
        return self.cache_write_5m / self.input

    def at(self, input_tokens: int) -> Prices:
        """The prices in force for a request with a prompt of this size.

        Parameters
        ----------
        input_tokens : int
            Size of the whole prompt, cached or not.

        Returns
        -------
        Prices
            Without bands.

        Examples
        --------
        >>> card = prices("claude-haiku-5-5")
        >>> card.at(100_000).input, card.at(100_001).input
        (0.1, 0.5)
        """
        band = None
        for candidate in self.bands:
            if input_tokens > candidate.above:
                band = candidate
        if band is None:
            return replace(self, bands=()) if self.bands else self
        return replace(
            self,
            input=band.input,
            output=band.output,
            cache_read=band.cache_read,
            cache_write_5m=band.cache_write_5m,
            cache_write_1h=band.cache_write_1h,
            bands=(),
        )

    def cost(
        self, uncached: float = 0, read: float = 0, write_5m: float = 0, write_1h: float = 0, output: float = 0
    ) -> float:
        """Dollars for so many tokens at these prices.

        Bands are not looked at, because a sum over requests says nothing about the size of one:
        for a single request take :meth:`at` first, or :meth:`request_cost`.

        Examples
        --------
        >>> prices("article").cost(uncached=1_000_000, output=100_000)
        4.5
        """
        return (
            uncached * self.input
            + read * self.cache_read
            + write_5m * self.cache_write_5m
            + write_1h * self.cache_write_1h
            + output * self.output
        ) / PER

    def request_cost(self, usage: Usage) -> float:
        """Dollars for one request, at the band its prompt falls into.

        Examples
        --------
        >>> card = prices("claude-haiku-5-5")
        >>> card.request_cost(Usage(uncached=200_000)), card.cost(uncached=200_000)
        (0.1, 0.02)
        """
        return self.at(usage.total_input).cost(
            usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.output
        )


def models() -> list[str]:
    """Names of all cards, sorted.

    Examples
    --------
    >>> "article" in models()
    True
    """
    return sorted(load_data("prices.json")["models"])


# What may follow a card's name in a session's own spelling: a snapshot's date or number, a Bedrock
# version, a mode that changes no price. Anything else, such as -mini or -fast, is another model.
SUFFIX = re.compile(
    r"([-@:](\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{3}|latest|preview|thinking|low|medium|high|xhigh|v\d+(:\d+)?))*"
)


def find_model(name: str) -> str:
    """The card for a model's name as a session recorded it.

    Parameters
    ----------
    name : str
        Snapshot dates, a provider's path (``anthropic/``, ``us.anthropic.``), a ``[1m]`` and dots
        in a Claude version are understood.

    Returns
    -------
    str
        Name of the longest card or alias that the name begins with, as in ``prices.json``.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> find_model("claude-opus-4-5-20251101")
    'claude-opus-4-5'
    >>> find_model("anthropic/claude-haiku-4.5")
    'claude-haiku-4-5'
    >>> find_model("gpt-5.4-micro")
    Traceback (most recent call last):
    ...
    labkit.errors.InputError: unknown model 'gpt-5.4-micro': 57 are known, the closest is 'gpt-5.4-mini'
    """
    names = _names()
    plain = str(name).strip().lower().split("/")[-1].removesuffix("[1m]")
    plain = re.sub(r"^([a-z]+\.)?anthropic\.", "", plain)
    if plain.startswith("claude"):
        plain = re.sub(r"(?<=\d)\.(?=\d)", "-", plain)
    for known in sorted(names, key=len, reverse=True):
        if plain.startswith(known) and SUFFIX.fullmatch(plain[len(known) :]):
            return names[known]
    close = difflib.get_close_matches(plain, names, n=1, cutoff=0.0)
    raise InputError(f"unknown model {name!r}: {len(models())} are known, the closest is {close[0]!r}")


@lru_cache(maxsize=None)
def _names() -> dict[str, str]:
    names = {}
    for model, card in load_data("prices.json")["models"].items():
        names.update(dict.fromkeys((model, *card.get("aliases", ())), model))
    return names


def prices(model: str, on: date | None = None) -> Prices:
    """The list prices of a model on a day.

    Parameters
    ----------
    model : str
        Name as recorded, see :func:`find_model`; ``"article"`` is the card of the ctxkit article.
    on : date, optional
        The day; today by default.

    Returns
    -------
    Prices

    Raises
    ------
    InputError
        If the model is unknown; the message names the closest one.

    Examples
    --------
    >>> prices("gemini-4-argon", on=date(2026, 11, 30)).input
    2.0
    >>> prices("gemini-4-argon", on=date(2026, 12, 1)).input
    4.0
    """
    return _prices(find_model(model), on or date.today())


@lru_cache(maxsize=1024)
def _prices(model: str, on: date) -> Prices:
    data = load_data("prices.json")
    card = data["models"][model]
    periods = card["prices"]
    starts = [_day(period["valid_from"]) for period in periods]
    # The first period is open at its start: before a launch the first price is the best guess.
    chosen = max(i for i, start in enumerate(starts) if i == 0 or (start is not None and start <= on))
    return Prices(
        model,
        **_amounts(periods[chosen]),
        bands=tuple(Band(above=band["above"], **_amounts(band)) for band in periods[chosen]["bands"]),
        provider=card["provider"],
        window=card["window"],
        valid_from=starts[chosen],
        valid_until=starts[chosen + 1] if chosen + 1 < len(starts) else None,
        as_of=data["as_of"],
        source=sources(data, card["source"]),
        unconfirmed=card.get("unconfirmed", ""),
    )


def _amounts(period: dict[str, Any]) -> dict[str, float]:
    short = period.get("cache_write_5m", period.get("cache_write_30m"))
    long = period.get("cache_write_1h", period.get("cache_write_12h"))
    own = {"cache_read": period["cache_read"], "cache_write_5m": short, "cache_write_1h": long}
    amounts = {"input": float(period["input"]), "output": float(period["output"])}
    # A null has no price of its own, so the tokens bill as input.
    return amounts | {name: amounts["input"] if value is None else float(value) for name, value in own.items()}


def _day(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def sources(data: dict[str, Any], keys: list[str]) -> str:
    """Titles and addresses behind the source keys of a data file."""
    found = [data["sources"][key] for key in keys]
    return "; ".join(f"{s['title']}, {s['url']}" if s["url"] else s["title"] for s in found)


def stale(on: date | None = None, days: int = 120) -> tuple[str, ...]:
    """The data files with vendors' facts that are older than so many days; empty if none.

    Parameters
    ----------
    on : date, optional
        The day to judge from; today by default.
    days : int
        Age up to which a file counts as fresh.

    Examples
    --------
    >>> stale(on=date(2026, 12, 1))
    ()
    """
    today = on or date.today()
    return tuple(name for name in DATED if (today - date.fromisoformat(load_data(name)["as_of"])).days > days)
