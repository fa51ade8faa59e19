# Two commands set everything up on a machine with Python 3.11 or newer and make:
#   make demo   the main job: simulate a cloth from a mesh file and write the result
#   make test   everything that CI checks
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo-installed
TEST := $(VENV)/.test-installed

.PHONY: demo test check verify bench clean

demo: $(DEMO)
	$(BIN)/shinari demo

test: check
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

check: $(TEST)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python

verify: $(TEST)
	$(BIN)/shinari verify

bench: $(TEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/shinari bench --peers

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(DEMO): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all]'
	touch $@

$(TEST): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@ $(DEMO)

clean:
	rm -rf $(VENV) out .pytest_cache .ruff_cache
