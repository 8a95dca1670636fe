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
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from equieffort.classifiers import LinearScore
from equieffort.cost import Percentile, Separable, WeightedL1
from equieffort.errors import EquieffortWarning
from equieffort.problem import RecourseProblem
from equieffort.recourse import solve
from equieffort.scales import MAD, Own, Range, Std
from equieffort.schema import Feature, Schema
from equieffort.scm import Linear, StructuralCausalModel

INF = float("inf")
RELATIVE, ABSOLUTE = 1e-7, 1e-9
"""How far a cost may lie from the oracle's; the absolute part is the gap that `optimal` allows."""

Weight = float | dict[Any, float]
"""A number a unit, or for a category a number a level."""


@dataclass(frozen=True)
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
    graph: dict[str, dict[str, Weight]] = field(default_factory=dict)

    @property
    def actionable(self) -> list[str]:
        return [name for name, role in self.roles.items() if role == "actionable"]

    def is_category(self, name: str) -> bool:
        return not pd.api.types.is_numeric_dtype(self.people[name]) or pd.api.types.is_bool_dtype(self.people[name])

    def is_whole(self, name: str) -> bool:
        return pd.api.types.is_integer_dtype(self.people[name])

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.actionable if not self.is_category(name)]

    @property
    def categories(self) -> list[str]:
        return [name for name in self.actionable if self.is_category(name)]

    def score_of(self, person: dict[str, Any]) -> float:
        return sum(term(weight, person[name]) for name, weight in self.score.items()) - self.threshold


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
        return Curve(
            values - fact, np.where(values > fact, up, down) * np.abs(heights), down * tails[0], up * tails[1]
        )
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


def _read(
    case: Case, name: str, known: np.ndarray, fact: float
) -> tuple[np.ndarray, np.ndarray, tuple[float, float]]:
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
    for name in case.people.columns if not case.causes else case.causes:
        if case.is_category(name):
            continue
        if name in chosen:
            found[name] = (np.eye(len(chosen))[chosen.index(name)], 0.0)
            continue
        slope, shift = np.zeros(len(chosen)), 0.0
        for cause, weight in case.causes[name].items():
            if case.is_category(cause):
                shift += term(weight, levels.get(cause, person[cause])) - term(weight, person[cause])
            else:
                slope, shift = slope + weight * found[cause][0], shift + weight * found[cause][1]
        found[name] = (slope, shift)
    return found


def ways(case: Case, person: dict[str, Any]) -> Iterator[Way]:
    """All 2^a subsets times all combinations of levels, but for those that break a limit whatever the changes are."""
    options = [sorted(set(case.people[name])) for name in case.categories]
    for picked in itertools.product(*options):
        levels = dict(zip(case.categories, picked, strict=True))
        price = sum(case.weights[name][0] for name, level in levels.items() if level != person[name])
        for size in range(len(case.numbers) + 1):
            for chosen in itertools.combinations(case.numbers, size):
                way = _way(case, person, chosen, levels, price)
                if way is not None:
                    yield way


def _way(
    case: Case, person: dict[str, Any], chosen: tuple[str, ...], levels: dict[str, Any], price: float
) -> Way | None:
    found = moves(case, person, chosen, levels)
    rows = []
    for name, (slope, shift) in found.items():
        limit = settable if name in chosen else believable
        low, high = limit(case, name, person[name])
        rows.append((slope, low - person[name] - shift, high - person[name] - shift))
    for name, causes in case.causes.items():
        # A category has no equation: nothing says how it would follow, so its causes must stay.
        for cause in causes if case.is_category(name) else ():
            if not case.is_category(cause):
                slope, shift = found[cause]
                rows.append((slope, -shift, -shift))
            elif levels.get(cause, person[cause]) != person[cause]:
                return None
    slope, shift = np.zeros(len(chosen)), 0.0
    for name, weight in case.score.items():
        if case.is_category(name):
            shift += term(weight, levels.get(name, person[name])) - term(weight, person[name])
        else:
            slope, shift = slope + weight * found[name][0], shift + weight * found[name][1]
    rows.append((slope, case.margin - case.score_of(person) - shift, INF))
    for slope, low, high in rows:
        if not slope.any() and not low <= 0 <= high:
            return None
    rows = [row for row in rows if row[0].any()]
    matrix = np.array([row[0] for row in rows]).reshape(-1, len(chosen))
    low, high = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    return Way(chosen, matrix, low, high, [curve_of(case, name, person[name]) for name in chosen], price)


def _scaled(case: Case, way: Way) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Units in which changes and rows are about one, so that tolerances mean the same everywhere."""
    units = np.array([1.0 if case.is_whole(name) else case.people[name].std() for name in way.names])
    matrix = way.matrix * units
    size = np.abs(matrix).max(axis=1)
    return units, matrix / size[:, None], way.low / size, way.high / size


# Three searches that have nothing in common but the constraints


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
        units, matrix, low, high = _scaled(case, way)
        for change in _corners(case, way, units, matrix, low, high):
            costs = [curve(change[:, j] * units[j]) for j, curve in enumerate(way.curves)]
            best = min(best, way.price + np.sum(costs, axis=0).min(initial=INF)) if costs else min(best, way.price)
    return float(best)


def _corners(
    case: Case, way: Way, units: np.ndarray, matrix: np.ndarray, low: np.ndarray, high: np.ndarray
) -> Iterator[np.ndarray]:
    """All candidate changes that keep the constraints, for each choice of planes that meet in a corner."""
    if not way.names:
        yield np.zeros((1, 0))
        return
    is_whole = np.array([case.is_whole(name) for name in way.names])
    ranges = []
    for j in np.flatnonzero(is_whole):
        alone = np.flatnonzero((matrix[:, j] != 0) & (np.count_nonzero(matrix, axis=1) == 1))
        ends = np.sort(np.array([low[alone], high[alone]]) / matrix[alone, j], axis=0)
        least, most = ends[0].max(), ends[1].min()
        ranges.append(np.arange(np.ceil(least - 1e-9), np.floor(most + 1e-9) + 1))
    grid = np.array(list(itertools.product(*ranges))).reshape(-1, int(is_whole.sum()))
    free = np.flatnonzero(~is_whole)
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
    for planes in itertools.combinations(range(len(normals)), len(free)):
        change = np.empty((len(grid), len(way.names)))
        change[:, is_whole] = grid
        if planes:
            square = np.array([normals[p] for p in planes])
            if abs(np.linalg.det(square)) < 1e-9:
                continue
            change[:, free] = np.linalg.solve(square, np.array([heights[p] for p in planes])).T
        value = change @ matrix.T
        give = 1e-9 * (1 + np.abs(value))
        yield change[((value >= low - give) & (value <= high + give)).all(axis=1)]


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
