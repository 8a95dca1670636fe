"""Levels are what model, causal model and data know together (row 76 of the table of bad input)."""

from __future__ import annotations

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import equieffort as ee

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")

LEVELS = ["a", "b", "c"]
FEATURES = ["x", "job"]


def world(n=150, dtype="category"):
    rng = np.random.default_rng(0)
    job, x = rng.choice(LEVELS, n), rng.normal(0, 1, n)
    y = (x + 4.0 * (job == "c") - 1.5 > 0).astype(int)
    given = pd.Categorical(job, LEVELS) if dtype == "category" else job
    return pd.DataFrame({"g": rng.choice(["p", "q"], n), "x": x, "job": given}), y


def encoded(model, encoder=None):
    return make_pipeline(make_column_transformer((encoder or OneHotEncoder(), ["job"]), remainder="passthrough"), model)


MODELS = {
    "one-hot": lambda: encoded(LogisticRegression()),
    "one-hot that ignores": lambda: encoded(LogisticRegression(), OneHotEncoder(handle_unknown="ignore")),
    "ordinal": lambda: encoded(RandomForestClassifier(5, max_depth=4, random_state=0), OrdinalEncoder()),
    "calibrated": lambda: CalibratedClassifierCV(encoded(LogisticRegression()), ensemble=False),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype"),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_jobs=1, n_estimators=10, verbose=-1),
    "xgboost": lambda: xgboost.XGBClassifier(n_jobs=1, n_estimators=10, enable_categorical=True),
}


def problem_of(model, table, fitted_on, *, edges=(), nodes=("x",), **options):
    schema = ee.Schema(
        sensitive="g", protected="p", favourable=1,
        features={"x": ee.Feature("immutable"), "job": ee.Feature("actionable", **options.pop("job", {}))},
    )  # fmt: skip
    scm = ee.StructuralCausalModel(list(edges), nodes=list(nodes)).fit(fitted_on)
    return ee.RecourseProblem.of(model, table, schema=schema, scm=scm, **options)


@pytest.mark.parametrize(("nodes", "kept"), [(("x",), "dropped"), (("x", "job"), "declared")], ids=["no node", "node"])
@pytest.mark.parametrize("name", MODELS)
def test_a_level_that_the_model_knows_and_the_table_lacks_is_proposed(name, nodes, kept):
    X, y = world()
    model = MODELS[name]().fit(X[FEATURES], y)
    table = X[X["job"] != "c"]
    if kept == "dropped":
        table = table.assign(job=table["job"].cat.remove_unused_categories())
    # The causal model was fitted on the table alone: only the model can say it.
    problem = problem_of(model, table, table, nodes=nodes)
    assert problem.encoding["job"].levels == ("a", "b", "c")
    solved = ee.solve(problem, table)
    refused = solved.is_unfavourable
    hoped = table.assign(job=pd.Categorical(["c"] * len(table), LEVELS))
    approved = model.predict(hoped[FEATURES]) == 1
    assert (refused & approved).sum() > 20
    assert not (solved.status[refused & approved] == ee.Status.INFEASIBLE).any()
    assert (solved.status[refused & approved] == ee.Status.OPTIMAL).all()
    moved = solved.counterfactuals()
    assert (moved["job"][refused & approved] == "c").sum() > 20
    assert (model.predict(moved[FEATURES])[solved.has_action] == 1).all()


def test_a_level_that_only_the_causal_models_data_hold_is_proposed_to_a_model_that_answers():
    X, _ = world(dtype="text")

    class Own:
        classes_ = np.array([0, 1])
        feature_names_in_ = np.array(FEATURES, dtype=object)

        def predict(self, people):
            return ((people["job"] == "c") | (people["x"] > 1.5)).astype(int).to_numpy()

    table = X[X["job"] != "c"]
    assert problem_of(Own(), table, X).encoding["job"].levels == ("a", "b", "c")
    assert problem_of(Own(), table, table).encoding["job"].levels == ("a", "b")
    assert problem_of(Own(), table, table, reference=X).encoding["job"].levels == ("a", "b", "c")
    solved = ee.solve(problem_of(Own(), table, X), table)
    assert (solved.status[solved.is_unfavourable] == ee.Status.FEASIBLE).all()


def test_a_level_for_which_the_model_fails_is_not_proposed():
    X, _ = world(dtype="text")

    class Strict:
        classes_ = np.array([0, 1])
        feature_names_in_ = np.array(FEATURES, dtype=object)

        def predict(self, people):
            if not people["job"].isin(["a", "b"]).all():
                raise KeyError("c")
            return (people["x"] > 0).astype(int).to_numpy()

    table = X[X["job"] != "c"]
    assert problem_of(Strict(), table, X).encoding["job"].levels == ("a", "b")


@pytest.mark.parametrize("unknown", ["error", "ignore"])
def test_a_level_that_the_model_does_not_know_is_not_proposed(unknown):
    X, y = world(dtype="text")
    part = X["job"] != "c"
    model = encoded(LogisticRegression(), OneHotEncoder(handle_unknown=unknown)).fit(X.loc[part, FEATURES], y[part])
    problem = problem_of(model, X[part], X)
    assert problem.encoding["job"].levels == ("a", "b")
    ee.solve(problem, X[part])


def test_a_level_that_only_a_type_lists_is_not_proposed():
    X, y = world()
    part = X["job"] != "c"
    model = encoded(LogisticRegression()).fit(X.loc[part, FEATURES].astype({"job": str}), y[part])
    # Nobody ever had "c": the filter left it in the type.
    assert problem_of(model, X[part], X[part]).encoding["job"].levels == ("a", "b")


def test_a_node_with_effects_keeps_the_levels_of_its_equations():
    X, y = world()
    X = X.assign(z=X["x"] + 1.0 * (X["job"] == "b"))
    model = encoded(LogisticRegression()).fit(X[FEATURES], y)
    table = X[X["job"] != "c"]
    problem = problem_of(model, table, table, edges=[("job", "z")], nodes=("x", "job", "z"))
    assert problem.encoding["job"].levels == ("a", "b")
    assert problem_of(model, table, X, edges=[("job", "z")], nodes=("x", "job", "z")).encoding["job"].levels == (
        "a", "b", "c",
    )  # fmt: skip


def test_the_order_of_levels():
    X, y = world()
    model = encoded(LogisticRegression()).fit(X[FEATURES].astype({"job": str}), y)
    table = X[X["job"] != "b"]
    text = table.assign(job=table["job"].astype(str))
    assert problem_of(model, text, text).encoding["job"].levels == ("a", "b", "c")
    declared = table.assign(job=pd.Categorical(table["job"].astype(str), ["c", "a"], ordered=True))
    assert problem_of(model, declared, declared).encoding["job"].levels == ("c", "a", "b")
    whole = table.assign(job=pd.Categorical(table["job"].astype(str), ["c", "b", "a"], ordered=True))
    assert problem_of(model, whole, whole).encoding["job"].levels == ("c", "b", "a")


def test_a_rule_may_name_a_level_that_only_the_model_knows():
    X, y = world()
    model = encoded(LogisticRegression()).fit(X[FEATURES], y)
    table = X[X["job"] != "c"]
    schema = ee.Schema(
        sensitive="g", protected="p", favourable=1, rules=[ee.Forbidden("job", [("a", "c")])],
        features={"x": ee.Feature("immutable"), "job": ee.Feature("actionable")},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["x"]).fit(table)
    solved = ee.solve(ee.RecourseProblem.of(model, table, schema=schema, scm=scm), table)
    moved = solved.counterfactuals()["job"]
    was_a = solved.has_action & (table["job"] == "a").to_numpy()
    assert not (moved[was_a] == "c").any()
    assert (moved[solved.has_action] == "c").any()


def test_a_category_of_two_levels_of_which_the_table_has_one():
    X, y = world()
    X = X.assign(job=np.where(X["job"] == "c", "c", "a"))
    model = encoded(LogisticRegression()).fit(X[FEATURES], y)
    table = X[X["job"] != "c"]
    problem = problem_of(model, table, table, job={"kind": "binary"})
    assert problem.encoding["job"].levels == ("a", "c")
    assert ee.solve(problem, table).has_action.any()
