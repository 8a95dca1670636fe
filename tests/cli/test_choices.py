"""Equations and solver declared in the spec, seen from the command line: dry run, audit, check, report, errors."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.models.surrogate import train_surrogate

DECLARED = """\
graph:
  edges: [[income, savings]]
  equations:
    savings: {kind: polynomial, degree: 2}
solver: {kind: spatial_branch_and_bound, gap: 0.001, node_limit: 3000}
"""
USED = "Solver: spatial_branch_and_bound (gap 0.001, node_limit 3000, time_limit 60). Chosen in the spec."


def declare(folder: Path, lines: str = DECLARED, lower: str = "lower: 0, ") -> None:
    text = (folder / "loans.yaml").read_text(encoding="utf-8").replace("max_increase: 20", f"{lower}max_increase: 20")
    (folder / "loans.yaml").write_text(text.replace("graph: [[income, savings]]\n", lines), encoding="utf-8")


def test_what_was_declared_is_used_and_shown_before_and_after(folder, call):
    declare(folder)
    dry = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert dry.exit_code == 0, dry.output
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 1, done.output
    judged = call("check", "out.audit")
    made = ee.load("out.audit").provenance
    (equation,) = (one.text for one in made.equations)
    assert "income - " in equation
    assert "^2" in equation
    for shown in (dry.stdout, done.stdout, judged.stdout):
        assert f"{USED}\nStructural equations:\n  {equation}" in shown
        assert "SpatialBranchAndBound(" not in shown
    assert made.solver.name == "SpatialBranchAndBound(gap=0.001, node_limit=3000, time_limit=60.0)"
    assert made.learned_by == {"savings": "Polynomial(degree=2, interactions=False)"}
    counted = json.loads(call("audit", "loans.yaml", "-o", "out", "--dry-run", "--json").stdout)
    assert (counted["solver"], counted["equations"]) == (made.solver.name, [equation])
    summary = json.loads(call("check", "out.audit", "--format", "json").stdout)
    assert summary["provenance"]["learned_by"] == made.learned_by
    for name in ("out.html", "out.md"):
        page = (folder / name).read_text(encoding="utf-8").replace("\\", "")
        assert "SpatialBranchAndBound(gap=0.001, node_limit=3000, time_limit=60.0)" in page
        assert "learned by Polynomial(degree=2, interactions=False)" in page
    _is_that_of_python()


def _is_that_of_python():
    people = pd.read_csv("loans.csv", dtype={"applicant": str}).set_index("applicant")
    surrogate = train_surrogate(
        "logistic", people.drop(columns="decision"), people["decision"], features=["income", "savings", "job"],
        groups=people["sex"], random_state=0,
    )  # fmt: skip
    people = people.drop(columns="decision")
    income = ee.Feature("actionable", lower=0, max_increase=20, upper=90)
    roles = {"income": income, "savings": "mutable", "job": "immutable"}
    schema = ee.Schema(sensitive="sex", protected="female", reference="male", favourable="approved", features=roles)
    scm = ee.StructuralCausalModel([("income", "savings")], mechanisms={"savings": ee.Polynomial(2)}).fit(people)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        expected = ee.audit(
            surrogate.classifier, people, schema=schema, scm=scm, solver=ee.SpatialBranchAndBound(0.001, 3000),
            criteria=ee.Criteria(min_people=5),
        )  # fmt: skip
    made = ee.load("out.audit")
    columns = ["group", "status", "cost", "bound", "do_income"]
    pd.testing.assert_frame_equal(made.recourse.frame()[columns], expected.recourse.frame()[columns])
    assert made.system.comparisons[0].acr == expected.system.comparisons[0].acr
    assert np.isfinite(made.system.comparisons[0].acr)


def test_the_key_to_raise_is_in_the_verdict(folder, call):
    forest = "kind: forest, n_estimators: 5, max_depth: 4"
    declare(
        folder, DECLARED.replace("node_limit: 3000", "node_limit: 1").replace("kind: polynomial, degree: 2", forest)
    )
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 4, done.output
    assert "raise node_limit (it was 1) under solver in the spec and audit again" in done.stdout
    assert "solve_further" not in done.output
    table = pd.read_csv("out.csv")
    assert table["reason"].str.contains("raise node_limit under solver in the spec", na=False).any()
    assert "raise node_limit (it was 1) under solver" in call("check", "out.audit").stdout
    assert "under solver in the spec" in (folder / "out.html").read_text(encoding="utf-8")


def test_limits_that_are_missing_are_asked_for_instead(folder, call):
    """Where nothing says how far an action may go, no number of boxes settles it."""
    declare(folder, lower="lower: -.inf, ")
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 4, done.output
    assert "say under features how far actions may go (lower, upper, max_increase, max_decrease)" in done.stdout
    assert "raise node_limit" not in done.output


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("solver: {kind: spatial_branch_and_bound, gap: 0.001, node_limit: 3000}", "solver: linear_exact",
         "loans.yaml, line 10, column 9: solver: The solver linear_exact cannot solve this. It is not linear: "),
        ("kind: polynomial, degree: 2", "kind: ordinal",
         "loans.yaml, line 9, column 14: graph.equations.savings: 'savings' has"),
        ("degree: 2", "degree: 20", "loans.yaml, line 9, column 41: graph.equations.savings.degree is the number 20"),
        ("savings: {", "job: {", "loans.yaml, line 9, column 5: graph.equations names 'job', which is not in the"),
        ("gap: 0.001", "gab: 0.001", "loans.yaml, line 10, column 42: unknown key 'gab' in solver. Did you mean"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_with_its_place(folder, call, options, old, new, says):
    assert old in DECLARED
    declare(folder, DECLARED.replace(old, new))
    done = call("audit", "loans.yaml", "-o", "out", *options)
    assert done.exit_code == 2
    assert says in done.stderr
    assert "How to fix it" in done.stderr
    assert not (folder / "out.audit").exists()
