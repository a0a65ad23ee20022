"""Random runs that an agent could really have had, for property tests.

Messages of several blocks, parallel calls, ids used twice, pinned tools, thinking, a user who
interrupts, calls that nobody answers. Texts are different from each other, as real ones are.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from labkit.record.trace import Block

TOOLS = ("read_file", "run_tests", "notes_read")
WORDS = (
    "",
    "DECISION: keep the cache\n",
    "TODO: run the suite\n",
    "DONE: run the suite\n",
    "ValueError: no such row\n",
    "second line\n  indented\n\n",
    "Current notes:\n",
)


@dataclass
class _Writer:
    """Writes a run block by block; every text gets its own number."""

    blocks: list[Block]
    request: int = 1
    message: int = 0
    serial: int = 0

    def add(self, kind: str, role: str, words: str, grouped: bool, **more: object) -> None:
        self.serial += 1
        text = f"{words}{kind} {self.serial}"
        message = self.message if grouped else None
        self.blocks.append(Block(kind, role, text, self.request, message, **more))  # type: ignore[arg-type]


@st.composite
def exchanges(draw: st.DrawFn, max_exchanges: int = 8) -> list[list[Block]]:
    """A run as a list of exchanges: what is new in each request."""
    writer = _Writer([])
    grouped = draw(st.booleans())
    words = st.sampled_from(WORDS)
    ids = st.sampled_from([None, "id-1", "id-2"]) if draw(st.booleans()) else st.just(None)
    unique = draw(st.booleans())
    out: list[list[Block]] = []
    start = 0

    def send() -> None:
        nonlocal start
        out.append(writer.blocks[start:])
        start = len(writer.blocks)
        writer.request += 1
        writer.message += 1

    writer.add("text", "user", draw(words), grouped)
    send()
    for turn in range(draw(st.integers(1, max_exchanges))):
        for _ in range(draw(st.integers(0, 1))):
            writer.add("thinking", "assistant", draw(words), grouped)
        if draw(st.booleans()):
            writer.add("text", "assistant", draw(words), grouped)
        calls: list[tuple[str, str | None]] = []
        for n in range(draw(st.integers(0, 3))):
            tool, call_id = draw(st.sampled_from(TOOLS)), f"call-{turn}-{n}" if unique else draw(ids)
            args = draw(st.sampled_from(["app/main.py", "src/a.py src/b.py", "x" * 30]))
            writer.add("call", "assistant", draw(words), grouped, tool=tool, args=args, call_id=call_id)
            calls.append((tool, call_id))
        writer.message += 1
        answered = len(calls) if draw(st.integers(0, 4)) else draw(st.integers(0, len(calls)))
        for tool, call_id in calls[:answered]:
            filler = "word " * draw(st.sampled_from([0, 3, 40]))
            writer.add("result", "tool", draw(words) + filler, grouped, tool=tool, args="app/main.py", call_id=call_id)
        if answered < len(calls) or not calls or draw(st.integers(0, 3)) == 0:
            writer.add("text", "user", draw(words), grouped)
        send()
    return out


def runs(max_exchanges: int = 8) -> st.SearchStrategy[list[Block]]:
    """A run as one list of blocks."""
    return exchanges(max_exchanges).map(lambda parts: [block for part in parts for block in part])


def quarter(text: str) -> int:
    """A quick counter, exact enough for a property: a token for four characters."""
    return -(-len(text) // 4)
