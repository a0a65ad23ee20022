"""What a policy took away that was needed: facts, unread results, excerpts used later."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from labkit.ladder.events import Step
from labkit.record.sizes import Sizes
from labkit.record.trace import Block, Fact, Need, Trace
from labkit.replay.passages import WORDS, plain
from labkit.replay.uses import excerpts_in, found_holders, found_needs

__all__ = ["Fidelity", "Probes"]

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
        self._probes = probes = Probes(trace, sizes)
        self._facts = trace.facts
        self._said = list(probes.at_start)  # blocks that ever held the probe
        self._visible = list(probes.at_start)  # blocks of the prompt that hold it
        self._by_identity = {id(block): probes.held(i) for i, block in enumerate(trace.blocks)}
        self._due: dict[int, list[int]] = {}
        for k, need in enumerate(probes.needs):
            self._due.setdefault(need.request, []).append(k)
        self._charged: set[int] = set()
        self.unread = 0
        self.offloaded = 0
        self.uses_after_clear = 0
        self.reread_tokens = 0
        self.reread_high = 0
        self.reread_prompts = 0
        self.unmet: list[Need] = []
        """The needs, listed and found, whose excerpt was gone when they came."""

    def appeared(self, position: int) -> None:
        """A block of the trace entered the context."""
        for k in self._probes.held(position):
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
        facts = len(self._facts)
        counted, again = set(), set()
        for k in self._due.get(request, ()):
            if self._visible[facts + k]:
                continue
            again.add(self._probes.needs[k].source)
            self.unmet.append(self._probes.needs[k])
            if k < self._probes.counted:
                self.uses_after_clear += 1
                counted.add(self._probes.needs[k].source)
        for source in again:
            size = self._probes.again(source)
            self.reread_high += size
            self.reread_prompts += prompt
            if source in counted - self._charged:
                self._charged.add(source)
                self.reread_tokens += size

    @property
    def facts_lost(self) -> int | None:
        """Facts said and no longer in the prompt; ``None`` where the trace lists none."""
        facts = len(self._facts)
        if not facts:
            return None
        return sum(said > 0 and not seen for said, seen in zip(self._said[:facts], self._visible[:facts], strict=True))

    def facts(self) -> Iterator[tuple[Fact, bool]]:
        """Each fact, and whether the prompt holds it."""
        return zip(self._facts, (seen > 0 for seen in self._visible), strict=False)

    def _held_by(self, block: Block) -> tuple[int, ...]:
        held = self._by_identity.get(id(block))
        return self._probes.in_text(block.text) if held is None else held


class Probes:
    """The texts that are looked for in prompts: facts, listed needs, found needs, in this order.

    Parameters
    ----------
    trace : Trace
    sizes : Sizes

    Notes
    -----
    Facts and listed needs are looked for as they are written, found ones as whole words and lines.
    """

    def __init__(self, trace: Trace, sizes: Sizes) -> None:
        self._trace, self._sizes = trace, sizes
        found = found_needs(trace)
        self.needs: tuple[Need, ...] = trace.needs + found
        self.counted = len(trace.needs) or len(found)
        """The needs that are counted as uses; the rest only bear on the higher charge."""
        listed = [fact.probe for fact in trace.facts] + [need.excerpt for need in trace.needs]
        self._written = list(enumerate(listed))
        self._found: dict[str, list[int]] = {}
        for k, need in enumerate(found, start=len(listed)):
            self._found.setdefault(need.excerpt, []).append(k)
        # A passage is looked for as words, however the text is laid out.
        self._passages = [(f" {e} ", ks) for e, ks in self._found.items() if e.count(" ") == WORDS - 1]
        if trace not in _kept:
            written = [[k for k, probe in self._written if probe in block.text] for block in trace.blocks]
            for excerpt, positions in found_holders(trace).items():
                for position in positions:
                    written[position] += self._found[excerpt]
            _kept[trace] = ([tuple(held) for held in written], {})
        self._holds, self._texts = _kept[trace]
        # Facts can stand in the system prompt, which no rung edits.
        self.at_start = [0] * (len(trace.facts) + len(self.needs))
        prefix = trace.prefixes[trace.requests[0].prefix]
        for k in self._look(prefix.system or ""):
            self.at_start[k] = 1

    def held(self, position: int) -> tuple[int, ...]:
        """The probes that a block of the trace holds."""
        return self._holds[position]

    def in_text(self, text: str) -> tuple[int, ...]:
        """The probes that another text holds; remembered for stubs and summaries."""
        held = self._texts.get(text)
        if held is None:
            held = self._texts[text] = self._look(text)
        return held

    def again(self, source: int) -> int:
        """Tokens of a result and of its call, once more."""
        block = self._trace.blocks[source]
        for i in range(source - 1, -1, -1):
            other = self._trace.blocks[i]
            if other.kind == "call" and other.call_id == block.call_id:
                return self._sizes.blocks[source] + self._sizes.blocks[i]
        return self._sizes.blocks[source]

    def _look(self, text: str) -> tuple[int, ...]:
        held = [k for k, probe in self._written if probe in text]
        if self._found:
            held += [k for excerpt in excerpts_in(text) for k in self._found.get(excerpt, ())]
            words = f" {plain(text)} "
            held += [k for words_of, ks in self._passages if words_of in words for k in ks if k not in held]
        return tuple(held)
