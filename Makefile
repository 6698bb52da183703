# Both targets set up what they need: a virtual environment with pinned dependencies.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test tests lint check-types contracts bench pictures clean

demo: $(VENV)/.installed
	$(BIN)/campaign demo demo-campaign --fresh

# The types are checked beside the tests, which wait for most of their time.
test: lint contracts $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory --keep-going --jobs=2 tests check-types

tests: $(VENV)/.installed-dev
	$(BIN)/pytest -n auto

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check-types: $(VENV)/.installed-dev
	$(BIN)/mypy

contracts: $(VENV)/.installed-dev
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/startup.py

pictures: $(VENV)/.installed-dev
	$(BIN)/python docs/pictures/make.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "campaign needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python requirements.txt pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
