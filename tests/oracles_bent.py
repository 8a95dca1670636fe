"""Oracles for bent equations: random cases, and answers found by trying everything or by zooming into dense grids.

The oracle follows actions by its own reading of each equation (its formula, a person's own noise) and asks the
classifier's own labels; only `Case.problem` hands a case to the package. Whole numbers and trees on trees have finitely
many cells, so that trying them all is the answer. Amounts are tried on a grid that is refined about its best points: no
answer may be dearer than what is found there, and nobody who has something there may be called infeasible.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.limits import unlimited
from tests.oracles import Tally

import equieffort as ee
from equieffort.recourse.solvers.spatial.solver import SpatialBranchAndBound
from equieffort.world.scm import Curves
from equieffort.world.scm.curves import Curve
from equieffort.world.scm.mechanisms import Fitted

Values = dict[str, Any]
Follow = Callable[[Any, Values, Values], Any]
"""(own values, causes before, causes after) -> values after."""
FAMILIES = ("whole", "cells", "amounts", "levels", "ratios")
CASES_OF = {"whole": 250, "cells": 250, "amounts": 250, "levels": 250, "ratios": 1000}
BLOCK, FIRST_SEED = 25, 100_000
"""How many cases `make verify` compares, how many at a time, and from which seed on."""
GRADES = ("low", "middle", "high")
INF = float("inf")
BESIDE = 2e-6
"""How far beside a threshold a cell is tried."""
NEAR = 1e-5
"""How far such a step and rounding may carry a cost."""


@dataclass(eq=False)
class Case:
    """People, what follows what, a classifier, and what may change."""

    people: pd.DataFrame
    follow: dict[str, Follow]
    """Column -> how it follows; columns in causal order."""
    classifier: Any
    problem: ee.RecourseProblem
    prices: dict[str, tuple[float, float]]
    """Numeric action -> price a unit up and down; category -> its price twice."""
    limits: dict[str, tuple[float, float]]
    ranges: dict[str, tuple[float, float]]
    """Column -> plausible range."""
    rule: Callable[[Values, Values], Any] | None
    favourable: tuple[int, ...]
    values: dict[str, Any] = field(default_factory=dict)
    """Numeric action -> all values that need trying, if these are finitely many."""
    edges: list[tuple[str, str]] = field(default_factory=list)
    mechanisms: dict[str, Any] = field(default_factory=dict)
    schema: ee.Schema | None = None


def terms(rng: np.random.Generator, causes: list[str]) -> tuple[Any, Follow]:
    """A polynomial with products."""
    parts = [(float(rng.normal(0, 0.7)), {name: int(rng.integers(1, 4))}) for name in causes]
    parts += [(float(rng.normal(0, 0.3)), {name: 1}) for name in causes]
    if len(causes) > 1 and rng.random() < 0.7:
        parts.append((float(rng.normal(0, 0.4)), dict.fromkeys(causes, 1)))

    def f(values: Values) -> Any:
        return sum(c * np.prod([values[n] ** p for n, p in powers.items()], axis=0) for c, powers in parts)

    return ee.Terms(parts), additive(f)


def curves(rng: np.random.Generator, causes: list[str]) -> tuple[Any, Follow]:
    """Broken lines and parabolas."""
    given, bends = {}, {}
    for name in causes:
        at, slopes = float(rng.uniform(0.5, 3.5)), rng.normal(0, 1, 3)
        given[name] = Curve((at,), (at, at), ((0.0, slopes[0], 0.0), (0.0, slopes[1], 0.3 * slopes[2])))
        bends[name] = (at, *slopes)

    def f(values: Values) -> Any:
        total = 0.0
        for name, (at, left, right, square) in bends.items():
            t = values[name] - at
            total = total + np.where(t < 0, left * t, right * t + 0.3 * square * t**2)
        return total

    return Curves(given), additive(f)


def growth(rng: np.random.Generator, causes: list[str]) -> tuple[Any, Follow]:
    """A function of the user's own, with bounds: a sum of saturating curves, each monotone."""
    shape = {name: (float(rng.normal(0, 2)), float(rng.uniform(0.5, 2)), float(rng.uniform(0, 4))) for name in causes}

    def one(name: str, x: Any) -> Any:
        height, slope, middle = shape[name]
        return height * expit(slope * (np.asarray(x, dtype=float) - middle))

    def f(values: Any) -> Any:
        return sum(one(name, values[name]) for name in causes)

    def bounds(low: Any, high: Any) -> Any:
        ends = [np.sort([one(name, low[name]), one(name, high[name])], axis=0) for name in causes]
        return sum(end[0] for end in ends), sum(end[1] for end in ends)

    return ee.Function(f, bounds=bounds), additive(f)


def grown(rng: np.random.Generator, causes: list[str]) -> tuple[Any, Follow]:
    """Trees learned from noise about a surface."""
    X = pd.DataFrame(rng.uniform(-1, 5, (120, len(causes))), columns=causes)
    y = np.sin(X.to_numpy()).sum(axis=1) + 0.5 * X[causes[0]] + rng.normal(0, 0.1, len(X))
    seed = int(rng.integers(1000))
    model = [
        RandomForestRegressor(4, max_depth=3, random_state=seed),
        GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=seed),
        DecisionTreeRegressor(max_depth=3, random_state=seed),
    ][int(rng.integers(3))].fit(X.to_numpy(), y)

    def f(values: Values) -> Any:
        columns = np.broadcast_arrays(*(np.asarray(values[name], dtype=float) for name in causes))
        return model.predict(np.column_stack([np.ravel(c) for c in columns]))

    return Fitted(model, type(model).__name__), additive(f)


def quotient(rng: np.random.Generator, causes: list[str]) -> tuple[Any, Follow]:
    """One sum of causes over another, which may share causes and may come to 0: there nothing follows."""
    above = {name: float(rng.normal(0, 2)) for name in causes if rng.random() < 0.7} or {causes[0]: 1.0}
    below = {name: float(rng.uniform(0.3, 1)) for name in causes if rng.random() < 0.6} or {causes[-1]: 1.0}
    scale = float(rng.choice([1.0, 2.0]))

    def f(values: Values) -> Any:
        top, bottom = (sum(c * np.asarray(values[n], dtype=float) for n, c in side.items()) for side in (above, below))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(bottom == 0, np.nan, scale * top / bottom)

    return ee.Ratio(above, below, scale), additive(f)


def multiplied(rng: np.random.Generator, causes: list[str]) -> tuple[Any, Follow]:
    """A product of causes."""
    scale = float(rng.normal(0, 0.5))
    return ee.Product(causes, scale), additive(lambda values: scale * np.prod([values[n] for n in causes], axis=0))


def additive(f: Callable[[Values], Any]) -> Follow:
    return lambda own, before, after: own + (f(after) - f(before))


def graded(rng: np.random.Generator, causes: list[str]) -> tuple[Any, Follow]:
    """Three grades by proportional odds: the noise is the middle of what gives the person's grade."""
    coef = {name: float(rng.normal(0, 1.2)) for name in causes}
    cuts = np.sort(rng.normal(1, 1.5, 2))
    cuts[1] = max(cuts[1], cuts[0] + 0.3)
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])

    def score(values: Values) -> Any:
        return sum(coef[name] * values[name] for name in causes)

    def follow(own: Any, before: Values, after: Values) -> Any:
        rank = np.array([GRADES.index(level) for level in np.ravel(own)])
        s, t = (np.broadcast_to(np.ravel(score(v)), len(rank)) for v in (before, after))
        u = 0.5 * (expit(ends[rank] - s) + expit(ends[rank + 1] - s))
        cumulative = expit(cuts[None, :] - t[:, None])
        moved = np.any([np.ravel(before[n]) != np.ravel(after[n]) for n in causes], axis=0)
        new = (cumulative < u[:, None]).sum(axis=1)
        return np.array(GRADES, dtype=object)[np.where(moved, new, rank)]

    return ee.CumulativeLogit(coef, cuts.tolist(), order=list(GRADES)), follow


BENT = (terms, curves, growth, grown)


def classifier(rng: np.random.Generator, people: pd.DataFrame, kind: str, classes: int) -> Any:
    """Trained on people spread more widely than those asked about; grades are one-hot encoded."""
    numbers = [name for name in ("a", "b", "c", "d", "e") if name in people]
    seen = [*numbers, "grade"] if "grade" in people else numbers
    many = pd.DataFrame({name: rng.permutation(np.repeat(people[name].to_numpy(), 40)) for name in seen})
    for name in (name for name in numbers if name in "abc"):
        many[name] = rng.uniform(0, 4, len(many)).round(3)
    many["d"] = many["d"] + rng.normal(0, 2, len(many))
    score = many[numbers].to_numpy(dtype=float) @ rng.normal(0, 1, len(numbers))
    if "grade" in people:
        score += rng.normal(0, 2) * (many["grade"] == "high") + rng.normal(0, 2) * (many["grade"] == "low")
    label = (score > np.quantile(score, 0.7)).astype(int)
    if classes > 2:
        label = np.where(np.abs(score - np.median(score)) < 0.3 * score.std(), 2, label)
    seed = int(rng.integers(1000))
    model: Any = {
        "linear": LogisticRegression(C=10.0, max_iter=2000),
        "tree": DecisionTreeClassifier(max_depth=4, random_state=seed),
        "forest": RandomForestClassifier(5, max_depth=4, random_state=seed),
        "network": MLPClassifier((6, 4), solver="lbfgs", max_iter=200, random_state=seed),
    }[kind]
    if "grade" in people:
        encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["grade"]), remainder="passthrough")
        model = make_pipeline(encode, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(many, label)


def make(family: str, seed: int) -> Case:
    """A random case of a family: b follows a, d follows both, e stays."""
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    whole = family == "whole" or (family in ("levels", "ratios") and rng.random() < 0.7)
    n = 6
    amounts = np.zeros((n, 2))
    while not np.ptp(amounts, axis=0).all():
        # What is the same for everybody has no range to be priced by, and is refused.
        amounts = rng.integers(0, 5, (n, 2)).astype(float) if whole else rng.uniform(0, 4, (n, 2)).round(3)
    people = pd.DataFrame(amounts, columns=["a", "b"])
    if whole:
        people = people.astype(int)
    people["d"], people["e"] = rng.normal(0, 1, n).round(3), rng.normal(0, 1, n).round(3)
    people["sex"] = np.where(np.arange(n) % 2, "f", "m")
    third = family == "whole" and rng.random() < 0.4
    if third:
        people.insert(2, "c", rng.permutation([0, 4, *rng.integers(0, 5, n - 2)]))
    if family == "ratios":
        people[["a", "b"]] += 1
    kinds = [grown, grown] if family == "cells" else [BENT[int(rng.integers(len(BENT)))] for _ in range(2)]
    if family == "ratios":
        kinds = [(quotient, multiplied)[int(rng.integers(2))], quotient]
    mechanisms: dict[str, Any] = {}
    follow: dict[str, Follow] = {}
    edges = [("a", "d"), ("b", "d")]
    two = rng.random() < 0.6
    if two:
        edges.append(("a", "b"))
        mechanisms["b"], follow["b"] = kinds[0](rng, ["a"])
    if third:
        edges += [("b", "c"), ("c", "d")]
        mechanisms["c"], follow["c"] = BENT[int(rng.integers(len(BENT)))](rng, ["b"])
    mechanisms["d"], follow["d"] = kinds[1](rng, ["a", "b", "c"] if third else ["a", "b"])
    roles: dict[str, Any] = {"e": "immutable"}
    if family == "levels":
        people["grade"] = rng.permutation([*GRADES, *GRADES])
        edges += [("b", "grade")]
        mechanisms["grade"], follow["grade"] = graded(rng, ["b"])
        settable = rng.random() < 0.5
        roles["grade"] = ee.Feature("actionable", weight=0.3) if settable else "mutable"
    prices, limits, ranges = {}, {}, {}
    acts = ["a", "b", "c"] if third else ["a", "b"] if rng.random() < 0.8 else ["a"]
    for name in ("a", "b", "c") if third else ("a", "b"):
        if name not in acts:
            roles[name] = "mutable"
            continue
        up, down = rng.uniform(0.3, 1.5, 2).round(2)
        low, high = (0.0, 4.0) if rng.random() < 0.8 else (-2.0, 6.0)
        if family == "ratios":
            low, high = low + 1, high + 1
        roles[name] = ee.Feature("actionable", lower=low, upper=high, weight=(float(up), float(down)))
        spread = float(people[name].max() - people[name].min())
        prices[name], limits[name] = (up / spread, down / spread), (low, high)
    if family == "levels" and settable:
        prices["grade"] = (0.3, 0.3)
    roles["d"] = "mutable"
    if family != "cells" and rng.random() < 0.5:
        reach = float(rng.uniform(1, 4))
        roles["d"] = ee.Feature("mutable", plausible=(-reach, reach))
        ranges["d"] = (-reach, reach)
    rules: list[Any] = []
    rule: Any = None
    if family != "cells" and rng.random() < 0.3 and "b" in acts:
        most = float(rng.integers(4, 8))
        rules = [ee.Sum({"a": 1, "b": 1}, upper=most)]

        def rule(before: Values, after: Values) -> Any:
            # Who is beyond already may stay there, but go no further.
            return after["a"] + after["b"] <= np.maximum(most, before["a"] + before["b"]) + 1e-9

    kind = "tree" if family == "cells" else ("linear", "tree", "forest", "network")[int(rng.integers(4))]
    classes = 3 if rng.random() < 0.25 else 2
    model = classifier(rng, people, kind, classes)
    favourable = [(1,), (1, 2)][int(rng.integers(2))] if classes == 3 else (1,)
    scm = ee.StructuralCausalModel(edges, nodes=["sex", "e"], mechanisms=mechanisms).fit(people)
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=list(favourable), features=unlimited(roles), rules=rules
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
        problem = ee.RecourseProblem.of(model, people, schema=schema, scm=scm)
    case = Case(people, follow, model, problem, prices, limits, ranges, rule, favourable, {}, edges, mechanisms, schema)
    if whole:
        case.values = {name: np.arange(low, high + 1) for name, (low, high) in limits.items()}
    elif family == "cells":
        case.values = {name: _cells(case, mechanisms, name) for name in limits}
    return case


def _cells(case: Case, mechanisms: dict[str, Any], name: str) -> Any:
    """Both sides of every threshold on an action, and its limits: between two of them nothing changes."""
    at = [_thresholds(model, index) for model, index in (
        (mechanisms["d"].estimator, ["a", "b"].index(name)),
        (case.classifier, list(case.classifier.feature_names_in_).index(name)),
        *([(mechanisms["b"].estimator, 0)] if name == "a" and "b" in mechanisms else []),
    )]  # fmt: skip
    cuts, (low, high) = np.unique(np.concatenate(at)), case.limits[name]
    found = np.concatenate([cuts - BESIDE, cuts + BESIDE, [low, high]])
    return found[(found >= low) & (found <= high)]


def _thresholds(model: Any, index: int) -> Any:
    trees = list(np.ravel(model.estimators_)) if hasattr(model, "estimators_") else [model]
    return np.concatenate([one.tree_.threshold[one.tree_.feature == index] for one in trees])


def labels(case: Case, after: Values, n: int) -> Any:
    """What the classifier says."""
    frame = pd.DataFrame({name: np.broadcast_to(after[name], n) for name in case.classifier.feature_names_in_})
    return np.isin(case.classifier.predict(frame), case.favourable)


def attempt(case: Case, person: dict[str, Any], picked: dict[str, Any], values: Values) -> Any:
    """Costs of actions, infinite where they do not work. `picked` says for each action which rows set it."""
    n = len(next(iter(values.values())))
    before = {
        name: np.full(n, value, dtype=object if isinstance(value, str) else float) for name, value in person.items()
    }
    after = dict(before)
    cost, works = np.zeros(n), np.ones(n, dtype=bool)
    for name in ("a", "b", "c", "d", "grade", "g"):
        if name not in person:
            continue
        if name in case.follow:
            after[name] = case.follow[name](before[name], before, after)
        if name in picked:
            after[name] = np.where(picked[name], values[name], after[name])
            up, down = case.prices[name]
            if name == "grade":
                cost += up * (picked[name] & (values[name] != before[name]))
            else:
                change = np.where(picked[name], values[name] - before[name], 0.0)
                cost += np.where(change > 0, up, down) * np.abs(change)
                low, high = case.limits[name]
                inside = (values[name] >= min(low, person[name])) & (values[name] <= max(high, person[name]))
                works &= inside | ~picked[name]
        if after[name].dtype == float:
            works &= ~np.isnan(after[name])
    for name, (low, high) in case.ranges.items():
        works &= (after[name] >= min(low, person[name]) - 1e-9) & (after[name] <= max(high, person[name]) + 1e-9)
    if case.rule is not None:
        works &= case.rule(before, after)
    rows = np.flatnonzero(works)
    if len(rows):
        works[rows] = labels(case, {name: value[rows] for name, value in after.items()}, len(rows))
    return np.where(works, cost, INF)


def combinations(case: Case, person: dict[str, Any], grids: Values) -> tuple[dict[str, Any], Values]:
    """All combinations of leaving, keeping and setting."""
    options = [[None, person[name], *grids[name]] for name in case.prices]
    rows = list(itertools.product(*options))
    picked = {name: np.array([row[k] is not None for row in rows]) for k, name in enumerate(case.prices)}
    values = {
        name: np.array(
            [person[name] if row[k] is None else row[k] for row in rows], dtype=object if name == "grade" else float
        )
        for k, name in enumerate(case.prices)
    }
    return picked, values


def cheapest(case: Case, person: dict[str, Any]) -> float:
    """The least cost that the oracle finds."""
    grids: Values = dict(case.values)
    if "grade" in case.prices:
        grids["grade"] = list(GRADES)
    for name in case.limits:
        grids.setdefault(name, np.linspace(*case.limits[name], 33))
    picked, values = combinations(case, person, grids)
    cost = attempt(case, person, picked, values)
    if case.values or not np.isfinite(cost).any():
        return float(cost.min())
    best = np.argsort(cost, kind="stable")[:5]
    best = best[np.isfinite(cost[best])]
    starts = [
        ({name: bool(p[i]) for name, p in picked.items()}, {name: v[i] for name, v in values.items()}) for i in best
    ]
    return min(zoomed(case, person, starts), float(cost.min()))


def zoomed(case: Case, person: dict[str, Any], starts: list[tuple[dict[str, bool], Values]]) -> float:
    """Ever finer grids about the best points, all of them tried together."""
    centres, least = [dict(values) for _, values in starts], np.full(len(starts), INF)
    for level in range(12):
        picks: list[dict[str, Any]] = []
        rows: list[Values] = []
        owner: list[int] = []
        for k, (picked, _) in enumerate(starts):
            axes = []
            for name in case.prices:
                if name in case.limits and picked[name]:
                    low, high = case.limits[name]
                    step = (high - low) / 32 / 2.5**level
                    axes.append([*(centres[k][name] + step * np.linspace(-1, 1, 9)), person[name]])
                else:
                    axes.append([centres[k][name]])
            mesh = list(itertools.product(*axes))
            rows += [dict(zip(case.prices, point, strict=True)) for point in mesh]
            picks += [picked] * len(mesh)
            owner += [k] * len(mesh)
        values = {
            name: np.array([row[name] for row in rows], dtype=object if name == "grade" else float)
            for name in case.prices
        }
        cost = attempt(case, person, {name: np.array([p[name] for p in picks]) for name in case.prices}, values)
        for k in range(len(starts)):
            mine = np.flatnonzero(np.array(owner) == k)
            at = mine[cost[mine].argmin()]
            if cost[at] < least[k]:
                least[k], centres[k] = cost[at], rows[at]
    return float(least.min())


def compare(case: Case, solver: Any, label: str) -> Tally:
    """Statuses, costs and bounds against the oracle."""
    tally = Tally(cases=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
        table = ee.solve(case.problem, case.people, solver=solver)
    refused = ~np.asarray(labels(case, {name: case.people[name].to_numpy() for name in case.people}, len(case.people)))
    for row in np.flatnonzero(refused).tolist():
        person = case.people.drop(columns="sex").iloc[row].to_dict()
        best = cheapest(case, person)
        status, cost, bound = table.status[row], float(table.cost[row]), float(table.bound[row])
        tally.people += 1
        fault = ""
        if status == ee.Status.INFEASIBLE:
            tally.infeasible += 1
            fault = f"infeasible, but {best:.6g} works" if best < INF else ""
        elif status == ee.Status.OPTIMAL:
            tally.optimal += 1
            if cost > best / (1 - solver.gap) + NEAR:
                fault = f"optimal at {cost:.6g}, but {best:.6g} works"
            elif case.values and cost < best - NEAR:
                fault = f"{cost:.6g} is less than anything that works, {best:.6g}"
        else:
            tally.feasible += 1
            if case.values and status == ee.Status.UNKNOWN and not table.notes.get(row):
                fault = "unknown without a word"
        if not fault and status != ee.Status.INFEASIBLE and bound > best + NEAR:
            fault = f"its bound is {bound:.6g}, but {best:.6g} works"
        if fault:
            tally.disagreements.append(f"{label}, person {row}: {fault}")
    return tally


def run(family: str, seeds: Any, solver: Any = None) -> Tally:
    """Many cases of a family."""
    tally = Tally()
    for seed in seeds:
        tally += compare(make(family, seed), solver or SpatialBranchAndBound(), f"{family} {seed}")
    return tally
