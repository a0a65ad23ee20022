"""Retrieval as allocation: which uses a room holds, by hand and on the support run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.files import data_path
from labkit.record.load import load
from labkit.record.sizes import Sizes
from labkit.record.tokens import get_counter
from labkit.record.trace import Block, Need, Request, Trace
from labkit.replay.allocation import Division, divide, documents
from labkit.show.allocation_plots import describe_allocation, draw_allocation


def run() -> tuple[Trace, Sizes]:
    """Two documents of 50 and 30 tokens, two results of 40 and 70; everything is needed at request 6."""
    blocks = (
        Block("result", "tool", "rule A", 2, tool="fetch_doc", args="a.md"),
        Block("result", "tool", "row B", 3, tool="read_file"),
        Block("result", "tool", "rule C", 4, tool="fetch_doc", args="c.md"),
        Block("result", "tool", "row D", 5, tool="read_file"),
        Block("result", "tool", "note E", 5, tool="notes_read"),
    )
    needs = (Need(0, 6, "rule A"), Need(1, 6, "row B"), Need(2, 3, "rule C"), Need(2, 6, "rule C"),
             Need(3, 6, "row D"), Need(4, 6, "note E"))  # fmt: skip
    trace = Trace("four", blocks, tuple(map(Request, range(1, 7))), needs=needs)
    return trace, Sizes((50, 40, 30, 70, 9), (), (), get_counter())


def made(budget: int, *shares: int, without: tuple[int, ...] = ()) -> list[tuple[int, int]]:
    trace, sizes = run()
    return [(d.documents, d.output) for d in divide(trace, budget, shares, without=without, sizes=sizes)]


def test_by_hand() -> None:
    # Room for everything, at request 6; at request 3 the second document is not there yet.
    assert made(1_000, 50) == [(2, 2)]
    # 80 for documents hold both, 79 the newer one alone; 110 for the others hold both, 109 the newer.
    assert made(160, 50) == [(2, 1)]
    assert made(158, 50) == [(1, 1)]
    assert made(190, 42, 43) == [(1, 2), (2, 1)]  # 79 and 111; 81 and 109
    # The newest is too large for 60, the older one is not.
    assert made(60, 0) == [(0, 1)]
    assert made(0, 0, 100) == [(0, 0), (0, 0)]
    # A document that is not fetched leaves its room to the other.
    assert made(50, 100) == [(1, 0)]
    assert made(50, 100, without=(3,)) == [(1, 0)]
    assert made(1_000, 50, without=(3,)) == [(1, 2)]
    trace, sizes = run()
    assert divide(trace, 60, (0,), sizes=sizes)[0].needed == 5  # notes are neither


def test_any_result_that_shows_the_excerpt_will_do() -> None:
    again = Block("result", "tool", "as rule A says", 3, tool="read_file")
    first = Block("result", "tool", "rule A", 2, tool="fetch_doc")
    trace = Trace("copy", (first, again), tuple(map(Request, range(1, 5))), needs=(Need(0, 4, "rule A"),))
    (division,) = divide(trace, 100, (0,))
    assert (division.documents, division.output, division.found) == (1, 0, 1)  # a use of the document


def test_the_documents_of_the_support_run() -> None:
    found = documents(load(data_path("traces", "support-40.jsonl")))
    assert [(d.turn, d.size, d.requests, d.billed, d.uses) for d in found] == [
        (7, 2_056, 33, 67_848, 1),
        (10, 1_773, 30, 53_190, 0),
        (17, 1_998, 23, 45_954, 1),
        (33, 2_056, 7, 14_392, 1),
    ]
    assert found[1].name == "handbook/programmes/lantern-club.md"


def test_the_room_of_the_support_run() -> None:
    trace = load(data_path("traces", "support-40.jsonl"))
    made = divide(trace, 20_000, (0, 30, 100))
    assert [(d.output, d.documents) for d in made] == [(13, 0), (12, 3), (0, 3)]
    assert made[0].needed == 20
    assert describe_allocation(made).splitlines()[1:] == [
        "With 0 % for documents 13 are found, with 100 % 3.",
        "Most are found with 30 %: 15, of them 3 of documents.",
    ]


@given(st.integers(0, 400), st.lists(st.integers(0, 100), min_size=1, max_size=5))
def test_never_more_than_was_needed_and_all_with_room_enough(budget: int, shares: list[int]) -> None:
    trace, sizes = run()
    for division in divide(trace, budget, shares, sizes=sizes):
        assert 0 <= division.found <= division.needed == 5
        if min(budget * division.share // 100 - 80, budget - budget * division.share // 100 - 110) >= 0:
            assert division.found == 4  # all but the one that came too early
    rising = [d.documents for d in divide(trace, budget, sorted(shares), sizes=sizes)]
    assert rising == sorted(rising)


def test_the_figure_says_the_same() -> None:
    divisions = (Division(900, 0, 0, 3, 8), Division(900, 50, 2, 3, 8), Division(900, 100, 5, 0, 8))
    drawn = draw_allocation(divisions)
    output, docs, together = drawn["data"]
    assert (output["y"], docs["y"], together["text"]) == ([3, 3, 0], [0, 2, 5], ["3", "5", "5"])
    assert drawn["layout"]["title"]["text"] == "900 tokens: 50 % for documents finds most, 5 of 8"
    assert output["marker"]["pattern"]["shape"] != docs["marker"]["pattern"]["shape"]  # not by colour alone
    with pytest.raises(InputError, match="no division"):
        draw_allocation(())


@pytest.mark.parametrize(("budget", "shares", "says"), [(-1, (0,), "budget is -1"), (5, (0, 101), "a share is 101")])
def test_what_is_refused(budget: int, shares: tuple[int, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        divide(run()[0], budget, shares)
