"""A view must be right where actions lead, not only about the people at hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equieffort as ee
from equieffort.models.classifiers import BlackBox

RNG = np.random.default_rng(0)
EVERYBODY = pd.DataFrame({"a": RNG.uniform(0, 10, 2000)})
# Nobody here is near the boundary, which lies at about 8.
AT_HAND = pd.DataFrame({"a": np.r_[RNG.uniform(0, 2, 20), RNG.uniform(9.4, 9.5, 20)], "group": np.tile(["p", "q"], 20)})
MODELS = [
    LogisticRegression(),
    MLPClassifier((4,), random_state=0, max_iter=2000),
    RandomForestClassifier(10, max_depth=3, random_state=0),
]


def problem_of(classifier: object, favourable: object = 1) -> ee.RecourseProblem:
    features = {"a": ee.Feature("actionable", lower=0, upper=9.5)}
    schema = ee.Schema(sensitive="group", protected="p", favourable=favourable, features=features)
    scm = ee.StructuralCausalModel([], nodes=list(AT_HAND)).fit(AT_HAND)
    return ee.RecourseProblem.of(classifier, AT_HAND, schema=schema, scm=scm)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("weight", [1.3, -0.5])
def test_weights_of_a_column_transformer_count(model, weight):
    columns = ColumnTransformer([("scaled", StandardScaler(), ["a"])], transformer_weights={"scaled": weight})
    classifier = make_pipeline(columns, model).fit(EVERYBODY, (EVERYBODY["a"] > 8).astype(int))
    problem = problem_of(classifier)
    told = ee.solve(problem, AT_HAND).frame()
    asked = told[told["status"] != "not_needed"]
    assert set(asked["status"]) == {"optimal"}
    grid = np.linspace(0, 9.5, 95_001)
    least = grid[classifier.predict(pd.DataFrame({"a": grid})) == 1].min()
    assert asked["do_a"].to_numpy() == pytest.approx(np.full(len(asked), least), abs=2e-4)


def test_a_view_that_is_wrong_beyond_the_people_is_not_believed(monkeypatch):
    scaler = StandardScaler().fit(EVERYBODY)
    scores = scaler.transform(EVERYBODY)
    classifier = make_pipeline(scaler, LogisticRegression().fit(scores, EVERYBODY["a"] > 4))
    honest = scaler.transform
    problem = problem_of(classifier, favourable=True)
    assert not isinstance(problem.view, BlackBox)
    # Between the people the values are bent, so that the boundary lies elsewhere; at the people nothing changes.
    scaler.transform = lambda X: np.where(np.abs(honest(X)) < 0.9, honest(X) - 0.7, honest(X))
    problem = problem_of(classifier, favourable=True)
    assert isinstance(problem.view, BlackBox)
    assert "transform was replaced on this StandardScaler" in problem.view.reason
    # Were it opened all the same, made-up people would tell.
    monkeypatch.setattr("equieffort.models.classifiers.pipeline.require_plain", lambda *things, library="": None)
    problem = problem_of(classifier, favourable=True)
    assert isinstance(problem.view, BlackBox)
    assert "labels do not follow the score" in problem.view.reason


def test_a_transformer_of_another_package_is_not_taken_for_scikit_learns():
    class Clipping(StandardScaler):
        def transform(self, X, copy=None):
            return np.clip(super().transform(X, copy), -0.5, 0.5)

    Clipping.__name__ = "StandardScaler"
    classifier = make_pipeline(Clipping(), LogisticRegression()).fit(EVERYBODY, (EVERYBODY["a"] > 8).astype(int))
    problem = problem_of(classifier)
    assert isinstance(problem.view, BlackBox)
    assert "not one that can be followed" in problem.view.reason
