"""Levels in an order, priced by steps or from level to level: every solver, and what stops people."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from tests.oracles_ordered import FAMILIES, run

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import BranchAndBound, LinearExact, Milp, Search, SpatialBranchAndBound
from equieffort.recourse.solving import solve
from equieffort.recourse.status import LimitKind


@pytest.mark.parametrize("family", FAMILIES)
def test_the_cheapest_level_is_found_by_every_solver_that_fits(family):
    tally = run(range(2), family)
    assert not tally.disagreements, "\n".join(tally.disagreements)
    assert tally.optimal + tally.infeasible > 0


def world(model, feature, **other):
    """School alone decides: a degree is approved, and nothing else."""
    people = pd.DataFrame({"edu": ["none", "school", "degree", "phd"] * 10, "sex": ["f", "m", "m", "f"] * 10})
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["edu"]))
    model = make_pipeline(encode, model).fit(people[["edu"]], (people["edu"] == "degree").astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = RecourseProblem.of(
            model, people, scm=ee.StructuralCausalModel([], nodes=["edu"]).fit(people),
            schema=ee.Schema(sensitive="sex", protected="f", favourable=1, features={"edu": feature}, **other),
        )  # fmt: skip
    return problem, people


ORDER = ["none", "school", "degree", "phd"]
ALL = [
    (LogisticRegression(C=100.0), LinearExact()),
    (LogisticRegression(C=100.0), Milp()),
    (LogisticRegression(C=100.0), SpatialBranchAndBound()),
    (DecisionTreeClassifier(random_state=0), BranchAndBound()),
    (DecisionTreeClassifier(random_state=0), Milp()),
    (DecisionTreeClassifier(random_state=0), Search(200)),
]


@pytest.mark.parametrize(("model", "solver"), ALL, ids=lambda one: type(one).__name__)
def test_a_direction_and_a_level_that_stop_somebody_are_named(model, solver):
    problem, people = world(model, ee.Feature("actionable", order=ORDER, direction="up", steps=True, weight=3.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        table = solve(problem, people.iloc[:4], solver=solver)
    costs = table.cost[:2]
    np.testing.assert_allclose(costs, [2.0, 1.0])
    assert table.frame()["status"].iloc[3] == "infeasible"
    (obstacle,) = table.reasons()[3].obstacles
    assert (obstacle.feature, obstacle.limit, obstacle.side, obstacle.fact) == ("edu", LimitKind.DIRECTION, -1, "phd")
    assert "may only go up" in table.frame()["reason"].iloc[3]
    assert "phd" in table.frame()["reason"].iloc[3]


@pytest.mark.parametrize(("model", "solver"), ALL[:5], ids=lambda one: type(one).__name__)
def test_an_upper_level_stops_who_would_go_beyond_it(model, solver):
    problem, people = world(model, ee.Feature("actionable", order=ORDER, upper="school"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        table = solve(problem, people.iloc[:4], solver=solver)
    assert table.frame()["status"].tolist() == ["infeasible", "infeasible", "not_needed", "optimal"]
    (obstacle,) = table.reasons()[0].obstacles
    assert (obstacle.limit, obstacle.value, obstacle.fact) == (LimitKind.UPPER, "school", "none")
    assert "upper limit school" in table.frame()["reason"].iloc[0]
    # Both have gone beyond school already.
    assert table.frame()["outside_limits"].tolist() == [False, False, True, True]


def test_a_forbidden_change_is_named_by_the_linear_solver_too():
    rules = [ee.Forbidden("edu", [("none", "degree")])]
    problem, people = world(LogisticRegression(C=100.0), ee.Feature("actionable"), rules=rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        table = solve(problem, people.iloc[:4], solver=LinearExact())
    assert [one.rule for one in table.reasons()[0].obstacles] == [str(rules[0])]


def test_a_price_from_level_to_level_decides_the_way():
    """Both flags would do; the table of prices makes the dearer weight the cheaper change."""
    people = pd.DataFrame({"job": ["a", "b", "c"] * 10, "home": ["x", "y"] * 15, "sex": ["f", "m", "f"] * 10})

    class Either:
        classes_ = np.array([0, 1])
        feature_names_in_ = np.array(["job", "home"], dtype=object)

        def predict(self, X):
            return ((X["job"] == "c") | (X["home"] == "y")).to_numpy().astype(int)

    features = {
        "job": ee.Feature("actionable", weight=5.0, prices={("a", "c"): 0.25, ("b", "c"): 2.0}),
        "home": ee.Feature("actionable", weight=1.0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = RecourseProblem.of(
            Either(), people, scm=ee.StructuralCausalModel([], nodes=["job", "home"]).fit(people),
            schema=ee.Schema(sensitive="sex", protected="f", favourable=1, features=features),
        )  # fmt: skip
        table = solve(problem, people, solver=Search(100)).frame()
    refused = table[table["status"] == "feasible"]
    jobs = people.loc[refused.index, "job"]
    assert refused["cost"].tolist() == [0.25 if job == "a" else 1.0 for job in jobs]
    assert set(jobs) == {"a", "b"}
