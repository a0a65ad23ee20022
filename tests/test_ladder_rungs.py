"""Cap, evict, hand off and the gates, worked by hand: one character is one token, a message opens with 4."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.ladder.cap import capped
from labkit.ladder.context import Context
from labkit.ladder.evict import SHORT, Eviction
from labkit.ladder.manager import ContextManager
from labkit.ladder.offload import Offload
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summary
from labkit.ladder.summaries import SizedSummarizer
from labkit.record.formats.common import short_args
from labkit.record.trace import Block

NOTHING = Policy.nothing()


def manager_of(policy: Policy, **more: Any) -> ContextManager:
    return ContextManager(policy=policy, count=len, **more)


def use(manager: ContextManager, tool: str, args: str, result: str, id: str = "1") -> None:
    """A call of 10 characters and its result: 14 tokens, and the result's length + 4."""
    named = {"tool": tool, "args": args, "call_id": id}
    manager.append(Block("call", "assistant", "0123456789", **named))
    manager.append(Block("result", "tool", result, **named))


def results(manager: ContextManager) -> list[str]:
    return [b.text for b in manager.blocks() if b.kind == "result"]


# -- cap ----------------------------------------------------------------------------------------

LOG = "a" * 400 + "b" * 600


@pytest.mark.parametrize(
    ("tail", "text"),
    [
        (0.25, "a" * 15 + "\n[... 980 of 1,000 tokens left out ...]\n" + "b" * 5),
        (0.0, "a" * 20 + "\n[... 980 of 1,000 tokens left out ...]"),
        (1.0, "[... 980 of 1,000 tokens left out ...]\n" + "b" * 20),
    ],
)
def test_a_preview_is_head_and_tail_around_one_line(tail, text) -> None:
    policy = replace(NOTHING, cap=40, cap_preview=20, cap_tail=tail, offload=False)
    shaped = capped(Block("result", "tool", LOG, tool="run"), 1_000, policy, len)
    assert shaped == (Block("result", "tool", text, tool="run", edited="cap"), len(text))


@pytest.mark.parametrize(
    ("preview", "size", "is_capped"),
    # A preview of 200 and its line of words would be larger than a result of 201.
    [(20, 200, False), (20, 201, True), (None, 201, False), (None, 300, True)],
)
def test_a_cap_is_passed_and_not_met(preview, size, is_capped) -> None:
    policy = replace(NOTHING, cap=200, cap_preview=preview, offload=False)
    shaped = capped(Block("result", "tool", "a" * size), size, policy, len)
    assert (shaped is not None) == is_capped


def test_a_tool_has_a_cap_of_its_own() -> None:
    policy = replace(NOTHING, cap=500, cap_preview=10, cap_of={"read": None, "run": 90}, offload=False)
    for tool, size, is_capped in (("read", 900, False), ("run", 100, True), ("grep", 400, False), ("grep", 600, True)):
        shaped = capped(Block("result", "tool", "a" * size, tool=tool), size, policy, len)
        assert (shaped is not None) == is_capped


@pytest.mark.parametrize("offload", [True, False])
def test_a_cap_acts_before_any_request(offload, tmp_path: Path) -> None:
    store = Offload(tmp_path)
    manager = manager_of(replace(NOTHING, cap=40, cap_preview=20, offload=offload), offload=store.keep)
    use(manager, "run", "tests", LOG)
    (preview,) = results(manager)
    step = manager.step()
    (event,) = step.events
    assert (event.kind, event.request, event.unread, event.offloaded) == ("capped", 1, 1, int(offload))
    assert (event.removed, event.added) == (1_004, len(preview) + 4)
    assert event.freed == 1_000 - len(preview)
    assert manager.total() == step.total == 14 + len(preview) + 4
    if offload:
        path = preview.split("the whole result is in ")[1].split(" ...]")[0]
        assert store.read(path) == LOG
    else:
        assert not list(tmp_path.iterdir())
    use(manager, "run", "more", "short")
    after = manager.step()
    assert after.intact == 2 and after.shared == step.total  # what was sent was never edited


# -- evict --------------------------------------------------------------------------------------

SAME = "[superseded: read_file(a.py); the same call was made again.]"
EDITED = "[superseded: read_file(a.py); the file was changed since.]"
WIDER = "[superseded: Read(file_path=a.py, offset=5); a later read shows all of it.]"


def test_the_same_call_again_supersedes_the_first() -> None:
    manager = manager_of(replace(NOTHING, evict={"same_call"}, floor=0, edits_at="server"), system="x" * 96)
    use(manager, "read_file", "a.py", "1" * 300)
    manager.step()
    use(manager, "read_file", "b.py", "2" * 300)
    assert manager.step().events == ()
    use(manager, "read_file", "a.py", "3" * 300)
    step = manager.step()
    assert results(manager) == [SAME, "2" * 300, "3" * 300]
    (event,) = step.events
    assert (event.kind, event.messages, event.unread, event.side) == ("evicted", 1, 0, "server")
    assert (event.removed, event.added, event.freed) == (304, len(SAME) + 4, 300 - len(SAME))
    # The prompt of 100 and the first call of 14 still stand; the first result was edited.
    assert event.kept_prefix == step.shared == 114
    assert step.intact == 1


def test_superseded_results_wait_for_the_floor() -> None:
    gain = 300 - len(SAME)
    manager = manager_of(replace(NOTHING, evict={"same_call"}, floor=2 * gain))
    made = []
    for text in "1234":
        use(manager, "read_file", "a.py", text * 300)
        made.append([e.messages for e in manager.step().events])
    assert made == [[], [], [2], []]
    assert results(manager) == [SAME, SAME, "3" * 300, "4" * 300]


def test_a_result_that_no_request_has_carried_is_not_evicted_yet() -> None:
    manager = manager_of(replace(NOTHING, evict={"same_call"}, floor=0))
    use(manager, "read_file", "a.py", "1" * 300, "x")
    use(manager, "read_file", "a.py", "2" * 300, "y")
    assert manager.step().events == ()
    assert [e.messages for e in manager.step().events] == [1]
    assert results(manager) == [SAME, "2" * 300]


@pytest.mark.parametrize(("said", "stands"), [("done", EDITED), ("ValueError: no such line", "1" * 300)])
def test_a_read_is_overtaken_by_an_edit_that_worked(said, stands) -> None:
    manager = manager_of(replace(NOTHING, evict={"edited"}, floor=0))
    use(manager, "read_file", "a.py", "1" * 300)
    use(manager, "read_file", "b.py", "2" * 300)
    manager.step()
    use(manager, "edit_file", "a.py, new text", said)
    manager.step()
    assert results(manager) == [stands, "2" * 300, said]


def test_a_whole_read_overtakes_a_part_and_not_the_other_way() -> None:
    manager = manager_of(replace(NOTHING, evict={"wider_read"}, floor=0))
    for args, text in (("file_path=a.py, offset=5", "1"), ("file_path=a.py", "2"), ("file_path=a.py, offset=9", "3")):
        use(manager, "Read", args, text * 300)
        manager.step()
    assert results(manager) == [WIDER, "2" * 300, "3" * 300]


@pytest.mark.parametrize("whole_read_between", [True, False])
def test_an_edit_overtakes_reads_of_parts_as_well(whole_read_between) -> None:
    manager = manager_of(replace(NOTHING, evict={"edited"}, floor=0))
    use(manager, "Read", "file_path=a.py, offset=5", "1" * 300)
    if whole_read_between:
        use(manager, "Read", "file_path=a.py", "2" * 300)
    manager.step()
    use(manager, "Edit", "file_path=a.py", "done")
    (event,) = manager.step().events
    assert event.messages == 1 + whole_read_between
    assert all(text.endswith("the file was changed since.]") for text in results(manager)[:-1])


FILE = '{"file_path": "/a.py"}'


def part(first: int, lines: int) -> str:
    return f'{{"file_path": "/a.py", "offset": {first}, "limit": {lines}}}'


@pytest.mark.parametrize(
    ("rule", "first", "second", "gone"),
    [
        ("wider_read", ("Read", part(5, 10)), ("Read", part(1, 100)), True),
        ("wider_read", ("Read", part(5, 10)), ("Read", part(5, 10)), True),
        ("wider_read", ("Read", part(5, 10)), ("Read", part(6, 100)), False),
        ("wider_read", ("Read", part(5, 10)), ("Read", part(1, 13)), False),
        ("wider_read", ("Read", part(5, 10)), ("Read", FILE), True),
        ("wider_read", ("Read", FILE), ("Read", part(1, 100)), False),
        (
            "wider_read",
            ("view", "path=/a.py, start_line=5, end_line=9"),
            ("view", "path=/a.py, start_line=1, end_line=9"),
            True,
        ),
        (
            "wider_read",
            ("Read", '{"path": "/a.py", "limit": Infinity}'),
            ("Read", '{"path": "/a.py", "limit": NaN}'),
            False,
        ),
        ("wider_read", ("Read", '{"path": "/a.py", "limit": [1]}'), ("Read", part(1, 9)), False),
        (
            "wider_read",
            ("view", '{"path": "/a.py", "view_range": [5, 9]}'),
            ("view", '{"path": "/a.py", "view_range": [1, -1]}'),
            True,
        ),
        ("edited", ("Read", FILE), ("str_replace_editor", '{"command": "insert", "path": "/a.py"}'), True),
        ("edited", ("Read", FILE), ("str_replace_editor", '{"command": "view", "path": "/a.py"}'), False),
        ("same_call", ("run", '{"a": 1, "b": 2}'), ("run", '{"b": 2, "a": 1}'), True),
        ("same_call", ("run", '{"a": 1, "b": 2}'), ("run", '{"b": 1, "a": 2}'), False),
        ("same_call", ("run", '{"a": 1,'), ("run", '{"a": 1,'), True),
    ],
)
def test_what_overtakes_what(rule, first, second, gone) -> None:
    manager = manager_of(replace(NOTHING, evict={rule}, floor=0))
    use(manager, *first, "r" * 300)
    manager.step()
    use(manager, *second, "s" * 300, "2")
    manager.step()
    assert [e.kind for e in manager.events] == ["evicted"] * gone


@pytest.mark.parametrize(
    ("rule", "call", "result"),
    [
        ("edited", ("Edit", FILE), "<tool_use_error>String to replace not found in file."),
        ("edited", ("Edit", FILE), "No replacement was performed, old_str did not appear."),
        ("edited", ("Edit", FILE), "OSError: disk full"),
        ("same_call", ("Read", FILE), "File unchanged since last read. It is still current."),
        ("wider_read", ("Read", '{"file_path": "/a.py", "pages": null}'), "<tool_use_error>File does not exist."),
    ],
)
def test_what_failed_or_shows_nothing_overtakes_nothing(rule, call, result) -> None:
    manager = manager_of(replace(NOTHING, evict={rule}, floor=0))
    use(manager, "Read", FILE if rule != "wider_read" else part(5, 10), "r" * 300)
    manager.step()
    use(manager, *call, result, "2")
    manager.step()
    assert manager.events == []
    use(manager, *call, "ok, and here it is: Errors are none", "3")  # the same once more, and it works
    manager.step()
    assert [e.kind for e in manager.events] == ["evicted"]


LONG = "/home/somebody/" + "folder/" * 14


@pytest.mark.parametrize(
    ("rule", "tool", "args", "calls", "gone"),
    [
        ("same_call", "run", "x" * 117 + "...", ("xx1", "xx2"), False),
        ("same_call", "run", "x" * 117 + "...", ("xx1", "xx1"), True),
        ("same_call", "run", "x" * 120, ("xx1", "xx2"), False),
        ("same_call", "run", "", ("run()", "run()"), True),
        ("same_call", "run", None, ("run(1)", "run(2)"), False),
        # The first line stands behind the cut: it may be a part, and so is no read of all of it.
        ("wider_read", "Read", f"file_path={LONG}..., "[:117] + "...", ("a", "b"), False),
        ("wider_read", "Read", f"file_path=/a.py, pages={LONG}"[:117] + "...", ("a", "b"), False),
    ],
)
def test_arguments_that_were_cut_short_are_not_all_of_them(rule, tool, args, calls, gone) -> None:
    manager = manager_of(replace(NOTHING, evict={rule}, floor=0))
    if rule == "wider_read":
        use(manager, "Read", part(5, 10), "r" * 300, "0")
    for n, text in enumerate(calls, start=1):
        named = {"tool": tool, "args": args, "call_id": str(n)}
        manager.append(Block("call", "assistant", text, **named))
        manager.append(Block("result", "tool", "r" * 500, **named))
        manager.step()
    assert [e.kind for e in manager.events] == ["evicted"] * gone


def test_an_edit_overtakes_a_part_that_a_wider_one_did() -> None:
    """The floor kept it in place, and so it goes with the edit at the latest."""
    manager = manager_of(replace(NOTHING, evict={"edited"}, floor=0))
    for n, args in enumerate((part(5, 10), part(1, 100))):
        use(manager, "Read", args, "r" * 300, str(n))
    manager.step()
    use(manager, "Edit", FILE, "ok", "9")
    manager.step()
    assert [(e.kind, e.messages) for e in manager.events] == [("evicted", 2)]


def test_what_evict_leaves_alone() -> None:
    policy = replace(NOTHING, evict={"same_call"}, floor=0, pinned={"notes_read"})
    manager = manager_of(policy)
    for text in "12":
        use(manager, "notes_read", "all", text * 300)  # pinned
        use(manager, "read_file", "a.py", text * len(SAME))  # a stub would be no smaller
        manager.step()
    assert manager.events == []


def test_evict_looks_at_each_read_once(monkeypatch) -> None:
    looked = 0
    plain = Eviction._supersede

    def counting(self, slot, why) -> None:
        nonlocal looked
        looked += 1
        plain(self, slot, why)

    monkeypatch.setattr(Eviction, "_supersede", counting)
    manager = manager_of(replace(NOTHING, evict={"wider_read"}, floor=0))
    for n in range(200):
        use(manager, "Read", f"file_path=a.py, offset={n}" if n % 2 else "file_path=a.py", "1" * 300)
        manager.step()
    assert looked == 99  # each part but the last, which no whole read follows


def test_dropping_thinking_walks_over_the_end_alone(monkeypatch) -> None:
    moved = 0
    plain = Context._place

    def counting(self, first, slots) -> None:
        nonlocal moved
        moved += len(slots)
        plain(self, first, slots)

    monkeypatch.setattr(Context, "_place", counting)
    manager = manager_of(replace(NOTHING, trigger=1, floor=0, keep=None, keep_thinking=1))
    for n in range(200):
        manager.append(Block("thinking", "assistant", f"thought {n}"))
        use(manager, "run", str(n), "ok")
        manager.step()
    assert moved == 199 * 5  # behind each thought: its call and result, and the newest three


# -- hand off -----------------------------------------------------------------------------------


class Record:
    """Writes the same record of everything, and keeps what it was shown."""

    def __init__(self, text: str = "the record") -> None:
        self.text = text
        self.shown: list[str] = []

    def summarize(self, blocks, notes):
        self.shown = [b.text for b in blocks]
        return Summary(self.text + notes)


def test_a_hand_off_starts_from_the_record_and_from_what_nobody_read() -> None:
    writer = Record()
    manager = manager_of(
        replace(NOTHING, hand_off_above=500), system="x" * 96, writer=writer, read_notes=lambda: " and notes"
    )
    manager.append(Block("text", "user", "The task."))
    use(manager, "run", "tests", "1" * 300)
    assert manager.step().events == ()  # 100 + 13 + 14 + 304 = 431
    use(manager, "run", "more", "2" * 100)
    step = manager.step()  # 431 + 14 + 104 = 549
    assert writer.shown == ["The task.", "0123456789", "1" * 300]
    assert [b.text for b in manager.blocks()] == ["the record and notes", "0123456789", "2" * 100]
    (event,) = step.events
    assert (event.kind, event.messages, event.removed, event.added) == ("handed_off", 3, 331, 24)
    assert (event.freed, event.unread, event.kept_prefix) == (307, 0, 100)
    assert step.total == 100 + 24 + 14 + 104
    assert step.shared == 100 and step.intact == 0


def test_a_result_takes_its_call_into_the_fresh_context() -> None:
    manager = manager_of(replace(NOTHING, hand_off_above=200), writer=Record("r"))
    manager.append(Block("text", "user", "u" * 300))
    manager.append(Block("call", "assistant", "call a", tool="run", call_id="a"))
    manager.step()
    # The call was sent, or so the record says; its result is new.
    manager.append(Block("result", "tool", "result a", tool="run", call_id="a"))
    manager.step()
    assert [b.text for b in manager.blocks()] == ["r", "call a", "result a"]


def test_a_record_that_is_no_smaller_is_not_used() -> None:
    manager = manager_of(replace(NOTHING, hand_off_above=50), writer=Record("r" * 100))
    manager.append(Block("text", "user", "u" * 100))
    manager.step()
    manager.append(Block("text", "assistant", "so"))
    assert manager.step().events == ()
    assert [b.text for b in manager.blocks()] == ["u" * 100, "so"]


# -- gates --------------------------------------------------------------------------------------

CLEARS = replace(NOTHING, keep=0, floor=0, stub_text="[cleared]")


@pytest.mark.parametrize(
    ("policy", "acts"),
    [
        # The prompt is 100; two calls of 14 and two results of 104 are 236.
        ({"trigger": 335}, True),
        ({"trigger": 336}, False),
        ({"trigger": 336, "strict": False}, True),
        ({"trigger": 337, "strict": False}, False),
        ({"trigger": 235, "count_prefix": False}, True),
        ({"trigger": 236, "count_prefix": False}, False),
        ({"trigger": 1, "trigger_by": "tool_uses"}, True),
        ({"trigger": 2, "trigger_by": "tool_uses"}, False),
        ({"trigger": 2, "trigger_by": "tool_uses", "strict": False}, True),
        ({"trigger": 0.5, "trigger_by": "fraction", "window": 671}, True),
        ({"trigger": 0.5, "trigger_by": "fraction", "window": 672}, False),
        ({"trigger": 0.5, "trigger_by": "fraction", "window": 672, "strict": False}, True),
    ],
    ids=str,
)
def test_the_trigger_to_the_token(policy, acts) -> None:
    manager = manager_of(replace(CLEARS, **policy), system="x" * 96)
    use(manager, "run", "a", "1" * 100)
    use(manager, "run", "b", "2" * 100)
    assert manager.total() == 336
    assert [e.messages for e in manager.step().events] == ([2] if acts else [])


@pytest.mark.parametrize(
    ("known", "acts"),
    [
        ({}, False),
        ({"idle": 300}, False),
        ({"idle": 301}, True),
        ({"warm": 50}, False),
        ({"warm": 0}, True),
        ({"idle": 301, "warm": 50}, True),
    ],
    ids=str,
)
@pytest.mark.parametrize("rung", ["cleared", "evicted"])
def test_only_cold(known, acts, rung) -> None:
    more = {"trigger": 1} if rung == "cleared" else {"evict": {"same_call"}}
    manager = manager_of(replace(CLEARS, **more, only_cold=300))
    use(manager, "run", "a", "1" * 100)
    manager.step()
    use(manager, "run", "a", "2" * 100)
    assert {e.kind for e in manager.step(**known).events} == ({rung} if acts else set())


@pytest.mark.parametrize(("before_pause", "above", "acts"), [(True, 331, True), (True, 332, False), (False, 1, False)])
def test_compact_before_a_pause(before_pause, above, acts) -> None:
    policy = replace(NOTHING, compact_before_pause=True, compact_above=above, keep_recent=2, floor=0)
    manager = manager_of(policy, summarizer=Record("s"))
    for text in "12":
        use(manager, "run", text, text * 148)
    assert manager.total() == 332
    made = manager.step(before_pause=before_pause).events
    assert [(e.kind, e.messages, e.freed, e.unread) for e in made] == ([("compacted", 2, 161, 1)] if acts else [])


def test_a_call_that_nobody_will_answer_does_not_hold_the_hand_off() -> None:
    """Request 2 leaves a call without a result and the user speaks past it: later hand-offs take it along."""
    manager = ContextManager(
        policy=replace(Policy.nothing(), hand_off_above=300), summarizer=SizedSummarizer(10), count=len
    )
    manager.append(Block("text", "user", "t" * 50, 1))
    manager.step()
    manager.append(Block("call", "assistant", "c" * 20, 2, tool="ask", args="x", call_id="lost"))
    manager.append(Block("text", "user", "never mind " * 5, 2))
    manager.step()
    for n in range(3, 12):
        manager.append(Block("text", "assistant", f"{n} " * 50, n))
        manager.step()
        assert manager.total() <= 300 + 110
    assert sum(e.kind == "handed_off" for e in manager.events) >= 3


def test_the_readers_cut_arguments_where_evict_thinks_they_do() -> None:
    assert len(short_args({"command": "x" * 500})) == SHORT
    assert short_args({"command": "x" * 500}).endswith("...")
