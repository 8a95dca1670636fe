PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
AUDIT = $(VENV)/.audit
STAMP = $(VENV)/.ready
INSTALL = $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt
PYTEST = $(BIN)/python -m pytest
LOWEST = .venv-lowest
# The tests that matter most where a library is old: solvers and replay, audits, tables, files, models from files.
MATTER = tests/results/test_audit.py tests/results/test_files.py tests/data/test_frames.py tests/world/test_graph.py tests/plots \
	tests/recourse/solvers/test_exactness.py tests/recourse/solvers/test_highs.py tests/recourse/solvers/test_programs.py tests/recourse/solvers/test_auto.py \
	tests/recourse/solvers/test_quiet.py \
	tests/models/test_loaders.py tests/models/test_boosters.py tests/models/test_onnx_file.py
# What libraries say of each other's age.
FORGIVEN = -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning \
	-W "ignore:X does not have valid feature names:UserWarning"

# Tests start many interpreters, which need not compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: audit test check lowest bench bench-peers paper verify oracle format clean

audit: $(AUDIT)
	$(BIN)/equieffort demo german --out out/german

test: $(STAMP)
	$(PYTEST) -m "not verify" -n 2 --dist loadfile

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The wheel, away from the repository, with the lowest version of everything that is declared: by itself, then the tests
# that matter.
lowest:
	rm -rf $(LOWEST)
	$(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tools/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip wheel -q --disable-pip-version-check --no-deps -w $(LOWEST)/dist .
	$(LOWEST)/bin/python -m pip install -q --disable-pip-version-check -c $(LOWEST)/constraints.txt $(LOWEST)/dist/*.whl
	cd $(LOWEST) && bin/python -I ../tools/try_installed.py
	$(LOWEST)/bin/python -m pip install -q --disable-pip-version-check -c $(LOWEST)/constraints.txt \
		"$$(echo $(LOWEST)/dist/*.whl)[test]"
	$(LOWEST)/bin/python -m pytest -n 2 --dist loadfile -q -m "not verify" $(FORGIVEN) $(MATTER)

paper: $(STAMP)
	$(BIN)/equieffort paper --out out/paper

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/curves.py
	$(BIN)/python benchmarks/adult.py
	$(BIN)/python benchmarks/command_line.py
	$(BIN)/python benchmarks/certificates.py
	$(BIN)/python benchmarks/no_cliffs_trees.py
	$(BIN)/python benchmarks/programs.py
	$(BIN)/python benchmarks/no_cliffs.py
	$(BIN)/python benchmarks/compilation.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/worlds.py
	$(BIN)/python benchmarks/measures.py
	$(BIN)/python -m benchmarks.imputers
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/out_of_core.py

# Other tools for recourse, each in an environment of its own.
bench-peers: $(STAMP)
	$(BIN)/python benchmarks/peers/table.py

# SCIP gives a second opinion on programs where it can be installed.
verify: $(STAMP)
	-$(INSTALL) PySCIPOpt
	$(PYTEST) -m verify -n 2 tests/test_verify.py tests/test_verify_scale.py tests/test_error_rates.py tests/testing \
		tests/recourse/solvers tests/hostile tests/fuzz tests/paper tests/effort tests/models tests/notions tests/results tests/world

oracle:
	$(PYTHON) -m venv .venv-oracle
	.venv-oracle/bin/python -m pip install -q -r tools/oracle/requirements.txt
	.venv-oracle/bin/python tools/oracle/dowhy_counterfactuals.py
	.venv-oracle/bin/python tools/oracle/bent_equations.py

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) .venv-oracle .venv-peers $(LOWEST) out

# An audit needs the package alone.
$(AUDIT): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	touch $@

# Tests and checks need the libraries people may bring, and tools.
$(STAMP): $(AUDIT)
	$(INSTALL) -e ".[test,check]"
	touch $@
