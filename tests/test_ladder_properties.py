"""What holds for every policy on every run: nothing is orphaned, counted twice, raised or done in silence."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from labkit.errors import EditRefused
from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import SUPERSEDED, Policy
from labkit.ladder.rungs import Summary, clear, message_starts, pair, stale_results
from labkit.ladder.summaries import ExtractiveSummarizer, SizedSummarizer
from labkit.record.tokens import MESSAGE_OVERHEAD
from labkit.record.trace import Block
from runs import exchanges, quarter

OVER = MESSAGE_OVERHEAD

clearing = {
    "window": st.none(),
    "trigger": st.sampled_from([1, 60, 200]),
    "strict": st.booleans(),
    "count_prefix": st.booleans(),
    "floor": st.sampled_from([0, 0, 20, 90]),
    "floor_is": st.sampled_from(["minimum", "target"]),
    "keep": st.none() | st.integers(0, 4) | st.integers(0, 120),
    "keep_by": st.sampled_from(["results", "groups", "user_turns", "tokens"]),
    "pinned": st.sampled_from([frozenset(), frozenset({"notes_read"})]),
    "pinned_take_keep": st.booleans(),
    "batch": st.integers(1, 3),
    "clear_inputs": st.sampled_from([frozenset(), frozenset({"*"}), frozenset({"run_tests"})]),
    "stub_text": st.sampled_from([None, "[cleared]"]),
    "stub_if_smaller": st.booleans(),
    "stub_chars": st.sampled_from([None, 10]),
}
clears = st.builds(Policy, **clearing, compact_above=st.none())
policies = st.builds(
    Policy,
    **clearing,
    remembers=st.booleans(),
    edits_at=st.sampled_from(["client", "server"]),
    cap=st.sampled_from([None, None, 5, 30]),
    cap_by=st.sampled_from(["tokens", "characters"]),
    cap_tail=st.sampled_from([0.0, 0.5, 1.0]),
    offload=st.booleans(),
    evict=st.frozensets(st.sampled_from(SUPERSEDED)),
    keep_thinking=st.sampled_from([None, 0, 1, 2]),
    compact_above=st.sampled_from([None, 1, 80]),
    keep_recent=st.integers(0, 30),
    keep_recent_by=st.sampled_from(["messages", "tokens"]),
    keep_first=st.integers(0, 3),
    trim=st.sampled_from([None, None, None, 0.0, 0.6, 1.0]),
    hand_off_above=st.sampled_from([None, None, 150]),
)


class Short:
    """A summarizer whose summaries are soon shorter than what they replace; it counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def summarize(self, blocks, notes):
        self.calls += 1
        return Summary(f"{len(blocks)} blocks up to turn {max(b.turn for b in blocks)}")


def sizes_of(blocks: list[Block]) -> list[int]:
    starts = message_starts(blocks)
    return [quarter(b.text) + (OVER if i in starts else 0) for i, b in enumerate(blocks)]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(exchanges(), clears)
def test_the_manager_clears_what_the_pure_rung_clears(parts, policy) -> None:
    manager = ContextManager("Be brief.", policy, count=quarter)
    prefix = quarter("Be brief.") + OVER
    context: list[Block] = []
    for part in parts:
        for block in part:
            manager.append(block)
        context = [*context, *part]
        seen = sum(sizes_of(context)) + (prefix if policy.count_prefix else 0)
        past = seen > policy.trigger if policy.strict else seen >= policy.trigger
        before = context
        if past and stale_results(context, policy, quarter):
            context = clear(context, policy, quarter)
        manager.step()
        assert manager.blocks() == context
        if context != before:
            event("cleared")


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(exchanges(), policies, st.sampled_from(["short", "extractive", "sized"]), st.sampled_from([None, 0, 400]))
def test_every_step_accounts_for_what_changed(parts, policy, who, idle) -> None:
    summarizer = {"short": Short(), "extractive": ExtractiveSummarizer(), "sized": SizedSummarizer(8, 0.1)}[who]
    manager = ContextManager("Be brief.", policy, summarizer, count=quarter)
    had: Counter[tuple[Block, int]] = Counter()
    before: list[tuple[Block, int]] = []
    total = quarter("Be brief.") + OVER
    for part in parts:
        new = sizes_of([*manager.blocks(), *part])[len(manager.blocks()) :]
        for block, size in zip(part, new, strict=True):
            manager.append(block, size)
        had.update(zip(part, new, strict=True))
        total += sum(new)
        step = manager.step(idle=idle)
        had.update(step.added)
        had.subtract(step.removed)
        total += sum(s for _, s in step.added) - sum(s for _, s in step.removed)
        assert step.total == manager.total() == total
        now = [(s.block, s.size) for s in manager._context.slots]
        assert +had == Counter(now)
        assert not -had
        # What is said to be shared is the same in both requests, and what is intact is intact.
        assert [b for b, _ in now[: step.intact]] == [b for b, _ in before[: step.intact]]
        assert step.shared == (quarter("Be brief.") + OVER if before else 0) + sum(s for _, s in before[: step.intact])
        if not step.events and policy.remembers:
            assert step.intact == len(before)
        for made in step.events:
            event(made.kind)
            assert made.freed == made.removed - made.added or made.messages == 0
            # A cap is made before anything is sent, and a hand off starts another conversation: the client's own.
            assert made.side == ("client" if made.kind in ("capped", "handed_off") else policy.edits_at)
        before = now


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(exchanges(), policies)
def test_no_call_and_no_result_is_ever_alone(parts, policy) -> None:
    manager = ContextManager(policy=policy, summarizer=Short(), count=quarter)
    said: list[Block] = []
    for part in parts:
        said += part
        for block in part:
            manager.append(block)
        manager.step()
        slots = manager._context.slots
        partner = pair(said)
        where = {id(s.block): s for s in slots}
        here = [s for s in slots if s.block.kind == "result" and s.call is not None]
        assert all(s.call.position >= 0 and slots[s.call.position] is s.call for s in here)
        if not any(s.block.edited for s in slots):
            assert all(id(said[c]) in where for r, c in partner.items() if id(said[r]) in where)
        results = {id(s.call) for s in here}
        answered = {id(said[c]) for c in partner.values()}
        assert all(id(s) in results for s in slots if s.block.kind == "call" and id(s.block) in answered)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(exchanges(), policies)
def test_a_policy_that_remembers_breaks_no_more_often_than_it_acts(parts, policy) -> None:
    policy = replace(policy, remembers=True)
    manager = ContextManager(policy=policy, summarizer=Short(), count=quarter)
    breaks = 0
    length = 0
    for part in parts:
        for block in part:
            manager.append(block)
        step = manager.step()
        breaks += step.intact < length
        length = step.blocks
    firings = {(e.request, e.kind) for e in manager.events if e.kind != "capped"}
    assert breaks <= len(firings)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(exchanges(), policies)
def test_no_rung_raises_the_total(parts, policy) -> None:
    policy = replace(policy, stub_if_smaller=True, remembers=True)
    manager = ContextManager(policy=policy, summarizer=Short(), count=quarter)
    plain = ContextManager(policy=Policy.nothing(), count=quarter)
    for part in parts:
        for block in part:
            manager.append(block)
            plain.append(block)
        assert manager.total() <= plain.total() or not manager.events
        standing = manager.total()
        step = manager.step()
        plain.step()
        assert step.total <= standing
        assert all(e.freed >= 0 for e in step.events)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(exchanges(), policies)
def test_history_goes_only_with_a_summary(parts, policy) -> None:
    summarizer = Short()
    manager = ContextManager(policy=policy, summarizer=summarizer, writer=summarizer, count=quarter)
    for part in parts:
        for block in part:
            manager.append(block)
        manager.step()
    replaced = sum(e.kind in ("compacted", "handed_off") and e.messages > 0 for e in manager.events)
    assert summarizer.calls >= replaced


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(exchanges(), policies)
def test_the_task_survives(parts, policy) -> None:
    manager = ContextManager(policy=policy, count=quarter)
    for part in parts:
        for block in part:
            manager.append(block)
        manager.step()
        assert any(parts[0][0].text.split("\n")[-1] in b.text for b in manager.blocks())


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(exchanges(), policies)
def test_the_newest_answer_keeps_its_thinking_or_goes_whole(parts, policy) -> None:
    manager = ContextManager(policy=policy, summarizer=Short(), count=quarter)
    for part in parts:
        for block in part:
            manager.append(block)
        manager.step()
        said = [b for b in part if b.role == "assistant"]
        here = {id(b) for b in manager.blocks()}
        thought = [b for b in said if b.kind == "thinking"]
        rest = [b for b in said if b.kind != "thinking"]
        # A call may stand without its arguments, and so as another block.
        if thought and rest and any(id(b) in here for b in rest):
            event("something of it stays")
            assert all(id(b) in here for b in thought)


@pytest.mark.parametrize("by", ["compact", "trim"])
@pytest.mark.parametrize(("messages", "stays"), [(1, True), (2, True), (3, True), (0, False)])
def test_a_cut_in_the_newest_answer(by, messages, stays) -> None:
    """Thinking, a call and its result: the cut falls behind the thinking, and moves in front of it."""
    policy = replace(Policy.nothing(), trigger=1, floor=0, keep=None)
    share = messages / 6
    policy = replace(policy, compact_above=1, keep_recent=messages) if by == "compact" else replace(policy, trim=share)
    manager = ContextManager(policy=policy, summarizer=Short(), count=quarter)
    asked = {"tool": "look", "call_id": "1"}
    thinking = Block("thinking", "assistant", "hm " * 40, 3)
    for block in (
        Block("text", "user", "The task. " * 40, 1),
        *(Block("text", who, "so it is " * 40, 2) for who in ("assistant", "user", "user")),
        thinking,
        Block("call", "assistant", "look()", 3, **asked),
        Block("result", "tool", "seen", 3, **asked),
    ):
        manager.append(block)
    blocks = manager.prepare()
    stays = stays and (by, messages) != ("trim", 1)  # a result without its call goes, and so all goes
    assert (thinking in blocks) == stays
    assert ({b.kind for b in blocks} >= {"call", "result"}) == stays


def test_the_summary_that_holds_the_task_is_not_trimmed() -> None:
    task, rest = (
        Block("text", "user", "The task. " * 40, 1),
        [Block("text", "user", f"and {n} " * 40, 2) for n in range(6)],
    )
    policy = replace(Policy.nothing(), trigger=1, floor=0, keep=None, compact_above=1, keep_recent=4, trim=0.4)
    manager = ContextManager(policy=policy, summarizer=Short(), count=quarter)
    for block in (task, *rest):
        manager.append(block)
    first, *others = manager.prepare()
    assert first.kind == "summary" and others == rest[-2:]
    kept = ContextManager(policy=replace(policy, keep_first=1), summarizer=Short(), count=quarter)
    for block in (task, *rest):
        kept.append(block)
    assert kept.prepare()[0] == task  # and then a summary is cut like the rest


def run_of(turns: int, size: int = 400) -> list[list[Block]]:
    """One user turn, then calls and results: an agent left alone with its task."""
    parts = [[Block("text", "user", "The task.", 1)]]
    for n in range(1, turns + 1):
        call = {"tool": "run_tests", "args": f"case {n}", "call_id": str(n)}
        parts.append(
            [
                Block("call", "assistant", f"run_tests(case {n})", n + 1, **call),
                Block("result", "tool", f"{n} " * (size // 2), n + 1, **call),
            ]
        )
    return parts


ALONE = {
    "cap": replace(Policy.nothing(), cap=20),
    "evict": replace(Policy.nothing(), evict=frozenset({"same_call"}), floor=0),
    "clear": replace(Policy.nothing(), trigger=300, floor=0),
    "thinking": replace(Policy.nothing(), trigger=300, floor=0, keep=None, keep_thinking=1),
    "compact": replace(Policy.nothing(), trigger=300, floor=0, keep=None, compact_above=300, keep_recent=4),
    "hand off": replace(Policy.nothing(), hand_off_above=300),
}
KINDS = {
    "cap": "capped",
    "evict": "evicted",
    "clear": "cleared",
    "thinking": "dropped_thinking",
    "compact": "compacted",
    "hand off": "handed_off",
}


@pytest.mark.parametrize("rung", ALONE)
def test_each_rung_acts_alone_on_a_run_with_one_user_turn(rung) -> None:
    manager = ContextManager(policy=ALONE[rung], count=quarter)
    for n, part in enumerate(run_of(12)):
        if n:
            manager.append(Block("thinking", "assistant", "thought " * 20, n + 1))
        for block in part:
            manager.append(replace(block, args="the same") if block.kind != "text" else block)
        manager.step()
    assert {e.kind for e in manager.events} == {KINDS[rung]}
    assert sum(e.freed for e in manager.events) > 0


@pytest.mark.parametrize("rung", ["evict", "clear", "compact"])
@pytest.mark.parametrize("side", ["client", "server"])
def test_an_edit_before_bound_thinking_is_refused_at_the_client(rung, side) -> None:
    manager = ContextManager(policy=replace(ALONE[rung], edits_at=side), count=quarter, thinking_bound=True)
    refused = False
    for n, part in enumerate(run_of(12)):
        if n:
            manager.append(Block("thinking", "assistant", "thought " * 20, n + 1))
        for block in part:
            manager.append(replace(block, args="the same") if block.kind != "text" else block)
        try:
            manager.step()
        except EditRefused:
            refused = True
    assert not any(e.kind == KINDS[rung] for e in manager.events) or side == "server"
    assert refused == (side == "client")
    assert bool(manager.events) == (side == "server")


def test_old_thinking_may_go_where_it_is_bound() -> None:
    """Dropping thinking from the start invalidates none of what follows."""
    manager = ContextManager(policy=ALONE["thinking"], count=quarter, thinking_bound=True)
    for n, part in enumerate(run_of(12)):
        if n:
            manager.append(Block("thinking", "assistant", f"thought {n} " * 20, n + 1))
        for block in part:
            manager.append(block)
        manager.step()
        kept = [b.text for b in manager.blocks() if b.kind == "thinking"]
        assert not n or kept[-1] == f"thought {n} " * 20
    assert len(kept) == 1
