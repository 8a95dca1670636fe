"""Subclassed and patched estimators: what is opened must be what decides.

Each case takes an estimator that the package can read and changes its answers in some region, in a subclass or on the
object itself, somewhere between the pipeline and the equations. To give it up as a black box is fine; to certify what
the unchanged estimator would have said is not. The oracle asks the changed model itself, over a grid.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.hostile.judged import count
from tests.oracles import Tally

import equieffort as ee
from equieffort.errors import EquieffortError
from equieffort.world.scm.mechanisms import Fitted

INF = float("inf")
REACH = 8.0
"""How far actions may go; people lie between 0 and 4."""
LEVELS = ("p", "q", "r")
Twist = Callable[[Any, Any], Any]
"""(input, the unchanged answer) -> the changed answer."""


def first_two(X: Any) -> tuple[Any, Any]:
    """The first two columns of whatever an estimator is given, as numbers."""
    block = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    block = block.astype(float) if block.dtype.kind in "fiub" else np.zeros((len(block), 2))
    return block[:, 0], block[:, min(1, block.shape[1] - 1)]


def drawn_twist(rng: np.random.Generator, sample: Any, *, adds: bool) -> Twist:
    """Other answers where the first columns lie in some range: labels turn, or numbers get something added."""
    a, b = first_two(sample)
    # Mostly where few people stand, or nobody: that the answers differ is then hard to see.
    width = float(rng.choice([0.04, 0.1, 0.5]))
    starts = rng.uniform(0, 1 - width, 2) + (rng.random() < 0.5)
    ends = [column.min() + np.ptp(column) * np.array([s, s + width]) for column, s in zip((a, b), starts, strict=True)]
    if a is b or np.array_equal(a, b) or rng.random() < 0.5:
        ends[1] = np.array([-INF, INF])
    size, seen = float(rng.choice([-4.0, 4.0])), np.sort(a)
    hides = rng.random() < 0.5

    def twist(X: Any, answer: Any) -> Any:
        x, y = first_two(X)
        inside = (x >= ends[0][0]) & (x <= ends[0][1]) & (y >= ends[1][0]) & (y <= ends[1][1])
        if hides:
            # Or everywhere but where somebody's own value is.
            after = np.searchsorted(seen, x).clip(1, len(seen) - 1)
            inside = np.minimum(np.abs(x - seen[after - 1]), np.abs(x - seen[after])) > 0.002 * np.ptp(seen)
        if not adds:
            return np.where(inside, 1 - np.asarray(answer), answer)
        shift = size * inside
        return answer + (shift[:, None] if np.ndim(answer) == 2 else shift)

    return twist


def changed(rng: np.random.Generator, estimator: Any, method: str, twist: Twist) -> Any:
    """The estimator with another method: of a subclass of its class, or on the object itself."""
    own = getattr(type(estimator), method)

    def other(self: Any, X: Any, *rest: Any, **options: Any) -> Any:
        return twist(X, own(self, X, *rest, **options))

    if rng.random() < 0.6:
        kind = type(estimator)
        name = kind.__name__ if rng.random() < 0.5 else f"My{kind.__name__}"
        estimator.__class__ = type(name, (kind,), {method: other, "__module__": kind.__module__})
    else:
        object.__setattr__(estimator, method, lambda X, *rest, **options: other(estimator, X, *rest, **options))
    return estimator


def drawn_model(rng: np.random.Generator, many: pd.DataFrame, label: Any) -> Any:
    """A pipeline of one of many kinds, with a change in one of its parts."""
    seed = int(rng.integers(100))
    final = [
        LogisticRegression(),
        DecisionTreeClassifier(max_depth=3, random_state=seed),
        RandomForestClassifier(3, max_depth=3, random_state=seed),
        GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=seed),
        MLPClassifier((3,), solver="lbfgs", max_iter=100, random_state=seed),
        VotingClassifier([("a", LogisticRegression()), ("b", LogisticRegression(C=0.01))], voting="soft"),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, random_state=seed),
        CalibratedClassifierCV(LogisticRegression(), ensemble=False, cv=2),
    ][int(rng.integers(8))]
    numbers, scaler = ["a", "b", "d"], [StandardScaler(), MinMaxScaler()][int(rng.integers(2))]
    encoder = [OneHotEncoder(sparse_output=False), OrdinalEncoder()][int(rng.integers(2))]
    inner = Pipeline([("scale", scaler)])
    parts = [("numbers", inner, numbers), ("k", encoder, ["k"])]
    encode = ColumnTransformer(parts)
    model = Pipeline([("encode", encode), ("last", final)])
    if rng.random() < 0.3:
        model = Pipeline([("all", model)])
    model.fit(many[[*numbers, "k"]], label)
    where = int(rng.integers(7))
    chain = model.steps[0][1] if len(model.steps) == 1 else model
    fitted = chain.named_steps["encode"]
    block = fitted.transform(many[[*numbers, "k"]])
    if where == 0:
        return changed(rng, model, "predict", drawn_twist(rng, many[numbers], adds=False))
    if where == 1:
        _twist_last(rng, chain, block)
    elif where == 2:
        changed(rng, fitted, "transform", drawn_twist(rng, many[numbers], adds=True))
    elif where == 3:
        inside = fitted.named_transformers_["numbers"]
        changed(rng, inside.named_steps["scale"], "transform", drawn_twist(rng, many[numbers], adds=True))
    elif where == 4:
        changed(rng, fitted.named_transformers_["numbers"], "transform", drawn_twist(rng, many[numbers], adds=True))
    elif where == 5:
        level = str(rng.choice(LEVELS))

        def swap(X: Any, answer: Any) -> Any:
            hit = np.asarray(X)[:, 0] == level
            return np.where(hit[:, None], np.roll(answer, 1, axis=1) if answer.shape[1] > 1 else 1 - answer, answer)

        changed(rng, fitted.named_transformers_["k"], "transform", swap)
    else:
        changed(rng, chain, "predict", drawn_twist(rng, many[numbers], adds=False))
    return model


def _twist_last(rng: np.random.Generator, chain: Any, block: Any) -> None:
    """A change inside the estimator at the end: its own answer, or that of one of its members."""
    last = chain.steps[-1][1]
    if isinstance(last, VotingClassifier) and rng.random() < 0.6:
        member = last.estimators_[0]
        turned = drawn_twist(rng, block, adds=False)
        changed(
            rng, member, "predict_proba", lambda X, p: np.where((turned(X, np.zeros(len(p))) == 1)[:, None], 1 - p, p)
        )
    elif isinstance(last, RandomForestClassifier | BaggingClassifier) and rng.random() < 0.6:
        turned = drawn_twist(rng, block, adds=False)
        for member in last.estimators_:
            changed(
                rng,
                member,
                "predict_proba",
                lambda X, p: np.where((turned(X, np.zeros(len(p))) == 1)[:, None], 1 - p, p),
            )
    elif isinstance(last, LogisticRegression) and rng.random() < 0.6:
        changed(rng, last, "decision_function", drawn_twist(rng, block, adds=True))
    else:
        changed(rng, last, "predict", drawn_twist(rng, block, adds=False))


def drawn_equation(rng: np.random.Generator, many: pd.DataFrame) -> tuple[Any, Any]:
    """A learned equation d = f(a) + noise with a change, fitted by a clone or handed over as it is."""
    seed = int(rng.integers(100))
    model = [
        DecisionTreeRegressor(max_depth=3, random_state=seed),
        RandomForestRegressor(3, max_depth=2, random_state=seed),
        GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=seed),
        LinearRegression(),
    ][int(rng.integers(4))].fit(many[["a"]].to_numpy(), np.sin(2 * many["a"]) + many["a"])
    if isinstance(model, RandomForestRegressor) and rng.random() < 0.5:
        for member in model.estimators_:
            changed(rng, member, "predict", drawn_twist(rng, many[["a"]], adds=True))
        return Fitted(model, "forest"), model
    return Fitted(changed(rng, model, "predict", drawn_twist(rng, many[["a"]], adds=True)), "changed"), model


def run(rng: np.random.Generator, label: str) -> Tally:
    n = 60
    many = pd.DataFrame({
        "a": rng.uniform(0, 4, n), "b": rng.uniform(0, 4, n), "d": rng.normal(0, 1, n), "k": rng.choice(LEVELS, n),
        "sex": (["f", "m"] * n)[:n],
    })  # fmt: skip
    many["k"] = many["k"].astype(object)
    score = many[["a", "b", "d"]].to_numpy() @ rng.normal(0, 1, 3) + (many["k"] == "q") * rng.normal(0, 1)
    target = (score > np.quantile(score, 0.7)).astype(int)
    follows = rng.random() < 0.5
    equation, regressor = drawn_equation(rng, many) if follows else (None, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if follows:
            encode = ColumnTransformer([("numbers", StandardScaler(), ["a", "b", "d"]), ("k", OneHotEncoder(), ["k"])])
            last = LogisticRegression() if rng.random() < 0.5 else DecisionTreeClassifier(max_depth=4, random_state=0)
            model = Pipeline([("encode", encode), ("last", last)]).fit(many[["a", "b", "d", "k"]], target)
        else:
            model = drawn_model(rng, many, target)
    names = ["a", "b", "d", "k"]
    refused = np.flatnonzero(model.predict(many[names]) != 1)[:3]
    if len(refused) == 0:
        return Tally()
    people = many.iloc[np.unique([*refused, 0, 1])].reset_index(drop=True)
    weights = np.round(rng.uniform(0.3, 3, 2), 2)
    features = {
        "a": ee.Feature("actionable", lower=0, upper=REACH, weight=float(weights[0])),
        "b": ee.Feature("actionable", lower=0, upper=REACH, weight=float(weights[1])),
        "d": "mutable", "k": "immutable",
    }  # fmt: skip
    edges, mechanisms = ([("a", "d")], {"d": equation}) if follows else ([], {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scm = ee.StructuralCausalModel(edges, nodes=["sex", "a", "b", "d", "k"], mechanisms=mechanisms).fit(many)
        schema = ee.Schema(sensitive="sex", protected="f", favourable=1, features=features)
        try:
            problem = ee.RecourseProblem.of(model, many, schema=schema, scm=scm)
            solver = ee.Auto(time_limit=None, node_limit=3000, budget=100).select(problem).solver
            table = ee.solve(problem, people, solver=solver)
        except EquieffortError:
            # Refusing such a model with words is no wrong certificate.
            return Tally(cases=1)
    frame, tally = table.frame(), Tally(cases=1)
    after = table.counterfactuals()
    turns = model.predict(after[names]) == 1
    grid = np.linspace(0, REACH, 81)
    for row, told in enumerate(frame.to_dict("records")):
        if told["status"] == "not_needed":
            continue
        count(tally, told["status"])
        fact = people.iloc[row]
        a, b = (v.ravel() for v in np.meshgrid([*grid, fact["a"]], [*grid, fact["b"]]))
        tried = pd.DataFrame({"a": a, "b": b, "d": fact["d"], "k": fact["k"]})
        if follows:
            moved = regressor.predict(a[:, None]) - regressor.predict(np.array([[fact["a"]]]))
            tried["d"] = fact["d"] + moved
        spans = [float(np.ptp(many[name])) for name in "ab"]
        cost = weights[0] * np.abs(a - fact["a"]) / spans[0] + weights[1] * np.abs(b - fact["b"]) / spans[1]
        works = model.predict(tried[names]) == 1
        least = float(cost[works].min(initial=INF))
        fault = ""
        if told["status"] == "infeasible" and least < INF:
            fault = f"infeasible, but {least!r} works"
        elif told["status"] == "optimal" and told["cost"] > least * (1 + 1e-4) + 1e-4:
            fault = f"optimal at {told['cost']!r}, but {least!r} works"
        elif told["bound"] > least * (1 + 1e-6) + 1e-6:
            fault = f"{told['status']} with bound {told['bound']!r}, but {least!r} works"
        elif told["status"] in ("optimal", "feasible") and not turns[row]:
            fault = "the label does not turn"
        if fault:
            tally.disagreements.append(
                f"{label} ({type(solver).__name__}, {type(problem.view).__name__}), person {row}: {fault}"
            )
    return tally
