"""Cap: shape a result where it is made, before any request carries it, and keep the rest in a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from labkit.ladder.policy import Policy
from labkit.record.trace import Block

__all__ = ["capped", "offload_path"]


def offload_path(block: Block) -> str:
    """Where a result that was capped is kept whole: named by its tool and the digest of its text.

    Examples
    --------
    >>> offload_path(Block("result", "tool", "a long log", tool="run_tests"))
    'offload/run_tests-db7ef94451.txt'
    """
    tool = "".join(c if c.isalnum() or c in "-_" else "_" for c in block.tool or "result")[:40]
    return f"offload/{tool}-{hashlib.sha256(block.text.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}.txt"


def capped(
    block: Block,
    tokens: int,
    policy: Policy,
    count: Callable[[str], int],
    path: Callable[[Block], str] = offload_path,
) -> tuple[Block, int] | None:
    """What a policy lets into the context of a result, and its tokens.

    Parameters
    ----------
    block : Block
        Of kind ``result``.
    tokens : int
        Of its text.
    policy : Policy
        Uses ``cap``, ``cap_by``, ``cap_of``, ``cap_preview``, ``cap_tail`` and ``offload``.
    count : callable
        Tokens of a text.
    path : callable
        Keeps the whole result and says where; asked only with ``offload``.

    Returns
    -------
    (Block, int) or None
        A preview: the head and the tail around one line that says what is missing. ``None`` where the
        result is within the cap, or a preview would be no smaller. A preview in tokens takes as many
        characters as so many tokens of this result take on average.

    Examples
    --------
    >>> log = Block("result", "tool", "a" * 5_000 + "b" * 5_000, tool="run")
    >>> policy = Policy(cap=100, cap_by="characters", cap_preview=10, offload=False)
    >>> print(capped(log, 2_500, policy, len)[0].text)
    aaaaa
    [... 9,990 of 10,000 characters left out ...]
    bbbbb
    """
    cap = policy.cap_for(block.tool)
    if cap is None:
        return None
    chars = len(block.text)
    in_tokens = policy.cap_by == "tokens"
    if (tokens if in_tokens else chars) <= cap:
        return None
    preview = cap if policy.cap_preview is None else policy.cap_preview
    shown = min(preview * chars // max(tokens, 1) if in_tokens else preview, chars)
    tail = int(shown * policy.cap_tail)
    head = shown - tail
    left = f"{tokens - preview:,} of {tokens:,} tokens" if in_tokens else f"{chars - shown:,} of {chars:,} characters"
    where = f"; the whole result is in {path(block)}" if policy.offload else ""
    parts = [block.text[:head], f"[... {left} left out{where} ...]", block.text[chars - tail :] if tail else ""]
    text = "\n".join(part for part in parts if part)
    size = count(text)
    return (replace(block, text=text, edited="cap"), size) if size < tokens else None
