"""Hand off or compact on recorded sessions, side by side; keep what came out.

    python scripts/handoffs.py FOLDER [--above 60000] [--out FILE]

The sessions are those that ``scripts/claims.py`` takes, as far as they grow past the threshold.
``data/results/handoffs.json`` is what it wrote; it holds numbers and a digest of each file, and nothing else of a
session.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from labkit.errors import LabError
from labkit.files import atomic_write
from labkit.handoff.compare import compare
from labkit.price.prices import prices
from labkit.record.edits import unedited
from labkit.record.load import load
from labkit.replay.claims import why_not
from labkit.replay.isolation import recorded_sizes

NUMBERS = ("edits", "input", "breaks", "carried", "missing", "needed", "survives", "evidence")


def row(file: Path, above: int) -> dict[str, Any] | str:
    """A session's numbers, both ways, or why it is left out."""
    try:
        trace = load(file)
        reason = why_not(trace)
        if reason:
            return reason
        base = unedited(trace)
        sides = compare(base, above, prices("article"), sizes=recorded_sizes(trace, base))
    except LabError as error:
        return str(error)
    if not all(side.edits for side in sides):
        return f"never past {above:,} tokens"
    numbers = {
        side.name: {**{name: getattr(side, name) for name in NUMBERS}, "dollars": round(side.dollars, 4)}
        for side in sides
    }
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    return {"sha256": digest, "format": trace.source.partition(":")[0], "requests": len(trace.requests), **numbers}


def rows_of(folder: Path, above: int) -> list[dict[str, Any]]:
    """Every session of a folder that can be replayed, once; the others are named with the reason."""
    found: list[dict[str, Any]] = []
    for file in sorted(folder.rglob("*.jsonl")):
        made = row(file, above)
        twin = not isinstance(made, str) and any({**made, "sha256": 0} == {**other, "sha256": 0} for other in found)
        if isinstance(made, str) or twin:
            reason = made if isinstance(made, str) else "a checkpoint of a session that was read"
            print(f"{file.name}: left out: {reason[:100]}", flush=True)
            continue
        found.append(made)
        compacted, handed = made["compact"], made["hand off"]
        print(
            f"{file.name}: {made['requests']} requests; dollars {compacted['dollars']:.2f} and "
            f"{handed['dollars']:.2f}, carried {compacted['carried']:,} and {handed['carried']:,}, missing "
            f"{compacted['missing']} and {handed['missing']}; after a kill half way {handed['survives']} of "
            f"{handed['needed']} needed excerpts and {handed['evidence']} steps with evidence are on disk",
            flush=True,
        )
    return found


def content_hash(body: dict[str, Any]) -> str:
    """SHA-256 of the results, their hash left out."""
    plain = {key: value for key, value in body.items() if key != "hash"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def main(argv: list[str] | None = None) -> int:
    """Compare both ways on all sessions of a folder, and print and keep the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--above", type=int, default=60_000)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    found = rows_of(args.folder, args.above)
    if not found:
        print(f"no session of {args.folder} can be replayed and grows past {args.above:,} tokens")
        return 1
    body = {"command": f"python scripts/handoffs.py FOLDER --above {args.above}", "above": args.above, "rows": found}
    if args.out is not None:
        atomic_write(args.out, json.dumps({**body, "hash": content_hash(body)}, indent=1) + "\n")
    print(f"{len(found)} sessions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
