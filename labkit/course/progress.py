"""What a learner has done: exercises solved, and how often their ranges held."""

from __future__ import annotations

from labkit.course import memory
from labkit.course.judge import named
from labkit.course.predict import revealed
from labkit.course.registry import exercises

__all__ = ["progress"]


def progress(notebook: str | None = None, *, reset: bool = False) -> None:
    """Print what was solved and how often the ranges held; of the whole course, notebook by notebook.

    Parameters
    ----------
    notebook : str, optional
        For example ``"02"``; default: all.
    reset : bool
        Forget it instead.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     before = os.environ.get("LABKIT_HOME")
    ...     os.environ["LABKIT_HOME"] = folder
    ...     progress("00")
    ...     _ = os.environ.pop("LABKIT_HOME") if before is None else os.environ.update(LABKIT_HOME=before)
    00  0 of 2 core exercises solved; still open: 00.1, 00.2.
    00  No range was put to the test yet.
    """
    notebook = None if notebook is None else named(notebook)
    if reset:
        done = memory.forget(notebook)
        what = "everything" if notebook is None else f"notebook {notebook}"
        print(f"Forgot {what}." if done else f"{memory.path()} cannot be written: delete it to start afresh.")
        return
    known = {i: e for i, e in exercises().items() if notebook in (None, e.notebook)}
    kept = memory.recall()["checks"]
    solved = [i for i in known if i in kept and kept[i]["solved"]]
    core = [i for i, e in known.items() if not e.extra]
    extra = [i for i in solved if known[i].extra]
    name = notebook or "all"
    if not known:
        print(f"{name}  There are no exercises yet.")
    else:
        done_core = [i for i in core if i in solved]
        left = [i for i in core if i not in solved]
        line = f"{name}  {len(done_core)} of {len(core)} core exercises solved"
        line += f", and {len(extra)} extra" if extra else ""
        if notebook is None:
            books = sorted({e.notebook for e in known.values()})
            counts = [[sum(i.startswith(f"{n}.") for i in ids) for ids in (done_core, core)] for n in books]
            line += ": " + ", ".join(f"{n} {done}/{of}" for n, (done, of) in zip(books, counts, strict=True))
        elif left:
            line += f"; still open: {', '.join(left)}"
        print(line + ".")
    print(f"{name}  {_ranges(notebook)}")


def _ranges(notebook: str | None) -> str:
    held = revealed(notebook)
    if not held.revealed:
        return "No range was put to the test yet."
    line = f"Your range held the number {held.held} of {held.revealed} times"
    if held.changed:
        line += f", {held.changed} of them after a change"
    if held.width is not None and held.width > 1:
        line += f"; the middle one spans a factor of {held.width:,.1f}"
    return line + "."
