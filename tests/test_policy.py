"""Every bad policy is one sentence that says what was given and what is allowed."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.ladder.policy import SUPERSEDED, Policy
from labkit.ladder.presets import load_policy, presets

BAD: list[tuple[dict[str, Any], str]] = [
    ({"keep": -1}, "keep is -1: it counts tool results, so give 0 or more, or None for never"),
    ({"floor": -5}, "floor is -5: it counts tokens, so give 0 or more"),
    ({"keep_recent": -1}, "keep_recent is -1: it counts messages, so give 0 or more"),
    ({"stub_chars": -1}, "stub_chars is -1: it counts characters, so give 0 or more"),
    ({"keep": 2.5}, "keep is 2.5: give a whole number"),
    ({"keep": True}, "keep is True: give a whole number"),
    ({"keep": "3"}, "keep is '3': give a whole number"),
    ({"floor": None}, "floor is None: give a whole number"),
    ({"trigger_by": "words"}, "trigger_by is 'words': give 'tokens' or 'tool_uses' or 'fraction'"),
    ({"trigger_by": "fraction"}, "trigger is 30000: it is a share of the window, so give more than 0, up to 1"),
    ({"trigger_by": "fraction", "trigger": 0.8, "window": None}, "trigger_by is 'fraction' and window is None: give"),
    ({"trigger_by": "tool_uses", "trigger": 0}, "trigger is 0: it counts tool results, so give 1 or more, or None"),
    ({"evict": ["same_cal"]}, "evict has 'same_cal', did you mean 'same_call'?: give some of same_call, edited, wider"),
    ({"evict": "edited"}, "evict is 'edited': give a list of rules"),
    ({"cap_of": 5}, "cap_of is 5: give caps by tool, such as {'run_tests': 500}"),
    ({"cap_of": {"read": 0}}, "cap_of['read'] is 0: it counts tokens, so give 1 or more, or None for never"),
    ({"cap_tail": 1.5}, "cap_tail is 1.5: it is a share of the preview, so give 0 to 1"),
    ({"cap_tail": float("nan")}, "cap_tail is nan: it is a share of the preview, so give 0 to 1"),
    ({"only_cold": -1}, "only_cold is -1: it counts seconds, so give 0 or more, or None"),
    ({"stub_text": 5}, "stub_text is 5: give a text, or None for words that name the call"),
    ({"hand_off_above": 300_000}, "hand_off_above is 300,000, over the window of 200,000: it would never act"),
    ({"lifetime": "2h"}, "lifetime is '2h': give '5m' or '1h'"),
    ({"batch": 0}, "batch is 0: it counts tool results, so give 1 or more"),
    ({"remembers": "no"}, "remembers is 'no': give true or false"),
    ({"trigger": 0}, "trigger is 0: it counts tokens, so give 1 or more, or None for never"),
    ({"window": "200k"}, "window is '200k': give a whole number"),
    (
        {"trigger": 300_000},
        "trigger is 300,000, over the window of 200,000: it would never act, so give at most 200,000, or None for",
    ),
    (
        {"window": 25_000, "trigger": 20, "compact_above": 26_000},
        "compact_above is 26,000, over the window of 25,000",
    ),
    ({"edits_at": "both"}, "edits_at is 'both': give 'client' or 'server'"),
    ({"bound_thinking": "keep"}, "bound_thinking is 'keep': give 'refuse' or 'drop'"),
    ({"stub_if_smaller": 1}, "stub_if_smaller is 1: give true or false"),
    ({"pinned": "notes_read"}, "pinned is 'notes_read': give a list of tool names"),
    ({"pinned": [1]}, r"pinned is [1]: give a list of tool names"),
    ({"pinned": 3}, "pinned is 3: give a list of tool names"),
    ({"pinned": None}, "pinned is None: give a list of tool names"),
]


@pytest.mark.parametrize(("values", "sentence"), BAD, ids=lambda v: str(v)[:30])
def test_bad_values(values: dict[str, Any], sentence: str) -> None:
    for make in (lambda: Policy(**values), lambda: Policy.from_dict(values), lambda: load_policy(values)):
        with pytest.raises(InputError) as raised:
            make()
        assert str(raised.value).startswith(sentence)
        assert "\n" not in str(raised.value)


def test_bad_names() -> None:
    with pytest.raises(InputError, match="unknown policy field 'triger', did you mean 'trigger'\\?: the fields are"):
        Policy.from_dict({"triger": 5})
    with pytest.raises(InputError, match="unknown preset 'artcle', did you mean 'article'\\?: the presets are none"):
        load_policy({"preset": "artcle"})
    with pytest.raises(InputError, match="artcle is neither a preset nor a file, did you mean 'article'\\?"):
        load_policy("artcle")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not a policy in JSON"),
        (b"{", "is not a policy in JSON"),
        (b"\xff\xfe", "is not a policy in JSON"),
        (b"[1]", "holds a JSON list: give an object"),
        (b"3", "holds a JSON int: give an object"),
        (b'{"keep": -1}', "keep is -1"),
        (b'{"preset": "article", "keep": "x"}', "keep is 'x'"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "policy.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence) as raised:
        load_policy(path)
    assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match="neither a preset nor a file"):
        load_policy(tmp_path / "no.json")
    with pytest.raises(InputError, match="neither a preset nor a file"):
        load_policy(tmp_path)


def test_files_and_mappings(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_text('{"preset": "article", "keep": 5}', encoding="utf-8")
    assert load_policy(path) == load_policy(str(path)) == replace(presets()["article"], keep=5)
    assert load_policy({}) == Policy()
    assert load_policy(Policy.nothing()) == Policy.nothing() == load_policy("none")


def test_the_presets_are_the_published_thresholds() -> None:
    article = presets()["article"]
    assert (article.window, article.trigger, article.floor, article.keep) == (200_000, 30_000, 10_000, 3)
    assert (article.compact_above, article.keep_recent, article.pinned) == (20_000, 10, frozenset({"notes_read"}))
    assert (article.stub_if_smaller, article.stub_chars) == (False, None)
    assert presets()["default"] == Policy()


@given(
    st.builds(
        Policy,
        window=st.none(),
        trigger=st.none() | st.integers(1, 10**7),
        floor=st.integers(0, 10**6),
        keep=st.none() | st.integers(0, 100),
        cap_of=st.dictionaries(st.text(max_size=5), st.none() | st.integers(1, 10**6)),
        evict=st.frozensets(st.sampled_from(SUPERSEDED)),
        only_cold=st.none() | st.floats(0, 1e6),
        pinned=st.frozensets(st.text(max_size=5)),
        stub_chars=st.none() | st.integers(0, 500),
        edits_at=st.sampled_from(["client", "server"]),
    )
)
def test_a_policy_survives_json(policy: Policy) -> None:
    values = json.loads(json.dumps(policy.to_dict()))
    assert Policy.from_dict(values) == policy
    assert set(values) == {f.name for f in fields(Policy)}


def test_whole_numbers_of_a_table_are_whole_numbers() -> None:
    policy = Policy(keep=np.int64(3), trigger=np.int32(9_000), window=None)
    assert policy == Policy(keep=3, trigger=9_000, window=None)
    assert json.loads(json.dumps(policy.to_dict()))["trigger"] == 9_000
    with pytest.raises(InputError, match=r"keep is np.float64\(3.0\): give a whole number"):
        Policy(keep=np.float64(3))
    with pytest.raises(InputError, match="keep is -1"):
        Policy(keep=np.int64(-1))
