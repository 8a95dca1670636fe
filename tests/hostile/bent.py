"""Bent equations in other units, with other weights and with outliers in the reference: the worlds of the oracle for
bent equations, with a column besides that follows and must not move.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests import oracles_bent
from tests.hostile.judged import KEPT, Told, asked, count
from tests.hostile.units import Units
from tests.oracles import Tally

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.world.scm import Curves
from equieffort.world.scm.curves import Curve
from equieffort.world.scm.mechanisms import Fitted

INF = float("inf")
STEP = 2.0**-22
"""How far apart single-precision numbers lie, relative to them: what trees need to pass a threshold, twice."""
SCALED = ("whole", "cells", "amounts", "levels")
"""Families whose equations are written in other units here."""


@dataclass(eq=False)
class Bent:
    """A case of the oracle, and the numbers by which prices are other than there."""

    case: oracles_bent.Case
    units: Units
    weight: float
    reference: pd.DataFrame | None
    problem: ee.RecourseProblem
    people: pd.DataFrame


def still(rng: np.random.Generator, case: oracles_bent.Case) -> None:
    """A column that follows b or a and must not move: whoever changes its cause has to hold it, or to leave it."""
    cause = "b" if rng.random() < 0.7 else "a"
    slope, square = float(rng.normal(0, 1)), float(rng.normal(0, 0.3)) if rng.random() < 0.6 else 0.0
    terms = [(slope, {cause: 1})] + ([(square, {cause: 2})] if square else [])
    case.people["g"] = rng.normal(0, 1, len(case.people)).round(3)
    case.mechanisms["g"] = ee.Terms(terms)
    case.follow["g"] = oracles_bent.additive(lambda v: slope * v[cause] + square * v[cause] ** 2)
    case.edges.append((cause, "g"))
    case.ranges["g"] = (INF, -INF)
    case.schema = replace(case.schema, features={**case.schema.features, "g": "immutable"})


def mechanism_in(node: str, mechanism: Any, units: Units, causes: list[str]) -> Any:
    """An equation in new units."""
    f = units.f(node)
    if isinstance(mechanism, ee.Terms):
        return ee.Terms(
            [
                (c * f / np.prod([units.f(n) ** p for n, p in powers.items()]), powers)
                for c, powers, _ in mechanism.terms
            ]
        )
    if isinstance(mechanism, Curves):
        return Curves({n: _curve(curve, f, units.f(n)) for n, curve in mechanism.curves.items()})
    if isinstance(mechanism, ee.Function):
        return _function(mechanism, f, units)
    if isinstance(mechanism, ee.CumulativeLogit):
        coef = {name: w / units.f(name) for name, w in mechanism.coef.items()}
        return ee.CumulativeLogit(coef, mechanism.cuts, order=mechanism.order)
    assert isinstance(mechanism, Fitted)
    return Fitted(_grown(mechanism.estimator, f, [units.f(n) for n in causes]), mechanism.name)


def _curve(curve: Curve, f: float, unit: float) -> Curve:
    return Curve(
        tuple(x * unit for x in curve.breaks),
        tuple(x * unit for x in curve.origins),
        tuple(tuple(c * f / unit**k for k, c in enumerate(coefs)) for coefs in curve.coefs),
    )


def _function(function: ee.Function, f: float, units: Units) -> ee.Function:
    def plain(values: Any) -> Any:
        return {name: units.plain(name, np.asarray(values[name], dtype=float)) for name in values}

    def bounds(low: Any, high: Any) -> Any:
        least, most = function.bounds(plain(low), plain(high))
        return f * least, f * most

    return ee.Function(lambda values: f * function.f(plain(values)), bounds=bounds)


def _grown(model: Any, f: float, factors: list[float]) -> Any:
    """Trees that answer f times as much, about causes that are `factors` times as large."""
    model = deepcopy(model)
    for tree in np.ravel(model.estimators_) if hasattr(model, "estimators_") else [model]:
        for k, factor in enumerate(factors):
            tree.tree_.threshold[tree.tree_.feature == k] *= factor
        tree.tree_.value[:] *= f
    if hasattr(model, "init_"):
        model.init_.constant_ = model.init_.constant_ * f
    return model


def classifier_in(rng: np.random.Generator, model: Any, units: Units) -> Any:
    """The same decisions in new units: behind a scaler, or with other coefficients."""
    names, last = list(model.feature_names_in_), model
    graded = "grade" in names
    if graded:
        last = model.steps[-1][1]
    numbers = [name for name in names if name != "grade"]
    if isinstance(last, LogisticRegression) and not graded and rng.random() < 0.5:
        last = deepcopy(last)
        last.coef_ = last.coef_ / np.array([units.f(name) for name in numbers])
        return last
    scaler = StandardScaler()
    scaler.mean_ = np.zeros(len(numbers))
    scaler.scale_ = np.array([units.f(name) for name in numbers])
    scaler.var_, scaler.n_features_in_, scaler.n_samples_seen_ = scaler.scale_**2, len(numbers), 100
    scaler.feature_names_in_ = np.array(numbers, dtype=object)
    bare = deepcopy(last)
    if not graded:
        # Behind the scaler there are no names.
        del bare.feature_names_in_
        return make_pipeline(scaler, bare)
    sample = pd.DataFrame({n: np.arange(3.0) for n in numbers} | {"grade": list(oracles_bent.GRADES)})[names]
    parts = [("levels", OneHotEncoder(sparse_output=False), ["grade"]), ("numbers", StandardScaler(), numbers)]
    encode = ColumnTransformer(parts).fit(sample)
    encode.named_transformers_["numbers"].__dict__.update(scaler.__dict__)
    return make_pipeline(encode, bare)


def problem_in(
    rng: np.random.Generator,
    case: oracles_bent.Case,
    units: Units,
    weight: float = 1.0,
    reference: pd.DataFrame | None = None,
) -> ee.RecourseProblem:
    """The problem in new units, with all weights multiplied and the scales of another reference."""
    people = units.frame(case.people)
    causes = {node: [a for a, b in case.edges if b == node] for node in case.mechanisms}
    mechanisms = {n: mechanism_in(n, m, units, causes[n]) for n, m in case.mechanisms.items()}
    features = {}
    for name, feature in case.schema.features.items():
        if isinstance(feature, str):
            features[name] = feature
            continue
        limits = units.limits(name, {k: getattr(feature, k) for k in ("lower", "upper", "plausible")})
        features[name] = replace(feature, **limits, weight=tuple(weight * w for w in feature.weights))
    rules = [
        ee.Sum({n: w / units.f(n) for n, w in rule.weights.items()}, upper=rule.upper) for rule in case.schema.rules
    ]
    schema = replace(case.schema, features=features, rules=rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        scm = ee.StructuralCausalModel(case.edges, nodes=["sex", "e"], mechanisms=mechanisms).fit(people)
        return ee.RecourseProblem.of(
            classifier_in(rng, case.classifier, units), people, schema=schema, scm=scm,
            reference=None if reference is None else units.frame(reference),
        )  # fmt: skip


def price_fault(case: oracles_bent.Case, person: dict[str, Any], told: Told, least: float, gap: float) -> str:
    """Empty if what is claimed can be true, given something that works: nothing is judged against absolute amounts."""
    said = f"{told}, but {least!r} works"
    if least == INF:
        return ""
    if told.status == "infeasible":
        return said
    if told.bound > least * (1 + 1e-6):
        return f"{said}, below its bound"
    step = sum(
        max(case.prices[name]) * (1e-8 * np.ptp(case.people[name].to_numpy(dtype=float)) + STEP * abs(person[name]))
        for name in told.done if name in case.limits
    )  # fmt: skip
    return said if told.status == "optimal" and told.cost > least * (1 + gap + 1e-6) + step else ""


def _near(found: Any, wanted: Any, tolerance: float) -> bool:
    return found == wanted if isinstance(wanted, str) else abs(found - wanted) <= tolerance


def _followed(case: oracles_bent.Case, name: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Any]:
    """What a column becomes; trees jump, so also what it becomes a little to either side of where its causes are."""
    for side in itertools.product((0.0, -1e-6, 1e-6), repeat=2):
        beside = dict(after)
        for cause, off in zip("ab", side, strict=True):
            if not np.array_equal(after[cause], before[cause]):
                beside[cause] = after[cause] + off * np.ptp(case.people[cause].to_numpy(dtype=float))
        yield case.follow[name](before[name], before, beside)[0]


def kept_fault(case: oracles_bent.Case, person: dict[str, Any], told: Told, units: Units) -> str:
    """Empty if an action is allowed, follows the equations and turns the label."""
    if told.status not in ("optimal", "feasible"):
        return ""
    before = {n: np.array([v], dtype=object if isinstance(v, str) else float) for n, v in person.items()}
    after = dict(before)
    tolerance = {
        n: KEPT * np.ptp(case.people[n].to_numpy(dtype=float)) for n in person if not isinstance(person[n], str)
    }
    for name in ("a", "b", "c", "d", "grade", "g"):
        if name not in person:
            continue
        if name in told.done:
            after[name] = np.array([told.done[name]])
            low, high = case.limits.get(name, (-INF, INF))
            if name in tolerance and not min(low, person[name]) - tolerance[name] <= told.done[name]:
                return f"{name} is set to {told.done[name]!r}, below {low!r}"
            if name in tolerance and not told.done[name] <= max(high, person[name]) + tolerance[name]:
                return f"{name} is set to {told.done[name]!r}, above {high!r}"
        found = told.after[name]
        if name in case.follow and name not in told.done:
            if not any(
                _near(found, wanted, 100 * tolerance.get(name, 0.0)) for wanted in _followed(case, name, before, after)
            ):
                return f"{name} becomes {found!r}, not {case.follow[name](before[name], before, after)[0]!r}"
            after[name] = np.array([found], dtype=before[name].dtype)
        if name in case.ranges:
            low, high = case.ranges[name]
            if (
                not min(low, person[name]) - 10 * tolerance[name]
                <= found
                <= max(high, person[name]) + 10 * tolerance[name]
            ):
                return f"{name} becomes {found!r}, from {person[name]!r}, outside {case.ranges[name]}"
    if case.rule is not None and not case.rule(
        person, {n: v[0] - 10 * tolerance.get(n, 0) for n, v in after.items() if n in tolerance}
    ):
        return "the sum is above its limit"
    return "" if told.turns else "the label does not turn"


def run(rng: np.random.Generator, label: str, *, units: bool = False, prices: str = "") -> Tally:
    """A case in new units, or with prices that are tiny or huge: by weights or by one absurd reference row."""
    family = SCALED[int(rng.integers(len(SCALED)))]
    case = oracles_bent.make(family, int(rng.integers(2**31)))
    if rng.random() < 0.5:
        still(rng, case)
    names = [n for n in ("a", "b", "c", "d", "e", "g") if n in case.people and case.people[n].dtype.kind == "f"]
    new = Units.drawn(rng, names) if units else Units({}, {})
    weight, reference = 1.0, None
    if prices == "weights":
        weight = 10.0 ** float(rng.choice([*range(-12, -5), 6]))
        case.prices = {name: (up * weight, down * weight) for name, (up, down) in case.prices.items()}
    elif prices == "outliers":
        reference = with_outliers(rng, case.people, list(case.limits))
        for name in case.limits:
            factor = np.ptp(case.people[name].to_numpy(dtype=float)) / np.ptp(reference[name].to_numpy(dtype=float))
            case.prices[name] = (case.prices[name][0] * factor, case.prices[name][1] * factor)
    solver = ee.SpatialBranchAndBound(node_limit=4000)
    problem = problem_in(rng, case, new, weight, reference)
    refused = ~oracles_bent.labels(case, {n: case.people[n].to_numpy() for n in case.people}, len(case.people))
    if not refused.any():
        return Tally()
    told = asked(problem, new.frame(case.people), solver, new)
    tally, open_rows = Tally(cases=1), []
    for row in np.flatnonzero(refused)[:3].tolist():
        person = case.people.drop(columns="sex").iloc[row].to_dict()
        one, least = told[row], oracles_bent.cheapest(case, person)
        count(tally, one.status)
        if one.status == "unknown":
            open_rows.append(row)
        fault = price_fault(case, person, one, least, solver.gap) or kept_fault(case, person, one, new)
        if fault:
            tally.disagreements.append(f"{label} ({family}), person {row}: {fault}")
    if open_rows and units:
        plain = asked(problem_in(rng, case, Units({}, {})), case.people, solver, Units({}, {}))
        for row in open_rows:
            if plain[row].status in ("optimal", "infeasible"):
                tally.disagreements.append(
                    f"{label} ({family}), person {row}: {told[row]}, in plain units {plain[row]}"
                )
    return tally


def with_outliers(rng: np.random.Generator, people: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The people, and one or two who were entered wrongly: a sentinel or a slip of many digits."""
    rows = people.iloc[: int(rng.integers(1, 3))].copy()
    for name in names:
        if rng.random() < 0.8:
            value = float(rng.choice([999999, 500000, 1e9, -999999, 1e7]))
            rows[name] = int(value) if people[name].dtype.kind == "i" else value
    return pd.concat([people, rows], ignore_index=True)
