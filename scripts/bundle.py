"""Put the lab into a folder for a room without a network: wheels, notebooks and a program that installs them.

    python scripts/bundle.py [OUT] [--learner]

The default is build/bundle. The wheels fit the system, processor and Python that made them; run it on a machine
of each kind with the same OUT, and the folder serves them all. ``--learner`` leaves the solutions out.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import learner
from bundle_install import KINDS, kind

ROOT = Path(__file__).resolve().parent.parent
NEEDED = "bench1"  # notebook 07; the extra ``fast`` goes in where ready-made wheels of it exist
TELL = """Context Lab, for a room without a network.

1. Copy this folder to your machine.
2. In it run:  python3 install.py     (Windows: py install.py)
3. Then:       python3 install.py --start

It needs Python, and nothing from the network. The wheels are for:
{kinds}
"""


def fetch(wheels: Path) -> str:
    """Build the project's own wheel, get the wheels of all that it needs, and return the extras they serve."""
    wheels.mkdir(parents=True, exist_ok=True)
    for old in wheels.glob("labkit-*.whl"):
        old.unlink()
    # The notebooks lie beside the wheels. A second copy in the wheel would hold the solutions.
    env = {**os.environ, "LABKIT_WHEEL_NOTEBOOKS": "no"}
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--wheel-dir", str(wheels)]
    subprocess.run([*pip, f"{ROOT}[{NEEDED}]"], check=True, env=env)
    fast = [*pip, "--only-binary", "numba,llvmlite,numpy,pyarrow", f"{ROOT}[fast]"]
    if subprocess.run(fast, env=env).returncode == 0:
        return f"{NEEDED},fast"
    print("No ready-made numba for this Python: the bundle goes without it, large sweeps are slower.")
    return NEEDED


def lay_out(out: Path, extras: str, without_solutions: bool = False) -> None:
    """Copy the notebooks and the program that installs, and note which extras this kind of machine gets."""
    shutil.rmtree(out / "notebooks", ignore_errors=True)
    if without_solutions:
        learner.main(out)
    else:
        ignore = shutil.ignore_patterns(".*", "__pycache__")
        shutil.copytree(ROOT / "notebooks", out / "notebooks", ignore=ignore)
    shutil.copyfile(ROOT / "scripts" / "bundle_install.py", out / "install.py")
    for name in ("README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, out / name)
    path = out / KINDS
    kinds = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kinds[kind()] = extras
    path.write_text(json.dumps(kinds, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    (out / "INSTALL.txt").write_text(TELL.format(kinds="\n".join(sorted(kinds))), encoding="utf-8")


def main() -> None:
    """Read the command line and make the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "build" / "bundle")
    parser.add_argument("--learner", action="store_true", help="leave the solutions out")
    options = parser.parse_args()
    lay_out(options.out, fetch(options.out / "wheels"), options.learner)
    files = [path for path in options.out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"wrote {len(files)} files, {size / 1e6:.0f} MB, to {options.out}; it serves: {kind()}")


if __name__ == "__main__":
    main()
