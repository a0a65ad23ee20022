"""Lists of steps that an agent keeps by calling a tool: what is open, and what was said to be done."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from labkit.files import load_data
from labkit.record.trace import Block

__all__ = ["Plans", "is_look"]


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, Any]:
    return load_data("plans.json")  # type: ignore[no-any-return]


def is_look(tool: str | None) -> bool:
    """Whether a tool only keeps or reads lists and notes: its result shows nothing about the work.

    Examples
    --------
    >>> is_look("TodoWrite"), is_look("run_tests")
    (True, False)
    """
    rules = _rules()
    return any(tool in rules[kind] for kind in ("lists", "create", "update", "look"))


@dataclass
class Plans:
    """Reads the calls of ``data/plans.json``, and says what changed.

    Examples
    --------
    >>> text = 'TodoWrite {"todos": [{"content": "test", "status": "completed"}, {"content": "ship"}]}'
    >>> list(Plans().called(Block("call", "assistant", text, tool="TodoWrite")))
    [('done', 'test'), ('open', 'ship')]
    """

    _numbers: dict[str, str] = field(default_factory=dict)
    _created: dict[str, str] = field(default_factory=dict)
    _listed: dict[str, set[str]] = field(default_factory=dict)

    def called(self, call: Block) -> Iterator[tuple[str, str]]:
        """Pairs of ``open``, ``done`` or ``gone`` and the step, in the order of the call."""
        rules, tool = _rules(), call.tool or ""
        kind = next((k for k in ("lists", "create", "update") if tool in rules[k]), None)
        given = _arguments(call) if kind else None
        if not kind or given is None:
            return
        rule = rules[kind][tool]
        if kind == "lists":
            yield from self._list(tool, given.get(rule["items"]), rule)
        elif kind == "create":
            step = given.get(rule["step"])
            if isinstance(step, str) and step:
                self._created[call.call_id or ""] = step
                yield "open", step
        else:
            named = self._numbers.get(str(given.get(rule["number"])))
            state = _state(given.get(rule["state"]))
            if named is not None and state != "open":
                yield state, named

    def _list(self, tool: str, items: object, rule: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        if not isinstance(items, list):
            return
        listed = set()
        for item in items:
            step = item.get(rule["step"]) if isinstance(item, dict) else None
            if isinstance(step, str) and step:
                listed.add(step)
                yield _state(item.get(rule["state"])), step
        # The list was sent whole: a step that it no longer has was struck off.
        for step in sorted(self._listed.get(tool, set()) - listed):
            yield "gone", step
        self._listed[tool] = listed

    def returned(self, result: Block) -> None:
        """Learn the number of a step from the result that made it."""
        rule = _rules()["create"].get(result.tool or "")
        number = re.search(rule["number"], result.text) if rule else None
        if number and (result.call_id or "") in self._created:
            self._numbers[number[1]] = self._created.pop(result.call_id or "")


def _state(state: object) -> str:
    rules = _rules()
    return "done" if state in rules["done"] else "gone" if state in rules["gone"] else "open"


def _arguments(call: Block) -> dict[str, Any] | None:
    start = call.text.find("{")
    try:
        found = json.loads(call.text[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
