"""Oracles for the exact solver: random cases as plain data, and brute force that shares no code with the package.

A `Case` says who the people are, what causes what, which score must be reached and what may change at which cost.
The oracles read only that: they try every subset J of the actionable features and every combination of levels, write
each column's change as a linear function of the changes in J, and search what is left by other means than the package.
Only `problem_of` hands a case to the package.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.limits import unlimited

from equieffort.errors import EquieffortWarning
from equieffort.models.classifiers import LinearScore
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Solver
from equieffort.recourse.solving import solve
from equieffort.recourse.status import Infeasibility, Status
from equieffort.recourse.table import RecourseTable, SolvedSource
from equieffort.world.cost import Percentile, Separable, WeightedL1
from equieffort.world.scales import MAD, Own, Range, Std
from equieffort.world.schema import Feature, Schema
from equieffort.world.scm import Linear, StructuralCausalModel

INF = float("inf")
RELATIVE, ABSOLUTE = 1e-7, 1e-9
"""How far a cost may lie from the oracle's; the absolute part is the gap that `optimal` allows."""

Weight = float | dict[Any, float]
"""A number a unit, or for a category a number a level."""


@dataclass(frozen=True, eq=False)
class Case:
    """Everything that decides these people's recourse."""

    people: pd.DataFrame
    causes: dict[str, dict[str, Weight]]
    """Column -> its causes and their weights; columns in causal order."""
    score: dict[str, Weight]
    threshold: float
    closed: bool
    """Whether a score equal to the threshold is favourable; larger is better."""
    roles: dict[str, str]
    limits: dict[str, dict[str, Any]]
    """Column -> direction, lower, upper, max_increase, max_decrease, plausible: those that are there."""
    weights: dict[str, tuple[float, float]]
    scales: dict[str, str]
    """Numeric actionable column -> range, std, mad, own, percentile or separable."""
    factors: dict[str, float]
    functions: dict[str, Callable[[float, Any], Any]]
    knots: int
    reference: pd.DataFrame | None
    sensitive: str
    margin: float
    classifier: Any
    favourable: Any
    named: bool = True
    """Whether the graph names the columns that no edge mentions."""

    @cached_property
    def actionable(self) -> list[str]:
        return [name for name, role in self.roles.items() if role == "actionable"]

    @cached_property
    def levels(self) -> dict[str, list[Any]]:
        """Category -> its levels."""
        return {name: sorted(set(self.people[name])) for name in self.people if is_category(self.people[name])}

    @cached_property
    def wholes(self) -> set[str]:
        return {name for name in self.people if pd.api.types.is_integer_dtype(self.people[name])}

    @cached_property
    def spreads(self) -> dict[str, float]:
        return {name: float(self.people[name].std()) for name in self.people if name not in self.levels}

    @cached_property
    def numbers(self) -> list[str]:
        return [name for name in self.actionable if name not in self.levels]

    @cached_property
    def categories(self) -> list[str]:
        return [name for name in self.actionable if name in self.levels]

    def score_of(self, person: dict[str, Any]) -> float:
        return sum(term(weight, person[name]) for name, weight in self.score.items()) - self.threshold


def is_text(column: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(column)


def is_category(column: pd.Series) -> bool:
    return is_text(column) or pd.api.types.is_bool_dtype(column)


def term(weight: Weight, value: Any) -> float:
    """What a value contributes to a sum."""
    return weight.get(value, 0.0) if isinstance(weight, dict) else weight * value


# What is allowed and what it costs


def settable(case: Case, name: str, fact: float) -> tuple[float, float]:
    """The values an intervention may set; a fact outside a limit widens that limit to the fact."""
    limits = case.limits.get(name, {})
    plausible = limits.get("plausible") or (None, None)
    lows = [limits.get("lower"), plausible[0]]
    highs = [limits.get("upper"), plausible[1]]
    if limits.get("max_decrease") is not None:
        lows.append(fact - limits["max_decrease"])
    if limits.get("max_increase") is not None:
        highs.append(fact + limits["max_increase"])
    if limits.get("direction") == "up":
        lows.append(fact)
    if limits.get("direction") == "down":
        highs.append(fact)
    low = max((min(limit, fact) for limit in lows if limit is not None), default=-INF)
    high = min((max(limit, fact) for limit in highs if limit is not None), default=INF)
    return low, high


def believable(case: Case, name: str, fact: float) -> tuple[float, float]:
    """The values a column may have in the counterfactual, however they came about."""
    if name == case.sensitive or case.roles.get(name) == "immutable":
        return fact, fact
    low, high = case.limits.get(name, {}).get("plausible") or (None, None)
    return (-INF if low is None else min(low, fact)), (INF if high is None else max(high, fact))


@dataclass(frozen=True)
class Curve:
    """The cost of a change: linear between the points, and beyond them by a price a unit down and up."""

    points: np.ndarray
    heights: np.ndarray
    down: float
    up: float

    def __call__(self, change: Any) -> Any:
        below, above = np.maximum(self.points[0] - change, 0), np.maximum(change - self.points[-1], 0)
        return np.interp(change, self.points, self.heights) + self.down * below + self.up * above


def curve_of(case: Case, name: str, fact: float) -> Curve:
    up, down = (weight * case.factors.get(name, 1.0) for weight in case.weights[name])
    known = (case.people if case.reference is None else case.reference)[name].to_numpy(dtype=float)
    scale = case.scales[name]
    if scale in ("percentile", "separable"):
        values, heights, tails = _percentiles(known, fact) if scale == "percentile" else _read(case, name, known, fact)
        return Curve(values - fact, np.where(values > fact, up, down) * np.abs(heights), down * tails[0], up * tails[1])
    size = {
        "range": lambda: known.max() - known.min(),
        "std": lambda: np.sqrt(((known - known.mean()) ** 2).mean()),
        "mad": lambda: np.median(np.abs(known - np.median(known))),
        "own": lambda: abs(fact),
    }[scale]()
    return Curve(np.zeros(1), np.zeros(1), down / size, up / size)


def _percentiles(known: np.ndarray, fact: float) -> tuple[np.ndarray, np.ndarray, tuple[float, float]]:
    """The share of people at or below, linear between known values, and one over the range beyond them."""
    values = np.array(sorted(set(known)))
    price = 1 / (values[-1] - values[0])

    def share(value: float) -> float:
        if value < values[0]:
            return (known <= values[0]).mean() - price * (values[0] - value)
        if value > values[-1]:
            return 1 + price * (value - values[-1])
        left = values[values <= value][-1]
        if left == value:
            return (known <= value).mean()
        right = values[values > value][0]
        at_left, at_right = (known <= left).mean(), (known <= right).mean()
        return at_left + (at_right - at_left) * (value - left) / (right - left)

    points = np.array(sorted({*known, fact}))
    return points, np.array([share(v) - share(fact) for v in points]), (price, price)


def _read(case: Case, name: str, known: np.ndarray, fact: float) -> tuple[np.ndarray, np.ndarray, tuple[float, float]]:
    """The user's function at quantiles and at the fact; beyond them the average price from the middle to the end."""
    grid = np.quantile(known, np.linspace(0, 1, case.knots))
    low, high, cost = grid[0], grid[-1], case.functions[name]
    points = np.array(sorted({*grid, fact}))
    middle = (low + high) / 2
    ends = cost(middle, np.array([low, high])) / (high - middle)
    return points, np.asarray(cost(fact, points), dtype=float), (ends[0], ends[1])


# Every way to act, as constraints on the changes


@dataclass(frozen=True)
class Way:
    """One set J of numbers to change and one level a category: low <= matrix . change <= high."""

    names: tuple[str, ...]
    matrix: np.ndarray
    low: np.ndarray
    high: np.ndarray
    curves: list[Curve]
    price: float
    """What the changed levels cost."""


def moves(case: Case, person: dict[str, Any], chosen: tuple[str, ...], levels: dict[str, Any]) -> dict[str, Any]:
    """The change of each numeric column: its slope in the changes of `chosen`, and what the levels add.

    x'_j = x_j + change_j for j in `chosen`, otherwise x_j + f_j(causes') - f_j(causes).
    """
    found: dict[str, Any] = {}
    for name in case.causes:
        if name in case.levels:
            continue
        if name in chosen:
            found[name] = (np.eye(len(chosen))[chosen.index(name)], 0.0)
            continue
        slope, shift = np.zeros(len(chosen)), 0.0
        for cause, weight in case.causes[name].items():
            if cause in case.levels:
                shift += term(weight, levels.get(cause, person[cause])) - term(weight, person[cause])
            else:
                slope, shift = slope + weight * found[cause][0], shift + weight * found[cause][1]
        found[name] = (slope, shift)
    return found


def ways(case: Case, person: dict[str, Any]) -> Iterator[Way]:
    """All 2^a subsets times all combinations of levels, but for those that break a limit whatever the changes are."""
    options = [case.levels[name] for name in case.categories]
    curves = {name: curve_of(case, name, person[name]) for name in case.numbers}
    for picked in itertools.product(*options):
        levels = dict(zip(case.categories, picked, strict=True))
        price = sum(case.weights[name][0] for name, level in levels.items() if level != person[name])
        for size in range(len(case.numbers) + 1):
            for chosen in itertools.combinations(case.numbers, size):
                way = _way(case, person, chosen, levels)
                if way is not None:
                    yield Way(chosen, *way, [curves[name] for name in chosen], price)


def _way(
    case: Case, person: dict[str, Any], chosen: tuple[str, ...], levels: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The constraints, score included, as a matrix with low and high; None if a row that no change moves is broken."""
    found = moves(case, person, chosen, levels)
    rows = []
    for name, (slope, shift) in found.items():
        limit = settable if name in chosen else believable
        low, high = limit(case, name, person[name])
        rows.append((slope, low - person[name] - shift, high - person[name] - shift))
    for name, causes in case.causes.items():
        # A category has no equation: nothing says how it would follow, so its causes must stay.
        for cause in causes if name in case.levels else ():
            if cause not in case.levels:
                slope, shift = found[cause]
                rows.append((slope, -shift, -shift))
            elif levels.get(cause, person[cause]) != person[cause]:
                return None
    slope, shift = np.zeros(len(chosen)), 0.0
    for name, weight in case.score.items():
        if name in case.levels:
            shift += term(weight, levels.get(name, person[name])) - term(weight, person[name])
        else:
            slope, shift = slope + weight * found[name][0], shift + weight * found[name][1]
    rows.append((slope, case.margin - case.score_of(person) - shift, INF))
    for slope, low, high in rows:
        if not slope.any() and not low <= 0 <= high:
            return None
    rows = [row for row in rows if row[0].any()]
    matrix = np.array([row[0] for row in rows]).reshape(len(rows), len(chosen))
    return matrix, np.array([row[1] for row in rows]), np.array([row[2] for row in rows])


def _scaled(case: Case, way: Way) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Units in which changes and rows are about one, so that tolerances mean the same everywhere."""
    units = np.array([1.0 if name in case.wholes else case.spreads[name] for name in way.names])
    matrix = way.matrix * units
    size = np.abs(matrix).max(axis=1)
    return units, matrix / size[:, None], way.low / size, way.high / size


# Searches that have nothing in common but the constraints


def linprog_oracle(case: Case, person: dict[str, Any]) -> float:
    """Least cost for continuous features with constant prices: a linear program for each way to act."""
    best = INF
    for way in ways(case, person):
        if not way.names:
            best = min(best, way.price)
            continue
        units, matrix, low, high = _scaled(case, way)
        up, down = (np.array([getattr(curve, side) for curve in way.curves]) * units for side in ("up", "down"))
        both = np.hstack([matrix, -matrix])
        top, bottom = np.isfinite(high), np.isfinite(low)
        result = linprog(
            np.concatenate([up, down]),
            A_ub=np.vstack([both[top], -both[bottom]]),
            b_ub=np.concatenate([high[top], -low[bottom]]),
            bounds=(0, None),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        assert result.status in (0, 2), result.message
        if result.status == 0:
            best = min(best, way.price + result.fun)
    return best


def vertex_oracle(case: Case, person: dict[str, Any]) -> float:
    """Least cost for whole numbers in small ranges and any piecewise linear price.

    Whole numbers are tried all. Given these, cost is linear in every cell between the bends of the prices, so the
    least is at a corner of a cell cut by the constraints: all corners are tried.
    """
    best = INF
    for way in ways(case, person):
        if not way.names:
            best = min(best, way.price)
            continue
        units, matrix, low, high = _scaled(case, way)
        change = _corners(case, way, units, matrix, low, high)
        value = change @ matrix.T
        tolerance = 1e-9 * (1 + np.abs(value))
        change = change[((value >= low - tolerance) & (value <= high + tolerance)).all(axis=1)] * units
        costs = np.sum([curve(change[:, j]) for j, curve in enumerate(way.curves)], axis=0)
        best = min(best, way.price + costs.min(initial=INF))
    return float(best)


def _corners(
    case: Case, way: Way, units: np.ndarray, matrix: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Where as many planes meet as there are continuous features, for all whole numbers: a row a corner."""
    is_whole = np.array([name in case.wholes for name in way.names])
    ranges = []
    for j in np.flatnonzero(is_whole):
        alone = np.flatnonzero((matrix[:, j] != 0) & (np.count_nonzero(matrix, axis=1) == 1))
        ends = np.sort(np.array([low[alone], high[alone]]) / matrix[alone, j], axis=0)
        ranges.append(np.arange(np.ceil(ends[0].max() - 1e-9), np.floor(ends[1].min() + 1e-9) + 1))
    combined = list(itertools.product(*ranges))
    grid = np.array(combined, dtype=float).reshape(len(combined), len(ranges))
    free = np.flatnonzero(~is_whole)
    if len(free) == 0:
        return grid
    normals, heights = [], []
    for i, j in enumerate(free):
        for point in way.curves[j].points:
            normals.append(np.eye(len(free))[i])
            heights.append(np.full(len(grid), point / units[j]))
    for row, ends in zip(matrix, zip(low, high, strict=True), strict=True):
        for end in ends:
            if row[free].any() and np.isfinite(end):
                size = np.abs(row[free]).max()
                normals.append(row[free] / size)
                heights.append((end - grid @ row[is_whole]) / size)
    planes = np.array(list(itertools.combinations(range(len(normals)), len(free))))
    square = np.array(normals)[planes]
    meet = np.abs(np.linalg.det(square)) > 1e-9
    points = np.linalg.solve(square[meet], np.array(heights)[planes[meet]])
    change = np.empty((len(points), len(grid), len(way.names)))
    change[:, :, is_whole] = grid
    change[:, :, free] = points.transpose(0, 2, 1)
    return change.reshape(-1, len(way.names))


def linear_oracle(case: Case, person: dict[str, Any]) -> float:
    """Linear programs, confirmed by corners: the package asks HiGHS too, and HiGHS has been seen to err."""
    by_program, by_corners = linprog_oracle(case, person), vertex_oracle(case, person)
    same = by_program == by_corners or abs(by_program - by_corners) <= RELATIVE * by_program + ABSOLUTE
    assert same, f"the oracles disagree: {by_program!r} by programs, {by_corners!r} by corners"
    return by_program


def strip_oracle(case: Case, person: dict[str, Any]) -> float:
    """Least cost for one or two whole numbers in wide ranges: all values of the first, the best second for each."""
    best = INF
    for way in ways(case, person):
        if not way.names:
            best = min(best, way.price)
            continue
        last = len(way.names) - 1
        box = settable(case, way.names[0], person[way.names[0]])
        first = np.arange(np.ceil(box[0]), np.floor(box[1]) + 1) - person[way.names[0]]
        done = np.zeros(1) if last == 0 else first
        least, most = np.full(len(done), -INF), np.full(len(done), INF)
        for row, low, high in zip(way.matrix, way.low, way.high, strict=True):
            left = row[0] * done if last else np.zeros(1)
            if row[last] == 0:
                bad = (left < low - 1e-9 * (1 + abs(low))) | (left > high + 1e-9 * (1 + abs(high)))
                least[bad] = INF
                continue
            ends = np.sort(np.array([low - left, high - left]) / row[last], axis=0)
            least, most = np.maximum(least, ends[0]), np.minimum(most, ends[1])
        second = np.where(least > 0, np.ceil(least - 1e-9), np.where(most < 0, np.floor(most + 1e-9), 0.0))
        fine = np.isfinite(second) & (second >= least - 1e-9) & (second <= most + 1e-9)
        if fine.any():
            cost = way.curves[last](second[fine]) + (way.curves[0](done[fine]) if last else 0.0)
            best = min(best, way.price + cost.min())
    return float(best)


# Random cases

FAMILIES = ("continuous", "integer", "wide integer", "categorical", "mixed", "piecewise")
ORACLES = {
    "continuous": linear_oracle,
    "integer": vertex_oracle,
    "wide integer": strip_oracle,
    "categorical": linear_oracle,
    "mixed": vertex_oracle,
    "piecewise": vertex_oracle,
}


def random_case(rng: np.random.Generator, family: str = "continuous") -> Case:
    """A random world in which ties have probability zero."""
    names = [f"x{i}" for i in range(rng.integers(3, 7))]
    wholes = _wholes(rng, family, names)
    categories = [f"c{i}" for i in range(rng.integers(1, 3))] if family in ("categorical", "mixed") else []
    units = dict.fromkeys(names, 1.0)
    if rng.random() < 0.3:
        units = {name: 1.0 if name in wholes else 10 ** rng.uniform(-2, 4) for name in names}
    if family == "wide integer":
        units |= dict.fromkeys(wholes, 10 ** rng.uniform(1, 3))
    n = 5 + min(int(rng.exponential(3.5)), 15)
    people = _roots(rng, n, categories)
    causes = _causes(rng, people, names, units)
    for name in names:
        column = rng.normal(rng.normal(), 1.0, n) * units[name]
        for cause, weight in causes[name].items():
            column = column + [term(weight, value) for value in people[cause]]
        people[name] = np.rint(3 * column).astype(np.int64) if name in wholes else column
        if name in wholes:
            # Relative costs need facts other than zero, and no scale may be zero.
            people.loc[people[name] == 0, name] = 1
            people.loc[people.index[:3], name] = np.array([2, 4, 7])
    roles = _roles(rng, family, names, wholes, categories)
    score: dict[str, Weight] = {}
    for name in names:
        if rng.random() < (0.95 if roles[name] == "actionable" else 0.6) or name == names[-1]:
            score[name] = rng.uniform(0.2, 2.0) * rng.choice([-1, 1]) / units[name]
    if rng.random() < 0.3 and not is_text(people["s"]):
        score["s"] = rng.normal()
    for name in categories:
        # A truth value counts as 0 or 1, so False adds nothing.
        score[name] = {level: rng.normal() if level else 0.0 for level in sorted(set(people[name]))}
    case = Case(
        people=people[list(rng.permutation(people.columns))],
        causes=causes,
        score=score,
        threshold=0.0,
        closed=bool(rng.random() < 0.5),
        roles=roles,
        limits=_limits(rng, family, people, roles, wholes),
        weights={name: _weights(rng, name in categories) for name, role in roles.items() if role == "actionable"},
        **_costs(rng, family, people, roles, names),
        reference=_other_people(rng, people) if rng.random() < 0.3 else None,
        sensitive="s",
        margin=0.0,
        classifier=None,
        favourable=None,
        named=bool(rng.random() < 0.5),
    )
    return with_classifier(rng, _with_threshold(rng, case))


def _wholes(rng: np.random.Generator, family: str, names: list[str]) -> list[str]:
    share = {"integer": 0.6, "wide integer": 1.0, "mixed": 0.5, "piecewise": 0.15}.get(family, 0.0)
    return [name for name in names if rng.random() < share]


def _roots(rng: np.random.Generator, n: int, categories: list[str]) -> pd.DataFrame:
    """The sensitive column and the categories; every level occurs."""
    codes = np.concatenate([[0, 1], rng.integers(0, 2, n - 2)])
    columns: dict[str, Any] = {"s": np.array(["f", "m"], dtype=object)[codes] if rng.random() < 0.5 else codes}
    for name in categories:
        levels = ["a", "b", "c", "d"][: rng.integers(2, 5)]
        drawn = np.concatenate([levels, rng.choice(levels, n - len(levels))]).astype(object)
        columns[name] = drawn == "a" if rng.random() < 0.25 else drawn
    return pd.DataFrame(columns)


def _causes(rng: np.random.Generator, people: pd.DataFrame, names: list[str], units: Any) -> dict[str, Any]:
    """A random graph in causal order; rarely the sensitive column has a cause, which must then stay or be cut off."""
    density = rng.uniform(0.1, 0.8)
    causes: dict[str, Any] = {name: {} for name in (*people.columns, *names)}
    for k, name in enumerate(names):
        for root in people.columns:
            if rng.random() < 0.3:
                levels = sorted(set(people[root]))[1:] if is_category(people[root]) else []
                each = {level: rng.normal() * units[name] for level in levels}
                causes[name][root] = each or rng.normal() * units[name]
        for cause in names[:k]:
            if rng.random() < density:
                size = rng.uniform(0.2, 1.5) * rng.choice([-1, 1])
                causes[name][cause] = size * units[name] / units[cause]
    if rng.random() < 0.15 and not any("s" in causes[name] for name in names):
        late = str(rng.choice(names))
        causes["s"] = {late: rng.normal() / units[late]}
        causes = {name: causes[name] for name in (*[c for c in causes if c != "s"], "s")}
    return causes


def _roles(
    rng: np.random.Generator, family: str, names: list[str], wholes: list[str], categories: list[str]
) -> dict[str, str]:
    most = {"continuous": 4, "integer": 3, "wide integer": 2, "categorical": 3, "mixed": 2, "piecewise": 2}[family]
    count = int(rng.integers(0 if categories else 1, most + 1))
    if family == "piecewise" and rng.random() < 0.1:
        count = 3
    pool = wholes if family == "wide integer" else names
    acting = {str(name) for name in rng.permutation(pool)[:count]} | set(categories)
    still = rng.choice([0.0, 0.15, 0.4])
    roles = {}
    for name in rng.permutation([*names, *categories]).tolist():
        rest = "immutable" if rng.random() < still else "mutable"
        roles[name] = "actionable" if name in acting else rest
    return roles


def _limits(
    rng: np.random.Generator, family: str, people: pd.DataFrame, roles: dict[str, str], wholes: list[str]
) -> dict[str, dict[str, Any]]:
    """Each limit with some probability, sometimes so tight that people cannot act or start outside."""
    often = rng.choice([0.1, 0.3, 0.6])
    reach = rng.choice([0.3, 1.0, 3.0])
    found: dict[str, dict[str, Any]] = {}
    for name, role in roles.items():
        if is_category(people[name]):
            continue
        limits: dict[str, Any] = {}
        spread, middle = people[name].std(), people[name].mean()
        if role != "immutable" and rng.random() < often:
            ends = np.sort(middle + rng.normal(0, 2 * reach, 2) * spread)
            open_end = rng.random(2) < 0.3
            limits["plausible"] = tuple(
                None if is_open else float(e) for e, is_open in zip(ends, open_end, strict=True)
            )
        if role == "actionable":
            if rng.random() < often:
                limits["direction"] = str(rng.choice(["up", "down"]))
            ends = np.sort(middle + rng.normal(0, 2 * reach, 2) * spread)
            for side, end in zip(("lower", "upper"), ends, strict=True):
                if rng.random() < often:
                    limits[side] = float(end)
            for side in ("max_increase", "max_decrease"):
                if rng.random() < often:
                    limits[side] = float(abs(rng.normal(0, reach)) * spread)
                if name in wholes:
                    # The oracle tries all whole numbers.
                    limits[side] = _few(rng, family, spread)
        found[name] = limits
    return found


def _few(rng: np.random.Generator, family: str, spread: float) -> float:
    if family == "wide integer":
        return float(rng.integers(1, 1 + max(2, int(3 * spread))))
    most = 3 if family == "mixed" else 6
    return float(rng.integers(0, most + 1)) + float(rng.choice([0.0, 0.5]))


def _weights(rng: np.random.Generator, is_category: bool) -> tuple[float, float]:
    up = float(rng.uniform(0.2, 5.0))
    return (up, up) if is_category or rng.random() < 0.6 else (up, float(rng.uniform(0.2, 5.0)))


def _costs(
    rng: np.random.Generator, family: str, people: pd.DataFrame, roles: dict[str, str], names: list[str]
) -> dict[str, Any]:
    numbers = [name for name in names if roles[name] == "actionable"]
    kind = rng.choice(["range", "std", "mad", "own", "each"])
    if family == "piecewise":
        kind = rng.choice(["percentile", "separable"])
    scales = {name: str(rng.choice(["range", "std", "mad"])) if kind == "each" else str(kind) for name in numbers}
    for name in numbers:
        if scales[name] == "mad" and pd.api.types.is_integer_dtype(people[name]):
            # Half the values may be equal.
            scales[name] = "std"
    shapes: list[Callable[[float, Any], Any]] = [_concave, _convex, _bent]
    return {
        "scales": scales,
        "factors": {n: float(rng.uniform(0.5, 2.0)) for n in numbers if family != "piecewise" and rng.random() < 0.2},
        "functions": {name: shapes[rng.integers(len(shapes))] for name in numbers},
        "knots": int(rng.integers(2, 10)),
    }


def _concave(fact: float, values: Any) -> Any:
    return np.sqrt(np.abs(values - fact))


def _convex(fact: float, values: Any) -> Any:
    return np.abs(values - fact) + 0.1 * (values - fact) ** 2


def _bent(fact: float, values: Any) -> Any:
    change = np.abs(values - fact)
    return np.minimum(change, 0.5 + 0.2 * change) + np.maximum(change - 2.0, 0.0)


def _other_people(rng: np.random.Generator, people: pd.DataFrame) -> pd.DataFrame:
    """Reference data that is not the people themselves: rows drawn again, numbers shifted."""
    other = people.iloc[np.concatenate([np.arange(4), rng.integers(0, len(people), 8)])].reset_index(drop=True)
    for name in other:
        if other[name].dtype.kind == "f":
            other[name] = other[name] + rng.normal(0, 0.5, len(other)) * people[name].std()
    return other


def _with_threshold(rng: np.random.Generator, case: Case) -> Case:
    scores = [case.score_of(person) for person in persons(case)]
    spread = np.std(scores) + 1e-3
    threshold = np.quantile(scores, rng.uniform(0.3, 0.95)) + rng.uniform(0.001, rng.choice([0.1, 0.1, 1.0])) * spread
    margin = float(rng.uniform(0, 0.5) * spread) if rng.random() < 0.15 else 0.0
    return replace(case, threshold=float(threshold), margin=margin)


def persons(case: Case) -> list[dict[str, Any]]:
    return case.people.to_dict("records")


# Handing a case to the package


def with_classifier(rng: np.random.Generator, case: Case) -> Case:
    """A classifier that decides by the case's score, the favourable label being its first or second class."""
    texts = [name for name in case.score if is_text(case.people[name])]
    first = bool(rng.random() < 0.5)
    if not texts and rng.random() < 0.5:
        # The favourable set of the first class is what the second leaves over.
        sign = -1.0 if first else 1.0
        coef = {name: sign * (w[True] if isinstance(w, dict) else w) for name, w in case.score.items()}
        rule = LinearScore(coef, threshold=sign * case.threshold, closed=case.closed != first)
        return replace(case, classifier=rule, favourable=not first)
    model = LogisticRegression()
    model.classes_ = np.array(["no", "yes"]) if rng.random() < 0.5 else np.array([0, 1])
    sign = -1.0 if first else 1.0
    favourable = model.classes_[0 if first else 1].item()
    plain = {name: w[True] if isinstance(w, dict) else w for name, w in case.score.items() if name not in texts}
    coef = [sign * weight for weight in plain.values()]
    coef += [sign * case.score[name][level] for name in texts for level in sorted(case.score[name])]
    model.coef_, model.intercept_ = np.array([coef]), np.array([-sign * case.threshold])
    model.n_features_in_ = len(coef)
    if texts:
        encode = ColumnTransformer([("plain", "passthrough", list(plain)), ("levels", OneHotEncoder(), texts)])
        model = Pipeline([("encode", encode.fit(case.people[[*plain, *texts]])), ("model", model)])
    else:
        model.feature_names_in_ = np.array(list(plain), dtype=object)
    # Above zero is the second class: the set is closed where the first is favourable.
    return replace(case, classifier=model, favourable=favourable, closed=first)


SCALES = {"range": Range(), "std": Std(), "mad": MAD(), "own": Own()}


def cost_of(case: Case) -> Any:
    kinds = set(case.scales.values())
    if kinds == {"percentile"}:
        return Percentile()
    if kinds == {"separable"}:
        return Separable(case.functions, knots=case.knots)
    return WeightedL1({name: SCALES[scale] for name, scale in case.scales.items()}, weights=case.factors)


def schema_of(case: Case) -> Schema:
    features = {}
    for name, role in case.roles.items():
        weight = {"weight": case.weights[name]} if name in case.weights else {}
        features[name] = Feature(role, **case.limits.get(name, {}), **weight)
    protected = sorted(set(case.people[case.sensitive]))[0]
    return Schema(
        sensitive=case.sensitive,
        protected=protected,
        favourable=case.favourable,
        features=unlimited(features, case.people),
    )


def scm_of(case: Case) -> StructuralCausalModel:
    edges = [(cause, name) for name, causes in case.causes.items() for cause in causes]
    equations = {name: Linear(causes) for name, causes in case.causes.items() if causes and name not in case.levels}
    scm = StructuralCausalModel(edges, nodes=list(case.causes) if case.named else None, mechanisms=equations)
    return scm.fit(case.people)


def problem_of(case: Case) -> RecourseProblem:
    return RecourseProblem.of(
        case.classifier, case.people, schema=schema_of(case), scm=scm_of(case), cost=cost_of(case),
        reference=case.reference, margin=case.margin,
    )  # fmt: skip


def answers(table: RecourseTable, told: int = 1) -> pd.DataFrame:
    """The table, in which only so many are told what stands in their way; to find it takes longer than all the rest."""
    assert isinstance(table.source, SolvedSource)
    stuck = np.flatnonzero(table.status == Status.INFEASIBLE)[told:].tolist()
    table.source.known.update(dict.fromkeys(stuck, Infeasibility()))
    return table.frame()


def solved(case: Case, people: pd.DataFrame | None = None, solver: Solver | None = None) -> pd.DataFrame:
    """What the package says, its remarks on odd data left aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return solve(problem_of(case), case.people if people is None else people, solver=solver).frame()


# The comparison


@dataclass
class Tally:
    """How many people were compared, and what did not agree."""

    cases: int = 0
    people: int = 0
    optimal: int = 0
    feasible: int = 0
    infeasible: int = 0
    disagreements: list[str] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        for name in ("cases", "people", "optimal", "feasible", "infeasible", "disagreements"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    @property
    def counts(self) -> dict[str, int]:
        return {**vars(self), "disagreements": len(self.disagreements)}


def compare(
    case: Case, oracle: Callable[[Case, dict[str, Any]], float], label: str = "", solver: Solver | None = None
) -> Tally:
    """Solve a case both ways; statuses, costs, bounds and actions must agree."""
    table, scm, tally = solved(case, solver=solver), scm_of(case), Tally(cases=1)
    labels = case.classifier.predict(case.people[list(case.classifier.feature_names_in_)])
    for row, person in enumerate(persons(case)):
        told = table.iloc[row]
        fault = ""
        if labels[row] == case.favourable:
            fault = "" if told.status == "not_needed" else f"{told.status} though favourable already"
        else:
            tally.people += 1
            fault = judge(told, oracle(case, person)) or replay_fault(case, scm, person, told)
            if told.status in ("optimal", "feasible", "infeasible"):
                setattr(tally, told.status, getattr(tally, told.status) + 1)
        if fault:
            tally.disagreements.append(f"{label} person {row}: {fault}")
    return tally


def judge(told: pd.Series, truth: float) -> str:
    """Empty if the table's row agrees with the least cost, otherwise how it differs."""
    said = f"{told.status} with cost {told.cost!r} and bound {told.bound!r}, the oracle says {truth!r}"
    near = RELATIVE * truth + ABSOLUTE
    if told.status == "infeasible":
        return "" if truth == INF else said
    if told.status not in ("optimal", "feasible") or truth == INF:
        return f"{said} ({told.reason})"
    if told.bound > truth + near or told.cost < truth - near:
        return said
    if told.status == "optimal" and (told.cost > truth + near or told.bound < truth - near):
        return said
    return ""


def spread_of(case: Case, name: str) -> float:
    """From the least to the largest value of a number: a replay forgives a share of it."""
    return 0.0 if name in case.levels else float(np.ptp(case.people[name].to_numpy(dtype=float)))


def replay_fault(case: Case, scm: StructuralCausalModel, person: dict[str, Any], told: pd.Series) -> str:
    """Empty if the action is allowed, follows the equations, flips the label and costs what is said."""
    if told.status not in ("optimal", "feasible"):
        return ""
    done = {name: told[f"do_{name}"] for name in case.actionable if not pd.isna(told[f"do_{name}"])}
    after, cost = dict(person), 0.0
    for name, causes in case.causes.items():
        if name in done:
            after[name] = done[name]
        elif causes and name not in case.levels:
            before = sum(term(weight, person[cause]) for cause, weight in causes.items())
            after[name] = person[name] + sum(term(weight, after[cause]) for cause, weight in causes.items()) - before
    for name, value in done.items():
        if name in case.levels:
            cost += case.weights[name][0] * (value != person[name])
            continue
        low, high = settable(case, name, person[name])
        cost += float(curve_of(case, name, person[name])(value - person[name]))
        if not low <= value <= high:
            return f"{name} is set to {value!r}, outside {low!r} to {high!r}"
        if name in case.wholes and value != round(value):
            return f"{name} is set to {value!r}, which is not whole"
        if abs(person[name] + told[f"delta_{name}"] - value) > 1e-9 * (1 + abs(value)):
            return f"delta_{name} is not the change"
    for name in case.causes:
        if name not in case.levels:
            low, high = believable(case, name, person[name])
            tolerance = 2e-9 * (1 + abs(person[name]) + spread_of(case, name))
            if not low - tolerance <= after[name] <= high + tolerance:
                return f"{name} becomes {after[name]!r}, outside {low!r} to {high!r}"
        elif name not in case.actionable and after[name] != person[name]:
            return f"{name} changes"
    if abs(cost - told.cost) > 1e-9 * (1 + cost):
        return f"costs {cost!r} by hand, {told.cost!r} is said"
    if case.score_of(after) < case.margin - 1e-9 * (1 + abs(case.threshold)):
        return f"the score only becomes {case.score_of(after)!r}"
    return "" if labelled(case, scm, person, done) == case.favourable else "the label does not flip"


def labelled(case: Case, scm: StructuralCausalModel, person: dict[str, Any], done: dict[str, Any]) -> Any:
    """The classifier's own label of the counterfactual person, asked alone."""
    alone = pd.DataFrame([person]).astype(case.people.dtypes)
    within = {name: value for name, value in done.items() if name in scm.graph.nodes}
    outside = {name: value for name, value in done.items() if name not in scm.graph.nodes}
    after = scm.counterfactual(alone, within).assign(**outside)
    return case.classifier.predict(after[list(case.classifier.feature_names_in_)])[0]


def rng_of(family: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([FAMILIES.index(family), seed])


def run(family: str, seeds: range, solver: Solver | None = None, *, skip_refused: bool = False) -> Tally:
    """Compare many cases of a family; `skip_refused`: cases that the solver refuses count for nothing."""
    tally = Tally()
    for seed in seeds:
        case, label = random_case(rng_of(family, seed), family), f"{family} seed {seed}"
        try:
            tally += compare(case, ORACLES[family], label, solver)
        except Exception as error:
            if skip_refused and getattr(error, "code", "") == "MODEL_NOT_LINEAR":
                continue
            # A crash is a disagreement too, and must not hide the cases after it.
            tally += Tally(cases=1, disagreements=[f"{label}: {type(error).__name__}: {error}"])
    return tally
