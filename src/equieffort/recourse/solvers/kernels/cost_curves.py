"""What changes cost when prices bend, compiled: curves that are linear between knots and rise away from the fact.

They need be neither convex nor the same for everybody. Over an interval a line through the cost at the end that is
nearest to the fact, below the curve everywhere, takes the curve's place in a linear program; splitting the interval
brings line and curve together (Falk and Soland, "An algorithm for separable nonconvex programming problems", 1969).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.arrays import Floats, Ints
from equieffort.foundations.jit import kernel, linked
from equieffort.foundations.records import record
from equieffort.foundations.tolerances import ALIKE, OUTWARDS
from equieffort.world.cost import PiecewiseCost


@record
class Curves(NamedTuple):
    """The costs of people's actions; without bends all of it is empty, and a unit costs the same everywhere."""

    bends: bool
    points: Floats
    """(knot, 2): a value and its cost, curve after curve, values rising."""
    places: Ints
    """(person, action, 3): the first and the last knot of a curve, and the one that is the fact."""
    tails: Floats
    """(action, 2): the price of a unit below the first knot and above the last."""


def straight() -> Curves:
    """No curves: the same types, so that nothing is compiled twice."""
    return Curves(False, np.zeros((1, 2)), np.zeros((0, 0, 3), dtype=np.int64), np.zeros((0, 2)))


def curves_of(cost: PiecewiseCost, facts: Any, *, from_facts: bool = False) -> Curves:
    """The curves of people's actions, over values or changes of the fact; those with the same fact share theirs."""
    places = np.zeros((*facts.shape, 3), dtype=np.int64)
    points, size = [np.zeros((1, 2))], 1
    for j in range(facts.shape[1]):
        own, which = np.unique(facts[:, j], return_inverse=True)
        rows = np.empty((len(own), 3), dtype=np.int64)
        for row, fact in enumerate(own.tolist()):
            values, costs = cost.curve(j, fact)
            rows[row] = size, size + len(values) - 1, size + int(np.searchsorted(values, fact))
            points.append(np.column_stack([values - fact if from_facts else values, costs]))
            size += len(values)
        places[:, j] = rows[which.reshape(-1)]
    # A copy: an array that may not be written would be another type, and compiled anew.
    return Curves(True, np.concatenate(points), places, np.array(cost.tails, dtype=np.float64, order="C"))


@kernel
def _part(points: Any, first: int, last: int, value: float) -> int:
    """The knot at which the straight part around a value begins; the value lies between the first and the last."""
    a, b = first, last
    while b - a > 1:
        middle = (a + b) // 2
        if points[middle, 0] <= value:
            a = middle
        else:
            b = middle
    return a


@kernel
def cost_at(curves: Curves, i: int, j: int, value: float) -> float:
    """What it costs person i to set action j to a value, computed as `PiecewiseCost` does."""
    points, first, last = curves.points, curves.places[i, j, 0], curves.places[i, j, 1]
    if value <= points[first, 0]:
        tail = curves.tails[j, 0]
        return points[first, 1] + (tail * (points[first, 0] - value) if tail > 0.0 else 0.0)
    if value >= points[last, 0]:
        tail = curves.tails[j, 1]
        return points[last, 1] + (tail * (value - points[last, 0]) if tail > 0.0 else 0.0)
    a = _part(points, first, last, value)
    slope = (points[a + 1, 1] - points[a, 1]) / (points[a + 1, 0] - points[a, 0])
    return slope * (value - points[a, 0]) + points[a, 1]


@kernel
def _costs_at(curves: Curves, j: int, values: Any, costs: Any) -> None:
    """What it costs each person to set action j to their value."""
    for i in range(values.shape[0]):
        costs[i] = cost_at(curves, i, j, values[i])


costs_at = linked(_costs_at)


@kernel
def farthest(curves: Curves, i: int, j: int, side: int, budget: float) -> float:
    """The last value to one side (1, -1) of the fact that a budget pays for, rounded outwards."""
    points, zero = curves.points, curves.places[i, j, 2]
    edge = curves.places[i, j, 1] if side > 0 else curves.places[i, j, 0]
    if points[edge, 1] <= budget:
        tail = curves.tails[j, 1 if side > 0 else 0]
        if tail <= 0.0:
            return side * np.inf
        start, way = points[edge, 0], (budget - points[edge, 1]) / tail
    else:
        a, b = zero, edge
        while abs(b - a) > 1:
            middle = (a + b) // 2
            if points[middle, 1] <= budget:
                a = middle
            else:
                b = middle
        start = points[a, 0]
        way = abs(points[b, 0] - start) * min((budget - points[a, 1]) / (points[b, 1] - points[a, 1]), 1.0)
    value = start + side * way
    return value + side * OUTWARDS * (abs(value) + way)


@kernel
def tighten_to_curves(curves: Curves, i: int, fact: Any, budget: float, low: Any, high: Any) -> bool:
    """Tighten a box to what a budget pays for, in place; False if it pays for nothing there."""
    # Sides are no constants: numba would compile `farthest` for each of them.
    least = 0.0
    for j in range(low.shape[0]):
        near = min(max(fact[j], low[j]), high[j])
        if near != fact[j]:
            least += cost_at(curves, i, j, near)
    spare = budget - least + ALIKE * (1.0 + budget)
    if spare < 0.0:
        return False
    for j in range(low.shape[0]):
        near = min(max(fact[j], low[j]), high[j])
        own = spare + (cost_at(curves, i, j, near) if near != fact[j] else 0.0)
        if high[j] > near and cost_at(curves, i, j, high[j]) > own:
            high[j] = max(min(high[j], farthest(curves, i, j, np.int64(1), own)), near)
        if low[j] < near and cost_at(curves, i, j, low[j]) > own:
            low[j] = min(max(low[j], farthest(curves, i, j, np.int64(-1), own)), near)
    return True


@kernel
def slope_below(curves: Curves, i: int, j: int, near: float, far: float) -> float:
    """The steepest line through the cost at `near`, the end next to the fact, that stays below the cost up to `far`."""
    points, first, last = curves.points, curves.places[i, j, 0], curves.places[i, j, 1]
    rises = far > near
    base = cost_at(curves, i, j, near)
    if abs(far) < np.inf:
        best = (cost_at(curves, i, j, far) - base) / abs(far - near)
    else:
        best = curves.tails[j, 1 if rises else 0]
    if rises and near < points[last, 0]:
        k = first if near < points[first, 0] else _part(points, first, last, near) + 1
        while k <= last and points[k, 0] < far:
            if points[k, 0] > near:
                best = min(best, (points[k, 1] - base) / (points[k, 0] - near))
            k += 1
    elif not rises and near > points[first, 0]:
        k = last if near > points[last, 0] else _part(points, first, last, near)
        while k >= first and points[k, 0] > far:
            if points[k, 0] < near:
                best = min(best, (points[k, 1] - base) / (near - points[k, 0]))
            k -= 1
    return max(best, 0.0)


@kernel
def nearest_knot(curves: Curves, i: int, j: int, low: float, high: float, value: float) -> float:
    """The knot strictly between two ends that is nearest to a value there; NaN if there is none."""
    points, first, last = curves.points, curves.places[i, j, 0], curves.places[i, j, 1]
    best = np.nan
    a = first if value <= points[first, 0] else last if value >= points[last, 0] else _part(points, first, last, value)
    # The value itself may be a knot and an end, so one further down is looked at too.
    for k in range(max(first, a - 1), min(last, a + 1) + 1):
        if low < points[k, 0] < high and not abs(points[k, 0] - value) >= abs(best - value):
            best = points[k, 0]
    return best


@kernel
def most_underpaid(curves: Curves, i: int, fact: Any, low: Any, high: Any, z: Any) -> tuple[int, float, float]:
    """The action whose cost lies furthest above the line that it was charged by: (action or -1, knot, by how much)."""
    best, most, cut = -1, 0.0, 0.0
    for j in range(low.shape[0]):
        near = min(max(fact[j], low[j]), high[j])
        if z[j] == near:
            continue
        far = high[j] if z[j] > near else low[j]
        extra = cost_at(curves, i, j, z[j]) - cost_at(curves, i, j, near)
        extra -= slope_below(curves, i, j, near, far) * abs(z[j] - near)
        if extra > most:
            knot = nearest_knot(curves, i, j, min(near, far), max(near, far), z[j])
            if not np.isnan(knot):
                best, most, cut = j, extra, knot
    return best, cut, most
