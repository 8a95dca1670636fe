"""What is not proven is not claimed: ties, sets that were given up, limits that end a search, bounds left infinite."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.own_solver import OwnSolver

import equieffort as ee
from equieffort.errors import EquieffortWarning, ParameterError
from equieffort.recourse.people import People
from equieffort.recourse.solvers import LIMIT, Proposal
from equieffort.recourse.solvers.linear.programs import Program
from equieffort.recourse.solving import solve_further

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


def chain(kind):
    """Two amounts, the second follows the first; a logistic regression that computes in the table's own type."""
    rng = np.random.default_rng(0)
    first = rng.normal(0, 1, 200)
    second = first + rng.normal(0, 0.5, 200)
    good = (first + second + rng.normal(0, 0.5, 200) > 1).astype(int)
    people = pd.DataFrame({"g": rng.choice(["p", "q"], 200), "a": first, "b": second}).astype({"a": kind, "b": kind})
    model = LogisticRegression().fit(people[["a", "b"]], good)
    return people, model, ee.StructuralCausalModel([("a", "b")]).fit(people)


@pytest.mark.parametrize("share", [-0.5, 0.3, 0.6, 0.9, 1.5])
def test_in_single_precision_a_tie_is_tried_before_something_dearer_is_optimal(share):
    """The limit of `a` lies within the model's own rounding of the boundary: only the label says whether it does."""
    people, model, scm = chain("float32")
    (weight_a, weight_b), base = model.coef_[0].astype(float), float(model.intercept_[0])
    follows = float(scm.mechanisms_["b"].coef["a"])
    row = int(np.flatnonzero(model.predict(people[["a", "b"]]) == 0)[3])
    other = int(np.flatnonzero(people["g"] != people["g"][row])[0])
    a, b = (float(people[name][row]) for name in "ab")
    gain, need = weight_a + follows * weight_b, -(weight_a * a + weight_b * b + base)
    noise = 6 * 2.0**-24 * (abs(weight_a * a) + abs(weight_b * b) + abs(base) + need)
    upper = float(np.float32(a + (need + share * noise) / gain))

    def cost(limit):
        features = {
            "a": ee.Feature("actionable", lower=-50, upper=limit), "b": ee.Feature("actionable", lower=-50, upper=50),
        }  # fmt: skip
        schema = ee.Schema(sensitive="g", protected="p", favourable=1, features=features)
        table = ee.solve(ee.RecourseProblem.of(model, people, schema=schema, scm=scm), people.iloc[[row, other]])
        return table.status[0], table.cost[0], table.bound[0]

    after = pd.DataFrame({"a": [upper], "b": [b + follows * (upper - a)]}).astype("float32")
    status, paid, bound = cost(upper)
    free, dear = cost(50.0)[1], cost(a)[1]
    assert dear > 1.2 * free
    if status == ee.Status.OPTIMAL:
        assert paid == pytest.approx(free if model.predict(after)[0] == 1 else dear, rel=1e-4)
        assert bound == pytest.approx(paid, rel=1e-4)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_set_that_was_given_up_leaves_nobody_optimal_who_may_not_be(monkeypatch, kind):
    people, problem = shared(kind)
    before = ee.solve(problem, people, solver=ee.LinearExact())
    nothing = (LIMIT, np.inf, 0.0, np.zeros(2))
    monkeypatch.setattr(Program, "solve", lambda self, *_: nothing)
    after = ee.solve(problem, people, solver=ee.LinearExact())
    optimal = after.status == ee.Status.OPTIMAL
    assert (after.status == ee.Status.FEASIBLE).any() or (after.status == ee.Status.UNKNOWN).any()
    assert (after.cost[optimal] <= before.cost[optimal] * (1 + 1e-5)).all()


def shared(kind="float64"):
    """Two actions that both move a column with a plausible range, so that programs are solved."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 1, 120), rng.normal(0, 1, 120)
    people = pd.DataFrame({"g": rng.choice(["p", "q"], 120), "a": a, "b": b, "d": a + b + rng.normal(0, 0.5, 120)})
    people = people.astype(dict.fromkeys("abd", kind))
    model = LogisticRegression().fit(people[list("abd")], (a + 0.5 * b + people["d"] > 1).astype(int))
    limits = ee.Feature("actionable", lower=-4, upper=4)
    features = {"a": limits, "b": limits, "d": ee.Feature("mutable", plausible=(-2, 0.1))}
    schema = ee.Schema(sensitive="g", protected="p", favourable=1, features=features)
    scm = ee.StructuralCausalModel([("a", "d"), ("b", "d")]).fit(people)
    return people, ee.RecourseProblem.of(model, people, schema=schema, scm=scm)


def test_programs_without_an_answer_make_nobody_infeasible(monkeypatch):
    people, problem = shared()
    before = ee.solve(problem, people)
    largest, least, asked = Program.largest_gain, Program._least_cost, {}
    monkeypatch.setattr(
        Program, "largest_gain", lambda self, enough: (np.inf, None) if len(self.rows) else largest(self, enough)
    )

    def first_only(self, need):
        return least(self, need) if asked.setdefault(id(self), (self, need))[1] == need else (0.0, None)

    monkeypatch.setattr(Program, "_least_cost", first_only)
    after = ee.solve(problem, people)
    solvable = before.status == ee.Status.OPTIMAL
    assert solvable.any()
    assert (after.status[solvable] != ee.Status.INFEASIBLE).all()


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_on_the_boundary_whole_numbers_do_not_vanish(limit):
    """Nothing was proven in so few boxes, and the least step costs something."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"g": rng.choice(["p", "q"], 60), "x": rng.integers(0, 9, 60), "z": rng.integers(0, 9, 60)})
    features = dict.fromkeys("xz", ee.Feature("actionable", lower=0, upper=20))
    schema = ee.Schema(sensitive="g", protected="p", favourable=True, features=features)
    scm = ee.StructuralCausalModel([], nodes=["x", "z"]).fit(people)
    rule = ee.LinearScore({"x": 1.0, "z": 1.0}, threshold=8.0, closed=False)
    problem = ee.RecourseProblem.of(rule, people, schema=schema, scm=scm)
    table = ee.solve(problem, people, solver=ee.SpatialBranchAndBound(node_limit=limit))
    on_it = (people["x"] + people["z"] == 8).to_numpy()
    assert on_it.any()
    assert not table.vanishing[on_it].any()
    assert (table.effort[on_it] >= 0.125 - 1e-9).all()


class GivesUp(OwnSolver):
    """Leaves the infinite bounds of an empty proposal."""

    def attempt(self, problem, people, attempt):
        proposal = Proposal.empty(problem, len(people))
        proposal.code[:] = LIMIT
        return proposal


def test_who_is_given_up_has_no_infinite_bound_that_later_proves_anything():
    people, problem = shared()
    table = ee.solve(problem, people, solver=GivesUp())
    rows = np.flatnonzero(table.status == ee.Status.UNKNOWN)
    assert len(rows)
    assert (table.bound[rows] == 0).all()
    further = solve_further(table, rows, solver=ee.Search(budget=60))
    assert not (further.status[rows] == ee.Status.OPTIMAL).any()


def test_people_read_for_another_problem_are_refused():
    people, problem = shared()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        read = People.of(problem, people)
    assert len(ee.solve(read.problem, read)) == len(people)
    with pytest.raises(ParameterError, match="another problem"):
        ee.solve(problem.with_margin(0.5), read)
