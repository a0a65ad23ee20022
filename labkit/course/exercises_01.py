"""Exercises of notebook 01: what the tokens of a context are spent on."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.course.exercise import Case, Exercise, Wrong
from labkit.record.trace import Block

__all__ = ["EXERCISES"]

LOOKUPS = ("search_docs", "fetch_doc")
NOTES = ("notes_write", "notes_read")


def first_to_shape(results: Sequence[tuple[int, int]], requests: int) -> int:
    """Turn of the result that adds most to the bill: its size times the requests that carry it."""
    return max(results, key=lambda result: result[1] * (requests - result[0]))[0]


def line_of(block: Block) -> str:
    """The line item of a block, by the rule of the exercise."""
    if block.kind == "thinking" or block.tool in NOTES:
        return "scratchpad"
    if block.tool in LOOKUPS:
        return "retrieved_docs"
    return "tool_output" if block.kind == "result" else "history"


def _no_tools(block: Block) -> str:
    kinds = {"thinking": "scratchpad", "result": "tool_output"}
    return kinds.get(block.kind, "history")


def _calls_are_output(block: Block) -> str:
    return "tool_output" if line_of(block) == "history" and block.tool else line_of(block)


def _results_only(block: Block) -> str:
    return "history" if block.kind == "call" else line_of(block)


def _roles(block: Block) -> str:
    return "tool_output" if block.role == "tool" else "history"


def _block(kind: str, role: str, tool: str | None = None) -> Case:
    block = Block(kind, role, "...", tool=tool)  # type: ignore[arg-type]
    shown = f"a {kind}" + (f" of {tool}" if tool else f" by the {role}")
    return Case((block,), line_of(block), shown)


EXERCISES = (
    Exercise(
        id="01.1",
        title="Which result to shape first",
        cases=lambda: [
            Case(([(4, 3_654), (49, 7_972)], 60), 4),
            Case(([(7, 7_836), (14, 7_784), (41, 7_836), (49, 7_972)], 60), 7),
            Case(([(2, 900), (20, 4_000), (38, 9_000)], 40), 20),
            Case(([(50, 10), (60, 9_000)], 60), 50),
        ],
        solution=first_to_shape,
        wrong=(
            Wrong(
                lambda results, requests: max(results, key=lambda result: result[1])[0],
                "This takes the largest result. A large one that comes late is carried by few requests: multiply "
                "by how many still follow.",
            ),
            Wrong(
                lambda results, requests: min(results)[0],
                "This takes the oldest result. It is carried by most requests, but a small one adds little: "
                "multiply by its size.",
            ),
            Wrong(
                lambda results, requests: max(results, key=lambda result: result[1] * (requests - result[0] + 1))[0],
                "This counts one request too many: the result of turn t comes after request t, so request t + 1 "
                "is the first that carries it. A result of the last turn is never sent.",
            ),
        ),
        difficulty=2,
        worth=5,
        minutes=6,
    ),
    Exercise(
        id="01.2",
        title="Sort a context into line items",
        cases=lambda: [
            _block("text", "user"),
            _block("result", "tool", "read_file"),
            _block("call", "assistant", "read_file"),
            _block("thinking", "assistant"),
            _block("result", "tool", "search_docs"),
            _block("call", "assistant", "search_docs"),
            _block("result", "tool", "notes_read"),
            _block("call", "assistant", "notes_write"),
            _block("summary", "user"),
        ],
        solution=line_of,
        wrong=(
            Wrong(
                _no_tools,
                "This looks at the kind alone. Lookups and notes are told apart by their tool.",
            ),
            Wrong(
                _results_only,
                "This sorts results by their tool and forgets the calls: the call of a lookup or of a note "
                "belongs to the same line as its result.",
            ),
            Wrong(
                _calls_are_output,
                "A call is what the model wrote, not what a tool returned: the calls of ordinary tools are history.",
            ),
            Wrong(
                _roles,
                "This looks at the role alone. Thinking and calls have the same role as text, and lookups the "
                "same as any result.",
            ),
        ),
        difficulty=2,
        worth=3,
        minutes=6,
    ),
)
