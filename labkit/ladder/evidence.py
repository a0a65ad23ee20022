"""Evidence: a tool result that one can point at, and that exists.

The digest of its text is part of it, so the result still counts when a policy has cleared it from the
context since: the Trace keeps what the context lost.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.errors import InputError
from labkit.ladder.rungs import short
from labkit.record.trace import Block

__all__ = ["Evidence", "digest", "evidence_of", "find_evidence"]

DIGEST = re.compile(r"[0-9a-f]{16}")
ARGS = 120  # characters of a call's arguments that evidence repeats


def digest(text: str) -> str:
    """The first 16 hexadecimal digits of a text's SHA-256: enough to tell results apart.

    Examples
    --------
    >>> digest("3 passed")
    '61affed06dc6ccb7'
    """
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True)
class Evidence:
    """A tool result one can point at.

    Parameters
    ----------
    request : int
        Index of the first request that could carry the result.
    tool : str
        Tool that returned it.
    args : str
        Its arguments, at most 120 characters of them.
    call_id : str, optional
        The id that pairs call and result, where the record has one.
    digest : str, optional
        As :func:`digest` of its text. ``None`` where the text was already cleared when the record was
        written; :func:`ground` finds it in the Trace.

    Raises
    ------
    InputError
        If it names no tool or request, or the digest is none.
    """

    request: int
    tool: str
    args: str = ""
    call_id: str | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        if not self.tool or re.search(r"\s", self.tool):
            raise InputError(f"evidence names the tool {self.tool!r}: give the tool whose result it is")
        if self.request < 1:
            raise InputError(f"evidence is at request {self.request}: requests count from 1")
        if self.call_id is not None and not re.fullmatch(r"\S+", self.call_id):
            raise InputError(f"evidence has the call id {self.call_id!r}: give an id without blanks, or None")
        if self.digest is not None and not DIGEST.fullmatch(self.digest):
            raise InputError(f"evidence has the digest {self.digest!r}: give labkit's digest(text) of the result")

    def __str__(self) -> str:
        return f"{self.tool}({self.args}) at request {self.request}"


def evidence_of(result: Block) -> Evidence:
    """Point at a tool result.

    Examples
    --------
    >>> print(evidence_of(Block("result", "tool", "3 passed", request=16, tool="run_tests", args="tests")))
    run_tests(tests) at request 16
    """
    call_id = result.call_id if result.call_id and re.fullmatch(r"\S+", result.call_id) else None
    return Evidence(
        max(result.request, 1),
        _tool(result),
        _args(result),
        call_id,
        None if result.edited else digest(result.text),
    )


def find_evidence(evidence: Evidence, blocks: Sequence[Block]) -> int | None:
    """Position of the result that evidence points at, or ``None`` if there is none.

    By its call id where it names one, else by request, tool and arguments; and by its digest where it has
    one. A result in the context may have been cleared: give the blocks of the Trace.

    Examples
    --------
    >>> whole = Block("result", "tool", "3 passed", request=16, tool="run_tests")
    >>> cleared = Block("result", "tool", "[cleared]", request=16, tool="run_tests", edited="clear")
    >>> find_evidence(evidence_of(whole), [whole]), find_evidence(evidence_of(whole), [cleared])
    (0, None)
    """
    for i, block in enumerate(blocks):
        if block.kind != "result" or _tool(block) != evidence.tool:
            continue
        if evidence.call_id is not None:
            same = block.call_id == evidence.call_id
        else:
            same = (block.request, _args(block)) == (evidence.request, evidence.args)
        if same and (evidence.digest is None or (not block.edited and digest(block.text) == evidence.digest)):
            return i
    return None


def _tool(result: Block) -> str:
    return "_".join((result.tool or "unknown").split()) or "unknown"


def _args(result: Block) -> str:
    return short(result.args or "", ARGS).encode("utf-8", "replace").decode("utf-8")
