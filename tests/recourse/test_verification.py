"""What `solve` says of proposals that it cannot read, whoever made them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.recourse.solvers import PreparedSolver, Proposal, Solver, step_over

FRAME = pd.DataFrame({"sex": ["f", "m"] * 6, "pay": [*np.arange(10.0), 20.0, 25.0], "age": 20 + np.arange(12.0) % 3})
"""Ten people are refused, two approved."""


class Ready(PreparedSolver):
    """Sets pay to 20 for everybody, at once or step by step, in arrays that are changed before they are handed over."""

    def __init__(self, problem, change, steps):
        self.problem, self.change, self.steps = problem, change, steps

    def propose(self, batch):
        if self.steps:
            return step_over(batch, lambda people, attempt: self.answer(people))
        return self.answer(batch.people)

    def answer(self, people):
        honest = Proposal.empty(self.problem, len(people))
        pay = self.problem.encoding.position("pay")
        at = list(self.problem.numeric).index(pay)
        honest.code[:], honest.bound[:] = 1, 0.0
        honest.intervention_mask[:, list(self.problem.acts).index(pay)] = True
        honest.delta[:, at] = 20 / self.problem.units[pay] - people[:, pay]
        honest.cost[:] = self.problem.cost.evaluate(
            people[:, list(self.problem.numeric)], people[:, list(self.problem.numeric)] + honest.delta
        )
        return self.change(honest)

    def infeasibility(self, people):
        raise NotImplementedError


class Own(Solver):
    gap, certifies = 1e-6, True

    def __init__(self, change, *, steps):
        self.change, self.steps = change, steps

    def prepare(self, problem):
        return Ready(problem, self.change, self.steps)


def solved(change, *, steps):
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True,
        features={"pay": ee.Feature("actionable", upper=30), "age": ee.Feature("actionable", lower=18, upper=40)},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=list(FRAME)).fit(FRAME)
    problem = ee.RecourseProblem.of(ee.LinearScore({"pay": 1.0}, threshold=15.0), FRAME, schema=schema, scm=scm)
    return ee.solve(problem, FRAME, solver=Own(change, steps=steps))


@pytest.mark.parametrize("steps", [False, True], ids=["at once", "in steps"])
def test_an_honest_proposal_is_read(steps):
    table = solved(lambda honest: honest, steps=steps)
    assert set(table.status[:10]) == {ee.Status.FEASIBLE}
    np.testing.assert_allclose(table.cost[:10], (20 - FRAME["pay"][:10]) / 25)


@pytest.mark.parametrize("steps", [False, True], ids=["at once", "in steps"])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda p: replace(p, intervention_mask=p.intervention_mask.astype(np.int64)),
            "`intervention_mask` holds int64, not truth values",
        ),
        (lambda p: replace(p, intervention_mask=p.intervention_mask[:, :1]), "`intervention_mask` has shape (10, 1)"),
        (lambda p: replace(p, cost=p.cost.tolist()), "`cost` is a list, not an array"),
        (lambda p: replace(p, vanishing=np.zeros(len(p.code), dtype=np.int8)), "`vanishing` holds int8"),
        (lambda p: replace(p, delta=p.delta[:-1]), "`delta` has shape (9, 2), not (10, 2)"),
        (lambda p: None, "is a NoneType, not a Proposal"),
    ],
)
def test_an_unreadable_proposal_is_refused_by_the_name_of_its_array(change, says, steps):
    with pytest.raises(ParameterError, match=re.escape(says)) as caught:
        solved(change, steps=steps)
    assert caught.value.code == "PARAMETER"
    assert "Own" in caught.value.what
    assert "Proposal.empty" in caught.value.fix
