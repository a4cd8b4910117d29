# `make demo` and `make test` need Python >= 3.11, make and the package index; everything else they set up in .venv.

VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS := $(CURDIR)/constraints.txt

# The environment that pip builds packages in obeys the same pins, with old pip (first name) and new (second).
PINNED := PIP_CONSTRAINT="$(CONSTRAINTS)" PIP_BUILD_CONSTRAINT="$(CONSTRAINTS)" PIP_DISABLE_PIP_VERSION_CHECK=1

# Tests run side by side; a linear-algebra library that starts threads of its own would only slow them down.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

FIND_PYTHON = for candidate in $(PYTHON) python3.11 python3.12 python3.13 python3.14 python3 python; do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo "$$candidate"; break; fi; \
	done

.PHONY: help demo test check bench bench-quick docs lock clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    a causal effect from the bundled data, with a picture"
	@echo "make test    the tests; some of them: make test ARGS=tests/graph"
	@echo "make check   format, lint, types, import contracts, tests, documentation"
	@echo "make bench   halftrek beside its peers, which are installed in .bench: hours; make bench-quick: minutes"
	@echo "make docs    the documentation, into site/"
	@echo "make lock    new versions into constraints.txt"
	@echo "make clean   remove everything that make has made"

demo: $(VENV)/.ready-to-run
	$(BIN)/halftrek demo

test: $(VENV)/.ready-to-develop
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal $(ARGS)

check: $(VENV)/.ready-to-develop
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test
	$(MAKE) docs

bench: $(VENV)/.ready-to-develop
	$(BIN)/python benchmarks/run.py

bench-quick: $(VENV)/.ready-to-develop
	$(BIN)/python benchmarks/run.py --quick $(ARGS)

docs: $(VENV)/.ready-to-develop
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# A changed pyproject.toml or constraints.txt makes the stamps stale, and the next call installs again.
$(VENV)/.ready-to-run: pyproject.toml constraints.txt | $(BIN)/python
	$(PINNED) $(BIN)/python -m pip install --quiet --editable ".[plot,report,sql]" pandas
	@touch $@

$(VENV)/.ready-to-develop: pyproject.toml constraints.txt | $(BIN)/python
	$(PINNED) $(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@ $(VENV)/.ready-to-run

$(BIN)/python:
	@python=$$($(FIND_PYTHON)); \
	if [ -z "$$python" ]; then \
	  echo "halftrek needs Python 3.11 or newer, and none was found. Install one, or name it: make PYTHON=/path/to/python" >&2; \
	  exit 1; \
	fi; \
	echo "Setting up $(VENV) with $$($$python --version); this takes a minute the first time."; \
	"$$python" -m venv $(VENV) || { \
	  rm -rf $(VENV); \
	  echo "This Python cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; \
	  exit 1; \
	}

# The newest versions that fit pyproject.toml, tried in an environment of their own.
lock:
	@python=$$($(FIND_PYTHON)); folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	"$$python" -m venv "$$folder/venv" && \
	"$$folder/venv/bin/python" -m pip install --quiet --upgrade setuptools && \
	"$$folder/venv/bin/python" -m pip install --quiet --editable ".[dev]" && \
	"$$folder/venv/bin/python" -m pip freeze --all --exclude-editable > "$$folder/all" && \
	grep -v '^pip==' "$$folder/all" > "$$folder/pins" && \
	if grep -v '^[A-Za-z0-9._-]*==[^ ]*$$' "$$folder/pins"; then echo "these are not plain pins" >&2; exit 1; fi; \
	cp "$$folder/pins" constraints.txt && echo "constraints.txt: $$(wc -l < constraints.txt) versions"

clean:
	rm -rf $(VENV) .bench site output build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info
	find halftrek tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
