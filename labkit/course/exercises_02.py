"""Exercises of notebook 02: when the ladder acts, and what it takes."""

from __future__ import annotations

import random
from collections.abc import Sequence

from labkit.course.exercise import Case, Exercise, Wrong
from labkit.files import data_path
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import clear, stub
from labkit.record.load import load
from labkit.record.tokens import MESSAGE_OVERHEAD, count
from labkit.record.trace import Block

__all__ = ["EXERCISES"]


def acts(total: int, clearable: int, trigger: int, floor: int) -> bool:
    """Whether clearing happens at a request."""
    return total > trigger and clearable >= floor


def cut(messages: int, keep_recent: int) -> int:
    """How many messages, from the start, a summary replaces."""
    return max(messages - keep_recent, 0)


def my_clear(blocks: Sequence[Block], keep: int, floor: int) -> list[Block]:
    """Replace all results but the newest ``keep`` by stubs, unless that frees less than ``floor``."""
    return _clear(blocks, keep, floor)


def _clear(
    blocks: Sequence[Block], keep: int, floor: int, *, negative: bool = False, lift: bool = False, gone: bool = False
) -> list[Block]:
    """The solution, and three ways to get it wrong.

    ``negative`` slices with ``[:-keep]``, ``lift`` ignores the floor, ``gone`` deletes instead of stubbing.
    """
    results = [i for i, block in enumerate(blocks) if block.kind == "result"]
    stale = results[:-keep] if negative else results[: max(len(results) - keep, 0)]
    cleared, freed = list(blocks), 0
    for i in stale:
        size = count(blocks[i].text) + MESSAGE_OVERHEAD
        cleared[i] = stub(blocks[i], size)
        freed += size - count(cleared[i].text) - MESSAGE_OVERHEAD
    if gone:
        cleared = [block for i, block in enumerate(cleared) if i not in stale]
    return cleared if lift or freed >= floor else list(blocks)


def _contexts() -> list[Case]:
    """Contexts from a seeded generator; what is expected comes from labkit's own rung."""
    rng = random.Random(20)
    cases = []
    for keep, floor in ((1, 0), (0, 0), (3, 0), (2, 400), (2, 4_000), (5, 0)):
        blocks = [Block("text", "user", "Fix the rounding.", request=1)]
        for turn in range(1, 5):
            tool, args = rng.choice([("read_file", "money.py"), ("run_tests", "tests"), ("grep", "round src")])
            text = " ".join(
                rng.choices(["line", "total", "ValueError: not a number", "0.01", "\n"], k=rng.randint(150, 400))
            )
            blocks.append(Block("call", "assistant", f"{tool}({args})", request=turn + 1, tool=tool, args=args))
            blocks.append(Block("result", "tool", text, request=turn + 1, tool=tool, args=args))
        policy = Policy(keep=keep, floor=floor, pinned=frozenset(), stub_if_smaller=False)
        expected = clear(blocks, policy, count)
        shown = f"a text, then 4 calls each with its result; keep={keep}, floor={floor:,}"
        cases.append(Case((blocks, keep, floor), expected, shown))
    return [*cases, _of_the_run(90, 3, 10_000)]


def _of_the_run(first: int, keep: int, floor: int) -> Case:
    """The first blocks of the invoice run, as the notebook has it."""
    blocks = load(data_path("traces", "invoice-60.jsonl")).blocks[:first]
    rung = Policy(keep=keep, floor=floor, pinned=frozenset(), stub_if_smaller=False)
    shown = f"the first {first} blocks of invoice-60; keep={keep}, floor={floor:,}"
    return Case((blocks, keep, floor), clear(blocks, rung, count), shown)


def _outline(blocks: Sequence[Block]) -> str:
    return ", ".join("stub" if b.edited == "clear" else b.kind for b in blocks)


def never_seen(results: Sequence[tuple[int, int | None]]) -> int:
    """How many results no request carried whole: gone at the request that would have been the first."""
    return sum(gone is not None and gone <= due for due, gone in results)


EXERCISES = (
    Exercise(
        id="02.1",
        title="Does the ladder act?",
        cases=lambda: [
            Case((36_000, 9_000, 30_000, 10_000), False),
            Case((36_000, 30_000, 30_000, 10_000), True),
            Case((29_000, 12_000, 30_000, 10_000), False),
            Case((30_000, 12_000, 30_000, 10_000), False),
            Case((36_000, 10_000, 30_000, 10_000), True),
        ],
        solution=acts,
        wrong=(
            Wrong(
                lambda total, clearable, trigger, floor: total > trigger,
                "This looks at the trigger alone. Clearing breaks the cached prefix, so it does not happen for "
                "less than the floor.",
            ),
            Wrong(
                lambda total, clearable, trigger, floor: total > trigger and total - clearable >= floor,
                "The floor is not about what stays in the context: it is the least that has to be freed.",
            ),
            Wrong(
                lambda total, clearable, trigger, floor: total >= trigger and clearable >= floor,
                "At the trigger nothing happens yet: the context has to be larger than the trigger.",
            ),
            Wrong(
                lambda total, clearable, trigger, floor: total > trigger and clearable > floor,
                "Exactly the floor is enough: it is the least that has to be freed.",
            ),
        ),
        difficulty=1,
        worth=4,
        minutes=5,
    ),
    Exercise(
        id="02.2",
        title="Where the summary ends",
        cases=lambda: [
            Case((8, 10), 0),
            Case((12, 10), 2),
            Case((10, 10), 0),
            Case((5, 0), 5),
            Case((0, 3), 0),
        ],
        solution=cut,
        wrong=(
            Wrong(
                lambda messages, keep_recent: messages - keep_recent,
                "A negative cut is a trap: messages[:-2] are the first six of eight, so a summary would take the "
                "very messages that keep_recent protects. Stop at 0.",
            ),
            Wrong(
                lambda messages, keep_recent: len(range(messages)[:-keep_recent]),
                "messages[:-0] is messages[:0], which is nothing: with keep_recent 0 a summary takes all of them.",
            ),
            Wrong(
                lambda messages, keep_recent: min(messages, keep_recent),
                "That is how many stay. The cut is how many go.",
            ),
        ),
        difficulty=2,
        worth=4,
        minutes=6,
    ),
    Exercise(
        id="02.3",
        title="Write clear yourself",
        cases=_contexts,
        solution=my_clear,
        wrong=(
            Wrong(
                lambda blocks, keep, floor: _clear(blocks, keep, floor, lift=True),
                "This clears whatever it finds. Add up what the stubs free, and return the blocks unchanged if "
                "that is less than the floor.",
            ),
            Wrong(
                lambda blocks, keep, floor: _clear(blocks, keep, floor, negative=True),
                "results[:-0] is results[:0], which is nothing: at keep 0 every result is stale.",
            ),
            Wrong(
                lambda blocks, keep, floor: _clear(blocks, keep, floor, gone=True),
                "The result is gone and its call stands alone, which a provider refuses: leave a stub in its place.",
            ),
        ),
        difficulty=3,
        worth=5,
        minutes=12,
        extra=True,
        words=_outline,
    ),
    Exercise(
        id="02.4",
        title="All eight facts survive. Was anything lost?",
        cases=lambda: [
            Case(([(2, 2), (3, 3), (4, None)],), 2),
            Case(([(2, 12), (3, 12), (12, None)],), 0),
            Case(([(2, 12), (11, 12), (12, 12)],), 1),
            Case(([(5, 6), (6, 7)],), 0),
            Case(([],), 0),
        ],
        solution=never_seen,
        wrong=(
            Wrong(
                lambda results: 0,
                "The facts are all there because the agent's own lines hold them, and those were written by an agent "
                "that had read the results. A result that no request carried, it never saw.",
            ),
            Wrong(
                lambda results: sum(gone is not None for _, gone in results),
                "Removed is not unread: the result of request 2 was carried by ten requests before it went. Whether it "
                "is missed later is another column.",
            ),
            Wrong(
                lambda results: sum(gone is not None and gone <= due + 1 for due, gone in results),
                "One request carried it whole. That is enough to be read; only at keep 0 there is none.",
            ),
        ),
        difficulty=2,
        worth=5,
        minutes=6,
        extra=True,
    ),
)
