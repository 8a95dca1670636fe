"""Calls with arguments of the wrong kind: always an error of ours that names the argument, never a raw exception.

A first list says what is named; then every argument of the public interface is given whatever it does not take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import equieffort as ee
from equieffort import datasets, testing
from equieffort.errors import EquieffortError

X = pd.DataFrame(
    {
        "sex": list("ffffmmmm"),
        "income": [0.0, 2.0, 4.0, 12.0, 1.0, 3.0, 5.0, 12.0],
        "debt": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0],
    },
    index=list("qczambkd"),
)
LIMITS = {"lower": 0, "upper": 20}
SCHEMA = ee.Schema(
    sensitive="sex",
    protected="f",
    favourable=True,
    features={"income": ee.Feature("actionable", **LIMITS), "debt": ee.Feature("actionable", **LIMITS)},
)
RULE = ee.LinearScore({"income": 1, "debt": 0.1}, threshold=10)
EDGES = [("income", "debt")]


def scm(**options: Any) -> ee.StructuralCausalModel:
    return ee.StructuralCausalModel(EDGES, **({"mechanisms": {"debt": ee.Linear({"income": 0.1})}} | options))


def equation(mechanism: Any) -> ee.StructuralCausalModel:
    return scm(mechanisms={"debt": mechanism}).fit(X)


def audit(**options: Any) -> ee.Audit:
    return ee.audit(**({"classifier": RULE, "X": X, "schema": SCHEMA, "scm": scm()} | options))


def problem(**options: Any) -> ee.RecourseProblem:
    return ee.RecourseProblem.of(**({"classifier": RULE, "X": X, "schema": SCHEMA, "scm": scm()} | options))


def change(fact: float, values: Any) -> Any:
    return abs(values - fact)


def away(a: pd.DataFrame, b: pd.DataFrame) -> Any:
    return np.abs(a[["income"]].to_numpy() - b["income"].to_numpy())


@pytest.fixture(scope="module")
def made() -> ee.Audit:
    return audit()


HUGE = 10**400
CALLS: list[tuple[Callable[[ee.Audit], Any], str]] = [
    (lambda a: audit(solver="milp"), "solver is the text 'milp'"),
    (lambda a: audit(solver=ee.Milp), "solver is the class Milp"),
    (lambda a: audit(cost=ee.WeightedL1), "cost is the class WeightedL1"),
    (lambda a: audit(cost="l1"), "cost is the text 'l1'"),
    (lambda a: audit(neighbourhood=0.2), "neighbourhood is 0.2"),
    (lambda a: audit(criteria=1.25), "criteria is 1.25"),
    (lambda a: audit(criteria=ee.Criteria), "criteria is the class Criteria"),
    (lambda a: audit(subgroups=["income < 3"]), "subgroups is the list"),
    (lambda a: audit(margin="0"), "margin is the text '0'"),
    (lambda a: audit(margin=None), "margin is None"),
    (lambda a: audit(missing=None), "missing is None"),
    (lambda a: audit(progress="yes"), "progress is the text 'yes'"),
    (lambda a: audit(schema={"sensitive": "sex"}), "schema is the dict"),
    (lambda a: audit(scm=3), "scm is 3"),
    (lambda a: audit(model_features=3), "model_features is 3"),
    (lambda a: audit(sensitive_features=1), "sensitive_features is 1"),
    (lambda a: audit(X=None), "X is a NoneType"),
    (lambda a: ee.solve(None, X), "problem is None"),
    (lambda a: ee.solve(problem(), X, solver=3), "solver is 3"),
    (lambda a: ee.Auto().select(a), "problem is the Audit"),
    (lambda a: ee.Feature("actionable", upper=HUGE), "upper is a number of 1,329 bits"),
    (lambda a: ee.Feature("actionable", max_increase="9"), "max_increase is the text '9'"),
    (lambda a: ee.Feature("actionable", lower=float("nan")), "lower is nan"),
    (lambda a: ee.Feature("actionable", weight="2"), "The weight '2' is not a positive number"),
    (lambda a: ee.Feature(["actionable"]), "The list ['actionable'] is not a role"),
    (lambda a: ee.Feature("actionable", kind=float), "The class float is not a kind"),
    (lambda a: ee.Schema(sensitive=None, protected="f", favourable=1), "sensitive is None"),
    (lambda a: ee.Schema(sensitive=[], protected="f", favourable=1), "sensitive names no column"),
    (lambda a: ee.Schema(sensitive="sex", protected="f", favourable=1, features=["income"]), "features is the list"),
    (lambda a: ee.Schema(sensitive="sex", protected="f", favourable=1, rules=3), "rules is 3"),
    (lambda a: ee.Schema(sensitive="sex", protected="f", favourable=1, rules="a <"), "a <"),
    (lambda a: ee.Schema(sensitive="sex", protected="f", favourable=1, threshold="0.5"), "threshold is the text"),
    (lambda a: ee.Sum(["rent"], upper=0), "weights is the list"),
    (lambda a: ee.Monotone("a", "b", per_unit="1"), "per_unit is the text '1'"),
    (lambda a: ee.Monotone(1, "b"), "cause is 1"),
    (lambda a: ee.CausalGraph.of(EDGES, nodes=3), "nodes is 3"),
    (lambda a: ee.CausalGraph.of(3), "int"),
    (lambda a: scm(mechanisms=[ee.Linear({"income": 1})]), "mechanisms is the list"),
    (lambda a: scm(mechanisms={"debt": ee.Linear}), "'debt' is the class Linear"),
    (lambda a: scm(categorical=3), "categorical is 3"),
    (lambda a: scm().counterfactual(X, 3), "do is 3"),
    (lambda a: scm().counterfactual(X, {"income": HUGE}), "do['income'] is a number of 1,329 bits"),
    (lambda a: scm().fit(X).equation("dept"), "Did you mean 'debt'"),
    (lambda a: ee.Linear({"income": "1"}), "The coefficient of 'income' is the text '1'"),
    (lambda a: ee.Linear([1.0]), "coef is the list"),
    (lambda a: ee.Linear({}, intercept=None), "intercept is None"),
    (lambda a: ee.Terms(3), "terms is 3"),
    (lambda a: ee.Function(3), "f is 3"),
    (lambda a: ee.Function(change, bounds=3), "bounds is 3"),
    (lambda a: ee.Regressor(LinearRegression), "estimator is the class LinearRegression"),
    (lambda a: ee.Ordinal(order=3), "order is 3"),
    (lambda a: ee.Ordinal(penalty="1"), "penalty is the text '1'"),
    (lambda a: ee.CumulativeLogit({"income": 1.0}, ["a"]), "a cut is the text 'a'"),
    (lambda a: ee.Probabilities(None), "f is None"),
    (lambda a: ee.Polynomial("2"), "degree is the text '2'"),
    (lambda a: ee.Spline(beyond="flat"), "beyond is the text 'flat'"),
    (lambda a: ee.LinearScore(["income"]), "coef is the list"),
    (lambda a: ee.LinearScore({"income": None}), "The weight of 'income' is None"),
    (lambda a: RULE.predict(X.to_numpy()), "X is the ndarray"),
    (lambda a: RULE.predict(X[["debt"]]), "no column 'income'"),
    (lambda a: ee.ReLUNetwork(None, [[0]]), "weights is None"),
    (lambda a: ee.WeightedL1(ee.Std), "scale is the class Std"),
    (lambda a: ee.WeightedL1("std"), "scale is the text 'std'"),
    (lambda a: ee.WeightedL1(weights=[2.0]), "weights is the list"),
    (lambda a: problem(cost=ee.WeightedL1(weights={"income": "2"})), "The weight of 'income' is the text '2'"),
    (lambda a: ee.Range(0.5), "quantiles is 0.5"),
    (lambda a: ee.Percentile(knots="5"), "knots is the text '5'"),
    (lambda a: ee.Separable([change]), "functions is the list"),
    (lambda a: ee.Separable({"income": 3}), "The cost of 'income' is 3"),
    (lambda a: ee.Separable({"income": change}, knots=HUGE), "knots is a number"),
    (lambda a: ee.Manhattan(features=3), "features is 3"),
    (lambda a: ee.Manhattan(scale=ee.Range), "scale is the class Range"),
    (lambda a: ee.OwnDistance(None), "f is None"),
    (lambda a: ee.Nearest("0.2"), "The quantile is the text '0.2'"),
    (lambda a: ee.Nearest(0.2, ee.Manhattan), "distance is the class Manhattan"),
    (lambda a: ee.NearestK(2.5), "k is 2.5"),
    (lambda a: ee.Criteria(tau="1.25"), "tau is the text '1.25'"),
    (lambda a: ee.Criteria(rule="two-sided"), "rule is the text 'two-sided'"),
    (lambda a: ee.Criteria(certified="no"), "certified is the text 'no'"),
    (lambda a: ee.BranchAndBound(gap="small"), "gap is the text 'small'"),
    (lambda a: ee.BranchAndBound(time_limit="10 s"), "time_limit is the text '10 s'"),
    (lambda a: ee.Milp(time_limit=None), "time_limit is None"),
    (lambda a: ee.SpatialBranchAndBound(node_limit=1.5), "node_limit is 1.5"),
    (lambda a: ee.Search(budget="1"), "budget is the text '1'"),
    (lambda a: ee.Auto(gap="1"), "gap is the text '1'"),
    (lambda a: a.individual("q", neighbourhood=ee.Nearest), "neighbourhood is the class Nearest"),
    (lambda a: a.curve(0.5), "quantiles is 0.5"),
    (lambda a: a.curve([]), "quantiles is empty"),
    (lambda a: a.curve(distance="l1"), "distance is the text 'l1'"),
    (lambda a: a.solve_further(3), "people is 3"),
    (lambda a: a.solve_further(solver="milp"), "solver is the text 'milp'"),
    (lambda a: a.save(None), "path is None"),
    (lambda a: a.save("\0"), "path is the text"),
    (lambda a: ee.load(3), "path is 3"),
    (lambda a: ee.load("a" * 10_000), "no audit file"),
    (lambda a: ee.compare_audits(a, "b.audit"), "b is the text 'b.audit'"),
    (lambda a: ee.compare_audits(a, a, draws="9"), "draws is the text '9'"),
    (lambda a: ee.read_spec(None), "path is None"),
    (lambda a: ee.run_spec("loans.yaml"), "spec is the text 'loans.yaml'"),
    (lambda a: a.plot.acr("all"), "quantiles is the text 'all'"),
    (lambda a: datasets.paper_synthetic(n=HUGE), "n is a number of 1,329 bits"),
    (lambda a: testing.check_solver(ee.LinearExact), "solver is the class LinearExact"),
    (lambda a: testing.make_case("trees", 0), "family is the text 'trees'"),
    (lambda a: testing.check_mechanism(None, X, "debt"), "scm is None"),
]


@pytest.mark.parametrize(("call", "says"), CALLS, ids=[says for _, says in CALLS])
def test_the_argument_and_what_was_given_are_named(call, says, made, quiet):
    with pytest.raises(EquieffortError) as caught:
        call(made)
    assert says in caught.value.what
    assert caught.value.fix


def test_a_class_in_place_of_what_it_makes_is_told_how_to_make_one():
    with pytest.raises(EquieffortError) as caught:
        audit(cost=ee.WeightedL1)
    assert caught.value.fix == "Create one: WeightedL1(...)."


STRANGE = [
    None, True, -1, 2.5, float("nan"), HUGE, "9", "", [], {}, ["a"], {"income": "x"}, object(), lambda *_: 0, int, b"x",
    np.array([1.0, 2.0]), np.array(1.0), pd.Series([1.0]), pd.NA, 3 + 4j, np.datetime64("2020-01-01"), ee.WeightedL1,
]  # fmt: skip
TAKEN: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Feature": (
        ee.Feature,
        {"role": "actionable", "kind": None, "direction": "both", "max_increase": 1, "max_decrease": 1, "weight": 1.0}
        | LIMITS
        | {"plausible": (0, 1)},
    ),
    "Schema": (
        ee.Schema,
        {"sensitive": "sex", "protected": "f", "reference": "m", "favourable": True, "threshold": None}
        | {"also_protected": (), "features": {"income": "actionable"}, "rules": ()},
    ),
    "Always": (ee.Always, {"rule": "a < 3"}),
    "Implies": (ee.Implies, {"given": "a < 3", "then": "b < 3"}),
    "Monotone": (ee.Monotone, {"cause": "a", "effect": "b", "per_unit": 1.0}),
    "Sum": (ee.Sum, {"weights": {"a": 1}, "lower": 0, "upper": 1}),
    "Forbidden": (ee.Forbidden, {"feature": "job", "moves": [("a", "b")]}),
    "parse_rule": (ee.parse_rule, {"text": "a < 3"}),
    "CausalGraph.of": (ee.CausalGraph.of, {"source": EDGES, "nodes": ["c"]}),
    "StructuralCausalModel": (
        ee.StructuralCausalModel,
        {"edges": EDGES, "nodes": ["c"], "mechanisms": {}, "default": ee.LeastSquares(), "categorical": ()},
    ),
    "fit": (scm().fit, {"X": X}),
    "counterfactual": (scm().counterfactual, {"X": X, "do": {"income": 3.0}}),
    "abduct": (scm().abduct, {"X": X}),
    "predict": (scm().predict, {"noise": X, "do": None}),
    "equation": (scm().fit(X).equation, {"node": "debt"}),
    "Linear": (lambda **p: equation(ee.Linear(**p)), {"coef": {"income": 1.0}, "intercept": 0.0}),
    "Terms": (
        lambda **p: equation(ee.Terms(**p)),
        {"terms": [(1.0, {"income": 2})], "intercept": 0.0, "about": {"income": 1.0}},
    ),
    "Function": (lambda **p: equation(ee.Function(**p)), {"f": lambda c: c["income"], "bounds": None}),
    "LeastSquares": (lambda **p: equation(ee.LeastSquares(**p)), {"intercept": True}),
    "Polynomial": (lambda **p: equation(ee.Polynomial(**p)), {"degree": 2, "interactions": False}),
    "Spline": (lambda **p: equation(ee.Spline(**p)), {"knots": 3, "degree": 1, "beyond": "linear"}),
    "Regressor": (lambda **p: equation(ee.Regressor(**p)), {"estimator": LinearRegression()}),
    "Ordinal": (ee.Ordinal, {"order": ["a", "b"], "penalty": 0.1}),
    "CumulativeLogit": (ee.CumulativeLogit, {"coef": {"income": 1.0}, "cuts": [0.0], "order": ["a", "b"]}),
    "Probabilities": (ee.Probabilities, {"f": change, "order": ["a", "b"]}),
    "LinearScore": (ee.LinearScore, {"coef": {"income": 1.0}, "threshold": 0.0, "closed": True}),
    "LinearScore.predict": (RULE.predict, {"X": X}),
    "ReLUNetwork": (
        ee.ReLUNetwork,
        {"weights": [np.ones((1, 2))], "biases": [[0.0]], "classes": [0, 1], "feature_names": ["a", "b"]},
    ),
    "WeightedL1": (lambda **p: problem(cost=ee.WeightedL1(**p)), {"scale": ee.Range(), "weights": {}}),
    "Percentile": (lambda **p: problem(cost=ee.Percentile(**p)), {"knots": None}),
    "Separable": (
        lambda **p: problem(cost=ee.Separable(**p)),
        {"functions": {"income": change, "debt": change}, "knots": 5},
    ),
    "Range": (lambda **p: problem(cost=ee.WeightedL1(ee.Range(**p))), {"quantiles": (0, 1)}),
    "Manhattan": (ee.Manhattan, {"features": None, "scale": ee.Range(), "include_protected": False}),
    "OwnDistance": (ee.OwnDistance, {"f": away}),
    "Nearest": (ee.Nearest, {"quantile": 0.5, "distance": ee.Manhattan()}),
    "NearestK": (ee.NearestK, {"k": 3, "distance": ee.Manhattan()}),
    "Criteria": (
        ee.Criteria,
        {"tau": 1.25, "epsilon": 0.05, "rule": ee.TwoSided(), "min_people": 1, "certified": True},
    ),
    "Auto": (
        ee.Auto,
        {"gap": None, "time_limit": None, "node_limit": None, "budget": None, "random_state": None},
    ),
    "BranchAndBound": (ee.BranchAndBound, {"gap": 1e-6, "time_limit": None, "node_limit": None}),
    "Milp": (ee.Milp, {"gap": 1e-6, "time_limit": 1.0}),
    "SpatialBranchAndBound": (ee.SpatialBranchAndBound, {"gap": 1e-4, "node_limit": 10}),
    "Search": (ee.Search, {"budget": 10, "random_state": 0}),
    "RecourseProblem.of": (
        problem,
        {"classifier": RULE, "X": X, "schema": SCHEMA, "scm": scm(), "sensitive_features": None}
        | {"model_features": None, "cost": None, "reference": None, "margin": 0.0, "missing": "error"},
    ),
    "audit": (
        audit,
        {"solver": None, "neighbourhood": None, "criteria": None, "subgroups": None, "progress": None},
    ),
    "solve": (
        lambda **p: ee.solve(**({"problem": problem(), "X": X} | p)),
        {"problem": problem(), "X": X, "solver": None, "sensitive_features": None, "missing": "error"},
    ),
    "load": (ee.load, {"path": "none.audit"}),
    "read_spec": (ee.read_spec, {"path": "none.yaml"}),
}
METHODS = {
    "subgroup": {"which": "income < 3"},
    "individual": {"label": "q", "quantile": 0.5, "neighbourhood": None},
    "curve": {"quantiles": [0.5], "distance": None, "include_favourable": False},
    "solve_further": {"people": None, "solver": None},
    "explain": {"label": "q"},
    "distance": {"distance": ee.Manhattan()},
    "neighbours": {"row": 0, "neighbourhood": ee.Everyone()},
}


def raw_exceptions(call: Callable[..., Any], taken: dict[str, Any]) -> list[str]:
    """What the call raises that is not ours, when one argument at a time is something strange."""
    found = []
    for name in taken:
        for value in STRANGE:
            try:
                call(**(taken | {name: value}))
            except EquieffortError:
                pass
            except Exception as error:
                found.append(f"{name}={value!r:.40} raises {type(error).__name__}: {error!s:.80}")
    return found


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.filterwarnings("ignore")
def test_no_argument_raises_anything_but_our_errors(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert raw_exceptions(*TAKEN[name]) == []


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.filterwarnings("ignore")
def test_nor_does_any_of_a_method_of_an_audit(name, made):
    assert raw_exceptions(getattr(made, name), METHODS[name]) == []
