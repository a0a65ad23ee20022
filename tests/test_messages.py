"""Blocks to messages and back: valid for the interface whatever the blocks are, word for word where they are whole."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.record.messages import (
    UNANSWERED,
    blocks_from_anthropic,
    blocks_from_openai,
    to_anthropic,
    to_openai,
)
from labkit.record.trace import Block
from local_server import check_anthropic, check_chat
from runs import exchanges, runs

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def text(words: str) -> dict:
    return {"type": "text", "text": words}


def use(i: str, **arguments: object) -> dict:
    return {"type": "tool_use", "id": i, "name": "read_file", "input": arguments}


def result(i: str, content: object) -> dict:
    return {"type": "tool_result", "tool_use_id": i, "content": content}


CONVERSATION = [
    {"role": "user", "content": [text("Look."), IMAGE]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "two files", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            text("I read both."),
            use("t1", path="a.py", deep={"list": [1, None, "é\n"]}),
            use("t2"),
        ],
    },
    {"role": "user", "content": [result("t2", "two"), result("t1", [text("one"), IMAGE]), text("And now?")]},
    {"role": "assistant", "content": [text("Done.")]},
]


def test_anthropic_there_and_back() -> None:
    check_anthropic({"model": "m", "max_tokens": 1, "messages": CONVERSATION})
    blocks = blocks_from_anthropic(CONVERSATION)
    assert [b.kind for b in blocks] == [
        "text",
        "image",
        "thinking",
        "thinking",
        "text",
        "call",
        "call",
        "result",
        "result",
        "image",
        "text",
        "text",
    ]
    assert [b.message for b in blocks] == [1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4]
    assert (blocks[7].tool, blocks[8].args) == ("read_file", 'path=a.py, deep={"list":[1,null,"é\\n"]}')
    assert to_anthropic(blocks) == CONVERSATION


def test_a_trace_keeps_no_image_data_and_no_signature() -> None:
    blocks = blocks_from_anthropic(CONVERSATION, whole=False)
    assert "iVBOR" not in str(blocks)
    assert "c2ln" not in str(blocks)
    assert [b.text for b in blocks if b.kind == "image"] == ["[image/png]", "[image/png]"]
    # What cannot be sent again becomes words or goes; the rest is still valid.
    check_anthropic({"model": "m", "max_tokens": 1, "messages": to_anthropic(blocks)})


def test_openai_there_and_back() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"a.py"}'}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "assistant", "content": "Done."},
    ]
    blocks = blocks_from_openai(messages)
    assert [(b.kind, b.role) for b in blocks] == [
        ("text", "system"),
        ("text", "user"),
        ("call", "assistant"),
        ("result", "tool"),
        ("text", "assistant"),
    ]
    assert to_openai(blocks) == messages


def test_responses_items() -> None:
    items = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"role": "user", "content": "Look."},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path":"a.py"}'},
        {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "two"}]},
        {"type": "web_search_call", "id": "w1", "status": "completed"},
    ]
    blocks = blocks_from_openai(items)
    assert [(b.kind, b.role, b.text) for b in blocks[:7]] == [
        ("text", "system", "Be brief."),
        ("text", "user", "Look."),
        ("thinking", "assistant", "hm"),
        ("call", "assistant", 'read_file {"path":"a.py"}'),
        ("call", "assistant", "apply_patch *** Begin"),
        ("result", "tool", "one"),
        ("result", "tool", "two"),
    ]
    assert [b.message for b in blocks] == [1, 2, 3, 3, 3, 4, 4, 5]
    assert (blocks[6].tool, blocks[6].args) == ("apply_patch", "*** Begin")


# -- whatever the blocks are ---------------------------------------------------------------------------


@given(runs())
def test_any_run_is_valid_for_both_interfaces(blocks: list[Block]) -> None:
    messages = to_anthropic(blocks)
    check_anthropic({"model": "m", "max_tokens": 1, "messages": messages})
    chat = to_openai(blocks)
    check_chat({"messages": chat})
    sent, told = json.dumps(messages, ensure_ascii=False), json.dumps(chat, ensure_ascii=False)
    for block in blocks:
        if block.kind in ("text", "result", "call"):
            assert json.dumps(block.text, ensure_ascii=False)[1:-1] in sent
            assert json.dumps(block.text, ensure_ascii=False)[1:-1] in told


@given(st.lists(st.builds(
    Block,
    st.sampled_from(["text", "thinking", "call", "result", "image", "summary"]),
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.sampled_from(["", " ", "words", 'read {"a":1}']),
    call_id=st.sampled_from([None, "", "a b", "x"]),
    tool=st.sampled_from([None, "read"]),
), max_size=8))  # fmt: skip
def test_even_nonsense_is_valid(blocks: list[Block]) -> None:
    calls_are_an_assistants = [b for b in blocks if b.kind != "call" or b.role == "assistant"]
    messages = to_anthropic(calls_are_an_assistants)
    if messages:
        check_anthropic({"model": "m", "max_tokens": 1, "messages": messages})
    check_chat({"messages": to_openai(calls_are_an_assistants)})


@given(exchanges(), st.integers(0, 3), st.integers(0, 4))
def test_what_a_manager_gives_is_valid_at_every_request(parts, keep: int, keep_recent: int) -> None:
    policy = Policy(trigger=60, floor=0, keep=keep, compact_above=80, keep_recent=keep_recent)
    manager = ContextManager(policy=policy, count=len)
    for part in parts:
        for block in part:
            manager.append(block)
        blocks = manager.prepare()
        check_anthropic({"model": "m", "max_tokens": 1, "messages": to_anthropic(blocks)})


def test_repairs_by_hand() -> None:
    call = Block("call", "assistant", "ls {}", tool="ls", call_id="x")
    answer = Block("result", "tool", "a.py", tool="ls", args="", call_id="x")
    said = Block("text", "user", "Stop!")
    # A user who interrupts comes after the result; a call nobody answered gets an answer.
    assert [m["content"][0]["type"] for m in to_anthropic([said, call, said, answer])] == [
        "text",
        "tool_use",
        "tool_result",
    ]
    unanswered = to_anthropic([said, call, said])[2]["content"][0]
    assert unanswered == {"type": "tool_result", "tool_use_id": "x", "content": UNANSWERED, "is_error": True}
    # An id used twice gets a name of its own; a result without its call becomes words.
    twice = to_anthropic([said, call, answer, call, answer])
    assert twice[1]["content"][0]["id"] != twice[3]["content"][0]["id"] == twice[4]["content"][0]["tool_use_id"]
    assert to_anthropic([answer])[0]["content"][0]["text"] == "[result of ls()]\na.py"
    assert to_anthropic([call, answer])[0]["role"] == "user"
    # In a scripted run the text of a call is what the agent said.
    scripted = Block("call", "assistant", "Now I look.", tool="ls", args="src")
    assert to_anthropic([said, scripted])[1]["content"] == [
        {"type": "text", "text": "Now I look."},
        {"type": "tool_use", "id": "call-1", "name": "ls", "input": {"args": "src"}},
    ]
