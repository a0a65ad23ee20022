"""Conversations rebuilt from calls that each record their whole prompt.

The context is followed by comparing each prompt with what the last one and its answer would lead to:
what is new becomes blocks, what changed becomes an edit. Several conversations in one record (a
subagent's, a grader's, a second client's) come apart by who called and by what they begin with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from labkit.record.pairs import answers
from labkit.record.trace import Block, Edit, EditKind, Prefix, Request, Trace, TraceKind, Usage

__all__ = ["Call", "Conversation", "conversation_of", "from_calls", "split_system"]

Key = tuple[str, str, str, str | None]


@dataclass(frozen=True)
class Call:
    """One call of a model as a record holds it.

    Parameters
    ----------
    start, model, id, prefix, usage
        As in :class:`~labkit.record.trace.Request`; the prefix by value.
    asked : list of Block or None
        The whole prompt without its prefix; ``None`` where the record does not hold it.
    answered : list of Block
        What the model said.
    group : str
        Who called: only calls of one group can be one conversation.
    depth : int
        How many agents stand above the caller; the main conversation is among the shallowest.
    """

    start: float | None
    model: str | None
    id: str | None
    prefix: Prefix
    asked: list[Block] | None
    answered: list[Block]
    usage: Usage | None
    group: str = ""
    depth: int = 0


def split_system(blocks: list[Block]) -> tuple[str | None, list[Block]]:
    """Take the system prompt off the front of a prompt; later system messages stay where they are.

    Examples
    --------
    >>> split_system([Block("text", "system", "Be short."), Block("text", "user", "Hi.")])[0]
    'Be short.'
    """
    first = next((i for i, b in enumerate(blocks) if b.role != "system"), len(blocks))
    return "\n".join(b.text for b in blocks[:first]) or None, blocks[first:]


def _key(block: Block) -> Key:
    return block.kind, block.role, block.text, block.call_id


def conversation_of(call: Call, known: Sequence[Conversation]) -> Conversation | None:
    """The conversation a call goes on with: the newest that shares its beginning, else its last words."""
    mine = [c for c in known if c.group == call.group]
    if call.asked is None:
        return mine[-1] if mine else None
    keys = [_key(b) for b in call.asked]
    for conversation in reversed(mine):
        if conversation.answered_by(call.asked):
            return conversation
    for conversation in reversed(mine):
        if keys and conversation.context and keys[0] == conversation.context[0][0]:
            return conversation
    for conversation in reversed(mine):
        # After a compaction the beginning is new, but the newest messages are still there.
        said = {key for key, _ in conversation.context[-8:] if key[0] in ("call", "result")}
        if said & set(keys):
            return conversation
    return None


@dataclass
class Conversation:
    """One conversation: what happened, and what its next prompt would carry if nothing is edited."""

    group: str = ""
    depth: int = 0
    blocks: list[Block] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    prefixes: list[Prefix] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    context: list[tuple[Key, int]] = field(default_factory=list)
    message: int = 0
    answer: int = 0  # position of the first block of the last answer

    def add(self, call: Call) -> bool:
        """Take the next call; returns whether its prompt begins with the whole previous one."""
        index = len(self.requests) + 1
        goes_on = True
        if call.asked is not None and self.answered_by(call.asked):
            self._append(call.asked, index)  # the provider keeps what was said before
        elif call.asked is not None:
            shared = self._shared(call.asked)
            goes_on = shared == len(self.context)
            self._merge(call.asked, shared, index)
        if call.prefix not in self.prefixes:
            self.prefixes.append(call.prefix)
        prefix = self.prefixes.index(call.prefix)
        self.requests.append(Request(index, call.start, call.model, prefix, call.usage, call.id))
        self.answer = len(self.blocks)
        self._append(call.answered, index + 1)
        return goes_on

    def end(self, said: list[Block]) -> None:
        """Take what the record holds at the end; what follows the last answer is added."""
        if self._shared(said) == len(self.context):
            self._append(said[len(self.context) :], len(self.requests) + 1)

    def answered_by(self, said: list[Block]) -> bool:
        """Whether a prompt holds only what is new: it begins with results of the last answer's calls."""
        wanted = {b.call_id for b in self.blocks[self.answer :] if b.kind == "call"} - {None}
        return bool(said) and said[0].kind == "result" and said[0].call_id in wanted

    def _shared(self, said: list[Block]) -> int:
        shared = 0
        for (key, _), block in zip(self.context, said, strict=False):
            if key != _key(block):
                break
            shared += 1
        return shared

    def _append(self, blocks: Iterable[Block], request: int) -> None:
        """New blocks at the end of what happened and of the context."""
        last: int | None = -1
        for block in blocks:
            if block.message != last or last is None:
                self.message, last = self.message + 1, block.message
            self.context.append((_key(block), len(self.blocks)))
            self.blocks.append(replace(block, request=request, message=self.message))

    def _merge(self, asked: list[Block], shared: int, index: int) -> None:
        old, new = self.context[shared:], asked[shared:]
        if not old:
            self._append(new, index)
            return
        self.context = self.context[:shared]
        matcher = SequenceMatcher(None, [key for key, _ in old], [_key(b) for b in new], autojunk=False)
        for step, a, b, c, d in matcher.get_opcodes():
            gone, come = old[a:b], new[c:d]
            if step == "equal":
                self.context += gone
            elif _cleared(gone, come):
                for (_, position), block in zip(gone, come, strict=True):
                    self.edits.append(Edit("clear", index, (position,), stub=block.text))
                    self.context.append((_key(block), position))
            else:
                first = len(self.blocks)
                self._append(come, index)
                if gone:
                    self._edited(tuple(p for _, p in gone), first, index)

    def _edited(self, gone: tuple[int, ...], first: int, index: int) -> None:
        """Note that ``gone`` left the context, and whether what came in its place is a summary of it."""
        came = len(self.blocks) - first
        # A last answer that is only not repeated, before the user's next words, was not summarized.
        reaches_back = gone[0] < self.answer
        summary = first if 0 < came < len(gone) and reaches_back and self.blocks[first].role == "user" else None
        kind: EditKind = "evict" if summary is None else "summary"
        if summary is not None:
            self.blocks[first] = replace(self.blocks[first], kind="summary", edited="summary")
        self.edits.append(Edit(kind, index, gone, summary))

    def trace(self, name: str, kind: TraceKind, source: str) -> Trace:
        """The Trace of the conversation; results get the tool and the arguments of their calls."""
        blocks = list(self.blocks)
        for result, call in answers(blocks).items():
            blocks[result] = replace(blocks[result], tool=blocks[call].tool, args=blocks[call].args)
        return Trace(
            name=name,
            blocks=tuple(blocks),
            requests=tuple(self.requests),
            prefixes=tuple(self.prefixes) or (Prefix(),),
            edits=tuple(self.edits),
            kind=kind,
            source=source,
        )


def _cleared(gone: list[tuple[Key, int]], come: list[Block]) -> bool:
    """Whether results were only replaced by other words, each in its place."""
    return (
        len(gone) == len(come)
        and bool(gone)
        and all(
            key[0] == block.kind == "result" and key[3] == block.call_id
            for (key, _), block in zip(gone, come, strict=True)
        )
    )


def from_calls(
    calls: Iterable[Call], name: str, source: str, *, end: list[Block] | None = None, warnings: Sequence[str] = ()
) -> Trace:
    """The Trace of calls in the order of sending: the main conversation, the others as its children.

    Parameters
    ----------
    calls : iterable of Call
    name, source : str
        For the Trace; a child is named after it.
    end : list of Block, optional
        The main conversation as the record has it at its end, without the prefix.
    warnings : sequence of str
        What the reader has to say; what was guessed here is added.

    Examples
    --------
    >>> hi, yes = Block("text", "user", "Hi."), Block("text", "assistant", "Yes?", message=1)
    >>> go = Block("text", "user", "Go.", message=2)
    >>> calls = [Call(None, None, None, Prefix(), asked, [yes], None) for asked in ([hi], [hi, yes, go])]
    >>> trace = from_calls(calls, "tiny", "made up")
    >>> [(b.request, b.text) for b in trace.blocks]
    [(1, 'Hi.'), (2, 'Yes?'), (2, 'Go.'), (3, 'Yes?')]
    """
    found: list[Conversation] = []
    changed = blind = 0
    for call in calls:
        conversation = conversation_of(call, found)
        if conversation is None:
            conversation = Conversation(call.group, call.depth)
            found.append(conversation)
        changed += not conversation.add(call)
        blind += call.asked is None
    said = list(warnings)
    if changed:
        said.append(f"{changed} requests do not begin with the whole previous one and its answer; kept as edits")
    if blind:
        said.append(f"{blind} requests are recorded without their prompt: only their answers are in the context")
    if not found:
        return Trace(name, (), (), source=source, warnings=tuple(said))
    top = min(c.depth for c in found)
    main = max((c for c in found if c.depth == top), key=lambda c: len(c.requests))
    if end:
        main.end(end)
    others = [c for c in found if c is not main]
    children = tuple(c.trace(f"{name}-{i}", "subagent", source) for i, c in enumerate(others, 1))
    if children:
        said.append(f"{len(children)} other conversations in the record are kept apart as children")
    return replace(main.trace(name, "session", source), children=children, warnings=tuple(said))
