"""Every picture of an audit in which nothing can be shown: an SVG and numbers all the same, and the reason in sight."""

from __future__ import annotations

import re
import warnings
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import equieffort as ee
from equieffort.plots import AuditPlots

PICTURES = [name for name in vars(AuditPlots) if not name.startswith("_")]
GIVEN = {"improvement_only": (["x"],), "social_burden": (np.ones(60, dtype=bool),), "equality_of_effort": ("x",)}
ALWAYS = {"rates", "graph", "measures", "notions", "causal_discrimination", "equality_of_effort", "situation_testing"}
"""What is about everybody, also about those whom nobody refused, or lists what is not defined."""


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    groups = np.array(["f", "m"])[np.arange(60) % 2]
    return pd.DataFrame({"S": groups, "x": rng.normal(0, 1, 60), "z": rng.normal(0, 1, 60)})


def audited(model, X: pd.DataFrame, **asked) -> ee.Audit:
    whole = people()
    features = {"x": ee.Feature("actionable", lower=-5, upper=5, max_increase=0.01), "z": "immutable"}
    schema = ee.Schema(sensitive="S", protected="f", favourable=True, features=features)
    scm = ee.StructuralCausalModel([], nodes=["x", "z"]).fit(whole)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ee.audit(model, X, schema=schema, scm=scm, reference=whole, **asked)


@pytest.fixture(scope="module")
def nobody_refused() -> ee.Audit:
    return audited(ee.LinearScore({"x": 1.0, "z": 1.0}, threshold=-100.0), people())


@pytest.fixture(scope="module")
def nobody_can() -> ee.Audit:
    return audited(ee.LinearScore({"x": 1.0, "z": 1.0}, threshold=100.0), people())


@pytest.fixture(scope="module")
def imputed() -> ee.Audit:
    X, full = people(), people()
    X.loc[3:, "z"] = np.nan
    X.loc[1:39:2, "x"] = np.nan
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X[["x", "z"]], full["x"] + full["z"] > 0.3)
    return audited(model, X, missing="model", solver=ee.solvers.Search())


def seen(audit: ee.Audit, name: str) -> str:
    """The words of a picture, which must have numbers, and be drawn with matplotlib, all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = getattr(audit.plot, name)(*GIVEN.get(name, ()))
        assert isinstance(shown.frame(), pd.DataFrame)
        assert shown.plot().figure_ is not None
        return unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)<", shown.svg)))


@pytest.mark.parametrize("name", PICTURES)
def test_where_nobody_was_refused_that_is_in_the_picture(nobody_refused, name):
    words = seen(nobody_refused, name)
    assert "There is nothing to draw" not in words
    if name not in ALWAYS:
        assert re.search(r"Nobody|no refused people|neither a probability", words), words


@pytest.mark.parametrize("name", PICTURES)
def test_where_nobody_has_a_route_pictures_are_drawn_or_say_why(nobody_can, name):
    words = seen(nobody_can, name)
    assert "There is nothing to draw" not in words
    if name in ("actions", "feature_effort", "individual_acr", "acr", "effort_rewards", "facts"):
        assert "No route to approval is known of anybody refused." in words


@pytest.mark.parametrize("name", PICTURES)
def test_behind_an_imputer_pictures_are_drawn_or_say_why(imputed, name):
    words = seen(imputed, name)
    assert "There is nothing to draw" not in words
    if name in ("acr", "individual_acr", "fairness_through_awareness", "notions"):
        assert "Nobody can be compared: 'x', 'z' have missing values, and nothing else tells people apart." in words
    if name == "situation_testing":
        assert "The distance uses 'x', which has missing values." in words
    if name == "boundary_distance":
        assert "weights of its own inputs are not known." in words
    if name == "limits":
        # Of the others nothing is known: that nobody lacks a route would be wrong.
        assert words == "Of nobody is it proven that there is no route."


def test_what_is_asked_wrongly_is_still_refused(nobody_refused):
    with pytest.raises(ee.errors.EquieffortError):
        nobody_refused.plot.acr([2.0])
