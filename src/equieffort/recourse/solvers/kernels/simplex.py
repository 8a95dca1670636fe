"""A small linear program, compiled: least cost of segments under rows, by the bounded dual simplex method.

Lemke, "The dual method of solving the linear programming problem" (1954), with bounds on variables as Wagner (1958).

    minimise  price . t    over 0 <= t <= width    with  low <= start + matrix t <= high

Prices are not negative, so t = 0 is dual feasible and the value of every iterate is a lower bound: a program that is
given up still bounds from below. It is meant for a dozen columns and rows, dense, without allocation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.recourse.solvers.kernels.compiled import entry

SOLVED, EMPTY, UNSURE = 0, 1, 2
"""How a program ended: solved; proven to have no solution; given up, only its bound holds."""
TINY = 1e-12
"""Entries below this (columns are scaled to unit prices, rows to unit size) are no pivots."""


@entry
def dual_simplex(
    rows: int,
    columns: int,
    matrix: Any,
    price: Any,
    width: Any,
    low: Any,
    high: Any,
    tolerance: Any,
    table: Any,
    reduced: Any,
    ends: Any,
    place: Any,
    held: Any,
    t: Any,
) -> tuple[int, float]:
    """(how it ended, lower bound); the solution is left in `t`.

    `low` and `high` bound matrix t; rows may be violated by `tolerance`. Columns are measured in units of `price`,
    above zero; `reduced` comes with 1 for each, or 0 for a column that is free and whose price is only a measure. Work
    space: table (rows, columns), ends (rows + columns; low, high and what rounding may add), place (rows + columns; the
    variable in each row, then in each column), held (columns; the value of each variable that is not in the basis).
    Variables below `columns` are segments, the others rows.
    """
    for j in range(columns):
        ends[j, 0], ends[j, 1], ends[j, 2] = 0.0, width[j] * price[j], TINY
        place[rows + j] = j
        held[j] = 0.0
    for r in range(rows):
        size = 0.0
        for j in range(columns):
            table[r, j] = matrix[r, j] / price[j]
            size = max(size, abs(table[r, j]))
        if size == 0.0:
            if low[r] > tolerance[r] or high[r] < -tolerance[r]:
                return EMPTY, np.inf
            size = 1.0
        for j in range(columns):
            table[r, j] /= size
        ends[columns + r, 0], ends[columns + r, 1] = (low[r] - tolerance[r]) / size, (high[r] + tolerance[r]) / size
        ends[columns + r, 2] = 0.1 * tolerance[r] / size
        place[r] = columns + r
    state = UNSURE
    for _ in range(20 + 4 * (rows + columns)):
        leave, worst, target = -1, 0.0, 0.0
        for r in range(rows):
            value = 0.0
            for j in range(columns):
                value += table[r, j] * held[j]
            v = place[r]
            lack, over = ends[v, 0] - value, value - ends[v, 1]
            if lack > max(worst, ends[v, 2]):
                leave, worst, target = r, lack, ends[v, 0]
            if over > max(worst, ends[v, 2]):
                leave, worst, target = r, over, ends[v, 1]
        if leave < 0:
            state = SOLVED
            break
        rises = target == ends[place[leave], 0]
        enter, ratio, pivot, reach = -1, np.inf, 0.0, 0.0
        for j in range(columns):
            a = table[leave, j] if rises else -table[leave, j]
            v = place[rows + j]
            below = held[j] == ends[v, 0]
            if a == 0.0 or ends[v, 0] == ends[v, 1] or (a > 0.0) != below:
                continue
            if abs(a) < TINY:
                # Too small to turn on, yet over a long way it might do.
                reach += abs(a) * (ends[v, 1] - ends[v, 0])
                continue
            here = abs(reduced[j] / a)
            if here < ratio or (here == ratio and abs(a) > pivot):
                enter, ratio, pivot = j, here, abs(a)
        if enter < 0:
            state = EMPTY if reach < worst else UNSURE
            break
        turn = 1.0 / table[leave, enter]
        for j in range(columns):
            table[leave, j] = turn if j == enter else -table[leave, j] * turn
        for r in range(rows):
            if r != leave and table[r, enter] != 0.0:
                factor = table[r, enter]
                for j in range(columns):
                    table[r, j] = factor * turn if j == enter else table[r, j] + factor * table[leave, j]
        factor = reduced[enter]
        for j in range(columns):
            reduced[j] = factor * turn if j == enter else reduced[j] + factor * table[leave, j]
        place[leave], place[rows + enter] = place[rows + enter], place[leave]
        held[enter] = target
    if state == EMPTY:
        return EMPTY, np.inf
    value = 0.0
    for j in range(columns):
        v = place[rows + j]
        value += reduced[j] * held[j]
        if v < columns:
            t[v] = held[j] / price[v]
    for r in range(rows):
        v = place[r]
        if v < columns:
            value_r = 0.0
            for j in range(columns):
                value_r += table[r, j] * held[j]
            t[v] = min(max(value_r, 0.0), ends[v, 1]) / price[v]
    return state, value


def program(
    matrix: Any, price: Any, width: Any, low: Any, high: Any, tolerance: Any
) -> tuple[int, float, np.ndarray[Any, np.dtype[np.float64]]]:
    """The same with its own work space: (how it ended, lower bound, solution)."""
    rows, columns = matrix.shape
    t = np.zeros(columns)
    ended, value = dual_simplex(
        rows, columns, np.ascontiguousarray(matrix), price, width, low, high, tolerance, np.empty((rows, columns)),
        np.ones(columns), np.empty((rows + columns, 3)), np.empty(rows + columns, dtype=np.int32), np.empty(columns),
        t,
    )  # fmt: skip
    return ended, value, t
