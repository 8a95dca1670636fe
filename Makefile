PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
AUDIT = $(VENV)/.audit
STAMP = $(VENV)/.ready
INSTALL = $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt
PYTEST = $(BIN)/python -m pytest

.PHONY: audit test check bench paper verify oracle format clean

audit: $(AUDIT)
	$(BIN)/equieffort demo german --out out/german

test: $(STAMP)
	$(PYTEST) -m "not verify" -n 2 --dist loadgroup

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

paper: $(STAMP)
	$(BIN)/equieffort paper --out out/paper

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/command_line.py
	$(BIN)/python benchmarks/certificates.py
	$(BIN)/python benchmarks/compilation.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/worlds.py

verify: $(STAMP)
	$(PYTEST) -m verify -n 2 tests/test_verify.py tests/solvers

oracle:
	$(PYTHON) -m venv .venv-oracle
	.venv-oracle/bin/python -m pip install -q -r tools/oracle/requirements.txt
	.venv-oracle/bin/python tools/oracle/dowhy_counterfactuals.py
	.venv-oracle/bin/python tools/oracle/bent_equations.py

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) .venv-oracle out

# An audit needs the package alone.
$(AUDIT): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	touch $@

# Tests and checks need the libraries people may bring, and tools.
$(STAMP): $(AUDIT)
	$(INSTALL) -e ".[test,check]"
	touch $@
