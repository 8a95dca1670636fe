"""Small linear programs over a box of changes, whose prices are one person's curves of cost around no change.

The program is solved by the dual simplex method with bounded columns (Lemke, 1954; Wagner, 1958). Every change starts
at the end of its range that is nearest to zero, where no price is negative, so each step's cost is a lower bound
whether or not it is the last. `kernels/simplex.py` is another: it forgives its rows a stated amount; here they are kept
to rounding, and columns run to their far ends in one step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.tolerances import ALIKE, SUMMED
from equieffort.recourse.solvers.kernels.compiled import inner
from equieffort.recourse.solvers.kernels.cost_curves import cost_at, slope_below

SOLVED, IMPOSSIBLE, STOPPED = 0, 1, 2
TINY = 1e-11
"""Entries of the scaled table below this are not divided by."""


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


@inner
def make_table(actions: int, rows: int) -> Any:
    """Room for so many actions and rows."""
    n = 2 * actions
    return Table(
        np.zeros((rows, n)), np.zeros(n + rows), np.zeros(n + rows), np.zeros(n + rows), np.zeros(n),
        np.zeros(n + rows), np.zeros(rows, dtype=np.int64), np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.bool_),
    )  # fmt: skip


@inner
def total_price(prices: Any, change: Any) -> float:
    """The cost of all changes."""
    total = 0.0
    for j in range(change.shape[0]):
        if change[j] != 0.0:
            total += cost_at(prices, 0, j, change[j])
    return total


@inner
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


@inner
def _columns(prices: Any, low: Any, high: Any, table: Any) -> tuple[int, float]:
    """A column for each side of zero that each action's range has."""
    n, base = 0, 0.0
    for j in range(low.shape[0]):
        for sign in (1.0, -1.0):
            near = max(low[j], 0.0) if sign > 0 else min(high[j], 0.0)
            far = high[j] if sign > 0 else low[j]
            if (sign > 0 and high[j] <= 0.0 and not (low[j] == 0.0 and high[j] == 0.0)) or (sign < 0 and low[j] >= 0.0):
                continue
            slope = slope_below(prices, 0, j, near, far) if far != near else 0.0
            if near != 0.0:
                base += cost_at(prices, 0, j, near) - slope * abs(near)
            # In units of cost the columns are comparable.
            unit = 1.0 / slope if slope > 0.0 else (abs(far - near) if far != near else 1.0)
            table.feature[n], table.sign[n], table.unit[n] = j, sign, unit
            table.low[n], table.high[n] = abs(near) / unit, abs(far) / unit
            table.price[n] = slope * unit
            n += 1
    return n, base


@inner
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
        tolerance = 1.01 * max(left, 0.0) + SUMMED * worst
        if below:
            low[v] -= tolerance
        else:
            high[v] += tolerance
    _most_violated(table, n, m)
    return STOPPED


@inner
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
        tolerance = ALIKE * (1.0 + abs(total))
        if table.low[v] - total > max(worst, tolerance):
            leaving, worst, below = i, table.low[v] - total, True
        elif total - table.high[v] > max(worst, tolerance):
            leaving, worst, below = i, total - table.high[v], False
    return leaving, worst, below


@inner
def _flip_back(table: Any, n: int, row: int) -> None:
    for c in range(n):
        if table.flipped[c] and abs(table.entries[row, c]) >= TINY:
            v = table.free[c]
            table.at[v] = table.high[v] if table.at[v] == table.low[v] else table.low[v]


@inner
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


@inner
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
