"""Prices: exact numbers by hand, dated switches, bands, names, and what the whole file must hold."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.files import load_data
from labkit.price.prices import Band, Prices, find_model, models, prices, stale
from labkit.record.trace import Usage

TODAY = date(2026, 11, 30)
CARDS = load_data("prices.json")["models"]
CLAUDE = sorted(name for name in CARDS if name.startswith("claude"))

# Input, output, read, short write (5 or 30 minutes), long write (1 or 12 hours), in dollars per million tokens.
EXACT = {
    "claude-fable-5-2": (8, 40, 0.20, 10, 16),
    "claude-mythos-5-2": (8, 40, 0.20, 10, 16),
    "claude-fable-5-1": (10, 50, 0.25, 12.5, 20),
    "claude-mythos-5-1": (10, 50, 0.25, 12.5, 20),
    "claude-fable-5": (10, 50, 1.00, 12.5, 20),
    "claude-opus-5-5": (4, 20, 0.20, 5, 8),
    "claude-opus-5": (5, 25, 0.50, 6.25, 10),
    "claude-opus-4-8": (5, 25, 0.50, 6.25, 10),
    "claude-opus-4-5": (5, 25, 0.50, 6.25, 10),
    "claude-sonnet-5-5": (2, 10, 0.10, 2.5, 4),
    "claude-sonnet-5": (2, 10, 0.20, 2.5, 4),
    "claude-sonnet-4-6": (3, 15, 0.30, 3.75, 6),
    "claude-sonnet-4-5": (3, 15, 0.30, 3.75, 6),
    "claude-haiku-5-5": (0.10, 0.50, 0.01, 0.125, 0.20),
    "claude-haiku-4-5": (1, 5, 0.10, 1.25, 2),
    "gpt-6.2-astra": (8, 40, 0.40, 10, 20),
    "gpt-6.2-sol": (2, 10, 0.10, 2.5, 5),
    "gpt-6-astra": (10, 50, 1.00, 12.5, 25),
    "gpt-6.1-sol": (2, 10, 0.10, 2.5, 5),
    "gpt-6-sol": (2, 10, 0.20, 2.5, 5),
    "gpt-6.1-terra": (1, 5, 0.05, 1.25, 2.5),
    "gpt-6-luna": (0.10, 0.50, 0.01, 0.125, 0.25),
    "gpt-5.6-sol": (4, 20, 0.40, 5, 10),
    "gpt-5.6-terra": (2, 12, 0.20, 2.5, 5),
    "gpt-5.6-luna": (0.2, 1.2, 0.02, 0.25, 0.5),
    # No write price of their own: a write is input.
    "gpt-5.5": (5, 30, 0.50, 5, 5),
    "gpt-5.4": (2.5, 15, 0.25, 2.5, 2.5),
    "gpt-5": (1.25, 10, 0.125, 1.25, 1.25),
    "gpt-4.1": (2, 8, 0.50, 2, 2),
    "gpt-4o": (2.5, 10, 1.25, 2.5, 2.5),
    "gemini-4-argon": (2, 10, 0.10, 2, 2),
    "gemini-4-neon": (3, 15, 0.15, 3, 3),
    "gemini-4-hydrogen": (1.5, 7.5, 0.075, 1.5, 1.5),
    "gemini-3.8-flash": (0.75, 3.75, 0.075, 0.75, 0.75),
    "gemini-3.1-pro-preview": (2, 12, 0.20, 2, 2),
    "gemini-2.5-flash": (0.30, 2.50, 0.03, 0.30, 0.30),
    "article": (3, 15, 0.30, 3.75, 6),
}
READ = {"claude-fable-5-1": 0.025, "claude-mythos-5-1": 0.025, "claude-fable-5-2": 0.025, "claude-mythos-5-2": 0.025}
READ |= {"claude-opus-5-5": 0.05, "claude-sonnet-5-5": 0.05}


def amounts(card: Prices | Band) -> tuple[float, ...]:
    return card.input, card.output, card.cache_read, card.cache_write_5m, card.cache_write_1h


@pytest.mark.parametrize("model", EXACT)
def test_price_as_listed(model: str) -> None:
    assert amounts(prices(model, TODAY)) == pytest.approx(EXACT[model])


@pytest.mark.parametrize("model", CARDS)
def test_every_card_is_whole(model: str) -> None:
    card = prices(model, TODAY)
    assert card.model == model
    assert card.provider in ("anthropic", "openai", "google", "article")
    assert card.source
    assert card.as_of == "2026-11-30"
    assert (card.window or 0) >= 128_000
    assert CARDS[model]["tokenizer"] in load_data("prices.json")["tokenizers"]
    for one in (card, *card.bands):
        assert 0 < one.cache_read < one.input < one.output
        assert one.input <= one.cache_write_5m <= one.cache_write_1h
    assert [b.above for b in card.bands] == sorted({b.above for b in card.bands})
    starts = [period["valid_from"] for period in CARDS[model]["prices"]]
    assert starts[0] is None
    assert starts[1:] == sorted(set(starts[1:]))


@pytest.mark.parametrize("model", CLAUDE)
def test_claude_multipliers(model: str) -> None:
    card = prices(model, TODAY)
    for one in (card, *(card.at(b.above + 1) for b in card.bands)):
        assert one.cache_write_5m == pytest.approx(1.25 * one.input)
        assert one.cache_write_1h == pytest.approx(2 * one.input)
        assert one.cache_read == pytest.approx(READ.get(model, 0.1) * one.input)
        assert one.output == pytest.approx(5 * one.input)


def test_long_prompts() -> None:
    haiku = prices("claude-haiku-5-5", TODAY)
    assert amounts(haiku.at(100_000)) == (0.10, 0.50, 0.01, 0.125, 0.20)
    assert amounts(haiku.at(100_001)) == (0.50, 2.50, 0.05, 0.625, 1.00)
    astra = prices("gpt-6-astra", TODAY)
    assert amounts(astra.at(272_001)) == (20, 75, 2, 25, 50)
    assert amounts(prices("gpt-5.5", TODAY).at(272_001)) == (10, 45, 1, 10, 10)
    assert amounts(prices("gemini-3.1-pro-preview", TODAY).at(200_001)) == (4, 18, 0.4, 4, 4)
    assert prices("claude-opus-5-5", TODAY).at(900_000) == prices("claude-opus-5-5", TODAY)
    assert haiku.at(150_000).at(10) == haiku.at(150_000), "a band in force has no bands of its own"


def test_the_highest_band_that_is_passed_holds() -> None:
    bands = (Band(10, 2, 2, 2, 2, 2), Band(20, 3, 3, 3, 3, 3))
    card = replace(Prices.from_multipliers(1, 5), bands=bands)
    assert [card.at(n).input for n in (10, 11, 20, 21)] == [1, 2, 2, 3]


def test_dated_switches() -> None:
    def on(model: str, *day: int) -> tuple[float, float, float]:
        return amounts(prices(model, date(*day)))[:3]  # type: ignore[return-value]

    assert on("gemini-4-argon", 2026, 11, 30) == (2, 10, 0.1)
    assert on("gemini-4-argon", 2026, 12, 1) == (4, 20, 0.2)
    assert on("gemini-3.8-flash", 2026, 12, 31) == (0.75, 3.75, 0.075)
    assert on("gemini-3.8-flash", 2027, 1, 1) == (1.5, 7.5, 0.15)
    assert on("claude-sonnet-5-5", 2026, 10, 6) == (2, 10, 0.2)
    assert on("claude-sonnet-5-5", 2026, 10, 7) == (2, 10, 0.1)
    assert on("gpt-5.6-luna", 2026, 7, 29) == (1, 6, 0.1)
    assert on("gpt-5.6-luna", 2026, 7, 30) == (0.2, 1.2, 0.02)
    assert on("claude-sonnet-5-5", 2020, 1, 1) == (2, 10, 0.2), "before the launch the first price is the best guess"
    card = prices("gemini-4-argon", TODAY)
    assert (card.valid_from, card.valid_until) == (None, date(2026, 12, 1))
    assert prices("claude-opus-4-6", date(2026, 3, 12)).at(200_001).input == 10
    assert prices("claude-opus-4-6", date(2026, 3, 13)).at(200_001).input == 5


def test_today_is_the_default() -> None:
    assert prices("gemini-4-argon") == prices("gemini-4-argon", date.today())


@pytest.mark.parametrize(
    ("recorded", "card"),
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-haiku-4.5", "claude-haiku-4-5"),
        ("anthropic/claude-opus-4-8", "claude-opus-4-8"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("claude-opus-4-1@20250805", "claude-opus-4-1"),
        ("claude-sonnet-4-6[1m]", "claude-sonnet-4-6"),
        ("Claude-Fable-5-1", "claude-fable-5-1"),
        ("claude-sonnet-5", "claude-sonnet-5"),
        ("claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("gpt-5.2-codex", "gpt-5.2"),
        ("gpt-5.4-2026-03-05", "gpt-5.4"),
        ("gpt-5.6", "gpt-5.6-sol"),
        ("gpt-6-sol-high", "gpt-6-sol"),
        ("models/gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"),
    ],
)
def test_names_as_recorded(recorded: str, card: str) -> None:
    assert find_model(recorded) == card


@pytest.mark.parametrize("other", ["gpt-5-pro", "gpt-5.5-pro", "claude-opus-5-5-fast", "gpt-6-astra-law", "gpt-4"])
def test_another_model_is_never_taken_for_its_cheaper_namesake(other: str) -> None:
    with pytest.raises(InputError):
        find_model(other)


def test_the_longest_name_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"m": "short", "m-latest": "long"}
    monkeypatch.setattr(sys.modules[find_model.__module__], "_names", lambda: names)
    assert find_model("m-latest-20260101") == "long"
    assert find_model("m-20260101") == "short"


def test_unknown_model_message() -> None:
    with pytest.raises(InputError) as caught:
        prices("claude-opus-9")
    message = str(caught.value)
    assert message.startswith(f"unknown model 'claude-opus-9': {len(models())} are known, the closest is 'claude-opus-")
    assert "\n" not in message
    for odd in ("", "<synthetic>", "\x00", "x" * 10_000):
        with pytest.raises(InputError):
            prices(odd)


@given(st.sampled_from(sorted(CARDS)), st.dates(date(2026, 1, 1), date(2027, 12, 31)))
def test_snapshot_of_a_known_model_is_that_model(model: str, day: date) -> None:
    assert find_model(f"{model}-{day:%Y%m%d}") == model
    assert find_model(f"{model}-{day:%Y-%m-%d}") == model


def test_the_articles_bill() -> None:
    # 5,856,377 naive and 1,286,153 managed input tokens and 9,285 of output give the printed 17.71 and 4.00.
    card = prices("article")
    assert card.cost(uncached=5_856_377, output=9_285) == pytest.approx(17.708406)
    assert card.cost(uncached=1_286_153, output=9_285) == pytest.approx(3.997734)


def test_cost_by_hand() -> None:
    # 1,000 x 3 + 10,000 x 0.3 + 2,000 x 3.75 + 500 x 6 + 100 x 15 = 18,000 millionths.
    cost = prices("article").cost(uncached=1_000, read=10_000, write_5m=2_000, write_1h=500, output=100)
    assert cost == pytest.approx(0.018)


def test_cost_of_a_request_looks_at_its_whole_prompt() -> None:
    card = prices("claude-haiku-5-5", TODAY)
    usage = Usage(uncached=1, cache_read=60_000, cache_write_5m=40_000, output=1_000)
    # 100,001 tokens: 0.5 + 60,000 x 0.05 + 40,000 x 0.625 + 1,000 x 2.5 = 30,500.5 millionths.
    assert card.request_cost(usage) == pytest.approx(0.0305005)
    assert card.request_cost(replace(usage, uncached=0)) == pytest.approx(0.0061)


counts = st.integers(0, 10**7)


@given(st.sampled_from(sorted(CARDS)), st.tuples(*[counts] * 5), st.tuples(*[counts] * 5))
def test_cost_is_additive(model: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    card = prices(model, TODAY)
    both = card.cost(*(x + y for x, y in zip(a, b, strict=True)))
    assert both == pytest.approx(card.cost(*a) + card.cost(*b), rel=1e-9, abs=1e-12)


def test_a_price_below_zero_is_refused() -> None:
    with pytest.raises(InputError, match="output is -1"):
        Prices.from_multipliers(3, -1)
    with pytest.raises(InputError, match="cache_read is nan"):
        Prices.from_multipliers(read=float("nan"))


def test_stale_names_the_files() -> None:
    day = date.fromisoformat(load_data("prices.json")["as_of"])
    assert stale(day + timedelta(days=120)) == ()
    assert "prices.json" in stale(day + timedelta(days=121))
    assert stale(day + timedelta(days=3), days=2) == ("prices.json", "cache_rules.json", "presets.json")
