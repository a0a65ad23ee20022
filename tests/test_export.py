"""A policy in a harness's words: what the real SDKs take, what is missing, and back again."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from conformance import cases, ours
from labkit.errors import InputError
from labkit.ladder.export import TARGETS, export, from_config
from labkit.ladder.policy import SUPERSEDED, Policy
from labkit.ladder.presets import load_policy, preset, presets

LIVE = pytest.mark.skipif(
    not os.environ.get("LABKIT_CONFORMANCE"), reason="the peers are installed by make conformance"
)

clears = st.builds(
    Policy,
    window=st.none(),
    trigger=st.integers(1, 10**6),
    trigger_by=st.sampled_from(["tokens", "tool_uses"]),
    keep=st.integers(0, 50),
    floor=st.integers(0, 10**5),
    pinned=st.frozensets(st.sampled_from(["read", "grep"])),
    clear_inputs=st.sampled_from([frozenset(), frozenset({"*"}), frozenset({"read"})]),
    keep_thinking=st.none() | st.integers(1, 5),
    compact_above=st.none() | st.integers(50_000, 10**6),
    keep_recent=st.just(0),
    edits_at=st.just("server"),
)


@given(clears)
def test_anthropic_takes_it_and_gives_it_back(policy) -> None:
    from anthropic.types.beta import BetaContextManagementConfigParam

    made = export(policy, "anthropic")
    config = json.loads(made.text)["context_management"]
    assert config == made.config
    TypeAdapter(BetaContextManagementConfigParam).validate_python(config, strict=True)
    kinds = [edit["type"] for edit in config["edits"]]
    assert kinds == sorted(kinds, key=["clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112"].index)
    again = Policy.from_config(json.loads(made.text))
    for field in ("keep", "floor", "pinned", "clear_inputs", "keep_thinking", "trigger", "trigger_by", "edits_at"):
        assert getattr(again, field) == getattr(policy, field), field
    if policy.compact_above is not None and policy.trigger_by == "tokens":
        assert again.compact_above == max(policy.compact_above, policy.trigger)
    assert export(again, "anthropic").config == made.config or policy.trigger_by == "tool_uses"


def test_what_anthropic_cannot_do_is_said() -> None:
    policy = Policy(
        trigger=30_000,
        compact_above=20_000,
        cap=2_000,
        evict=frozenset(SUPERSEDED),
        hand_off_above=90_000,
        batch=5,
        keep_by="groups",
        only_cold=300,
        remembers=False,
        floor_is="target",
    )
    made = export(policy, "anthropic")
    said = {line.split(":")[0] for line in made.missing if ":" in line}
    assert said >= {"cap", "evict", "hand_off_above", "batch", "keep_by", "only_cold", "remembers", "floor_is"}
    assert any(line.startswith("compact_above: the least is 50,000 tokens") for line in made.missing)
    assert any(line.startswith("keep_recent:") for line in made.missing)
    assert made.headers == ("context-management-2025-06-27", "compact-2026-01-12")
    assert made.config["edits"][0] == {
        "type": "clear_tool_uses_20250919",
        "keep": {"type": "tool_uses", "value": 3},
        "trigger": {"type": "input_tokens", "value": 30_000},
        "clear_at_least": {"type": "input_tokens", "value": 10_000},
        "exclude_tools": ["notes_read"],
    }
    assert made.config["edits"][1]["trigger"]["value"] == 50_000


def test_the_same_policy_without_its_extras_is_whole() -> None:
    plain = replace(load_policy("anthropic-clear-tool-uses"), pinned=frozenset())
    assert export(plain, "anthropic").missing == ()
    assert export(Policy.nothing(), "anthropic").config == {"edits": []}


def test_openai_takes_a_threshold() -> None:
    from openai.types.responses.response_create_params import ContextManagement

    policy = Policy(trigger=200_000, keep=None, compact_above=200_000, keep_recent=0, window=None)
    made = export(policy, "openai")
    entries = json.loads(made.text)["context_management"]
    TypeAdapter(list[ContextManagement]).validate_python(entries, strict=True)
    assert entries == [{"type": "compaction", "compact_threshold": 200_000}]
    assert Policy.from_config(json.loads(made.text)).compact_above == 200_000
    assert any(line.startswith("clear:") for line in export(Policy(), "openai").missing)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", presets(unverified=True))
def test_every_preset_can_be_written_for_every_target(target, name) -> None:
    made = export(load_policy(name), target)
    assert all(line[0].islower() and "\n" not in line for line in made.missing)
    if target in ("langchain", "pydantic-ai"):
        compile(made.text, target, "exec")


def test_settings_of_a_harness() -> None:
    policy = Policy(cap=200_000, trigger=100_000, keep=None, compact_above=100_000, lifetime="1h", evict={"edited"})
    made = export(policy, "claude-code-auto")
    assert 'promptCacheTtl = "1h"    # 5m or 1h; settings.json' in made.text
    assert "autoCompactWindow = 100000" in made.text
    assert "BASH_MAX_OUTPUT_LENGTH = 150000" in made.text
    assert "the most is 150,000, the policy asks for 200,000" in made.text
    assert "evict: the target removes no superseded results" in made.missing


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "holds no list of edits"),
        ({"edits": [3]}, "holds no list of edits"),
        ({"edits": [{"type": "clear_tool_use_20250919"}]}, "did you mean 'clear_tool_uses_20250919'"),
        ({"context_management": [{"type": "compaction"}]}, "no compact_threshold"),
    ],
)
def test_a_wrong_configuration_is_a_sentence(given, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        from_config(given)
    with pytest.raises(InputError, match="no target 'langchian', did you mean 'langchain'"):
        export(Policy(), "langchian")


def test_every_preset_says_what_it_is() -> None:
    for name in presets(unverified=True):
        known = preset(name)
        assert known.source and known.as_of, name
        if known.harness:
            assert known.version, name
            assert known.unverified == (not known.oracle), name
            for knob in known.knobs:
                assert not knob.field or hasattr(known.policy, knob.field), (name, knob)
    assert {"openhands", "opencode", "codex", "goose", "gemini-cli", "deepagents"} == set(
        presets(unverified=True)
    ) - set(presets())


# -- the code runs against the installed peers, and clears what the replay clears --------------------


@LIVE
def test_the_code_clears_what_we_clear() -> None:
    for seed in range(0, 400, 2):
        _the_code_clears_what_we_clear(seed)


def _the_code_clears_what_we_clear(seed: int) -> None:
    from conformance import peers

    warnings.simplefilter("ignore")
    case = cases.make(seed)
    s = case.settings
    policy = replace(
        ours.ALONE,
        trigger=s["trigger"],
        keep=s["keep"],
        pinned=frozenset(s["exclude"]),
        pinned_take_keep=True,
        remembers=False,
        count_prefix=False,
        stub_text="[cleared]",
        floor=0,
    )
    ours_langchain = ours.cleared(case, policy)
    made = export(policy, "langchain")
    assert made.missing == ()
    space: dict = {}
    exec(made.text, space)
    messages = peers._langchain_messages(case)
    space["edit"].apply(messages, count_tokens=peers._langchain_count)
    results = [m for m in messages if m.type == "tool"]
    theirs = [i for i, m in enumerate(results) if m.response_metadata.get("context_editing", {}).get("cleared")]
    assert theirs == ours_langchain

    made = export(replace(policy, count_prefix=True, remembers=True, trigger=1), "pydantic-ai")
    assert made.missing == ()
    exec(made.text, space)
    (rung,) = space["capabilities"]
    out = peers.run(rung.compact(peers._pydantic_messages(case), None))
    assert peers._pydantic_taken(out, "[cleared]") == ours.cleared(case, replace(policy, trigger=1))
