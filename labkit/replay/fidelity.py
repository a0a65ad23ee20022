"""What a policy took away that was needed: facts, unread results, excerpts used later."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from labkit.ladder.events import Step
from labkit.record.sizes import Sizes
from labkit.record.trace import Block, Fact, Trace
from labkit.replay.uses import excerpts_in, found_needs

__all__ = ["Fidelity"]

# Which probes a text holds depends on the trace alone, so a second replay need not search again: by
# position of the trace's own blocks, by text for the stubs and summaries that policies made.
_kept: WeakKeyDictionary[Trace, tuple[list[tuple[int, ...]], dict[str, tuple[int, ...]]]] = WeakKeyDictionary()


class Fidelity:
    """Follows a replay and counts its losses as it goes; the work at a request is what changed in it.

    Parameters
    ----------
    trace : Trace
        Its facts and needs are what can be lost: those it lists, and those that are found in it
        (:mod:`labkit.replay.uses`).
    sizes : Sizes
        What a re-read costs.

    Notes
    -----
    A fact is lost at a request if it was said in an earlier or this one and the prompt no longer holds
    its probe. A need is unmet if no block of the prompt holds its excerpt at the request that relies
    on it. What is counted are the needs the trace lists, or the found ones where it lists none. The charge
    is the call and the result once more. Low: once a result, as if it stayed in sight from then on. High:
    once a request that relies on it, by a listed need or a found one, and each is one more request.
    """

    def __init__(self, trace: Trace, sizes: Sizes) -> None:
        self._trace = trace
        self._sizes = sizes
        found = found_needs(trace)
        self._needs = trace.needs + found
        self._counted = len(trace.needs) or len(found)
        self._finder = _Finder(trace)
        self._probes = self._finder.probes
        self._holds, self._texts = _holds(trace, self._finder)
        self._said = [0] * len(self._probes)  # blocks that ever held the probe
        self._visible = [0] * len(self._probes)  # blocks of the prompt that hold it
        # Facts can stand in the system prompt, which no rung edits.
        prefix = trace.prefixes[trace.requests[0].prefix]
        for k in self._finder.in_text(prefix.system or ""):
            self._said[k] = self._visible[k] = 1
        self._by_identity = {id(b): held for b, held in zip(trace.blocks, self._holds, strict=True)}
        self._due: dict[int, list[int]] = {}
        for k, need in enumerate(self._needs):
            self._due.setdefault(need.request, []).append(k)
        self._charged: set[int] = set()
        self.unread = 0
        self.offloaded = 0
        self.uses_after_clear = 0
        self.reread_tokens = 0
        self.reread_high = 0
        self.reread_prompts = 0

    def appeared(self, position: int) -> None:
        """A block of the trace entered the context."""
        for k in self._holds[position]:
            self._said[k] += 1
            self._visible[k] += 1

    def edited(self, step: Step) -> None:
        """A policy changed the context."""
        for block, _ in step.removed:
            for k in self._held_by(block):
                self._visible[k] -= 1
        for block, _ in step.added:
            for k in self._held_by(block):
                self._visible[k] += 1
        self.unread += sum(event.unread - event.offloaded for event in step.events)
        self.offloaded += sum(event.offloaded for event in step.events)

    def needed(self, request: int, prompt: int) -> None:
        """Check the excerpts that a request of so many tokens relies on, and charge for those that are gone."""
        facts = len(self._trace.facts)
        counted, again = set(), set()
        for k in self._due.get(request, ()):
            if self._visible[facts + k]:
                continue
            again.add(self._needs[k].source)
            if k < self._counted:
                self.uses_after_clear += 1
                counted.add(self._needs[k].source)
        for source in again:
            size = self._sizes.blocks[source] + self._call_size(source)
            self.reread_high += size
            self.reread_prompts += prompt
            if source in counted - self._charged:
                self._charged.add(source)
                self.reread_tokens += size

    @property
    def facts_lost(self) -> int | None:
        """Facts said and no longer in the prompt; ``None`` where the trace lists none."""
        facts = len(self._trace.facts)
        if not facts:
            return None
        return sum(said > 0 and not seen for said, seen in zip(self._said[:facts], self._visible[:facts], strict=True))

    def facts(self) -> Iterator[tuple[Fact, bool]]:
        """Each fact, and whether the prompt holds it."""
        return zip(self._trace.facts, (seen > 0 for seen in self._visible), strict=False)

    def _held_by(self, block: Block) -> tuple[int, ...]:
        held = self._by_identity.get(id(block))
        if held is None:
            held = self._texts.get(block.text)
        if held is None:
            held = self._texts[block.text] = self._finder.in_text(block.text)
        return held

    def _call_size(self, result: int) -> int:
        block = self._trace.blocks[result]
        for i in range(result - 1, -1, -1):
            other = self._trace.blocks[i]
            if other.kind == "call" and other.call_id == block.call_id:
                return self._sizes.blocks[i]
        return 0


class _Finder:
    """Which probes a text holds: facts and listed needs as they are written, found ones as whole words and lines."""

    def __init__(self, trace: Trace) -> None:
        listed = [fact.probe for fact in trace.facts] + [need.excerpt for need in trace.needs]
        found = [need.excerpt for need in found_needs(trace)]
        self.probes = listed + found
        self._written = list(enumerate(listed))
        self._found: dict[str, list[int]] = {}
        for k, excerpt in enumerate(found, start=len(listed)):
            self._found.setdefault(excerpt, []).append(k)

    def in_text(self, text: str) -> tuple[int, ...]:
        """Positions in ``probes``."""
        held = [k for k, probe in self._written if probe in text]
        if self._found:
            held += [k for excerpt in excerpts_in(text) for k in self._found.get(excerpt, ())]
        return tuple(held)


def _holds(trace: Trace, finder: _Finder) -> tuple[list[tuple[int, ...]], dict[str, tuple[int, ...]]]:
    if trace not in _kept:
        _kept[trace] = ([finder.in_text(block.text) for block in trace.blocks], {})
    return _kept[trace]
