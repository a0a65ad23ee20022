"""Run the code of notebooks where widgets cannot be had, and print what their panels were.

python static_notebook.py NOTEBOOK ...
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any


def run(path: Path) -> list[str]:
    """The type of what each panel cell gives."""
    names: dict[str, Any] = {"__name__": "__main__"}
    panels = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if last:
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            if "panel" in cell["metadata"].get("tags", []):
                panels.append(type(value).__name__)
    return panels


if __name__ == "__main__":
    for absent in ("ipywidgets", "anywidget"):
        sys.modules[absent] = None  # type: ignore[assignment]
    found = {Path(name).stem: run(Path(name)) for name in sys.argv[1:]}
    print(json.dumps(found))
