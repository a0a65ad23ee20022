"""The built-in agent: no model. It plans only from the blocks of its context, and forgets as it is told to."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.bench1.migrate import migration
from labkit.errors import InputError
from labkit.ladder.rungs import Summary
from labkit.record.trace import Block

__all__ = ["TASK", "Agent", "Move", "Recall", "SiteRecord"]

TASK = (
    "Migrate every db.queryRaw() call of this service, tests included, to db.query(sql, values). It takes two "
    "arguments, a text and a list of values: no object, no tagged template. Placeholders are $1, $2 and so on; $1 is "
    "the first value, ? is none. No value stays in the text, and what comes back stays the same. Delete nothing and "
    "change nothing else; src/db.ts stays as it is."
)

_HIT = re.compile(r"^(\S+\.ts):\d+: (.*)$", re.M)
_LISTED = re.compile(r"^(done|open): (\S+)$", re.M)


@dataclass(frozen=True)
class Recall:
    """How likely something in the context is recalled, by the size of the context.

    Parameters
    ----------
    half : float, optional
        Tokens at which one half is recalled (L50); ``None`` for perfect recall.
    k : float
        Steepness: the chance is ``1 / (1 + (tokens / half) ** k)``.
    source : str
        Where the two come from.

    Raises
    ------
    InputError
        If a number is not above 0.

    Examples
    --------
    >>> Recall(half=24_000, k=1).chance(24_000), Recall().chance(1_000_000)
    (0.5, 1.0)
    """

    half: float | None = None
    k: float = 1.0
    source: str = "perfect: an assumption"

    def __post_init__(self) -> None:
        if (self.half is not None and not self.half > 0) or not self.k > 0:
            raise InputError(f"half is {self.half} and k {self.k}: give both above 0, or no half for perfect recall")

    def chance(self, tokens: float) -> float:
        """Chance, 0 to 1, of recalling one thing in a context of so many tokens."""
        return 1.0 if self.half is None else float(1 / (1 + (tokens / self.half) ** self.k))


@dataclass(frozen=True)
class Move:
    """What the agent does next: a tool and its arguments, or ``tool=None`` to stop; ``why`` says why it stops."""

    tool: str | None = None
    given: tuple[tuple[str, str], ...] = ()
    why: str = ""

    @property
    def args(self) -> str:
        """The arguments as they are written in the call: JSON."""
        return json.dumps(dict(self.given))


@dataclass(frozen=True)
class Seen:
    """What a context shows of the work."""

    known: tuple[str, ...]
    done: frozenset[str]
    texts: dict[str, str]
    searched: bool
    checked: bool


def seen(blocks: Sequence[Block]) -> Seen:
    """What the blocks show: sites named by a search or a record, edits made, files that stand there whole."""
    known: dict[str, None] = {}
    done, texts, waiting = set(), {}, {}
    searched = checked = False
    for block in blocks:
        if block.edited in ("clear", "evict"):
            continue
        if block.kind == "call" and block.call_id:
            waiting[block.call_id] = block
            if block.tool == "edit":
                done.add(_path(block))
        elif block.kind == "result" and block.tool == "grep":
            searched = True
            for path, line in _HIT.findall(block.text):
                if path != "src/db.ts" and "queryRaw" in line and not line.startswith(("//", "*")):
                    known[path] = None
        elif block.kind == "result" and block.tool == "read":
            call = waiting.get(block.call_id or "")
            if call is not None and not block.text.startswith("Error"):
                texts[_path(call)] = block.text
        elif block.kind == "result" and block.tool == "edit":
            call = waiting.get(block.call_id or "")
            if call is not None and block.text.startswith("Error"):
                done.discard(_path(call))
        elif block.kind == "result" and block.tool == "check":
            checked = True
        elif block.kind == "summary":
            listed = _LISTED.findall(block.text)
            searched = searched or bool(listed)
            known.update(dict.fromkeys(path for _, path in listed))
            done |= {path for state, path in listed if state == "done"}
    return Seen(tuple(known), frozenset(done - {""}), texts, searched, checked)


def _path(call: Block) -> str:
    """The file a call names; a model may name none."""
    path = json.loads(call.args or "{}").get("path")
    return path if isinstance(path, str) else ""


class SiteRecord:
    """Writes the record of a hand off or a compaction: the task, and each site it sees, done or open.

    Parameters
    ----------
    drop : int
        So many open sites are left out: the fault of a careless record, for trying what it does.
    """

    def __init__(self, drop: int = 0) -> None:
        self.drop = drop

    def summarize(self, blocks: Sequence[Block], notes: str) -> Summary:
        """As :class:`labkit.ladder.rungs.Summarizer` asks."""
        found = seen(blocks)
        undone = [path for path in found.known if path not in found.done]
        left, lost = undone[self.drop :], undone[: self.drop]
        lines = [TASK, *(f"done: {path}" for path in sorted(found.done)), *(f"open: {path}" for path in left)]
        return Summary("\n".join(lines), dropped=tuple(lost))


@dataclass
class Agent:
    """Decides from what it is shown, and from nothing else.

    Parameters
    ----------
    recall : Recall
        Of each site that the context names, and of the rule for values.
    hazard : float
        Chance a request of stopping early at a full window; in proportion to occupancy below it. No published
        number was found for it, so 0 is the default.
    seed : int
        Of what it recalls and when it stops.
    rereads : bool
        Whether it may search, and read a file, again where nothing shows them any more.
    """

    recall: Recall
    hazard: float = 0.0
    seed: int = 0
    rereads: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.hazard <= 1:
            raise InputError(f"hazard is {self.hazard}: it is a chance, so give 0 to 1")
        self._random = random.Random(f"agent {self.seed}")

    def move(self, blocks: Sequence[Block], tokens: int, window: int, asked: Sequence[Move]) -> Move:
        """The next move.

        Parameters
        ----------
        blocks : sequence of Block
            The context.
        tokens, window : int
            Its size, and the window, in tokens.
        asked : sequence of Move
            What it did before; looked at only where ``rereads`` is off, to keep it from doing it again.
        """
        now, chance = seen(blocks), self.recall.chance(tokens)
        draw = self._random.random
        if draw() < self.hazard * min(tokens / window, 1):
            return Move(why="premature stop")
        if not now.searched:
            if not any(b.kind == "call" and b.tool == "list" for b in blocks) and not any(
                b.kind == "summary" for b in blocks
            ):
                return self._may(Move("list"), asked)
            return self._may(Move("grep", (("text", "queryRaw"),)), asked)
        for path in now.known:
            if path in now.done or draw() >= chance:
                continue  # done, or not thought of in this request
            if path not in now.texts:
                return self._may(Move("read", (("path", path),)), asked)
            edit = migration(now.texts[path], right=draw() < chance)
            if edit is not None:
                return Move("edit", (("path", path), ("old", edit[0]), ("new", edit[1])))
        return Move(why="finished") if now.checked else Move("check")

    def _may(self, move: Move, asked: Sequence[Move]) -> Move:
        return Move(why="may not look again") if not self.rereads and move in asked else move
