"""Presets: what is known of each, what its user can set, and what stays out of rankings."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import date
from pathlib import Path

import pytest

from labkit.errors import InputError
from labkit.files import load_data
from labkit.ladder.policy import Policy
from labkit.ladder.presets import knobs, load_policy, preset, presets

ROOT = Path(__file__).parents[1]
UNVERIFIED = {"openhands", "opencode", "codex", "goose", "gemini-cli", "deepagents"}
FIELDS = {field.name for field in fields(Policy)}


def test_verified_ones_come_first_and_alone() -> None:
    verified, everything = presets(), presets(unverified=True)
    assert set(everything) - set(verified) == UNVERIFIED
    assert list(everything)[: len(verified)] == list(verified)
    assert all(preset(name).oracle == "" for name in UNVERIFIED)


@pytest.mark.parametrize("name", presets(unverified=True))
def test_each_says_what_it_is(name: str) -> None:
    known = preset(name)
    assert known.source and date.fromisoformat(known.as_of) <= date.fromisoformat(load_data("presets.json")["as_of"])
    assert Policy.from_dict(known.policy.to_dict()) == known.policy
    if known.harness:
        assert known.version
        assert known.unverified == (known.oracle == "")
        assert known.note
    for knob in known.knobs:
        assert knob.name and knob.unit and knob.where
        assert knob.field in FIELDS | {""}
        assert knob.low is None or knob.high is None or knob.low <= knob.high
        assert (knob.tool != "") == (knob.field == "cap_of")


@pytest.mark.parametrize("name", presets())
def test_a_preset_lies_in_the_range_of_its_own_knobs(name: str) -> None:
    known = preset(name)
    for knob in known.knobs:
        value = getattr(known.policy, knob.field) if knob.field else None
        if isinstance(value, int) and not isinstance(value, bool):
            assert knob.low is None or value >= knob.low, knob
            assert knob.high is None or value <= knob.high, knob


def test_knobs_of_a_harness_hold_for_its_presets() -> None:
    assert preset("claude-code-micro").knobs == preset("claude-code-auto").knobs == knobs("Claude Code")
    assert preset("codex").knobs == knobs("Codex CLI")
    assert knobs("OpenHands") == ()  # a preset's own knobs are code, and no setting of a session's harness
    for harness in load_data("presets.json")["harnesses"]:
        for knob in knobs(harness):
            assert "https://" in knob.source and "seen 20" in knob.source, knob
    bash = {knob.name: knob for knob in knobs("Claude Code")}["BASH_MAX_OUTPUT_LENGTH"]
    assert (bash.unit, bash.high, bash.field, bash.tool) == ("characters", 150_000, "cap_of", "Bash")


def test_notebooks_and_rankings_leave_out_what_was_compared_with_nothing() -> None:
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        code = [c["source"] for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
        text = "".join("".join(source) for source in code)
        assert "unverified=True" not in text, path.name
        for name in UNVERIFIED - {"codex"}:  # Codex is also a format of sessions
            assert f'"{name}"' not in text, (path.name, name)
    for room in ("replay", "show", "course"):
        for path in (ROOT / "labkit" / room).glob("*.py"):
            assert "unverified=True" not in path.read_text(encoding="utf-8"), path.name


def test_a_policy_from_a_name_a_file_or_a_mapping(tmp_path: Path) -> None:
    assert load_policy("goose").trigger == 0.8  # by name even where it is not listed
    file = tmp_path / "mine.json"
    file.write_text('{"preset": "langchain-clear", "keep": 7}', encoding="utf-8")
    assert (load_policy(file).keep, load_policy(file).floor_is) == (7, "target")
    file.write_text('{"keep": 1, "keep": 2}', encoding="utf-8")
    with pytest.raises(InputError, match="'keep' stands there twice"):
        load_policy(file)
    file.write_text("[1]", encoding="utf-8")
    with pytest.raises(InputError, match="holds a JSON list"):
        load_policy(file)
    with pytest.raises(InputError, match="did you mean 'claude-code-micro'"):
        load_policy("claude-code-mikro")
    with pytest.raises(InputError, match="unknown preset 'artcle', did you mean 'article'"):
        load_policy({"preset": "artcle"})


@pytest.mark.parametrize("given", [None, 5, [1]])
def test_what_is_no_policy_is_a_sentence(given) -> None:
    with pytest.raises(InputError, match="is no policy: give the name of a preset"):
        load_policy(given)
    with pytest.raises(InputError, match="describes no policy: give fields by name"):
        Policy.from_dict(given)
    with pytest.raises(InputError, match=r"name is .*: give a str, one of none, article"):
        preset(given)


def test_names_that_are_spelt_otherwise_or_too_long_are_a_sentence() -> None:
    with pytest.raises(InputError, match="did you mean 'openhands'"):
        preset("OpenHands")
    with pytest.raises(InputError, match="did you mean 'claude-code-auto'"):
        load_policy("Claude Code")
    with pytest.raises(InputError, match=r"a{200} is neither a preset nor a file"):
        load_policy("a" * 5_000)
    with pytest.raises(InputError, match="describes no policy"):
        load_policy({1: 2})


def test_a_file_may_hold_what_an_api_takes(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    edits = [{"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 7}}]
    for config in ({"edits": edits}, {"context_management": {"edits": edits}}):
        file.write_text(json.dumps(config), encoding="utf-8")
        assert load_policy(file) == load_policy(config) == Policy.from_config(config)
        assert load_policy(file).keep == 7
    with pytest.raises(InputError, match="has no field 'kep', did you mean 'keep'"):
        load_policy({"edits": [{**edits[0], "kep": 1}]})
