"""Small linear programs over a box of changes, and what changes cost.

The program is solved by the dual simplex method with bounded columns. Every change starts at the end of its range that
is nearest to zero, where no price is negative, so each step's cost is a lower bound whether or not it is the last.
`simplex_kernels` is another: it forgives its rows a stated amount; here they are kept to rounding, and columns run to
their far ends in one step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

SOLVED, IMPOSSIBLE, STOPPED = 0, 1, 2
TINY = 1e-11
"""Entries of the scaled table below this are not divided by."""


class Prices(NamedTuple):
    """What each action costs one person: linear between knots of change, and beyond them by `tails`."""

    knots: Any
    """(action, knot), rising; zero is among them."""
    heights: Any
    counts: Any
    zeros: Any
    """Which knot is zero."""
    tails: Any
    """(action, 2): a unit below the first knot, and above the last."""


class Table(NamedTuple):
    """Room for a program."""

    entries: Any
    low: Any
    high: Any
    price: Any
    reduced: Any
    at: Any
    """Value of each column and, after these, of each row."""
    basic: Any
    free: Any
    feature: Any
    sign: Any
    unit: Any
    flipped: Any


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def make_table(actions: int, rows: int) -> Any:
    """Room for so many actions and rows."""
    n = 2 * actions
    return Table(
        np.zeros((rows, n)), np.zeros(n + rows), np.zeros(n + rows), np.zeros(n + rows), np.zeros(n),
        np.zeros(n + rows), np.zeros(rows, dtype=np.int64), np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.bool_),
    )  # fmt: skip


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def price_of(prices: Any, j: int, change: float) -> float:
    """The cost of one change."""
    count = prices.counts[j]
    first, last = prices.knots[j, 0], prices.knots[j, count - 1]
    if change <= first:
        return prices.heights[j, 0] + prices.tails[j, 0] * (first - change)
    if change >= last:
        return prices.heights[j, count - 1] + prices.tails[j, 1] * (change - last)
    a, b = 0, count - 1
    while b - a > 1:
        middle = (a + b) // 2
        if prices.knots[j, middle] <= change:
            a = middle
        else:
            b = middle
    share = (change - prices.knots[j, a]) / (prices.knots[j, b] - prices.knots[j, a])
    return prices.heights[j, a] + share * (prices.heights[j, b] - prices.heights[j, a])


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def total_price(prices: Any, change: Any) -> float:
    """The cost of all changes."""
    total = 0.0
    for j in range(change.shape[0]):
        if change[j] != 0.0:
            total += price_of(prices, j, change[j])
    return total


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def farthest(prices: Any, j: int, side: int, budget: float) -> float:
    """How far one can go to one side (+1, -1) for a budget; the change itself, never too near."""
    count = prices.counts[j]
    k = prices.zeros[j]
    while 0 <= k + side < count and prices.heights[j, k + side] <= budget:
        k += side
    at, left = prices.knots[j, k], budget - prices.heights[j, k]
    if 0 <= k + side < count:
        rise = prices.heights[j, k + side] - prices.heights[j, k]
        reach = at + (prices.knots[j, k + side] - at) * min(1.0, left / rise)
    else:
        tail = prices.tails[j, 1 if side > 0 else 0]
        reach = at + side * (left / tail) if tail > 0.0 else side * np.inf
    return reach + side * 1e-12 * abs(reach)


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _slope_below(prices: Any, j: int, near: float, far: float) -> float:
    """The steepest line through the cost at `near` that stays below the cost up to `far`."""
    base = price_of(prices, j, near)
    if far == near:
        return 0.0
    if np.isfinite(far):
        best = (price_of(prices, j, far) - base) / abs(far - near)
    else:
        best = prices.tails[j, 1 if far > 0 else 0]
    for k in range(prices.counts[j]):
        knot = prices.knots[j, k]
        if (near < knot < far) or (far < knot < near):
            best = min(best, (prices.heights[j, k] - base) / abs(knot - near))
    return max(best, 0.0)


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def most_underpaid(prices: Any, low: Any, high: Any, point: Any) -> int:
    """The action whose cost lies farthest above the line it was charged by; -1 if none does."""
    best: Any = np.int64(-1)
    most = 0.0
    for j in range(low.shape[0]):
        if prices.counts[j] > 1 and point[j] != 0.0 and low[j] < high[j]:
            near = max(low[j], 0.0) if point[j] > 0.0 else min(high[j], 0.0)
            far = high[j] if point[j] > 0.0 else low[j]
            slope = _slope_below(prices, j, near, far)
            extra = price_of(prices, j, point[j]) - price_of(prices, j, near) - slope * abs(point[j] - near)
            if extra > most and low[j] < nearest_knot(prices, j, low[j], high[j], point[j]) < high[j]:
                best, most = j, extra
    return best


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def nearest_knot(prices: Any, j: int, low: float, high: float, at: float) -> float:
    """The bend strictly inside a range that is nearest to a point; the range's low end if there is none."""
    best = low
    for k in range(prices.counts[j]):
        knot = prices.knots[j, k]
        if low < knot < high and (best == low or abs(knot - at) < abs(best - at)):
            best = knot
    return best


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def cheapest(
    prices: Any, low: Any, high: Any, rows: Any, row_low: Any, row_high: Any, count: int, table: Any, out: Any
) -> tuple[int, float]:
    """The least cost of changes in a box with row_low <= rows . change <= row_high: (state, cost).

    Where the cost bends inside the box a line below it is charged. Unless the state is IMPOSSIBLE the cost is a lower
    bound; `out` is the cheapest change when it is SOLVED.
    """
    n, base = _columns(prices, low, high, table)
    entries, lows, highs, at = table.entries, table.low, table.high, table.at
    for i in range(count):
        largest = 0.0
        for c in range(n):
            value = rows[i, table.feature[c]] * table.sign[c] * table.unit[c]
            entries[i, c] = value
            largest = max(largest, abs(value))
        if largest == 0.0:
            largest = 1.0
        for c in range(n):
            entries[i, c] /= largest
        lows[n + i], highs[n + i] = row_low[i] / largest, row_high[i] / largest
        table.price[n + i] = 0.0
        table.basic[i] = n + i
    for c in range(n):
        table.free[c] = c
        table.reduced[c] = table.price[c]
        at[c] = lows[c]
    state = _dual_simplex(table, n, count)
    cost = base
    for c in range(n):
        cost += table.price[c] * at[c]
    for j in range(out.shape[0]):
        out[j] = 0.0
    for c in range(n):
        out[table.feature[c]] += table.sign[c] * table.unit[c] * at[c]
    for j in range(out.shape[0]):
        out[j] = min(max(out[j], low[j]), high[j])
    return state, cost


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _columns(prices: Any, low: Any, high: Any, table: Any) -> tuple[int, float]:
    """A column for each side of zero that each action's range has."""
    n, base = 0, 0.0
    for j in range(low.shape[0]):
        for sign in (1.0, -1.0):
            near = max(low[j], 0.0) if sign > 0 else min(high[j], 0.0)
            far = high[j] if sign > 0 else low[j]
            if (sign > 0 and high[j] <= 0.0 and not (low[j] == 0.0 and high[j] == 0.0)) or (sign < 0 and low[j] >= 0.0):
                continue
            slope = _slope_below(prices, j, near, far)
            if near != 0.0:
                base += price_of(prices, j, near) - slope * abs(near)
            # In units of cost the columns are comparable.
            unit = 1.0 / slope if slope > 0.0 else (abs(far - near) if far != near else 1.0)
            table.feature[n], table.sign[n], table.unit[n] = j, sign, unit
            table.low[n], table.high[n] = abs(near) / unit, abs(far) / unit
            table.price[n] = slope * unit
            n += 1
    return n, base


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _dual_simplex(table: Any, n: int, m: int) -> int:
    low, high = table.low, table.high
    for _ in range(40 + 8 * (n + m)):
        leaving, worst, below = _most_violated(table, n, m)
        if leaving < 0:
            return SOLVED
        entering, left = _enter(table, n, leaving, worst, below)
        if entering >= 0:
            _pivot(table, n, leaving, entering, m, below)
            continue
        v = table.basic[leaving]
        if left > 1e-11 * (1.0 + abs(low[v] if below else high[v])):
            return IMPOSSIBLE
        # Rounding alone keeps the row out: it gets that much more room, which leaves the cost a lower bound.
        _flip_back(table, n, leaving)
        give = 1.01 * max(left, 0.0) + 1e-13 * worst
        if below:
            low[v] -= give
        else:
            high[v] += give
    _most_violated(table, n, m)
    return STOPPED


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _most_violated(table: Any, n: int, m: int) -> tuple[int, float, bool]:
    """The basic variable farthest outside its range; all of them are computed anew."""
    leaving, worst, below = -1, 0.0, False
    for i in range(m):
        total = 0.0
        for c in range(n):
            if table.entries[i, c] != 0.0:
                total += table.entries[i, c] * table.at[table.free[c]]
        v = table.basic[i]
        table.at[v] = total
        give = 1e-12 * (1.0 + abs(total))
        if table.low[v] - total > max(worst, give):
            leaving, worst, below = i, table.low[v] - total, True
        elif total - table.high[v] > max(worst, give):
            leaving, worst, below = i, total - table.high[v], False
    return leaving, worst, below


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _flip_back(table: Any, n: int, row: int) -> None:
    for c in range(n):
        if table.flipped[c] and abs(table.entries[row, c]) >= TINY:
            v = table.free[c]
            table.at[v] = table.high[v] if table.at[v] == table.low[v] else table.low[v]


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _enter(table: Any, n: int, row: int, miss: float, below: bool) -> tuple[int, float]:
    """The column that takes the row's place; columns that may go to their other end on the way do so."""
    entries, low, high, at = table.entries, table.low, table.high, table.at
    direction = 1.0 if below else -1.0
    slop = 0.0
    for c in range(n):
        table.flipped[c] = False
    while True:
        best, best_ratio = -1, np.inf
        for c in range(n):
            v = table.free[c]
            entry = direction * entries[row, c]
            if table.flipped[c] or low[v] == high[v] or entry == 0.0:
                continue
            if (at[v] == low[v]) != (entry > 0.0):
                continue
            if abs(entry) < TINY:
                slop += abs(entry) * (high[v] - low[v])
                table.flipped[c] = True
                continue
            ratio = abs(table.reduced[c] / entry)
            if ratio < best_ratio or (ratio == best_ratio and abs(entry) > abs(entries[row, best])):
                best, best_ratio = c, ratio
        if best < 0:
            return -1, miss - slop
        v = table.free[best]
        room = abs(entries[row, best]) * (high[v] - low[v])
        if room >= miss:
            return best, 0.0
        table.flipped[best] = True
        at[v] = high[v] if at[v] == low[v] else low[v]
        miss -= room


@numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _pivot(table: Any, n: int, row: int, column: int, m: int, below: bool) -> None:
    entries = table.entries
    leaving, entering = table.basic[row], table.free[column]
    table.at[leaving] = table.low[leaving] if below else table.high[leaving]
    pivot = entries[row, column]
    rate = table.reduced[column] / pivot
    for c in range(n):
        if c != column:
            entries[row, c] = -entries[row, c] / pivot
            table.reduced[c] += rate * pivot * entries[row, c]
    table.reduced[column] = rate
    entries[row, column] = 1.0 / pivot
    for i in range(m):
        factor = entries[i, column]
        if i == row or factor == 0.0:
            continue
        for c in range(n):
            if c != column:
                entries[i, c] += factor * entries[row, c]
        entries[i, column] = factor / pivot
    table.free[column], table.basic[row] = leaving, entering
