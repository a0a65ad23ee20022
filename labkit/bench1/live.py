"""One run of the benchmark by a real model: the same service, tools and policies, over a provider's interface."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labkit.bench1.agent import TASK, seen
from labkit.bench1.checker import verify
from labkit.bench1.filler import filler_text, shifted
from labkit.bench1.live_api import Api, Asked, LiveError, Said, TooLong
from labkit.bench1.live_log import Log
from labkit.bench1.run import SYSTEM, Outcome, policies
from labkit.bench1.service import service
from labkit.bench1.tools import Tools
from labkit.errors import ContextOverflow, EditRefused, InputError
from labkit.files import load_data
from labkit.ladder.manager import ContextManager
from labkit.ladder.offload import Offload
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summary
from labkit.price.prices import Prices
from labkit.record.tokens import get_counter
from labkit.record.trace import Block, Usage

__all__ = ["LivePolicies", "Purse", "WorkRecord", "live_policies", "live_run", "spent_in"]

Json = dict[str, Any]
LivePolicies = dict[str, Policy]

_MOST = 120


def live_policies(window: int | None = None) -> LivePolicies:
    """The two configurations of :func:`labkit.bench1.run.policies`, and ``server``, which the provider applies.

    Examples
    --------
    >>> live_policies()["server"].edits_at
    'server'
    """
    values = load_data("bench1.json")["server"]
    room = policies(window)
    return {**room, "server": Policy(window=room["unbounded"].window, edits_at="server", **values)}


@dataclass
class Purse:
    """What all runs of a folder may cost together, in dollars.

    Parameters
    ----------
    limit : float
    card : Prices
    spent : float
        Until now.
    """

    limit: float
    card: Prices
    spent: float = 0.0

    def __post_init__(self) -> None:
        if not self.limit > 0:
            raise InputError(f"the spend limit is {self.limit}: give dollars above 0")

    def cost(self, usages: Sequence[Usage]) -> float:
        """Dollars of an answer, each pass at its own size."""
        return sum(self.card.request_cost(usage) for usage in usages)

    def refuses(self, prompt: float, answer: int, passes: int) -> str:
        """Why a request is not sent, or nothing: its prompt written anew, and the longest answer, have to fit."""
        band = self.card.at(int(prompt))
        dearest = max(band.input, band.cache_write_5m, band.cache_write_1h)
        worst = passes * (prompt * dearest + answer * band.output) / 1e6
        if self.spent + worst <= self.limit:
            return ""
        return (
            f"${self.spent:.2f} of ${self.limit:.2f} is spent and the next request may cost ${worst:.2f}: give a "
            "higher --spend to go on"
        )


class WorkRecord:
    """The record of a hand off in a live run: where the search hit, what was edited, and that more may be due."""

    def summarize(self, blocks: Sequence[Block], notes: str) -> Summary:
        """As :class:`labkit.ladder.rungs.Summarizer` asks."""
        found = seen(blocks)
        lines = [TASK, "You began earlier. What was seen and done then:"]
        lines += [f"{'edited' if path in found.done else 'open'}: {path}" for path in found.known]
        lines += [f"edited: {path}" for path in sorted(found.done - set(found.known))]
        return Summary("\n".join([*lines, "An edited file may need another edit: search again before you stop."]))


@dataclass
class _Context:
    """What the model is sent: everything as it came, or what a policy of the client leaves of it."""

    api: Api
    manager: ContextManager | None
    items: list[Json] = field(default_factory=list)

    def begin(self) -> None:
        if self.manager is None:
            self.items += self.api.opening(TASK)
        else:
            self.manager.append(Block("text", "user", TASK))

    def next(self) -> list[Json]:
        return self.items if self.manager is None else self.api.from_blocks(self.manager.prepare())

    def add(self, said: Said, results: Sequence[tuple[Asked, str]]) -> None:
        if self.manager is None:
            self.items += [*said.items, *self.api.answers(results)]
            return
        for block in said.blocks:
            self.manager.append(block)
        for call, text in results:
            args = json.dumps(call.given or {}, ensure_ascii=False)
            block = Block("result", "tool", text, tool=call.tool, args=args, call_id=call.id)
            # What was kept whole was asked for: cut once more, it could never be read.
            self.manager.append(replace(block, edited="cap") if _kept(call) else block)


def _kept(call: Asked) -> str | None:
    """The path of a result kept whole, if a call reads one."""
    path = (call.given or {}).get("path")
    return path if call.tool == "read" and isinstance(path, str) and path.startswith("offload/") else None


@dataclass
class _Work:
    """The tools over a folder, and what was done with them."""

    tools: Tools
    checked: bool = False
    rereads: int = 0
    asked: set[tuple[str, str]] = field(default_factory=set)

    def do(self, call: Asked) -> str:
        if call.given is None:
            return "Error: the arguments are no JSON object: give one"
        key = call.tool, json.dumps(call.given, sort_keys=True)
        self.rereads += call.tool in ("list", "grep", "read") and key in self.asked
        self.asked.add(key)
        kept = _kept(call)
        if kept is not None:
            try:
                result = Offload(self.tools.folder).read(kept)
            except InputError as error:
                result = f"Error: {error}"
            return result.replace(str(self.tools.folder), "the folder")
        result = self.tools.call(call.tool, **call.given)
        if call.tool in ("edit", "check") and not result.startswith("Error"):
            self.checked = call.tool == "check"
        return result.encode("utf-8", "replace").decode()


def live_run(
    seed: int,
    policy: Policy,
    api: Api,
    model: str,
    log: Log,
    purse: Purse,
    *,
    thinking_bound: bool = False,
    filler: int = 0,
    now: Callable[[], float] = time.time,
) -> Outcome:
    """Let a model do the migration, or go on from where its recording ends.

    The recorded answers are given again without asking the model: tools and policy do the same on the same answers,
    and each request is compared with the recorded one.

    Parameters
    ----------
    seed : int
        Of the service.
    policy : Policy
        With ``edits_at="server"`` it is sent along; otherwise this client applies it.
    api : Api
    model : str
    log : Log
        The session, written a line a call.
    purse : Purse
    thinking_bound : bool
        Whether the model binds its thinking to the exact prefix, so that an edit of the client has to respect it.
    filler : int
        Tokens of code of no use that stand in the system prompt; the policy's thresholds rise with it.
    now : callable
        The clock, in seconds.

    Returns
    -------
    Outcome
        ``seconds`` are those waited for the model, measured; ``input`` counts every pass that was billed. ``end``
        is ``finished`` if the model stopped after a check() that followed its last edit, otherwise
        ``premature stop``; or ``window full``, ``cut off``, ``refused``, ``edit refused``, ``too many requests``.

    Raises
    ------
    LiveError
        If the interface fails, or the next request might cost more than is left.
    """
    most = load_data("bench1.json")["answer"]
    whole, policy = policy == policies(policy.window)["unbounded"], shifted(policy, filler)
    system = f"{SYSTEM}\n\n{filler_text(filler)}".rstrip()
    count, at_server = get_counter().count, policy.edits_at == "server"
    server = api.server(policy) if at_server else {}
    passes = 2 if at_server and policy.compact_above is not None else 1
    usages: list[tuple[Usage, ...]] = []
    with tempfile.TemporaryDirectory(prefix="bench1-") as folder:
        made = service(seed)
        work = _Work(Tools(made.write(Path(folder))))
        manager, end, seconds, ratio = None, "too many requests", 0.0, 1.0
        if not at_server and not whole:
            shape = api.request(model, system, api.opening(TASK), most, {})
            prefix = count(system) + count(json.dumps(shape["tools"]))
            keep, record = Offload(work.tools.folder).keep, WorkRecord()
            manager = ContextManager(
                system, policy, record, thinking_bound=thinking_bound, prefix_tokens=prefix,
                writer=record, offload=keep,
            )  # fmt: skip
        context = _Context(api, manager)
        context.begin()
        for number in range(_MOST):
            try:
                items = context.next()
                request = api.request(model, system, items, most, server)
                entry = log.answered(number, request)
                if entry is None:
                    counted = count(json.dumps({"items": items, "tools": request["tools"]})) + count(system)
                    why = purse.refuses(counted * ratio, most, passes)
                    if why:
                        raise LiveError(why)
                    entry = _asked(api, request, log, now)
                    said = api.read(entry["response"])
                    purse.spent += purse.cost(said.usages)
                    if said.usages:
                        ratio = max(ratio, max(u.total_input for u in said.usages) / counted)
            except (ContextOverflow, TooLong):
                end = "window full"
                break
            except EditRefused:
                end = "edit refused"
                break
            said = api.read(entry["response"])
            seconds += float(entry["seconds"])
            usages.append(said.usages)
            if said.stop or not (said.calls or said.goes_on):
                end = said.stop or ("finished" if work.checked else "premature stop")
                break
            context.add(said, [(call, work.do(call)) for call in said.calls])
        verdict = verify(made, work.tools.files())
    each = [usage for answer in usages for usage in answer]
    return Outcome(
        seed, verdict.passed, end, len(verdict.missed), len(verdict.wrong), len(usages),
        sum(u.total_input for u in each), sum(u.output for u in each),
        max((u.total_input for u in each), default=0), purse.cost(each), seconds, work.rereads,
    )  # fmt: skip


def _asked(api: Api, request: Json, log: Log, now: Callable[[], float]) -> Json:
    start, clock = now(), time.perf_counter()
    response = api.send(request)
    return log.add({
        "start": round(start, 3),
        "seconds": round(time.perf_counter() - clock, 3),
        "request": request,
        "response": response,
    })  # fmt: skip


def spent_in(folder: Path, api: Api, purse: Purse) -> float:
    """Dollars of all recordings in a folder."""
    logs = [Log(path) for path in sorted(folder.glob("*.jsonl"))]
    return sum(purse.cost(api.read(entry["response"]).usages) for log in logs for entry in log.entries)
