"""Programs that a test starts, kills or runs side by side: ``python writers.py killed|count|limited PATH ...``."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from labkit.handoff.store import JsonStore
from labkit.ladder.artifact import Artifact, Carried, Open


def big(number: int) -> Artifact:
    """A record of some 40 KB, so that a write takes long enough to be hit."""
    return Artifact(f"Task {number}.", "g", carried=(Carried("notes", f"{number} " * 20_000),))


def forever(path: str) -> None:
    store = JsonStore(path)
    before = store.read()
    number = int(before.task.split()[1].rstrip(".")) if before else 0
    expected = before.content_sha256 if before else None
    while True:
        number += 1
        expected = store.write(big(number), expected)


def killed(path: str) -> None:
    """For each number of seconds that is read: start a writer, kill it after them, and say so."""
    Artifact.from_json(big(0).to_json())  # import what it needs before the first is killed
    JsonStore(f"{path}.other").write(big(0), None)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            forever(path)
        time.sleep(float(line))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print("killed", flush=True)


def count(path: str, name: str, times: str) -> None:
    """Count one up in a step of its own each time, and say how many conflicts there were, in how many attempts."""
    store, conflicts, attempts = JsonStore(path), 0, 0

    def up(before: Artifact | None) -> Artifact:
        nonlocal attempts
        attempts += 1
        assert before is not None
        steps = {o.step: o for o in before.open}
        steps[name] = Open(name, request=((steps[name].request or 0) if name in steps else 0) + 1)
        return replace(before, open=tuple(steps.values()))

    for _ in range(int(times)):
        conflicts += len(store.update(up, tries=1_000_000)[1])
    print(conflicts, attempts)


def limited(path: str) -> None:
    """Write with room for 20 KB a file: a full disk, as far as the program can tell."""
    import resource

    store = JsonStore(path)
    before = store.read()
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        store.write(big(2), before.content_sha256 if before else None)
    except Exception as error:
        print(type(error).__name__, error)
    print(sorted(p.name for p in Path(path).parent.iterdir()))


if __name__ == "__main__":
    {"killed": killed, "count": count, "limited": limited}[sys.argv[1]](*sys.argv[2:])
