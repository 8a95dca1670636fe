"""Levels that the audited table does not hold, but the model, the equations or the schema know: they may be proposed.

A category has five levels. The model was trained on all; the causal model was fitted on all, or does not know the
category; the audited people hold three. Every level and whole number is tried.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.hostile.judged import asked, count
from tests.hostile.units import Units
from tests.oracles import Tally

import equieffort as ee
from equieffort.errors import EquieffortWarning

INF = float("inf")
LEVELS = ("a", "b", "c", "d", "e")
TOP = 6


def drawn_model(rng: np.random.Generator, many: pd.DataFrame, worth: dict[str, float]) -> Any:
    """A model whose decision hangs on the level, trained on all of them; and whether it wants pandas' own type."""
    score = many["x"] * rng.uniform(0.2, 1) + many["d"] * rng.normal(0, 0.6) + many["k"].map(worth).astype(float)
    label = (score > np.quantile(score, 0.6)).astype(int)
    kind = int(rng.integers(6))
    seed = int(rng.integers(100))
    if kind == 5:
        # Native categories: pandas' own type says which levels there are.
        model = HistGradientBoostingClassifier(
            categorical_features="from_dtype", max_iter=5, max_depth=3, min_samples_leaf=5, early_stopping=False
        )
        return model.fit(many[["x", "d", "k"]].astype({"k": pd.CategoricalDtype(list(LEVELS))}), label), True
    last = [
        LogisticRegression(max_iter=2000),
        DecisionTreeClassifier(max_depth=4, random_state=seed),
        RandomForestClassifier(3, max_depth=4, random_state=seed),
        GradientBoostingClassifier(n_estimators=4, max_depth=3, random_state=seed),
        MLPClassifier((4,), solver="lbfgs", max_iter=100, random_state=seed),
    ][kind]
    encoder = OneHotEncoder() if kind in (0, 4) or rng.random() < 0.6 else OrdinalEncoder()
    encode = ColumnTransformer([("k", encoder, ["k"]), ("rest", StandardScaler(), ["x", "d"])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(encode, last).fit(many[["x", "d", "k"]], label), False


def run(rng: np.random.Generator, label: str) -> Tally:
    n = 120
    many = pd.DataFrame({
        "x": rng.integers(0, TOP + 1, n), "d": np.round(rng.normal(0, 1, n), 2),
        "k": rng.choice(LEVELS, n).astype(object), "sex": (["f", "m"] * n)[:n],
    })  # fmt: skip
    many.loc[:4, "k"] = list(LEVELS)
    worth = dict(zip(LEVELS, rng.normal(0, 3, len(LEVELS)), strict=True))
    model, typed = drawn_model(rng, many, worth)
    # Mostly those with the least worth, so that the way out is a level that nobody here has.
    here = sorted(LEVELS, key=worth.__getitem__)[:3] if rng.random() < 0.8 else rng.permutation(LEVELS)[:3].tolist()
    people = many[many["k"].isin(here)].iloc[:8].reset_index(drop=True)
    people.loc[:2, "k"] = here
    people.loc[:1, "x"] = [0, TOP]
    if typed:
        many, people = (frame.astype({"k": pd.CategoricalDtype(list(LEVELS))}) for frame in (many, people))
    # The graph may not know the category; where it does, d may follow it.
    known = int(rng.integers(3))
    shifts = {level: float(np.round(rng.normal(), 1)) for level in LEVELS}
    edges, nodes, mechanisms = [("x", "d")], ["sex"], {"d": ee.Linear({"x": 0.5})}
    if known == 1:
        nodes.append("k")
    elif known == 2:
        edges.append(("k", "d"))
        mechanisms = {"d": ee.Linear({"x": 0.5, "k": shifts})}
    weights = np.round(rng.uniform(0.3, 3, 2), 2)
    features = {
        "x": ee.Feature("actionable", lower=0, upper=TOP, max_increase=2, weight=float(weights[0])),
        "k": ee.Feature("actionable", weight=float(weights[1])),
        "d": "mutable",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        scm = ee.StructuralCausalModel(edges, nodes=nodes, mechanisms=mechanisms).fit(many)
        schema = ee.Schema(sensitive="sex", protected="f", favourable=1, features=features)
        problem = ee.RecourseProblem.of(model, people, schema=schema, scm=scm)
        solver = ee.Auto().select(problem).solver
    span = float(np.ptp(many["x"]))
    settings = list(itertools.product([None, *range(TOP + 1)], LEVELS))
    tally = Tally(cases=1)
    for row, told in enumerate(asked(problem, people, solver, Units({}, {}))):
        if told.status == "not_needed" or tally.people == 4:
            continue
        count(tally, told.status)
        fact = people.iloc[row]
        x = np.array([fact["x"] if value is None else value for value, _ in settings])
        k = pd.Series([level for _, level in settings], dtype=people["k"].dtype)
        d = fact["d"] + 0.5 * (x - fact["x"])
        if known == 2:
            d = d + np.array([shifts[level] - shifts[fact["k"]] for _, level in settings])
        cost = weights[0] * np.abs(x - fact["x"]) / span + weights[1] * (k != fact["k"]).to_numpy()
        near = x <= fact["x"] + 2
        works = near & (model.predict(pd.DataFrame({"x": x, "d": d, "k": k})) == 1)
        least = float(cost[works].min(initial=INF))
        if told.status == "infeasible":
            wrong = least < INF
        elif told.status == "unknown":
            wrong = told.bound > least + 1e-6
        else:
            wrong = not told.turns or told.cost < least - 1e-6 or told.bound > least + 1e-6
            wrong |= told.status == "optimal" and told.cost > least + 1e-4 * max(1.0, least)
        if wrong:
            tally.disagreements.append(
                f"{label} ({type(solver).__name__}, graph {known}), person {row}: {told}, the oracle says {least!r}"
            )
    return tally
