# `make demo` and `make test` need only Python 3.11+ with venv, git and make; everything is written below this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Optional dependencies to install; EXTRAS=all,dask,spark also runs the tests of Dask and Spark.
EXTRAS ?= all
# Dependency groups to install besides dev; GROUPS=scverse,notebook also runs the tutorials that need scanpy, and the
# explorer in a notebook.
GROUPS ?=
CONSTRAINTS ?= constraints.txt
comma := ,
INSTALLED := $(VENV)/.installed-$(subst $(comma),-,$(EXTRAS)$(addprefix $(comma),$(GROUPS)))

export TMPDIR := $(CURDIR)/.cache/tmp
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: bench-trust demo test check test-all test-oldest lint types imports format coverage docs wheel bench bench-scale bench-explore clean

demo: $(INSTALLED)
	$(BIN)/python -m quorate.cli.demo

test: lint types check

check: $(INSTALLED)
	$(BIN)/python -m pytest

test-all: $(INSTALLED) lint types
	$(BIN)/python -m pytest -m ""

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	sh tools/lint_js.sh

types: $(INSTALLED)
	$(BIN)/mypy

# Print which module imports which, by layers.
imports:
	$(PYTHON) tools/imports.py

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Statement and branch coverage, including worker processes. Kernels are compiled, so their lines are not counted.
# Slower than `make test`.
coverage: $(INSTALLED)
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

# Build the site in .cache/docs/html; any warning or broken link is an error.
docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --group docs
	rm -rf docs/_generated/api docs/_generated/methods
	MPLBACKEND=agg $(BIN)/python -m sphinx -q -W --keep-going -b html -d .cache/docs/doctrees docs .cache/docs/html

# Run the tests on the oldest declared dependencies, in a separate environment; use the oldest supported Python.
test-oldest:
	mkdir -p $(TMPDIR)
	$(PYTHON) -m venv .cache/oldest
	.cache/oldest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.cache/oldest/bin/python -m pip install --quiet --constraint constraints-oldest.txt --editable ".[all]" --group test
	.cache/oldest/bin/python -m pytest -p no:cacheprovider -W ignore::DeprecationWarning

# Build the package and try it outside the repository: first the core, then the command with its extra.
wheel: $(INSTALLED)
	rm -rf dist .cache/wheel
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv .cache/wheel/venv
	.cache/wheel/venv/bin/python -m pip install --quiet --constraint $(CONSTRAINTS) dist/quorate-*.whl
	cd .cache/wheel && PATH="$$PWD/venv/bin:$$PATH" sh $(CURDIR)/tools/try_wheel.sh core
	.cache/wheel/venv/bin/python -m pip install --quiet --constraint $(CONSTRAINTS) "$$(echo dist/quorate-*.whl)[cli]"
	cd .cache/wheel && PATH="$$PWD/venv/bin:$$PATH" sh $(CURDIR)/tools/try_wheel.sh command

# Comparisons with dense implementations; less than 15 minutes. Results are written as they come.
bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

# Clustering of features compared with k-means of scikit-learn; some minutes.
bench-features: $(INSTALLED)
	$(BIN)/python -m benchmarks features

# Rare groups, near-copies, random members and ordinary data, compared with the default before; some minutes.
bench-trust: $(INSTALLED)
	$(BIN)/python -m benchmarks.robust
	$(BIN)/python -m benchmarks.junk
	$(BIN)/python -m benchmarks.ordinary

# Response times of the explorer in a browser and with fifty clients; needs Chromium.
bench-explore: $(INSTALLED)
	$(BIN)/python -m benchmarks explore

# Tables of 10 and 100 million rows, made once under .cache/scale (3 GB of disk); about half an hour.
bench-scale: $(INSTALLED)
	$(BIN)/python -m benchmarks scale

$(INSTALLED): pyproject.toml $(CONSTRAINTS)
	mkdir -p $(TMPDIR)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --upgrade pip  # dependency groups need pip 25.1
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable ".[$(EXTRAS)]" $(addprefix --group ,dev $(subst $(comma), ,$(GROUPS)))
	touch $@

clean:
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
