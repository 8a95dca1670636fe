"""Equations and costs of a class of their own built on a known one are asked, never opened."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

import equieffort as ee
from equieffort.world.cost import AskedCost, LinearCost
from equieffort.world.scm.equations import Additive, Mechanism
from equieffort.world.scm.mechanisms import LinearEquation
from equieffort.world.scm.trees import read_trees

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")

RNG = np.random.default_rng(0)
A = RNG.uniform(0, 10, 150)
X = pd.DataFrame({"g": RNG.choice(["p", "q"], 150), "a": A, "b": 0.5 * A + RNG.normal(0, 1, 150)})
SPAN = float(X["a"].max() - X["a"].min())


def steep(base):
    """A regressor whose own answers rise far beyond 7, where nearly nobody is asked."""

    class Steep(base):
        def predict(self, X):
            return super().predict(X) + np.where((np.asarray(X)[:, 0] > 7) & (np.asarray(X)[:, 0] < 7.2), 30.0, 0.0)

    return Steep


def one_odd_tree():
    forest = RandomForestRegressor(4, max_depth=3, random_state=0).fit(X[["a"]].to_numpy(), X["b"])
    forest.estimators_[2] = steep(DecisionTreeRegressor)(max_depth=2).fit(X[["a"]].to_numpy(), X["b"])
    return forest


def patched():
    tree = DecisionTreeRegressor(max_depth=3).fit(X[["a"]].to_numpy(), X["b"])
    plain = tree.predict
    tree.predict = lambda X: plain(X) + (np.asarray(X)[:, 0] > 7)
    return tree


class Bent(ee.Linear):
    """Calls itself linear and is not."""

    def bind(self, node, causes):
        return lambda parents: 0.5 * parents[:, 0] + np.where((parents[:, 0] > 7) & (parents[:, 0] < 7.2), 30.0, 0.0)


class BentEquation(LinearEquation):
    def counterfactual(self, values, before, after):
        return super().counterfactual(values, before, after) + np.where(
            (after[:, 0] > 7) & (after[:, 0] < 7.2), 30.0, 0
        )


@dataclass(frozen=True)
class BoundBent(Mechanism):
    """A mechanism whose equation is built on the linear one."""

    coef: dict
    intercept: float = 0.0

    def bind(self, node, causes):
        return BentEquation(causes, np.array([0.5]), {}, 0.0)

    def equation(self, node):
        return f"{node} = 0.5*a and more"


EQUATIONS = {
    "tree": lambda: steep(DecisionTreeRegressor)(max_depth=3),
    "forest": lambda: steep(RandomForestRegressor)(4, max_depth=3, random_state=0),
    "boosted": lambda: steep(GradientBoostingRegressor)(n_estimators=4),
    "histogram": lambda: steep(HistGradientBoostingRegressor)(max_iter=4),
    "least squares": lambda: steep(LinearRegression)(),
    "ridge": lambda: steep(Ridge)(),
    "linear": lambda: Bent({"a": 0.5}),
    "bound linear": lambda: BoundBent({"a": 0.5}),
}


@pytest.mark.parametrize("name", EQUATIONS)
def test_no_certificate_rests_on_what_an_equation_is_built_on(name):
    scm = ee.StructuralCausalModel([("a", "b")], mechanisms={"b": EQUATIONS[name]()}).fit(X)
    schema = ee.Schema(
        sensitive="g", protected="p", favourable=True,
        features={"a": ee.Feature("actionable", lower=0, upper=10), "b": ee.Feature("mutable")},
    )  # fmt: skip
    problem = ee.RecourseProblem.of(ee.LinearScore({"b": 1.0}, threshold=7.0), X, schema=schema, scm=scm)
    few = X.iloc[:8]
    table = ee.solve(problem, few)
    assert "cannot be enclosed" in ee.Auto().select(problem).reason or "not linear" in ee.Auto().select(problem).reason
    tried = np.linspace(0, 10, 1001)
    for row in range(len(few)):
        facts = pd.concat([few.iloc[[row]]] * len(tried), ignore_index=True)
        after = problem.scm.counterfactual(facts, do={"a": tried})
        good = tried[after["b"].to_numpy() >= 7.0]
        least = np.abs(good - few["a"].iloc[row]).min() / SPAN if len(good) else np.inf
        if table.status[row] in (ee.Status.OPTIMAL, ee.Status.INFEASIBLE):
            assert table.bound[row] <= least + 1e-9


@pytest.mark.parametrize("made", [one_odd_tree, patched], ids=["one odd tree", "patched"])
def test_trees_inside_are_plain_ones(made):
    assert str(read_trees(made())).startswith("only its answers are known")


def test_plain_regressors_are_still_read():
    for plain in (
        DecisionTreeRegressor(max_depth=3),
        RandomForestRegressor(3),
        GradientBoostingRegressor(n_estimators=3),
    ):
        assert not isinstance(read_trees(plain.fit(X[["a"]].to_numpy(), X["b"])), str)
    scm = ee.StructuralCausalModel([("a", "b")], mechanisms={"b": LinearRegression()}).fit(X)
    assert isinstance(scm.mechanisms_["b"], ee.Linear)


def test_a_mechanism_of_ones_own_still_answers_for_its_bounds():
    class Mine(Additive):
        @property
        def why_unbounded(self):
            return ""

        def _range(self, low, high):
            return 0.5 * low[:, 0], 0.5 * high[:, 0]

    class Own(Mechanism):
        def bind(self, node, causes):
            return Mine(causes, lambda parents: 0.5 * parents[:, 0])

        def equation(self, node):
            return f"{node} = half of a"

    scm = ee.StructuralCausalModel([("a", "b")], mechanisms={"b": Own()}).fit(X)
    assert scm.equation("b").is_bounded


def test_a_cost_built_on_a_known_one_is_only_asked():
    @dataclass(frozen=True, eq=False)
    class Free(LinearCost):
        def parts(self, facts, values):
            return np.where(values > 7, 0.01, 1.0) * (values != facts)

    class Mine(ee.WeightedL1):
        def bind(self, names, reference, weights):
            plain = super().bind(names, reference, weights)
            return Free(plain.names, plain.up, plain.down, plain.own)

    scm = ee.StructuralCausalModel([("a", "b")], mechanisms={"b": ee.Linear({"a": 0.5})}).fit(X)
    schema = ee.Schema(
        sensitive="g", protected="p", favourable=True, features={"a": ee.Feature("actionable", lower=0, upper=10)}
    )
    rule = ee.LinearScore({"a": 1.0}, threshold=5.0)
    problem = ee.RecourseProblem.of(rule, X, schema=schema, scm=scm, cost=Mine())
    assert isinstance(problem.cost, AskedCost)
    table = ee.solve(problem, X.iloc[:20])
    assert not (table.status == ee.Status.OPTIMAL).any()
    plain = ee.RecourseProblem.of(rule, X, schema=schema, scm=scm)
    assert (ee.solve(plain, X.iloc[:20]).status == ee.Status.OPTIMAL).any()
