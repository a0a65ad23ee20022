"""Does a policy remember what it cleared, and is its minimum a floor or a target: both flip the ranking.

A run of 100 requests: a first message of 10,000 tokens and a result of 1,000 tokens a request. Trigger
30,000, keep 3. Costs are input equivalents: the shared prefix at the read price, the rest at 1.25, outputs
left out. The figures were measured with LangChain 1.5.2's ``ClearToolUsesEdit`` on the same messages, as
it ships (it edits a copy for each request) and with its flags kept from request to request.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest

from labkit.ladder.policy import Policy
from labkit.price.cache import CacheRules
from labkit.record.sizes import Sizes
from labkit.record.trace import Block, Request, Trace
from labkit.replay.replay import replay

RULES = CacheRules(minimum=0, ttl=math.inf)
LIKE_LANGCHAIN = replace(
    Policy.nothing(),
    trigger=30_000,
    keep=3,
    count_prefix=False,
    floor_is="target",
    pinned_take_keep=True,
    pinned=frozenset(),
    stub_if_smaller=False,
)
TABLE = {
    # minimum, remembers: breaks, largest request, cost with reads at 0.1 and at 0.025
    (None, True): (0, 113_504, 753_245, 294_721),
    (0, False): (81, 29_669, 486_901, 386_640),
    (0, True): (6, 29_967, 365_512, 212_506),
    (5_000, False): (1, 107_516, 720_439, 299_317),
    (5_000, True): (14, 29_966, 581_556, 409_608),
    (15_000, False): (1, 97_536, 628_124, 266_882),
    (15_000, True): (6, 29_930, 367_158, 213_853),
}
# The same with the ids c0 to c99: a stub is a message with its call's id, so those of c0 to c9 are a token smaller.
SHORTER_IDS = {
    (None, True): (0, 113_394, 752_518, 294_436),
    (0, False): (81, 29_640, 486_346, 386_229),
    (0, True): (6, 29_930, 365_075, 212_264),
    (5_000, False): (1, 107_406, 719_680, 298_998),
    (5_000, True): (14, 29_928, 580_907, 409_172),
    (15_000, False): (1, 97_432, 627_421, 266_582),
    (15_000, True): (6, 29_893, 366_720, 213_610),
}


class Quarters:
    """LangChain's approximate count: a token for four characters of a message's text, role, name and id, and 3.

    A count is asked for stubs only. Ours names the call, whose id is counted; its text is LangChain's.

    Parameters
    ----------
    first : int
        The number in the id of the first call.
    """

    def __init__(self, first: int) -> None:
        self.first = first

    name = "chars/4 + 3"
    error = ""

    def count(self, text: str) -> int:
        named = re.search(r"f(\d+)\.py", text)
        assert named, text
        parts = ("[cleared]", "tool", "read_file", f"c{self.first + int(named[1])}")
        # What a trace adds to every block is taken off: this count has it in its 3.
        return math.ceil(len("".join(parts)) / 4) + 3 - 4


def run(first: int) -> tuple[Trace, Sizes]:
    """The run, its calls named from ``c<first>`` on."""
    blocks, sizes = [Block("text", "user", "s" * 40_000, 1)], [math.ceil((40_000 + len("user")) / 4) + 3]
    for i in range(100):
        id = f"c{first + i}"
        more = {"tool": "read_file", "args": f"f{i}.py", "call_id": id}
        call = {"name": "read_file", "args": {"path": f"f{i}.py"}, "id": id, "type": "tool_call"}
        blocks += [
            Block("call", "assistant", str(i), i + 1, **more),
            Block("result", "tool", "x" * 4_000, i + 1, **more),
        ]
        sizes.append(math.ceil((len(repr([call])) + len("assistant")) / 4) + 3)
        sizes.append(math.ceil((4_000 + len("tool") + len("read_file") + len(id)) / 4) + 3)
    trace = Trace("state", tuple(blocks), tuple(Request(i) for i in range(1, 101)))
    return trace, Sizes(tuple(sizes), (0,), (0,), Quarters(first))


def figures(minimum: int | None, remembers: bool, first: int) -> tuple[int, int, int, int]:
    trace, sizes = run(first)
    policy = Policy.nothing() if minimum is None else replace(LIKE_LANGCHAIN, floor=minimum, remembers=remembers)
    made = replay(trace, policy, RULES, sizes=sizes)
    breaks = sum(after.read < before.input for before, after in pairwise(made.rows))
    low, high = (round(sum(r * row.read + 1.25 * row.fresh for row in made.rows)) for r in (0.1, 0.025))
    return breaks, made.peak, low, high


@pytest.mark.parametrize(("minimum", "remembers"), TABLE)
def test_the_table_to_the_token(minimum, remembers) -> None:
    assert figures(minimum, remembers, 100) == TABLE[minimum, remembers]


@pytest.mark.parametrize(("minimum", "remembers"), SHORTER_IDS)
def test_the_table_with_shorter_ids(minimum, remembers) -> None:
    assert figures(minimum, remembers, 0) == SHORTER_IDS[minimum, remembers]
