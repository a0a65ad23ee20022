"""Cache rules: the documented minimums, lifetimes and bindings, and their tie to the prices."""

from __future__ import annotations

from datetime import date

import pytest

from labkit.errors import InputError
from labkit.files import load_data
from labkit.price.cache import ARTICLE_RULES, CacheRules, cache_rules
from labkit.price.prices import models, prices

DATA = load_data("cache_rules.json")
MINIMUM = {
    "claude-fable-5": 512,
    "claude-fable-5-1": 512,
    "claude-mythos-5": 512,
    "claude-mythos-5-1": 512,
    "claude-opus-5": 512,
    "claude-opus-5-5": 512,
    "claude-sonnet-5-5": 512,
    "claude-haiku-5-5": 512,
    "claude-opus-4-8": 1024,
    "claude-sonnet-5": 1024,
    "claude-sonnet-4-6": 1024,
    "claude-sonnet-4-5": 1024,
    "claude-opus-4-1": 1024,
    "claude-opus-4": 1024,
    "claude-sonnet-4": 1024,
    "gpt-6.1-sol": 1024,
    "article": 1024,
    "claude-opus-4-7": 2048,
    "claude-opus-4-6": 4096,
    "claude-opus-4-5": 4096,
    "claude-haiku-4-5": 4096,
    "gemini-4-argon": 4096,
}
OWN = {"family", "minimum", "source", "unconfirmed", "thinking_bound", "thinking_source", "thinking_note"}
BOUND = {"claude-fable-5-1", "claude-fable-5-2", "claude-mythos-5-1", "claude-mythos-5-2"}
BOUND |= {"claude-opus-5-5", "claude-sonnet-5-5"}


def test_every_priced_model_has_rules() -> None:
    assert sorted(DATA["models"]) == models()


@pytest.mark.parametrize("model", DATA["models"])
def test_every_rule_is_whole(model: str) -> None:
    rules = cache_rules(model)
    assert (rules.name, rules.as_of) == (model, DATA["as_of"])
    assert rules.source
    own = DATA["models"][model]
    assert set(own) <= OWN
    family = DATA["families"][own["family"]]
    assert family["source"]
    assert family["note"]
    for key in [*family["source"], *own.get("source", []), *filter(None, [own.get("thinking_source")])]:
        assert DATA["sources"][key]["title"]


@pytest.mark.parametrize("model", DATA["models"])
def test_write_multiplier_is_the_priced_one(model: str) -> None:
    family = DATA["families"][DATA["models"][model]["family"]]
    card = prices(model, date(2026, 11, 30))
    assert card.write_multiplier == pytest.approx(family["write_multiplier"])
    if family["write_multiplier_1h"] is not None:
        assert card.cache_write_1h / card.input == pytest.approx(family["write_multiplier_1h"])


@pytest.mark.parametrize("model", MINIMUM)
def test_minimum(model: str) -> None:
    assert cache_rules(model).minimum == MINIMUM[model]


def test_thinking_is_bound_for_these_models_only() -> None:
    assert {model for model in models() if cache_rules(model).thinking_bound} == BOUND


def test_lifetimes_and_breakpoints() -> None:
    claude = cache_rules("claude-opus-4-5-20251101")
    assert (claude.ttl, claude.ttl_1h, claude.lookback, claude.breakpoints) == (300, 3600, 20, 4)
    assert claude.mode == "breakpoints"
    new, old = cache_rules("gpt-6.2-sol"), cache_rules("gpt-5.4")
    assert (new.ttl, new.ttl_1h, new.lookback, new.step) == (1800, 43200, None, 1)
    assert (old.step, cache_rules("gpt-5.5").step) == (128, 128)
    assert cache_rules("gpt-5.5").ttl == 86400


def test_the_articles_rules_are_the_data() -> None:
    assert cache_rules("article") == ARTICLE_RULES
    assert (ARTICLE_RULES.mode, ARTICLE_RULES.minimum, ARTICLE_RULES.ttl) == ("append_only", 1024, 300)
    assert not ARTICLE_RULES.thinking_bound


def test_what_is_not_confirmed_says_so() -> None:
    for model in ("claude-haiku-5-5", "claude-sonnet-5-5", "claude-fable-5-2", "gemini-2.5-pro", "gpt-5.5"):
        assert cache_rules(model).unconfirmed
    assert not cache_rules("claude-opus-5").unconfirmed


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"minimum": -1}, "minimum is -1"),
        ({"ttl": 0}, "ttl is 0"),
        ({"ttl": float("nan")}, "ttl is nan"),
        ({"ttl_1h": 299}, "ttl_1h is 299"),
        ({"mode": "append"}, "mode is 'append'"),
        ({"step": 0}, "step is 0"),
        ({"lookback": 0}, "lookback 0"),
    ],
)
def test_a_rule_out_of_range_is_refused(values: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        CacheRules(**values)  # type: ignore[arg-type]


def test_unknown_model() -> None:
    with pytest.raises(InputError, match="closest is 'claude-haiku-5-5'"):
        cache_rules("claude-haiku-5-6")
