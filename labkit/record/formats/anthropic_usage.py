"""What one answer of the Anthropic API cost: it may take several passes, and not all by the model that was asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from labkit.record.formats.claude_code_content import usage_of
from labkit.record.formats.common import as_dict, as_list, as_text
from labkit.record.trace import Block, Request, Trace, TraceKind, Usage

__all__ = ["Sampling", "samplings"]

# Passes over the conversation itself; all others read something else.
_OWN = ("message", "fallback_message")


@dataclass(frozen=True)
class Sampling:
    """One pass of a model: what it wrote, and what it took."""

    kind: str
    usage: Usage | None
    model: str | None = None
    blocks: tuple[Block, ...] = ()

    def trace(self, name: str, source: str) -> Trace:
        """A pass beside the conversation, as a Trace of its own."""
        kind: TraceKind = "compaction" if self.kind == "compaction" else "subagent"
        blocks = tuple(replace(b, request=2, message=0) for b in self.blocks)
        request = Request(1, model=self.model, usage=self.usage)
        return Trace(name, blocks, (request,), kind=kind, source=source)


def samplings(response: dict[str, Any], answer: list[Block]) -> tuple[list[Sampling], list[Sampling], int]:
    """Split an answer into its passes.

    Parameters
    ----------
    response : dict
        With ``usage`` and, in it, perhaps ``iterations``.
    answer : list of Block

    Returns
    -------
    own : list of Sampling
        Passes over the conversation, at least one; the last one's input is what fills the context.
    beside : list of Sampling
        Passes over something else: a compaction, an advisor. Top-level usage leaves them out.
    declined : int
        Passes of a model that declined and wrote nothing, before another model answered; left out.

    Examples
    --------
    >>> iterations = [{"type": "compaction", "input_tokens": 60_385, "output_tokens": 592},
    ...               {"type": "message", "input_tokens": 682, "output_tokens": 1_320}]
    >>> own, beside, _ = samplings({"usage": {"input_tokens": 682, "iterations": iterations}}, [])
    >>> own[0].usage.total_input, beside[0].usage.total_input
    (682, 60385)
    """
    model = as_text(response.get("model"))
    raw = [as_dict(i) for i in as_list(as_dict(response.get("usage")).get("iterations"))]
    passes = [(as_text(i.get("type")) or "message", i) for i in raw]
    fallback = any(kind == "fallback_message" for kind, _ in passes)
    own: list[Sampling] = []
    beside: list[Sampling] = []
    declined = 0
    for kind, given in passes:
        usage = usage_of({"usage": given})
        if fallback and kind == "message" and (usage is None or not usage.output):
            declined += 1
            continue
        (own if kind in _OWN else beside).append(Sampling(kind, usage, as_text(given.get("model")) or model))
    if not own:
        return [Sampling("message", usage_of(response), model, tuple(answer))], beside, declined
    pieces = _pieces(answer)
    if len(pieces) != len(own):
        # Where the passes cannot be told apart, the last one has said it all.
        pieces = [[] for _ in own[1:]] + [answer]
    own = [replace(s, blocks=tuple(piece)) for s, piece in zip(own, pieces, strict=True)]
    if own[0].blocks and own[0].blocks[0].kind == "summary":
        beside = [replace(s, blocks=own[0].blocks[:1]) if s.kind == "compaction" else s for s in beside]
    return own, beside, declined


def _pieces(answer: list[Block]) -> list[list[Block]]:
    """An answer cut after each group of results from tools at the provider."""
    pieces: list[list[Block]] = [[]]
    for block in answer:
        if block.role == "assistant" and pieces[-1] and pieces[-1][-1].role == "tool":
            pieces.append([])
        pieces[-1].append(block)
    return pieces
