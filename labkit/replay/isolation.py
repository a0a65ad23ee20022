"""A piece of work done in the parent, or by a child with a context of its own: the same, told both ways.

*Fold* takes a stretch out of a trace and gives it to a child: the parent keeps a call and what came back.
*Unfold* brings a recorded child's work back into its parent: its new blocks once, neither its prefix nor
its re-sent prompts. What exists only where there is a child (the call, the brief, the return, the child's
prefix) is an :class:`Errand`, so that each undoes the other to the token.

Usage is left out on both sides. Requests that were never sent in this form have none, and one side with
recorded counts and one without would not compare.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from labkit.errors import InputError
from labkit.record.sizes import Sizes, measure
from labkit.record.trace import Block, Prefix, Request, Trace
from labkit.replay.isolation_text import brief_text, return_text, script_text
from labkit.replay.isolation_trace import (
    Errand,
    Sized,
    Stretch,
    as_fork,
    elapsed,
    joined,
    sooner,
    split,
    stretch_of,
)
from labkit.replay.session_sizes import session_sizes

__all__ = ["Errand", "Isolation", "Sized", "Stretch", "fold", "recorded_sizes", "refolded", "unfold"]

How = Literal["fresh", "fork", "script"]


@dataclass(frozen=True, eq=False)
class Isolation:
    """One piece of work, told both ways.

    Parameters
    ----------
    how : {"fresh", "fork", "script"}
        ``fresh``: a child with its own prefix and an empty cache. ``fork``: a child that begins with the
        parent's whole context, and reads the parent's cache. ``script``: the parent writes one script that
        makes the calls, and sees its last line; it takes the time of one call.
    inline : Sized
        The trace in which the parent does it itself.
    parent : Sized
        The trace in which it hands it away.
    child : Sized or None
        The child; ``None`` for a script. A fork's begins with the parent's own requests.
    stretch : Stretch
        Where it lies in ``inline``.
    errand : Errand
    """

    how: How
    inline: Sized
    parent: Sized
    child: Sized | None
    stretch: Stretch
    errand: Errand

    @property
    def left(self) -> int:
        """Requests of the parent after the stretch; the first of them carries its last result, or the return."""
        return len(self.parent.trace.requests) - self.stretch.first


def fold(
    trace: Trace,
    first: int,
    last: int,
    *,
    how: How = "fresh",
    brief: int | str = 300,
    returned: int | str = 1_000,
    prefix: int | Prefix = 20_000,
    sizes: Sizes | None = None,
) -> Isolation:
    """Take a stretch out of a trace, as if a child or a script had done it.

    Parameters
    ----------
    trace : Trace
    first, last : int
        The stretch is what requests ``first`` to ``last`` answered: their calls, and the results.
    how : {"fresh", "fork", "script"}
        See :class:`Isolation`.
    brief : int or str
        What the child is told: a text, or tokens. Of a script, the script: for a number or a text other
        than the default, that; else one line a call.
    returned : int or str
        What comes back: a text, or tokens. Tokens are filled as well as could be: with what the parent uses
        later, first use first. Of a script it is the last line of the last result, unless a text is given.
    prefix : int or Prefix
        The child's system prompt and tool schemas, or their tokens.
    sizes : Sizes, optional
        Default: :func:`labkit.measure`.

    Returns
    -------
    Isolation

    Raises
    ------
    InputError
        If the requests are not in the trace, if they made no call, or if a user spoke in between.

    Examples
    --------
    >>> from labkit.files import data_path
    >>> from labkit.record.load import load
    >>> made = fold(load(data_path("traces", "invoice-60.jsonl")), 41, 50, returned=200)
    >>> [len(side.trace.requests) for side in (made.inline, made.parent, made.child)], made.left
    ([60, 51, 11], 10)
    """
    if how not in ("fresh", "fork", "script"):
        raise InputError(f"how is {how!r}: give 'fresh', 'fork' or 'script'")
    inline = Sized(trace, sizes or measure(trace)).without_usage()
    stretch = stretch_of(trace, first, last)
    if how == "script":
        text = script_text(trace, stretch) if isinstance(brief, int) else brief
        line = return_text(inline, stretch, None) if isinstance(returned, int) else returned
        errand = _errand(inline, stretch, text, None, line, None, Prefix(), "run_script")
        if isinstance(brief, int) and brief != 300:
            errand = replace(errand, call_size=brief)
    else:
        told = brief_text(inline, stretch, brief) if isinstance(brief, int) else brief
        back = return_text(inline, stretch, returned) if isinstance(returned, int) else returned
        own = prefix if isinstance(prefix, Prefix) else Prefix()
        errand = _errand(
            inline,
            stretch,
            told,
            brief if isinstance(brief, int) else None,
            back,
            returned if isinstance(returned, int) else None,
            own,
            "agent",
        )
        if isinstance(prefix, int):
            if prefix < 0:
                raise InputError(f"prefix is {prefix}: it counts tokens, so give 0 or more")
            errand = replace(errand, prefix_sizes=((prefix,), (0,)))
    return _isolation(how, inline, stretch, errand)


def unfold(
    parent: Trace,
    child: Trace,
    *,
    parent_sizes: Sizes | None = None,
    child_sizes: Sizes | None = None,
) -> Isolation:
    """Bring a recorded child's work back into its parent.

    Parameters
    ----------
    parent : Trace
    child : Trace
        One of ``parent.children``, or a trace that was recorded apart.
    parent_sizes, child_sizes : Sizes, optional
        Default: :func:`recorded_sizes`.

    Returns
    -------
    Isolation
        ``how`` is ``fresh``. In ``inline`` the parent has made the child's calls itself. What the child
        was told and what it wrote back is gone: nobody there has to be told.

    Raises
    ------
    InputError
        If the call that started the child is not found, if the child made no call, or if its own context
        was edited.

    Notes
    -----
    The call is found by the child's first message among its arguments, or by the child's name in the
    result. What the parent's same response said behind that call comes after the stretch. Where a child runs
    in the background, the later call that fetches its return stays in ``inline``.
    """
    first = Sized(parent, parent_sizes or recorded_sizes(parent)).without_usage()
    second = Sized(child, child_sizes or recorded_sizes(child)).without_usage()
    return _isolation("fresh", *joined(first, second))


def recorded_sizes(trace: Trace, base: Trace | None = None) -> Sizes:
    """Sizes that grow as the record did, from a first prompt of its recorded size.

    Parameters
    ----------
    trace : Trace
        As it ran. Without recorded usage its blocks are counted.
    base : Trace, optional
        The same unedited, if that is what the sizes are for.

    Returns
    -------
    Sizes
        What the first prompt holds beyond what is recorded of it counts as tool schemas.
    """
    base = base or trace
    usage = next((r.usage for r in trace.requests if r.usage is not None), None)
    if usage is None:
        return measure(base)
    sizes = session_sizes(trace, base)
    own = sum(size for size, b in zip(sizes.blocks, base.blocks, strict=True) if b.request <= 1)
    rest = usage.total_input - sizes.prefix(0) - own
    if trace.requests[0].usage is None or rest <= 0:
        return sizes
    return replace(sizes, tools=tuple(tools + rest for tools in sizes.tools))


def _isolation(how: How, inline: Sized, stretch: Stretch, errand: Errand) -> Isolation:
    parent, child = split(inline, stretch, errand)
    if how == "script":
        # No model is waited for between its calls, so it is taken to last as long as the last of them.
        took = elapsed(inline.trace.requests[stretch.first - 1], inline.trace.requests[stretch.last - 1])
        return Isolation(how, inline, sooner(parent, stretch.first, took), None, stretch, errand)
    if how == "fork":
        return Isolation(how, inline, *as_fork(inline, parent, child, stretch, errand), stretch, errand)
    trace = replace(parent.trace, children=(*parent.trace.children, child.trace))
    return Isolation(how, inline, Sized(trace, parent.sizes), child, stretch, errand)


def refolded(made: Isolation, how: How) -> Isolation:
    """The same stretch and errand another way: a fork of what was a fresh child, or the reverse.

    Parameters
    ----------
    made : Isolation
        With a child.
    how : {"fresh", "fork"}

    Raises
    ------
    InputError
        For a script, which has another errand: fold again.
    """
    if "script" in (how, made.how):
        raise InputError("a script is told by its calls, a child by a brief: fold the trace again with the other how")
    return _isolation(how, made.inline, made.stretch, made.errand)


def _errand(
    inline: Sized,
    stretch: Stretch,
    told: str,
    told_size: int | None,
    back: str,
    back_size: int | None,
    prefix: Prefix,
    tool: str,
) -> Errand:
    """What the parent says and hears, and what the child does, beyond the stretch itself."""
    for name, size in (("brief", told_size), ("returned", back_size)):
        if size is not None and size < 0:
            raise InputError(f"{name} is {size}: it counts tokens, so give 0 or more")
    trace, sizes = inline.trace, inline.sizes
    own = measure(Trace("sizes", (Block("text", "user", told), Block("text", "user", back)), (), (prefix,)))
    told_counted, back_counted = (sizes.count(text) + 4 for text in (told, back))
    call = Block("call", "assistant", f"{tool} {told}", tool=tool, args=told[:120], call_id="isolated")
    result = Block("result", "tool", back, tool=tool, args=told[:120], call_id="isolated")
    after = trace.requests[stretch.last] if stretch.last < len(trace.requests) else None
    begun = trace.requests[stretch.first - 1]
    end = after.start if after is not None else trace.requests[-1].start
    return Errand(
        call=call,
        call_size=told_counted if told_size is None else told_size,
        result=result,
        result_size=back_counted if back_size is None else back_size,
        result_after=1,
        brief=(Block("text", "user", told, request=1),),
        brief_sizes=(told_counted if told_size is None else told_size,),
        answer=(Block("text", "assistant", back, request=stretch.calls + 2),),
        answer_sizes=(back_counted if back_size is None else back_size,),
        opening=Request(1, start=begun.start, model=begun.model),
        closing=(Request(stretch.calls + 1, start=end, model=begun.model),),
        prefixes=(prefix,),
        prefix_sizes=(own.system, own.tools),
        name=f"{trace.name}, requests {stretch.first} to {stretch.last}",
    )
