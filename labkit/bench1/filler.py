"""A window that is occupied before the work begins: text of no use for it, and thresholds that allow for it."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

from labkit.bench1.service import unrelated
from labkit.errors import InputError
from labkit.ladder.policy import Policy
from labkit.record.tokens import get_counter

__all__ = ["filler_text", "occupancies", "shifted"]

_HEAD = "Code of another service, of no use for this work:\n"


def filler_text(tokens: int) -> str:
    """Code that has nothing to do with the task; the same for the same size.

    Parameters
    ----------
    tokens : int
        About so many by the lab's counter, to 2 % and a function; 0 for an empty text.

    Examples
    --------
    >>> from labkit.record.tokens import count
    >>> 980 <= count(filler_text(1_000)) < 1_200, "queryRaw" in filler_text(1_000), filler_text(0)
    (True, False, '')
    """
    if tokens <= 0:
        return ""
    count, rng = get_counter().count, random.Random("filler")
    parts = [_HEAD]
    left = tokens - count(_HEAD)
    while left > 0:
        parts.append(unrelated(rng, len(parts), "another service"))
        left -= count(parts[-1])
    return "".join(parts)


def shifted(policy: Policy, tokens: int) -> Policy:
    """The policy with its thresholds raised: what was there before is no work of the ladder.

    Examples
    --------
    >>> shifted(Policy(trigger=6_000, keep=3, compact_above=None), 1_000).trigger
    7000
    """
    names = ("trigger", "hand_off_above", "compact_above")
    return replace(policy, **{n: v + tokens for n in names if (v := getattr(policy, n)) is not None})


def occupancies(given: str) -> tuple[int, ...]:
    """Tokens that are there before the work, as the command line takes them: numbers with commas, upwards.

    Raises
    ------
    InputError
        If they are no such numbers.

    Examples
    --------
    >>> occupancies("0,16000")
    (0, 16000)
    """
    try:
        made = tuple(int(part) for part in given.split(","))
    except ValueError:
        made = ()
    if not made or made[0] < 0 or any(b <= a for a, b in pairwise(made)):
        raise InputError(f"--occupied is {given!r}: give tokens with commas, upwards, such as 0,16000,64000")
    return made
