"""The thresholds of the ladder, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from numbers import Integral
from types import NoneType
from typing import Any, Literal, get_args

from labkit.errors import InputError, closest

__all__ = ["SUPERSEDED", "Policy"]

SUPERSEDED = ("same_call", "edited", "wider_read")
"""Why a result may be superseded: the same call was made again; the file it shows was edited since; a later
read shows all of it."""

TriggerBy = Literal["tokens", "tool_uses", "fraction"]
CapBy = Literal["tokens", "characters"]
KeepBy = Literal["results", "groups", "user_turns", "tokens"]
KeepRecentBy = Literal["messages", "tokens"]
FloorIs = Literal["minimum", "target"]
Side = Literal["client", "server"]
BoundThinking = Literal["refuse", "drop"]
Lifetime = Literal["5m", "1h"]


@dataclass(frozen=True)
class Policy:
    """What a harness does to its context, and when.

    The rungs stand in the order in which they are climbed; the first acts when a result comes in, the
    others before a request is sent. ``Policy.nothing()`` has none, and ``dataclasses.replace`` adds one.

    Parameters
    ----------
    window : int, optional
        The model's hard limit, in tokens; ``None`` for no limit.
    trigger : int or float, optional
        *Clear* and *compact* run only past this; ``None`` for never.
    trigger_by : {"tokens", "tool_uses", "fraction"}
        What it counts: tokens of the prompt, uncleared results in it, or the share of the window in use.
    strict : bool
        Whether a prompt of exactly the trigger is not yet past it.
    count_prefix : bool
        Whether system prompt and tool schemas count towards the triggers. Some harnesses see messages only.
    only_cold : float, optional
        Edit what was sent only after a pause of more than this many seconds, or where nothing is
        warm: an edit of a cold prefix breaks nothing. ``None`` for at any time.
    remembers : bool
        Whether an edit lasts. A harness that edits a copy for each request forgets, and decides anew
        from the whole record.
    edits_at : {"client", "server"}
        Who edits. Some models bind their thinking to the exact prefix: there a client may not edit
        what was sent, a server may.
    bound_thinking : {"refuse", "drop"}
        What a client-side edit does on such a model: refuse, or drop the thinking it would invalidate.
    floor : int
        A rung changes nothing unless it removes at least this many tokens: every edit breaks the
        cached prefix, so a small one costs more than it saves. 0 for no floor. Anthropic calls it
        ``clear_at_least``.
    floor_is : {"minimum", "target"}
        ``target`` reads the same number as LangChain does: *clear* stops as soon as so many are
        removed, and acts even where there are fewer.
    cap : int, optional
        *Cap*: a result larger than this is shaped where it is made; ``None`` for never.
    cap_by : {"tokens", "characters"}
        What ``cap``, ``cap_of`` and ``cap_preview`` count.
    cap_of : mapping of str to int or None
        Tools with a cap of their own; ``None`` for no cap. Kept as sorted pairs.
    cap_preview : int, optional
        How much of a capped result is shown; ``None`` for as much as the cap.
    cap_tail : float
        Share of the preview, 0 to 1, that is taken from the end of the result.
    offload : bool
        Whether the whole result is kept in a file and the preview names its path.
    evict : frozenset of str
        *Evict*: which superseded results are removed, from :data:`SUPERSEDED`; empty for none.
    keep : int, optional
        *Clear*: the newest tool results that are never cleared; ``None``: results are never cleared.
    keep_by : {"results", "groups", "user_turns", "tokens"}
        Whether ``keep`` counts results, groups of results that answer calls made together, the newest
        messages of the user with everything that follows them, or tokens of the newest results.
    pinned : frozenset of str
        Tools whose results are never cleared or evicted.
    pinned_take_keep : bool
        Whether a pinned result uses up one of ``keep``: pinned results are left out after keep is
        counted, and not before.
    batch : int
        *Clear* sees only whole batches of this many results, so that it acts once a batch. Not where
        ``keep`` counts tokens.
    clear_inputs : frozenset of str
        Tools whose call arguments are cleared with the result; ``"*"`` for every tool.
    keep_thinking : int, optional
        Thinking of so many newest assistant messages is kept and older thinking dropped when *clear*
        runs; ``None``: thinking is never cleared.
    stub_text : str, optional
        What stands for a cleared result; ``None``: words that name the call, its size and its first error.
    stub_if_smaller : bool
        Clear or evict a result only where the stub is smaller than the result.
    stub_chars : int, optional
        The longest arguments, and the longest error, that a stub repeats; ``None`` for all of them.
    compact_above : int, optional
        *Compact*: past the trigger, if the context is still larger than this after clearing, it is
        summarized; ``None`` for never.
    keep_recent : int
        The newest messages that a summary leaves word for word, the newest answer whole or not at all.
    keep_recent_by : {"messages", "tokens"}
        What ``keep_recent`` counts. By tokens, the newest message stays however large it is.
    keep_first : int
        Messages at the start that a summary leaves word for word; the task is often the first.
    trim : float, optional
        *Trim*: past the trigger, this share of the messages after the first one of the user stays, 0 to 1,
        the newest of them, and nothing says that something is missing; ``None`` for never. Inspect does it.
    compact_before_pause : bool
        Compact while the cache is still warm if the next pause outlives it, and there is more than
        ``compact_above``. It knows the pause ahead, so a real harness can do no better.
    hand_off_above : int, optional
        *Hand off*: past this many tokens, after the other rungs, a fresh context starts from an
        artifact; ``None`` for never.
    lifetime : {"5m", "1h"}
        Of the cache entries that the harness writes.
    keep_alive : int
        During a pause, read the cache again this many times at most to keep it from expiring.

    Raises
    ------
    InputError
        If a number is out of range or two of them contradict each other.

    Examples
    --------
    >>> Policy(trigger=50_000, keep=5).floor
    10000
    >>> Policy(keep=-1)
    Traceback (most recent call last):
    ...
    labkit.errors.InputError: keep is -1: it counts tool results, so give 0 or more, or None for never
    """

    window: int | None = 200_000
    trigger: int | float | None = 30_000
    trigger_by: TriggerBy = "tokens"
    strict: bool = True
    count_prefix: bool = True
    only_cold: float | None = None
    remembers: bool = True
    edits_at: Side = "client"
    bound_thinking: BoundThinking = "refuse"
    floor: int = 10_000
    floor_is: FloorIs = "minimum"
    cap: int | None = None
    cap_by: CapBy = "tokens"
    cap_of: tuple[tuple[str, int | None], ...] = ()
    cap_preview: int | None = None
    cap_tail: float = 0.5
    offload: bool = True
    evict: frozenset[str] = frozenset()
    keep: int | None = 3
    keep_by: KeepBy = "results"
    pinned: frozenset[str] = frozenset({"notes_read"})
    pinned_take_keep: bool = False
    batch: int = 1
    clear_inputs: frozenset[str] = frozenset()
    keep_thinking: int | None = None
    stub_text: str | None = None
    stub_if_smaller: bool = True
    stub_chars: int | None = 200
    compact_above: int | None = 20_000
    keep_recent: int = 10
    keep_recent_by: KeepRecentBy = "messages"
    keep_first: int = 0
    trim: float | None = None
    compact_before_pause: bool = False
    hand_off_above: int | None = None
    lifetime: Lifetime = "5m"
    keep_alive: int = 0

    def __post_init__(self) -> None:
        for name in (*_COUNTS, "trigger"):  # a row of a table has numpy's whole numbers
            value = getattr(self, name)
            if type(value) not in (int, NoneType, bool) and isinstance(value, Integral):
                object.__setattr__(self, name, int(value))
        for name, (unit, least, never) in _COUNTS.items():
            _counted(name, getattr(self, name), unit, least, never)
        self._check_trigger()
        for name in ("compact_above", "hand_off_above"):
            self._within_window(name, getattr(self, name))
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} is {getattr(self, name)!r}: give {' or '.join(map(repr, allowed))}")
        for name in _SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is {getattr(self, name)!r}: give true or false")
        for name in ("pinned", "clear_inputs", "evict"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        for rule in sorted(self.evict - set(SUPERSEDED)):
            raise InputError(f"evict has {rule!r}{closest(rule, SUPERSEDED)}: give some of {', '.join(SUPERSEDED)}")
        object.__setattr__(self, "cap_of", _caps(self.cap_of))
        _number("cap_tail", self.cap_tail)
        if not 0 <= self.cap_tail <= 1:
            raise InputError(f"cap_tail is {self.cap_tail}: it is a share of the preview, so give 0 to 1")
        if self.trim is not None:
            _number("trim", self.trim)
            if not 0 <= self.trim <= 1:
                raise InputError(
                    f"trim is {self.trim}: it is a share of the messages, so give 0 to 1, or None for never"
                )
        if self.only_cold is not None:
            _number("only_cold", self.only_cold)
            if not self.only_cold >= 0:
                raise InputError(f"only_cold is {self.only_cold}: it counts seconds, so give 0 or more, or None")
        if self.stub_text is not None and not isinstance(self.stub_text, str):
            raise InputError(f"stub_text is {self.stub_text!r}: give a text, or None for words that name the call")

    def _check_trigger(self) -> None:
        if self.trigger is None:
            return
        if self.trigger_by == "fraction":
            _number("trigger", self.trigger)
            if not 0 < self.trigger <= 1:
                raise InputError(
                    f"trigger is {self.trigger}: it is a share of the window, so give more than 0, up to 1"
                )
            if self.window is None:
                raise InputError("trigger_by is 'fraction' and window is None: give the window, in tokens")
            return
        unit = "tool results" if self.trigger_by == "tool_uses" else "tokens"
        _counted("trigger", self.trigger, unit, 1, True)
        if self.trigger_by == "tokens":
            self._within_window("trigger", self.trigger)

    def _within_window(self, name: str, value: float | None) -> None:
        if value is not None and self.window is not None and value > self.window:
            raise InputError(
                f"{name} is {value:,}, over the window of {self.window:,}: it would never act, "
                f"so give at most {self.window:,}, or None for never"
            )

    @classmethod
    def nothing(cls) -> Policy:
        """The policy that never edits: what every other one has to beat."""
        return cls(window=None, trigger=None, compact_above=None)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Policy:
        """Make a policy from parsed JSON.

        Raises
        ------
        InputError
            If a name is unknown (with the closest known one) or a value does not fit.
        """
        known = [f.name for f in fields(cls)]
        if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
            raise InputError(f"{values!r} describes no policy: give fields by name, such as {{'keep': 5}}")
        for name in values:
            if name not in known:
                raise InputError(
                    f"unknown policy field {name!r}{closest(name, known)}: the fields are {', '.join(known)}"
                )
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(f"a policy value has the wrong type ({error}): see labkit.Policy") from None

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Policy:
        """A policy from a harness's own configuration; see :func:`labkit.ladder.export.from_config`.

        Examples
        --------
        >>> Policy.from_config({"edits": [{"type": "compact_20260112"}]}).compact_above
        150000
        """
        from labkit.ladder.export import from_config  # there, every target is known

        return from_config(config)

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain JSON values; :meth:`from_dict` reads them back."""
        sets = {name: sorted(getattr(self, name)) for name in ("pinned", "clear_inputs", "evict")}
        return {**asdict(self), **sets, "cap_of": dict(self.cap_of)}

    def cap_for(self, tool: str | None) -> int | None:
        """The cap of a tool's results, or ``None`` for none.

        Examples
        --------
        >>> policy = Policy(cap=2_000, cap_of={"read_file": None, "run_tests": 500})
        >>> policy.cap_for("read_file"), policy.cap_for("run_tests"), policy.cap_for("grep")
        (None, 500, 2000)
        """
        return dict(self.cap_of).get(tool or "", self.cap) if self.cap_of else self.cap


# Field to unit, least value, and whether None means never.
_COUNTS: dict[str, tuple[str, int, bool]] = {
    "window": ("tokens", 1, True),
    "floor": ("tokens", 0, False),
    "cap": ("tokens", 1, True),
    "cap_preview": ("tokens", 0, True),
    "keep": ("tool results", 0, True),
    "batch": ("tool results", 1, False),
    "keep_thinking": ("assistant messages", 0, True),
    "stub_chars": ("characters", 0, True),
    "compact_above": ("tokens", 1, True),
    "keep_recent": ("messages", 0, False),
    "keep_first": ("messages", 0, False),
    "hand_off_above": ("tokens", 1, True),
    "keep_alive": ("reads of the cache", 0, False),
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "trigger_by": get_args(TriggerBy),
    "edits_at": get_args(Side),
    "bound_thinking": get_args(BoundThinking),
    "floor_is": get_args(FloorIs),
    "cap_by": get_args(CapBy),
    "keep_by": get_args(KeepBy),
    "keep_recent_by": get_args(KeepRecentBy),
    "lifetime": get_args(Lifetime),
}
_SWITCHES = (
    "strict",
    "count_prefix",
    "remembers",
    "offload",
    "pinned_take_keep",
    "stub_if_smaller",
    "compact_before_pause",
)


def _counted(name: str, value: object, unit: str, least: int, never: bool) -> None:
    if value is None and never:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} is {value!r}: give a whole number")
    if value < least:
        more = ", or None for never" if never else ""
        raise InputError(f"{name} is {value}: it counts {unit}, so give {least} or more{more}")


def _number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} is {value!r}: give a number")


def _names(name: str, value: object) -> frozenset[str]:
    if not isinstance(value, list | tuple | set | frozenset) or not all(isinstance(v, str) for v in value):
        raise InputError(f"{name} is {value!r}: give a list of {'rules' if name == 'evict' else 'tool names'}")
    return frozenset(value)


def _caps(value: object) -> tuple[tuple[str, int | None], ...]:
    try:
        pairs = dict(value)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        pairs = {None: None}
    if not all(isinstance(tool, str) for tool in pairs):
        raise InputError(f"cap_of is {value!r}: give caps by tool, such as {{'run_tests': 500}}")
    for tool, cap in pairs.items():
        _counted(f"cap_of[{tool!r}]", cap, "tokens", 1, True)
    return tuple(sorted(pairs.items()))
