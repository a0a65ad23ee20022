"""Install Context Lab from the wheels beside this file, without a network, and start it.

python3 install.py            makes .venv beside this file
python3 install.py --start    opens JupyterLab on the first notebook
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

KINDS = "kinds.json"
# JupyterLab would ask at its first start whether it may fetch news; and long lines of code wrap, as after `make lab`.
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension:tracker": {"codeCellConfig": {"lineNumbers": False, "lineWrap": True}},
}


def kind() -> str:
    """System, processor and Python of this machine, as far as a wheel cares."""
    return f"{platform.system()} {platform.machine()}, Python {sys.version_info[0]}.{sys.version_info[1]}"


def refusal(mine: str, served: list[str]) -> str:
    """Why the wheels will not do here; empty if they will."""
    if mine in served:
        return ""
    versions = sorted(
        (one.rsplit(" ", 1)[1] for one in served if one.rsplit(",", 1)[0] == mine.rsplit(",", 1)[0]),
        key=lambda version: int(version.split(".")[1]),
    )
    fix = (
        f"run it with Python {' or '.join(versions)}, for example python{versions[-1]} install.py"
        if versions
        else "make a bundle on a machine like this one, or read the pages of `make book`"
    )
    return f"this is {mine}; the wheels are for {'; '.join(served)}: {fix}"


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(here: Path, extras: str) -> None:
    """Make the environment, from the wheels alone."""
    folder = here / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    python = python_of(folder)
    # Nothing from this person's settings: they may name a registry that the room cannot reach.
    env = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    env["PIP_CONFIG_FILE"] = os.devnull
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, "--find-links", str(here / "wheels"), f"labkit[{extras}]"], check=True, env=env)
    settings = folder / "share" / "jupyter" / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "overrides.json").write_text(json.dumps(SETTINGS), encoding="utf-8")


def start(here: Path) -> int:
    """Open JupyterLab, for this machine only."""
    python = python_of(here / ".venv")
    if not python.exists():
        print(f"{here / '.venv'} is not there yet: run this file without --start first")
        return 1
    command = [str(python), "-m", "jupyterlab", "--ip=127.0.0.1"]
    if hasattr(os, "getuid") and os.getuid() == 0:  # in a container
        command.append("--allow-root")
    return subprocess.run([*command, str(Path("notebooks", "00_start_here.ipynb"))], cwd=here).returncode


def main(here: Path, arguments: list[str]) -> int:
    """Install, or start what is installed; return the exit status."""
    if arguments == ["--start"]:
        return start(here)
    if arguments:
        print(f"unknown: {' '.join(arguments)}; allowed is --start, or nothing")
        return 2
    served = json.loads((here / KINDS).read_text(encoding="utf-8"))
    if why := refusal(kind(), sorted(served)):
        print(why)
        return 1
    if importlib.util.find_spec("ensurepip") is None:
        print("this Python comes without its venv module; Debian, Ubuntu: install python3-venv, or use another Python")
        return 1
    print(f"Installing into {here / '.venv'} (a minute or two) ...", flush=True)
    try:
        install(here, served[kind()])
    except subprocess.CalledProcessError:
        print("The installation failed; the lines above say why. Copy the folder again and run this file again.")
        return 1
    subprocess.run([str(python_of(here / ".venv")), "-m", "labkit.cli", "doctor", "--paste"])
    print("Good. Start it with: python3 install.py --start")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent, sys.argv[1:]))
