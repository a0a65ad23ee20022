"""*Compact* and *hand off* on a context of integers, compiled."""

from __future__ import annotations

from typing import Any

from labkit.replay.fastpath_clear import drop_after, refused
from labkit.replay.fastpath_compiler import compiled
from labkit.replay.fastpath_context import begin_units, intact_before, same_message, splice, unit
from labkit.replay.fastpath_names import (
    ABANDONED,
    B_ANSWER,
    B_ASSISTANT,
    B_CALL,
    B_CAP,
    B_IS_RESULT,
    B_REQUEST,
    B_THOUGHTS_BY,
    BOUND,
    C_ABANDONED,
    C_BILLED,
    C_MESSAGE_OVERHEAD,
    C_SUMMARY_TOKENS,
    END,
    EVENTS,
    FIRST,
    FLOOR,
    HEAD,
    L_ABANDONED,
    LAST,
    LAST_SUMMARY,
    PAID_IN,
    PAID_OUT,
    R_FIRST_NEW,
    R_SPOKE,
    R_WAITING,
    RECENT,
    RECENT_BY,
    RETRY,
    S_NOW,
    S_NXT,
    S_PRV,
    S_STATE,
    S_SUMMED,
    SHARE,
    SUMMARY,
    UNREAD,
    WHOLE,
)

__all__ = ["compact", "hand_off"]

FAR = 1 << 40


@compiled
def start_of(i: int, t: Any, s: Any) -> Any:
    """The first block of a block's message."""
    here, v = s.b, s.v
    while i < v[END] and same_message(i, t, s):
        i = here[S_PRV, i]
    return i


@compiled
def first_abandoned(t: Any, s: Any) -> Any:
    """The first call that still waits although a user has spoken since."""
    blocks, lists, single, here, v = t.b, t.l, t.c, s.b, s.v
    while v[ABANDONED] < single[C_ABANDONED]:
        i = lists[single[L_ABANDONED] + v[ABANDONED]]
        if i >= v[END]:
            break
        if here[S_STATE, i] < SUMMARY and not (0 <= blocks[B_ANSWER, i] < v[END]):
            return i
        v[ABANDONED] += 1
    return FAR


@compiled
def newest_thought(t: Any, s: Any) -> Any:
    """The first thinking in the newest answer, and that answer's last block."""
    blocks, here, v = t.b, s.b, s.v
    last = v[LAST]
    while last >= 0 and (here[S_STATE, last] == SUMMARY or not blocks[B_ASSISTANT, last]):
        last = here[S_PRV, last]
    first, i = -1, last
    while i >= 0 and here[S_STATE, i] != SUMMARY and blocks[B_ASSISTANT, i]:
        if blocks[B_THOUGHTS_BY, i + 1] > blocks[B_THOUGHTS_BY, i]:
            first = i
        i = here[S_PRV, i]
    return first, last if first >= 0 else -1


@compiled
def with_calls(cut: int, t: Any, s: Any) -> Any:
    """A cut moved back until no call is parted from its result, nor the newest thinking from its answer."""
    blocks, here, v = t.b, s.b, s.v
    looked_to = v[END]
    thought, last = newest_thought(t, s)
    while cut > v[HEAD]:
        lower = cut
        i = cut if cut < v[END] else -1
        while 0 <= i < looked_to:
            call = blocks[B_CALL, i]
            if here[S_STATE, i] < SUMMARY and call >= 0 and call < lower and here[S_STATE, call] < SUMMARY:
                lower = call
            i = here[S_NXT, i]
        if thought < lower <= last:
            lower = thought
        lower = start_of(lower, t, s)
        if lower == cut:
            break
        looked_to, cut = cut, lower
    return cut


@compiled
def recent_from(k: Any, t: Any, s: Any) -> Any:
    """Where the newest messages begin that a summary leaves word for word."""
    here, v = s.b, s.v
    at, left = v[END], int(k[RECENT])
    while at > v[HEAD]:
        first = v[LAST] if at == v[END] else here[S_PRV, at]
        first = start_of(first, t, s)
        cost = 1
        if k[RECENT_BY] == 1:
            cost = 0
            i = first
            while 0 <= i < at:
                cost += here[S_NOW, i]
                i = here[S_NXT, i]
        if cost > left and (k[RECENT_BY] == 0 or at < v[END]):
            break
        at = first
        left -= cost
    return at


@compiled
def compact(r: int, k: Any, t: Any, s: Any) -> Any:
    """A summary of a modelled size in the place of all but the oldest and newest messages."""
    blocks, asked, single, here, v = t.b, t.r, t.c, s.b, s.v
    if v[HEAD] < 0:
        return True
    cut = recent_from(k, t, s)
    cut = min(cut, asked[R_WAITING, r - 1])
    spoke = asked[R_SPOKE, r - 1]
    if spoke >= 0 and here[S_STATE, spoke] >= SUMMARY:
        cut = min(cut, first_abandoned(t, s))
    cut = with_calls(cut, t, s)
    start = v[HEAD]
    for _ in range(int(k[FIRST])):
        if start >= cut:
            break
        start = here[S_NXT, start]
        while start >= 0 and same_message(start, t, s):
            start = here[S_NXT, start]
        if start < 0:
            start = v[END]
    start = min(start, cut)
    while start > v[HEAD]:  # a call among the first messages whose result would go is summarized with it
        lower, i = start, v[HEAD]
        while 0 <= i < start:
            answer = blocks[B_ANSWER, i]
            if here[S_STATE, i] < SUMMARY and start <= answer < cut and here[S_STATE, answer] < SUMMARY:
                lower = i
                break
            i = here[S_NXT, i]
        lower = start_of(lower, t, s)
        if lower == start:
            break
        start = lower
    if start >= cut:
        return True
    weight = unread = 0
    i = start
    while 0 <= i < cut:
        weight += here[S_NOW, i]
        unread += int(
            blocks[B_IS_RESULT, i] != 0
            and here[S_STATE, i] == WHOLE
            and blocks[B_CAP, i] == 0
            and blocks[B_REQUEST, i] >= r
        )
        i = here[S_NXT, i]
    floor = int(k[FLOOR])
    if weight < max(floor, v[RETRY]):
        return True
    if refused(cut, k, t, s):
        return False
    made = single[C_SUMMARY_TOKENS] + int(weight * k[SHARE])
    if single[C_BILLED]:
        v[PAID_IN] += weight
        v[PAID_OUT] += made
    size = made + single[C_MESSAGE_OVERHEAD]
    if size >= weight:
        v[RETRY] = weight + max(floor, weight // 4, 1)
        v[EVENTS] += single[C_BILLED]
        return True
    v[RETRY] = 0
    if k[BOUND] == 2:
        drop_after(cut, t, s)
    v[UNREAD] += unread
    intact_before(start, s)
    splice(start, cut, size, r, t, s)
    v[EVENTS] += 1
    rebuild(k, t, s)
    return True


@compiled
def rebuild(k: Any, t: Any, s: Any) -> None:
    """*Clear* begins again with what stands."""
    here, v = s.b, s.v
    begin_units(k, s)
    i = v[HEAD]
    while i >= 0:
        unit(i, k, t, s)
        i = here[S_NXT, i]


@compiled
def hand_off(r: int, k: Any, t: Any, s: Any) -> None:
    """A fresh context: a record, and what no request has carried yet."""
    blocks, asked, single, here, v = t.b, t.r, t.c, s.b, s.v
    if v[HEAD] < 0:
        return
    cut = v[END]
    i = asked[R_FIRST_NEW, r - 1]
    while 0 <= i < v[END]:
        if here[S_STATE, i] < SUMMARY and blocks[B_REQUEST, i] >= r:
            cut = i
            break
        i += 1
    newest = v[LAST_SUMMARY]
    if newest >= 0 and here[S_STATE, newest] == SUMMARY and here[S_SUMMED, newest] >= r:
        cut = min(cut, newest)
    lower = min(cut, asked[R_WAITING, r - 1])
    spoke = asked[R_SPOKE, r - 1]
    if spoke >= 0 and here[S_STATE, spoke] >= SUMMARY:
        lower = min(lower, first_abandoned(t, s))
    i = cut if cut < v[END] else -1
    while i >= 0:
        call = blocks[B_CALL, i]
        if here[S_STATE, i] < SUMMARY and call >= 0 and call < lower and here[S_STATE, call] < SUMMARY:
            lower = call
        i = here[S_NXT, i]
    cut = lower
    if cut < v[END] and cut > v[HEAD]:
        cut = start_of(cut, t, s)
    if cut <= v[HEAD]:
        return
    weight = 0
    i = v[HEAD]
    while 0 <= i < cut:
        weight += here[S_NOW, i]
        i = here[S_NXT, i]
    made = single[C_SUMMARY_TOKENS] + int(weight * k[SHARE])
    size = made + single[C_MESSAGE_OVERHEAD]
    if size >= weight:
        return
    if single[C_BILLED]:
        v[PAID_IN] += weight
        v[PAID_OUT] += made
    intact_before(v[HEAD], s)
    splice(v[HEAD], cut, size, r, t, s)
    v[EVENTS] += 1
    rebuild(k, t, s)
