"""People who are searched together: whose share of the time is spent is not asked about any more, and it is said."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from tests.limits import unlimited

import equieffort as ee
from equieffort.recourse.solvers import shared_time
from equieffort.recourse.solvers.endings import DONE, LATE, TIME
from equieffort.recourse.solvers.shared_time import SharedTime

Ending = ee.solvers.Ending


class Asleep:
    """A model that answers slowly, on a clock of its own: so many seconds for each person it is asked about."""

    classes_ = np.array([False, True])
    feature_names_in_ = np.array(["income", "savings"])

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.now, self.asked = seconds, 0.0, 0

    def predict(self, X):
        self.now += self.seconds * len(X)
        self.asked += len(X)
        return (X["income"] + 0.5 * X["savings"] > 6).to_numpy()


def world(model: Asleep, n: int = 40) -> tuple[ee.RecourseProblem, pd.DataFrame]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": ["f", "m"] * (n // 2), "income": rng.normal(2, 1, n), "savings": rng.normal(2, 1, n)})
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True,
        features={"income": ee.Feature("actionable", max_increase=9.0), "savings": "immutable"},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=list(X)).fit(X)
    return ee.RecourseProblem.of(model, X, schema=schema, scm=scm), X


@pytest.fixture
def shown(monkeypatch):
    """Let the clocks show what a model says."""

    def show(model: Asleep, *, computing: bool) -> None:
        monkeypatch.setattr(shared_time, "wall", lambda: model.now)
        monkeypatch.setattr(shared_time, "cpu", lambda: model.now if computing else 7.0)

    return show


def solved(problem, X, solver) -> ee.RecourseTable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
        return ee.solve(problem, X, solver=solver)


def test_time_is_shared_by_parts_and_nobody_has_less_than_was_spent(monkeypatch):
    cpu, wall = itertools.count(0.0, 2.0), itertools.count(0.0, 60.0)
    monkeypatch.setattr(shared_time, "cpu", lambda: next(cpu))
    monkeypatch.setattr(shared_time, "wall", lambda: next(wall))
    spent = SharedTime(4, 3.0)
    spent.charge(np.array([1, 3, 0, 0]))
    assert spent.cpu.tolist() == [0.5, 1.5, 0.0, 0.0]
    assert spent.wall.tolist() == [15.0, 45.0, 0.0, 0.0]
    # 3 s of CPU, and ten times as many on the wall clock.
    assert spent.ended.tolist() == [DONE, LATE, DONE, DONE]
    spent.charge(np.array([0, 0, 0, 0]))
    spent.charge(np.array([0, 0, 2, 0]))
    assert spent.ended.tolist() == [DONE, LATE, DONE if spent.wall[2] <= 30 else LATE, DONE]
    spent.charge(np.array([0, 0, 1, 0]))
    assert spent.ended.tolist() == [DONE, LATE, TIME, DONE]
    assert SharedTime(1, None).ended.tolist() == [DONE]


def test_a_model_that_waits_ends_a_search_at_the_ceiling_and_it_is_counted(shown):
    model = Asleep(0.5)
    problem, X = world(model)
    shown(model, computing=False)
    before = model.asked
    table = solved(problem, X, ee.Search(time_limit=2.0))
    refused = np.flatnonzero(table.status != ee.Status.NOT_NEEDED)
    assert {(fact.kind, fact.limit, fact.argument) for fact in table.reasons() if fact is not None} == {
        (Ending.WALL_TIME, 20.0, "time_limit")
    }
    # 20 s are 40 questions a person; the first looks, a third of the budget of 2,000, are one batch for everybody.
    assert model.asked - before < 1000 * len(refused)
    found = table.status[refused] == ee.Status.FEASIBLE
    assert found.any()
    assert (table.bound[refused] == 0).all()


def test_a_model_that_computes_ends_a_search_at_the_limit(shown):
    model = Asleep(0.5)
    problem, X = world(model)
    shown(model, computing=True)
    table = solved(problem, X, ee.Search(time_limit=2.0))
    assert {(fact.kind, fact.limit) for fact in table.reasons() if fact is not None} == {(Ending.TIME, 2.0)}


def test_who_is_ended_before_an_action_is_found_is_unknown(shown):
    """The first batch takes all the time there is, and nobody in it can be approved within their limits."""
    model = Asleep(0.5)
    problem, X = world(model)
    features = problem.schema.features | {"income": ee.Feature("actionable", max_increase=0.001)}
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features)
    problem = ee.RecourseProblem.of(model, X, schema=schema, scm=problem.scm)
    shown(model, computing=False)
    table = solved(problem, X, ee.Search(time_limit=0.01))
    refused = table.status != ee.Status.NOT_NEEDED
    far = X["income"] + 0.5 * X["savings"] <= 5.9
    assert (table.status[refused & far] == ee.Status.UNKNOWN).all()


def test_without_a_limit_and_within_it_the_search_is_the_same(shown):
    model = Asleep(0.5)
    problem, X = world(model)
    shown(model, computing=False)
    whole = solved(problem, X, ee.Search(budget=60, time_limit=None))
    within = solved(problem, X, ee.Search(budget=60, time_limit=1e6))
    assert whole.cost.tobytes() == within.cost.tobytes()
    assert {fact.kind for fact in whole.reasons() if fact is not None} == {Ending.HEURISTIC}


def test_whom_the_clock_ended_is_named_in_an_audit(shown):
    model = Asleep(0.5)
    problem, X = world(model)
    shown(model, computing=False)
    solver = ee.Search(time_limit=2.0)
    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter("always")
        made = ee.audit(model, X, schema=problem.schema, scm=problem.scm, solver=solver)
    refused = np.flatnonzero(made.recourse.status != ee.Status.NOT_NEEDED)
    assert made.provenance.ended_by_clock.count == len(refused)
    assert "RUN_CLOCK" in {getattr(one.message, "code", "") for one in kept}


@pytest.fixture
def bent() -> tuple[ee.RecourseProblem, pd.DataFrame]:
    """A spatial search: savings follow income by a square, so that boxes are split again and again."""
    rng = np.random.default_rng(0)
    n = 60
    X = pd.DataFrame({"sex": ["f", "m"] * (n // 2), "income": rng.normal(0, 1, n), "work": rng.normal(0, 1, n)})
    X["savings"] = X["income"] ** 2 - X["income"] * X["work"] + 0.1 * rng.normal(size=n)
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True,
        features=unlimited({"income": "actionable", "work": "actionable", "savings": "mutable"}),
    )  # fmt: skip
    square = ee.Polynomial(2)
    scm = ee.StructuralCausalModel(
        [("income", "savings"), ("work", "savings")], nodes=list(X), mechanisms={"savings": square}
    ).fit(X)
    model = ee.LinearScore({"income": 0.1, "savings": 1.0}, threshold=9.0)
    return ee.RecourseProblem.of(model, X, schema=schema, scm=scm), X


@pytest.mark.parametrize(("cpu", "ending", "limit"), [(0.0, Ending.WALL_TIME, 50.0), (1e6, Ending.TIME, 5.0)])
def test_a_spatial_search_ends_with_its_bound(bent, monkeypatch, cpu, ending, limit):
    """After the first step a million seconds have passed."""
    problem, X = bent
    solver = ee.SpatialBranchAndBound(gap=1e-6, time_limit=5.0)
    proven = solved(problem, X, ee.SpatialBranchAndBound(gap=1e-6, time_limit=None))
    wall, own = itertools.count(0.0, 1e6), itertools.count(0.0, cpu)
    monkeypatch.setattr(shared_time, "wall", lambda: next(wall))
    monkeypatch.setattr(shared_time, "cpu", lambda: next(own))
    table = solved(problem, X, solver)
    ended = [fact for fact in table.reasons() if getattr(fact, "kind", None) == ending]
    assert len(ended) > 10
    assert {fact.limit for fact in ended} == {limit}
    rows = np.flatnonzero(proven.status == ee.Status.OPTIMAL)
    assert len(rows) > 10
    # Bounds that were reached hold, and no action is called the cheapest that is not.
    assert (table.bound[rows] <= proven.cost[rows] * (1 + 1e-9)).all()
    best = table.status == ee.Status.OPTIMAL
    np.testing.assert_allclose(table.cost[best], proven.cost[best], rtol=2e-6)
