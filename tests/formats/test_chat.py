"""Messages and usage in the shape of the chat API."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.record.formats.chat import call_block, chat_blocks, chat_text, chat_usage, text_result
from labkit.record.trace import Usage
from mutants import VALUES


def kinds(message: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(b.kind, b.role, b.text) for b in chat_blocks(message)]


def test_roles_and_parts() -> None:
    assert kinds({"role": "user", "content": "hi"}) == [("text", "user", "hi")]
    assert kinds({"role": "developer", "content": "hi"}) == [("text", "user", "hi")]
    assert kinds({"role": "assistant", "content": None}) == []
    parts = [
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        "b",
        {"type": "refusal", "refusal": "no"},
    ]
    assert kinds({"role": "user", "content": parts}) == [("text", "user", t) for t in ("a", "b", "no")]
    # What is not known is kept as its JSON, without the mark of a cache that moves each turn.
    odd = {"type": "file", "file": {"name": "x"}, "cache_control": {"type": "ephemeral"}}
    assert kinds({"role": "user", "content": [odd]}) == [("text", "user", '{"type":"file","file":{"name":"x"}}')]


def test_images_are_images_and_not_their_base64() -> None:
    url = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAyAAAAJY" + "A" * 3_000_000
    assert kinds({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}) == [
        ("image", "user", "[image/png 800x600]")
    ]
    far = {"type": "image_url", "image_url": "https://example.org/x.png"}
    assert kinds({"role": "user", "content": [far]}) == [("image", "user", "[image]")]


def test_calls_old_and_new() -> None:
    message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}},
            {"id": "d", "name": "g", "arguments": {"b": 2}},
        ],
        "function_call": {"name": "h", "arguments": "not json"},
    }
    assert [(b.tool, b.args, b.call_id, b.text) for b in chat_blocks(message)] == [
        ("f", "a=1", "c", 'f {"a": 1}'),
        ("g", "b=2", "d", 'g {"b":2}'),
        ("h", "not json", None, "h not json"),
    ]


def test_one_text_that_answers_two_calls_counts_once() -> None:
    blocks = chat_blocks({"role": "tool", "tool_call_ids": ["a", "b"], "content": "both"})
    assert [(b.call_id, b.text) for b in blocks] == [("a", "both"), ("b", "")]


def test_thinking_is_taken_from_blocks_or_else_from_the_text_beside() -> None:
    blocks = {"thinking_blocks": [{"type": "thinking", "thinking": "hm"}], "reasoning_content": "hm"}
    assert kinds({"role": "assistant", "content": "x", **blocks}) == [
        ("thinking", "assistant", "hm"),
        ("text", "assistant", "x"),
    ]
    assert kinds({"role": "assistant", "reasoning_content": "hm"}) == [("thinking", "assistant", "hm")]


def test_the_output_of_a_command_in_text_is_a_result_even_if_empty() -> None:
    assert [(b.kind, b.role, b.text) for b in text_result({"role": "user", "content": ""}, "t")] == [
        ("result", "tool", "")
    ]


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        # OpenAI: what was read from the cache is part of the prompt.
        (
            {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}},
            Usage(40, 60, output=7),
        ),
        # DeepSeek says it a second time under names of its own.
        (
            {
                "prompt_tokens": 1835,
                "completion_tokens": 97,
                "prompt_tokens_details": {"cached_tokens": 320},
                "prompt_cache_hit_tokens": 320,
                "prompt_cache_miss_tokens": 1515,
            },
            Usage(1515, 320, output=97),
        ),
        # A gateway over Anthropic: 17,903 with 17,817 read are not 35,720.
        (
            {"prompt_tokens": 17_903, "completion_tokens": 1, "cache_read_input_tokens": 17_817},
            Usage(86, 17_817, output=1),
        ),
        # Parts that exceed the whole: the emitter counted the prompt without them.
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 1,
                "cache_read_input_tokens": 128_955,
                "cache_creation_input_tokens": 1_253,
            },
            Usage(5, 128_955, 1_253, 0, 1),
        ),
        # Writes of an hour apart from those of five minutes.
        (
            {
                "prompt_tokens": 50,
                "completion_tokens": 1,
                "cache_creation_input_tokens": 40,
                "prompt_tokens_details": {"cache_creation_token_details": {"ephemeral_1h_input_tokens": 30}},
            },
            Usage(10, 0, 10, 30, 1),
        ),
        # The names of the Responses API and of a harness' own sums.
        ({"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}, Usage(5, 4, output=2)),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "cache_read_tokens": 4, "cache_write_tokens": 1},
            Usage(4, 4, 1, 0, 2),
        ),
        # Zeros beside calls mean that nothing was recorded.
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        (None, None),
        ("12", None),
    ],
)
def test_usage_is_split_into_disjoint_parts(raw: Any, usage: Usage | None) -> None:
    assert chat_usage(raw) == usage


@given(
    raw=st.dictionaries(
        st.sampled_from(["prompt_tokens", "completion_tokens", "prompt_tokens_details", "cache_read_input_tokens"]),
        VALUES,
    ),
    message=st.dictionaries(
        st.sampled_from(["role", "content", "tool_calls", "function_call", "tool_call_ids", "thinking_blocks", "name"]),
        VALUES | st.lists(VALUES, max_size=3),
    ),
)
def test_nothing_in_a_message_can_break_it(raw: dict[str, Any], message: dict[str, Any]) -> None:
    usage = chat_usage(raw)
    assert usage is None or min(usage.uncached, usage.cache_read, usage.output) >= 0
    assert all(isinstance(b.text, str) for b in chat_blocks(message))
    assert isinstance(chat_text(message.get("content")), str)
    assert call_block(message.get("name"), message.get("content"), message.get("role")).kind == "call"
