"""The store: compare-and-swap, history, killed writers, many writers, and disks that refuse."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.errors import InputError
from labkit.handoff.git_store import GitStore
from labkit.handoff.store import Conflict, JsonStore, StoreError
from labkit.ladder.artifact import Artifact, Completed, Open, digest, evidence_of
from labkit.record.trace import Block

LONG = bool(os.environ.get("LABKIT_LONG"))
WRITERS = Path(__file__).with_name("writers.py")
SEEN = Block("result", "tool", "3 passed", request=4, tool="run_tests", args="tests", call_id="c1")


def _git(folder: Path) -> GitStore:
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    return GitStore(folder)


@pytest.fixture(params=["json", "git"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> JsonStore | GitStore:
    return JsonStore(tmp_path / "sub" / "handoff.json") if request.param == "json" else _git(tmp_path)


def test_write_read_and_history(store: JsonStore | GitStore, first: Artifact) -> None:
    assert store.read() is None and store.history() == ()
    one = store.write(first, None)
    assert store.read() == first and one == first.content_sha256 and store.history() == ()
    assert store.write(first, one) == one  # the same again is no new version
    second = replace(first, status="blocked")
    two = store.write(second, one)
    back = store.write(first, two)
    assert back == one and store.read() == first
    assert [v.artifact for v in store.history()] == [first, second]
    assert all(abs(v.replaced - time.time()) < 600 for v in store.history())


def test_a_conflict_shows_both_sides(store: JsonStore | GitStore, first: Artifact) -> None:
    one = store.write(first, None)
    theirs = replace(first, open=(*first.open, Open("ask finance")))
    store.write(theirs, one)
    ours = replace(first, status="blocked")
    with pytest.raises(Conflict) as error:
        store.write(ours, one)
    assert error.value.ours == ours and error.value.theirs == theirs
    assert str(error.value) == (
        f"the record began from {one[:12]}, and {theirs.content_sha256[:12]} stands there now: "
        "read it, merge, and write again\n"
        "from theirs to ours:\n~ status: in_progress -> blocked\n- open: ask finance (open)"
    )
    assert store.read() == theirs
    with pytest.raises(Conflict, match="began from no record"):
        store.write(ours, None)


def test_a_record_that_was_expected_and_is_gone(tmp_path: Path, first: Artifact) -> None:
    with pytest.raises(Conflict, match="there is none any more") as error:
        JsonStore(tmp_path / "h.json").write(first, "0" * 64)
    assert error.value.theirs is None and not (tmp_path / "h.json").exists()


def test_update_reports_each_conflict(tmp_path: Path, first: Artifact) -> None:
    store = JsonStore(tmp_path / "h.json")
    store.write(first, None)
    between = iter(["x", "y"])

    def change(before: Artifact | None) -> Artifact:
        assert before is not None
        name = next(between, None)
        if name:  # somebody else is faster, twice
            store.write(replace(before, artifacts=(*before.artifacts, name)), before.content_sha256)
        return replace(before, open=(*before.open, Open("ours")))

    after, conflicts = store.update(change)
    assert after.artifacts == ("x", "y") and after.open[-1].step == "ours" and store.read() == after
    assert [c.theirs.artifacts for c in conflicts if c.theirs] == [("x",), ("x", "y")]
    between = iter("abc")
    with pytest.raises(Conflict):
        store.update(change, tries=3)


def test_completed_only_with_evidence_that_exists(store: JsonStore | GitStore, first: Artifact) -> None:
    one = store.write(first, None)
    done = replace(first, open=(), completed=(Completed("add a test", evidence_of(SEEN)),))
    with pytest.raises(InputError, match="'add a test' is completed newly: give seen="):
        store.write(done, one)
    with pytest.raises(InputError, match="there is no such result"):
        store.write(done, one, seen=[replace(SEEN, text="2 failed")])
    assert store.read() == first
    two = store.write(done, one, seen=[SEEN])
    # Written once, it was checked: the next session's trace need not hold it.
    store.write(replace(done, status="done"), two)
    blind = evidence_of(replace(SEEN, text="[cleared]", edited="clear"))
    assert blind.digest is None
    with pytest.raises(InputError, match="completed newly"):
        store.write(replace(done, completed=(Completed("add a test", blind),)), store.read().content_sha256)  # type: ignore[union-attr]


def test_evidence_without_a_digest_gets_one_from_the_trace(tmp_path: Path, first: Artifact) -> None:
    store = JsonStore(tmp_path / "h.json")
    blind = evidence_of(replace(SEEN, text="[cleared]", edited="clear"))
    store.write(replace(first, completed=(Completed("a", blind),)), None, seen=[SEEN])
    written = store.read()
    assert written is not None and written.completed[0].evidence.digest == digest("3 passed")


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b"\xff\xfe\x00", b'{"version": 2}', b'{"name": "other"}'])
def test_a_torn_or_foreign_file_is_left_alone(tmp_path: Path, first: Artifact, content: bytes) -> None:
    path = tmp_path / "h.json"
    path.write_bytes(content)
    store = JsonStore(path)
    for act in (store.read, lambda: store.write(first, None)):
        with pytest.raises(StoreError, match=r"h\.json"):
            act()
    assert path.read_bytes() == content


def test_a_record_changed_by_hand_is_refused(tmp_path: Path, first: Artifact) -> None:
    store = JsonStore(tmp_path / "h.json")
    one = store.write(first, None)
    path = tmp_path / "h.json"
    path.write_text(path.read_text().replace("Fix the total.", "Fix everything."))
    with pytest.raises(StoreError, match="changed by hand or is damaged"):
        store.write(first, one)


def test_another_branch_is_left_alone(tmp_path: Path, first: Artifact) -> None:
    store = _git(tmp_path)
    (tmp_path / "a.txt").write_text("x")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", str(tmp_path), "add", "."], check=True)
    subprocess.run(["git", "-C", str(tmp_path), *who, "commit", "-qm", "x"], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "branch", "other"], check=True)
    with pytest.raises(StoreError, match=r"the branch other holds no handoff\.json"):
        GitStore(tmp_path, "other").read()
    one = store.write(first, None)
    status = ["git", "-C", str(tmp_path), "status", "--porcelain"]
    assert subprocess.run(status, capture_output=True, check=True).stdout == b""
    subprocess.run(["git", "-C", str(tmp_path), "checkout", "-q", "handoff"], check=True)
    with pytest.raises(StoreError, match="is checked out"):
        store.write(replace(first, status="blocked"), one)
    with pytest.raises(StoreError, match="git rev-parse in"):
        GitStore(tmp_path.parent).read()


def test_git_moves_the_branch_only_from_where_it_was_read(tmp_path: Path, first: Artifact) -> None:
    """Another writer commits between our read and our update: git itself refuses."""
    store = _git(tmp_path)
    one = store.write(first, None)
    ours, theirs = replace(first, status="blocked"), replace(first, artifacts=("a.py",))

    class Slow(GitStore):
        def _try(self, *args: str) -> str | None:
            if args[0] == "update-ref":
                GitStore(tmp_path).write(theirs, one)
            return super()._try(*args)

    with pytest.raises(Conflict) as error:
        Slow(tmp_path).write(ours, one)
    assert error.value.theirs == theirs == store.read()


def test_git_says_what_is_in_the_way(tmp_path: Path, first: Artifact) -> None:
    """A writer that was killed leaves git's own lock; a lock that is gone at the second look is no error."""
    store = _git(tmp_path)
    one = store.write(first, None)
    lock = tmp_path / ".git" / "refs" / "heads" / "handoff.lock"
    lock.write_bytes(b"")
    with pytest.raises(StoreError, match=r"git update-ref in .*handoff\.lock"):
        store.write(replace(first, status="blocked"), one)
    assert store.read() == first

    class Brief(GitStore):
        def _try(self, *args: str) -> str | None:
            done = super()._try(*args)
            if args[0] == "update-ref":
                lock.unlink()
            return done

    two = Brief(tmp_path).write(replace(first, status="blocked"), one)
    now = store.read()
    assert now is not None and (now.status, now.content_sha256) == ("blocked", two)


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_refuses(tmp_path: Path, first: Artifact, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    store = JsonStore(tmp_path / "h.json")
    one = store.write(first, None)

    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("labkit.files.tempfile.mkstemp", refuse)
    with pytest.raises(StoreError, match="what was there is untouched"):
        store.write(replace(first, status="blocked"), one)
    assert store.read() == first
    monkeypatch.undo()
    store.write(replace(first, status="blocked"), one)
    assert [v.artifact for v in store.history()] == [first]  # kept twice, told once


def test_a_full_disk(tmp_path: Path, first: Artifact) -> None:
    """A process that may write no file over 20 KB writes a record of 40 KB."""
    store = JsonStore(tmp_path / "h.json")
    store.write(first, None)
    run = subprocess.run(
        [sys.executable, str(WRITERS), "limited", str(tmp_path / "h.json")], capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("StoreError") and "what was there is untouched" in run.stdout
    assert store.read() == first
    assert not list(tmp_path.glob(".h.json.*"))


def test_a_lock_that_is_held(tmp_path: Path, first: Artifact) -> None:
    from filelock import FileLock

    store = JsonStore(tmp_path / "h.json", wait=0.05)
    with FileLock(f"{tmp_path / 'h.json'}.lock"), pytest.raises(StoreError, match=r"locked for 0\.05 s"):
        store.write(first, None)


def test_a_torn_history_is_mended(tmp_path: Path, first: Artifact) -> None:
    store = JsonStore(tmp_path / "h.json")
    history = tmp_path / "h.json.history.jsonl"
    one = store.write(first, None)
    two = store.write(replace(first, status="blocked"), one)
    with history.open("ab") as file:
        file.write(b'{"replaced": 17, "artif')
    assert [v.artifact for v in store.history()] == [first]
    store.write(first, two)
    assert [v.artifact.status for v in store.history()] == ["in_progress", "blocked"]
    history.write_text("{}\n")
    with pytest.raises(StoreError, match="line 1 of"):
        store.history()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills by POSIX signals")
def test_killed_at_any_instant(tmp_path: Path) -> None:
    """What is on disk is always a whole record, the one before or the one after."""
    path, rng = tmp_path / "h.json", random.Random(5)
    store, last = JsonStore(path), 0
    command = [sys.executable, str(WRITERS), "killed", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        assert nursery.stdin is not None and nursery.stdout is not None
        kills, wanted = 0, 1_000 if LONG else 50
        # On a busy machine a writer gets less done before it is killed: then later, and more often.
        while kills < wanted or (last <= 10 and kills < 10 * wanted):
            kills += 1
            print(rng.random() * 0.03 * (1 + kills // wanted), file=nursery.stdin, flush=True)
            assert nursery.stdout.readline() == "killed\n"
            record = store.read()
            number = int(record.task.split()[1].rstrip(".")) if record else 0
            assert number >= last
            last = number
    assert last > 10
    numbers = [int(v.artifact.task.split()[1].rstrip(".")) for v in store.history()]
    assert numbers == list(range(1, last)), "each version that was replaced is in the history, once"


@pytest.mark.parametrize(("processes", "times"), [(4, 25), pytest.param(8, 500, marks=pytest.mark.long)])
def test_many_writers_lose_nothing(tmp_path: Path, first: Artifact, processes: int, times: int) -> None:
    store = JsonStore(tmp_path / "h.json")
    store.write(replace(first, open=()), None)
    running = [
        subprocess.Popen(
            [sys.executable, str(WRITERS), "count", str(tmp_path / "h.json"), f"p{k}", str(times)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for k in range(processes)
    ]
    said = [tuple(map(int, p.communicate()[0].split())) for p in running]
    assert all(p.returncode == 0 for p in running)
    record = store.read()
    assert record is not None
    # An update that was lost would be missing at the end: each writer counts on from what it reads.
    assert {o.step: o.request for o in record.open} == {f"p{k}": times for k in range(processes)}
    assert sum(conflicts for conflicts, _ in said) > 0, "they never met: the test shows nothing"
    # An attempt that wrote nothing was reported as a conflict.
    assert [attempts - conflicts for conflicts, attempts in said] == [times] * processes
    lines = (tmp_path / "h.json.history.jsonl").read_text().splitlines()
    written = [sum(o["request"] for o in json.loads(line)["artifact"]["open"]) for line in lines]
    assert written == list(range(processes * times))
