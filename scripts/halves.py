"""Choose a policy on one half of recorded sessions and score it on the other half; keep what came out.

    python scripts/halves.py FOLDER [--out FILE]

The sessions are those that ``scripts/claims.py`` takes: thirty requests or more, whole, with recorded usage that the
replay reproduces. ``data/results/halves.json`` is what it wrote; it holds sums over sessions and a digest of each
file, and nothing else of a session.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.errors import LabError
from labkit.files import atomic_write
from labkit.ladder.policy import Policy
from labkit.price.prices import Prices
from labkit.record.load import load
from labkit.replay.claims import READS, why_not
from labkit.replay.grids import grid
from labkit.replay.halves import halves, sweep_sessions

CLEAR = {
    "trigger": [20_000, 40_000, 60_000, 80_000, 100_000, 120_000],
    "keep": [1, 3, 5, 10, 20],
    "floor": [0, 5_000, 10_000, 20_000, 50_000],
}
COMPACT = [60_000, 80_000, 100_000, 120_000, 150_000]


def policies() -> list[Policy]:
    """Clearing, compacting as much as a summary of 4,000 tokens stands for, and an entry that lives an hour."""
    none = replace(Policy.nothing(), floor=0)
    some = grid(CLEAR, replace(none, compact_above=None))
    some += [replace(none, compact_above=above, keep_first=1) for above in COMPACT]
    return [*some, replace(none, lifetime="1h"), *(replace(none, keep_alive=n) for n in (1, 3))]


def words(policy: Policy) -> str:
    """What a policy does, in its own fields."""
    plain = replace(Policy.nothing(), floor=0)
    said = {name: value for name, value in vars(policy).items() if value != getattr(plain, name)}
    shown = {name.replace("_", " "): f"{v:,}" if isinstance(v, int) else str(v) for name, v in said.items()}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def main(argv: list[str] | None = None) -> int:
    """Sweep the sessions once for each price of a read, and print and keep the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    traces, digests, seen = [], [], set()
    for file in sorted(p for p in args.folder.rglob("*") if p.suffix in (".json", ".jsonl") and p.is_file()):
        try:
            trace = load(file)
            usage = tuple(request.usage for request in trace.requests)
            if usage not in seen and not why_not(trace):
                traces.append(trace)
                digests.append(hashlib.sha256(file.read_bytes()).hexdigest())
            seen.add(usage)
        except LabError:
            continue
    if len(traces) < 2:
        print(f"{len(traces)} sessions in {args.folder} can be replayed: give a folder with two or more")
        return 1
    some = policies()
    result: dict[str, Any] = {
        "as_of": datetime.date.today().isoformat(),
        "command": "python scripts/halves.py FOLDER --out data/results/halves.json",
        "sessions": len(traces),
        "requests": sum(len(trace.requests) for trace in traces),
        "sha256": sorted(digests),
        "policies": len(some),
        "reads": {},
    }
    for read in READS:
        found = halves(sweep_sessions(traces, some, Prices.from_multipliers(read=read)))
        named = [[words(some[policy - 1]) if policy else "do nothing", times] for policy, times in found.choices]
        result["reads"][f"{read:g}"] = {**found.to_json(), "choices": named}
        print(
            f"read {read:g}: {found.here:+.1%} where chosen, {found.there:+.1%} elsewhere "
            f"({found.low:+.1%} to {found.high:+.1%}), dearer in {found.dearer} of {found.splits}"
        )
        print("   " + "; ".join(f"{name} ({times})" for name, times in named[:4]), flush=True)
    if args.out:
        atomic_write(args.out, json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
