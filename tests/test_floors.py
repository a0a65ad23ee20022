"""Folders are floors: each imports only from floors to its left, and the lower ones stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FLOORS = (
    ("errors", "files"),
    ("record",),
    ("price",),
    ("ladder",),
    ("replay",),
    ("handoff",),
    ("bench1",),
    ("show",),
    ("doctor",),
    ("course",),
    ("cli", "__main__"),
)
HEIGHT = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}
HEAVY = ("plotly", "ipywidgets", "numba", "tiktoken", "anthropic", "openai", "pydantic")
HIDDEN_ROOMS = ("labkit.record", "labkit.replay")
PACKAGE = Path(__file__).resolve().parent.parent / "labkit"
MODULES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Full names of what is imported; a name taken from a module stands after it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                parents = parents[: len(parents) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def parsed(path: Path) -> tuple[ast.Module, str]:
    package = ".".join(("labkit", *path.relative_to(PACKAGE).parts[:-1]))
    return ast.parse(path.read_text(encoding="utf-8")), package


def wrong_floors(path: Path) -> list[str]:
    """Imports of a module that reach to its right."""
    tree, package = parsed(path)
    here = HEIGHT[room(path)]
    wrong = []
    for name in imports(tree, package):
        parts = name.split(".")
        if parts[0] != "labkit" or len(parts) == 1:
            continue
        # The top level re-exports from every floor, and two of its functions hide rooms of their name.
        if parts[1] not in HEIGHT or name in HIDDEN_ROOMS:
            wrong.append(f"{name}, which is the top level's")
        elif HEIGHT[parts[1]] > here:
            wrong.append(name)
    return wrong


def at_import_time(tree: ast.Module) -> ast.Module:
    """The module without the bodies of its functions and of ``if TYPE_CHECKING``."""

    class Outside(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
            node.body = [ast.Pass()]
            return node

        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if "TYPE_CHECKING" in ast.unparse(node.test) else self.generic_visit(node)

    return Outside().visit(tree)


@pytest.mark.parametrize(
    "path", [p for p in MODULES if room(p) != "__init__"], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_imports_reach_only_to_the_left(path: Path) -> None:
    assert room(path) in HEIGHT, f"{room(path)} stands on no floor: give it one here and in the plan"
    assert wrong_floors(path) == []


def test_the_floor_check_can_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bad = tmp_path / "labkit" / "price" / "bad.py"
    bad.parent.mkdir(parents=True)
    bad.write_text(
        "from labkit.record.trace import Trace\nfrom ..replay import audit\n"
        "import labkit.show.plots\nfrom labkit import Trace\nimport labkit.record\n"
    )
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path / "labkit")
    assert wrong_floors(bad) == [
        "labkit.replay.audit",
        "labkit.show.plots",
        "labkit.Trace, which is the top level's",
        "labkit.record, which is the top level's",
    ]


def test_only_panels_imports_ipywidgets() -> None:
    users = {
        str(p.relative_to(PACKAGE))
        for p in MODULES
        if any(n.split(".")[0] == "ipywidgets" for n in imports(*parsed(p)))
    }
    assert users <= {str(Path("show", "panels.py"))}


def test_nothing_below_show_knows_plotly() -> None:
    below = [p for p in MODULES if HEIGHT.get(room(p), 99) < HEIGHT["show"]]
    assert below
    for path in below:
        assert not [n for n in imports(*parsed(path)) if n.split(".")[0] in ("plotly", "ipywidgets")], path


def test_pandas_only_inside_functions() -> None:
    for path in MODULES:
        tree, package = parsed(path)
        assert "pandas" not in {n.split(".")[0] for n in imports(at_import_time(tree), package)}, path


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_labkit_is_light() -> None:
    code = f"import sys, labkit; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    assert run(code) == "[]"


def test_import_leaves_for_later_what_not_every_program_needs() -> None:
    code = "import sys, labkit; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "labkit.replay.replay" in loaded
    late = {"plotly", "ipywidgets", "numba", "typer"}
    late |= {f"labkit.replay.{name}" for name in ("audit", "advice", "decision", "whatif")}
    late |= {"labkit.course", "labkit.show.plots", "labkit.show.panels", "labkit.ladder.llm_summary"}
    late |= {"labkit.price.prices", "labkit.replay.bill", "labkit.ladder.summaries", "labkit.record.streams"}
    assert not loaded & late
