# Each target does its own set-up: a fresh machine needs Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test install lint clean

demo: $(VENV)/.core
	$(BIN)/sfumato demo demo-output

test: $(VENV)/.all lint
	$(BIN)/pytest -n 2 --dist loadfile

lint: $(VENV)/.all
	$(BIN)/ruff check src tests benchmarks experiments fuzz tools
	$(BIN)/ruff format --check src tests benchmarks experiments fuzz tools
	$(BIN)/mypy
	$(BIN)/mypy --strict --follow-imports=silent src/sfumato/private
	$(BIN)/lint-imports

install: $(VENV)/.all

$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/.all: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev,train,evaluate,report]'
	touch $@ $(VENV)/.core

clean:
	rm -rf $(VENV) demo-output build dist
