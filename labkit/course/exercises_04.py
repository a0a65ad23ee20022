"""Exercises of notebook 04: what a summary of a summary keeps, and what to do when the notes are full."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.course.exercise import Case, Exercise, Wrong

__all__ = ["EXERCISES"]


def left(lines: Sequence[str], compactions: int) -> list[str]:
    """What is left of an entry whose summarizer reads its own summaries line by line."""
    return list(lines) if compactions < 2 else list(lines[:1])


def note(notes: Sequence[tuple[str, str]], title: str, text: str, limit: int) -> list[tuple[str, str]]:
    """The notes with one entry more, an entry of the same title replaced, or unchanged where there is no room."""
    kept = [(t, x) for t, x in notes if t != title]
    if len(kept) == len(notes) and len(notes) >= limit:
        return list(notes)
    return [*kept, (title, text)]


_TASK = ("Fix the double charge.", "Close the ticket before 18:00.", "Promise no date.")

FACTS = {
    "a": "the first line of the task",
    "b": "the second line of the task",
    "c": "a decision in one line, made before the first compaction",
    "d": "the second line of what the user said after the first compaction",
    "e": "a number that stood only in a tool's result",
}
SURVIVES = {"a": True, "b": False, "c": True, "d": True, "e": False}

EXERCISES = (
    Exercise(
        id="04.1",
        title="What survives two compactions",
        cases=lambda: [
            Case((_TASK, 0), list(_TASK)),
            Case((_TASK, 1), list(_TASK)),
            Case((_TASK, 2), [_TASK[0]]),
            Case((_TASK, 5), [_TASK[0]]),
            Case((("One line.",), 3), ["One line."]),
        ],
        solution=left,
        wrong=(
            Wrong(
                lambda lines, compactions: list(lines) if compactions < 1 else list(lines[:1]),
                "The first summary is written from the messages themselves and has every line. Only the second is "
                "written from the first.",
            ),
            Wrong(
                lambda lines, compactions: list(lines[: max(len(lines) - max(compactions - 1, 0), 1)]),
                "It is not one line each time: whatever does not stand on the line with the name is passed over at "
                "once.",
            ),
            Wrong(
                lambda lines, compactions: list(lines),
                "That is the summarizer that reads entries whole. This one reads lines.",
            ),
        ),
        difficulty=2,
        worth=4,
        minutes=5,
    ),
    Exercise(
        id="04.2",
        title="The notes are full at request 40",
        cases=lambda: [
            Case(
                ([("task", "close before 18:00")], "cause", "retry with a new key", 3),
                [("task", "close before 18:00"), ("cause", "retry with a new key")],
            ),
            Case(
                ([("task", "a"), ("cause", "b"), ("open", "c")], "plan", "d", 3),
                [("task", "a"), ("cause", "b"), ("open", "c")],
            ),
            Case(
                ([("task", "a"), ("cause", "b"), ("open", "c")], "cause", "e", 3),
                [("task", "a"), ("open", "c"), ("cause", "e")],
            ),
            Case(([], "task", "a", 1), [("task", "a")]),
        ],
        solution=note,
        wrong=(
            Wrong(
                lambda notes, title, text, limit: ([*[n for n in notes if n[0] != title], (title, text)])[-limit:],
                "This makes room by dropping the oldest entry, and the oldest is the task's own limit. Nobody is told. "
                "Leave full notes as they are: the caller sees that nothing changed and has to decide what goes.",
            ),
            Wrong(
                lambda notes, title, text, limit: [*notes, (title, text)],
                "The limit is there because the notes stand in every prompt: they cost a read on each request.",
            ),
            Wrong(
                lambda notes, title, text, limit: (
                    list(notes) if len(notes) >= limit else [*[n for n in notes if n[0] != title], (title, text)]
                ),
                "An entry that replaces one of its own title needs no room. Refused, it leaves the old one in force.",
            ),
        ),
        difficulty=2,
        worth=4,
        minutes=6,
    ),
    Exercise(
        id="04.3",
        title="Which of five facts survive two compactions?",
        cases=lambda: [Case((key,), SURVIVES[key], f"{key}, {words}") for key, words in FACTS.items()],
        solution=SURVIVES,
        wrong=(
            Wrong(
                dict.fromkeys(FACTS, True),
                "No error is raised, and still not everything is there: what has no line with a name of its own is "
                "passed over when the summary is read back.",
            ),
            Wrong(
                {**SURVIVES, "d": False},
                "This message has been through one compaction only. The second summary is its first: it was written "
                "from the messages, and has every line.",
            ),
            Wrong(
                {**SURVIVES, "e": True},
                "A result is not an entry: of results the summary keeps the newest errors and names of files. A number "
                "that nobody wrote down went at the first compaction.",
            ),
            Wrong(
                {**SURVIVES, "c": False, "d": False},
                "A line with a name, such as DECISION, is found again however often the summary is summarized.",
            ),
        ),
        difficulty=2,
        worth=4,
        minutes=5,
        extra=True,
    ),
)
