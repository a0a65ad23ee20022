"""Runs made from a seed: the lab's own example, and runs of any length for tests and benchmarks.

``python -m labkit.record.generate`` writes ``data/traces/support-40.jsonl`` again, byte for byte, and
the list of needs into ``data/traces/invoice-60.jsonl``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from random import Random

from labkit.errors import InputError
from labkit.files import data_path
from labkit.record.formats.labkit_jsonl import read, save
from labkit.record.generate_invoice import with_invoice_needs
from labkit.record.generate_support import support_run
from labkit.record.lines import line_of
from labkit.record.trace import Block, Fact, Need, Prefix, Request, Trace

__all__ = ["documents", "scripted_run", "support_run"]

# Words that are one token each after a blank, so that a text of n words is about n tokens.
_WORDS = (
    "the record shows that each order was packed and sent from here on time while one more item is still open and "
    "will be checked again when the next report comes in because its price did not match what we had in mind so far"
)
_TOOLS = ("read_file", "search", "run_tests", "fetch_doc", "query", "list_items")
_POOL = 40_000
_MOST_NEEDS, _MOST_FACTS = 100, 20
# A summary keeps every text of the user, so a run of 20,000 turns with hundreds of them could not be compacted.
_MOST_SAID = 40


def documents(trace: Trace) -> dict[str, int]:
    """The documents a run retrieved, each with the number of later needs that its text serves.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    dict of str to int
        By the arguments of the call. A document at 0 decided nothing: no later turn relies on it.

    Examples
    --------
    >>> documents(support_run())["handbook/programmes/lantern-club.md"]
    0
    """
    used = Counter(need.source for need in trace.needs)
    found: dict[str, int] = {}
    for i, block in enumerate(trace.blocks):
        if block.kind == "result" and line_of(block) == "retrieved_docs":
            found[block.args or ""] = found.get(block.args or "", 0) + used[i]
    return found


@lru_cache(maxsize=2)
def _pool(seed: int) -> tuple[str, tuple[int, ...]]:
    """One long text of plain words, and where each word begins: a result is a slice of it.

    What people and the agent say is a slice of another: it repeats nothing of a result but what is planted.
    """
    rng = Random(seed)
    known = _WORDS.split()
    words = [rng.choice(known) for _ in range(_POOL)]
    return " ".join(words), tuple(accumulate((len(w) + 1 for w in words), initial=0))


def _text(rng: Random, words: int, pool: int = 0) -> str:
    text, starts = _pool(pool)
    words = min(words, _POOL // 2)
    first = rng.randrange(_POOL - words)
    return text[starts[first] : starts[first + words]].rstrip()


def scripted_run(turns: int, seed: int = 0) -> Trace:
    """Make a run of any length for property tests and benchmarks.

    Parameters
    ----------
    turns : int
        At least 1. Made for 60 to 20,000; the time grows with the turns, about 0.4 s for 5,000.
    seed : int
        Equal seeds and turns give equal runs.

    Returns
    -------
    Trace
        Results have a median of about 300 tokens and a long tail. There are thinking, notes, errors,
        two-line user texts, parallel calls and pauses. What a summary keeps for good is bounded (user
        texts, decisions, open work), and there are at most 20 facts and 100 needs, since a replay
        has to find them in every block.

    Raises
    ------
    InputError
        If there is no turn.

    Examples
    --------
    >>> run = scripted_run(60, seed=1)
    >>> len(run.requests), len(run.needs), run.blocks == scripted_run(60, seed=1).blocks
    (60, 12, True)
    """
    if turns < 1:
        raise InputError(f"turns is {turns}: a run has at least 1, and benchmarks use 60 to 20,000")
    rng = Random(f"{seed}/{turns}")
    sources, quoted = _plan(rng, turns)
    blocks: list[Block] = []
    requests = []
    facts = [Fact("task: fact-0", "keep fact-0 as it is")]
    needs: list[Need] = []
    start = 0.0
    position: dict[int, int] = {}  # need -> position of its source
    for turn in range(1, turns + 1):
        requests.append(Request(turn, start=start))
        start += 1_800.0 if rng.random() < 0.02 else float(rng.randrange(15, 60))
        if turn == 1 or rng.random() < min(0.03, _MOST_SAID / turns):
            blocks.append(Block("text", "user", _spoken(rng, facts, turn), request=turn))
        quotes = quoted.get(turn, [])
        needs += [Need(position[k], turn, _excerpt(k)) for k in quotes]
        new = _turn(rng, turn, quotes, sources.get(turn, []), facts)
        for block in new:
            if block.kind == "result":
                position.update({k: len(blocks) for k in sources.get(turn, []) if _excerpt(k) in block.text})
            blocks.append(block)
    return Trace(
        name=f"scripted-{turns}-seed-{seed}",
        blocks=tuple(blocks),
        requests=tuple(requests),
        prefixes=(Prefix(_text(rng, rng.randrange(300, 900)), _text(rng, rng.randrange(300, 6_000))),),
        facts=tuple(facts),
        needs=tuple(needs),
        kind="scripted",
        source=f"labkit.record.generate.scripted_run, seed {seed}",
    )


def _excerpt(need: int) -> str:
    return f"item-{need:03d}x"


def _plan(rng: Random, turns: int) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Which turn's result holds which excerpt, and which later turn's call quotes it."""
    sources: dict[int, list[int]] = {}
    quoted: dict[int, list[int]] = {}
    for k in range(min(turns // 5, _MOST_NEEDS)):
        learned = rng.randrange(1, turns)
        # Most excerpts are used soon, some much later.
        distance = 1 + int(min(rng.expovariate(1 / 6) * (1 if rng.random() < 0.8 else 6), turns))
        sources.setdefault(learned, []).append(k)
        quoted.setdefault(min(learned + distance, turns), []).append(k)
    return sources, quoted


def _spoken(rng: Random, facts: list[Fact], turn: int) -> str:
    if turn == 1:
        return f"{_text(rng, 20, 1)}.\nAnd keep fact-0 as it is."
    if len(facts) < _MOST_FACTS:
        facts.append(Fact(f"user t{turn}, second line", f"mind fact-{len(facts)} from now on"))
        return f"{_text(rng, rng.randrange(5, 40), 1)}.\nPlease {facts[-1].probe}."
    return f"{_text(rng, rng.randrange(5, 40), 1)}."


def _turn(rng: Random, turn: int, quotes: Sequence[int], holds: Sequence[int], facts: list[Fact]) -> list[Block]:
    """Thinking perhaps, then a call and its result, or two of each."""
    request = turn + 1
    said = [_text(rng, rng.randrange(20, 120), 1), *(f"I rely on {_excerpt(k)}." for k in quotes)]
    if rng.random() < 0.05 and len(facts) < _MOST_FACTS:
        said.append(f"DECISION: keep rule {turn} because it holds")
        facts.append(Fact(f"decision t{turn}", f"keep rule {turn} because"))
    if rng.random() < 0.05:
        said.append(f"{rng.choice(('TODO', 'DONE'))}: look at part {rng.randrange(20)}")
    blocks = []
    if rng.random() < 0.3:
        blocks.append(Block("thinking", "assistant", _text(rng, rng.randrange(20, 300), 1), request=request))
    if rng.random() < 0.04 and not holds:
        entry = f"Part {turn % 5} | entry {turn}"
        text = "\n".join([*said, f"notes_rewrite({entry})"])
        call = Block("call", "assistant", text, request, tool="notes_rewrite", args=entry, call_id=f"t{turn}c1")
        return [*blocks, call, Block("result", "tool", "ok: rewritten", request, None, call.tool, entry, call.call_id)]
    tools = [rng.choice(_TOOLS) for _ in range(2 if rng.random() < 0.08 else 1)]
    results = []
    for i, tool in enumerate(tools, 1):
        args, call_id = f"src/part_{rng.randrange(30)}.py", f"t{turn}c{i}"
        text = "\n".join([*(said if i == 1 else []), f"{tool}({args})"])
        blocks.append(Block("call", "assistant", text, request, tool=tool, args=args, call_id=call_id))
        body = _result(rng, turn, holds if i == 1 else ())
        results.append(Block("result", "tool", body, request, tool=tool, args=args, call_id=call_id))
    return blocks + results


def _result(rng: Random, turn: int, holds: Sequence[int]) -> str:
    words = int(min(rng.lognormvariate(5.7, 1.1), 12_000))
    parts = [_text(rng, words), *(f"found {_excerpt(k)} here" for k in holds)]
    if rng.random() < 0.06:
        parts.append(f"ValueError: part {turn} is not what was expected")
    return "\n".join(parts)


def main(folder: Path | None = None) -> None:
    """Write the scripted runs of ``data/traces`` again."""
    folder = folder or data_path("traces")
    save(support_run(), folder / "support-40.jsonl")
    print(f"{folder / 'support-40.jsonl'}: written from its seed")
    save(with_invoice_needs(read(data_path("traces", "invoice-60.jsonl"))), folder / "invoice-60.jsonl")
    print(
        f"{folder / 'invoice-60.jsonl'}: needs written; the run itself was converted from the plan of token sizes that "
        "the published figures allow, see data/README.md"
    )


if __name__ == "__main__":
    main()
