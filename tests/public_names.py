"""The public names of labkit, and the words they are made of."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import labkit as lk

ROOT = Path(__file__).resolve().parent.parent
# Where other people's words stand: the fields of session files, and the story of a made-up run.
FOREIGN = ("record/formats", "record/generate", "course/local_api.py")


def words(name: str) -> list[str]:
    """The words of an identifier, in lower case.

    >>> words("LLMSummarizer"), words("cache_write_5m"), words("LINE_ITEMS")
    (['llm', 'summarizer'], ['cache', 'write', 'm'], ['line', 'items'])
    """
    return [w.lower() for w in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", name)]


def parameters(of: object) -> list[str]:
    """Names of a callable's parameters; none where it has no signature."""
    try:
        return [name for name in inspect.signature(of).parameters if name != "self"]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []


def face() -> Iterator[str]:
    """Every name of ``import labkit as lk``: functions, their parameters, classes, fields and methods."""
    for name in lk.__all__:
        yield name
        thing = getattr(lk, name)
        if inspect.ismodule(thing):
            for inner in thing.__all__:
                yield f"{name}.{inner}"
        elif inspect.isclass(thing):
            fields = [f.name for f in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else []
            for member in sorted({*fields, *(m for m in vars(thing) if not m.startswith("_"))}):
                yield f"{name}.{member}"
                yield from (f"{name}.{member}({p})" for p in parameters(vars(thing).get(member)))
        elif callable(thing):
            yield from (f"{name}({p})" for p in parameters(thing))


def defined() -> Iterator[tuple[str, str]]:
    """Every function, class, argument and annotated field of the package that is not private, with its file."""
    for path in sorted((ROOT / "labkit").rglob("*.py")):
        where = path.relative_to(ROOT / "labkit").as_posix()
        if where.startswith(FOREIGN):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = ""
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                name = node.name
            elif isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
            if name and not name.startswith("_"):
                yield where, name
