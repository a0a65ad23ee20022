"""What counts as an excerpt: the same words, path, number, error or line, however the agent writes it again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.ladder.policy import Policy
from labkit.record.trace import Block, Request, Trace
from labkit.replay.replay import replay
from labkit.replay.uses import excerpts_in, found_needs, shows

CLEARED = replace(Policy.nothing(), trigger=1, keep=1, floor=0, stub_text="[gone]", stub_if_smaller=False)


def asked(n: int, text: str, call: str = "look") -> list[Block]:
    made = {"tool": "look", "args": "", "call_id": str(n)}
    return [Block("call", "assistant", call, n + 1, **made), Block("result", "tool", text, n + 1, **made)]


def told(result: str, later: str, between: str = "nothing of note") -> Trace:
    """A result, five more requests, and what the agent then wrote."""
    blocks = [Block("text", "user", "Do the work.", 1), *asked(1, result)]
    for n in range(2, 6):
        blocks += asked(n, between if n == 4 else "nothing of note")
    return Trace("told", (*blocks, Block("text", "assistant", later, 7)), tuple(Request(n) for n in range(1, 7)))


@pytest.mark.parametrize(
    ("result", "later", "excerpts"),
    [
        ("src/billing/money.py:118: in total", "I open src/billing/money.py", ["src/billing/money.py"]),
        ("src/billing/money.py:118:return x", "I open src/billing/money.py", ["src/billing/money.py"]),
        ("src/billing/money.py", "see src/billing/money.py:118", ["src/billing/money.py"]),
        ("src/x.py:118: in total", "look at src/x.py:118", ["src/x.py:118"]),
        ("up at 10.0.12.7:5432", "ask 10.0.12.7:5432", ["10.0.12.7:5432"]),
        ("up at 10.0.12.7:5432", "ask 10.0.12.7:5433", []),
        ("in all 48,213 tokens", "so 48,213, then", ["48,213"]),
        ("in all 48,213.77 EUR", "so 48,213.77 EUR", ["48,213.77"]),
        ("in all 148,213 tokens", "so 48,213", []),
        ("in all 48,213.77 EUR", "so 91,213.77 EUR", []),
        ("of 2,048 tokens", "of 2,048 tokens", []),  # four digits are chance
        ("[10000,20000]", "from 20000 on", ["20000"]),
        ("ValueError: amount must be positive, got -3", "raise ValueError", []),
        (
            "E   ValueError: amount must be positive, got -3",
            "It says ValueError: amount must be positive, got -3. I mend it.",
            ["ValueError: amount must be positive, got"],
        ),
        ("LockedError: no.", "It says LockedError: no. I wait.", ["LockedError", "LockedError: no"]),
        ("a.py:12:    return sum(net for net in nets)", "return sum(net for net in nets)", 1),
        ("return sum(net for net in nets)", "@@\n-    return sum(net for net in nets)\n+    pass", 1),
        ("the sum of all nets is not round", "> the sum of all nets is not round", 1),
        (
            "--help, and then whatever is wanted",
            "  --help, and then whatever is wanted",
            ["--help, and then whatever is wanted"],
        ),
        ("order FL-47018", "order FL-470180", []),
    ],
)
def test_what_is_found(result, later, excerpts) -> None:
    trace = told(result, later)
    found = sorted(need.excerpt for need in found_needs(trace))
    assert len(found) == excerpts if isinstance(excerpts, int) else found == excerpts
    assert replay(trace, Policy.nothing()).uses_after_clear == 0
    assert replay(trace, CLEARED).uses_after_clear == len(found)


@pytest.mark.parametrize("between", ["src/billing/money.py:7: in pay", "12\tsrc/billing/money.py"])
def test_what_something_visible_shows_is_no_loss(between) -> None:
    """A result that stays names another place of the same file."""
    alone = told("src/billing/money.py:118: in total", "I open src/billing/money.py")
    assert replay(alone, replace(CLEARED, keep=2)).uses_after_clear == 1
    trace = told("src/billing/money.py:118: in total", "I open src/billing/money.py", between)
    assert replay(trace, replace(CLEARED, keep=2)).uses_after_clear == 0
    assert replay(alone, replace(CLEARED, stub_text="[gone: src/billing/money.py:118]")).uses_after_clear == 0


def test_every_excerpt_is_shown_by_its_source() -> None:
    for text in ("src/a.py:3: x", "in all 48,213", "ValueError: a  b,\nc", 'say \\"one thing and another thing\\"'):
        trace = told(text, text)
        for need in found_needs(trace):
            assert shows(text, need.excerpt), need


@pytest.mark.parametrize(
    "text", ["a/" * 300_000, "1,234," * 100_000, "a.b:" * 100_000, "ValueError: " * 50_000, "-" * 500_000]
)
def test_a_text_that_is_one_long_line_is_no_trouble(text) -> None:
    assert all(len(excerpt) <= 400 for excerpt in excerpts_in(text))
    assert excerpts_in(f"src/a.py:12: {text}") >= {"src/a.py"}
