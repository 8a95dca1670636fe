"""Oracles for the search over trees: random cases as plain data, and exhaustive enumeration of threshold cells.

A tree is a nested tuple. The oracle tries every set of interventions, every combination of levels and every whole
number, and for the rest every combination of intervals between thresholds: inside such a cell no tree changes its
leaf, so one look at the model settles the label, and the least cost is the nearest point, or one linear program where
columns follow; where costs bend, one for each combination of straight parts. It shares no code with the package; only
`problem_of` hands a case over.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from tests.limits import unlimited
from tests.oracles import Curve, Tally, _bent, _concave, _convex, answers, curve_of

from equieffort.errors import EquieffortWarning
from equieffort.models.classifiers import Goals, TreeView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Solver
from equieffort.recourse.solving import solve
from equieffort.world.cost import Cost, Percentile, Separable
from equieffort.world.rules import Constraint, Forbidden, Implies, Monotone, Sum
from equieffort.world.schema import Feature, Schema
from equieffort.world.scm import Linear, StructuralCausalModel

INF = math.inf
NEAR = 2e-6
"""How far costs may differ, as a share: the gap that is certified, and the step over a boundary."""
ABOVE = 1e-7
"""How far above a threshold there must be room for a program to tell that it can be passed."""
GIVE = 3 * ABOVE
"""How far the ends of rules between features are moved, relative to their size, to see past a threshold by rounding."""
FAMILIES = (
    "alone", "whole", "category", "follow", "chain", "goals", "ties", "single", "wide", "rules", "piecewise", "steps",
)  # fmt: skip

Tree = tuple[Any, ...]
"""(values,) at a leaf; (column, threshold or set of levels, left, right) at a split."""


@dataclass(frozen=True, eq=False)
class Model:
    """A sum of trees with its own arithmetic: labels are True for the wanted outcome."""

    trees: list[Tree]
    base: tuple[float, ...]
    goals: tuple[tuple[int, ...], ...]
    closed: tuple[bool, ...]
    dtype: Any
    columns: list[str]
    classes_: tuple[bool, bool] = (False, True)

    @property
    def feature_names_in_(self) -> np.ndarray:
        return np.array(self.columns, dtype=object)

    def margins(self, person: dict[str, Any]) -> list[float]:
        total = [self.dtype(b) for b in self.base]
        for tree in self.trees:
            while len(tree) > 1:
                column, test, left, right = tree
                value = person[column]
                goes_left = value in test if isinstance(test, frozenset) else value <= test
                tree = left if goes_left else right
            total = [self.dtype(s + self.dtype(v)) for s, v in zip(total, tree[0], strict=True)]
        return [float(s) for s in total]

    def met(self, margins: list[float], least: float = 0.0) -> bool:
        good = [m >= least if least > 0 else m > 0 or (m == 0 and c) for m, c in zip(margins, self.closed, strict=True)]
        return any(all(good[m] for m in goal) for goal in self.goals)

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return np.array([self.met(self.margins(person)) for person in X.to_dict("records")], dtype=bool)


@dataclass(frozen=True, eq=False)
class Case:
    """Everything that decides these people's recourse."""

    people: pd.DataFrame
    causes: dict[str, dict[str, Any]]
    """Column -> its causes: a number a unit, or for a category a number a level. In causal order."""
    model: Model
    roles: dict[str, str]
    limits: dict[str, dict[str, Any]]
    weights: dict[str, tuple[float, float]]
    margin: float
    rules: tuple[tuple[Any, ...], ...] = ()
    """("sum", weights, low, high), ("implies", a, at most, b, at most): if a is more than the first number, then b is
    at most the second, ("monotone", cause, effect, per unit), ("forbidden", category, from, to)."""
    scales: dict[str, str] = field(default_factory=dict)
    """"percentile" or "separable" for every number to act on; empty for weighted L1."""
    functions: dict[str, Callable[[float, Any], Any]] = field(default_factory=dict)
    knots: int = 0
    factors: dict[str, float] = field(default_factory=dict)
    reference: None = None

    @cached_property
    def levels(self) -> dict[str, list[str]]:
        return {
            c: sorted(set(self.people[c])) for c in self.people if not pd.api.types.is_numeric_dtype(self.people[c])
        }

    @cached_property
    def numbers(self) -> list[str]:
        return [c for c, role in self.roles.items() if role == "actionable" and c not in self.levels]

    @cached_property
    def categories(self) -> list[str]:
        return [c for c, role in self.roles.items() if role == "actionable" and c in self.levels]

    @cached_property
    def wholes(self) -> set[str]:
        return {c for c in self.people if pd.api.types.is_integer_dtype(self.people[c])}

    @cached_property
    def thresholds(self) -> dict[str, list[float]]:
        found: dict[str, set[float]] = {}
        for tree in self.model.trees:
            for column, test in _splits(tree):
                if not isinstance(test, frozenset):
                    found.setdefault(column, set()).add(test)
        return {c: sorted(values) for c, values in found.items()}

    def price(self, column: str) -> tuple[float, float]:
        span = float(self.people[column].max() - self.people[column].min())
        up, down = self.weights[column]
        return up / span, down / span

    @cached_property
    def _curves(self) -> dict[tuple[str, float], Curve]:
        return {}

    def curve(self, column: str, fact: float) -> Curve:
        if (column, fact) not in self._curves:
            self._curves[column, fact] = curve_of(self, column, fact)
        return self._curves[column, fact]


def _splits(tree: Tree) -> Iterator[tuple[str, Any]]:
    if len(tree) > 1:
        yield tree[0], tree[1]
        yield from _splits(tree[2])
        yield from _splits(tree[3])


def settable(case: Case, column: str, fact: float) -> tuple[float, float]:
    limits = case.limits.get(column, {})
    lows, highs = [limits.get("lower")], [limits.get("upper")]
    if "plausible" in limits:
        lows.append(limits["plausible"][0])
        highs.append(limits["plausible"][1])
    if "max_decrease" in limits:
        lows.append(fact - limits["max_decrease"])
    if "max_increase" in limits:
        highs.append(fact + limits["max_increase"])
    if limits.get("direction") == "up":
        lows.append(fact)
    if limits.get("direction") == "down":
        highs.append(fact)
    return (
        max((min(v, fact) for v in lows if v is not None), default=-INF),
        min((max(v, fact) for v in highs if v is not None), default=INF),
    )


def believable(case: Case, column: str, fact: float) -> tuple[float, float]:
    if case.roles.get(column) == "immutable":
        return fact, fact
    low, high = case.limits.get(column, {}).get("plausible", (-INF, INF))
    return min(low, fact), max(high, fact)


def intervals(case: Case, column: str, low: float, high: float) -> list[tuple[float, float]]:
    """The parts of [low, high] between thresholds, closed and disjoint in doubles."""
    found, start = [], low
    for threshold in case.thresholds.get(column, []):
        if threshold >= high:
            break
        if threshold >= start:
            found.append((start, threshold))
            start = math.nextafter(threshold, INF)
    found.append((start, high))
    return found


def least_cost(case: Case, person: dict[str, Any], tolerance: float = 0.0) -> float:
    """The least cost of any action that leads to the favourable outcome; infinite if there is none.

    `tolerance` is how far, relative to their size, the ends of rules between features may be passed.
    """
    best = INF
    for switch in itertools.product(*(case.levels[c] for c in case.categories)):
        chosen = dict(zip(case.categories, switch, strict=True))
        price = sum(case.weights[c][0] for c in chosen if chosen[c] != person[c])
        if any(r[0] == "forbidden" and person[r[1]] == r[2] and chosen[r[1]] == r[3] for r in case.rules):
            continue
        for is_set in itertools.product((True, False), repeat=len(case.numbers)):
            held = [c for c, flag in zip(case.numbers, is_set, strict=True) if flag]
            # What has no room is a number, not a variable: a program's tolerance would move it.
            stuck = {c for c in held if settable(case, c, person[c]) == (person[c], person[c])}
            whole = [c for c in held if c in case.wholes or c in stuck]
            rest = [c for c in held if c not in whole]
            ranges = []
            for c in whole:
                low, high = settable(case, c, person[c])
                ranges.append([person[c]] if c in stuck else _whole_values(c, low, high))
            for values in itertools.product(*ranges):
                fixed = dict(zip(whole, values, strict=True))
                cost = price + sum(_cost(case, c, person[c], v) for c, v in fixed.items())
                if cost < best:
                    best = min(best, cost + _continuous(case, person, chosen, fixed, rest, best - cost, tolerance))
    return best


def _whole_values(column: str, low: float, high: float) -> list[float]:
    if high - low > 60:
        raise AssertionError(f"{column} is whole and has no limits")
    return [float(v) for v in range(math.ceil(low), math.floor(high) + 1)]


def _cost(case: Case, column: str, fact: float, value: float) -> float:
    if case.scales:
        return float(case.curve(column, fact)(value - fact))
    up, down = case.price(column)
    return up * (value - fact) if value > fact else down * (fact - value)


def _follow(case: Case, person: dict[str, Any], chosen: dict[str, str], fixed: dict[str, float], rest: list[str]):
    """Each number as (constant, weights over rest), under an intervention."""
    linear: dict[str, tuple[float, np.ndarray]] = {}
    for column in case.people:
        if column in case.levels:
            continue
        if column in fixed:
            linear[column] = fixed[column], np.zeros(len(rest))
        elif column in rest:
            linear[column] = 0.0, np.eye(len(rest))[rest.index(column)]
        else:
            constant, weights = float(person[column]), np.zeros(len(rest))
            for cause, weight in case.causes.get(column, {}).items():
                if isinstance(weight, dict):
                    constant += weight[chosen.get(cause, person[cause])] - weight[person[cause]]
                else:
                    # The change of the cause, written in the values that are set.
                    c, w = linear[cause]
                    constant += weight * (c - person[cause])
                    weights = weights + weight * w
            linear[column] = constant, weights
    return linear


def clauses(case: Case, person: dict[str, Any]) -> list[list[tuple[dict[str, float], float, float]]]:
    """What the rules ask of a person: one of each list of (weights, low, high) must hold."""
    found = []
    for kind, *parts in case.rules:
        if kind == "sum":
            weights, low, high = parts
            own = sum(w * person[c] for c, w in weights.items())
            found.append([(weights, min(low, own), max(high, own))])
        elif kind == "implies":
            a, most, b, then = parts
            if person[a] <= most or person[b] <= then:
                found.append([({a: 1.0}, -INF, most), ({b: 1.0}, -INF, then)])
            else:
                # Kept, or missed by no more than now on either side: (A or B) or (A' and B').
                found.append([({a: 1.0}, -INF, person[a]), ({b: 1.0}, -INF, then)])
                found.append([({a: 1.0}, -INF, most), ({b: 1.0}, -INF, person[b])])
        elif kind == "monotone":
            cause, effect, rate = parts
            gap = person[effect] - rate * person[cause]
            found.append([({cause: 1.0}, -INF, person[cause]), ({effect: 1.0, cause: -rate}, gap, INF)])
    return found


def _continuous(
    case: Case, person: Any, chosen: Any, fixed: Any, rest: list[str], cutoff: float, tolerance: float
) -> float:
    """The least over all ways to keep the rules."""
    linear = _follow(case, person, chosen, fixed, rest)
    best = INF
    for choice in itertools.product(*clauses(case, person)):
        extra, possible = [], True
        for weights, low, high in choice:
            constant = sum(w * linear[c][0] for c, w in weights.items())
            slope = sum((w * linear[c][1] for c, w in weights.items()), np.zeros(len(rest)))
            if np.abs(slope).max(initial=0.0) > 1e-12:
                room = [tolerance * (1 + abs(end)) if abs(end) < INF else 0.0 for end in (low, high)]
                extra.append((slope, low - room[0] - constant, high + room[1] - constant))
            elif not low - 1e-9 <= constant <= high + 1e-9:
                possible = False
        if possible:
            best = min(best, _cells(case, person, chosen, fixed, rest, linear, extra, min(cutoff, best)))
    return best


def _cells(
    case: Case, person: Any, chosen: Any, fixed: Any, rest: list[str], linear: Any, extra: list[Any], cutoff: float
) -> float:
    """The least cost of the real-valued settings, cell by cell; infinite if none is below the cutoff."""
    moved, rows = [], list(extra)
    for column, (constant, weights) in linear.items():
        if column in fixed or column in rest:
            if case.roles.get(column) == "immutable":
                raise AssertionError
            continue
        low, high = believable(case, column, person[column])
        tolerance = 1e-9 * (1 + abs(person[column]))
        if not weights.any():
            if not low - tolerance <= constant <= high + tolerance:
                return INF
            continue
        if low > -INF or high < INF:
            rows.append((weights, low - constant, high - constant))
        if column in case.thresholds:
            moved.append(column)
    boxes = [settable(case, c, person[c]) for c in rest]
    own = [intervals(case, c, low, high) for c, (low, high) in zip(rest, boxes, strict=True)]
    theirs = []
    for c in moved:
        constant, weights = linear[c]
        ends = [
            constant + sum(pick(w * lo, w * hi) for w, (lo, hi) in zip(weights, boxes, strict=True) if w)
            for pick in (min, max)
        ]
        theirs.append(
            [cell for cell in intervals(case, c, -INF, INF) if cell[1] >= ends[0] - 1e-6 and cell[0] <= ends[1] + 1e-6]
        )
    queue = []
    for mine in itertools.product(*own):
        floor = sum(
            _cost(case, c, person[c], min(max(person[c], lo), hi)) for c, (lo, hi) in zip(rest, mine, strict=True)
        )
        if floor < cutoff:
            queue.append((floor, mine))
    queue.sort()
    best = cutoff
    found = INF
    for floor, mine in queue:
        if floor >= best:
            break
        for other in itertools.product(*theirs):
            after = dict(person) | chosen | fixed
            after |= {c: linear[c][0] for c in linear if c not in rest and c not in fixed}
            after |= {c: _inner(*cell) for c, cell in zip((*rest, *moved), (*mine, *other), strict=True)}
            if not case.model.met(case.model.margins(after), case.margin):
                continue
            value = floor
            if moved or rows:
                value = _program(case, person, linear, rest, mine, moved, other, rows, best)
            if value < best:
                best = found = value
    return found


def _inner(low: float, high: float) -> float:
    if low == -INF:
        return high if high < INF else 0.0
    return low


def _program(
    case: Case, person: Any, linear: Any, rest: Any, mine: Any, moved: Any, other: Any, rows: Any, cutoff: float
) -> float:
    """Least cost with set values and followers in their closed intervals; at least the cutoff if it is not below.

    A value that must be more than a threshold, but is pinned to it, lies within a program's tolerance and out of reach:
    the cell counts only if there is also a point a little above.
    """
    if not rest:
        return 0.0
    ends = [(c, *cell) for c, cell in zip((*rest, *moved), (*mine, *other), strict=True)]
    above = [
        (c, low + ABOVE if math.nextafter(low, -INF) in case.thresholds.get(c, ()) else low, high)
        for c, low, high in ends
    ]
    prices = [(1.0, 1.0) if case.scales else case.price(c) for c in rest]
    value = _least(person, linear, rest, ends, rows, prices)
    if value == INF or _least(person, linear, rest, above, rows, prices) == INF:
        return INF
    return _straight_parts(case, person, linear, rest, mine, ends, rows, cutoff) if case.scales else value


def _straight_parts(
    case: Case, person: Any, linear: Any, rest: Any, mine: Any, ends: Any, rows: Any, cutoff: float
) -> float:
    """The least over every combination of straight parts of the curves, the cheapest first."""
    parts = [_parts(case, c, person[c], *cell) for c, cell in zip(rest, mine, strict=True)]
    choices = sorted(itertools.product(*parts), key=lambda choice: sum(part[2] for part in choice))
    best = cutoff
    for choice in choices:
        if sum(part[2] for part in choice) >= best:
            break
        inside = [(c, low, high) for c, (low, high, *_) in zip(rest, choice, strict=True)] + ends[len(rest) :]
        slopes = [(part[3], part[3]) for part in choice]
        value = _least(person, linear, rest, inside, rows, slopes)
        for c, (low, high, least, slope) in zip(rest, choice, strict=True):
            value += least - slope * min(abs(low - person[c]), abs(high - person[c]))
        best = min(best, value)
    return best


def _parts(case: Case, column: str, fact: float, low: float, high: float) -> list[tuple[float, float, float, float]]:
    """The straight parts of a curve in an interval: ends, cost at the end nearer to the fact, price of a unit."""
    curve = case.curve(column, fact)
    bends = sorted({fact, *(fact + curve.points).tolist()})
    found = []
    for a, b in itertools.pairwise([-INF, *bends, INF]):
        if a > high or b < low:
            continue
        first, last = max(a, low), min(b, high)
        near, far = (a, b) if a >= fact else (b, a)
        slope = curve.up if far == INF else curve.down
        if abs(far) < INF:
            slope = abs(float(curve(far - fact) - curve(near - fact))) / abs(far - near)
        found.append((first, last, _cost(case, column, fact, first if a >= fact else last), slope))
    return found


def _least(person: Any, linear: Any, rest: Any, ends: Any, rows: Any, prices: Any) -> float:
    n = len(rest)
    objective = [p for p, _ in prices] + [q for _, q in prices]
    facts = np.array([person[c] for c in rest])
    a, b = [], []

    def ask(weights: np.ndarray, low: float, high: float) -> None:
        # weights . z between low and high, z = fact + rise - fall; scaled so that tolerances mean the same everywhere
        size, shift = np.abs(weights).max(), float(weights @ facts)
        if high < INF:
            a.append(np.concatenate([weights, -weights]) / size)
            b.append((high - shift) / size)
        if low > -INF:
            a.append(-np.concatenate([weights, -weights]) / size)
            b.append((shift - low) / size)

    for weights, low, high in rows:
        ask(weights, low, high)
    for c, low, high in ends:
        constant, weights = linear[c]
        ask(weights, low - constant, high - constant)
    result = linprog(
        objective, A_ub=np.array(a) if a else None, b_ub=b or None, bounds=[(0, None)] * (2 * n), method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    return float(result.fun) if result.status == 0 else INF


# Handing a case to the package


def view_of(case: Case, encoding: Any) -> TreeView:
    """The trees as arrays over encoded columns."""
    nodes: list[list[Any]] = []
    subsets: list[list[bool]] = []
    width = max((len(column.levels) for column in encoding.columns), default=1)

    def add(tree: Tree) -> int:
        at = len(nodes)
        if len(tree) == 1:
            nodes.append([-1, 0.0, -1, -1, -1, tree[0]])
            return at
        column, test, left, right = tree
        k = encoding.position(column)
        row = [k, 0.0, -1, 0, 0, [0.0] * len(case.model.base)]
        if isinstance(test, frozenset):
            row[2] = len(subsets)
            levels = encoding.columns[k].levels
            subsets.append([v < len(levels) and levels[v] in test for v in range(width)])
        else:
            row[1] = test
        nodes.append(row)
        row[3] = add(left)
        row[4] = add(right)
        return at

    roots = [add(tree) for tree in case.model.trees]
    ints = [np.array([row[f] for row in nodes], dtype=np.int32) for f in (0, 2, 3, 4)]
    values = np.array([row[5] for row in nodes], dtype=np.float64)
    exact = np.all(values * 64 == np.rint(values * 64)) and all(b * 64 == round(b * 64) for b in case.model.base)
    unit = 2.0**-23 if case.model.dtype is np.float32 else 2.0**-52
    size = np.abs(np.array(case.model.base)) + len(roots) * np.abs(values).max(axis=0)
    return TreeView(
        feature=ints[0],
        threshold=np.array([row[1] for row in nodes]),
        subset=ints[1],
        left=ints[2],
        right=ints[3],
        roots=np.array(roots, dtype=np.int32),
        values=values,
        subsets=np.array(subsets, dtype=bool).reshape(-1, width),
        base=np.array(case.model.base),
        goals=Goals(case.model.goals, np.array(case.model.closed)),
        error=np.zeros(len(size)) if exact else 4 * unit * (len(roots) + 2) * size,
    )


def problem_of(case: Case) -> RecourseProblem:
    features = {
        c: Feature(role, weight=case.weights[c][0] if c in case.levels else case.weights[c], **case.limits.get(c, {}))
        for c, role in case.roles.items()
    }  # fmt: skip
    edges = [(cause, column) for column, causes in case.causes.items() for cause in causes]
    mechanisms = {column: Linear(causes) for column, causes in case.causes.items() if causes}
    scm = StructuralCausalModel(edges, nodes=list(case.people), mechanisms=mechanisms).fit(case.people)
    constraints = [_link(rule) for rule in case.rules]
    schema = Schema(
        sensitive="sex", protected="f", favourable=True, features=unlimited(features, case.people), rules=constraints
    )
    cost: Cost | None = None
    if "separable" in case.scales.values():
        cost = Separable(case.functions, case.knots)
    elif case.scales:
        cost = Percentile()
    problem = RecourseProblem.of(case.model, case.people, schema=schema, scm=scm, cost=cost, margin=case.margin)
    return replace(problem, view=view_of(case, problem.encoding))


def _link(rule: tuple[Any, ...]) -> Constraint:
    kind, *parts = rule
    if kind == "sum":
        return Sum(parts[0], lower=parts[1] if parts[1] > -INF else None, upper=parts[2] if parts[2] < INF else None)
    if kind == "implies":
        return Implies(f"{parts[0]} > {parts[1]}", f"{parts[2]} <= {parts[3]}")
    if kind == "monotone":
        return Monotone(*parts)
    return Forbidden(parts[0], [(parts[1], parts[2])])


def compare(case: Case, solver: Solver, label: str = "", people: int = 4) -> Tally:
    """Solve a case both ways; nothing that is claimed may be wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        table = answers(solve(problem_of(case), case.people.iloc[:people], solver=solver))
    tally = Tally(cases=1)
    for row, person in enumerate(case.people.iloc[:people].to_dict("records")):
        told = table.iloc[row]
        if case.model.met(case.model.margins(person)):
            if told.status != "not_needed":
                tally.disagreements.append(f"{label} person {row}: {told.status} though favourable")
            continue
        tally.people += 1
        truth = least_cost(case, person)
        fault = judge(told, truth)
        if fault and case.rules:
            # Rounding is forgiven: a step of one double over a threshold may leave a sum as it was.
            fault = judge(told, least_cost(case, person, tolerance=GIVE))
        if told.status in ("optimal", "feasible", "infeasible"):
            setattr(tally, told.status, getattr(tally, told.status) + 1)
        if fault:
            tally.disagreements.append(f"{label} person {row}: {fault}")
    return tally


def judge(told: pd.Series, truth: float) -> str:
    said = f"{told.status} with cost {told.cost!r} and bound {told.bound!r}, the oracle says {truth!r} ({told.reason})"
    if told.status == "infeasible":
        return "" if truth == INF else said
    if truth == INF:
        return "" if told.status == "unknown" else said
    near = NEAR * max(1.0, truth)
    if told.bound > truth + near or (told.status != "unknown" and told.cost < truth - near):
        return said
    if told.status == "optimal" and (told.cost > truth + near or told.bound < truth - near):
        return said
    return ""


# Random cases


def random_case(rng: np.random.Generator, family: str) -> Case:
    """A small world of one family; every family also varies limits, roles, weights and the number of trees."""
    if family == "steps":
        return _steps(rng)
    n = 12
    people = pd.DataFrame({"sex": pd.Series(["f", "m"] * (n // 2), dtype=object)})
    likely = {"rules": 0.6, "piecewise": 0.7}.get(family, 0.2)
    follows = family in ("follow", "chain", "goals", "ties") or rng.random() < likely
    some = 0.25 if family == "piecewise" else 0.15
    whole = family == "whole" or rng.random() < some
    with_category = family == "category" or rng.random() < some
    causes: dict[str, dict[str, Any]] = {}
    categories = ["c0"] if with_category else []
    if with_category:
        people["c0"] = rng.permutation((["a", "b", "c"] * n)[:n]).astype(object)
    count = int(rng.integers(3, 6))
    names = [f"v{k}" for k in range(count)]
    for k, name in enumerate(names):
        is_whole = whole and rng.random() < 0.6
        people[name] = rng.integers(-4, 5, n) if is_whole else np.round(rng.normal(size=n), int(rng.integers(1, 4)))
        if people[name].min() == people[name].max():
            people.loc[0, name] += 1
        if follows and k > 0 and not is_whole:
            likely = {"chain": 0.9, "piecewise": 0.8}.get(family, 0.5)
            possible = names[max(0, k - 1) : k] if family == "chain" else names[:k]
            own = {c: float(rng.choice([-2.0, -1.0, -0.3, 0.4, 1.0, 1.7])) for c in possible if rng.random() < likely}
            if categories and rng.random() < 0.6:
                own["c0"] = {level: float(np.round(rng.normal(), 1)) for level in "abc"}
            if own:
                causes[name] = own
    few, many = (2, 4) if family == "piecewise" else (1, 3 if follows else 4)
    acting = rng.permutation(names)[: int(rng.integers(few, many))].tolist()
    split_on, others = names, ["mutable", "mutable", "immutable"]
    if family == "piecewise" and follows:
        # Several actions move what the trees look at, so that one is traded for another.
        others = ["mutable"] * 5 + ["immutable"]
        if rng.random() < 0.7:
            acting = names[: len(acting)]
        if rng.random() < 0.6:
            split_on = [name for name in names if name in causes and name not in acting] or names
    roles = {}
    for name in names:
        roles[name] = "actionable" if name in acting else str(rng.choice(others))
    if with_category:
        roles["c0"] = "actionable" if rng.random() < 0.8 else "immutable"
    limits: dict[str, dict[str, Any]] = {}
    for name in names:
        limits[name] = _random_limits(rng, name in acting, people[name], family)
    # Where something must not move, a threshold at a fact is within a program's tolerance but out of anybody's reach.
    pinned = any(roles[column] == "immutable" for column in causes)
    model = _random_model(rng, family, people, names, categories, not pinned, split_on)
    weights = {name: tuple(np.round(rng.uniform(0.3, 3.0, 2), 2).tolist()) for name in (*names, *categories)}
    margin = 0.0
    if rng.random() < 0.15 and family not in ("ties",):
        margin = float(rng.choice([0.125, 0.5]))
    rules = _random_rules(rng, names, roles) if family == "rules" else ()
    costs: dict[str, Any] = {}
    if family == "piecewise":
        if rng.random() < 0.15:
            # At no threshold: there a step of one double leads past both, and rules forgive it.
            rules = _random_rules(rng, names, roles, 0.0005)
        shapes = (_concave, _convex, _bent, _free_at_first, _stairs, _own_size)
        costs["scales"] = dict.fromkeys(acting, "percentile" if rng.random() < 0.3 else "separable")
        costs["functions"] = {name: shapes[int(rng.integers(len(shapes)))] for name in acting}
        costs["knots"] = int(rng.integers(2, 8))
    return Case(people, causes, model, roles, limits, weights, margin, rules, **costs)


def _steps(rng: np.random.Generator) -> Case:
    """Whole steps of several actions move one column past a threshold: what rounds up costs more than its bound."""
    n, names = 12, [f"v{k}" for k in range(int(rng.integers(3, 5)))]
    people = pd.DataFrame({"sex": pd.Series(["f", "m"] * (n // 2), dtype=object)})
    for name in names:
        # Those who are asked about can only rise, by up to four steps.
        people[name] = [0, 0, 0, 0, 4, *rng.integers(0, 5, n - 5)]
    causes = {"sum": {name: float(np.round(rng.uniform(0.3, 2), 2)) for name in names}}
    people["sum"] = -np.round(rng.uniform(0.1, 4.2 * sum(causes["sum"].values()), n), 3)
    trees: list[Tree] = [("sum", float(np.round(rng.uniform(-0.1, 0), 2)), ([-1.0],), ([1.0],))]
    model = Model(trees, (0.0,), ((0,),), (False,), np.float64, [*names, "sum"])
    roles = {**dict.fromkeys(names, "actionable"), "sum": "mutable"}
    limits: dict[str, dict[str, Any]] = {name: {"lower": 0, "upper": 4} for name in names}
    weights = {name: tuple(np.round(rng.uniform(0.2, 3.0, 2), 2).tolist()) for name in (*names, "sum")}
    costs: dict[str, Any] = {}
    if rng.random() < 0.5:
        costs["scales"] = dict.fromkeys(names, "separable")
        costs["functions"] = {name: partial(_uneven, rng.exponential(size=4) ** 2) for name in names}
        costs["knots"] = 101
    return Case(people, causes, model, roles, limits, weights, 0.0, **costs)


def _uneven(rises: np.ndarray, fact: float, values: Any) -> Any:
    """Each further unit at a price of its own."""
    return np.interp(np.abs(values - fact), np.arange(5), np.concatenate([[0.0], np.cumsum(rises)]))


def _free_at_first(fact: float, values: Any) -> Any:
    return np.maximum(np.abs(values - fact) - 0.7, 0.0)


def _stairs(fact: float, values: Any) -> Any:
    """Steps upwards; downwards nothing costs anything."""
    return np.maximum(np.ceil(values - fact), 0.0)


def _own_size(fact: float, values: Any) -> Any:
    change = (values - fact) / (0.2 + abs(fact))
    return np.where(change > 0, np.minimum(change, 1.0 + 0.1 * change), 0.3 * change**2)


def _random_rules(
    rng: np.random.Generator, names: list[str], roles: dict[str, str], off: float = 0.0
) -> tuple[tuple[Any, ...], ...]:
    rules: list[tuple[Any, ...]] = []
    for _ in range(int(rng.integers(1, 3))):
        a, b = (str(name) for name in rng.permutation(names)[:2])
        first, second = (np.round(rng.normal(size=2), 1) + off).tolist()
        kind = str(rng.choice(["sum", "implies", "monotone"]))
        if kind == "sum":
            low, high = (-INF, 1.0 + abs(first)) if rng.random() < 0.5 else (-1.0 - abs(first), INF)
            rules.append(("sum", {a: 1.0, b: float(rng.choice([-1.0, 0.5, 2.0]))}, low, high))
        elif kind == "implies":
            rules.append(("implies", a, first, b, second))
        else:
            rules.append(("monotone", a, b, float(rng.choice([0.0, 0.5]))))
    if roles.get("c0") == "actionable":
        rules.append(("forbidden", "c0", "a", "b"))
    return tuple(rules)


def _random_limits(rng: np.random.Generator, acts: bool, column: pd.Series, family: str) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    whole = pd.api.types.is_integer_dtype(column)
    low, high = float(column.min()), float(column.max())
    if rng.random() < 0.3:
        limits["plausible"] = (round(low - rng.uniform(0, 2), 1), round(high + rng.uniform(0, 2), 1))
    if not acts:
        return limits
    if rng.random() < 0.3:
        limits["direction"] = str(rng.choice(["up", "down"]))
    if rng.random() < 0.3 and family != "wide":
        limits["max_increase"] = round(float(rng.uniform(0.2, 3)), 1)
    if rng.random() < 0.3 and family != "wide":
        limits["max_decrease"] = round(float(rng.uniform(0.2, 3)), 1)
    if whole or (rng.random() < 0.3 and family != "wide"):
        limits["lower"], limits["upper"] = round(low - 1), round(high + 2)
    return limits


def _random_model(
    rng: np.random.Generator,
    family: str,
    people: pd.DataFrame,
    names: list[str],
    categories: list[str],
    at_facts: bool,
    split_on: list[str],
) -> Model:
    margins = int(rng.integers(2, 5)) if family == "goals" else 1
    coarse = family == "ties" or rng.random() < 0.3
    dtype = np.float32 if (family == "ties" and rng.random() < 0.5) or rng.random() < 0.1 else np.float64
    grid = {name: sorted(set(np.round(rng.normal(scale=1.5, size=3), 2).tolist())) for name in names}
    for name in names:
        if pd.api.types.is_integer_dtype(people[name]):
            grid[name] = sorted({float(v) + 0.5 * rng.integers(0, 2) for v in rng.integers(-4, 5, 3)})
        elif at_facts and rng.random() < 0.2:
            # A threshold at somebody's own value.
            grid[name] = sorted({*grid[name][:2], float(people[name].iloc[0])})

    def leaf() -> Tree:
        values = rng.normal(size=margins)
        if coarse:
            # Sums of tenths tie but for rounding; those of quarters tie exactly.
            values = np.round(values * 2) / (10 if dtype is np.float32 else 4)
        return ([float(dtype(v)) for v in values],)

    def grow(depth: int) -> Tree:
        if depth == 0 or rng.random() < 0.15:
            return leaf()
        if categories and rng.random() < 0.3:
            left = frozenset(level for level in "abc" if rng.random() < 0.5)
            return ("c0", left, grow(depth - 1), grow(depth - 1))
        name = split_on[int(rng.integers(len(split_on)))]
        return (name, float(rng.choice(grid[name])), grow(depth - 1), grow(depth - 1))

    count = 1 if family == "single" else int(rng.integers(2, 12))
    trees = [grow(int(rng.integers(1, 4))) for _ in range(count)]
    closed = tuple(bool(v) for v in rng.random(margins) < 0.5)
    bare = Model(trees, (0.0,) * margins, (), closed, dtype, [])
    random = {name: rng.normal(scale=2.0, size=40) for name in names}
    random |= {c: rng.choice(list("abc"), 40) for c in categories}
    seen = np.array([bare.margins({k: v[i] for k, v in random.items()}) for i in range(40)])
    share = rng.uniform(0.3, 0.8) if margins > 1 or family == "piecewise" else rng.uniform(0.4, 1.0)
    base = [-round(float(b) * 4) / 4 for b in np.quantile(seen, share, axis=0)]
    if margins > 1:
        cut = int(rng.integers(1, margins))
        goals = (tuple(range(cut)), tuple(range(cut, margins)))
        if rng.random() < 0.4:
            goals = (tuple(range(margins)),)
    else:
        goals = ((0,),)
    return Model(trees, tuple(base), goals, closed, dtype, [*names, *categories])


def rng_of(family: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([77, FAMILIES.index(family), seed])


def run(family: str, seeds: range, solver: Solver, people: int = 4) -> Tally:
    """Compare many cases of a family."""
    tally = Tally()
    for seed in seeds:
        label = f"{family} seed {seed}"
        try:
            tally += compare(random_case(rng_of(family, seed), family), solver, label, people)
        except Exception as error:
            # A crash is a disagreement too, and must not hide the cases after it.
            tally += Tally(cases=1, disagreements=[f"{label}: {type(error).__name__}: {error}"])
    return tally
