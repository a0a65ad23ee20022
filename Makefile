# make lab    set up and open the lab            make test   everything CI checks
# make long   the same with the long variants    make bench  timings    make clean  remove what was built
# make book   the executed course as pages that need no server, to build/book
# make slides   the same notebooks as slides, to build/slides
# make learner   copy the notebooks for learners, without the solutions, to build/learner
# make bundle    wheels, notebooks and an installer for a room without a network, to build/bundle
# make conformance   compare the rungs with LangChain, pydantic-ai, Inspect and others, installed for it
# Works with GNU make 3.81 and newer and any POSIX shell; Windows: see README.md.

VENV = .venv
PY = $(VENV)/bin/python
# Options for JupyterLab, for example: make lab ARGS="--no-browser --port 8890"
ARGS =
# A Python of your choice, for example: make lab PYTHON=/opt/python3.12/bin/python3
PYTHON =

SETUP = VENV="$(VENV)" PYTHON="$(PYTHON)" sh scripts/setup.sh

.PHONY: lab test long bench conformance learner bundle book slides clean help

help:
	@sed -n 's/^# make/make/p' Makefile

# Bound to this machine only, with Jupyter's own token. The notebook is the default address, so that the
# printed one opens it too. Root (in a container) has to be allowed.
lab:
	@$(SETUP) lab
	@$(PY) -m jupyterlab --ip=127.0.0.1 --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb \
	  $$(test "$$(id -u)" -ne 0 || echo --allow-root) $(ARGS)

test:
	@$(SETUP) test
	@$(PY) scripts/check.py $(ARGS)

long:
	@$(SETUP) test
	@LABKIT_LONG=1 $(PY) scripts/check.py $(ARGS)

bench:
	@$(SETUP) test
	@$(PY) -m pytest benchmarks $(ARGS)

book:
	@$(SETUP) test
	@$(PY) scripts/book.py $(ARGS)

slides:
	@$(SETUP) test
	@$(PY) scripts/slides.py $(ARGS)

learner:
	@$(SETUP) test
	@$(PY) scripts/learner.py $(ARGS)

bundle:
	@$(SETUP) test
	@$(PY) scripts/bundle.py $(ARGS)

conformance:
	@VENV=.venv-conformance PYTHON="$(PYTHON)" sh scripts/setup.sh test
	@.venv-conformance/bin/python -m pip install -q -r tests/conformance/requirements.txt
	@LABKIT_CONFORMANCE=1 .venv-conformance/bin/python -m pytest -q -W default tests/test_conformance.py tests/test_tokenbill.py $(ARGS)

clean:
	rm -rf "$(VENV)" .venv-conformance build dist test-results .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
