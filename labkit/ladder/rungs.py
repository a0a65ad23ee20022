"""The rungs as pure functions on a list of blocks: easy to read, and what the manager is tested against.

:class:`labkit.ladder.manager.ContextManager` does the same incrementally.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol

from labkit.ladder.policy import Policy
from labkit.record.pairs import answers as pair
from labkit.record.tokens import MESSAGE_OVERHEAD
from labkit.record.trace import Block, Usage

__all__ = [
    "Summarizer",
    "Summary",
    "bare_call",
    "clear",
    "clears_inputs",
    "compact",
    "errors_in",
    "message_starts",
    "newest_thought",
    "pair",
    "short",
    "speaks",
    "stale_results",
    "stub",
    "summary_cut",
]

ERROR_WORDS = ("Error: ", "Exception: ")
ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception): [^\n\]]+")


@dataclass(frozen=True)
class Summary:
    """What a summarizer returns.

    Parameters
    ----------
    text : str
        What stands for the summarized blocks.
    dropped : tuple of str
        Entries that a cap left out, one each: a loss that is reported and not silent.
    usage : Usage, optional
        What the summarizer's own model call was billed; ``None`` where no model was called.
    tokens : int, optional
        Its size where that is modelled; ``None``: the text is counted.
    """

    text: str
    dropped: tuple[str, ...] = field(default=())
    usage: Usage | None = None
    tokens: int | None = None


class Summarizer(Protocol):
    """Anything that can turn blocks into a summary."""

    def summarize(self, blocks: Sequence[Block], notes: str) -> Summary:
        """Summarize blocks, an earlier summary perhaps among them; ``notes`` is the notes file's text."""
        ...  # pragma: no cover


def errors_in(text: str) -> Iterator[str]:
    """The error messages in a tool result, ``SomeError: words``, in order.

    Examples
    --------
    >>> list(errors_in("E   TypeError: bad operand\\nE   ValueError: x"))
    ['TypeError: bad operand', 'ValueError: x']
    """
    # Looking for the plain words first is thirty times faster than the expression alone.
    position = 0
    nearest = {word: text.find(word) for word in ERROR_WORDS}
    while True:
        nearest = {w: text.find(w, position) if 0 <= i < position else i for w, i in nearest.items()}
        if max(nearest.values()) < 0:
            return
        start = end = min(i for i in nearest.values() if i >= 0)
        while start > position and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        error = ERROR.match(text, start)
        if error:
            yield error.group(0)
        position = error.end() if error else end + 1


def short(text: str, limit: int | None) -> str:
    """A text of at most so many characters, and how many more there were."""
    if limit is None or len(text) <= limit:
        return text
    return f"{text[:limit]}... and {len(text) - limit:,} more characters"


# A slider replays one run again and again; 512 stubs cover it without keeping a long session's texts alive.
@lru_cache(maxsize=512)
def stub(result: Block, tokens: int, limit: int | None = 200, words: str | None = None) -> Block:
    """What replaces a stale tool result: the call stays known, the payload goes.

    Parameters
    ----------
    result : Block
        Of kind ``result``.
    tokens : int
        Its size, which the stub names.
    limit : int, optional
        The longest arguments and the longest error repeated, in characters; ``None`` for all.
    words : str, optional
        Say this instead.

    Returns
    -------
    Block
        The same result with another text and ``edited="clear"``.

    Examples
    --------
    >>> stub(Block("result", "tool", "ValueError: no", tool="run_tests", args="tests"), 3654).text
    '[cleared: run_tests(tests) returned 3,654 tokens. Call it again if you need it. First error: ValueError: no]'
    """
    if words is not None:
        return replace(result, text=words, edited="clear")
    text = f"[cleared: {result.tool}({short(result.args or '', limit)}) returned {tokens:,} tokens. "
    text += "Call it again if you need it."
    error = next(errors_in(result.text), None)
    if error:
        text += f" First error: {short(error, limit)}"
    return replace(result, text=text + "]", edited="clear")


def bare_call(call: Block) -> Block:
    """A call without its arguments.

    Examples
    --------
    >>> bare_call(Block("call", "assistant", "write(a.py, 900 lines)", tool="write", args="a.py, 900 lines")).text
    'write()'
    """
    return replace(call, text=f"{call.tool}()", args="", edited="clear")


def clears_inputs(tool: str | None, policy: Policy) -> bool:
    """Whether the arguments of a tool's calls go with their results."""
    return "*" in policy.clear_inputs or tool in policy.clear_inputs


def clear(blocks: Sequence[Block], policy: Policy, count: Callable[[str], int]) -> list[Block]:
    """Replace stale tool results by stubs, all of them or none.

    Parameters
    ----------
    blocks : sequence of Block
        The messages of a context.
    policy : Policy
        Uses ``keep``, ``keep_by``, ``batch``, ``floor``, ``floor_is``, ``pinned``, ``pinned_take_keep``,
        ``clear_inputs`` and the stub's fields; old thinking is another matter.
    count : callable
        Tokens of a text.

    Returns
    -------
    list of Block
        As long as the input. Unchanged if less than the floor would be freed and the floor is a minimum.

    Examples
    --------
    >>> from labkit.record.tokens import count
    >>> blocks = [Block("result", "tool", "word " * 50, tool="read", args="a.py"), Block("result", "tool", "new")]
    >>> [b.edited for b in clear(blocks, Policy(keep=1, floor=0), count)]
    ['clear', None]
    """
    starts = message_starts(blocks)
    calls = pair(blocks)
    edited = list(blocks)
    freed = 0
    for i in stale_results(blocks, policy, count):
        if policy.floor_is == "target" and policy.floor and freed >= policy.floor:
            break
        overhead = MESSAGE_OVERHEAD if i in starts else 0
        tokens = count(blocks[i].text) + overhead
        new = {i: stub(blocks[i], tokens, policy.stub_chars, policy.stub_text)}
        saving = tokens - count(new[i].text) - overhead
        if saving <= 0 and policy.stub_if_smaller:
            continue
        call = calls.get(i)
        if call is not None and clears_inputs(blocks[i].tool, policy) and edited[call].edited is None:
            bare = bare_call(blocks[call])
            gain = count(blocks[call].text) - count(bare.text)
            if gain > 0:
                new[call], saving = bare, saving + gain
        for position, block in new.items():
            edited[position] = block
        freed += saving
    enough = not policy.floor or freed >= policy.floor or policy.floor_is == "target"
    return edited if enough else list(blocks)


def stale_results(blocks: Sequence[Block], policy: Policy, count: Callable[[str], int] = len) -> list[int]:
    """Positions of the results that *clear* may take, oldest first; ``count`` is for a keep in tokens.

    Examples
    --------
    Three parallel calls are one group.

    >>> blocks = [Block("call", "assistant", str(i), tool="read", call_id=str(i)) for i in range(3)]
    >>> blocks += [Block("result", "tool", str(i), tool="read", call_id=str(i)) for i in range(3)]
    >>> stale_results(blocks, Policy(keep=1)), stale_results(blocks, Policy(keep=1, keep_by="groups"))
    ([3, 4], [])
    """
    if policy.keep is None:
        return []
    by_user = policy.keep_by == "user_turns"
    units: list[list[int]] = [[]] if by_user else []
    turn, last, before = 0, -1, ""
    for i, block in enumerate(blocks):
        if by_user and speaks(block):
            units.append([])
        if block.role == "assistant" and before != "assistant":
            turn += 1
        before = block.role
        if block.kind != "result" or (block.tool in policy.pinned and not policy.pinned_take_keep):
            continue
        if by_user or (units and policy.keep_by == "groups" and turn == last):
            units[-1].append(i)
        else:
            units.append([i])
        last = turn
    cut = len(units) // policy.batch * policy.batch - policy.keep
    if policy.keep_by == "tokens":
        starts, total, cut = message_starts(blocks), 0, len(units)
        while cut and total <= policy.keep:
            i = units[cut - 1][0]
            total += count(blocks[i].text) + (MESSAGE_OVERHEAD if i in starts else 0)
            cut -= total <= policy.keep
    stale = units[: max(cut, 0)]
    return [
        i for unit in stale for i in unit if blocks[i].edited in (None, "cap") and blocks[i].tool not in policy.pinned
    ]


def speaks(block: Block) -> bool:
    """Whether a block is what a user said."""
    return block.role == "user" and block.kind in ("text", "image")


def message_starts(blocks: Sequence[Block]) -> set[int]:
    """Positions at which a message begins: consecutive blocks with one message number are one message."""
    return {i for i, b in enumerate(blocks) if i == 0 or b.message is None or b.message != blocks[i - 1].message}


def summary_cut(blocks: Sequence[Block], keep_recent: int) -> int:
    """How many blocks, from the start, a summary may replace.

    It leaves the newest ``keep_recent`` messages whole, never parts a call from its result, and
    does not touch a call that still waits for its result. The newest answer's thinking goes with
    the rest of it, or not at all.

    Examples
    --------
    >>> summary_cut([Block("text", "user", str(i)) for i in range(8)], keep_recent=10)
    0
    >>> summary_cut([Block("text", "user", str(i)) for i in range(8)], keep_recent=2)
    6
    """
    starts = message_starts(blocks)
    if len(starts) <= keep_recent:
        return 0
    cut = sorted(starts)[-keep_recent] if keep_recent else len(blocks)
    pairs = pair(blocks)
    answered = set(pairs.values())
    # A user's text after an unanswered call means that nobody will answer it any more.
    spoke = max((i for i, b in enumerate(blocks) if b.role == "user" and b.kind != "result"), default=-1)
    waiting = [i for i, b in enumerate(blocks) if b.kind == "call" and i not in answered and i > spoke]
    thought, last = newest_thought(blocks)
    cut = min([cut, *waiting])
    while True:
        calls = [call for result, call in pairs.items() if result >= cut > call]
        lower = min([cut, *calls])
        lower = thought if thought < lower <= last else lower
        while 0 < lower < len(blocks) and lower not in starts:
            lower -= 1
        if lower == cut or cut == 0:
            return lower
        cut = lower


def newest_thought(blocks: Sequence[Block]) -> tuple[int, int]:
    """Positions of the first thinking in the newest answer and of that answer's last block.

    Without thinking the first is -1 and the second too, so that nothing lies between them.

    Examples
    --------
    >>> kinds = ("thinking", "call", "call", "result")
    >>> newest_thought([Block(kind, "tool" if kind == "result" else "assistant", "x") for kind in kinds])
    (0, 2)
    """
    last = len(blocks) - 1
    while last >= 0 and blocks[last].role != "assistant":
        last -= 1
    first, i = -1, last
    while i >= 0 and blocks[i].role == "assistant":
        first = i if blocks[i].kind == "thinking" else first
        i -= 1
    return first, last if first >= 0 else -1


def compact(
    blocks: Sequence[Block], policy: Policy, summarizer: Summarizer, notes: str, count: Callable[[str], int]
) -> list[Block]:
    """Replace all but the newest messages by a summary, unless too little would be replaced.

    Parameters
    ----------
    blocks : sequence of Block
    policy : Policy
        Uses ``keep_recent`` and ``floor``: the replaced part must weigh at least the floor.
    summarizer : Summarizer
    notes : str
        Text of the notes file, which the summary ends with.
    count : callable
        Tokens of a text.
    """
    cut = summary_cut(blocks, policy.keep_recent)
    starts = message_starts(blocks)
    weight = sum(count(b.text) + (MESSAGE_OVERHEAD if i in starts else 0) for i, b in enumerate(blocks[:cut]))
    if cut == 0 or weight < policy.floor:
        return list(blocks)
    summary = summary_block(summarizer.summarize(blocks[:cut], notes), blocks[:cut])
    if count(summary.text) + MESSAGE_OVERHEAD >= weight:
        return list(blocks)
    return [summary, *blocks[cut:]]


def summary_block(summary: Summary, old: Sequence[Block]) -> Block:
    """The block that carries a summary.

    Its ``request`` is set so that its turn is the last turn it covers.
    """
    return Block("summary", "user", summary.text, request=max(b.turn for b in old), edited="summary")
