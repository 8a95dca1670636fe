"""A small linear program: least cost of segments under rows, by the bounded dual simplex method.

Lemke, "The dual method of solving the linear programming problem" (1954), with bounds on variables as Wagner (1958).

    minimise  price . t    over 0 <= t <= width    with  low <= matrix t <= high

Prices are not negative, so t = 0 is dual feasible and every iterate gives a lower bound: a program that is given up
still bounds from below. It is meant for a dozen columns and rows, dense, without allocation.

Pivots on rows that are nearly the same spoil the table by rounding, so nothing is believed of it: bounds are the dual
value of its multipliers over the rows as they were given, and nothing is called empty unless a combination of these
rows cannot be met (Neumaier and Shcherbina, "Safe bounds in linear and mixed-integer linear programming", 2004).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equieffort.foundations.arrays import Codes, Floats
from equieffort.foundations.jit import kernel
from equieffort.foundations.records import record
from equieffort.foundations.tolerances import PIVOT, SUMMED

SOLVED, EMPTY, UNSURE = 0, 1, 2
"""How a program ended: solved; proven to have no solution; given up, only its bound holds."""


@record
class Program(NamedTuple):
    """A program with room for m rows and n columns, and room to solve it in.

    Variables below n are segments, the others rows. Columns are measured in units of their price.
    """

    matrix: Floats
    """(m, n)"""
    price: Floats
    """(n) above zero: what columns are measured in."""
    cost: Floats
    """(n) what a unit costs: the price, or 0 for a column that is free."""
    width: Floats
    low: Floats
    """(m)"""
    high: Floats
    tolerance: Floats
    """(m) what a row may be violated by."""
    reduced: Floats
    """(n) the reduced cost of each column."""
    t: Floats
    """(n) the solution."""
    table: Floats
    """(m, n)"""
    ends: Floats
    """(m + n, 4): low, high, what rounding may add, and for rows what they were divided by."""
    place: Codes
    """(m + n): the variable in each row, then in each column."""
    held: Floats
    """(n): the value of each variable that is not in the basis."""
    y: Floats
    """(m): multipliers of the rows."""


def make_program(rows: int, columns: int) -> Program:
    """Room for so many rows and columns."""
    m, n = max(rows, 1), max(columns, 1)
    return Program(
        np.empty((m, n)), np.empty(n), np.empty(n), np.empty(n), np.empty(m), np.empty(m), np.empty(m), np.empty(n),
        np.empty(n), np.empty((m, n)), np.empty((m + n, 4)), np.empty(m + n, dtype=np.int32), np.empty(n),
        np.empty(m),
    )  # fmt: skip


@kernel
def dual_simplex(program: Program, rows: int, columns: int) -> tuple[int, float]:
    """(how it ended, lower bound) of the first rows and columns; the solution is left in `t`."""
    if not _set_up(program, rows, columns):
        return EMPTY, np.inf
    ends, place, held = program.ends, program.place, program.held
    state = UNSURE
    for _ in range(20 + 4 * (rows + columns)):
        leave, rises = _leaving(program, rows, columns)
        if leave < 0:
            state = SOLVED
            break
        enter = _entering(program, rows, columns, leave, rises)
        if enter < 0:
            if _is_empty(program, rows, columns, leave):
                return EMPTY, np.inf
            break
        _pivot(program, rows, columns, leave, enter)
        v = place[leave]
        place[leave], place[rows + enter] = place[rows + enter], v
        held[enter] = ends[v, 0] if rises else ends[v, 1]
    for j in range(columns):
        v = place[rows + j]
        if v < columns:
            program.t[v] = held[j] / program.price[v]
    for r in range(rows):
        v = place[r]
        if v < columns:
            program.t[v] = min(max(_value(program, columns, r), 0.0), ends[v, 1]) / program.price[v]
    return state, _safe_value(program, rows, columns)


@kernel
def _set_up(program: Program, rows: int, columns: int) -> bool:
    """Rows scaled to unit size, in the basis; False where a row without entries cannot hold."""
    table, ends, tolerance = program.table, program.ends, program.tolerance
    for j in range(columns):
        ends[j, 0], ends[j, 1], ends[j, 2] = 0.0, program.width[j] * program.price[j], PIVOT
        program.place[rows + j] = j
        program.held[j] = 0.0
        program.reduced[j] = program.cost[j] / program.price[j]
    for r in range(rows):
        size = 0.0
        for j in range(columns):
            table[r, j] = program.matrix[r, j] / program.price[j]
            size = max(size, abs(table[r, j]))
        if size == 0.0:
            if program.low[r] > tolerance[r] or program.high[r] < -tolerance[r]:
                return False
            size = 1.0
        for j in range(columns):
            table[r, j] /= size
        ends[columns + r, 0] = (program.low[r] - tolerance[r]) / size
        ends[columns + r, 1] = (program.high[r] + tolerance[r]) / size
        ends[columns + r, 2], ends[columns + r, 3] = 0.1 * tolerance[r] / size, size
        program.place[r] = columns + r
    return True


@kernel
def _value(program: Program, columns: int, r: int) -> float:
    """The value of the variable in a row."""
    total = 0.0
    for j in range(columns):
        total += program.table[r, j] * program.held[j]
    return total


@kernel
def _leaving(program: Program, rows: int, columns: int) -> tuple[int, bool]:
    """The row whose variable is farthest outside its ends, or -1; and whether it must rise."""
    ends, leave, worst, rises = program.ends, -1, 0.0, False
    for r in range(rows):
        value, v = _value(program, columns, r), program.place[r]
        lack, over = ends[v, 0] - value, value - ends[v, 1]
        if lack > max(worst, ends[v, 2]):
            leave, worst, rises = r, lack, True
        if over > max(worst, ends[v, 2]):
            leave, worst, rises = r, over, False
    return leave, rises


@kernel
def _entering(program: Program, rows: int, columns: int, leave: int, rises: bool) -> int:
    """The column that takes a row's place at the least cost, or -1."""
    ends, enter, ratio, pivot = program.ends, -1, np.inf, 0.0
    for j in range(columns):
        a = program.table[leave, j] if rises else -program.table[leave, j]
        v = program.place[rows + j]
        if abs(a) < PIVOT or ends[v, 0] == ends[v, 1] or (a > 0.0) != (program.held[j] == ends[v, 0]):
            continue
        here = abs(program.reduced[j] / a)
        if here < ratio or (here == ratio and abs(a) > pivot):
            enter, ratio, pivot = j, here, abs(a)
    return enter


@kernel
def _pivot(program: Program, rows: int, columns: int, leave: int, enter: int) -> None:
    """Exchange a row's variable and a column's."""
    table, reduced = program.table, program.reduced
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


@kernel
def _safe_value(program: Program, rows: int, columns: int) -> float:
    """The dual value of the table's multipliers, over the rows as they were given: a lower bound whatever they are, and
    what they prove of it is left in `y`.

    cost . t = y . (matrix t) + (cost - y matrix) . t, and each part is bounded by its own ends. In a column without end
    parts that cancel but for rounding are none.
    """
    for r in range(rows):
        program.y[r] = 0.0
    for j in range(columns):
        v = program.place[rows + j]
        if v >= columns:
            r, y = v - columns, program.reduced[j] / program.ends[v, 3]
            has_end = program.low[r] > -np.inf if y > 0.0 else program.high[r] < np.inf
            program.y[r] = y if has_end else 0.0
    value, size = 0.0, 0.0
    for r in range(rows):
        y = program.y[r]
        if y != 0.0:
            end = program.low[r] - program.tolerance[r] if y > 0.0 else program.high[r] + program.tolerance[r]
            value += y * end
            size += abs(y * end)
    for j in range(columns):
        total, parts = combined(program, rows, j)
        left, parts = program.cost[j] - total, program.cost[j] + parts
        if program.width[j] == np.inf:
            if left < -SUMMED * parts:
                value = -np.inf
        elif left < SUMMED * parts:
            value += min(left, 0.0) * program.width[j]
            size += parts * program.width[j]
    if value - SUMMED * size > 0.0:
        return value - SUMMED * size
    # Nothing costs less than nothing, which multipliers of zero prove.
    for r in range(rows):
        program.y[r] = 0.0
    return 0.0


@kernel
def combined(program: Program, rows: int, j: int) -> tuple[float, float]:
    """A column of the combination of rows by their multipliers, and the size of what is summed."""
    total, parts = 0.0, 0.0
    for r in range(rows):
        part = program.y[r] * program.matrix[r, j]
        total += part
        parts += abs(part)
    return total, parts


@kernel
def _is_empty(program: Program, rows: int, columns: int, leave: int) -> bool:
    """Whether a combination of rows, by which the table says that one cannot be met, shows it of the rows as given."""
    for r in range(rows):
        program.y[r] = 0.0
    if program.place[leave] >= columns:
        program.y[program.place[leave] - columns] = 1.0 / program.ends[program.place[leave], 3]
    for j in range(columns):
        v = program.place[rows + j]
        if v >= columns and abs(program.table[leave, j]) >= PIVOT:
            program.y[v - columns] = -program.table[leave, j] / program.ends[v, 3]
    # What the combination must be by the rows' ends, and what it can be over the columns' widths.
    low, high, least, most, size = 0.0, 0.0, 0.0, 0.0, 0.0
    for r in range(rows):
        y = program.y[r]
        if y != 0.0:
            a, b = y * (program.low[r] - program.tolerance[r]), y * (program.high[r] + program.tolerance[r])
            low += min(a, b)
            high += max(a, b)
            for end in (a, b):
                size += abs(end) if abs(end) < np.inf else 0.0
    for j in range(columns):
        total, parts = combined(program, rows, j)
        if program.width[j] == np.inf and abs(total) <= SUMMED * parts:
            continue
        least += min(total * program.width[j], 0.0)
        most += max(total * program.width[j], 0.0)
        size += parts * program.width[j] if program.width[j] < np.inf else 0.0
    return low - most > SUMMED * size or least - high > SUMMED * size
