"""aider's chat history (``.aider.chat.history.md``): Markdown for people, the least exact of all logs.

``####`` starts what the user said, ``>`` what the program printed, the rest is the model's. Files
added to the chat, the repository map and the system prompt are not in it. Token counts are rounded.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from labkit.errors import InputError
from labkit.record.formats.builder import TraceBuilder
from labkit.record.formats.jsonl import read_text
from labkit.record.formats.packed import open_plain
from labkit.record.formats.several import several
from labkit.record.trace import Block, Trace, Usage

NAME = "aider"

_START = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", re.MULTILINE)
_HEAD = re.compile(r"^(# aider chat started at |> (\$ )?aider |> Aider v\d)", re.MULTILINE)
_TOKENS = re.compile(
    r"Tokens: ([\d.,]+k?) sent(?:, ([\d.,]+k?) cache write)?(?:, ([\d.,]+k?) cache hit)?, ([\d.,]+k?) received"
)
_MODEL = re.compile(r"^> (?:Main model|Model): (\S+)")


def matches(path: Path) -> bool:
    """Whether one of the first lines is how aider begins a chat."""
    try:
        with open_plain(path) as file:
            head = file.read(4_096).decode("utf-8-sig", errors="replace")
    except (OSError, ValueError):
        return False
    return head[:1] not in ("{", "[") and _HEAD.search(head) is not None


def read(path: Path) -> Trace:
    """Read a history; each start of the program is a run of its own.

    Parameters
    ----------
    path : Path
        A ``.aider.chat.history.md``, or a transcript of the same form.

    Returns
    -------
    Trace
        Its usage is of quality ``placeholder``, because the numbers are rounded to the thousand.
    """
    text = read_text(path)
    starts = [match.start() for match in _START.finditer(text)]
    pieces = [text[a:b] for a, b in zip([0, *starts], [*starts, len(text)], strict=True)]
    source = f"{NAME}: {path.name}"
    runs = [run for piece in pieces if (run := _run(piece, path.stem, source))]
    if not runs:
        raise InputError(f"{path} holds no message of a user: give a chat history of aider with at least one")
    return several(runs, path.stem, source)


def _run(text: str, name: str, source: str) -> Trace | None:
    """One start of the program, or ``None`` if nobody said anything."""
    run = TraceBuilder()
    found = _START.search(text)
    starts = [_local(found[1])] if found else []  # only the first request's time is known
    model = None
    said: list[str] = []
    answer: list[str] = []
    rounded = 0
    for line in [*text.split("\n"), "#### "]:
        line = line.rstrip("\r")
        if line.startswith("####"):
            _respond(run, answer, model, starts)
            answer = []
            said.append(_asked(line[4:].strip()))
            continue
        if any(said):
            run.say([Block("text", "user", "\n".join(said))])
        said = []
        if line.startswith(">"):
            found = _MODEL.match(line)
            model = found[1] if found else model
            count = _TOKENS.search(line)
            if count:
                if _respond(run, answer, model, starts):
                    run.set_usage(len(run.requests), _usage(count))
                    rounded += 1
                answer = []
        elif not re.match(r"</?div\b|# aider chat started", line) and (run.blocks or answer):
            answer.append(line)
    if not run.blocks:
        return None
    run.warnings.append("files added to the chat, the repository map and the system prompt are not in this history")
    if rounded:
        run.warnings.append(f"the tokens of {rounded} responses are rounded to three digits or fewer")
    return run.trace(name, source)


def _respond(run: TraceBuilder, answer: list[str], model: str | None, starts: list[float | None]) -> bool:
    """Add a response if there is one."""
    text = "\n".join(answer).strip()
    if text:
        run.respond([Block("text", "assistant", text)], start=starts.pop() if starts else None, model=model)
    return bool(text)


def _asked(text: str) -> str:
    """What of a user's line reaches the model: commands of the program do not, unless they carry a question.

    Examples
    --------
    >>> _asked("Add salt."), _asked("/ask Why salt?"), _asked("/tokens")
    ('Add salt.', 'Why salt?', '')
    """
    if not text.startswith("/"):
        return text
    command, _, rest = text.partition(" ")
    return rest if command in ("/ask", "/code", "/architect", "/context") else ""


def _usage(count: re.Match[str]) -> Usage:
    """Usage of a token line; what was sent includes what was written to and read from a cache."""
    sent, written, read, received = (_number(text) for text in count.groups())
    return Usage(max(sent - written - read, 0), read, written, 0, received, "placeholder", "placeholder")


def _number(text: str | None) -> int:
    """A count such as ``730`` or ``12k``.

    Examples
    --------
    >>> _number("730"), _number("3.4k"), _number("1,200"), _number(None)
    (730, 3400, 1200, 0)
    """
    try:
        plain = (text or "0").replace(",", "")
        return round(float(plain.removesuffix("k")) * (1_000 if plain.endswith("k") else 1))
    except (ValueError, OverflowError):
        return 0


def _local(text: str) -> float | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
