"""Is this installation fit for the course, and if not, how is it mended?

Each check is a plain value; the notebooks and the command line print them. No check raises and none
touches the network.
"""

from __future__ import annotations

import os
import platform
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from labkit.files import data_path, home
from labkit.price.prices import stale
from labkit.record.tokens import get_counter, vocabulary_folder

__all__ = ["Check", "checks", "healthy", "paste"]

REINSTALL = "run 'make lab' again, or 'python -m pip install -e .' in the folder of the lab"
OTHER_FRONT_ENDS = {
    "VSCODE_PID": "VS Code",
    "VSCODE_CWD": "VS Code",
    "COLAB_RELEASE_TAG": "Colab",
    "KAGGLE_KERNEL_RUN_TYPE": "Kaggle",
}
# The parts of the browser side that draw a panel, by the folder JupyterLab looks for.
LAB_EXTENSIONS = {
    "@jupyter-widgets/jupyterlab-manager": "ipywidgets",
    "anywidget": "anywidget",
    "jupyterlab-plotly": "plotly",
}


@dataclass(frozen=True)
class Check:
    """The result of one look.

    Parameters
    ----------
    name : str
        What was looked at.
    ok : bool
        Whether the course works with what was found.
    found : str
        What was found, in a few words.
    fix : str
        How to mend it; for a check that is ``ok``, what would be better, or empty.
    """

    name: str
    ok: bool
    found: str
    fix: str = ""


def checks() -> list[Check]:
    """Look at everything the course needs.

    Returns
    -------
    list of Check
        In the order in which to mend what is wrong.

    Examples
    --------
    >>> [check.name for check in checks()][:3]
    ['python', 'packages', 'data']
    """
    looks: tuple[tuple[str, Callable[[], Check]], ...] = (
        ("python", _python),
        ("packages", _packages),
        ("data", _data),
        ("counter", _counter),
        ("widgets", _widgets),
        ("front end", _front_end),
        ("loopback", _loopback),
        ("progress", _progress),
        ("fast", _fast),
        ("prices", _prices),
    )
    results = []
    for name, look in looks:
        try:
            results.append(look())
        except Exception as error:  # a check that breaks is itself something to report
            results.append(Check(name, False, f"could not be checked ({type(error).__name__}: {error})", REINSTALL))
    return results


def healthy(results: list[Check]) -> bool:
    """Whether every check is ok.

    Examples
    --------
    >>> healthy([Check("python", True, "3.12"), Check("data", False, "missing", "restore it")])
    False
    """
    return all(check.ok for check in results)


def paste(results: list[Check] | None = None) -> str:
    """One line to send to a facilitator; it holds no path and no name of a person.

    Parameters
    ----------
    results : list of Check, optional
        What :func:`checks` gave; looked up when not given.

    Examples
    --------
    >>> paste([Check("python", True, "3.12.1"), Check("data", False, "tokenizer damaged", "restore it")])
    'labkit ... | python 3.12.1 | data WRONG: tokenizer damaged'
    """
    results = checks() if results is None else results
    parts = [f"labkit {_version('labkit')} on {platform.system()} {platform.machine()}"]
    parts += [f"{c.name} {c.found}" if c.ok else f"{c.name} WRONG: {c.found}" for c in results]
    line = " | ".join(" ".join(part.split()) for part in parts)
    for place, word in ((str(home()), "<progress>"), (sys.prefix, "<python>"), (str(Path.home()), "~")):
        line = line.replace(place, word)
    return line


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _python() -> Check:
    version = platform.python_version()
    ok = sys.version_info >= (3, 11)
    return Check("python", ok, version, "" if ok else "install Python 3.11 or newer, then 'make lab'")


def _requirements() -> list[tuple[str, str, bool]]:
    """Name, bounds and fitness of each package the base installation asks for."""
    from packaging.requirements import Requirement

    rows = []
    for text in metadata.requires("labkit") or []:
        requirement = Requirement(text)
        # An extra's marker names it; without that name it does not apply.
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        version = _version(requirement.name)
        fits = version != "not installed" and requirement.specifier.contains(version, prereleases=True)
        rows.append((requirement.name, f"{version} (asked for: {requirement.specifier})", fits))
    return rows


def _packages() -> Check:
    rows = _requirements()
    wrong = [f"{name} {what}" for name, what, fits in rows if not fits]
    if wrong:
        return Check("packages", False, ", ".join(wrong), REINSTALL)
    return Check("packages", True, f"{len(rows)} within their bounds, jupyterlab {_version('jupyterlab')}")


def _data() -> Check:
    missing = [
        str(Path(*parts))
        for parts in (("prices.json",), ("cache_rules.json",), ("presets.json",))
        if not data_path(*parts).is_file()
    ]
    if not any(data_path("traces").glob("*.jsonl")):
        missing.append("traces/*.jsonl")
    if missing:
        return Check(
            "data", False, "missing " + ", ".join(missing), "check the repository out again: git checkout -- data"
        )
    try:
        vocabulary_folder()
    except ValueError:
        return Check(
            "data",
            False,
            "the tokenizer file is missing or damaged",
            "restore it: git checkout -- data/tokenizers (until then a quarter of the characters is counted)",
        )
    return Check("data", True, "all there, tokenizer intact")


def _counter() -> Check:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it would say is said here
        counter = get_counter()
    if counter.name == "chars/4":
        return Check("counter", False, f"chars/4: {counter.error}; printed results will differ", REINSTALL)
    return Check("counter", True, f"{counter.name}: {counter.error}")


def _widgets() -> Check:
    from jupyter_core.paths import jupyter_path

    folders = [Path(p) for p in jupyter_path("labextensions")]
    missing = [package for name, package in LAB_EXTENSIONS.items() if not any((f / name).is_dir() for f in folders)]
    if missing:
        return Check(
            "widgets",
            False,
            f"panels will stay blank: JupyterLab has no extension of {', '.join(missing)}",
            f"python -m pip install --force-reinstall {' '.join(missing)}, then close and reopen JupyterLab",
        )
    here = Path(sys.prefix, "share", "jupyter", "labextensions")
    if not (here / "@jupyter-widgets" / "jupyterlab-manager").is_dir():
        return Check(
            "widgets", True, "will show, with extensions from outside this environment", "start with 'make lab'"
        )
    return Check("widgets", True, "will show in JupyterLab")


def _front_end() -> Check:
    for variable, name in OTHER_FRONT_ENDS.items():
        if os.environ.get(variable):
            return Check(
                "front end",
                True,
                f"{name}, where panels may stay blank",
                "open the notebooks in JupyterLab instead: 'make lab'",
            )
    if _version("jupyterlab") == "not installed":
        return Check("front end", False, "JupyterLab is not in this environment", REINSTALL)
    inside = "ipykernel" in sys.modules
    return Check("front end", True, "a notebook" if inside else "a command line")


def _loopback() -> Check:
    try:
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen(1)
            with socket.create_connection(server.getsockname(), timeout=2):
                pass
    except OSError as error:
        return Check(
            "loopback",
            False,
            f"this machine cannot reach itself ({error})",
            "allow connections to 127.0.0.1 in the firewall, and set NO_PROXY=127.0.0.1,localhost",
        )
    return Check("loopback", True, "a free port, and it answers")


def _progress() -> Check:
    folder = home()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Check(
            "progress",
            False,
            f"predictions cannot be kept in {folder} ({error.strerror})",
            "set LABKIT_HOME to a folder you may write to",
        )
    return Check("progress", True, "can be written")


def _fast() -> Check:
    version = _version("numba")
    if version != "not installed":
        return Check("fast", True, f"numba {version}")
    return Check(
        "fast",
        True,
        "not installed, large sweeps use the reference engine",
        "python -m pip install --only-binary numba,llvmlite,numpy -e '.[fast]' makes them faster",
    )


def _prices() -> Check:
    old = stale()
    if old:
        return Check(
            "prices",
            True,
            f"older than 120 days: {', '.join(old)}",
            "get the newest version of the repository (git pull), or read the dates under each figure",
        )
    return Check("prices", True, "prices, cache rules and presets are at most 120 days old")
