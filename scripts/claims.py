"""Put claims about context policies to the test on recorded sessions, and print what came out.

    python scripts/claims.py PATH [PATH ...]

A path is a session, or a folder whose sessions are all read. See :mod:`labkit.replay.claims` for what is tried.
"""

from __future__ import annotations

import sys
from pathlib import Path

from labkit.errors import LabError
from labkit.record.load import load
from labkit.replay.claims import claim_lines, outcomes, why_not


def main(paths: list[str]) -> int:
    """Print a table over all sessions that can be replayed, and why the others cannot."""
    files = [f for p in map(Path, paths) for f in (sorted(p.rglob("*.jsonl")) if p.is_dir() else [p])]
    found, seen = [], {}
    for file in files:
        try:
            trace = load(file)
            # Checkpoints of one session lie in several files, and would count twice.
            twin = seen.setdefault(tuple(request.usage for request in trace.requests), file.name)
            reason = why_not(trace) or ("" if twin == file.name else f"the same requests as {twin}")
            if not reason:
                found.append(outcomes(trace))
        except LabError as error:
            reason = str(error)
        told = f"left out: {reason[:120]}" if reason else f"{len(trace.requests)} requests"
        print(f"{file.name}: {told}", flush=True)
    if not found:
        print("no session can be replayed: give a folder of recorded sessions")
        return 1
    print(f"\n{len(found)} sessions; net saving against doing nothing, charges for reading again included\n")
    print("\n".join(claim_lines(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
