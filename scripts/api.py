"""The public names of labkit as one page of markdown, from signatures and docstrings.

    python scripts/api.py [FILE]

Without FILE it is printed. ``make book`` puts it among its pages.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import labkit as lk

ROOMS = {
    "record": "What happened",
    "price": "What a provider charges, and how it caches",
    "ladder": "What a policy does",
    "replay": "What would have been",
    "handoff": "The record on disk",
    "show": "Figures and panels",
    "course": "The course",
    "errors": "Errors",
    "files": "Files",
}
CONSTANTS = {name: getattr(lk, name) for name in lk.__all__ if name.isupper()}
SECTIONS = "Parameters|Returns|Yields|Raises|Examples|Notes|Attributes|See Also|References"


def room(name: str) -> str:
    """The room of the package in which a public name lives.

    >>> room("replay"), room("Block"), room("LINE_ITEMS")
    ('replay', 'record', 'record')
    """
    thing = getattr(lk, name)
    module = getattr(thing, "__module__", None) or getattr(thing, "__name__", "")
    if not module.startswith("labkit."):
        module = "labkit.record.lines"  # a plain value knows no module; LINE_ITEMS is the only one
    return str(module).split(".")[1]


def signature(name: str, thing: Any) -> str:
    """A call as it is written; a default that is a constant of labkit goes by its name, annotations are left out."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    parameters = []
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        default = next((key for key, value in CONSTANTS.items() if parameter.default is value), None)
        if default is None and inspect.isroutine(parameter.default):
            default = parameter.default.__name__.replace("<lambda>", "...")
        if default is not None:
            parameter = parameter.replace(default=_Named(default))
        parameters.append(parameter.replace(annotation=inspect.Parameter.empty))
    return name + str(inspect.Signature(parameters))


class _Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def markdown(docstring: str) -> str:
    """A numpydoc docstring as markdown.

    >>> print(markdown("Add :func:`labkit.net`.\\n\\nParameters\\n----------\\na, b : int\\n    In ``tokens``."))
    Add `labkit.net`.
    <BLANKLINE>
    **Parameters**
    <BLANKLINE>
    - `a, b` : int. In `tokens`.
    """
    parts = re.split(rf"(?m)^({SECTIONS})\n-+$", inspect.cleandoc(docstring))
    out = [_inline(parts[0].strip())]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        out.append(f"**{title}**")
        out.append(_SECTION.get(title, _list)(inspect.cleandoc(body)))
    return "\n\n".join(part for part in out if part)


def _inline(text: str) -> str:
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return text.replace("``", "`")


def _examples(body: str) -> str:
    return f"```pycon\n{body}\n```"


def _list(body: str) -> str:
    """What numpydoc writes as a name, a type and an indented text."""
    items: list[list[str]] = []
    for line in body.splitlines():
        if line.startswith(" ") and items:
            items[-1].append(line.strip())
        elif line.strip():
            items.append([line.strip()])
    out = []
    for head, *rest in items:
        name, colon, kind = head.partition(" : ")
        head = f"`{name}` : {kind}" if colon else f"`{name}`"
        told = " ".join(rest).strip()
        out.append(_inline(f"- {head}. {told}" if told else f"- {head}"))
    return "\n".join(out)


_SECTION: dict[str, Callable[[str], str]] = {"Examples": _examples, "Notes": _inline, "References": _inline}


def members(thing: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that a class defines itself, by name."""
    for name, member in sorted(vars(thing).items()):
        plain = inspect.unwrap(getattr(member, "__func__", member)) if not isinstance(member, property) else member
        if not name.startswith("_") and (isinstance(plain, property) or inspect.isfunction(plain)):
            yield name, plain


def entry(name: str) -> str:
    """One public name."""
    thing = getattr(lk, name)
    if name in CONSTANTS:
        value = repr(thing) if isinstance(thing, tuple) else f"a `{type(thing).__name__}`"
        return f"### `{name}`\n\n{value}"
    if inspect.ismodule(thing):
        parts = [f"### `{name}`", markdown(inspect.getdoc(thing) or "")]
        names = [n for n in thing.__all__ if callable(getattr(thing, n))]
        parts += [_short(f"{name}.{n}", getattr(thing, n)) for n in names]
        return "\n\n".join(parts)
    kind = "class " if inspect.isclass(thing) else ""
    head = f"```python\n{kind}{signature(name, thing)}\n```"
    parts = [f"### `{name}`", head, markdown(inspect.getdoc(thing) or "")]
    if inspect.isclass(thing):
        parts += [_short(f"{name}.{n}", member) for n, member in members(thing)]
    return "\n\n".join(parts)


def _short(name: str, member: Any) -> str:
    call = name if isinstance(member, property) else signature(name, member)
    return f"#### `{call}`\n\n{markdown(inspect.getdoc(member) or '')}"


def page() -> str:
    """The whole page."""
    rooms: dict[str, list[str]] = {key: [] for key in ROOMS}
    for name in lk.__all__:
        rooms[room(name)].append(name)
    out = [
        "# API",
        "What `import labkit as lk` gives, by the rooms of the package. The words are in the [glossary](GLOSSARY.md).",
    ]
    for key, names in rooms.items():
        if names:
            out += [f"## {ROOMS[key]}", ", ".join(f"[`{n}`](#{n})" for n in names), *(entry(n) for n in names)]
    return "\n\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    else:
        print(page())
