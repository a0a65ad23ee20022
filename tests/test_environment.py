"""environment.yml, pyproject.toml and the code name the same packages with the same bounds."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

# Used without an import of ours: the front end, and what plotly's live figures need.
FRONT_END = {"jupyterlab", "ipykernel", "anywidget"}


def project(root: Path) -> dict[str, object]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def bounds(requirements: list[str]) -> dict[str, str]:
    parsed = [Requirement(text) for text in requirements]
    return {r.name: str(r.specifier) for r in parsed}


def conda(root: Path) -> tuple[dict[str, str], str, list[str], list[object]]:
    """Packages with bounds, the Python line, the channels and the raw dependencies."""
    content = yaml.safe_load((root / "environment.yml").read_text(encoding="utf-8"))
    lines = [d for d in content["dependencies"] if isinstance(d, str)]
    python = next(line for line in lines if re.match(r"python\b", line))
    packages = bounds([line for line in lines if line not in (python, "pip")])
    return packages, python, content["channels"], content["dependencies"]


def test_same_packages_and_bounds(root: Path) -> None:
    declared = project(root)
    wanted = bounds([*declared["dependencies"], *declared["optional-dependencies"]["fast"]])
    assert conda(root)[0] == wanted


def test_python_is_one_minor_that_the_project_allows(root: Path) -> None:
    python = conda(root)[1]
    match = re.fullmatch(r"python=(3\.\d+)", python)
    assert match, f"{python}: repo2docker needs an exact minor"
    assert Version(match[1]) in Requirement("x" + str(project(root)["requires-python"])).specifier


def test_channels_and_the_project_itself(root: Path) -> None:
    _, _, channels, dependencies = conda(root)
    assert channels == ["conda-forge", "nodefaults"]
    assert dependencies[-2:] == ["pip", {"pip": ["-e .[bench1]"]}]
    assert "pip install --no-deps -e ." in (root / "postBuild").read_text(encoding="utf-8")


def all_requirements(root: Path) -> list[str]:
    declared = project(root)
    extras = declared["optional-dependencies"].values()
    return [*declared["dependencies"], *(line for extra in extras for line in extra)]


def test_every_bound_has_both_ends(root: Path) -> None:
    for text in all_requirements(root):
        operators = {s.operator for s in Requirement(text).specifier}
        assert operators == {">=", "<"}, text


def test_bounds_cover_what_is_installed(root: Path) -> None:
    seen = 0
    for text in all_requirements(root):
        requirement = Requirement(text)
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            continue
        seen += 1
        assert requirement.specifier.contains(version, prereleases=True), f"{text}, installed {version}"
    assert seen >= len(project(root)["dependencies"])


def imported(folder: Path) -> set[str]:
    names = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"labkit"}


def test_labkit_imports_only_what_is_declared(root: Path) -> None:
    declared = project(root)
    extras = declared["optional-dependencies"]
    used = [text for name in ("fast", "live", "bench1", "scale") for text in extras[name]]
    known = {Requirement(text).name for text in [*declared["dependencies"], *used]}
    known = {name.replace("-", "_") for name in known}
    # These come with pandas, ipykernel and ipywidgets, which promise them.
    assert imported(root / "labkit") <= known | {"numpy", "IPython", "jupyter_core", "traitlets"}


def test_every_base_dependency_is_used(root: Path) -> None:
    base = {Requirement(t).name for t in project(root)["dependencies"]}
    used = imported(root / "labkit") | imported(root / "notebooks") | FRONT_END
    if not (root / "labkit" / "cli.py").exists():
        pytest.skip("the command line is not there yet")
    assert base - used == set()
