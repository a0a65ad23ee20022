"""Notes lose nothing, refuse to grow past their limit, and survive other writers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labkit.errors import InputError
from labkit.files import data_path
from labkit.ladder.notes import Notes, NotesFile, notes_of
from labkit.record.load import load

titles = st.sampled_from(["Open", "Decisions", "", "## Open", "- Open", "  Open", "é"]) | st.text(max_size=8).map(
    lambda t: t.replace("\n", " ").replace("\r", " ")
)
entries = st.lists(st.sampled_from(["## Open", "- ", "  ", "\n", "x", "\r", " ", "a | b"]), max_size=6).map("".join)
changes = st.lists(st.tuples(st.booleans(), titles, st.lists(entries, max_size=3)), max_size=8)


def apply(notes: Notes, steps: list[tuple[bool, str, list[str]]]) -> Notes:
    for rewriting, title, items in steps:
        if rewriting:
            notes = notes.rewrite(title, items)
        else:
            for item in items:
                notes = notes.write(title, item)
    return notes


@given(changes)
@example([(False, "Open", ["- first\n## second\n\n  third\n"])])
def test_what_is_written_is_read_back_word_for_word(steps) -> None:
    notes = apply(Notes(), steps)
    assert Notes.parse(notes.text) == notes


@given(st.lists(st.sampled_from(["## A", "- x", "  more", "free words", "", "\ttab", " one", "-"]), max_size=12))
def test_a_file_edited_by_hand_loses_no_line(lines: list[str]) -> None:
    notes = Notes.parse("\n".join(lines))
    words = [w for line in lines for w in line.replace("##", "").replace("- ", "").split()]
    kept = " ".join([*(title for title, _ in notes.sections), *(e for _, items in notes.sections for e in items)])
    assert set(words) <= set(kept.split())
    assert Notes.parse(notes.text) == notes


def test_a_title_of_two_lines(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has several lines: give a title of one line"):
        Notes().write("a\nb", "x")
    file = NotesFile(tmp_path / "notes.md")
    assert file.write("a\nb", "x").startswith("error: the section 'a\\nb' has several lines")
    assert not file.path.exists()  # type: ignore[union-attr]


def test_the_published_replies(tmp_path: Path) -> None:
    """Every notes tool of the scripted run answers what is recorded there."""
    file = NotesFile(tmp_path / "notes.md")
    seen = 0
    trace = load(data_path("traces", "invoice-60.jsonl"))
    for i, block in enumerate(trace.blocks):
        if block.kind != "result" or not (block.tool or "").startswith("notes_"):
            continue
        section, _, entry = (block.args or "").partition(" | ")
        if block.tool == "notes_read":
            assert file.read() == block.text
        elif block.tool == "notes_write":
            assert file.write(section, entry) == block.text
        else:
            assert file.rewrite(section, [entry]) == block.text
        assert file.read() == notes_of(trace.blocks[: i + 1])
        seen += 1
    assert seen == 5


@given(changes, st.integers(0, 40))
def test_a_refusal_changes_nothing(tmp_path_factory, steps, limit: int) -> None:
    path = tmp_path_factory.mktemp("notes") / "notes.md"
    file = NotesFile(path, max_tokens=limit, count=len)
    expected = Notes()
    for rewriting, title, items in steps:
        items = [item.replace("\r", "\n") for item in items]
        for given_, wanted in (
            [(items, expected.rewrite(title, items))]
            if rewriting
            else [([item], None) for item in items]  # each write sees the one before
        ):
            wanted = wanted or expected.write(title, given_[0])
            before = path.read_bytes() if path.exists() else None
            reply = file.rewrite(title, given_) if rewriting else file.write(title, given_[0])
            if len(wanted.text) > limit and len(wanted.text) >= len(expected.text):
                assert reply.startswith(f"error: the notes would have {len(wanted.text)} tokens of at most {limit};")
                assert (path.read_bytes() if path.exists() else None) == before
            else:
                assert reply.startswith("ok: ")
                expected = wanted
            assert Notes.parse(file.read()) == expected
            assert len(file.read()) <= limit


def test_notes_that_are_too_long_can_be_shortened(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("## Open\n" + "- x\n" * 30, encoding="utf-8")
    file = NotesFile(path, max_tokens=50, count=len)
    assert file.write("Open", "y").startswith("error")
    assert file.rewrite("Open", ["x"] * 20) == "ok: Open rewritten"
    assert file.rewrite("Open", []) == "ok: Open rewritten"
    assert file.read() == ""


def test_windows_line_ends_of_an_editor(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes("\ufeff## Open\r\n- a\r\n  b\r\n".encode())
    file = NotesFile(path)
    assert file.write("Open", "c") == "ok: Open has 2 entries"
    assert file.read() == "## Open\n- a\n  b\n- c\n"


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        NotesFile(tmp_path).read()


def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "notes.md"
    code = (
        "import sys; from labkit.ladder.notes import NotesFile\n"
        "file = NotesFile(sys.argv[1], count=len, max_tokens=10**6)\n"
        "for n in range(15): assert file.write('Open', f'{sys.argv[2]} {n}').startswith('ok')"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), str(k)]) for k in range(3)]
    assert [w.wait(60) for w in writers] == [0, 0, 0]
    ((title, kept),) = Notes.parse(NotesFile(path).read()).sections
    assert title == "Open"
    assert sorted(kept) == sorted(f"{k} {n}" for k in range(3) for n in range(15))
