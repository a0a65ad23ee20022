"""Reading aider's chat history."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.record.load import load
from labkit.record.trace import Usage
from mutants import read_damaged, sound

HISTORY = Path(__file__).resolve().parent.parent / "data" / "aider" / "history.md"


def test_each_start_is_a_run_and_one_without_words_is_none() -> None:
    trace = load(HISTORY)
    assert trace.source == "aider: history.md"
    assert [len(c.requests) for c in trace.children] == [2, 1]


def test_who_said_what() -> None:
    first = load(HISTORY).children[0]
    assert [(b.role, b.text) for b in first.blocks] == [
        ("user", "The soup has no salt.\nPlease add some."),
        ("assistant", "I add salt.\n\n```\n+ salt\n```"),
        ("user", "Is it enough?"),  # asked through a command; /tokens reaches no model
        ("assistant", "You are welcome."),
    ]
    # Only the first request's time is known: the program writes down when it started.
    assert [(r.start, r.model) for r in first.requests] == [(1772442000.0, "model-d"), (None, "model-d")]


def test_rounded_tokens_are_no_exact_usage() -> None:
    first = load(HISTORY).children[0]
    assert [r.usage for r in first.requests] == [
        Usage(8600, 3400, 0, 0, 1100, "placeholder", "placeholder"),
        Usage(730, 0, 0, 0, 95, "placeholder", "placeholder"),
    ]
    assert "the tokens of 2 responses are rounded to three digits or fewer" in first.warnings


def test_a_history_without_words_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# aider chat started at 2026-03-02 09:00:00\n\n> Aider v0.86.1\n", encoding="utf-8")
    with pytest.raises(InputError, match="holds no message of a user"):
        load(path)


@given(data=st.data())
def test_damage_gives_a_trace_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    original = HISTORY.read_bytes()
    at = data.draw(st.integers(0, len(original)))
    cut = data.draw(st.sampled_from([0, 1, 80]))
    middle = data.draw(st.sampled_from([b"", b"\0", b"\xff", b"#### ", b"> Tokens: 9e999k sent, 1k received", b"\r"]))
    path = tmp_path_factory.getbasetemp() / "damaged.md"
    read_damaged(path, original[:at] + middle + original[at + cut :])


def test_a_real_transcript_loads(corpus: Path) -> None:
    trace = load(corpus / "other" / "aider-chat-transcript-css.md")
    sound(trace)
    assert len(trace.requests) == sum(b.role == "user" for b in trace.blocks) == 11
    assert trace.usage is None
    assert not any(b.text.startswith(">") for b in trace.blocks)
