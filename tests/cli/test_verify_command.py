"""`equieffort verify`: a saved audit checked again with its model and its table."""

from __future__ import annotations

import json
import shutil
from typing import get_args

import pytest
from tests.cli.conftest import loans
from tests.fuzz.worlds import Unwrapped

from equieffort.cli.verifying import OtherSolver
from equieffort.results.second_opinion import SOLVERS, Oracle
from equieffort.spec.forms import SOLVERS as KINDS


@pytest.fixture
def files(audited, tmp_path, monkeypatch):
    for name in ("made.audit", "made.surrogate.skops", "later.surrogate.skops", "loans.csv"):
        shutil.copy(audited / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


WITH = ("--model", "made.surrogate.skops", "--data", "loans.csv")


def test_what_was_audited_holds(files, call):
    done = call("verify", "made.audit", *WITH, "--sample", "4")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Everything that was checked holds, for 160 people.")
    assert "confirmed by milp for" in done.stdout
    said = json.loads(call("verify", "made.audit", *WITH, "--oracle", "milp", "--sample", "6", "--json").stdout)
    assert said["holds"] is True
    assert said["oracle"]["solver"] == "milp"
    assert len(said["oracle"]["of"]) == 6
    assert {one["outcome"] for one in said["oracle"]["of"]} == {"confirmed"}


def test_every_solver_of_a_spec_can_give_a_second_opinion():
    """By the same names, and the one that made the audit is refused by its name."""
    assert {one.value for one in OtherSolver} == (KINDS.keys() - {"auto"}) | {"grid"} == set(get_args(Oracle))
    assert SOLVERS.keys() == set(get_args(Oracle)) - {"grid"}


@pytest.mark.parametrize("other", ["linear_search", "linear_exact"])
def test_a_linear_solver_confirms_or_says_that_it_made_the_audit(files, call, other):
    done = call("verify", "made.audit", *WITH, "--sample", "6", "--oracle", other)
    if other == "linear_exact":
        assert done.exit_code == 2
        assert "The audit itself was solved by linear_exact." in done.stderr
    else:
        assert done.exit_code == 0, done.output
        assert "confirmed by linear_search for" in done.stdout


def test_a_changed_coefficient_ends_with_1_and_names_people(files, call):
    opened = Unwrapped.of((files / "made.audit").read_bytes())
    (equation,) = opened.manifest["provenance"]["equations"]
    equation["parts"]["coef"]["income"] *= 1.01
    (files / "forged.audit").write_bytes(opened.bytes())
    done = call("verify", "forged.audit", *WITH)
    assert done.exit_code == 1, done.output
    assert done.stdout.startswith("The audit does not hold:")
    assert "'savings' is not what its equation says" in done.stdout
    said = json.loads(call("verify", "forged.audit", *WITH, "--json").stdout)
    assert said["holds"] is False
    assert {one["check"] for one in said["failures"]} == {"equations"}
    assert {one["person"] for one in said["failures"]} <= set(loans()["applicant"])


def test_another_model_and_other_data_end_with_2(files, call):
    done = call("verify", "made.audit", "--model", "later.surrogate.skops", "--data", "loans.csv")
    assert done.exit_code == 2
    assert "VERIFY_OTHER_MODEL" in done.stderr
    table = loans()
    table.loc[7, "income"] += 1
    table.to_csv("other.csv", index=False)
    done = call("verify", "made.audit", "--model", "made.surrogate.skops", "--data", "other.csv")
    assert done.exit_code == 2
    assert "VERIFY_OTHER_DATA" in done.stderr
    assert "'income' of '00007'" in done.stderr
    done = call("verify", "made.audit", *WITH, "--oracle", "search", "--sample", "0")
    assert done.exit_code == 0
    done = call("verify", "made.audit", "--model", "absent.skops", "--data", "loans.csv")
    assert done.exit_code == 2
