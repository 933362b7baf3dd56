# Each target does its own set-up: a fresh machine needs Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CODE := src tests benchmarks examples experiments fuzz notebooks tools

# One thread a process, because those of a small matrix product cost more than it does; bytecode is kept between processes.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 2 --dist worksteal

.PHONY: demo docs test test-all lint fast install clean

demo: $(VENV)/.core
	$(BIN)/sfumato demo demo-output

# The documentation, into site/: no warning, and nothing from elsewhere. (The variable silences the theme's advertisement.)
docs: $(VENV)/.all
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

# What every change must pass.
test: $(VENV)/.all
	$(MAKE) --no-print-directory -j2 lint fast

fast: $(VENV)/.all
	$(PYTEST) -m "not slow"

# What `make test` leaves out, examples of Hypothesis among it.
test-all: $(VENV)/.all
	$(PYTEST) -m "slow or thorough" --hypothesis-profile=thorough

lint: $(VENV)/.all
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

install: $(VENV)/.all

$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/.all: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,docs,train,evaluate,report,studio,spark,dask]'
	touch $@ $(VENV)/.core

clean:
	rm -rf $(VENV) demo-output build dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
