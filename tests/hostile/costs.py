"""Costs below every gap: weights from 1e-12 to 1e6, and reference data in which one absurd row makes prices tiny.

Nothing is judged against absolute amounts here: `optimal` may cost no more than (1 + gap) times the least, besides a
step over the boundary.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from tests import oracles, oracles_networks, oracles_trees
from tests.hostile.bent import with_outliers
from tests.hostile.judged import Told, action_fault, compare, count
from tests.hostile.rescaled import LINEAR, NETWORKS, TREES, asked_of_networks
from tests.hostile.units import Units
from tests.oracles import Tally, curve_of
from tests.samples import compared

import equieffort as ee
from equieffort.errors import EquieffortWarning

INF = float("inf")
PLAIN = Units({}, {})
NEAR = 1e-6
"""What the oracles' own programs leave open, relative to a cost."""
STEP = 1e-8
"""How far over a boundary an action may step, in spreads of the feature."""


def drawn_weight(rng: np.random.Generator) -> float:
    return 10.0 ** float(rng.choice([*range(-12, -5), 6]))


def weighted(case: Any, weight: float) -> Any:
    return replace(case, weights={name: (up * weight, down * weight) for name, (up, down) in case.weights.items()})


def relative_fault(case: Any, person: dict[str, Any], told: Told, truth: float, gap: float) -> str:
    """Empty if status, cost and bound can be true: everything is compared in proportion."""
    said = f"{told}, the oracle says {truth!r}"
    if told.status == "infeasible":
        return "" if truth == INF else said
    if truth == INF:
        return "" if told.status == "unknown" else said
    numbers = [name for name in told.done if name not in case.levels]
    spreads = {name: float(np.ptp(case.people[name].to_numpy(dtype=float))) for name in numbers}
    step = sum(_price(case, name, person[name]) * STEP * spread for name, spread in spreads.items())
    if told.bound > truth * (1 + NEAR) + step or (told.status != "unknown" and told.cost < truth * (1 - NEAR) - step):
        return said
    return said if told.status == "optimal" and told.cost > truth * (1 + gap + NEAR) + step else ""


def _price(case: Any, name: str, fact: float) -> float:
    """The most that a unit costs."""
    if not isinstance(case, oracles.Case) and not case.scales:
        return max(case.price(name))
    curve = curve_of(case, name, fact)
    width = np.diff(curve.points)
    slopes = np.abs(np.diff(curve.heights))[width > 0] / width[width > 0]
    return float(max(curve.down, curve.up, *slopes))


def linear(rng: np.random.Generator, solver: Any, label: str, *, outliers: bool = False, most: int = 4) -> Tally:
    family = LINEAR[int(rng.integers(len(LINEAR)))]
    case = replace(oracles.random_case(rng, family), margin=0.0)
    weight, truth = 1.0, oracles.vertex_oracle
    if outliers:
        case = replace(case, reference=with_outliers(rng, case.people, case.numbers))
    else:
        weight = drawn_weight(rng)
        truth = oracles.ORACLES[family]
    new = weighted(case, weight)

    def judge(_: int, person: dict[str, Any], told: Told) -> str:
        fault = relative_fault(new, person, told, weight * truth(case, person), solver.gap)
        return fault or action_fault(case, person, told, PLAIN)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = oracles.problem_of(new)
    pair = (problem, lambda: oracles.problem_of(case))
    return compare(pair, (case.people, case.people), solver, PLAIN, judge, f"{label} ({family})", most)


def trees(rng: np.random.Generator, solver: Any, label: str) -> Tally:
    family = TREES[int(rng.integers(len(TREES)))]
    case, weight = oracles_trees.random_case(rng, family), drawn_weight(rng)
    new = weighted(case, weight)

    def judge(_: int, person: dict[str, Any], told: Told) -> str:
        truth = weight * oracles_trees.least_cost(case, person)
        return relative_fault(new, person, told, truth, solver.gap) or action_fault(case, person, told, PLAIN)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = oracles_trees.problem_of(new)
    people = case.people.iloc[:4]
    pair = (problem, lambda: oracles_trees.problem_of(case))
    return compare(pair, (people, people), solver, PLAIN, judge, f"{label} ({family})", most=2)


def networks(rng: np.random.Generator, solver: Any, label: str, *, outliers: bool = False) -> Tally:
    family = NETWORKS[int(rng.integers(len(NETWORKS)))]
    made = oracles_networks.random_network(rng, family)
    if outliers:
        # Everything that is set gets the same outlier, so that the oracle's programs keep numbers of one size.
        names = [name for name in made.case.numbers if made.case.scales[name] in ("range", "std")]
        if len(names) < len(made.case.numbers):
            return Tally()
        size, row = float(rng.choice([1e5, 1e6, 1e9])), made.case.people.iloc[:1].copy()
        for name in names:
            value = made.case.people[name].mean() + size * made.case.spreads[name]
            row[name] = int(value) if name in made.case.wholes else value
        reference = pd.concat([made.case.people, row], ignore_index=True)
        plain = replace(made, case=weighted(replace(made.case, reference=reference), size))
        new, weight = replace(made, case=replace(made.case, reference=reference)), 1 / size
    else:
        plain, weight = made, drawn_weight(rng)
        new = replace(made, case=weighted(made.case, weight))
    rows = asked_of_networks(made)
    if len(rows) == 0:
        return Tally()

    def judge(_: int, person: dict[str, Any], told: Told) -> str:
        truth = weight * oracles_networks.network_oracle(plain, person)
        fault = relative_fault(new.case, person, told, truth, solver.gap)
        return fault or action_fault(made.case, person, told, PLAIN)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = oracles_networks.problem_of(new)
    people = made.case.people.iloc[rows]
    pair = (problem, lambda: oracles_networks.problem_of(plain))
    return compare(pair, (people, people), solver, PLAIN, judge, f"{label} ({family})", most=2)


# Whole audits with a closed form


def audits(rng: np.random.Generator, label: str) -> Tally:
    """One action a, and d that follows it by a line or a parabola: the least a is the root of a quadratic.

    All numbers are 64ths, so that some people stand exactly on the boundary: an effort that vanishes. The audit's ACR
    must be that of the closed form, whatever the prices are.
    """
    n = int(rng.integers(8, 15))
    a = rng.integers(0, 4 * 64, n) / 64
    threshold, bend = int(rng.integers(64, 512)) / 64, float(rng.choice([0.0, 0.25, 0.5]))
    slope = float(rng.choice([0.0, 0.5, 1.0]))
    short = rng.integers(1, 6 * 64, n) / 64
    short[rng.random(n) < 0.25] = 0.0
    short[rng.random(n) < 0.2] *= 2.0**-20
    d = threshold - a - short
    people = pd.DataFrame({"a": a, "d": d, "sex": rng.permutation(["f", "m"] * n)[:n]})
    people.loc[:1, "sex"] = ["f", "m"]
    if np.ptp(a) == 0:
        return Tally()
    upper = float(rng.choice([6.0, 40.0]))
    weight = float(rng.choice([1.0, 1.0, 1e-3, 1e-6, 1e-9, 1e6]))
    reference = with_outliers(rng, people, ["a"]) if rng.random() < 0.6 else people
    mechanism = ee.Linear({"a": slope}) if bend == 0 else ee.Terms([(slope, {"a": 1}), (bend, {"a": 2})])
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True,
        features={"a": ee.Feature("actionable", lower=0.0, upper=upper, weight=weight), "d": "mutable"},
    )  # fmt: skip
    # The boundary must be passed, so that an upper limit just there is one too many.
    # a' + slope a' + bend a'^2 = threshold - (d - slope a - bend a^2), and rises with a' from 0 on
    right = threshold - (d - slope * a - bend * a**2)
    root = right / (1 + slope)
    if bend:
        root = (-(1 + slope) + np.sqrt((1 + slope) ** 2 + 4 * bend * right)) / (2 * bend)
    truth = np.where(root < upper, weight * np.maximum(root - a, 0) / np.ptp(reference["a"]), INF)
    truth[short == 0] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        scm = ee.StructuralCausalModel([("a", "d")], nodes=["sex"], mechanisms={"d": mechanism}).fit(people)
        model = ee.LinearScore({"a": 1.0, "d": 1.0}, threshold=threshold, closed=False)
        audit = ee.audit(
            model, people, schema=schema, scm=scm, reference=reference, criteria=ee.Criteria(min_people=1),
            solver=ee.Auto(node_limit=1000),
        )  # fmt: skip
    table, gap = audit.recourse, 1e-4 if bend else 1e-9
    step = weight * 1e-8 * np.ptp(a) / np.ptp(reference["a"])
    tally = Tally(cases=1)
    for row, status in enumerate(table.frame()["status"]):
        count(tally, status)
        costs = f"{status} at {table.cost[row]!r}, effort {table.effort[row]!r}, in truth {truth[row]!r}"
        if status == "infeasible":
            wrong = truth[row] < INF
        elif status == "optimal":
            wrong = not truth[row] * (1 - 1e-6) - step <= table.effort[row] <= truth[row] * (1 + gap) + step
        else:
            wrong = table.bound[row] > truth[row] * (1 + 1e-6) + step
        if wrong:
            tally.disagreements.append(f"{label}, person {row}: {costs}")
    if (table.frame()["status"].isin(["optimal", "infeasible"])).all():
        found = compared(audit).loc["f"]
        mine, theirs = (truth[(people["sex"] == sex) & (truth < INF)] for sex in "fm")
        if len(mine) and len(theirs) and theirs.mean() > 100 * step and mine.mean() > 100 * step:
            acr = mine.mean() / theirs.mean()
            if not abs(found["acr"] - acr) <= 3 * gap * acr + 1e-6:
                tally.disagreements.append(f"{label}: ACR {found['acr']!r}, in truth {acr!r}")
            least, most = found["acr_least"], found["acr_most"]
            if not least * (1 - 1e-6) <= acr <= most * (1 + 1e-6):
                tally.disagreements.append(f"{label}: ACR in [{least}, {most}], in truth {acr!r}")
    return tally
