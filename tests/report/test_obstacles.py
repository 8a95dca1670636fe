"""What stops people is told by the limit that stops them, whichever solver found it out."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from tests.own_solver import OwnSolver

import equieffort as ee
from equieffort.errors import EquieffortWarning, ParameterError
from equieffort.exports import summary
from equieffort.recourse.solvers import Proposal
from equieffort.recourse.solvers.base import LIMIT
from equieffort.recourse.status import Blocking, Ending, Infeasibility, LimitKind, Obstacle, Termination
from equieffort.report.blocked import no_recourse
from equieffort.report.blocks import Block, Split
from equieffort.report.material import Material
from equieffort.report.words import plain


def stopped(
    solver: ee.Milp | ee.Search | ee.LinearExact | ee.SpatialBranchAndBound | None, **limits: float
) -> list[list[str]]:
    """The table of limits in the report on people whose pay must not grow, and approval needs more pay."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 20, "pay": np.arange(40.0), "age": 20 + np.arange(40.0) % 7})
    approved = frame["pay"] > 29
    if isinstance(solver, ee.Search):
        model = KNeighborsClassifier(1).fit(frame[["pay"]], approved)
    else:
        model = ee.LinearScore({"pay": 1.0}, threshold=29.5)
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True,
        features={"pay": ee.Feature("actionable", **limits), "age": "immutable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        audit = ee.audit(model, frame, schema=schema, scm=scm, solver=solver)
        return counted(audit)


def counted(audit: ee.Audit) -> list[list[str]]:
    """The table of people without an action by the limit that stops them."""
    return told(audit, "Refused people without")


def told(audit: ee.Audit, caption: str) -> list[list[str]]:
    """The rows of the table with such a caption."""
    section = no_recourse(Material.of(audit))
    tables = [getattr(block, "table", block) for block in flat(section.blocks)]
    (table,) = [one for one in tables if getattr(one, "caption", "").startswith(caption)]
    return [[plain(cell) for cell in row] for row in table.rows]


def flat(blocks: Sequence[Block]) -> list[Block]:
    """The blocks of a section, also those that stand beside each other."""
    return [
        one for block in blocks for one in (flat([*block.left, *block.right]) if isinstance(block, Split) else [block])
    ]


@pytest.mark.parametrize("solver", [ee.LinearExact(), ee.Milp(), ee.SpatialBranchAndBound(), ee.Search()], ids=repr)
def test_who_may_not_earn_more_is_stopped_by_that(solver):
    """Only people whose pay cannot grow are refused for good: 15 of either sex, whatever proved it."""
    found = stopped(solver, max_increase=0, max_decrease=0)
    assert found == [["all without a route", "15", "15"], ["pay: largest increase 0", "15", "15"]]


class Foreign(OwnSolver):
    """Somebody else's solver: it knows one feature, asks the model at its highest value, and says so in facts."""

    gap = 1e-9
    certifies = True

    def attempt(self, problem, matrix, attempt):
        proposal = Proposal.empty(problem, len(matrix))
        # Of whoever earns little nothing is looked up.
        pay = problem.encoding.position("pay")
        late = matrix[:, pay] * problem.units[pay] < 10
        proposal.code[late], proposal.bound[late] = LIMIT, 0.0
        proposal.notes |= {
            int(row): Termination(Ending.WORK, argument="patience", limit=3, work=3) for row in np.flatnonzero(late)
        }
        return proposal

    def why(self, problem, person):
        pay = problem.encoding.position("pay")
        at = problem.own(pay, person[0, pay])
        stop = Obstacle("pay", LimitKind.MAX_INCREASE, 1, 0.0, fact=at, stops_at=at)
        return Infeasibility((stop,), Blocking.EACH)


def foreign_audit(solver) -> ee.Audit:
    frame = pd.DataFrame({"sex": ["f", "m"] * 20, "pay": np.arange(40.0), "age": 20 + np.arange(40.0) % 7})
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True,
        features={"pay": ee.Feature("actionable", max_increase=0, max_decrease=0), "age": "immutable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return ee.audit(ee.LinearScore({"pay": 1.0}, threshold=29.5), frame, schema=schema, scm=scm, solver=solver)


def test_a_solver_of_ones_own_is_told_like_ours(tmp_path):
    audit = foreign_audit(Foreign())
    audit.save(tmp_path / "own.audit")
    for one in (audit, ee.load(tmp_path / "own.audit")):
        # Pay below 10 was not looked at: 5 of either sex. The other 10 of either are stopped by their limit.
        assert counted(one) == [["all without a route", "10", "10"], ["pay: largest increase 0", "10", "10"]]
        unknown = told(one, "Refused people of whom nothing is known")
        assert unknown[0][1:] == unknown[1][1:] == ["5", "5"]
        assert "3 boxes were looked at" in unknown[1][0]
        reasons = one.recourse.frame()["reason"]
        assert reasons[20] == (
            "Without this limit there would be a route to approval: pay (largest increase 0; now 20)."
        )
        assert reasons[0].endswith("; raise patience.")
        found = summary(one)
        assert found["version"] == 6
        (obstacle,) = found["obstacles"]
        assert obstacle["people"] == {"f": 10, "m": 10}
        assert (obstacle["feature"], obstacle["limit"], obstacle["value"]) == ("pay", "max_increase", 0.0)
        assert "fact" not in obstacle
        assert found["endings"][0]["people"] == {"f": 5, "m": 5}


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("No.", "must be an Infeasibility"),
        (Infeasibility((Obstacle("wealth", LimitKind.UPPER, 1),), Blocking.EACH), "'wealth'"),
        (Infeasibility((Obstacle("", LimitKind.RULE, rule="pay <= 1"),), Blocking.EACH), "'pay <= 1'"),
    ],
)
def test_what_is_no_fact_about_this_problem_is_refused(monkeypatch, said, names):
    audit = foreign_audit(Foreign())
    monkeypatch.setattr(Foreign, "why", lambda self, problem, person: said)
    with pytest.raises(ParameterError, match=re.escape(names)):
        audit.recourse.frame()


@pytest.mark.parametrize("note", ["It was tired.", Termination(Ending.MISSING_READ, subject="debt")])
def test_notes_that_are_no_facts_are_refused(monkeypatch, note):
    def attempt(self, problem, matrix, attempt):
        proposal = Proposal.empty(problem, len(matrix))
        proposal.notes[0] = note
        return proposal

    monkeypatch.setattr(Foreign, "attempt", attempt)
    with pytest.raises(ParameterError, match="note of Foreign"):
        foreign_audit(Foreign())


def test_a_seed_is_data_not_part_of_a_name():
    assert foreign_audit(ee.LinearExact()).provenance.solver.random_state is None
    assert foreign_audit(ee.Search(50, random_state=7)).provenance.solver.random_state == 7
