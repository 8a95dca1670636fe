"""Linear worlds with many actions: every set of interventions and every way to keep the rules, one HiGHS program each.

The oracle reads a case as plain numbers; only `problem_of` hands it to the package.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, milp
from tests.oracles import Tally, judge

import equieffort as ee

FAMILIES = ("long chains", "long graphs", "long whole", "long rows", "long rules", "long rules whole")
INF = float("inf")


@dataclass(eq=False)
class Case:
    """Numbers alone; columns in causal order, all of them actionable but the last, which only follows."""

    people: np.ndarray
    carries: np.ndarray
    """(cause, effect)"""
    weights: np.ndarray
    threshold: float
    low: np.ndarray
    high: np.ndarray
    """(column) that may be set."""
    whole: np.ndarray
    ranges: dict[int, tuple[float, float]] = field(default_factory=dict)
    sums: list[tuple[dict[int, float], float]] = field(default_factory=list)
    """Weights, and what the sum may be at most."""
    implies: list[tuple[int, float, int, float]] = field(default_factory=list)
    """If the first is above a number, the other is at least another."""

    @property
    def count(self) -> int:
        """How many actions there are."""
        return self.people.shape[1] - 1


def random_case(family: str, seed: int) -> Case:
    """A world of some family."""
    rng = np.random.default_rng([FAMILIES.index(family), seed])
    k = int(rng.integers(5, 8 if "long r" in family else 10))
    names, carries = k + 1, np.zeros((k + 1, k + 1))
    for q in range(1, names):
        causes = [q - 1] if family == "long chains" else rng.choice(q, min(q, int(rng.integers(1, 4))), replace=False)
        carries[causes, q] = np.round(rng.normal(size=len(causes)), 2)
    people = np.round(rng.normal(size=(8, names)), 2)
    whole = np.zeros(names, dtype=bool)
    if "whole" in family:
        whole[:-1] = rng.random(k) < 0.5
        people[:, whole] = rng.integers(-2, 3, size=(8, int(whole.sum())))
    weights = np.round(rng.normal(size=names), 2)
    low, high = people.min(axis=0) - 0.5, people.max(axis=0) + 0.5
    low[whole], high[whole] = np.floor(low[whole]), np.ceil(high[whole])
    threshold = float(np.max(people @ weights)) + float(rng.uniform(0.1, 1.0)) * np.abs(weights).sum()
    case = Case(people, carries, weights, threshold, low, high, whole)
    if "long r" in family:
        for q in rng.choice(np.arange(1, names), 3, replace=False).tolist():
            case.ranges[q] = (float(people[:, q].min()) - 0.3, float(people[:, q].max()) + 0.3)
    if "rules" in family:
        parts = rng.choice(names, 3, replace=False).tolist()
        sums = people[:, parts].sum(axis=1)
        case.sums.append((dict.fromkeys(parts, 1.0), round(float(sums.max()) + 0.5, 2)))
        for _ in range(2):
            a, b = rng.choice(names, 2, replace=False).tolist()
            case.implies.append((a, round(float(np.median(people[:, a])) + 0.01, 3), b, -0.205))
    return case


def cheapest(case: Case, person: np.ndarray) -> float:
    """The least cost over all sets of interventions and all ways to keep the rules. A change by a range costs 1."""
    n, k = len(person), case.count
    moved = [bool(case.carries[:, q].any()) for q in range(k)]
    lack, best = case.threshold - case.weights @ person, INF
    for left in itertools.product(*((False, True) if may else (False,) for may in moved)):
        effect = np.zeros((n, k))
        for q in range(n):
            if q < k and not left[q]:
                effect[q, q] = 1.0
            else:
                effect[q] = case.carries[:, q] @ effect
        rows, low, high = [case.weights @ effect], [lack], [INF]
        for q, (least, most) in case.ranges.items():
            rows.append(effect[q])
            low.append(min(least, person[q]) - person[q])
            high.append(max(most, person[q]) - person[q])
        for weights, most in case.sums:
            now = sum(w * person[q] for q, w in weights.items())
            rows.append(sum(w * effect[q] for q, w in weights.items()))
            low.append(-INF)
            high.append(max(most, now) - now)
        ways = [_ways(case, person, effect, rule) for rule in case.implies]
        for chosen in itertools.product(*ways):
            extra = [row for way in chosen for row in way]
            least = _solved(case, person, left, rows + [r for r, _, _ in extra], low + [a for _, a, _ in extra],
                            high + [b for _, _, b in extra])  # fmt: skip
            best = min(best, least)
    return best


def _ways(case, person, effect, rule):
    """How an implication may hold: the cause stays at or below, or the other reaches its number. Who breaks it now may
    stay, but go no deeper on either side: both then hold with one side widened to where the person is."""
    a, above, b, least = rule
    below = (effect[a], -INF, above - person[a])
    reached = (effect[b], least - person[b], INF)
    if person[a] <= above or person[b] >= least:
        return [[below], [reached]]
    no_higher, no_lower = (effect[a], -INF, 0.0), (effect[b], 0.0, INF)
    return [list(pair) for pair in itertools.product((no_higher, reached), (below, no_lower))]


def _solved(case, person, left, rows, low, high):
    k = case.count
    matrix = np.array(rows)
    least, most = case.low[:k].copy(), case.high[:k].copy()
    for q, (range_low, range_high) in case.ranges.items():
        if q < k:
            least[q], most[q] = max(least[q], range_low), min(most[q], range_high)
    ends_low = np.where(left, 0.0, np.minimum(least, person[:k]) - person[:k])
    ends_high = np.where(left, 0.0, np.maximum(most, person[:k]) - person[:k])
    whole = case.whole[:k] & ~np.array(left)
    # HiGHS loses the best whole numbers of some of these programs: of some with presolving, of others without it.
    answers = [
        milp(
            np.tile(1.0 / np.ptp(case.people[:, :k], axis=0), 2),
            constraints=[LinearConstraint(np.hstack([matrix, -matrix]), low, high)],
            bounds=Bounds(np.zeros(2 * k), np.concatenate([np.maximum(ends_high, 0.0), np.maximum(-ends_low, 0.0)])),
            integrality=np.tile(whole, 2).astype(int),
            options={"presolve": presolve},
        )
        for presolve in ((True, False) if whole.any() else (True,))
    ]
    return min((float(answer.fun) for answer in answers if answer.status == 0), default=INF)


def problem_of(case: Case) -> tuple[ee.RecourseProblem, pd.DataFrame]:
    """The case as the package takes it."""
    names = [f"x{q}" for q in range(case.count + 1)]
    frame = pd.DataFrame(case.people, columns=names)
    for q in np.flatnonzero(case.whole).tolist():
        frame[names[q]] = frame[names[q]].astype(int)
    frame["side"] = ["a", "b"] * (len(frame) // 2)
    features: dict[str, ee.Feature] = {}
    for q, name in enumerate(names):
        limits = {} if q not in case.ranges else {"plausible": case.ranges[q]}
        if q < case.count:
            limits |= {"lower": float(case.low[q]), "upper": float(case.high[q])}
        features[name] = ee.Feature("actionable" if q < case.count else "mutable", **limits)
    rules = [ee.rules.Sum({names[q]: w for q, w in weights.items()}, upper=most) for weights, most in case.sums] + [
        ee.rules.Implies(f"{names[a]} > {above!r}", f"{names[b]} >= {least!r}") for a, above, b, least in case.implies
    ]
    edges = [(names[p], names[q]) for p, q in np.argwhere(case.carries != 0).tolist()]
    equations = {
        names[q]: ee.Linear({names[p]: float(case.carries[p, q]) for p in np.flatnonzero(case.carries[:, q])})
        for q in range(1, len(names))
        if case.carries[:, q].any()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
        scm = ee.StructuralCausalModel(edges, nodes=[*names, "side"], mechanisms=equations).fit(frame)
        schema = ee.Schema(sensitive="side", protected="a", favourable=True, features=features, rules=rules)
        model = ee.LinearScore(dict(zip(names, case.weights.tolist(), strict=True)), threshold=case.threshold)
        return ee.RecourseProblem.of(model, frame, schema=schema, scm=scm), frame


def run(family: str, seeds: range, solver: ee.solvers.Solver, people: int = 2) -> Tally:
    """Compare some people of many cases."""
    tally = Tally()
    for seed in seeds:
        case = random_case(family, seed)
        problem, frame = problem_of(case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
            table = ee.solve(problem, frame.iloc[:people], solver=solver).frame()
        tally.cases += 1
        for row in range(people):
            told = table.iloc[row]
            tally.people += 1
            fault = judge(told, cheapest(case, case.people[row]))
            if told.status in ("optimal", "feasible", "infeasible"):
                setattr(tally, told.status, getattr(tally, told.status) + 1)
            if fault:
                tally.disagreements.append(f"{family} seed {seed} person {row}: {fault}")
    return tally
