"""Least cost of one linear constraint when costs are curves: branch and bound on convex envelopes (Falk and Soland,
"An algorithm for separable nonconvex programming problems", 1969).

Each feature has a rising piecewise linear cost curve that need not be convex. Replaced by the largest convex curve
below them, costs can be filled in the order of gain a price, which bounds the optimum from below; where the envelope
is not the curve itself, the feature's interval is split at a knot. Knots are finite, so the search ends with a proof.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count

import numpy as np

from equieffort.data.frames import Floats
from equieffort.foundations.tolerances import ALIKE

MOST_NODES = 20_000


@dataclass(frozen=True, eq=False)
class Curve:
    """Cost against distance moved: knots from (0, 0) on, linear between, and whole distances only if asked."""

    feature: int
    sign: float
    gain: float
    whole: bool
    distance: Floats
    cost: Floats

    def at(self, t: float) -> float:
        """The cost of moving so far."""
        return float(np.interp(t, self.distance, self.cost))

    def envelope(self, low: float, high: float) -> tuple[Floats, Floats]:
        """The lower convex hull of the curve on an interval: distances and heights."""
        inside = (self.distance > low) & (self.distance < high)
        x = np.concatenate([[low], self.distance[inside], [high]]) if high > low else np.array([low])
        y = np.interp(x, self.distance, self.cost)
        return _hull(x, y)


def _hull(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    from equieffort.recourse.solvers.linear.fill_kernels import lower_hull

    keep = np.empty(len(x), dtype=np.int64)
    size = lower_hull(x, y, keep, work=2e-6 * len(x))
    return x[keep[:size]], y[keep[:size]]


@dataclass(frozen=True, eq=False)
class _Node:
    low: Floats
    high: Floats
    hulls: tuple[tuple[Floats, Floats], ...]


def least_cost(curves: list[Curve], need: float, cutoff: float = np.inf) -> tuple[float, Floats | None, bool]:
    """(bound, distances or None, proven): the cheapest distances whose gain reaches the need.

    None with a finite bound means that nothing is cheaper than `cutoff`, or that the search was given up (not proven);
    with an infinite bound that nothing reaches the need.
    """
    low, high = np.zeros(len(curves)), np.array([curve.distance[-1] for curve in curves])
    root = _Node(low, high, tuple(c.envelope(a, b) for c, a, b in zip(curves, low, high, strict=True)))
    value, point = _fill(curves, root, need)
    if point is None:
        return np.inf, None, True
    best, found = cutoff, None
    ticket = count()
    heap = [(value, next(ticket), root, point)]
    while heap:
        value, turn, node, point = heapq.heappop(heap)
        if np.isfinite(best) and value >= best - ALIKE * abs(best):
            return min(value, best), found, True
        if turn > MOST_NODES:
            return value, found, False
        candidate = np.array([np.ceil(t) if c.whole else t for c, t in zip(curves, point, strict=True)])
        cost = sum(c.at(t) for c, t in zip(curves, candidate, strict=True))
        if cost < best:
            best, found = cost, candidate
        split = _split(curves, node, point)
        if split is None:
            continue
        for child in split:
            bound, where = _fill(curves, child, need)
            if where is not None and bound < best:
                heapq.heappush(heap, (max(bound, value), next(ticket), child, where))
    return best, found, True


def _fill(curves: list[Curve], node: _Node, need: float) -> tuple[float, Floats | None]:
    """Fill the envelopes in the order of gain a price: the least value on this box, and where."""
    point = node.low.copy()
    value = 0.0
    pieces = []
    for k, (curve, (x, y)) in enumerate(zip(curves, node.hulls, strict=True)):
        need -= curve.gain * x[0]
        value += y[0]
        for width, rise in zip(np.diff(x).tolist(), np.diff(y).tolist(), strict=True):
            pieces.append((rise / (width * curve.gain), width, k))
    for rate, width, k in sorted(pieces):
        if need <= 0:
            break
        take = min(width, need / curves[k].gain)
        point[k] += take
        value += rate * take * curves[k].gain
        need = need - take * curves[k].gain if take == width else 0.0
    return value, point if need <= 0 else None


def _split(curves: list[Curve], node: _Node, point: Floats) -> list[_Node] | None:
    """Two halves of the feature whose envelope is furthest from its curve; None if the node is solved."""
    widest, worst = -1, 0.0
    for k, (curve, (x, y), t) in enumerate(zip(curves, node.hulls, point.tolist(), strict=True)):
        gap = curve.at(t) - float(np.interp(t, x, y))
        if gap > worst + ALIKE * (1e-300 + abs(y[-1])):
            widest, worst = k, gap
    if widest >= 0:
        cut = _cut(curves[widest], node.low[widest], node.high[widest], float(point[widest]))
        if cut is not None:
            return [
                _half(curves, node, widest, node.low[widest], cut),
                _half(curves, node, widest, cut, node.high[widest]),
            ]
    for k, (curve, t) in enumerate(zip(curves, point.tolist(), strict=True)):
        if curve.whole and t != np.floor(t):
            return [
                _half(curves, node, k, node.low[k], float(np.floor(t))),
                _half(curves, node, k, float(np.ceil(t)), node.high[k]),
            ]
    return None


def _cut(curve: Curve, low: float, high: float, t: float) -> float | None:
    """Where to split an interval: at a knot for amounts, at a whole number for whole ones, near the point."""
    if curve.whole:
        near = np.floor(t) if np.floor(t) > low else np.ceil(t)
        return float(near) if low < near < high else None
    inner = curve.distance[(curve.distance > low) & (curve.distance < high)]
    return float(inner[np.abs(inner - t).argmin()]) if len(inner) else None


def _half(curves: list[Curve], node: _Node, k: int, low: float, high: float) -> _Node:
    lows, highs, hulls = node.low.copy(), node.high.copy(), list(node.hulls)
    lows[k], highs[k], hulls[k] = low, high, curves[k].envelope(low, high)
    return _Node(lows, highs, tuple(hulls))
