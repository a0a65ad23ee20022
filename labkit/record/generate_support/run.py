"""support-40: a support agent settles a double charge and a lost lamp in forty turns.

The story stands in ``data/support/run.txt``, the documents it reads beside it; names, numbers, amounts
and the long log come from the seed. It is made so that the lab's questions have an answer in it: a
prefix that no rung can touch, one result that is nearly a third of the run and needed for seven turns,
a document that decides nothing, a decision that is overturned, a condition that is set thirty turns
before it counts, and a pause that empties the cache.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from labkit.errors import InputError
from labkit.files import data_path
from labkit.record.generate_invoice import needs_from
from labkit.record.generate_support.case import Case, draw_case
from labkit.record.generate_support.results import RESULTS
from labkit.record.generate_support.tools import schemas
from labkit.record.trace import Block, Fact, Prefix, Request, Trace

__all__ = ["CONSTRAINT", "LONG_RESULT_TURN", "PAUSE", "SUPERSEDED", "support_run"]

TURNS = 40
LONG_RESULT_TURN = 12
"""Turn whose result is the long log."""
PAUSE = (20, 1_200.0)
"""Turn before which the user is away, and for how many seconds."""
SUPERSEDED = (9, 22)
"""Turn of a decision, and turn of the one that replaces it."""
CONSTRAINT = (5, 35)
"""Turn at which the user sets a condition, and turn at which it must still be known."""

FACTS = (
    ("task: charged twice", "was charged twice for order {order}"),
    ("task, second line: close before 18:00", "must be closed before 18:00"),
    ("user t5, second line: card is closed", "The card ending {card} is closed"),
    ("user t20, second line: count in the wrapping", "gift wrapping never reached anybody"),
    ("user t32, second line: no day of our own", "Name no day in the answer"),
    ("decision t15: retry with a new key", "the second charge is a retry with a new key"),
    ("decision t22: refund both, no replacement", "refund both charges in full by bank transfer"),
    ("error t3: GatewayTimeoutError", "GatewayTimeoutError: no answer to capture"),
    ("error t29: ClaimWindowError", "ClaimWindowError: window of 14 days"),
    ("open task: tell the warehouse", "TODO: tell the warehouse that the broken lamp"),
)

NEEDS = (
    # turn whose result holds it, turn whose call relies on it, the text in both
    (2, 4, "{tracking}"),
    (3, 6, "{pay}"),
    (12, 13, "{late}"),
    (12, 14, "{late_request}"),
    (2, 18, "{shipment}"),
    (12, 19, "{key2}"),
    (11, 23, "{reservation}"),
    (2, 26, "{invoice}"),
    (7, 27, "Above 150.00 EUR: a second person"),
    (17, 29, "NP-C14"),
    (20, 30, "{scan}"),
    (27, 32, "{approval}"),
    (3, 35, "{account}"),
    (33, 35, "RF-12"),
    (19, 36, "{incident}"),
    (35, 37, "{refund}"),
    (28, 38, "{template}"),
    (37, 38, "{arrival}"),
    (38, 39, "{draft}"),
    (1, 40, "{root}"),
)


@dataclass(frozen=True)
class _Turn:
    """One turn of the story, its words still in braces."""

    number: int
    user: str
    think: str
    say: str
    calls: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1)
def _story() -> tuple[_Turn, ...]:
    text = data_path("support", "run.txt").read_text(encoding="utf-8")
    turns = []
    for part in re.split(r"^= ", text, flags=re.M)[1:]:
        number, _, rest = part.partition("\n")
        words = {"user": "", "think": "", "say": ""}
        calls = []
        for entry in re.split(r"\n(?=\w+: )", rest.strip()):
            name, _, body = entry.partition(": ")
            body = body.replace("\n  ", "\n")
            if name == "call":
                tool, _, args = body.partition(" |")
                calls.append((tool, args.strip()))
            else:
                words[name] = body
        turns.append(_Turn(int(number), words["user"], words["think"], words["say"], tuple(calls)))
    return tuple(turns)


def support_run(seed: int = 40, turns: int = TURNS) -> Trace:
    """Make the support run, or its first turns.

    Parameters
    ----------
    seed : int
        40 gives ``data/traces/support-40.jsonl``; every other seed another customer, other numbers and
        amounts, and a log of other lines. The story and the turns of its facts and needs stay.
    turns : int
        From 1 to 40.

    Returns
    -------
    Trace
        One block one message; ids pair calls and results.

    Raises
    ------
    InputError
        If the story does not have so many turns.

    Examples
    --------
    >>> run = support_run()
    >>> len(run.requests), len(run.facts), len(run.needs)
    (40, 10, 20)
    >>> support_run(turns=41)
    Traceback (most recent call last):
    ...
    labkit.errors.InputError: turns is 41: the story has 1 to 40 turns, for other lengths use scripted_run
    """
    if not 1 <= turns <= TURNS:
        raise InputError(f"turns is {turns}: the story has 1 to {TURNS} turns, for other lengths use scripted_run")
    rng = Random(seed)
    case = draw_case(rng)
    blocks: list[Block] = []
    requests = []
    start = 0.0
    for turn in _story()[:turns]:
        if turn.number > 1:
            start += PAUSE[1] if turn.number == PAUSE[0] else float(rng.randrange(20, 41))
        requests.append(Request(turn.number, start=start))
        blocks += _blocks(turn, case, rng)
    system = data_path("support", "system.md").read_text(encoding="utf-8").strip()
    facts = [Fact(label, case.fill(probe)) for label, probe in FACTS]
    needs = [(learned, used, case.fill(excerpt)) for learned, used, excerpt in NEEDS if used <= turns]
    return Trace(
        name="support-40" if (seed, turns) == (40, TURNS) else f"support-{turns}-seed-{seed}",
        blocks=tuple(blocks),
        requests=tuple(requests),
        prefixes=(Prefix(system, schemas()),),
        facts=tuple(fact for fact in facts if any(fact.probe in b.text for b in blocks)),
        needs=needs_from(blocks, needs),
        kind="scripted",
        source=f"labkit.record.generate, seed {seed}",
    )


def _envelope(tool: str, case: Case, number: int) -> str:
    """The parts of a call that every tool of the desk asks for; see the schemas."""
    if tool.startswith("notes_"):
        return ""
    session = {"shop": "lumen-de", "channel": "mail"}
    audit = {
        "ticket_id": case.ticket,
        "reason": f"double charge and returned parcel, step {number}",
        "idempotency_key": f"{case.ticket}-{number:02d}",
    }
    return f"\nsession: {json.dumps(session)}\naudit: {json.dumps(audit)}"


def _blocks(turn: _Turn, case: Case, rng: Random) -> Iterator[Block]:
    number = turn.number
    if turn.user:
        yield Block("text", "user", case.fill(turn.user), request=number)
    if turn.think:
        yield Block("thinking", "assistant", case.fill(turn.think), request=number + 1)
    calls = [(tool, case.fill(args), f"t{number}c{i}") for i, (tool, args) in enumerate(turn.calls, 1)]
    said = case.fill(turn.say) + "\n\n"
    for tool, args, call_id in calls:
        text = f"{said}{tool}({args}){_envelope(tool, case, number)}"
        yield Block("call", "assistant", text, request=number + 1, tool=tool, args=args, call_id=call_id)
        said = ""
    for (tool, args, call_id), result in zip(calls, RESULTS[number], strict=True):
        yield Block("result", "tool", result(case, rng), request=number + 1, tool=tool, args=args, call_id=call_id)
