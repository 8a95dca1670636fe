"""What is opened is what decides: subclasses and patched objects are asked, never read.

Row 74 of the table of bad input.
"""

from __future__ import annotations

import functools

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import equieffort as ee
from equieffort.foundations.genuine import is_exactly, why_not
from equieffort.models.classifiers import BlackBox, View

pytestmark = pytest.mark.filterwarnings(
    "ignore::equieffort.errors.EquieffortWarning",
    "ignore:.*:FutureWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)

FEATURES = ["a", "b"]


def people(n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"g": rng.choice(["p", "q"], n), "a": rng.uniform(0, 10, n), "b": rng.uniform(0, 10, n)})
    return X, (X["a"] + X["b"] + rng.normal(0, 1, n) > 11).astype(int)


X, Y = people()
FAR = 9.0
"""Beyond this the odd ones below decide otherwise than their class: where nearly nobody is and actions lead."""


def twisted(method):
    """A method that answers like its class except where the first column is large."""

    @functools.wraps(method)
    def answer(self, given, *args, **kwargs):
        told = method(self, given, *args, **kwargs)
        column = given["a"].to_numpy() if hasattr(given, "columns") and "a" in given else np.asarray(given)[:, 0]
        return np.where((column > FAR) & (column < FAR + 0.2), 1 - told, told) if told.ndim == 1 else told

    return answer


def kind_of(base, method="predict"):
    """A subclass with a method of its own, under the very name of its base and claiming its module."""
    made = type(base.__name__, (base,), {method: twisted(getattr(base, method))})
    made.__module__ = base.__module__
    return made


def shifted(base):
    """A transformer that moves large numbers."""

    class Shifted(base):
        def transform(self, X):
            moved = X.copy()
            moved[moved > FAR] -= 2.0
            return super().transform(moved)

    return Shifted


def patched(model, method="predict", **parts):
    """The same object with a method of its own."""
    model.fit(X[FEATURES], Y)
    inner = model
    for name in parts.get("path", ()):
        inner = inner[name] if isinstance(inner, Pipeline) else getattr(inner, name)
    plain = getattr(inner, method)
    inner.__dict__[method] = lambda given, *more: plain(given * (given <= FAR), *more)
    return model


class Own(ClassifierMixin, BaseEstimator):
    """A classifier somebody wrote."""

    def fit(self, X, y):
        self.classes_, self.feature_names_in_ = np.unique(y), np.array(FEATURES, dtype=object)
        self.coef_, self.intercept_ = np.ones((1, 2)), np.array([-11.0])
        return self

    def predict(self, X):
        return (np.asarray(X).sum(axis=1) > 12).astype(int)


class OwnScaler(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.feature_names_in_ = np.array(FEATURES, dtype=object)
        return self

    def transform(self, X):
        return np.minimum(np.asarray(X), FAR)


def bagged(member):
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0).fit(X[FEATURES], Y)
    model.estimators_[1] = member().fit(X[FEATURES].to_numpy(), Y)
    return model


def frozen_loss():
    model = GradientBoostingClassifier(n_estimators=4).fit(X[FEATURES], Y)
    model.init_ = type(
        "DummyClassifier", (type(model.init_),), {"predict_proba": lambda self, X: np.ones((len(X), 2)) / 2}
    )(strategy="prior").fit(X[FEATURES], Y)
    return model


def booster_patched():
    model = lightgbm.LGBMClassifier(n_jobs=1, n_estimators=4, verbose=-1).fit(X[FEATURES], Y)
    plain = model.booster_.predict
    model.booster_.predict = lambda data, **more: 1 - plain(data, **more)
    return model


def calibrated():
    model = CalibratedClassifierCV(LogisticRegression(), ensemble=False).fit(X[FEATURES], Y)
    one = model.calibrated_classifiers_[0]
    plain = one.calibrators[0].predict
    one.calibrators[0].predict = lambda scores: np.where(scores > 2.0, 0.1, plain(scores))
    return model


MLP = functools.partial(MLPClassifier, (3,), max_iter=300, random_state=0)
MADE = {
    "subclass of Pipeline": lambda: kind_of(Pipeline)([("s", StandardScaler()), ("m", LogisticRegression())]),
    "subclass of Pipeline inside": lambda: make_pipeline(kind_of(Pipeline)([("m", LogisticRegression())])),
    "subclass of Pipeline as a step": lambda: make_pipeline(
        kind_of(Pipeline, "transform")([("s", StandardScaler())]), LogisticRegression()
    ),
    "subclass of ColumnTransformer": lambda: make_pipeline(
        shifted(ColumnTransformer)([("s", StandardScaler(), FEATURES)]), LogisticRegression()
    ),
    "nested subclass of a scaler": lambda: make_pipeline(
        make_column_transformer((make_pipeline(shifted(StandardScaler)()), ["a"]), remainder="passthrough"),
        LogisticRegression(),
    ),
    "subclass of StandardScaler": lambda: make_pipeline(shifted(StandardScaler)(), LogisticRegression()),
    "subclass of MinMaxScaler": lambda: make_pipeline(shifted(MinMaxScaler)(), DecisionTreeClassifier(max_depth=3)),
    "subclass of RobustScaler": lambda: make_pipeline(shifted(RobustScaler)(), MLP()),
    "subclass of FunctionTransformer": lambda: make_pipeline(shifted(FunctionTransformer)(), LogisticRegression()),
    "FunctionTransformer with a function": lambda: make_pipeline(
        FunctionTransformer(lambda X: np.minimum(X, FAR)), LogisticRegression()
    ),
    "own scaler": lambda: make_pipeline(OwnScaler(), LogisticRegression()),
    "subclass of LogisticRegression": lambda: kind_of(LogisticRegression)(),
    "subclass of RidgeClassifier": lambda: kind_of(RidgeClassifier)(),
    "subclass with another decision function": lambda: kind_of(LogisticRegression, "decision_function")(),
    "subclass of DecisionTree": lambda: kind_of(DecisionTreeClassifier)(max_depth=3),
    "subclass of RandomForest": lambda: kind_of(RandomForestClassifier)(4, max_depth=3, random_state=0),
    "subclass of ExtraTrees": lambda: kind_of(ExtraTreesClassifier)(4, max_depth=3, random_state=0),
    "subclass of GradientBoosting": lambda: kind_of(GradientBoostingClassifier)(n_estimators=4),
    "subclass of HistGradientBoosting": lambda: kind_of(HistGradientBoostingClassifier)(max_iter=4),
    "subclass of AdaBoost": lambda: kind_of(AdaBoostClassifier)(DecisionTreeClassifier(max_depth=2), n_estimators=4),
    "AdaBoost over a subclass": lambda: AdaBoostClassifier(
        kind_of(DecisionTreeClassifier)(max_depth=2), n_estimators=4
    ),
    "Bagging over a subclass": lambda: BaggingClassifier(kind_of(DecisionTreeClassifier)(max_depth=2), n_estimators=4),
    "one subclass among the bagged": lambda: bagged(kind_of(DecisionTreeClassifier, "predict_proba")),
    "Voting over a subclass": lambda: VotingClassifier(
        [("a", DecisionTreeClassifier(max_depth=2)), ("b", kind_of(DecisionTreeClassifier)(max_depth=3))]
    ),
    "subclass of Voting": lambda: kind_of(VotingClassifier)([("a", DecisionTreeClassifier(max_depth=2))]),
    "subclass of MLP": lambda: kind_of(MLPClassifier)((3,), max_iter=300, random_state=0),
    "subclass of XGBClassifier": lambda: kind_of(xgboost.XGBClassifier)(n_jobs=1, n_estimators=4),
    "subclass of LGBMClassifier": lambda: kind_of(lightgbm.LGBMClassifier)(n_jobs=1, n_estimators=4, verbose=-1),
    "a booster that was patched": booster_patched,
    "another start of boosting": frozen_loss,
    "Calibrated over a subclass": lambda: CalibratedClassifierCV(
        kind_of(LogisticRegression, "decision_function")(), ensemble=False
    ),
    "calibrators that were patched": calibrated,
    "subclass of Calibrated": lambda: kind_of(CalibratedClassifierCV)(LogisticRegression(), ensemble=False),
    "subclass of FixedThreshold": lambda: kind_of(FixedThresholdClassifier)(LogisticRegression(), threshold=0.6),
    "FixedThreshold over a subclass": lambda: FixedThresholdClassifier(
        kind_of(LogisticRegression, "predict_proba")(), threshold=0.6
    ),
    "TunedThreshold over a subclass": lambda: TunedThresholdClassifierCV(kind_of(LogisticRegression)(), random_state=0),
    "GridSearch over a subclass": lambda: GridSearchCV(kind_of(LogisticRegression)(), {"C": [1.0]}, cv=2),
    "subclass of GridSearch": lambda: kind_of(GridSearchCV)(LogisticRegression(), {"C": [1.0]}, cv=2),
    "predict on the model that a search kept": lambda: patched(
        GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2), path=["best_estimator_"]
    ),
    "Frozen subclass": lambda: FrozenEstimator(kind_of(LogisticRegression)().fit(X[FEATURES], Y)),
    "subclass of Frozen": lambda: type("FrozenEstimator", (FrozenEstimator,), {"predict": lambda self, X: X["a"] > 5})(
        LogisticRegression().fit(X[FEATURES], Y)
    ),
    "subclass of LinearScore": lambda: kind_of(ee.LinearScore)({"a": 1.0, "b": 1.0}, threshold=11),
    "subclass of ReLUNetwork": lambda: kind_of(ee.ReLUNetwork)([[[1.0, 1.0]]], [[-11.0]], feature_names=FEATURES),
    "own classifier": Own,
    "predict on the object": lambda: patched(LogisticRegression()),
    "predict on the tree": lambda: patched(DecisionTreeClassifier(max_depth=3)),
    "predict_proba on the forest": lambda: patched(
        RandomForestClassifier(4, max_depth=3, random_state=0), "predict_proba"
    ),
    "predict on the pipeline": lambda: patched(make_pipeline(StandardScaler(), LogisticRegression())),
    "transform on a step": lambda: patched(
        make_pipeline(StandardScaler(), LogisticRegression()), "transform", path=["standardscaler"]
    ),
    "decision_function on the last step": lambda: patched(
        make_pipeline(StandardScaler(), LogisticRegression()), "decision_function", path=["logisticregression"]
    ),
    "predict on XGBoost": lambda: patched(xgboost.XGBClassifier(n_jobs=1, n_estimators=4)),
    "predict on LightGBM": lambda: patched(lightgbm.LGBMClassifier(n_jobs=1, n_estimators=4, verbose=-1)),
    "predict on a network": lambda: patched(MLP()),
}


def problem_of(model, **options):
    if not hasattr(model, "classes_"):
        model.fit(X[FEATURES], Y)
    favourable = np.asarray(model.classes_).tolist()[1]
    given = {"a": ee.Feature("actionable", lower=0, upper=10), "b": ee.Feature("immutable")}
    schema = ee.Schema(sensitive="g", protected="p", favourable=favourable, features=given)
    scm = options.pop("scm", None) or ee.StructuralCausalModel([], nodes=FEATURES).fit(X)
    return ee.RecourseProblem.of(model, X, schema=schema, scm=scm, **options)


def proven_wrongly(problem, few):
    """How many certificates trying everything refutes: one action, 2,001 values."""
    table, model = ee.solve(problem, few, solver=ee.Auto(budget=200)), problem.decision
    tried, wrong = np.linspace(0, 10, 2001), 0
    span = X["a"].max() - X["a"].min()
    for row in range(len(few)):
        fact = few.iloc[row]
        asked = pd.DataFrame({"a": tried, "b": np.full(len(tried), fact["b"])})
        good = tried[model.is_favourable(asked)]
        least = np.abs(good - fact["a"]).min() / span if len(good) else np.inf
        if table.status[row] in (ee.Status.OPTIMAL, ee.Status.INFEASIBLE):
            wrong += int(table.bound[row] > least + 1e-9)
    return wrong


@pytest.mark.parametrize("name", MADE)
def test_what_is_not_plain_is_a_black_box_and_says_why(name):
    problem = problem_of(MADE[name]())
    assert isinstance(problem.view, BlackBox)
    assert problem.view.reason
    assert problem.view.reason in ee.Auto().select(problem).reason
    assert proven_wrongly(problem, X.iloc[:6]) == 0


def test_the_reason_reaches_whoever_audits():
    problem = problem_of(kind_of(LogisticRegression)())
    with pytest.warns(ee.errors.EquieffortWarning, match="LogisticRegression is a class of its own"):
        ee.solve(problem, X.iloc[:30])


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_a_method_patched_on_the_class_is_found(monkeypatch, method):
    model = LogisticRegression().fit(X[FEATURES], Y)
    assert isinstance(problem_of(model).view, View)
    monkeypatch.setattr(LogisticRegression, method, twisted(getattr(LogisticRegression, method)), raising=False)
    problem = problem_of(model)
    assert isinstance(problem.view, BlackBox)
    assert f"LogisticRegression.{method} was replaced" in problem.view.reason


def test_a_method_patched_on_a_transformer_or_a_parent_is_found(monkeypatch):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[FEATURES], Y)
    with monkeypatch.context() as patch:
        patch.setattr(StandardScaler, "transform", lambda self, X, copy=None: np.asarray(X))
        assert "StandardScaler.transform was replaced" in problem_of(model).view.reason
    parent = next(cls for cls in LogisticRegression.__mro__ if "decision_function" in vars(cls))
    with monkeypatch.context() as patch:
        patch.setattr(parent, "decision_function", lambda self, X: np.asarray(X)[:, 0])
        assert "decision_function was replaced" in problem_of(model).view.reason


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler().set_output(transform="pandas"), LogisticRegression()),
        make_pipeline(FunctionTransformer(), make_column_transformer((MinMaxScaler(), ["a"]), remainder="passthrough"),
                      RandomForestClassifier(3, max_depth=3)),
        RidgeClassifier(),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3),
        CalibratedClassifierCV(LogisticRegression(), ensemble=False, method="isotonic"),
        TunedThresholdClassifierCV(LogisticRegression(), random_state=0),
        GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1]}, cv=2),
        RandomizedSearchCV(DecisionTreeClassifier(), {"max_depth": [2, 3]}, n_iter=2, cv=2, random_state=0),
        HalvingGridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2, random_state=0),
        xgboost.XGBClassifier(n_jobs=1, n_estimators=3),
        lightgbm.LGBMClassifier(n_jobs=1, n_estimators=3, verbose=-1),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_plain_models_are_still_read(model):
    assert isinstance(problem_of(model).view, View)


def test_exactly_the_class():
    class Kind(ee.LinearScore):
        pass

    score = ee.LinearScore({"a": 1.0})
    assert is_exactly(score, ee.LinearScore)
    assert not is_exactly(Kind({"a": 1.0}), ee.LinearScore)
    assert "class of its own" in why_not(Kind({"a": 1.0}))
    score.predict = lambda X: np.ones(len(X), dtype=bool)
    assert why_not(score) == "predict was replaced on this LinearScore"
