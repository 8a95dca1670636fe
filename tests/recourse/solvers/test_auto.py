"""Auto: which solver is chosen, and why another is not."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor
from tests.limits import unlimited
from tests.own_solver import refusal

from equieffort import (
    Auto,
    Feature,
    Function,
    LinearExact,
    LinearScore,
    LinearSearch,
    Percentile,
    RecourseProblem,
    Schema,
    Search,
    StructuralCausalModel,
    solve,
)
from equieffort.errors import EquieffortError, SchemaError

EDGES = [("a", "b"), ("b", "c")]


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": ["f", "m"] * (n // 2), "a": rng.normal(size=n), "job": rng.choice(["x", "y"], n)})
    frame["b"] = frame["a"] + 0.3 * rng.normal(size=n)
    frame["c"] = frame["b"] + 0.3 * rng.normal(size=n)
    return frame


def problem(clf=None, features=None, frame=None, mechanisms=None, cost=None):
    frame = people() if frame is None else frame
    return RecourseProblem.of(
        LinearScore({"a": 1.0, "c": 1.0}, threshold=1.0) if clf is None else clf,
        frame,
        schema=Schema(
            sensitive="sex",
            protected="f",
            favourable=True,
            features=unlimited(features or {"a": "actionable", "b": "mutable", "c": "mutable", "job": "immutable"}),
        ),
        scm=StructuralCausalModel(EDGES, nodes=["sex", "job"], mechanisms=mechanisms).fit(frame),
        cost=cost,
    )


def fitted(clf):
    frame = people()
    return clf.fit(frame[["a", "c"]], frame["a"] + frame["c"] > 0.5)


def square(causes):
    return np.square(causes.iloc[:, 0])


def test_a_linear_world_is_solved_exactly():
    for one in (
        problem(),
        problem(cost=Percentile()),
        problem(fitted(LogisticRegression())),
        problem(fitted(make_pipeline(StandardScaler(), LogisticRegression()))),
        problem(features={"job": "actionable", "a": "actionable", "b": "mutable", "c": "mutable"}),
    ):
        choice = Auto().select(one)
        assert isinstance(choice.solver, LinearExact)
        assert "linear" in choice.reason


@pytest.mark.parametrize(
    ("clf", "words"),
    [
        (GaussianNB(), "GaussianNB"),
        (SVC(), "SVC"),
        (make_pipeline(PolynomialFeatures(2), LogisticRegression()), "PolynomialFeatures"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_classifier_that_nothing_can_be_proven_of_is_searched_and_the_reason_said(clf, words):
    one = problem(fitted(clf))
    choice = Auto().select(one)
    assert choice.solver == Search()
    assert words in choice.reason
    assert words in refusal(LinearExact(), one)
    with pytest.raises(EquieffortError, match=words) as caught:
        solve(one, people(), solver=LinearExact())
    assert caught.value.code == "MODEL_NOT_LINEAR"


@pytest.mark.parametrize("mechanism", [Function(square), DecisionTreeRegressor(max_depth=2)], ids=["function", "tree"])
def test_equations_count_only_where_an_action_can_reach(mechanism):
    bent = {"b": mechanism}
    one = problem(mechanisms=bent)
    assert "'b' is not linear" in refusal(LinearExact(), one)
    assert not isinstance(Auto().select(one).solver, LinearExact)
    # Below the bent equation the world is linear, and above it nothing moves.
    lower = {"a": "immutable", "b": Feature("actionable"), "c": "mutable", "job": "immutable"}
    assert isinstance(Auto().select(problem(features=lower, mechanisms=bent)).solver, LinearExact)
    # With b actionable too it can be left to follow, so the bend is within reach again.
    one = problem(features=lower | {"a": "actionable"}, mechanisms=bent)
    assert "'b' is not linear" in refusal(LinearExact(), one)
    assert not isinstance(Auto().select(one).solver, LinearExact)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_numbers_that_the_model_encodes_must_be_declared():
    frame = people().assign(code=[0, 1, 2] * 20)
    encode = make_column_transformer((OneHotEncoder(), ["code"]), remainder="passthrough")
    clf = make_pipeline(encode, LogisticRegression()).fit(frame[["a", "code"]], frame["a"] > 0)
    roles = {"a": "actionable", "b": "mutable", "c": "mutable", "job": "immutable"}
    choice = Auto().select(problem(clf, roles | {"code": "immutable"}, frame))
    assert choice.solver == Search()
    assert "'code'" in choice.reason
    declared = roles | {"code": Feature("immutable", kind="categorical")}
    assert isinstance(Auto().select(problem(clf, declared, frame)).solver, LinearExact)


def test_too_many_ways_to_act_are_counted():
    """Thirteen features in a chain below another: each can be set or left, 2 ** 13 ways."""
    rng = np.random.default_rng(0)
    names = [f"v{k}" for k in range(14)]
    frame = pd.DataFrame(rng.normal(size=(60, 14)).cumsum(axis=1), columns=names).assign(sex=["f", "m"] * 30)
    one = RecourseProblem.of(
        LinearScore({"v13": 1.0}, threshold=5.0),
        frame,
        schema=Schema(
            sensitive="sex", protected="f", favourable=True, features=unlimited(dict.fromkeys(names, "actionable"))
        ),
        scm=StructuralCausalModel(list(pairwise(names)), nodes=["sex"]).fit(frame),
    )
    with pytest.raises(SchemaError, match="8,192 ways") as caught:
        solve(one, frame, solver=LinearExact())
    assert caught.value.code == "PROBLEM_TOO_MANY_INTERVENTIONS"
    choice = Auto().select(one)
    assert choice.solver == LinearSearch()
    assert "8,192 ways" in choice.reason


def test_choosing_is_a_small_value():
    assert Auto() == Auto()
    assert LinearExact() == LinearExact(gap=1e-9)
    assert LinearExact(gap=1e-3) != LinearExact()
    frame = people()
    one = problem(frame=frame)
    first, second = solve(one, frame), solve(one, frame, solver=LinearExact())
    pd.testing.assert_frame_equal(first.frame(), second.frame(), check_exact=True)
