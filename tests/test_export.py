"""A policy in a harness's words: what the real SDKs take, what is missing, and back again."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from conformance import cases, exported, ours
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
    # 200,000 tokens are more characters than either variable takes, and tokens for the third.
    assert "cap_of: the most of BASH_MAX_OUTPUT_LENGTH is 150,000, so that is written" in made.missing
    assert "cap_of: the most of TASK_MAX_OUTPUT_LENGTH is 160,000, so that is written" in made.missing
    assert "MAX_MCP_OUTPUT_TOKENS = 200000    # tokens; environment variable, default 25,000\n" in made.text
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


def test_settings_count_as_the_harness_does() -> None:
    capped = replace(Policy.nothing(), cap=2_000, cap_of={"Bash": 500, "Grep": 50})
    made = export(capped, "Claude Code")
    assert "BASH_MAX_OUTPUT_LENGTH = 2000 " in made.text and "500 tokens at 4 characters a token" in made.text
    assert "MAX_MCP_OUTPUT_TOKENS = 2000 " in made.text
    assert "TASK_MAX_OUTPUT_LENGTH = 8000 " in made.text
    assert made.missing == ("cap_of: no setting for Grep alone",)
    made = export(replace(Policy.nothing(), cap=30_001, cap_by="characters"), "Claude Code")
    assert "BASH_MAX_OUTPUT_LENGTH = 30001 " in made.text
    assert "MAX_MCP_OUTPUT_TOKENS = 7501 " in made.text  # rounded up: no less is shown than was asked


def test_settings_say_what_needs_another_harness() -> None:
    made = export(Policy(), "Claude Code")
    assert made.missing == (
        "clear: the user cannot set what is cleared, and when",
        "keep_recent: the user cannot set what a summary leaves",
    )
    # What the harness does by itself needs no setting.
    assert export(load_policy("claude-code-micro"), "Claude Code").missing == ()
    assert export(load_policy("opencode"), "Codex CLI").missing[-1].startswith("clear:")
    assert export(load_policy("swe-agent-last-n"), "swe-agent-last-n").text.startswith("n = 5 ")
    with pytest.raises(InputError, match="no target 'OpenHands'"):
        export(Policy(), "OpenHands")


def test_nothing_is_exported_as_nothing() -> None:
    for target in TARGETS:
        made = export(Policy.nothing(), target)
        assert made.missing == () and made.headers == ()
        idle = replace(Policy.nothing(), strict=False, count_prefix=False, keep_by="tokens")
        assert export(idle, target).missing == ()  # without a trigger nothing asks for them
    # Old thinking goes when clear runs, and without a trigger it never does.
    never = replace(Policy.nothing(), keep_thinking=2, keep=5)
    assert export(never, "anthropic").config == {"edits": []}
    assert export(never, "anthropic").missing == ()


def test_a_trigger_by_tool_uses_is_never_written_as_tokens() -> None:
    policy = Policy(trigger=20, trigger_by="tool_uses", compact_above=90_000)
    for target in ("langchain", "pydantic-ai"):
        made = export(policy, target)
        assert "trigger=20" not in made.text and "max_tokens=20)" not in made.text and "Clear" not in made.text
        assert any(line.startswith("clear: the trigger counts tool uses") for line in made.missing)
        assert any(line.startswith("trigger_by:") for line in made.missing)
    clear, compact = export(policy, "anthropic").config["edits"]
    assert clear["trigger"] == {"type": "tool_uses", "value": 20}
    assert compact["trigger"] == {"type": "input_tokens", "value": 90_000}


def test_a_share_of_the_window_is_written_in_tokens() -> None:
    policy = Policy(window=100_000, trigger=0.29, trigger_by="fraction", compact_above=None)
    assert export(policy, "anthropic").config["edits"][0]["trigger"] == {"type": "input_tokens", "value": 29_000}
    assert "trigger=29000," in export(policy, "langchain").text
    assert not any(line.startswith("trigger_by") for line in export(policy, "langchain").missing)


def test_at_the_trigger_or_above_it() -> None:
    """LangChain clears above its trigger and summarizes at it; pydantic-ai-harness acts above."""
    for strict, clear, summary in ((True, 30_000, 30_001), (False, 29_999, 30_000)):
        policy = Policy(trigger=30_000, strict=strict)
        text = export(policy, "langchain").text
        assert f"trigger={clear}," in text and f"trigger=('tokens', {summary})" in text
        assert f"max_tokens={clear}, keep_pairs" in export(policy, "pydantic-ai").text
    assert any(line.startswith("strict:") for line in export(Policy(strict=False), "anthropic").missing)


def test_what_a_floor_means_to_a_target() -> None:
    """A place to stop for LangChain, a minimum for the others: neither is written as the other."""
    minimum = Policy(floor=5_000, compact_above=None)
    stop = replace(minimum, floor_is="target")
    assert "clear_at_least=0," in export(minimum, "langchain").text
    assert any(
        line.startswith("floor: clear_at_least is where clearing stops")
        for line in export(minimum, "langchain").missing
    )
    assert "clear_at_least=5000," in export(stop, "langchain").text
    assert "min_clear_tokens=5000," in export(minimum, "pydantic-ai").text
    assert any(line.startswith("floor_is:") for line in export(stop, "pydantic-ai").missing)
    assert any(line.startswith("floor_is:") for line in export(stop, "anthropic").missing)


def test_superseding_leaves_pinned_tools_alone() -> None:
    policy = replace(Policy.nothing(), evict={"same_call", "edited"}, pinned={"b", "a"}, floor=9)
    made = export(policy, "pydantic-ai")
    assert "if call.tool_name not in ['a', 'b'] else None)" in made.text
    assert made.missing == (
        "floor: superseded results go one by one here",
        "evict: edited has no counterpart; only the same call made again supersedes a result",
    )


def test_the_servers_placeholder_is_said_of_a_clients_policy() -> None:
    client = Policy(compact_above=None, pinned=())
    said = "stub_text: the server writes a placeholder of its own, however short the result"
    assert export(client, "anthropic").missing == (said,)
    assert export(replace(client, edits_at="server"), "anthropic").missing == ()


def test_a_summary_that_leaves_nothing() -> None:
    """LangChain takes no 0, and pydantic-ai-harness keeps the newest message whatever it is told."""
    none = replace(load_policy("anthropic-compact"), edits_at="client")
    assert "keep=('messages', 1)" in export(none, "langchain").text
    for target in ("langchain", "pydantic-ai"):
        assert any(line.startswith("keep_recent:") for line in export(none, target).missing)
    some = replace(none, keep_recent=2_000, keep_recent_by="tokens")
    assert "keep=('tokens', 2000)" in export(some, "langchain").text
    assert "keep_tokens=2000" in export(some, "pydantic-ai").text
    for target in ("langchain", "pydantic-ai"):
        assert not any(line.startswith("keep_recent") for line in export(some, target).missing)


def test_thinking_on_every_request_is_said() -> None:
    made = export(Policy(keep_thinking=0), "anthropic")
    assert made.config["edits"][0]["keep"] == {"type": "thinking_turns", "value": 1}
    said = [line for line in made.missing if line.startswith("keep_thinking:")]
    assert len(said) == 2
    assert not any(
        line.startswith("keep_th") for line in export(load_policy("anthropic-clear-thinking"), "anthropic").missing
    )
    assert any(line.startswith("keep_thinking:") for line in export(Policy(keep_thinking=1), "langchain").missing)


def test_a_model_that_refuses_client_edits_gets_the_servers_form() -> None:
    policy = Policy(trigger=30_000, compact_above=None)
    for target in ("langchain", "pydantic-ai"):
        made = export(policy, target, model="claude-fable-5-1")
        assert made.config == export(policy, "anthropic").config
        assert made.headers == ("context-management-2025-06-27",)
        assert made.missing[0].startswith(f"{target}: claude-fable-5-1 binds its thinking")
        assert export(policy, target, model="claude-opus-4-5") == export(policy, target)
    assert export(policy, "anthropic", model="claude-fable-5-1") == export(policy, "anthropic")


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        ({"trigger": {"value": 5}}, "trigger of clear_tool_uses_20250919 is"),
        ({"trigger": 5}, "trigger of clear_tool_uses_20250919 is 5: give an object"),
        ({"keep": {"type": "tool_uses"}}, "keep of clear_tool_uses_20250919"),
        ({"keep": {"type": "tool_uses", "value": "3"}}, "has the value '3': give a whole number"),
        ({"keep": {"type": "tool_uses", "value": True}}, "has the value True: give a whole number"),
        ({"exclude_tools": "web_search"}, "exclude_tools of clear_tool_uses_20250919 is 'web_search': give a list"),
        ({"exclude_tools": True}, "exclude_tools of clear_tool_uses_20250919 is True"),
        ({"keep": {"type": "tool_uses", "value": -1}}, "keep is -1"),
    ],
)
def test_an_edit_that_does_not_fit_is_a_sentence(edit, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        from_config({"edits": [{"type": "clear_tool_uses_20250919", **edit}]})


def test_edits_out_of_order_and_lists_are_understood() -> None:
    clear, thinking = {"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015", "keep": "all"}
    with pytest.raises(InputError, match="is not the first edit"):
        from_config({"edits": [clear, thinking]})
    assert from_config({"edits": [thinking, clear]}).keep_thinking is None
    assert from_config([clear]) == from_config({"context_management": {"edits": [clear]}})
    assert from_config({"edits": [{**clear, "clear_tool_inputs": False}]}).clear_inputs == frozenset()
    with pytest.raises(InputError, match="3 holds no list of edits"):
        from_config(3)


# -- the code runs against the installed peers, and clears what the replay clears --------------------


KEPT = json.loads((Path(__file__).parent / "data" / "conformance" / "exported.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("target", exported.TARGETS)
def test_the_code_cleared_what_we_clear(target: str) -> None:
    """The code is the very one that the peers ran, and took what the ladder takes."""
    for seed, (code, taken) in enumerate(KEPT[target]):
        case = cases.make(seed)
        assert exported.text(case, target) == code
        assert ours.cleared(case, exported.policy(case, target)) == taken
    assert sum(bool(taken) for _, taken in KEPT[target]) >= 20


@LIVE
@pytest.mark.parametrize("target", exported.TARGETS)
def test_the_code_clears_what_we_clear(target: str) -> None:
    warnings.simplefilter("ignore")
    for seed in range(1_000, 2_000):
        case = cases.make(seed)
        taken = exported.run(case, target, exported.text(case, target))
        assert taken == ours.cleared(case, exported.policy(case, target)), seed


@LIVE
@pytest.mark.parametrize("name", presets(unverified=True))
def test_the_code_of_every_preset_is_taken_by_the_peers(name: str) -> None:
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel

    for target in ("langchain", "pydantic-ai"):
        made = export(load_policy(name), target)
        space: dict = {"model": GenericFakeChatModel(messages=iter([]))}
        exec(made.text, space)
        assert isinstance(space["middleware" if target == "langchain" else "capabilities"], list)


@LIVE
def test_the_same_call_made_again_supersedes_in_the_code_as_here() -> None:
    from conformance import peers

    policy = replace(ours.ALONE, evict=frozenset({"same_call"}), floor=0, stub_text="[superseded]")
    for pinned in (frozenset(), frozenset({"notes_read"})):
        made = export(replace(policy, pinned=pinned), "pydantic-ai")
        assert made.missing == ()
        space: dict = {}
        exec(made.text, space)
        (rung,) = space["capabilities"]
        for seed in range(200):
            case = cases.make(seed)
            out = peers.run(rung.compact(peers._pydantic_messages(case), None))
            assert peers._pydantic_taken(out, "[superseded]") == ours.cleared(case, replace(policy, pinned=pinned)), (
                seed
            )


CLEAR, THINK, COMPACT = "clear_tool_uses_20250919", "clear_thinking_20251015", "compact_20260112"


def tokens(kind: str, value: int) -> dict:
    return {"type": kind, "trigger": {"type": "input_tokens", "value": value}}


@pytest.mark.parametrize(
    ("edits", "sentence"),
    [
        ([{"type": CLEAR, "kep": {}}], "has no field 'kep', did you mean 'keep'.: it takes trigger, keep, clear_at"),
        ([{"type": "compaction", "compact_threshold": "9"}], "compact_threshold is '9': it counts tokens"),
        ([{"type": "compaction", "compact_threshold": 0}], "compact_threshold is 0: it counts tokens"),
        ([{"type": COMPACT, "keep": "all"}], "compact_20260112 has no field 'keep'"),
        ([{"type": ["x"]}], "the edit .'x'. is not known"),
        ([{"type": "x" * 5_000}], "xxx... is not known"),
        ([{"type": CLEAR}, {"type": CLEAR}], "stands there twice"),
        ([{"type": THINK, "keep": {"type": "thinking_turns", "value": 0}}], "is 0 thinking turns: give 1 or more"),
        ([tokens(COMPACT, 49_999)], "is 49,999: the least is 50,000 tokens"),
        ([tokens(CLEAR, 200_000), tokens(COMPACT, 150_000)], "above 200,000 .* compacted above 150,000"),
        ([tokens(COMPACT, 150_000), tokens(CLEAR, 200_000)], "above 200,000 .* compacted above 150,000"),
    ],
)
def test_what_a_policy_cannot_be_is_not_read_as_another(edits, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        from_config({"edits": edits})


def test_a_configuration_without_a_least_amount_has_no_floor() -> None:
    """A floor of its own would let old thinking stay, and put a compaction off."""
    keep = {"type": "thinking_turns", "value": 2}
    assert from_config({"edits": [{"type": THINK, "keep": keep}]}).floor == 0
    assert from_config({"edits": [{"type": COMPACT, "pause_after_compaction": True, "instructions": "x"}]}).floor == 0
    assert from_config([{"type": "compaction", "compact_threshold": 9}], base=Policy()).floor == 0
    least = {"type": "input_tokens", "value": 7}
    both = from_config({"edits": [{"type": CLEAR, "clear_at_least": least}, {"type": COMPACT}]})
    assert (both.floor, both.trigger, both.compact_above) == (7, 100_000, 150_000)
    # What the base compacts at is the base's, and comes after clearing there.
    assert from_config([{"type": CLEAR}], base=Policy()).compact_above == 20_000


@pytest.mark.parametrize(("keep_by", "what"), [("tokens", "tokens"), ("user_turns", "user turns")])
def test_a_keep_that_counts_no_results_is_never_written_as_results(keep_by, what) -> None:
    policy = Policy(keep=40_000, keep_by=keep_by, compact_above=None)
    said = f"clear: keep counts {what}, and a number of results has to be chosen: it is left out"
    assert export(policy, "anthropic").config == {"edits": []}
    for target in ("anthropic", "langchain", "pydantic-ai"):
        made = export(policy, target)
        assert said in made.missing and "40" not in made.text.replace("40_", "")


def test_what_a_compaction_does_not_wait_for_is_said() -> None:
    policy = Policy(trigger=20, trigger_by="tool_uses", keep=None, compact_above=90_000, floor=5, keep_recent=0)
    for target in ("anthropic", "openai"):
        assert {line.split(":")[0] for line in export(policy, target).missing} == {"trigger_by", "floor"}
    thinking = Policy(trigger=1, keep=None, keep_thinking=1, floor=5, compact_above=None)
    assert export(thinking, "anthropic").missing == ("floor: thinking goes however little there is of it",)


def test_what_is_no_policy_and_no_target_is_a_sentence() -> None:
    with pytest.raises(InputError, match="policy is 'article': give a Policy, load_policy"):
        export("article", "anthropic")
    with pytest.raises(InputError, match="target is None: give a str, one of anthropic"):
        export(Policy(), None)
    with pytest.raises(InputError, match="no target 'claude code', did you mean 'Claude Code'"):
        export(Policy(), "claude code")


@pytest.mark.parametrize("name", [n for n in presets(unverified=True) if preset(n).harness])
def test_a_preset_needs_nothing_but_its_own_harness(name) -> None:
    """What the harness does by itself, and in its own words, is not said to be missing."""
    made = export(load_policy(name), name)
    nothing_to_set = (f"{preset(name).harness} lets its user set nothing that labkit knows",)
    assert made.missing == (() if preset(name).knobs else nothing_to_set)
    assert made.target == name


@pytest.mark.parametrize(
    ("name", "change", "line", "missing"),
    [
        (
            "pydantic-ai-clear",
            {"trigger": 0.25, "trigger_by": "fraction", "window": 200_000},
            "max_tokens = 50000 ",
            (),
        ),
        ("inspect-edit", {"trigger": 0.25}, "threshold = 0.25 ", ()),
        ("inspect-edit", {"trigger": 9_000, "trigger_by": "tokens"}, "threshold = 9000 ", ()),
        ("anthropic-clear-tool-uses", {"trigger": 9, "trigger_by": "tool_uses"}, "trigger = 9 ", ()),
        ("pydantic-ai-clear", {"trigger": 9, "trigger_by": "tool_uses"}, "keep_pairs = 3 ", ("trigger", "trigger_by")),
        ("openhands", {"trigger": 9_000, "trigger_by": "tokens"}, "", ("trigger",)),
        ("openai-trimmer", {"keep": 9, "keep_by": "results"}, "", ("clear",)),
        ("swe-agent-last-n", {"keep": 9_000, "keep_by": "tokens"}, "polling = 1 ", ("clear", "keep_by")),
        ("langchain-summarize", {"compact_above": None, "keep_recent": 7}, "", ()),
        ("langchain-summarize", {"compact_above": 9_000}, "trigger = 9000 ", ("compact_above",)),
        ("langchain-clear", {"clear_inputs": frozenset({"a"})}, "clear_tool_inputs = true ", ("clear_inputs",)),
        ("anthropic-clear-tool-uses", {"clear_inputs": frozenset({"a"})}, 'clear_tool_inputs = ["a"] ', ()),
        ("langchain-clear", {"remembers": True}, "keep = 3 ", ("remembers",)),
        ("codex", {"keep_recent": 9}, "model_auto_compact_token_limit = 244800 ", ("keep_recent",)),
    ],
)
def test_settings_in_what_they_count(name, change, line, missing) -> None:
    made = export(replace(load_policy(name), **change), name)
    assert line in made.text and ("trigger = " in made.text or name != "langchain-summarize" or not line)
    assert {said.split(":")[0] for said in made.missing} == set(missing), made.missing
    if not line:
        assert made.text == ""


@pytest.mark.parametrize("target", [*TARGETS, "claude-code-auto"])
def test_a_model_that_is_not_known_is_never_passed_over(target) -> None:
    with pytest.raises(InputError, match="unknown model 'nope'"):
        export(Policy(), target, model="nope")
