"""Whether an edit may be made: the trigger, the cache, and thinking that is bound to its prefix."""

from __future__ import annotations

from labkit.errors import EditRefused
from labkit.ladder.context import Context, Slot
from labkit.ladder.policy import Policy

__all__ = ["bound_after", "cold_enough", "past_trigger", "refusal", "seen"]


def seen(context: Context, policy: Policy) -> int:
    """The size of a context as the policy measures it, in tokens."""
    return context.total if policy.count_prefix else context.total - context.prefix_tokens


def past_trigger(context: Context, policy: Policy) -> bool:
    """Whether *clear* and *compact* may run."""
    if policy.trigger is None:
        return False
    measured: float = seen(context, policy)
    if policy.trigger_by == "tool_uses":
        measured = context.results
    elif policy.trigger_by == "fraction":
        measured /= policy.window or 1
    return measured > policy.trigger if policy.strict else measured >= policy.trigger


def cold_enough(policy: Policy, idle: float | None = None, warm: int | None = None) -> bool:
    """Whether an edit of what was sent is wanted now.

    Parameters
    ----------
    policy : Policy
        Uses ``only_cold``.
    idle : float, optional
        Seconds since the request before; ``None`` where they are not known.
    warm : int, optional
        Tokens of the prompt that the cache would still read; ``None`` where they are not known.

    Returns
    -------
    bool
        Without ``only_cold`` always. With it: after a longer pause, or where nothing is warm. Not knowing
        is no reason to edit.

    Examples
    --------
    >>> patient = Policy(only_cold=300)
    >>> [cold_enough(patient, idle) for idle in (None, 20, 300, 301)]
    [False, False, False, True]
    >>> cold_enough(patient, 20, warm=0), cold_enough(Policy())
    (True, True)
    """
    if policy.only_cold is None or warm == 0:
        return True
    return idle is not None and idle > policy.only_cold


def bound_after(context: Context, position: int, policy: Policy, *, bound: bool, request: int) -> list[Slot]:
    """Thinking that an edit before it would invalidate.

    Parameters
    ----------
    context : Context
    position : int
        Where the edit begins.
    policy : Policy
    bound : bool
        Whether the model binds its thinking to the exact prefix.
    request : int
        Index of the request, for the message.

    Raises
    ------
    EditRefused
        If there is some, the edit is the client's, and the policy says to refuse.
    """
    if not bound or policy.edits_at == "server" or not context.thinking:
        return []
    found = [slot for slot in context.slots[position:] if slot.block.kind == "thinking"]
    if found and policy.bound_thinking == "refuse":
        raise EditRefused(refusal(request, len(found)))
    return found


def refusal(request: int, blocks: int) -> str:
    """Why an edit is refused, and what to do instead.

    Examples
    --------
    >>> refusal(12, 1)[:49]
    'an edit at request 12 would invalidate 1 thinking'
    """
    return (
        f"an edit at request {request} would invalidate {blocks} thinking "
        f"block{'s' if blocks > 1 else ''} that this model binds to the exact prefix: "
        "edit on the server (edits_at='server'), or drop the thinking (bound_thinking='drop')"
    )
