"""What is returned holds in the caller's own table: its floats, whole numbers, nullable, Arrow and category columns.

Row 75 of the table of bad input.
"""

from __future__ import annotations

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equieffort as ee
from equieffort.data.stored import as_stored, coarse, inside, steps, towards
from equieffort.errors import ModelError
from equieffort.models.classifiers import Decision

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning", "ignore:.*:UserWarning")

NUMBERS = ["a", "b", "c"]


def world(dtypes, n=160, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(50, 10, n)
    b, c = rng.normal(0, 1, n) + 0.05 * a, rng.normal(10, 3, n)
    y = (0.05 * a + b + c / 5 + rng.normal(0, 1, n) > 7).astype(int)
    X = pd.DataFrame({"g": rng.choice(["p", "q"], n), "a": a, "b": b, "c": c})
    for name in NUMBERS:
        if np.dtype(getattr(pd.Series([1]).astype(dtypes).dtype, "numpy_dtype", dtypes)).kind in "iu":
            X[name] = X[name].round()
    return X.astype(dict.fromkeys(NUMBERS, dtypes)), y


def solved(model, X, y, features=NUMBERS, **roles):
    model.fit(X[features], y)
    given = {
        "a": ee.Feature("actionable", lower=0, upper=120),
        "b": ee.Feature("mutable"),
        "c": ee.Feature("actionable", lower=0, upper=30),
    }
    schema = ee.Schema(sensitive="g", protected="p", favourable=1, features=given | roles)
    scm = ee.StructuralCausalModel([("a", "b")], nodes=[*given, *roles]).fit(X)
    return ee.solve(ee.RecourseProblem.of(model, X, schema=schema, scm=scm), X)


def holds(table, model, X, features=NUMBERS):
    """The counterfactual people, put into the caller's own table, are decided favourably by the caller's own model."""
    moved, acts = table.counterfactuals(), table.has_action
    assert acts.sum() > 20
    assert (model.predict(moved[features])[acts] == 1).all()
    own = moved.astype(dict(X.dtypes))
    assert (model.predict(own[features])[acts] == 1).all()
    told = table.frame()
    for name in features:
        if f"do_{name}" in told and pd.api.types.is_numeric_dtype(X[name].dtype):
            set_ = told[f"do_{name}"].notna()
            assert np.array_equal(told.loc[set_, f"do_{name}"], moved.loc[set_, name].to_numpy(dtype=float))
            change = moved.loc[set_, name].to_numpy(dtype=float) - X.loc[set_, name].to_numpy(dtype=float)
            assert np.allclose(told.loc[set_, f"delta_{name}"], change, rtol=1e-12, atol=1e-12)
    return moved


MODELS = {
    "logistic": lambda: LogisticRegression(max_iter=2000),
    "scaled logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": lambda: RandomForestClassifier(8, max_depth=3, random_state=0),
    "scaled forest": lambda: make_pipeline(StandardScaler(), RandomForestClassifier(8, max_depth=3, random_state=0)),
    "boosted": lambda: HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=5),
    "xgboost": lambda: xgboost.XGBClassifier(n_jobs=1, n_estimators=6, max_depth=3),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_jobs=1, n_estimators=6, max_depth=3, verbose=-1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "Float32", "float[pyarrow]"])
@pytest.mark.parametrize("model", MODELS)
def test_actions_turn_the_label_in_the_callers_own_floats(model, dtype):
    if dtype == "float16" and model in ("xgboost", "lightgbm"):
        pytest.skip("the library takes no floats of two bytes")
    if dtype == "float[pyarrow]" and model == "lightgbm":
        pytest.skip("the library takes no Arrow columns from pandas")
    X, y = world(dtype)
    model = MODELS[model]()
    table = solved(model, X, y)
    moved = holds(table, model, X)
    assert dict(moved.dtypes) == dict(X.dtypes)
    acts = table.has_action
    if dtype != "float16":
        # What follows is rounded as well, so that some costs are proven only to a few of the table's own steps.
        proven = table.status[acts] == ee.Status.OPTIMAL
        assert proven.mean() > 0.9
        assert ((table.cost - table.bound)[acts] <= 1e-5).all()
    if dtype == "float64":
        assert proven.all()


def test_a_network_holds_in_single_precision():
    X, y = world("float32", n=80)
    model = make_pipeline(StandardScaler(), MLPClassifier((4,), random_state=0, max_iter=400))
    table = solved(model, X, y)
    holds(table, model, X)
    gap = table.cost - table.bound
    assert (gap[table.has_action] <= 1e-4 * (1 + table.cost[table.has_action])).all()


@pytest.mark.parametrize("dtype", ["int8", "int64", "Int64", "Int16", "int64[pyarrow]"])
def test_whole_numbers_stay_in_their_type(dtype):
    X, y = world("int64")
    X[NUMBERS] = X[NUMBERS].clip(-120, 120).astype(dtype)
    model = LogisticRegression(max_iter=5000).fit(X[NUMBERS], y)
    table = solved(model, X, y, b=ee.Feature("immutable"), c=ee.Feature("actionable", lower=0, upper=127))
    moved, acts = table.counterfactuals(), table.has_action
    assert acts.sum() > 20
    assert (model.predict(moved[NUMBERS])[acts] == 1).all()
    assert moved["a"].dtype == X["a"].dtype
    assert moved["c"].dtype == X["c"].dtype


def test_a_whole_number_that_its_type_cannot_hold_widens_the_column():
    X, y = world("int64")
    X[NUMBERS] = X[NUMBERS].clip(-120, 120).astype("int8")
    # Without the column that is already large the other must go far.
    y = (X["a"] + np.random.default_rng(1).normal(0, 5, len(X)) > 60).astype(int)
    table = solved(LogisticRegression(max_iter=5000, intercept_scaling=1), X, y, a=ee.Feature("immutable"),
                   c=ee.Feature("actionable", lower=-1e6, upper=1e6), b=ee.Feature("immutable"))  # fmt: skip
    moved, acts = table.counterfactuals(), table.has_action
    assert acts.any()
    assert moved["c"].abs().max() > 127
    assert moved["c"].dtype == np.int64
    assert np.array_equal(moved["c"][acts], table.frame()["do_c"][acts])


def test_a_polars_table_of_single_floats():
    X, y = world("float32")
    model = LogisticRegression(max_iter=2000)
    model.fit(X[NUMBERS], y)
    told = pl.DataFrame(
        {name: pl.Series(X[name].tolist(), dtype=pl.String if name == "g" else pl.Float32) for name in X}
    )
    given = {"a": ee.Feature("actionable", lower=0, upper=120), "c": ee.Feature("actionable", lower=0, upper=30)}
    schema = ee.Schema(sensitive="g", protected="p", favourable=1, features=given)
    scm = ee.StructuralCausalModel([], nodes=NUMBERS).fit(told)
    table = ee.solve(ee.RecourseProblem.of(model, told, schema=schema, scm=scm), told)
    holds(table, model, X)


def test_a_table_in_other_types_than_the_problem_was_made_of():
    X, y = world("float64")
    model = HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=5)
    problem = solved(model, X, y).source.problem
    narrow = X.astype(dict.fromkeys(NUMBERS, "float32"))
    table = ee.solve(problem, narrow)
    assert dict(holds(table, model, narrow).dtypes) == dict(narrow.dtypes)
    assert (table.status[table.has_action] == ee.Status.OPTIMAL).all()


def test_limits_hold_in_single_precision_and_the_bound_is_below_what_the_table_can_hold():
    """One action only: every number of the table between the fact and the limit is asked."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"g": rng.choice(["p", "q"], 60), "a": rng.uniform(0, 0.1, 60).astype("float32")})
    model = LogisticRegression(C=1e6).fit(X[["a"]], X["a"] > 0.09)
    schema = ee.Schema(
        sensitive="g", protected="p", favourable=True, features={"a": ee.Feature("actionable", lower=0, upper=0.1)}
    )
    scm = ee.StructuralCausalModel([], nodes=["a"]).fit(X)
    problem = ee.RecourseProblem.of(model, X, schema=schema, scm=scm)
    table = ee.solve(problem, X)
    moved = table.counterfactuals()["a"].to_numpy()
    assert (moved[table.has_action].astype(float) <= 0.1).all()
    ladder = np.arange(np.float32(0.0999).view(np.int32), np.float32(0.1).view(np.int32), dtype=np.int32).view(
        np.float32
    )
    good = ladder[model.predict(pd.DataFrame({"a": ladder}))]
    assert len(good)
    assert table.has_action.any()
    span = float(X["a"].max()) - float(X["a"].min())
    for row in np.flatnonzero(table.has_action):
        fact = float(X["a"][row])
        least = (float(good[good > np.float32(fact)].min()) - fact) / span
        assert table.bound[row] <= least + 1e-12
        assert table.cost[row] <= least + 2e-6
        assert table.status[row] == ee.Status.OPTIMAL


def category_world(n=240, seed=0):
    rng = np.random.default_rng(seed)
    job = rng.choice(["none", "some", "good"], n, p=[0.5, 0.3, 0.2])
    a = rng.normal(0, 1, n)
    y = (a + 1.2 * (job == "good") + 0.6 * (job == "some") + rng.normal(0, 0.4, n) > 0.8).astype(int)
    X = pd.DataFrame({"g": rng.choice(["p", "q"], n), "a": a, "job": pd.Categorical(job, ["none", "some", "good"])})
    return X, y


NATIVE = {
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_jobs=1, n_estimators=8, max_depth=3, verbose=-1),
    "xgboost": lambda: xgboost.XGBClassifier(n_jobs=1, n_estimators=8, max_depth=3, enable_categorical=True),
    "boosted": lambda: HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=5, categorical_features="from_dtype"),
    "encoded": lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(), ["job"]), remainder=StandardScaler()), LogisticRegression()
    ),
}
SOLVERS = {"auto": ee.Auto(), "search": ee.Search(budget=200), "milp": ee.Milp(), "spatial": ee.SpatialBranchAndBound()}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("model", NATIVE)
def test_whoever_asks_a_model_keeps_the_type_of_its_categories(model, solver):
    X, y = category_world()
    model = NATIVE[model]().fit(X[["a", "job"]], y)
    schema = ee.Schema(
        sensitive="g", protected="p", favourable=1,
        features={"a": ee.Feature("actionable", lower=-3, upper=3), "job": ee.Feature("actionable")},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["a", "job"]).fit(X)
    problem = ee.RecourseProblem.of(model, X, schema=schema, scm=scm)
    few = X.iloc[:40]
    table = ee.solve(problem, few, solver=SOLVERS[solver])
    moved = table.counterfactuals()
    assert table.has_action.any()
    assert moved["job"].dtype == X["job"].dtype
    assert (model.predict(moved[["a", "job"]])[table.has_action] == 1).all()


def test_a_model_that_fails_for_made_up_people_is_not_believed(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"g": rng.choice(["p", "q"], 50), "a": rng.uniform(0, 1, 50), "c": rng.uniform(0, 1, 50)})
    rule, plain = ee.LinearScore({"a": 1.0, "c": 1.0}, threshold=1.0), Decision.answers

    def picky(self, people):
        if (people["a"] > 1.5).any():
            raise ModelError("MODEL_FAILED", "Nobody is that old.")
        return plain(self, people)

    schema = ee.Schema(
        sensitive="g", protected="p", favourable=True, features={"a": ee.Feature("actionable", lower=0, upper=1)}
    )
    scm = ee.StructuralCausalModel([], nodes=["a", "c"]).fit(X)
    monkeypatch.setattr(Decision, "answers", picky)
    problem = ee.RecourseProblem.of(rule, X, schema=schema, scm=scm)
    assert "Nobody is that old" in ee.Auto().select(problem).reason


def test_the_grid_of_a_type():
    single = np.dtype("float32")
    values = np.array([0.1, 1.0, -0.1])
    up, down = np.full(3, np.inf), np.full(3, -np.inf)
    assert (towards(values, up, single) >= values).all()
    assert (towards(values, down, single) <= values).all()
    assert np.array_equal(steps(np.array([1.0]), up[:1], 3, single), [1 + 3 * 2.0**-23])
    assert inside(values, down, values, single)[0] <= 0.1
    assert coarse(pd.ArrowDtype(__import__("pyarrow").float32())) == single
    assert coarse(np.dtype("int8")) is None


def test_values_written_in_a_columns_type():
    assert as_stored(np.array([1, 2]), np.dtype("int8")).dtype == np.int8
    assert as_stored(np.array([1, 200]), np.dtype("int8")).dtype == np.int64
    assert as_stored(np.array([1.5, 2.0]), np.dtype("int8")).dtype == np.float64
    assert as_stored(np.array([1, 2]), pd.Int64Dtype()).dtype == pd.Int64Dtype()
    known = pd.CategoricalDtype(["x", "y"], ordered=True)
    assert list(as_stored(np.array(["y", "z"], dtype=object), known).categories) == ["x", "y", "z"]
    assert as_stored(np.array(["y"], dtype=object), known).dtype == known


def test_rules_hold_in_single_precision():
    X, y = world("float32", n=60)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[NUMBERS], y)
    schema = ee.Schema(
        sensitive="g", protected="p", favourable=1, rules=[ee.Sum({"a": 1, "c": 1}, upper=80)],
        features={"a": ee.Feature("actionable", lower=0, upper=120), "c": ee.Feature("actionable", lower=0, upper=30)},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([("a", "b")], nodes=NUMBERS).fit(X)
    table = ee.solve(ee.RecourseProblem.of(model, X, schema=schema, scm=scm), X, solver=ee.Milp())
    moved = holds(table, model, X)
    assert (moved["a"].astype(float) + moved["c"].astype(float))[table.has_action].max() <= 80 + 1e-4
    assert (table.cost - table.bound)[table.has_action].max() < 1e-4
