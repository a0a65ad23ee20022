"""What later turns of invoice-60 rely on: the needed excerpts, and how they become ``Trace.needs``.

The run itself is not generated here. It was converted once from a plan of token sizes that gives
every figure the ctxkit article prints (see ``data/README.md``); only its needs are made by this
module. They were found by program, as texts of a call that stood in earlier results and in no text,
thinking or call before it, and then chosen by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from labkit.errors import InputError
from labkit.record.trace import Block, Need, Trace

__all__ = ["INVOICE_NEEDS", "needs_from", "with_invoice_needs"]

INVOICE_NEEDS: tuple[tuple[int, int, str], ...] = (
    # turn whose result the agent learned it from, turn whose call relies on it, the text in both
    (3, 4, "invoice_total"),
    (6, 9, "return amount.quantize(step, rounding=ROUND_HALF_UP)"),
    (3, 12, "parts = [money.to_cents(line_total(invoice, line), invoice.currency) for line in invoice.lines]"),
    (14, 16, "return float(rate)"),
    (3, 17, "discount_total"),
    (21, 22, "money_cell"),
    (6, 23, "with_symbol"),
    (24, 25, "10.010"),
    (23, 25, "FORMATS[currency]"),
    # The table of symbols, read at turn 23, names it too: its own result may go without harm.
    (10, 27, "BHD"),
    (18, 28, 'assert group_digits("1234567", ".") == "1.234.567"'),
    (22, 28, "59.97"),
    (22, 30, 'self.assertEqual(rows[0]["Total"], "10.01")'),
    (21, 33, "line_cell"),
    (33, 37, "return str(amount)"),
    (33, 40, "--all"),
    (7, 41, "test_next_number"),
    (41, 43, 'assert next_number("INV-0411") == "INV-0412"'),
    (42, 43, "exempt"),
    (53, 58, "cancelled invoice has a total of"),
)


def needs_from(blocks: Sequence[Block], listed: Iterable[tuple[int, int, str]]) -> tuple[Need, ...]:
    """Turn a list of (source turn, later turn, excerpt) into needs, and check it against the blocks.

    Parameters
    ----------
    blocks : sequence of Block
        Of a scripted run: request ``t`` makes the call of turn ``t``.
    listed : iterable of (int, int, str)

    Returns
    -------
    tuple of Need

    Raises
    ------
    InputError
        If the excerpt is not in a result of the first turn, not in a call of the later one, or was
        said in between, so that it would stay visible without the result.

    Examples
    --------
    >>> blocks = [Block("result", "tool", "id 77", request=2), Block("call", "assistant", "pay(id 77)", request=4)]
    >>> needs_from(blocks, [(1, 3, "id 77")])
    (Need(source=0, request=3, excerpt='id 77'),)
    """
    return tuple(Need(_source(blocks, *entry), entry[1], entry[2]) for entry in listed)


def _source(blocks: Sequence[Block], learned: int, used: int, excerpt: str) -> int:
    found = [i for i, b in enumerate(blocks) if b.kind == "result" and b.turn == learned and excerpt in b.text]
    if not found:
        raise InputError(f"no result of turn {learned} holds {excerpt!r}: give the turn that returned it")
    if not any(b.kind == "call" and b.turn == used and excerpt in b.text for b in blocks):
        raise InputError(f"no call of turn {used} holds {excerpt!r}: give the turn that relies on it")
    said = [b.turn for b in blocks if b.kind != "result" and b.turn < used and excerpt in b.text]
    if said:
        raise InputError(f"{excerpt!r} was said at turn {said[0]}: choose a text that only results hold before {used}")
    return found[0]


def with_invoice_needs(trace: Trace) -> Trace:
    """The run invoice-60 with its needs; the blocks stay as they are."""
    return replace(trace, needs=needs_from(trace.blocks, INVOICE_NEEDS))
