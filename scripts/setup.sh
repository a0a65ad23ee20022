#!/bin/sh
# Make the virtual environment and install the project, once.
#
#   sh scripts/setup.sh lab     what a learner needs
#   sh scripts/setup.sh test    that, and what the checks need
#
# VENV names the folder (default .venv), PYTHON a Python of your choice. When nothing has changed since the
# last run it returns at once and touches no network. What broke since is mended.
set -eu

want=${1:-lab}
venv=${VENV:-.venv}
python=$venv/bin/python
here=$(pwd -P)
scripts=$here/scripts

say() { printf '%s\n' "$*"; }

fits() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# The key of a finished installation: the project's own file, and where it lies (a moved folder breaks a venv).
key="$(cksum <pyproject.toml) $here"
done_before() {
    [ -f "$venv/.done-$1" ] && [ "$(cat "$venv/.done-$1")" = "$key" ]
}

if [ -x "$python" ] && fits "$python" && "$python" -m pip --version >/dev/null 2>&1; then
    # A package that lost files since, or was half installed, is put back as it was.
    lost=$("$python" "$scripts/whole.py" 2>/dev/null) || lost=
    if [ -n "$lost" ]; then
        say "Mending $venv:" $lost
        rm -f "$venv/.done-lab" "$venv/.done-test"
        # The project itself, and what has no version here, is put in below, within its bounds.
        for name in $lost; do
            case $name in labkit*) continue ;; *==*) ;; *) continue ;; esac
            "$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$name" || {
                say "$name could not be installed; the lines above say why. It needs the network this one time."
                exit 1
            }
        done
    fi
    if done_before "$want"; then
        exit 0
    fi
else
    found=
    without_venv=
    for name in ${PYTHON:-python3.13 python3.12 python3.11 python3 python}; do
        path=$(command -v "$name" 2>/dev/null) || continue
        fits "$path" || continue
        # Debian and Ubuntu leave ensurepip out of the plain python3 package.
        if "$path" -c 'import ensurepip, venv' >/dev/null 2>&1; then
            found=$path
            break
        fi
        without_venv="$without_venv $path"
    done
    if [ -z "$found" ]; then
        if [ -n "$without_venv" ]; then
            say "Found$without_venv, but without the venv module."
            say "Debian, Ubuntu: sudo apt install python3-venv, then run the same command again."
        elif [ -n "${PYTHON:-}" ]; then
            say "PYTHON=$PYTHON is not a Python 3.11 or newer; give the path of one."
        else
            say "No Python 3.11 or newer was found (looked for python3.13, python3.12, python3.11, python3 and python)."
            say "Install one from https://www.python.org/downloads/ or your system's packages, or give its path:"
            say "    make $want PYTHON=/path/to/python3.12"
        fi
        exit 1
    fi
    say "Making $venv with $("$found" --version) ..."
    # Only a folder that venv itself made is replaced.
    if [ -e "$venv" ] && [ ! -f "$venv/pyvenv.cfg" ] && [ -n "$(ls -A "$venv")" ]; then
        say "$venv exists and is no virtual environment: move it away, or give another folder with VENV=."
        exit 1
    fi
    "$found" -m venv --clear "$venv"
fi

install() {
    "$python" -m pip install --quiet --disable-pip-version-check "$@"
}

if ! done_before lab; then
    say "Installing the lab into $venv (once; a minute or two) ..."
    if ! install -e .; then
        say "The installation failed; the lines above say why. It needs the network this one time."
        exit 1
    fi
    # Compiled sweeps, and notebook 07's parser: only where a ready-made wheel exists, never a compiler run on a
    # learner's machine.
    if ! install --only-binary numba,llvmlite,numpy -e '.[fast]' 2>"$venv/fast.log"; then
        say "No ready-made numba for this Python: the lab works, large sweeps are slower (details: $venv/fast.log)."
    fi
    if ! install --only-binary tree-sitter,tree-sitter-typescript -e '.[bench1]' 2>"$venv/bench1.log"; then
        say "No ready-made tree-sitter for this Python: all but notebook 07 works (details: $venv/bench1.log)."
    fi
    # JupyterLab would ask at its first start whether it may fetch news; it need not. Long lines of code wrap, so
    # that beside the side bar of a small screen none is cut off.
    settings=$venv/share/jupyter/lab/settings
    mkdir -p "$settings"
    printf '%s\n' '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false},' \
        '"@jupyterlab/notebook-extension:tracker": {"codeCellConfig": {"lineNumbers": false, "lineWrap": true}}}' \
        >"$settings/overrides.json"
    printf '%s' "$key" >"$venv/.done-lab"
fi

if [ "$want" = test ] && ! done_before test; then
    say "Installing what the checks need ..."
    install -e '.[test,live,bench1,scale]' || { say "The installation failed; the lines above say why."; exit 1; }
    printf '%s' "$key" >"$venv/.done-test"
fi
