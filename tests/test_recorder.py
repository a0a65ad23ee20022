"""Recording the real SDKs on a local server, and reading the recording back."""

from __future__ import annotations

import asyncio
import json
import threading
import warnings
from pathlib import Path

import pytest

from labkit.errors import InputError
from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.record.load import load
from labkit.record.messages import blocks_from_anthropic, to_anthropic
from labkit.record.recorder import record
from labkit.record.trace import Block, Usage
from local_server import Server, serving

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

MODEL = "claude-haiku-5-5"
ASK = [{"role": "user", "content": "How long is the log?"}]
CALL = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "app.log"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


@pytest.fixture
def server():
    with serving() as state:
        yield state


@pytest.fixture
def client(server: Server):
    with anthropic.Anthropic(base_url=server.url, api_key="dummy", max_retries=0) as client:
        yield client


@pytest.fixture
def gpt(server: Server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="dummy", max_retries=0) as client:
        yield client


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# -- writing -----------------------------------------------------------------------------------------


def test_a_call_is_written_down(server: Server, client, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorded = record(client, path)
    answer = recorded.messages.create(model=MODEL, max_tokens=10, messages=ASK, extra_headers={"x-secret": "hidden"})
    assert isinstance(answer, anthropic.types.Message)
    (entry,) = lines(path)
    assert (entry["type"], entry["format"], entry["version"], entry["api"]) == (
        "exchange",
        "labkit-exchange",
        1,
        "anthropic.messages",
    )
    assert entry["request"] == {"model": MODEL, "max_tokens": 10, "messages": ASK}
    assert entry["response"]["content"] == [{"text": "ok", "type": "text"}]
    assert entry["response"]["usage"]["input_tokens"] == answer.usage.input_tokens
    assert entry["start"] > 1.7e9
    assert 0 <= entry["seconds"] < 60
    assert "hidden" not in path.read_text(encoding="utf-8")
    assert "dummy" not in path.read_text(encoding="utf-8")
    assert server.headers[0]["x-secret"] == "hidden"


def test_everything_else_is_the_client_s(client, tmp_path: Path) -> None:
    recorded = record(client, tmp_path / "a.jsonl")
    assert isinstance(recorded, anthropic.Anthropic)
    assert recorded.api_key == "dummy"
    assert recorded.models is client.models
    other = recorded.with_options(timeout=5)
    assert other.timeout == 5
    other.messages.create(model=MODEL, max_tokens=10, messages=ASK)
    assert len(lines(tmp_path / "a.jsonl")) == 1, "a copy with other options records to the same file"
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = recorded.no_such_thing


def test_what_is_appended_during_the_call_is_not_in_it(client, tmp_path: Path) -> None:
    messages = [*ASK]
    recorded = record(client, tmp_path / "a.jsonl")
    with recorded.messages.create(model=MODEL, max_tokens=10, messages=messages, stream=True) as stream:
        messages.append({"role": "assistant", "content": "later"})
        for _ in stream:
            pass
    assert lines(tmp_path / "a.jsonl")[0]["request"]["messages"] == ASK


def test_an_error_is_written_and_raised(server: Server, client, tmp_path: Path) -> None:
    server.fail = [529]
    with pytest.raises(anthropic.APIStatusError):
        record(client, tmp_path / "a.jsonl").messages.create(model=MODEL, max_tokens=10, messages=ASK)
    (entry,) = lines(tmp_path / "a.jsonl")
    assert entry["error"]["status"] == 529
    assert "response" not in entry


@pytest.mark.parametrize("way", ["create", "stream"])
def test_a_stream_gives_the_same_response_as_a_plain_call(server: Server, client, tmp_path: Path, way: str) -> None:
    server.reply = lambda request: [THOUGHT, {"type": "text", "text": "Let me look."}, CALL]
    path = tmp_path / "a.jsonl"
    recorded = record(client, path)
    options = {"model": MODEL, "max_tokens": 10, "messages": ASK}
    recorded.messages.create(**options)
    if way == "create":
        events = [event.type for event in recorded.messages.create(**options, stream=True)]
        assert events[0] == "message_start"
        assert events[-1] == "message_stop"
    else:
        with recorded.messages.stream(**options) as stream:
            assert "".join(stream.text_stream) == "Let me look."
    plain, streamed = (entry["response"] for entry in lines(path))
    for name in ("role", "model", "stop_reason"):
        assert streamed[name] == plain[name]
    assert streamed["usage"]["output_tokens"] == plain["usage"]["output_tokens"] > 1
    blocks = [blocks_from_anthropic([{"role": "assistant", "content": r["content"]}]) for r in (plain, streamed)]
    assert blocks[0] == blocks[1]
    assert [b.kind for b in blocks[0]] == ["thinking", "text", "call"]


def test_a_stream_that_breaks_or_is_left_early_is_marked(server: Server, client, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    recorded = record(client, path)
    for _ in recorded.messages.create(model=MODEL, max_tokens=10, messages=ASK, stream=True):
        break
    assert lines(path)[-1]["incomplete"] is True
    stream = recorded.messages.create(model=MODEL, max_tokens=10, messages=ASK, stream=True)
    next(iter(stream))
    stream.close()
    assert [entry["incomplete"] for entry in lines(path)] == [True, True]
    server.break_stream = True
    list(recorded.messages.create(model=MODEL, max_tokens=10, messages=ASK, stream=True))
    assert lines(path)[-1]["incomplete"] is True


def test_async_calls(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    options = {"model": MODEL, "max_tokens": 10, "messages": ASK}

    async def run() -> None:
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key="dummy", max_retries=0) as client:
            recorded = record(client, path)
            assert (await recorded.messages.create(**options)).content[0].text == "ok"
            async for _ in await recorded.messages.create(**options, stream=True):
                pass
            async with recorded.messages.stream(**options) as stream:
                assert await stream.get_final_text() == "ok"
            server.fail = [500]
            with pytest.raises(anthropic.APIStatusError):
                await recorded.messages.create(**options)

    asyncio.run(run())
    assert ["response" in entry for entry in lines(path)] == [True, True, True, False]


def test_openai_chat_and_responses(server: Server, gpt, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    recorded = record(gpt, path)
    function = {"name": "read_file", "arguments": '{"path":"app.log"}'}
    server.reply = lambda request: {
        "content": "I look.",
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    messages = [{"role": "system", "content": "Be brief."}, *ASK]
    recorded.chat.completions.create(model="gpt-6", messages=messages)
    list(recorded.chat.completions.create(model="gpt-6", messages=messages, stream=True))
    plain, streamed = (entry["response"]["choices"][0]["message"] for entry in lines(path))
    assert streamed["content"] == plain["content"] == "I look."
    assert streamed["tool_calls"] == plain["tool_calls"]
    server.reply = lambda request: [
        {"type": "function_call", "id": "fc1", "call_id": "c2", "status": "completed", **function}
    ]
    recorded.responses.create(model="gpt-6", input="How long?", instructions="Be brief.")
    list(recorded.responses.create(model="gpt-6", input="How long?", instructions="Be brief.", stream=True))
    plain, streamed = (entry["response"] for entry in lines(path)[2:])
    assert plain["output"] == streamed["output"]
    assert plain["usage"] == streamed["usage"]


def test_a_failure_to_write_never_breaks_a_call(client, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    recorded = record(client, folder / "a.jsonl")
    (folder / "a.jsonl").unlink()
    folder.rmdir()
    options = {"model": MODEL, "max_tokens": 10, "messages": ASK}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            assert recorded.messages.create(**options).content[0].text == "ok"
    assert ["labkit could not record a call" in str(w.message) for w in seen] == [True]
    folder.mkdir()
    recorded = record(client, folder / "a.jsonl")
    (folder / "a.jsonl").unlink()
    folder.rmdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recorded.messages.create(**options).content[0].text == "ok"


def test_threads_do_not_mix_lines(client, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    recorded = record(client, path)

    def work() -> None:
        for _ in range(5):
            recorded.messages.create(model=MODEL, max_tokens=10, messages=[{"role": "user", "content": "x" * 50_000}])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines(path)) == 20


def test_bad_input(tmp_path: Path, client) -> None:
    with pytest.raises(InputError, match=r"str is no client labkit knows: give one of Anthropic's or OpenAI's"):
        record("client", tmp_path / "a.jsonl")
    with pytest.raises(InputError, match=r"cannot be written .* give a file in a folder that exists"):
        record(client, tmp_path / "no" / "a.jsonl")


# -- reading -----------------------------------------------------------------------------------------


def exchange(messages: list, content: object, start: float = 0.0, **request: object) -> dict:
    return {
        "type": "exchange",
        "format": "labkit-exchange",
        "version": 1,
        "api": "anthropic.messages",
        "start": start,
        "seconds": 1.0,
        "request": {"model": MODEL, "messages": messages, **request},
        "response": {
            "id": "m",
            "model": MODEL,
            "content": content,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3},
        },
    }


def save(path: Path, *entries: object) -> Path:
    path.write_text("".join(e if isinstance(e, str) else json.dumps(e) + "\n" for e in entries), encoding="utf-8")
    return path


def text(words: str) -> list[dict]:
    return [{"type": "text", "text": words}]


RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "800 lines"}]}
SECOND = [*ASK, {"role": "assistant", "content": [CALL]}, RESULT]


def test_a_recording_becomes_a_trace(tmp_path: Path) -> None:
    tools = [{"name": "read_file", "input_schema": {}}]
    first = exchange(ASK, [CALL], 100.0, system="Be brief.", tools=tools)
    cached = [
        *SECOND[:2],
        {"role": "user", "content": [{**RESULT["content"][0], "cache_control": {"type": "ephemeral"}}]},
    ]
    second = exchange(cached, text("800."), 160.0, system="Be brief.", tools=tools)
    failed = {k: v for k, v in second.items() if k != "response"} | {"error": {"status": 529}}
    trace = load(save(tmp_path / "s.jsonl", first, failed, second, '{"torn": '))
    assert trace.source == "labkit recording: s.jsonl"
    assert [(b.kind, b.text, b.request, b.tool) for b in trace.blocks] == [
        ("text", "How long is the log?", 1, None),
        ("call", 'read_file {"path":"app.log"}', 2, "read_file"),
        ("result", "800 lines", 2, "read_file"),
        ("text", "800.", 3, None),
    ]
    assert [(r.index, r.start, r.prefix) for r in trace.requests] == [(1, 100.0, 0), (2, 160.0, 0)]
    assert trace.usage == Usage(uncached=20, cache_read=10, output=6)
    assert trace.prefixes[0].system == "Be brief."
    assert "read_file" in (trace.prefixes[0].tools or "")
    assert trace.edits == ()
    assert any("line 4" in w for w in trace.warnings)
    assert any("1 calls failed" in w for w in trace.warnings)


def test_a_cleared_result_is_an_edit(tmp_path: Path) -> None:
    cleared = json.loads(json.dumps(SECOND))
    cleared[2]["content"][0]["content"] = "[cleared]"
    third = [*cleared, {"role": "assistant", "content": text("800.")}, {"role": "user", "content": "Sure?"}]
    trace = load(
        save(tmp_path / "s.jsonl", exchange(ASK, [CALL]), exchange(SECOND, text("800.")), exchange(third, text("Yes.")))
    )
    (edit,) = trace.edits
    assert (edit.kind, edit.request, edit.blocks, edit.stub) == ("clear", 3, (2,), "[cleared]")
    assert trace.blocks[2].text == "800 lines"
    assert [b.text for b in trace.blocks[4:]] == ["Sure?", "Yes."]
    assert any("line 3" in w and "kept as an edit" in w for w in trace.warnings)


def test_a_compaction_is_an_edit_with_its_summary(tmp_path: Path) -> None:
    later = [*SECOND, {"role": "assistant", "content": [{**CALL, "id": "t2"}]}]
    later.append({"role": "user", "content": [{**RESULT["content"][0], "tool_use_id": "t2", "content": "801 lines"}]})
    short = [{"role": "user", "content": "Summary: 800 lines."}, *later[3:]]
    trace = load(
        save(
            tmp_path / "s.jsonl",
            exchange(ASK, [CALL]),
            exchange(SECOND, [{**CALL, "id": "t2"}]),
            exchange(short, text("801.")),
        )
    )
    (edit,) = trace.edits
    assert (edit.kind, edit.request, edit.blocks) == ("summary", 3, (0, 1, 2))
    assert trace.blocks[edit.summary].kind == "summary"
    assert trace.blocks[edit.summary].text == "Summary: 800 lines."
    assert trace.children == ()
    assert len(trace.requests) == 3


def test_two_conversations_come_apart(tmp_path: Path) -> None:
    other = [{"role": "user", "content": "Another question"}]
    trace = load(
        save(
            tmp_path / "s.jsonl",
            exchange(ASK, [CALL]),
            exchange(other, text("Answer."), system="You help."),
            exchange(SECOND, text("800.")),
        )
    )
    (child,) = trace.children
    assert len(trace.requests) == 2
    assert [b.text for b in child.blocks] == ["Another question", "Answer."]
    assert child.kind == "subagent"


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"type": "exchange", "format": "labkit-exchange", "version": 1}, "holds no answered call"),
        (exchange(ASK, []) | {"version": 2}, "holds no answered call"),
        (exchange(ASK, []) | {"api": "other"}, "holds no answered call"),
        (exchange(ASK, []) | {"request": {"messages": 3}}, "holds no answered call"),
    ],
)
def test_recordings_with_nothing_to_read(tmp_path: Path, entry: dict, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        load(save(tmp_path / "s.jsonl", entry))


def test_openai_usage_is_made_disjoint(server: Server, gpt, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    server.reply = lambda request: {"content": "ok"}
    record(gpt, path).chat.completions.create(
        model="gpt-6", messages=[{"role": "system", "content": "Be brief."}, *ASK]
    )
    trace = load(path)
    assert trace.usage == Usage(uncached=40, cache_read=60, output=7)
    assert trace.prefixes[0].system == "Be brief."
    assert [b.text for b in trace.blocks] == ["How long is the log?", "ok"]
    server.reply = lambda request: []
    other = tmp_path / "b.jsonl"
    record(gpt, other).responses.create(model="gpt-6", input="How long?", instructions="Be brief.")
    assert load(other).usage == Usage(uncached=10, cache_read=60, cache_write_5m=30, output=7)
    assert load(other).prefixes[0].system == "Be brief."


# -- a live agent --------------------------------------------------------------------------------------


def agent(client, policy: Policy, turns: int) -> ContextManager:
    """A small agent: every answer but the last calls tools, every context is the manager's."""
    system = "Be brief."
    manager = ContextManager(system, policy)
    manager.append(Block("text", "user", "Read all files.\nKeep a list."))
    for turn in range(1, turns + 1):
        messages = to_anthropic(manager.prepare())
        answer = client.messages.create(model=MODEL, max_tokens=1_000, system=system, messages=messages)
        said = blocks_from_anthropic([{"role": "assistant", "content": answer.to_dict()["content"]}], first=2 * turn)
        for block in said:
            manager.append(block)
        for call in (b for b in said if b.kind == "call"):
            words = f"file {turn}: " + "some words of it " * 60
            manager.append(
                Block("result", "tool", words, 0, 2 * turn + 1, tool=call.tool, args=call.args, call_id=call.call_id)
            )
        if turn % 10 == 0:
            manager.append(Block("text", "user", f"Instruction {turn}", 0, 2 * turn + 1))
    return manager


def test_sixty_turns_with_the_real_sdk(server: Server, client, tmp_path: Path) -> None:
    """Clearing and compaction in a live agent: the server refuses any request that breaks the API's rules."""

    def reply(request: dict) -> list[dict]:
        n = len(server.requests)
        calls = [
            {"type": "tool_use", "id": f"t{n}-{i}", "name": "read_file", "input": {"path": f"src/{n}-{i}.py"}}
            for i in range(1 + n % 3)
        ]
        return [{"type": "thinking", "thinking": f"thought {n}", "signature": f"s{n}"}, *text(f"Turn {n}."), *calls]

    server.reply = reply
    policy = Policy(trigger=5_000, floor=1_500, keep=3, compact_above=4_000, keep_recent=6)
    path = tmp_path / "live.jsonl"
    manager = agent(record(client, path), policy, 60)
    kinds = [e.kind for e in manager.events]
    assert kinds.count("cleared") > 5
    assert kinds.count("compacted") >= 2
    assert len(server.requests) == 60
    summary = next(b.text for b in manager.blocks() if b.kind == "summary")
    assert "TASK: Read all files.\n  Keep a list." in summary
    assert "USER: (turn 11) Instruction 10" in summary
    # What was recorded is what happened: same requests, every call with its result, the edits found again.
    trace = load(path)
    assert len(trace.requests) == 60
    assert trace.children == ()
    assert sum(b.kind == "call" for b in trace.blocks) == sum(1 + n % 3 for n in range(1, 61))
    assert {e.kind for e in trace.edits} == {"clear", "summary"}
    assert sum(e.kind == "summary" for e in trace.edits) == kinds.count("compacted")
