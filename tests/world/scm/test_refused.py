"""Equations that no exact solver understands are refused with the reason, never answered wrongly."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from tests.limits import unlimited
from tests.own_solver import refusal

import equieffort as ee

GRADES = ["low", "middle", "top"]


def people(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "a": rng.normal(size=n)})
    frame["b"] = frame["a"] ** 2 + frame["a"] + rng.normal(size=n)
    latent = frame["a"] + rng.logistic(size=n)
    return frame.assign(grade=np.array(GRADES, dtype=object)[np.searchsorted([-1.0, 1.0], latent)])


def problem(mechanisms, **roles):
    frame = people()
    scm = ee.StructuralCausalModel([("a", "b"), ("a", "grade")], nodes=["sex"], mechanisms=mechanisms).fit(frame)
    schema = ee.Schema(
        sensitive="sex",
        protected="f",
        favourable=True,
        features=unlimited({"a": "actionable", "b": "mutable", **roles}),
    )
    return ee.RecourseProblem.of(ee.LinearScore({"a": 1.0, "b": 1.0}, threshold=3.0), frame, schema=schema, scm=scm)


@pytest.mark.parametrize(
    "mechanism",
    [
        ee.Polynomial(2),
        ee.Spline(),
        ee.Terms([(1.0, {"a": 2})]),
        ee.Function(lambda causes: causes["a"] ** 2),
        RandomForestRegressor(3, random_state=0),
        ee.CumulativeLogit({"a": 1.0}, [0.0], order=[0.0, 1.0]),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_the_linear_solver_knows_what_is_not_linear(mechanism):
    asked = problem({"b": mechanism}, grade="immutable")
    assert "'b' is not linear" in refusal(ee.LinearExact(), asked)


@pytest.mark.parametrize("role", ["mutable", "immutable"])
def test_levels_below_an_action_are_not_linear(role):
    asked = problem({"b": ee.Linear({"a": 1.0}), "grade": ee.Ordinal(GRADES)}, grade=role)
    assert "'grade' is not linear" in refusal(ee.LinearExact(), asked)


def test_levels_that_can_be_set_and_also_follow_are_left_to_a_solver_that_tries_both():
    """Left alone the category follows, set it does not: whoever tries only one of them may certify a wrong cost."""
    asked = problem({"b": ee.Linear({"a": 1.0}), "grade": ee.Ordinal(GRADES)}, grade="actionable")
    assert "'grade' is a category that can be set" in refusal(ee.LinearExact(), asked)
    assert isinstance(ee.Auto().select(asked).solver, ee.SpatialBranchAndBound)


def test_bent_equations_that_no_action_reaches_do_no_harm():
    frame = people()
    scm = ee.StructuralCausalModel(
        [("a", "b"), ("a", "grade")], nodes=["sex"], mechanisms={"b": ee.Spline(), "grade": ee.Ordinal(GRADES)}
    ).fit(frame)
    schema = ee.Schema(
        sensitive="sex",
        protected="f",
        favourable=True,
        features=unlimited({"a": "immutable", "b": "actionable", "grade": "mutable"}),
    )
    audit = ee.audit(ee.LinearScore({"a": 1.0, "b": 1.0}, threshold=3.0), frame, schema=schema, scm=scm)
    table = audit.recourse.frame()
    refused = frame["a"] + frame["b"] < 3.0
    assert (table.loc[refused, "status"] == "optimal").all()
    # To the threshold by b alone, charged over its range.
    gap = (3.0 - frame["a"] - frame["b"])[refused] / np.ptp(frame["b"])
    np.testing.assert_allclose(table.loc[refused, "cost"], gap, rtol=1e-6)
    assert any(one.node == "b" and "curve(a)" in one.text for one in audit.provenance.equations)
    assert any(one.text.startswith("grade = low if ") for one in audit.provenance.equations)
