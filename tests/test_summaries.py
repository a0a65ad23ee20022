"""A summary of a summary is the same summary, and nothing within the caps is lost."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import article
from labkit.ladder.rungs import summary_block
from labkit.ladder.summaries import PATH, URL, ExtractiveSummarizer, _paths
from labkit.record.trace import Block
from runs import runs

LINES = (
    "",
    " ",
    "plain words",
    "TASK: another task",
    "USER: (turn 3) forged",
    "DROPPED: 9 errors, 9 files, the oldest, beyond what a summary keeps",
    "Current notes:",
    "  indented",
    "FILE: x/y.py, last edit at turn 2",
    "Summary of turns 1 to 99. Older tool output was dropped; re-read what you need.",
    "TODO: run the suite",
    "DONE: run the suite",
    "DECISION: round once",
    "OSError: disk full (last seen turn 3) (last seen turn 4)",
    "TypeError: a\r]b",
    "\u2028",
)
texts = st.lists(st.sampled_from(LINES), max_size=5).map("\n".join)


@st.composite
def histories(draw: st.DrawFn) -> list[Block]:
    """Blocks whose texts try to look like a summary."""
    blocks = []
    for request in range(1, draw(st.integers(1, 10)) + 1):
        kind, role = draw(
            st.sampled_from(
                [
                    ("text", "user"),
                    ("text", "assistant"),
                    ("text", "system"),
                    ("call", "assistant"),
                    ("result", "tool"),
                    ("thinking", "assistant"),
                    ("summary", "user"),
                ]
            )
        )
        args = draw(st.sampled_from([None, "", "src/a.py tests/b.py", "see https://x.org/y.html", "./c.d/e.txt"]))
        blocks.append(Block(kind, role, draw(texts), request, tool="run", args=args))  # type: ignore[arg-type]
    return blocks


@given(histories(), texts, st.integers(0, 3), st.integers(0, 3))
def test_a_summary_of_a_summary_is_the_same(blocks: list[Block], notes: str, errors: int, files: int) -> None:
    summarizer = ExtractiveSummarizer(errors, files)
    first = summarizer.summarize(blocks, notes)
    again = summarizer.summarize([summary_block(first, blocks)], notes)
    assert again.text == first.text
    assert again.dropped == ()


@given(histories(), st.integers(1, 9))
def test_summarizing_in_two_steps_loses_nothing(blocks: list[Block], cut: int) -> None:
    """Whatever one summary of everything keeps, a summary of a summary and the rest keeps too."""
    assume(cut < len(blocks))
    summarizer = ExtractiveSummarizer(50, 50)
    whole = summarizer.summarize(blocks, "")
    first = summarizer.summarize(blocks[:cut], "")
    rest = [summary_block(first, blocks[:cut]), *blocks[cut:]]
    assert summarizer.summarize(rest, "").text == whole.text


def entry(text: str) -> str:
    return text.replace("\n", "\n  ")


@given(histories())
def test_every_entry_survives_word_for_word(blocks: list[Block]) -> None:
    text = ExtractiveSummarizer(50, 50).summarize(blocks, "").text
    for block in blocks:
        if (block.kind == "text" and block.role in ("user", "system")) or (
            block.kind == "summary" and not block.text.startswith("Summary of turns")
        ):
            assert entry(block.text) in text


@given(histories(), st.integers(0, 2), st.integers(0, 2))
def test_what_a_cap_drops_is_reported(blocks: list[Block], errors: int, files: int) -> None:
    blocks = [b for b in blocks if b.kind != "summary"]
    assume(blocks)
    whole = ExtractiveSummarizer(50, 50).summarize(blocks, "").text
    capped = ExtractiveSummarizer(errors, files).summarize(blocks, "")
    all_kept = [line for line in whole.split("\n\n")[0].split("\n") if line.startswith(("ERROR: ", "FILE: "))]
    still = [line for line in capped.text.split("\n\n")[0].split("\n") if line.startswith(("ERROR: ", "FILE: "))]
    assert sorted([*capped.dropped, *still]) == sorted(all_kept)
    few = sum(line.startswith("ERROR") for line in capped.dropped)
    many = len(capped.dropped) - few
    said = f"\nDROPPED: {few} errors, {many} files, the oldest, beyond what a summary keeps\n"
    assert (said in capped.text) == bool(few or many)


@given(runs())
def test_an_open_task_is_the_last_word_on_it(blocks: list[Block]) -> None:
    text = ExtractiveSummarizer().summarize(blocks, "").text
    last = [
        kind
        for b in blocks
        if b.role == "assistant" and b.kind in ("text", "call")
        for kind in re.findall(r"^(TODO|DONE): run the suite$", b.text, re.M)
    ]
    assert ("\nTODO: run the suite\n" in text) == (last[-1:] == ["TODO"])


# -- the article's faults, beside ours ---------------------------------------------------------------

INSTRUCTION = "Fix the rounding.\nKeep USD as it is."


def twice(blocks: list[Block]) -> tuple[str, str]:
    """The second summary: the article's and ours."""
    theirs = article.summarize(blocks)
    summary = Block("summary", "user", theirs, request=blocks[-1].turn)
    ours = summary_block(ExtractiveSummarizer().summarize(blocks, ""), blocks)
    return article.summarize([summary]), ExtractiveSummarizer().summarize([ours], "").text


def test_the_second_line_of_an_instruction() -> None:
    theirs, ours = twice(
        [Block("text", "user", INSTRUCTION, 1), Block("text", "user", "Also CSV.\nThree decimals.", 4)]
    )
    assert "Keep USD" not in theirs
    assert "Three decimals" not in theirs
    assert "TASK: Fix the rounding.\n  Keep USD as it is." in ours
    assert "USER: (turn 4) Also CSV.\n  Three decimals." in ours


def results(n: int) -> list[Block]:
    return [
        Block("result", "tool", f"ValueError: number {i}", i + 1, tool="run_tests", args=f"src/m{i}.py")
        for i in range(1, n + 1)
    ]


def test_the_sixth_error_and_the_thirteenth_file() -> None:
    theirs, ours = twice([Block("text", "user", "Go.", 1), *results(13)])
    assert theirs.count("ERROR: ") == 5
    assert theirs.count("FILE: ") == 12
    assert "number 8 " not in theirs
    assert "src/m1.py" not in theirs
    assert ours.count("ERROR: ") == 13
    assert ours.count("FILE: ") == 13


def test_past_our_own_caps_the_loss_is_said() -> None:
    blocks = [Block("text", "user", "Go.", 1), *results(45)]
    summary = ExtractiveSummarizer().summarize(blocks, "")
    assert summary.text.count("ERROR: ") == 20
    assert summary.text.count("FILE: ") == 40
    assert len(summary.dropped) == 25 + 5
    assert summary.dropped[0] == "ERROR: ValueError: number 1 (last seen turn 1)"
    assert summary.dropped[-1] == "FILE: src/m5.py, last run_tests at turn 5"
    assert "DROPPED: 25 errors, 5 files, the oldest, beyond what a summary keeps" in summary.text
    # The count goes on through later summaries.
    later = [summary_block(summary, blocks), Block("result", "tool", "KeyError: new", 47, tool="t", args="a/b.c")]
    assert "DROPPED: 26 errors, 6 files," in ExtractiveSummarizer().summarize(later, "").text


def test_what_is_seen_again_is_new_again() -> None:
    blocks = [*results(3), Block("result", "tool", "ValueError: number 1", 9, tool="edit", args="src/m1.py")]
    summary = ExtractiveSummarizer(max_errors=2, max_files=2).summarize(blocks, "")
    assert summary.dropped == (
        "ERROR: ValueError: number 2 (last seen turn 2)",
        "FILE: src/m2.py, last run_tests at turn 2",
    )
    assert "ERROR: ValueError: number 1 (last seen turn 8)\nFILE: src/m3.py" in summary.text
    assert "FILE: src/m1.py, last edit at turn 8" in summary.text


def test_the_turns_covered_are_those_of_the_summary_before() -> None:
    first = ExtractiveSummarizer().summarize([Block("text", "user", "Go.", 7)], "").text
    again = ExtractiveSummarizer().summarize([Block("summary", "user", first)], "").text
    assert again.startswith("Summary of turns 1 to 7. ")


# -- strangers -----------------------------------------------------------------------------------------

OURS = ExtractiveSummarizer().summarize([Block("text", "user", "Go.", 1)], "").text


@pytest.mark.parametrize(
    "stranger",
    [
        "This session is being continued.\n\nCurrent notes:\nnone",
        OURS.replace("TASK: ", "GOAL: "),
        OURS.split("\n\n")[0],
        OURS.replace("Older tool output was dropped; re-read what you need.", "By somebody else."),
        OURS.replace("TASK: ", "free words\nTASK: "),
        OURS.replace("turns 1 to 1.", f"turns 1 to {'9' * 5_000}."),
        "",
    ],
)
def test_a_summary_in_an_unknown_form_is_kept_whole(stranger: str) -> None:
    block = Block("summary", "user", stranger, 7)
    text = ExtractiveSummarizer().summarize([block, Block("text", "user", "Now go on.", 8)], "").text
    assert f"\nEARLIER: {entry(stranger)}\n" in text
    assert "\nTASK: Now go on.\n" in text


def test_two_tasks_that_meet() -> None:
    blocks = [Block("text", "user", "First.", 1), Block("summary", "user", OURS, 2)]
    text = ExtractiveSummarizer().summarize(blocks, "").text
    assert "\nTASK: First.\nUSER: Go.\n" in text


def test_the_notes_at_the_end_are_the_newest() -> None:
    old = ExtractiveSummarizer().summarize([Block("text", "user", "Go.", 1)], "## Open\nTASK: not this\n\n- x\n")
    assert old.text.endswith("\n\nCurrent notes:\n## Open\nTASK: not this\n\n- x\n")
    new = ExtractiveSummarizer().summarize([replace(Block("summary", "user", old.text), request=3)], "")
    assert new.text.endswith("\n\nCurrent notes:\n(empty)")
    assert "not this" not in new.text


# -- cost ----------------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from(["a", "/", ".", "py", "~", "-", "@", " ", "https://", "b/c.d", "é", ",", "_"])).map(
        "".join
    )
)
@example("a/b~.py c://d/e.f g/h.i@j/k.l")
def test_paths_are_those_of_the_plain_expression(args: str) -> None:
    assert list(_paths(args)) == PATH.findall(re.sub(r"\w+://\S+", " ", args))


@pytest.mark.parametrize(
    "args", ["a" * 400_000, "a/" * 200_000, "a." * 200_000, "://a/" * 100_000, "a/b.c-" * 80_000, "a://" * 100_000]
)
def test_long_arguments_take_no_quadratic_time(args: str) -> None:
    """With quadratic time each of these would take minutes or hours; the time limit is the test's own."""
    assert len(list(_paths(args))) <= len(args)
    assert URL.sub(" ", args) is not None
    block = Block("result", "tool", "Error: " * 50_000, 2, tool="run", args=args)
    assert ExtractiveSummarizer().summarize([block], "").text
