"""The challenge: beat doing nothing on a support case, without loss, and again on a run you have not seen."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, overload

from labkit.course.judge import shown
from labkit.errors import InputError, LabError
from labkit.files import data_path
from labkit.ladder.policy import Policy
from labkit.ladder.presets import load_policy
from labkit.ladder.rungs import Summary
from labkit.ladder.summaries import ExtractiveSummarizer
from labkit.price.prices import Prices, prices
from labkit.record.generate import scripted_run
from labkit.record.load import load
from labkit.record.tokens import count
from labkit.record.trace import Block, Trace, Usage
from labkit.replay.net import net
from labkit.replay.replay import replay

__all__ = ["Board", "Score", "board", "challenge", "score"]

_MARK = "labkit-challenge-2"
# Turns and seed. Not a secret, only not looked at while tuning; of several lengths, so that neither a policy for short
# runs nor one for long ones has it easy.
_UNSEEN = ((60, 4_711), (90, 4_712), (120, 4_713))
_MOST_LINES = 500
_MOST_BYTES = 20_000
_CHEAP_READ = 0.05


class _Billed:
    """Extracted by rule and billed as a model's: it reads what it sums up, and its text is output."""

    def summarize(self, blocks: Sequence[Block], notes: str) -> Summary:
        made = ExtractiveSummarizer().summarize(blocks, notes)
        return replace(made, usage=Usage(cache_read=sum(count(b.text) for b in blocks), output=count(made.text)))


@dataclass(frozen=True)
class Score:
    """How a policy does against doing nothing.

    Parameters
    ----------
    policy : Policy
    here, cheap, unseen : float
        Share of doing nothing's bill that it saves, every re-read paid: on support-40, there with cheaper
        reads, and on average on runs that were not shown. Below 0 it costs more.
    disqualified : str
        Why it does not count; empty if it does.
    """

    policy: Policy
    here: float
    cheap: float
    unseen: float
    disqualified: str

    @property
    def points(self) -> float:
        """The mean of the three; a disqualified policy has -1, doing nothing 0."""
        return -1.0 if self.disqualified else (self.here + self.cheap + self.unseen) / 3

    @property
    def line(self) -> str:
        """One line to share; :func:`board` scores it again."""
        values = json.dumps(_differences(self.policy), sort_keys=True, separators=(",", ":"))
        packed = base64.urlsafe_b64encode(zlib.compress(values.encode(), 9)).decode().rstrip("=")
        return f"{_MARK} {self.points:+.1%} {packed}"


def challenge(policy: Any) -> None:
    """Score a policy and print a line to share; never raises.

    Parameters
    ----------
    policy : Policy, name, file or mapping

    Examples
    --------
    >>> challenge("none")
    doing nothing scores 0: beat it
    """
    try:
        made = score(_loaded(policy))
    except LabError as error:
        print(f"not scored: {error}")
        return
    if made.policy == Policy.nothing():
        print("doing nothing scores 0: beat it")
        return
    if made.disqualified:
        print(f"disqualified: {made.disqualified}")
    else:
        print(
            f"support-40 {made.here:+.1%}, with cheaper reads {made.cheap:+.1%}, on runs not shown {made.unseen:+.1%}"
        )
    print(made.line)


def _loaded(policy: Any) -> Policy:
    try:
        return load_policy(policy)
    except LabError:
        raise
    except Exception:  # anything may be given
        known = '{"trigger": 60_000, "keep": 4}, a preset or a file'
        raise InputError(f"{shown(policy)} is no policy: give {known}") from None


@lru_cache(maxsize=256)
def score(policy: Policy) -> Score:
    """Score a policy; see :class:`Score`.

    Examples
    --------
    >>> score(Policy(keep=0)).points
    -1.0
    """
    card = prices("article")
    cheap = replace(card, cache_read=card.input * _CHEAP_READ)
    run = load(data_path("traces", "support-40.jsonl"))
    here, why = _saving(run, policy, card)
    dear, _ = _saving(run, policy, cheap)
    others = [_saving(other, policy, card) for other in _unseen()]
    whys = [why, *(f"on a run not shown, {w}" for _, w in others if w)]
    return Score(policy, here, dear, sum(s for s, _ in others) / len(others), next((w for w in whys if w), ""))


@dataclass(frozen=True)
class Board(Sequence[Score]):
    """The scores of a room, best first; printed, it is a table.

    Parameters
    ----------
    scores : tuple of Score
    labels : tuple of str
        What stood in front of each line, for example a pair's name.
    refused : tuple of str
        A sentence for each line that does not count.
    """

    scores: tuple[Score, ...]
    labels: tuple[str, ...]
    refused: tuple[str, ...]

    @overload
    def __getitem__(self, at: int) -> Score: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Score, ...]: ...
    def __getitem__(self, at: int | slice) -> Score | tuple[Score, ...]:
        return self.scores[at]

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        lines = ["place  points  support-40  cheaper reads  not shown"]
        for place, (made, label) in enumerate(zip(self.scores, self.labels, strict=True), start=1):
            row = f"{place:>5}{made.points:>+8.1%}{made.here:>+12.1%}{made.cheap:>+15.1%}{made.unseen:>+11.1%}"
            policy = ", ".join(f"{name}={value}" for name, value in _differences(made.policy).items())
            lines.append(f"{row}  {label + ': ' if label else ''}{shown(policy).strip(chr(39))}")
            lines += [f"       disqualified: {made.disqualified}"] if made.disqualified else []
        return "\n".join([*lines, *self.refused])


def board(lines: Iterable[str] | str) -> Board:
    """Score shared lines again, best first.

    Parameters
    ----------
    lines : iterable of str, or one text of several lines
        As they were pasted; what stands in front of a line is its label. A line is refused, with a sentence, if it is
        damaged or claims other points than its policy scores. Lines of something else are passed over.

    Examples
    --------
    >>> honest = score(Policy(keep=0)).line
    >>> made = board([honest, honest.replace("-100.0%", "+99.0%"), "hello"])
    >>> [one.points for one in made]
    [-1.0]
    >>> print(*made.refused)
    line 2 is refused: it claims +99.0%, and its policy scores -100.0%
    """
    found, refused = [], []
    given = lines.splitlines() if isinstance(lines, str) else lines
    marked = [(n, line) for n, line in enumerate(given, start=1) if isinstance(line, str) and _MARK in line]
    for number, line in marked[:_MOST_LINES]:
        label, _, rest = line.partition(_MARK)
        try:
            found.append((_rescored(rest), " ".join(label.split()).rstrip(":>-")[:20].strip()))
        except LabError as error:
            refused.append(f"line {number} is refused: {error}")
    if len(marked) > _MOST_LINES:
        refused.append(f"lines after the first {_MOST_LINES} are not scored: give fewer")
    found.sort(key=lambda one: -one[0].points)
    return Board(tuple(made for made, _ in found), tuple(label for _, label in found), tuple(refused))


def _rescored(rest: str) -> Score:
    """The score of what stands behind the mark; a :class:`LabError` if it is damaged or says something else."""
    words = rest.split()
    damaged = InputError("it is damaged: copy the whole line that lk.challenge printed")
    if len(words) < 2:
        raise damaged
    try:
        packed = words[1] + "=" * (-len(words[1]) % 4)
        opening = zlib.decompressobj()
        opened = opening.decompress(base64.b64decode(packed, altchars=b"-_", validate=True), _MOST_BYTES)
        values = json.loads(opened)
    except (ValueError, zlib.error, RecursionError):
        raise damaged from None
    if not opening.eof or not isinstance(values, dict):
        raise damaged
    made = score(Policy.from_dict(values))
    if words[0] != f"{made.points:+.1%}":
        raise InputError(f"it claims {shown(words[0]).strip(chr(39))[:20]}, and its policy scores {made.points:+.1%}")
    return made


def _saving(run: Trace, policy: Policy, card: Prices) -> tuple[float, str]:
    nothing = _nothing(run)
    made = net(replay(run, policy, summarizer=_Billed()), nothing, card)
    return made.low / made.nothing, made.disqualified


@lru_cache(maxsize=8)
def _nothing(run: Trace) -> Any:
    return replay(run, Policy.nothing())


@lru_cache(maxsize=1)
def _unseen() -> tuple[Trace, ...]:
    return tuple(scripted_run(turns, seed=seed) for turns, seed in _UNSEEN)


def _differences(policy: Policy) -> dict[str, Any]:
    plain = Policy().to_dict()
    return {name: value for name, value in policy.to_dict().items() if value != plain[name]}
