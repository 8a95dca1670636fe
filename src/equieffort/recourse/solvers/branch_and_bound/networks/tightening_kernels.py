"""What limits a box of changes: budgets, whole numbers, rows of columns that must stay in a range, and rules.

Feasibility-based bound tightening: each row narrows each change to what the others leave it (Savelsbergh,
"Preprocessing and probing techniques for mixed integer programming problems", 1994; Belotti et al., 2010).

A rule between features is a clause: one of its atoms must hold, each a range of a row. A box has branching bounds, the
range that each row must keep in it: at first those of columns that must stay, then also the atoms that were chosen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.tolerances import ALIKE, PRUNING, ROUNDING, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.networks.value_kernels import copy
from equieffort.recourse.solvers.kernels.compiled import inner

ROUNDS = PRUNING * ROUNDING
"""What rounding may add to a whole number, as a share of it."""


class CompiledProblem(NamedTuple):
    """What is the same for everybody."""

    rows: Any
    """(group, row, action): columns and weighted sums that must stay in a range, or that rules speak of."""
    row_counts: Any
    whole: Any
    """(group, action): which changes are whole numbers."""
    members: Any
    """(goal, margin): the margins of each goal, filled up with -1."""
    need: Any
    """What each margin must reach."""
    clause_start: Any
    """Clause q has the atoms clause_start[q] to clause_start[q + 1] - 1."""
    atom_rows: Any
    """(group, atom): the row of each atom, -1 where no action moves it."""


class Roots(NamedTuple):
    """One person's ways to act."""

    group: Any
    goal: Any
    start: Any
    """(root, output): the first layer before any number changes."""
    start_size: Any
    low: Any
    high: Any
    price: Any
    row_low: Any
    """(root, row): the first branching bounds."""
    row_high: Any
    row_tolerance: Any
    """(root, row): what rounding is forgiven."""
    atom_low: Any
    """(root, atom): the range of its row; one without ends where it holds anyway, an empty one where it cannot hold."""
    atom_high: Any


class Room(NamedTuple):
    """Room to work in."""

    rows: Any
    row_low: Any
    row_high: Any
    point: Any
    other: Any
    score: Any
    short: Any
    floor: Any
    """(row): the branching bounds of the box that is looked at."""
    roof: Any
    still: Any
    """(action): no change, where costs begin."""


@inner
def open_root(roots: Any, r: int, low: Any, high: Any, room: Any) -> None:
    """The box and the branching bounds of a way to act."""
    copy(roots.low[r], low)
    copy(roots.high[r], high)
    copy(roots.row_low[r], room.floor)
    copy(roots.row_high[r], room.roof)


@inner
def _at(row: Any, point: Any) -> float:
    total = 0.0
    for j in range(point.shape[0]):
        total += row[j] * point[j]
    return total


@inner
def _span(row: Any, low: Any, high: Any) -> tuple[float, float]:
    """The least and the largest that a row can be in a box."""
    least, most = 0.0, 0.0
    for j in range(low.shape[0]):
        a = row[j]
        if a != 0.0:
            least += a * (low[j] if a > 0.0 else high[j])
            most += a * (high[j] if a > 0.0 else low[j])
    return least, most


@inner
def is_allowed(compiled: Any, roots: Any, r: int, point: Any, room: Any) -> bool:
    """Whether whole numbers are whole, rows keep the branching bounds and clauses hold."""
    group = roots.group[r]
    for j in range(point.shape[0]):
        if compiled.whole[group, j] and point[j] != np.rint(point[j]):
            return False
    for i in range(compiled.row_counts[group]):
        total, tolerance = _at(compiled.rows[group, i], point), roots.row_tolerance[r, i]
        if total < room.floor[i] - tolerance or total > room.roof[i] + tolerance:
            return False
    return broken_clause(compiled, roots, r, point, room) < 0


@inner
def broken_clause(compiled: Any, roots: Any, r: int, point: Any, room: Any) -> int:
    """The first clause that a point does not keep and that no branching bound has settled, or -1."""
    group = roots.group[r]
    for q in range(compiled.clause_start.shape[0] - 1):
        holds = False
        for a in range(compiled.clause_start[q], compiled.clause_start[q + 1]):
            least, most, i = roots.atom_low[r, a], roots.atom_high[r, a], compiled.atom_rows[group, a]
            if least > most:
                continue
            if i < 0 or (room.floor[i] >= least and room.roof[i] <= most):
                holds = True
                break
            total, tolerance = _at(compiled.rows[group, i], point), roots.row_tolerance[r, i]
            if total >= least - tolerance and total <= most + tolerance:
                holds = True
                break
        if not holds:
            return q
    return -1


@inner
def choose_atom(compiled: Any, roots: Any, r: int, atom: int, room: Any) -> bool:
    """Make an atom a branching bound; False if it cannot hold."""
    least, most, i = roots.atom_low[r, atom], roots.atom_high[r, atom], compiled.atom_rows[roots.group[r], atom]
    if least > most or i < 0:
        return least <= most
    room.floor[i], room.roof[i] = max(room.floor[i], least), min(room.roof[i], most)
    # Ends that only rounding keeps apart still meet; the larger is then the lower.
    return room.floor[i] <= room.roof[i] + roots.row_tolerance[r, i]


@inner
def nearest_atom(compiled: Any, roots: Any, prices: Any, r: int, clause: int, point: Any) -> int:
    """The atom of a clause that is cheapest to reach from a point, judged by the best single action; -1 if none is."""
    group, cheapest = roots.group[r], np.inf
    best: Any = np.int64(-1)
    for a in range(compiled.clause_start[clause], compiled.clause_start[clause + 1]):
        i = compiled.atom_rows[group, a]
        if i < 0 or roots.atom_low[r, a] > roots.atom_high[r, a]:
            continue
        total, rate = _at(compiled.rows[group, i], point), 0.0
        miss = max(roots.atom_low[r, a] - total, total - roots.atom_high[r, a])
        for j in range(point.shape[0]):
            price = min(prices.tails[j, 0], prices.tails[j, 1])
            if price > 0.0:
                rate = max(rate, abs(compiled.rows[group, i, j]) / price)
        if rate > 0.0 and miss / rate < cheapest:
            best, cheapest = a, miss / rate
    return best


@inner
def settle_clauses(compiled: Any, roots: Any, r: int, low: Any, high: Any, room: Any) -> bool:
    """Where one atom of a clause is left that can hold in a box, it becomes a branching bound; False if none is."""
    group = roots.group[r]
    for q in range(compiled.clause_start.shape[0] - 1):
        left, holds = 0, False
        last: Any = np.int64(-1)
        for a in range(compiled.clause_start[q], compiled.clause_start[q + 1]):
            least, most, i = roots.atom_low[r, a], roots.atom_high[r, a], compiled.atom_rows[group, a]
            if least > most:
                continue
            if i < 0 or (room.floor[i] >= least and room.roof[i] <= most):
                holds = True
                break
            under, over = _span(compiled.rows[group, i], low, high)
            if under >= least and over <= most:
                holds = True
                break
            tolerance = 1e-11 * (1.0 + abs(under) + abs(over)) + roots.row_tolerance[r, i]
            if max(under, room.floor[i]) <= most + tolerance and min(over, room.roof[i]) >= least - tolerance:
                left += 1
                last = a
        if holds:
            continue
        if left == 0 or (left == 1 and not choose_atom(compiled, roots, r, last, room)):
            return False
    return True


@inner
def fit_rows(compiled: Any, roots: Any, r: int, low: Any, high: Any, room: Any, first: int) -> int:
    """The rows whose branching bounds a box may break, after the margins'; returns how many rows there are then."""
    group = roots.group[r]
    for i in range(compiled.row_counts[group]):
        least, most = _span(compiled.rows[group, i], low, high)
        if least >= room.floor[i] and most <= room.roof[i]:
            continue
        copy(compiled.rows[group, i], room.rows[first])
        room.row_low[first] = min(room.floor[i], room.roof[i])
        room.row_high[first] = max(room.floor[i], room.roof[i])
        first += 1
    return first


@inner
def round_inwards(low: Any, high: Any, whole: Any) -> bool:
    """Ends of whole numbers become whole; False if nothing is left."""
    for j in range(low.shape[0]):
        if whole[j]:
            low[j] = np.ceil(low[j] - (TOLERANCE + ROUNDS * abs(low[j])))
            high[j] = np.floor(high[j] + (TOLERANCE + ROUNDS * abs(high[j])))
        if low[j] > high[j]:
            if low[j] - high[j] > ALIKE * (1.0 + abs(low[j])):
                return False
            low[j] = high[j]
    return True


@inner
def round_point(point: Any, whole: Any, slopes: Any, low: Any, high: Any) -> None:
    """Whole numbers become whole: those that nearly are, the nearest; the others up the slope."""
    for j in range(point.shape[0]):
        if whole[j]:
            near = np.rint(point[j])
            if abs(point[j] - near) > TOLERANCE + ROUNDS * abs(near):
                near = np.ceil(point[j]) if slopes[j] > 0.0 else np.floor(point[j])
            point[j] = min(max(near, low[j]), high[j])


@inner
def tighten_bounds(rows: Any, row_low: Any, row_high: Any, count: int, low: Any, high: Any) -> bool:
    """Drop the ends of a box where a row cannot be met; False if it can be met nowhere."""
    for i in range(count):
        least, most = 0.0, 0.0
        for j in range(low.shape[0]):
            a = rows[i, j]
            least += a * (low[j] if a > 0.0 else high[j])
            most += a * (high[j] if a > 0.0 else low[j])
        tolerance = 1e-11 * (1.0 + abs(least) + abs(most))
        if most < row_low[i] - tolerance or least > row_high[i] + tolerance:
            return False
        for j in range(low.shape[0]):
            a = rows[i, j]
            if a == 0.0 or high[j] == low[j]:
                continue
            near, far = (low[j], high[j]) if a > 0.0 else (high[j], low[j])
            # a * x >= row_low - (most - a * far), and a * x <= row_high - (least - a * near).
            up, down = (
                (row_low[i] - tolerance - (most - a * far)) / a,
                (row_high[i] + tolerance - (least - a * near)) / a,
            )
            if a > 0.0:
                low[j] = min(max(low[j], up), high[j])
                high[j] = max(min(high[j], down), low[j])
            else:
                high[j] = max(min(high[j], up), low[j])
                low[j] = min(max(low[j], down), high[j])
            least, most = 0.0, 0.0
            for g in range(low.shape[0]):
                b = rows[i, g]
                least += b * (low[g] if b > 0.0 else high[g])
                most += b * (high[g] if b > 0.0 else low[g])
    return True
