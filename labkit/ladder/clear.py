"""Clear: stubs in place of stale results, and old thinking dropped; what :func:`labkit.clear` does, incrementally."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from labkit.ladder.context import Context, Slot, stands
from labkit.ladder.events import Event
from labkit.ladder.policy import Policy
from labkit.ladder.rungs import bare_call, clears_inputs, speaks, stub
from labkit.record.trace import Block

__all__ = ["Clearing"]


class Clearing:
    """Follows which results are stale; each stub is made once, when the ladder first looks at it.

    Parameters
    ----------
    policy : Policy
    count : callable
        Tokens of a text.
    """

    def __init__(self, policy: Policy, count: Callable[[str], int]) -> None:
        self._policy, self._count = policy, count
        self._begin()
        self._stale: list[Slot] = []
        self._saving = 0  # what clearing all of the stale ones would free
        self._thoughts: deque[Slot] = deque()

    def _begin(self) -> None:
        by_user = self._policy.keep_by == "user_turns"
        self._units: deque[list[Slot]] = deque([[]] if by_user else [])  # what keep may protect, oldest first
        self._seen, self._aged = len(self._units), 0
        self._kept = 0  # tokens of the units

    def appended(self, slot: Slot) -> None:
        """A block came in."""
        policy, block = self._policy, slot.block
        if block.kind == "thinking":
            if policy.keep_thinking is not None:
                self._thoughts.append(slot)
            return
        if policy.keep_by == "user_turns" and speaks(block):
            self._unit([])
        if block.kind != "result" or policy.keep is None:
            return
        if block.tool in policy.pinned and not policy.pinned_take_keep:
            return
        same = policy.keep_by == "user_turns" or (
            policy.keep_by == "groups" and bool(self._units) and self._units[-1][0].turn == slot.turn
        )
        if same and self._units:
            self._units[-1].append(slot)
        else:
            self._unit([slot])

    def _unit(self, slots: list[Slot]) -> None:
        self._kept += sum(slot.size for slot in slots)
        self._units.append(slots)
        self._seen += 1

    def rebuild(self, context: Context) -> None:
        """Begin again with what stands: another rung has taken a stretch out."""
        self._begin()
        self._stale, self._saving, self._thoughts = [], 0, deque()
        for slot in context.slots:
            self.appended(slot)

    def act(self, context: Context, request: int, check: Callable[[int], None]) -> list[Event]:
        """Clear what is stale, unless that frees less than the floor.

        Parameters
        ----------
        context : Context
        request : int
            Index of the request.
        check : callable
            Is told the first position that would change, and refuses where the edit is not allowed.
        """
        policy = self._policy
        if policy.evict and policy.keep_by == "tokens":  # another rung may have made some smaller
            self._kept = sum(slot.size for unit in self._units for slot in unit)
        self._age_units()
        if policy.evict:  # another rung may have taken some
            self._stale = [slot for slot in self._stale if stands(slot.block)]
            self._saving = sum(self._gain(slot) for slot in self._stale)
        old = self._old_thoughts(context)
        saving = self._saving + sum(slot.size for slot in old)
        if policy.floor and policy.floor_is == "minimum" and saving < policy.floor:
            return []
        events = []
        stale = self._chosen()
        if stale:
            pieces = [piece for slot in stale for piece in self._pieces(slot)]
            first = min(piece.position for piece, _, _ in pieces)
            check(first)
            kept = context.intact_before(first)
            removed = sum(piece.size for piece, _, _ in pieces)
            added = sum(size for _, _, size in pieces)
            unread = sum(slot.block.request >= request and slot.block.edited is None for slot in stale)
            for piece, block, size in pieces:
                context.replace(piece, block, size)
            self._stale = self._stale[len(stale) :]
            self._saving = sum(self._gain(slot) for slot in self._stale) if self._stale else 0
            events.append(
                Event(
                    request,
                    "cleared",
                    len(stale),
                    removed - added,
                    kept,
                    unread,
                    side=policy.edits_at,
                    removed=removed,
                    added=added,
                )
            )
        if old:
            for slot in old:
                self._thoughts.remove(slot)
            kept = context.intact_before(old[0].position)
            freed = context.drop(old)
            events.append(
                Event(request, "dropped_thinking", len(old), freed, kept, side=policy.edits_at, removed=freed)
            )
        return events

    def _age_units(self) -> None:
        """What keep no longer protects is stale."""
        policy = self._policy
        if policy.keep is None:
            return
        limit = self._seen // policy.batch * policy.batch - policy.keep
        while self._kept > policy.keep if policy.keep_by == "tokens" else self._aged < limit:
            self._aged += 1
            unit = self._units.popleft()
            self._kept -= sum(slot.size for slot in unit)
            for slot in unit:
                if stands(slot.block) and slot.block.tool not in policy.pinned:
                    self._age(slot)

    def _age(self, slot: Slot) -> None:
        if slot.stub is None:
            policy = self._policy
            replacement = stub(slot.block, slot.size, policy.stub_chars, policy.stub_text)
            size = self._count(replacement.text) + slot.overhead
            if size >= slot.size and policy.stub_if_smaller:
                return
            slot.stub, slot.stub_size = replacement, size
            call = slot.call
            if call is not None and call.stub is None and clears_inputs(slot.block.tool, policy):
                bare = bare_call(call.block)
                size = self._count(bare.text) + call.overhead
                if call.block.edited is None and size < call.size:
                    call.stub, call.stub_size = bare, size
        self._stale.append(slot)
        self._saving += self._gain(slot)

    def _pieces(self, slot: Slot) -> list[tuple[Slot, Block, int]]:
        """What changes when a result is cleared: the result, and perhaps its call."""
        call = slot.call
        return [
            (piece, piece.stub, piece.stub_size)
            for piece in (slot, call)
            if piece is not None and piece.stub is not None and piece.position >= 0
        ]

    def _gain(self, slot: Slot) -> int:
        return sum(piece.size - size for piece, _, size in self._pieces(slot))

    def _chosen(self) -> list[Slot]:
        """All that is stale, or as much of it as a target asks for."""
        policy = self._policy
        if policy.floor_is == "minimum" or not policy.floor:
            return self._stale
        freed, chosen = 0, []
        for slot in self._stale:
            if freed >= policy.floor:
                break
            chosen.append(slot)
            freed += self._gain(slot)
        return chosen

    def _old_thoughts(self, context: Context) -> list[Slot]:
        """Thinking older than the newest assistant messages; that of the newest is never touched."""
        keep = self._policy.keep_thinking
        if keep is None:
            return []
        self._thoughts = deque(slot for slot in self._thoughts if slot.position >= 0)
        newest = context.turn - max(keep, 1)
        return [slot for slot in self._thoughts if slot.turn <= newest]
