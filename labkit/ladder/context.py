"""The messages of a context as the rungs edit them: sizes kept up to date, and what stands unchanged.

Nothing is counted twice, and no edit walks over more than it changes, so a long run costs O(n).
"""

from __future__ import annotations

from collections.abc import Sequence

from labkit.record.trace import Block

__all__ = ["Context", "Slot"]


class Slot:
    """A place in the history: the block, what it weighs, and what the rungs need to know of it.

    ``position`` is -1 once the slot has left the context. ``turn`` counts assistant messages: the calls
    of one message and their results share it.
    """

    __slots__ = ("block", "call", "overhead", "position", "size", "stub", "stub_size", "turn")

    def __init__(self, block: Block, size: int, overhead: int, position: int, turn: int = 0) -> None:
        self.block = block
        self.size = size
        self.overhead = overhead
        self.position = position
        self.turn = turn
        self.call: Slot | None = None  # of a result: its call
        self.stub: Block | None = None  # what stands here once the rung that made it acts
        self.stub_size = 0


class Context:
    """What the next request carries, and how it differs from the request before.

    Parameters
    ----------
    prefix_tokens : int
        Size of what precedes the messages.
    """

    def __init__(self, prefix_tokens: int) -> None:
        self.prefix_tokens = prefix_tokens
        self.slots: list[Slot] = []
        self.total = prefix_tokens
        self.turn = 0
        self.thinking = 0  # blocks of thinking
        self.results = 0  # results that stand uncleared
        self.spoke: Slot | None = None  # the newest text of the user
        self.waiting: dict[str | None, list[Slot]] = {}  # calls without a result, by id
        # What the next step reports. It outlives a step that failed: the edits made before the failure
        # happened all the same.
        self.removed: list[tuple[Block, int]] = []
        self.added: list[tuple[Block, int]] = []
        self.kept = 0  # of the previous request's tokens, those before the first edit
        self.edited_from = 0  # the position of that edit; without one, the previous request's length

    def append(self, block: Block, size: int, overhead: int) -> Slot:
        """Add a block at the end; ``overhead`` is the part of ``size`` that opens a message."""
        if block.role == "assistant" and (not self.slots or self.slots[-1].block.role != "assistant"):
            self.turn += 1
        slot = Slot(block, size, min(overhead, size), len(self.slots), self.turn)
        self.slots.append(slot)
        self.total += size
        if block.kind == "call":
            self.waiting.setdefault(block.call_id, []).append(slot)
        elif block.kind == "result":
            self.results += stands(block)
            waiting = self.waiting.get(block.call_id)
            if waiting:
                slot.call = waiting.pop()
                if not waiting:
                    del self.waiting[block.call_id]
        elif block.kind == "thinking":
            self.thinking += 1
        elif block.role == "user":
            self.spoke = slot
        return slot

    def replace(self, slot: Slot, block: Block, size: int) -> None:
        """Put another block in a slot; call :meth:`intact_before` first."""
        self.removed.append((slot.block, slot.size))
        self.added.append((block, size))
        self.total += size - slot.size
        self.results += stands(block) - stands(slot.block)
        slot.block, slot.size, slot.stub = block, size, None

    def splice(self, start: int, stop: int, new: Sequence[Slot]) -> None:
        """Put new slots in the place of a stretch."""
        old = self.slots[start:stop]
        self.removed += [(slot.block, slot.size) for slot in old]
        self.added += [(slot.block, slot.size) for slot in new]
        self.total += sum(slot.size for slot in new) - sum(slot.size for slot in old)
        for slot in old:
            slot.position = -1
        self._place(start, [*new, *self.slots[stop:]])
        self._forget(old)

    def drop(self, gone: Sequence[Slot]) -> int:
        """Take out slots, in order, each call with its result; return the tokens freed."""
        before = self.total
        for slot in gone:
            following = slot.position + 1
            if slot.overhead and following < len(self.slots) and self.same_message(following):
                # The message goes on without its first block, so its overhead moves to the next one.
                heir = self.slots[following]
                self.removed.append((heir.block, heir.size))
                heir.size, heir.overhead = heir.size + slot.overhead, heir.overhead + slot.overhead
                self.added.append((heir.block, heir.size))
                self.total += slot.overhead
            self.removed.append((slot.block, slot.size))
            self.total -= slot.size
        first, names = gone[0].position, {id(slot) for slot in gone}
        for slot in gone:
            slot.position = -1
        self._place(first, [slot for slot in self.slots[first:] if id(slot) not in names])
        self._forget(gone)
        return before - self.total

    def same_message(self, position: int) -> bool:
        """Whether a slot goes on with the message of the slot before it."""
        if position == 0:
            return False
        here, before = self.slots[position].block, self.slots[position - 1].block
        return here.message is not None and here.message == before.message

    def intact_before(self, position: int) -> int:
        """Tokens of the previous request that stand unchanged, once a position is edited.

        Called before the edit: between the position and the earlier edits nothing has changed yet.
        """
        if position < self.edited_from:
            self.kept -= sum(slot.size for slot in self.slots[position : self.edited_from])
            self.edited_from = position
        return self.kept

    def sent(self) -> None:
        """The context was sent as it stands: the next request is compared with it."""
        self.removed, self.added = [], []
        self.kept, self.edited_from = self.total, len(self.slots)

    def adopt(self, other: Context) -> None:
        """Become another context, and say how it differs."""
        before, after = self.slots, other.slots
        same = 0
        while same < min(len(before), len(after)) and (
            before[same].size == after[same].size and before[same].block == after[same].block
        ):
            same += 1
        if same < len(before) or same < len(after):
            self.intact_before(same)
        self.removed += [(slot.block, slot.size) for slot in before[same:]]
        self.added += [(slot.block, slot.size) for slot in after[same:]]
        self.slots, self.total = after, other.total
        self.turn, self.thinking, self.results = other.turn, other.thinking, other.results
        self.spoke, self.waiting = other.spoke, other.waiting

    def _forget(self, gone: Sequence[Slot]) -> None:
        """Keep the counts right once slots have left."""
        self.thinking -= sum(slot.block.kind == "thinking" for slot in gone)
        self.results -= sum(stands(slot.block) for slot in gone)
        if any(slot.block.kind == "call" for slot in gone):
            left = {i: [s for s in slots if s.position >= 0] for i, slots in self.waiting.items()}
            self.waiting = {i: slots for i, slots in left.items() if slots}

    def _place(self, first: int, slots: list[Slot]) -> None:
        """Let the context go on with these slots from a position; what stands before it is not walked over."""
        self.slots[first:] = slots
        for position, slot in enumerate(slots, first):
            slot.position = position


def stands(block: Block) -> bool:
    """Whether a block is a result that still says what the tool returned, whole or capped."""
    return block.kind == "result" and block.edited in (None, "cap")
