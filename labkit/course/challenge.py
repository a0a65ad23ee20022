"""The challenge: beat doing nothing on a support case, without loss, and again on a run you have not seen."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from labkit.errors import EditRefused, InputError
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

__all__ = ["Score", "board", "challenge", "score"]

_MARK = "labkit-challenge-1"
# Not a secret, only not looked at while tuning: three runs, so that no single one decides.
_UNSEEN = (4_711, 4_712, 4_713)
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
        made = score(load_policy(policy))
    except (InputError, EditRefused) as error:
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


def board(lines: Iterable[str]) -> list[Score]:
    """Score shared lines again, best first; what is no such line is passed over.

    Parameters
    ----------
    lines : iterable of str
        Of several people; the points they name are not believed.

    Examples
    --------
    >>> shared = score(Policy(keep=0)).line.replace("-100.0%", "+99.0%")
    >>> [made.points for made in board([shared, "hello"])]
    [-1.0]
    """
    found = []
    for line in lines:
        words = line.split()
        if len(words) >= 3 and words[0] == _MARK:
            try:
                packed = words[2] + "=" * (-len(words[2]) % 4)
                opened = zlib.decompressobj().decompress(base64.urlsafe_b64decode(packed), 20_000)
                found.append(score(Policy.from_dict(json.loads(opened))))
            except (ValueError, zlib.error, InputError, EditRefused):
                continue
    return sorted(found, key=lambda made: -made.points)


def _saving(run: Trace, policy: Policy, card: Prices) -> tuple[float, str]:
    nothing = _nothing(run)
    made = net(replay(run, policy, summarizer=_Billed()), nothing, card)
    return made.low / made.nothing, made.disqualified


@lru_cache(maxsize=8)
def _nothing(run: Trace) -> Any:
    return replay(run, Policy.nothing())


@lru_cache(maxsize=1)
def _unseen() -> tuple[Trace, ...]:
    return tuple(scripted_run(60, seed=seed) for seed in _UNSEEN)


def _differences(policy: Policy) -> dict[str, Any]:
    plain = Policy().to_dict()
    return {name: value for name, value in policy.to_dict().items() if value != plain[name]}
