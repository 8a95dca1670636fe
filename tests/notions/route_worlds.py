"""A small world whose equation, limits and prices are known, and what actions do in it, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import equieffort as ee
from equieffort.notions.actions import Action

UPPER, INCREASE, MOST_DEBT, FOLLOWS = 9, 3, 8.0, -0.5
HOUSING_WEIGHT = 0.3


def people(n: int = 240, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], n, p=[0.45, 0.4, 0.15])
    savings = np.clip(rng.poisson(3 + (group == "b"), n), 0, 8)
    return pd.DataFrame(
        {
            "group": group,
            "savings": savings,
            "housing": rng.choice(["rent", "own", "free"], n),
            "debt": np.round(5 + FOLLOWS * savings + rng.normal(0, 1.5, n), 3),
        }
    )


def world(n: int = 240, seed: int = 5, reference: Any = "b", **kwargs: Any) -> tuple[ee.Audit, Any]:
    """The audit, and the classifier that an oracle asks."""
    X = people(n, seed)
    rng = np.random.default_rng(seed + 1)
    truth = X["savings"] - X["debt"] + 1.5 * (X["housing"] == "own") + rng.normal(0, 1, n) > 1.5
    encode = make_column_transformer((OneHotEncoder(), ["housing"]), remainder="passthrough")
    classifier = make_pipeline(encode, LogisticRegression()).fit(X[["savings", "housing", "debt"]], truth)
    schema = ee.Schema(
        sensitive="group", protected="a", reference=reference, favourable=True,
        features={
            "savings": ee.Feature("actionable", direction="up", upper=UPPER, max_increase=INCREASE),
            "housing": ee.Feature("actionable", weight=HOUSING_WEIGHT),
            "debt": ee.Feature("mutable", plausible=(-2.0, MOST_DEBT)),
        },
    )  # fmt: skip
    equation = ee.Linear({"savings": FOLLOWS}, intercept=5.0)
    scm = ee.StructuralCausalModel([("savings", "debt")], nodes=["group", "housing"], mechanisms={"debt": equation})
    return ee.audit(classifier, X, schema=schema, scm=scm.fit(X), **kwargs), classifier


def cost_by_hand(classifier: Any, X: pd.DataFrame, row: int, action: Action) -> float:
    """What an action costs a refused person, infinite where it may not be taken or turns nothing."""
    before = X.iloc[row].to_dict()
    after, cost = dict(before), 0.0
    span = float(X["savings"].max() - X["savings"].min())
    for part in action.parts:
        fact = before[part.feature]
        if part.feature == "housing":
            assert part.kind == "set"
            after["housing"] = part.value
            cost += HOUSING_WEIGHT * (part.value != fact)
            continue
        value = fact
        if part.kind == "at_least":
            value = max(fact, part.value)
        elif part.kind == "at_most":
            value = min(fact, part.value)
        elif part.kind == "change":
            value = fact + part.value
        if not fact <= value <= max(min(UPPER, fact + INCREASE), fact) or value != round(value):
            return math.inf
        after["savings"] = value
        cost += (value - fact) / span
    after["debt"] = before["debt"] + FOLLOWS * (after["savings"] - before["savings"])
    low, high = min(-2.0, before["debt"]), max(MOST_DEBT, before["debt"])
    if not low - 1e-9 <= after["debt"] <= high + 1e-9:
        return math.inf
    return cost if score(classifier, after) > 0 else math.inf


def score(classifier: Any, person: dict[str, Any]) -> float:
    """The logit, from the model's coefficients."""
    *levels, savings, debt = classifier[-1].coef_[0]
    by_level = dict(zip(classifier[0].named_transformers_["onehotencoder"].categories_[0], levels, strict=True))
    return float(
        classifier[-1].intercept_[0] + by_level[person["housing"]] + savings * person["savings"] + debt * person["debt"]
    )


def refused_rows(classifier: Any, X: pd.DataFrame) -> list[int]:
    said = classifier.predict(X[["savings", "housing", "debt"]])
    assert [bool(yes) for yes in said] == [score(classifier, row) > 0 for row in X.to_dict("records")]
    return np.flatnonzero(~said).tolist()
