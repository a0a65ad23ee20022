"""Names of the rows and places of the compiled engine's arrays.

A few large arrays instead of many small ones: the compiler passes each as seven words, and with forty of them
took minutes.
"""

from __future__ import annotations

# What stands in a block's place.
WHOLE, STUB, EVICTED, BARE, SUMMARY, GONE = range(6)

# Fields of a policy, and last the share of a summary.
(
    TRIGGER, TRIGGER_BY, STRICT, OFFSET, WINDOW, ONLY_COLD, REMEMBERS, FLOOR, TARGET, EVICT, KEEP, KEEP_BY,
    PINNED_TAKE, BATCH, KEEP_THINKING, COMPACT, RECENT, RECENT_BY, FIRST, BEFORE_PAUSE, HAND_OFF, TTL, ALIVE, BOUND,
    SHARE,
) = range(25)  # fmt: skip

# Of each block of the trace. The last three are offsets into lists, or a number of list members before it.
(
    B_SIZE, B_STUB, B_BARE, B_EVICTED, B_CAP, B_IS_RESULT, B_ASSISTANT, B_SPEAKS, B_PINNED, B_MESSAGE, B_RUN,
    B_REQUEST, B_TURNS, B_OVERHEAD, B_CALL, B_ANSWER, B_EQUAL, B_THOUGHTS_BY, B_OVERTAKES_AT, B_FACT_AT,
) = range(20)  # fmt: skip

# Of each request: whole numbers, and seconds.
(
    R_STOP, R_FIRST_NEW, R_WAITING, R_SPOKE, R_DUE_AT,
) = range(5)  # fmt: skip
F_IDLE, F_NOW = range(2)

# Single numbers; then where each list begins in the one array that holds all.
(
    C_FACTS, C_PREFIX, C_MINIMUM, C_LOOKBACK, C_STEP, C_AT_SYSTEM, C_AT_LAST, C_SUMMARY_TOKENS, C_BILLED,
    C_MESSAGE_OVERHEAD, C_ABANDONED, L_ABANDONED, L_THOUGHTS, L_OVERTAKES, L_FACT, L_FACT_MASK, L_AT_START,
    L_NEED_SOURCE, L_NEED_COUNTS, L_SOURCE_SIZE, L_HOLDER_AT, L_HOLDER, L_HOLDER_MASK,
) = range(23)  # fmt: skip

# The running figures of one replay.
(
    TOTAL, HEAD, LAST, END, TURN, RESULTS, UNITS, UNITS_GONE, LISTED, STALE, SAVING, RETRY, DUE, THOUGHT, ABANDONED,
    MISSING, KEPT, EDITED_FROM, EVENTS, UNREAD, OFFLOADED, PAID_IN, PAID_OUT, LAST_SUMMARY, FRESH, REFUSED,
) = range(26)  # fmt: skip

# Of each block in the context of one replay; and of each fact.
(
    S_NOW, S_STATE, S_PRV, S_NXT, S_OVH, S_TURN, S_UNITS, S_LISTED, S_STALE, S_DUE, S_MADE, S_CALL_STUB, S_SUMMED,
    S_PLACE, S_CHARGED,
) = range(15)  # fmt: skip
S_VISIBLE, S_SAID = range(2)
