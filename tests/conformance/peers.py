"""What each peer answers to a case. Imported only where the peers are installed: ``make conformance``."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from conformance.cases import Case


def run(job: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(job)


# -- LangChain ----------------------------------------------------------------------------------


def _langchain_messages(case: Case) -> list[Any]:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    made: list[Any] = []
    for message in case.messages:
        if isinstance(message, str):
            made.append(HumanMessage(message))
            continue
        calls = [{"name": c.tool, "args": {"path": c.path}, "id": c.id} for c in message]
        made.append(AIMessage("", tool_calls=calls))
        made += [ToolMessage("x" * c.chars, tool_call_id=c.id, name=c.tool) for c in message]
    return made


def _langchain_count(messages: Any) -> int:
    total = 0
    for message in messages:
        total += len(str(message.content)) + 4
        for call in getattr(message, "tool_calls", []):
            total += len(call["name"]) + 2 + len(call["args"].get("path", ""))
    return total


def _langchain_edit(case: Case) -> Any:
    """The edit as a function that changes a list of messages."""
    from langchain.agents.middleware.context_editing import ClearToolUsesEdit

    s = case.settings
    edit = ClearToolUsesEdit(
        trigger=s["trigger"],
        keep=s["keep"],
        clear_at_least=s["minimum"],
        exclude_tools=tuple(s["exclude"]),
        clear_tool_inputs=s["inputs"],
    )
    return lambda messages: edit.apply(messages, count_tokens=_langchain_count)


def _langchain_taken(messages: list[Any]) -> list[int]:
    results = [m for m in messages if m.type == "tool"]
    return [i for i, m in enumerate(results) if m.response_metadata.get("context_editing", {}).get("cleared")]


def langchain_clear(case: Case) -> list[int]:
    messages = _langchain_messages(case)
    _langchain_edit(case)(messages)
    return _langchain_taken(messages)


def _langchain_cut(case: Case, keep: tuple[str, int]) -> int:
    from langchain.agents.middleware.summarization import SummarizationMiddleware
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel

    messages = _langchain_messages(case)
    seen: list[int] = []

    def summarize(given: Any) -> str:
        seen.append(len(given))
        return ""

    middleware = SummarizationMiddleware(
        model=GenericFakeChatModel(messages=iter([])),
        trigger=("tokens", case.settings["trigger"]),
        keep=keep,
        summarizer=summarize,
        token_counter=_langchain_count,
        trim_tokens_to_summarize=None,
    )
    answer = middleware.before_model({"messages": messages}, None)
    if answer is None:
        return 0
    return len(messages) - (len(answer["messages"]) - 2)


def langchain_summary(case: Case) -> int:
    return _langchain_cut(case, ("messages", case.settings["keep_messages"]))


def langchain_summary_by_tokens(case: Case) -> int:
    return _langchain_cut(case, ("tokens", case.settings["keep_tokens"]))


def langchain_summary_never_called(requests: int) -> tuple[int, str]:
    """Calls of the summarizer, and what stands for the history, with the shipped trimming and one user turn."""
    from langchain.agents.middleware.summarization import SummarizationMiddleware
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    messages: list[Any] = [HumanMessage("The task.")]
    for i in range(requests):
        messages.append(AIMessage("", tool_calls=[{"name": "read", "args": {}, "id": f"c{i}"}]))
        messages.append(ToolMessage("x" * 4_000, tool_call_id=f"c{i}", name="read"))
    calls: list[int] = []

    def summarize(given: Any) -> str:
        calls.append(len(given))
        return "a summary"

    middleware = SummarizationMiddleware(
        model=GenericFakeChatModel(messages=iter([])),
        trigger=("tokens", 5_000),
        keep=("messages", 5),
        summarizer=summarize,
    )
    answer = middleware.before_model({"messages": messages}, None)
    return len(calls), str(answer["messages"][1].content)


# -- pydantic-ai-harness ------------------------------------------------------------------------


def _pydantic_messages(case: Case) -> list[Any]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

    made: list[Any] = []
    for message in case.messages:
        if isinstance(message, str):
            made.append(ModelRequest(parts=[UserPromptPart(message)]))
            continue
        made.append(ModelResponse(parts=[ToolCallPart(c.tool, {"path": c.path}, tool_call_id=c.id) for c in message]))
        made.append(ModelRequest(parts=[ToolReturnPart(c.tool, "x" * c.chars, tool_call_id=c.id) for c in message]))
    return made


def _pydantic_taken(messages: list[Any], placeholder: str) -> list[int]:
    from pydantic_ai.messages import ToolReturnPart

    returns = [p for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
    return [i for i, part in enumerate(returns) if part.content == placeholder]


def _pydantic_rung(case: Case) -> Any:
    from pydantic_ai_harness.compaction import ClearToolResults

    s = case.settings
    return ClearToolResults(
        max_tokens=1,
        keep_pairs=s["keep"],
        exclude_tools=frozenset(s["exclude"]),
        min_clear_tokens=s["minimum"] or None,  # its 0 is a floor: nothing is cleared that would grow
        tokenizer=len,
    )


def pydantic_clear(case: Case) -> list[int]:
    rung = _pydantic_rung(case)
    return _pydantic_taken(run(rung.compact(_pydantic_messages(case), None)), rung.placeholder)


def pydantic_deduplicate(case: Case) -> list[int]:
    from pydantic_ai_harness.compaction import DeduplicateFileReads

    def key(call: Any) -> str | None:
        return str(call.args_as_dict().get("path")) if call.tool_name == "read_file" else None

    rung = DeduplicateFileReads(file_key=key)
    return _pydantic_taken(run(rung.compact(_pydantic_messages(case), None)), rung.placeholder)


# -- Inspect ------------------------------------------------------------------------------------


def _inspect_messages(case: Case) -> list[Any]:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall

    made: list[Any] = []
    for message in case.messages:
        if isinstance(message, str):
            made.append(ChatMessageUser(content=message))
            continue
        calls = [ToolCall(id=c.id, function=c.tool, arguments={"path": c.path}) for c in message]
        made.append(ChatMessageAssistant(content="", tool_calls=calls))
        made += [ChatMessageTool(content="x" * c.chars, tool_call_id=c.id, function=c.tool) for c in message]
    return made


def _inspect_rung(case: Case) -> Any:
    """The strategy as a function from messages to messages."""
    from inspect_ai.model import CompactionEdit, get_model

    model = get_model("mockllm/model")

    async def none(*_: Any, **__: Any) -> int:
        return 0

    model.count_tokens = none  # type: ignore[method-assign]
    s = case.settings
    rung = CompactionEdit(keep_tool_uses=s["keep"], exclude_tools=s["exclude"] or None)
    return lambda messages: run(rung.compact(model, messages, []))[0]


def _inspect_taken(messages: list[Any]) -> list[int]:
    results = [m for m in messages if m.role == "tool"]
    return [i for i, m in enumerate(results) if m.content == "(Tool result removed)"]


def inspect_edit(case: Case) -> list[int]:
    return _inspect_taken(_inspect_rung(case)(_inspect_messages(case)))


def _inspect_trim(case: Case) -> Any:
    """The trim as a function from messages to messages."""
    from inspect_ai.model import CompactionTrim

    from conformance.ours import preserved

    rung = CompactionTrim(preserve=preserved(case))
    return lambda messages: run(rung.compact(None, messages, []))[0]


def _inspect_gone(case: Case, messages: list[Any], come: int) -> list[int]:
    left = {m.tool_call_id for m in messages if m.role == "tool"}
    return [i for i, call in enumerate(case.calls[:come]) if call.id not in left]


def inspect_trim(case: Case) -> list[int]:
    return _inspect_gone(case, _inspect_trim(case)(_inspect_messages(case)), len(case.calls))


# -- agent-framework ------------------------------------------------------------------------------


def agent_framework_selective(case: Case) -> list[int]:
    import agent_framework as af
    from agent_framework._compaction import annotate_message_groups, included_messages

    made: list[Any] = []
    for message in case.messages:
        if isinstance(message, str):
            made.append(af.Message(role="user", contents=[message]))
            continue
        calls = [af.Content.from_function_call(call_id=c.id, name=c.tool, arguments={"path": c.path}) for c in message]
        made.append(af.Message(role="assistant", contents=calls))
        for c in message:
            result = af.Content.from_function_result(call_id=c.id, result="x" * c.chars)
            made.append(af.Message(role="tool", contents=[result]))
    annotate_message_groups(made)
    run(af.SelectiveToolCallCompactionStrategy(keep_last_tool_call_groups=case.settings["keep"])(made))
    left = {c.call_id for m in included_messages(made) if m.role == "tool" for c in m.contents}
    return [i for i, call in enumerate(case.calls) if call.id not in left]


# -- OpenAI Agents SDK ----------------------------------------------------------------------------


def openai_trimmer(case: Case) -> list[int]:
    from agents.extensions import ToolOutputTrimmer
    from agents.run_config import CallModelData, ModelInputData

    items: list[Any] = []
    for message in case.messages:
        if isinstance(message, str):
            items.append({"role": "user", "content": message})
            continue
        items += [{"type": "function_call", "call_id": c.id, "name": c.tool, "arguments": "{}"} for c in message]
        items += [{"type": "function_call_output", "call_id": c.id, "output": "x" * c.chars} for c in message]
    data = CallModelData(model_data=ModelInputData(input=items, instructions="s"), agent=None, context=None)  # type: ignore[arg-type]
    out = ToolOutputTrimmer(recent_turns=case.settings["recent_turns"])(data)
    outputs = [i for i in out.input if isinstance(i, dict) and i.get("type") == "function_call_output"]
    return [i for i, o in enumerate(outputs) if str(o["output"]).startswith("[Trimmed")]


# -- SWE-agent, from its description: it is on no registry -----------------------------------------


def swe_agent(case: Case) -> list[int]:
    """Observations but the first are omitted up to the last whole batch, less the newest ``n``."""
    observations = len(case.calls)
    s = case.settings
    last = max(0, observations // s["polling"] * s["polling"] - (s["keep"] + 1))
    return list(range(1, last))


# -- one step at a time, each with the state the peer itself hands on ------------------------------


def _growing(case: Case, messages_of: Any) -> list[list[Any]]:
    """What is new at each request: a request follows each message of results."""
    made: list[list[Any]] = [[]]
    for message in case.messages:
        made[-1] += messages_of(replace(case, messages=(message,)))
        if not isinstance(message, str):
            made.append([])
    return made[:-1]


def langchain_clear_steps(case: Case) -> list[list[int]]:
    """As its middleware wires it: a deep copy is edited at each request, and the state keeps the originals."""
    edit, state, gone = _langchain_edit(case), [], []
    for new in _growing(case, _langchain_messages):
        state += new
        sent = copy.deepcopy(state)
        edit(sent)
        gone.append(_langchain_taken(sent))
    return gone


def langchain_clear_kept_steps(case: Case) -> list[list[int]]:
    """With what was edited kept as the state."""
    edit, state, gone = _langchain_edit(case), [], []
    for new in _growing(case, _langchain_messages):
        state += new
        edit(state)
        gone.append(_langchain_taken(state))
    return gone


def pydantic_clear_steps(case: Case) -> list[list[int]]:
    rung, state, gone = _pydantic_rung(case), [], []
    for new in _growing(case, _pydantic_messages):
        state = run(rung.compact([*state, *new], None))
        gone.append(_pydantic_taken(state, rung.placeholder))
    return gone


def inspect_edit_steps(case: Case) -> list[list[int]]:
    rung, state, gone = _inspect_rung(case), [], []
    for new in _growing(case, _inspect_messages):
        state = rung([*state, *new])
        gone.append(_inspect_taken(state))
    return gone


def inspect_trim_steps(case: Case) -> list[list[int]]:
    rung, state, gone, come = _inspect_trim(case), [], [], 0
    for new in _growing(case, _inspect_messages):
        come += sum(m.role == "tool" for m in new)
        state = rung([*state, *new])
        gone.append(_inspect_gone(case, state, come))
    return gone


STEPS = (
    "langchain_clear_steps",
    "langchain_clear_kept_steps",
    "pydantic_clear_steps",
    "inspect_edit_steps",
    "inspect_trim_steps",
)

RULES = (
    "langchain_clear",
    "langchain_summary",
    "langchain_summary_by_tokens",
    "pydantic_clear",
    "pydantic_deduplicate",
    "inspect_edit",
    "agent_framework_selective",
    "openai_trimmer",
    "swe_agent",
)
