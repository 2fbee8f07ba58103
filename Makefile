# `make demo` and `make test` need only Python 3.11+ with venv, git and make; everything is written below this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is installed besides the package: EXTRAS=dev,dask,spark runs the tests on Dask and Spark too.
EXTRAS ?= dev
comma := ,
INSTALLED := $(VENV)/.installed-$(subst $(comma),-,$(EXTRAS))

export TMPDIR := $(CURDIR)/.cache/tmp
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-all lint types bench bench-scale format clean

demo: $(INSTALLED)
	$(BIN)/python -m quorate.cli.demo

test: $(INSTALLED) lint types
	$(BIN)/python -m pytest

test-all: $(INSTALLED) lint types
	$(BIN)/python -m pytest -m ""

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

# Needs 3 GB of disk for tables of 10 and 100 million rows, made once under .cache/scale; about half an hour.
bench-scale: $(INSTALLED)
	$(BIN)/python -m benchmarks scale

$(INSTALLED): pyproject.toml constraints.txt
	mkdir -p $(TMPDIR)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@

clean:
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
