"""The manager does incrementally what the pure rungs do, and accounts for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from labkit.errors import ContextOverflow, EditRefused
from labkit.ladder.manager import ContextManager
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import Summary, clear, compact, message_starts, pair, summary_cut
from labkit.ladder.summaries import ExtractiveSummarizer
from labkit.record.tokens import MESSAGE_OVERHEAD
from labkit.record.trace import Block, Usage
from runs import exchanges, quarter

OVER = MESSAGE_OVERHEAD

policies = st.builds(
    Policy,
    window=st.none(),
    trigger=st.sampled_from([1, 60, 200]),
    floor=st.sampled_from([0, 0, 20, 90]),
    keep=st.integers(0, 4),
    compact_above=st.sampled_from([None, 1, 80, 200]),
    keep_recent=st.integers(0, 5),
    pinned=st.sampled_from([frozenset(), frozenset({"notes_read"})]),
    stub_if_smaller=st.booleans(),
    stub_chars=st.sampled_from([None, 10]),
)


class Short:
    """A summarizer whose summaries get shorter than what they replace soon."""

    def summarize(self, blocks, notes):
        return Summary(f"20 to say {len(blocks)} blocks up to turn {max(b.turn for b in blocks)}")


def sizes_of(blocks: list[Block]) -> list[int]:
    starts = message_starts(blocks)
    return [quarter(b.text) + (OVER if i in starts else 0) for i, b in enumerate(blocks)]


@dataclass
class ByTheRungs:
    """The ladder written with the pure rungs: counts everything again at every request."""

    policy: Policy
    summarizer: object
    prefix: int
    wait: int = 0

    def request(self, blocks: list[Block]) -> list[Block]:
        policy = self.policy
        if self.prefix + sum(sizes_of(blocks)) <= policy.trigger:
            return blocks
        blocks = clear(blocks, policy, quarter)
        if policy.compact_above is None or self.prefix + sum(sizes_of(blocks)) <= policy.compact_above:
            return blocks
        cut = summary_cut(blocks, policy.keep_recent)
        weight = sum(sizes_of(blocks[:cut]))
        if cut == 0 or weight < max(policy.floor, self.wait):
            return blocks
        after = compact(blocks, policy, self.summarizer, "", quarter)
        # A summary that was no smaller is not tried again before there is a quarter more to summarize.
        self.wait = weight + max(policy.floor, weight // 4, 1) if after == blocks else 0
        return after


@given(exchanges(), policies, st.sampled_from([Short(), ExtractiveSummarizer()]), st.booleans())
def test_the_manager_equals_the_rungs(parts, policy, summarizer, explicit) -> None:
    manager = ContextManager("Be brief.", policy, summarizer, count=quarter)
    oracle = ByTheRungs(policy, summarizer, quarter("Be brief.") + OVER)
    context: list[Block] = []
    for part in parts:
        before = list(context)
        sizes = sizes_of([*context, *part])[len(context) :]
        for block, size in zip(part, sizes, strict=True):
            manager.append(block, size if explicit else None)
        appended = [*context, *part]
        context = oracle.request(appended)
        step = manager.step()
        assert manager.blocks() == context
        # The step accounts for what happened, to the token.
        assert step.total == manager.total() == oracle.prefix + sum(sizes_of(context))
        assert step.shared == shared(oracle.prefix, before, context)
        had = Counter(zip(appended, sizes_of(appended), strict=True))
        had.update(step.added)
        had.subtract(step.removed)
        assert +had == Counter(zip(context, sizes_of(context), strict=True))
        assert not -had
        assert sum(e.freed for e in step.events) == sum(sizes_of(appended)) - sum(sizes_of(context))
        if step.events:
            event(" and ".join(e.kind for e in step.events))
            assert {e.request for e in step.events} == {step.request}


def shared(prefix: int, before: list[Block], after: list[Block]) -> int:
    """Tokens at the start of both requests; nothing is shared with a request that was not made."""
    if not before:
        return 0
    total = prefix
    for a, b, size in zip(before, after, sizes_of(before), strict=False):
        if (a.role, a.text) != (b.role, b.text):
            break
        total += size
    return total


@given(exchanges(), policies)
def test_no_call_and_no_result_is_ever_alone(parts, policy) -> None:
    manager = ContextManager(policy=policy, count=quarter)
    said: list[Block] = []
    for part in parts:
        said += part
        for block in part:
            manager.append(block)
        blocks = manager.prepare()
        partner = {}
        for r, c in pair(said).items():
            partner[key(said[r])], partner[key(said[c])] = key(said[c]), key(said[r])
        here = {key(b) for b in blocks if b.kind in ("call", "result")}
        assert all(partner.get(k) in here for k in here if k in partner)


def key(block: Block) -> tuple[object, ...]:
    """A result keeps it when its text is cleared; a call's own text tells it from others."""
    return block.kind, block.request, block.call_id, block.text if block.kind == "call" else block.message


@given(exchanges(), policies)
def test_clearing_keeps_the_newest_results(parts, policy) -> None:
    policy = replace(policy, compact_above=None)
    manager = ContextManager(policy=policy, count=quarter)
    said: list[Block] = []
    for part in parts:
        said += part
        for block in part:
            manager.append(block)
        now = manager.prepare()
        assert [(b.kind, b.tool, b.args, b.call_id) for b in now] == [(b.kind, b.tool, b.args, b.call_id) for b in said]
        assert all(n == b for n, b in zip(now, said, strict=True) if b.kind != "result")
        results = [i for i, b in enumerate(said) if b.kind == "result" and b.tool not in policy.pinned]
        assert all(now[i] == said[i] for i in results[max(len(results) - policy.keep, 0) :])


# -- exact numbers ------------------------------------------------------------------------------------


def weigh(text: str) -> int:
    """``"100 a"`` weighs 100; a stub 10, a summary 20."""
    head = text.split(" ", 1)[0]
    if text.startswith("[cleared"):
        return 10
    return int(head) if head.isdigit() else 20


def result(text: str, request: int = 0, tool: str = "read_file") -> Block:
    return Block("result", "tool", text, request, tool=tool, args="app.log")


def said(text: str, role: str = "user", request: int = 0) -> Block:
    return Block("text", role, text, request)  # type: ignore[arg-type]


def test_clear_by_hand() -> None:
    policy = Policy(trigger=300, floor=150, keep=1, compact_above=None)
    manager = ContextManager("100 system", policy, count=weigh)
    assert manager.total() == 104
    manager.append(said("46 task"))
    manager.append(result("96 a"))  # 104 + 50 + 100
    assert manager.step().total == 254
    manager.append(result("96 b"))
    step = manager.step()
    assert (step.total, step.shared, step.events) == (354, 254, ()), "one stale result frees 86, under the floor"
    manager.append(result("96 c"))
    step = manager.step()  # a and b become stubs of 14
    assert (step.total, step.shared) == (454 - 172, 154)
    assert str(step.events[0]) == "request 3: cleared 2 tool results (-172)"
    assert step.events[0].unread == 0
    assert [size for _, size in step.removed] == [100, 100]
    assert [size for _, size in step.added] == [14, 14]


def test_a_result_cleared_before_it_was_read_is_counted() -> None:
    manager = ContextManager(policy=Policy(trigger=100, floor=0, keep=0, compact_above=None), count=weigh)
    manager.append(result("200 a"))
    assert manager.step().events[0].unread == 1
    # Under the trigger the next result is carried whole once, and cleared after that.
    manager.append(result("50 b"))
    assert manager.step().events == ()
    manager.append(said("96 more"))
    assert manager.step().events[0].unread == 0


def test_compact_by_hand() -> None:
    policy = Policy(trigger=300, floor=150, keep=9, compact_above=200, keep_recent=1)
    manager = ContextManager("100 system", policy, Short(), count=weigh)
    for text in ("46 task", "96 a", "96 b"):
        manager.append(said(text))
    step = manager.step()  # 104 + 50 + 100 + 100: the first two weigh 150 and become a summary of 24
    assert (step.total, step.shared) == (104 + 24 + 100, 0)
    assert str(step.events[0]) == "request 1: compacted 2 messages (-126)"
    assert [b.kind for b in manager.blocks()] == ["summary", "text"]


def test_overflow() -> None:
    manager = ContextManager(policy=Policy(window=100, trigger=100, compact_above=None), count=weigh)
    manager.append(said("90 a"))
    assert len(manager.prepare()) == 1
    manager.append(said("90 b"))
    with pytest.raises(ContextOverflow, match="the context is 188 tokens after every rung ran, the window allows 100"):
        manager.prepare()
    assert manager.requests == 1, "a request that does not fit is not made"
    manager.policy = replace(manager.policy, window=188)
    assert len(manager.prepare()) == 2
    assert manager.requests == 2


# -- thinking bound to its prefix ---------------------------------------------------------------------


def thinking(text: str, message: int | None = None) -> Block:
    return Block("thinking", "assistant", text, 0, message)


def bound(policy: Policy) -> ContextManager:
    manager = ContextManager("100 system", policy, Short(), count=weigh, thinking_bound=True)
    for block in (said("46 task"), thinking("16 before"), result("96 a"), thinking("26 after"), result("96 b")):
        manager.append(block)
    return manager


CLEARS = Policy(trigger=300, floor=0, keep=1, compact_above=None)


def test_a_client_side_edit_is_refused() -> None:
    manager = bound(CLEARS)
    before = manager.blocks()
    sentence = r"an edit at request 1 would invalidate 1 thinking block .*edits_at='server'.*bound_thinking='drop'"
    for _ in range(2):
        with pytest.raises(EditRefused, match=sentence):
            manager.prepare()
        assert (manager.blocks(), manager.requests, manager.events, manager.total()) == (
            before,
            0,
            [],
            404,
        )
    manager.policy = replace(CLEARS, bound_thinking="drop")
    assert [b.kind for b in manager.prepare()] == ["text", "thinking", "result", "result"]


def test_dropping_removes_exactly_what_the_edit_invalidates() -> None:
    manager = bound(replace(CLEARS, bound_thinking="drop"))
    total = manager.total()
    step = manager.step()
    assert [b.text[:9] for b in manager.blocks()] == ["46 task", "16 before", "[cleared:", "96 b"]
    assert [str(e) for e in step.events] == [
        "request 1: dropped 1 thinking blocks (-30)",
        "request 1: cleared 1 tool results (-86)",
    ]
    assert step.total == total - 30 - 86 == manager.total()


def test_a_server_side_edit_invalidates_nothing() -> None:
    manager = bound(replace(CLEARS, edits_at="server"))
    assert [b.kind for b in manager.prepare()] == ["text", "thinking", "result", "thinking", "result"]
    assert [e.kind for e in manager.events] == ["cleared"]


def test_a_message_keeps_its_overhead_when_its_first_block_is_dropped() -> None:
    manager = ContextManager("", replace(CLEARS, bound_thinking="drop", keep=0), count=weigh, thinking_bound=True)
    manager.append(result("396 a"))
    for block in (thinking("16 x", 7), thinking("6 y", 7), replace(said("50 z", "assistant"), message=7)):
        manager.append(block)
    step = manager.step()
    assert step.total == 14 + 54
    assert Counter(step.added) - Counter(step.removed) == Counter(
        [(manager.blocks()[0], 14), (manager.blocks()[1], 54)]
    )


@given(exchanges(), policies)
def test_bound_thinking_never_follows_an_edit(parts, policy) -> None:
    """Dropped: what is left stands in the same prefix as when it was thought. Refused: nothing changed."""
    dropping = ContextManager(
        "sys", replace(policy, bound_thinking="drop"), Short(), count=quarter, thinking_bound=True
    )
    refusing = ContextManager("sys", policy, Short(), count=quarter, thinking_bound=True)
    thought: dict[str, list[str]] = {}
    for part in parts:
        for block in part:
            if block.kind == "thinking":
                thought[block.text] = [b.text for b in dropping.blocks()]
            dropping.append(block)
            refusing.append(block)
        appended = [*dropping.blocks()]
        step = dropping.step()
        context = dropping.blocks()
        assert step.total == dropping.total() == quarter("sys") + OVER + sum(sizes_of(context))
        had = Counter(zip(appended, sizes_of(appended), strict=True))
        had.update(step.added)
        had.subtract(step.removed)
        assert +had == Counter(zip(context, sizes_of(context), strict=True))
        texts = [b.text for b in context]
        for i, block in enumerate(context):
            if block.kind == "thinking":
                assert texts[:i] == thought[block.text]
        before = len(refusing.blocks())
        try:
            refusing.step()
        except EditRefused:
            event("refused")
            assert len(refusing.blocks()) == before
            refusing.policy = Policy.nothing()
            assert refusing.step().total == refusing.total() == quarter("sys") + OVER + sum(sizes_of(refusing.blocks()))
            assume(False)


# -- failures and cost ---------------------------------------------------------------------------------


class Failing:
    """A summarizer whose service is down the first time."""

    calls = 0

    def summarize(self, blocks, notes):
        self.calls += 1
        if self.calls == 1:
            raise ConnectionError("no answer")
        return Summary("done")


def test_a_failed_summary_leaves_the_manager_as_it_was() -> None:
    policy = Policy(trigger=300, floor=0, keep=0, compact_above=1, keep_recent=1)
    manager = ContextManager("100 system", policy, Failing(), count=weigh)
    manager.append(said("96 task"))
    first = manager.step()
    assert first.total == 204
    for text in ("96 a", "96 b"):
        manager.append(result(text))
    with pytest.raises(ConnectionError):
        manager.prepare()
    assert manager.requests == 1
    assert [b.edited for b in manager.blocks()] == [None, "clear", "clear"], "the cheaper rung is done"
    step = manager.step()
    # The step also reports the clearing, which no request has shown yet.
    assert [e.kind for e in step.events] == ["cleared"]
    manager.append(said("200 more"))
    assert [e.kind for e in manager.step().events] == ["compacted"]
    assert manager.requests == 3


def test_a_summary_paid_for_and_not_used_is_reported() -> None:
    class Wordy:
        def summarize(self, blocks, notes):
            return Summary("900 words", usage=Usage(uncached=400, output=900))

    policy = Policy(trigger=300, floor=0, compact_above=1, keep_recent=1)
    manager = ContextManager("", policy, Wordy(), count=weigh)
    for text in ("196 task", "196 a"):
        manager.append(said(text))
    (event_,) = manager.step().events
    assert (event_.messages, event_.freed, event_.usage) == (0, 0, Usage(uncached=400, output=900))
    assert manager.step().events == (), "it is not asked again until there is more to summarize"


@pytest.mark.parametrize("policy", [Policy(trigger=2_000, floor=500, compact_above=None), Policy.nothing()])
def test_nothing_is_counted_twice_in_5000_turns(policy: Policy) -> None:
    """Characters counted and blocks touched grow with the run and not with its square."""
    counted = Counter()

    def count(text: str) -> int:
        counted["calls"] += 1
        counted["characters"] += len(text)
        return len(text) // 4

    manager = ContextManager("system", policy, count=count)
    written = 0
    for turn in range(5_000):
        for kind, role in (("call", "assistant"), ("result", "tool")):
            text = f"{kind} {turn} " + "word " * 20
            written += len(text)
            manager.append(Block(kind, role, text, tool="read_file", args="app.log"))  # type: ignore[arg-type]
        manager.step()
    assert counted["calls"] <= 1 + 3 * 5_000
    assert counted["characters"] <= 2 * written + 100
    if policy.trigger:
        assert sum(e.messages for e in manager.events) > 4_900


def test_work_at_a_request_does_not_grow() -> None:
    """Counts lines of the manager that run, so that no busy machine can change the answer."""
    import sys

    from labkit.ladder import manager as module

    def lines(turns: int) -> int:
        seen = 0

        def trace(frame, what, arg):
            nonlocal seen
            if frame.f_code.co_filename != module.__file__:
                return None
            seen += what == "line"
            return trace

        policy = Policy(trigger=2_000, floor=500, compact_above=1_500, keep_recent=4)
        manager = ContextManager("system", policy, Short(), count=quarter)
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            for turn in range(turns):
                for kind, role in (("call", "assistant"), ("result", "tool")):
                    manager.append(Block(kind, role, f"{kind} {turn} " + "w" * 400, tool="t", args="a"))  # type: ignore[arg-type]
                manager.step()
        finally:
            sys.settrace(before)
        return seen

    assert lines(800) < 2.2 * lines(400)
