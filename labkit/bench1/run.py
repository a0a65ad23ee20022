"""One run of the benchmark: a service on disk, an agent, a policy, and what came of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from labkit.bench1.agent import TASK, Agent, Move, Recall, SiteRecord
from labkit.bench1.checker import verify
from labkit.bench1.service import Service, service
from labkit.bench1.tools import Tools
from labkit.errors import ContextOverflow
from labkit.files import load_data
from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.price.cache import cache_rules
from labkit.price.prices import prices
from labkit.record.tokens import get_counter
from labkit.record.trace import Block, Request, Trace, Usage
from labkit.replay.caching import ReplayedCache

__all__ = ["Outcome", "curves", "play", "policies", "run"]

_MOST = 120
SYSTEM = (
    "You are a careful engineer in one repository. Tools: list(), grep(text), read(path), edit(path, old, new), "
    "check(). Search first, read a file before you edit it, and check at the end."
)


@dataclass(frozen=True)
class Outcome:
    """What one run came to.

    Parameters
    ----------
    seed : int
    passed : bool
        By :func:`labkit.bench1.checker.verify`.
    end : str
        ``finished``, ``premature stop``, ``window full``, ``may not look again`` or ``too many requests``.
    missed, wrong : int
        Sites left as they were, and files changed wrongly.
    requests : int
    input, output : int
        Tokens, over all requests.
    peak : int
        Tokens of the largest request.
    dollars : float
        Under the provider's cache rules and prices.
    seconds : float
        Simulated, from rates of prefill and decode.
    rereads : int
        Reads of a file, and searches, that it had made before with the same arguments.
    """

    seed: int
    passed: bool
    end: str
    missed: int
    wrong: int
    requests: int
    input: int
    output: int
    peak: int
    dollars: float
    seconds: float
    rereads: int

    def to_json(self) -> dict[str, Any]:
        """Plain values, dollars and seconds rounded."""
        return {**asdict(self), "dollars": round(self.dollars, 6), "seconds": round(self.seconds, 3)}


def policies(window: int | None = None) -> dict[str, Policy]:
    """The two configurations: ``unbounded`` appends every result as it is, ``budgeted`` climbs the ladder.

    Parameters
    ----------
    window : int, optional
        Of the model, in tokens; default: as in ``data/bench1.json``.
    """
    data = load_data("bench1.json")
    room = data["window"] if window is None else window
    values = {**data["budgeted"], "evict": frozenset(data["budgeted"]["evict"])}
    return {
        "unbounded": Policy(window=room, trigger=None, keep=None, compact_above=None),
        "budgeted": Policy(window=room, **values),
    }


def curves() -> dict[str, Recall]:
    """The sourced recall curves, by name, the steepest first; see ``data/recall.json``.

    Examples
    --------
    >>> list(curves())[-1]
    'GPT-4-1106, RULER'
    """
    data = load_data("recall.json")
    return {c["name"]: Recall(c["half"], c["k"], data["sources"][c["source"]]) for c in data["curves"]}


@lru_cache(maxsize=64)
def _made(seed: int) -> Service:
    return service(seed)


@lru_cache(maxsize=2_000)
def _count(text: str) -> int:
    return get_counter().count(text)


def run(
    seed: int,
    policy: Policy,
    recall: Recall | None = None,
    *,
    hazard: float = 0.0,
    filler: int = 0,
    drop: int = 0,
    rereads: bool = True,
) -> Outcome:
    """Run the benchmark once, in a folder of its own that is gone afterwards.

    Parameters
    ----------
    seed : int
        Of the service and of the agent.
    policy : Policy
    recall : Recall, optional
        Default: perfect.
    hazard : float
        Chance a request of a premature stop at a full window.
    filler : int
        Tokens of unrelated prefix, for a run that starts in a window already occupied.
    drop : int
        Open sites that each hand off leaves out of its record.
    rereads : bool
        Whether the agent may search and read again.

    Returns
    -------
    Outcome
        The same for the same arguments.
    """
    agent = Agent(recall or Recall(), hazard, seed, rereads)
    return play(seed, policy, agent, filler=filler, drop=drop)[0]


def play(
    seed: int,
    policy: Policy,
    agent: Agent,
    *,
    filler: int = 0,
    drop: int = 0,
    watch: Callable[[Tools, list[Block], Move], None] | None = None,
) -> tuple[Outcome, Trace]:
    """As :func:`run`, with an agent of one's own; also returns the Trace, unedited.

    ``watch`` is called with the tools, the context and the move before each call is made.
    """
    made, window = _made(seed), policy.window or load_data("bench1.json")["window"]
    with tempfile.TemporaryDirectory(prefix="bench1-") as folder:
        tools = Tools(made.write(Path(folder)))
        book = _Book(policy, filler, drop)
        end = "too many requests"
        for _ in range(_MOST):
            try:
                blocks = book.request()
            except ContextOverflow:
                end = "window full"
                break
            move = agent.move(blocks, book.total, window, book.moves)
            if watch is not None:
                watch(tools, blocks, move)
            if move.tool is None:
                end = move.why
                book.answer(move, None)
                break
            book.answer(move, tools.call(move.tool, **dict(move.given)))
        verdict = verify(made, tools.files())
    outcome = Outcome(
        seed, verdict.passed, end, len(verdict.missed), len(verdict.wrong), len(book.requests),
        book.input, book.output, book.peak, book.dollars, book.seconds, book.rereads,
    )  # fmt: skip
    return outcome, Trace(f"bench1-{seed}", tuple(book.blocks), tuple(book.requests), kind="scripted")


class _Book:
    """The context of a run and its books: tokens, dollars, the simulated clock."""

    def __init__(self, policy: Policy, filler: int, drop: int) -> None:
        data = load_data("bench1.json")
        self._rates, self._card = data["rates"], prices(data["model"])
        self._cache = ReplayedCache(cache_rules(data["model"]), expires=True)
        record = SiteRecord(drop)
        prefix = _count(SYSTEM) + 4 + filler
        self._manager = ContextManager(SYSTEM, policy, record, count=_count, writer=record, prefix_tokens=prefix)
        self.blocks: list[Block] = []
        self.requests: list[Request] = []
        self.moves: list[Move] = []
        self.input = self.output = self.peak = self.rereads = self.total = 0
        self.dollars = self.seconds = 0.0
        self._append(Block("text", "user", TASK))

    def _append(self, block: Block) -> None:
        block = replace(block, request=len(self.requests) + 1)
        self.blocks.append(block)
        self._manager.append(block)

    def request(self) -> list[Block]:
        step = self._manager.step()
        window = self._manager.policy.window
        if window is not None and step.total > window:
            raise ContextOverflow(step.total, window)
        request = Request(len(self.requests) + 1, self.seconds)
        self.requests.append(request)
        self._spent = self._cache.request(step, request, self._manager)
        self.total = step.total
        self.input += step.total
        self.peak = max(self.peak, step.total)
        return self._manager.blocks()

    def answer(self, move: Move, result: str | None) -> None:
        text = f"{move.tool}({move.args})" if move.tool else f"I stop here: {move.why}."
        written, spent = _count(text), self._spent
        self.output += written
        usage = Usage(spent.uncached, spent.read, spent.write_5m, spent.write_1h, written)
        self.dollars += self._card.request_cost(usage)
        self.requests[-1] = replace(self.requests[-1], usage=usage)
        rates = self._rates
        fresh = spent.uncached + spent.write_5m + spent.write_1h
        self.seconds += fresh / rates["prefill"] + spent.read / rates["read"] + written / rates["decode"]
        if result is None:
            return
        self.seconds += rates["tools"]
        self.rereads += move.tool in ("list", "grep", "read") and move in self.moves
        self.moves.append(move)
        made: dict[str, Any] = {"tool": move.tool, "args": move.args, "call_id": f"c{len(self.requests)}"}
        self._append(Block("call", "assistant", text, **made))
        self._append(Block("result", "tool", result, **made))
