"""The benchmark with a real model over seeds and configurations: spent within a limit, and taken up again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from labkit.bench1.bench import difference, summed
from labkit.bench1.filler import occupancies
from labkit.bench1.live import Purse, live_policies, live_run, spent_in
from labkit.bench1.live_api import Api, LiveError, api
from labkit.bench1.live_log import Log
from labkit.bench1.report import Benched, Budget, benched, budget_lines, budget_of, budgeted, row_lines
from labkit.bench1.run import Outcome
from labkit.errors import InputError, closest
from labkit.ladder.policy import Policy
from labkit.price.cache import cache_rules
from labkit.price.prices import Prices, prices

__all__ = ["Live", "live", "live_card", "live_or_simulated"]


@dataclass(frozen=True)
class Live:
    """What came of live runs.

    Parameters
    ----------
    model, interface : str
    folder : Path
        With a session a run.
    seeds : int
    spent : float
        Dollars of all recordings in the folder.
    outcomes : dict of str to tuple of Outcome
        By configuration.
    """

    model: str
    interface: str
    folder: Path
    seeds: int
    spent: float
    outcomes: dict[str, tuple[Outcome, ...]]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        rows = {name: summed(made, "seconds_measured") for name, made in self.outcomes.items()}
        against = {
            n: difference(rows[n]["passed"], rows[base]["passed"], self.seeds)
            for n in rows
            if n != (base := "unbounded" + _beside(n)) and base in rows
        }
        return {
            "simulated": False,
            "model": self.model,
            "interface": self.interface,
            "seeds": self.seeds,
            "spent": round(self.spent, 6),
            "configurations": rows,
            "differences": {name: [round(x, 4) for x in found] for name, found in against.items()},
            "occupied": {name: budget_of(made, self.seeds) for name, made in self._by_occupancy().items()},
            "runs": {name: [o.to_json() for o in made] for name, made in self.outcomes.items()},
            "sessions": str(self.folder),
        }

    def _by_occupancy(self) -> dict[str, list[tuple[int, int]]]:
        """Passed runs by what the window held before, where that was varied."""
        found: dict[str, list[tuple[int, int]]] = {}
        for name, made in self.outcomes.items():
            tokens = int(_beside(name).strip(" +").replace(",", "") or 0)
            found.setdefault(name.removesuffix(_beside(name)), []).append((tokens, sum(o.passed for o in made)))
        return {name: rows for name, rows in found.items() if len(rows) > 1}

    def lines(self) -> list[str]:
        """The table for people."""
        made = self.to_json()
        out = [f"BENCH-1, live: {self.model} by the interface {self.interface}, {self.seeds} seeds"]
        out += row_lines(made["configurations"], self.seeds, "seconds_measured")
        for name, (rate, low, high) in made["differences"].items():
            verdict = f"{name} wins" if low > 0 else f"{name} loses" if high < 0 else "the interval holds 0: a tie"
            out.append(f"{name} less unbounded: {rate:+.0%}, from {low:+.0%} to {high:+.0%}; {verdict}")
        out += budget_lines(made["occupied"], self.seeds)
        out.append(
            f"Seconds were waited for the model, measured. ${self.spent:.2f} spent in all; sessions: {self.folder}"
        )
        return out


def _beside(name: str) -> str:
    """The part of a configuration's name that says what its window held before."""
    return name[name.index(" +") :] if " +" in name else ""


def live_card(model: str, given: str | None) -> Prices:
    """Prices of a model: from the data, or ``"INPUT,OUTPUT"`` in dollars per million tokens.

    Raises
    ------
    InputError
        If the model is not in the data and nothing is given, or it is no two numbers.

    Examples
    --------
    >>> live_card("a model of my own", "0.5,2").output
    2.0
    """
    if given is None:
        try:
            return prices(model)
        except InputError as error:
            raise InputError(
                f"{error}; or give --prices INPUT,OUTPUT in dollars per million tokens, such as 0,0"
            ) from None
    try:
        asked, said = (float(part) for part in given.split(","))
        return Prices.from_multipliers(asked, said, read=1, write_5m=1, write_1h=1, model=model)
    except ValueError:
        raise InputError(f"--prices is {given!r}: give dollars per million tokens of input and output: 3,15") from None


def _chosen(names: str | None, spoken: Api) -> dict[str, Policy]:
    known = live_policies()
    if names is None:
        return {name: policy for name, policy in known.items() if name != "server" or spoken.name != "chat"}
    asked = [name.strip() for name in names.split(",")]
    for name in asked:
        if name not in known:
            near = closest(name, known)
            raise InputError(f"there is no configuration {name!r}{near}: give some of {', '.join(known)}")
    made = {name: known[name] for name in asked}
    if "server" in made:
        spoken.server(made["server"])
    return made


def live(
    model: str,
    seeds: int,
    say: Callable[[str], None],
    *,
    interface: str | None = None,
    base_url: str | None = None,
    out: str | Path = "bench1-live",
    spend: float = 5.0,
    configurations: str | None = None,
    given_prices: str | None = None,
    occupied: Sequence[int] = (0,),
) -> Live:
    """Run the configurations on the same seeds with a real model; what a folder holds is not asked again.

    Parameters
    ----------
    model : str
        As the provider names it.
    seeds : int
    say : callable
        Takes a line of progress after each run.
    interface : {"anthropic", "responses", "chat"}, optional
        Default: by the provider of the model, ``chat`` where it is unknown.
    base_url : str, optional
        Of a server that speaks the interface.
    out : str or Path
        Folder of the sessions, one file a run.
    spend : float
        Dollars that all sessions of the folder may cost together.
    configurations : str, optional
        Names with commas; default: all that the interface can do.
    given_prices : str, optional
        As :func:`live_card` takes them.
    occupied : sequence of int
        Tokens that the window holds before the work; each configuration runs once with each.

    Raises
    ------
    InputError
        If something given is wrong, the SDK or the key is missing, or another run uses the folder.
    LiveError
        If the interface fails or the money does not reach; the folder keeps what was done.
    """
    if seeds < 1:
        raise InputError(f"seeds is {seeds}: give 1 or more")
    card = live_card(model, given_prices)
    name = interface or {"anthropic": "anthropic", "openai": "chat" if base_url else "responses"}.get(card.provider)
    spoken, purse, folder = api(name or "chat", base_url), Purse(spend, card), Path(out).expanduser()
    chosen = _chosen(configurations, spoken)
    folder.mkdir(parents=True, exist_ok=True)
    bound = card.provider != "" and cache_rules(model).thinking_bound
    runs = {
        name + (f" +{held:,}" if held else ""): (policy, held) for name, policy in chosen.items() for held in occupied
    }
    outcomes: dict[str, list[Outcome]] = {name: [] for name in runs}
    try:
        with FileLock(folder / ".lock", timeout=0):
            purse.spent = spent_in(folder, spoken, purse)
            for seed in range(seeds):
                for name, (policy, held) in runs.items():
                    log = Log(folder / f"{name.replace(' +', '-with-').replace(',', '')}-{seed}.jsonl")
                    before = len(log.entries)
                    made = live_run(seed, policy, spoken, model, log, purse, thinking_bound=bound, filler=held)
                    outcomes[name].append(made)
                    verdict = "passed" if made.passed else f"failed, {made.end}"
                    say(
                        f"seed {seed + 1} of {seeds}, {name}: {verdict}; {made.requests} requests, {before} of them "
                        f"kept from before; ${purse.spent:.2f} of ${spend:.2f} spent"
                    )
    except Timeout:
        raise InputError(f"another run uses {folder}: wait for it, or give another --out") from None
    except LiveError as error:
        done = sum(map(len, outcomes.values()))
        raise LiveError(f"{done} of {seeds * len(runs)} runs are done, in {folder}; {error}") from error
    finally:
        spoken.close()
    return Live(model, spoken.name, folder, seeds, purse.spent, {n: tuple(rows) for n, rows in outcomes.items()})


def live_or_simulated(
    model: str | None,
    seeds: int,
    curve: str | None,
    occupied: str | None,
    options: Mapping[str, Any],
    say: Callable[[str], None],
) -> Live | Benched | Budget:
    """What the command line asked for; ``options`` are those of a live run, by name, ``None`` if not given.

    Raises
    ------
    InputError
        If options of one kind are given for the other.
    """
    given = [name for name, value in options.items() if value is not None]
    held = None if occupied is None else occupancies(occupied)
    if model is None:
        if given:
            raise InputError(f"{', '.join(given)} is for a live run: give --live MODEL too, or leave it out")
        return benched(seeds, curve, say) if held is None else budgeted(seeds, curve, held, say)
    if curve is not None:
        raise InputError("--curve is the built-in agent's: a real model has its own recall, so leave it out")
    spend, out = options["--spend"], options["--out"]
    return live(
        model,
        seeds,
        say,
        interface=options["--api"],
        base_url=options["--base-url"],
        out="bench1-live" if out is None else out,
        spend=5.0 if spend is None else spend,
        configurations=options["--configurations"],
        given_prices=options["--prices"],
        occupied=held or (0,),
    )
