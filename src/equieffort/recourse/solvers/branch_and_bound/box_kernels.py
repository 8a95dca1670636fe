"""Boxes of set values: bound tightening, the ranges of what follows, and the least cost inside.

Feasibility-based bound tightening by the budget and by rows, what followers must keep or what an oracle knows (Belotti
et al., "Feasibility-based bounds tightening via fixed points", 2010). Cuts round outwards: nothing allowed is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.foundations.arrays import Floats
from equieffort.foundations.jit import kernel
from equieffort.foundations.tolerances import ALIKE, OUTWARDS, PRUNING, ROUNDING, SUMMED, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.arrays import Box, CompiledProblem, Person, Planes, Space
from equieffort.recourse.solvers.kernels.cost_curves import Curves, cost_at, slope_below, tighten_to_curves
from equieffort.recourse.solvers.kernels.simplex import EMPTY, SOLVED, dual_simplex

SEARCH_TOLERANCE, SEARCH_ROUNDING = PRUNING * TOLERANCE, PRUNING * ROUNDING
"""How far rounding may carry a follower past a branching bound: a tenth of what replay forgives."""
FREE = ALIKE
"""What a whole column may cost and still be left free in a program: less than it proves anyway."""


@kernel
def copy(source: Floats, target: Floats) -> None:
    """Numbers one by one: a loop compiles faster than an assignment of slices."""
    for j in range(source.shape[0]):
        target[j] = source[j]


@kernel
def price_at(person: Person, curves: Curves, j: int, value: float) -> float:
    """What it costs to set action j to a value."""
    change = value - person.fact[j]
    if change == 0.0:
        return 0.0
    if curves.bends:
        return cost_at(curves, person.row, j, value)
    return person.up[j] * change if change > 0.0 else -person.down[j] * change


@kernel
def cost_of(person: Person, curves: Curves, z: Floats) -> float:
    """What setting these values costs, levels included."""
    total = 0.0
    for j in range(z.shape[0]):
        total += price_at(person, curves, j, z[j])
    return total + person.price


@kernel
def reach(
    weights: Floats, start: float, still: float, forgiven: float, fact: Floats, low: Floats, high: Floats
) -> tuple[float, float, float]:
    """The range of start + weights . (z - fact) over a box, and how far rounding may carry it.

    What stands `still`, since neither a level nor an action moves it, is known to the last bit.
    """
    least = most = start
    size, moved = 0.0, start != still
    for j in range(low.shape[0]):
        weight = weights[j]
        if weight == 0.0:
            continue
        a, b = weight * (low[j] - fact[j]), weight * (high[j] - fact[j])
        if weight < 0.0:
            a, b = b, a
        if a != 0.0 or b != 0.0:
            moved = True
        least += a
        most += b
        far = max(abs(a), abs(b))
        if far < np.inf:
            size += far
    tolerance = forgiven + SUMMED * size if moved else 0.0
    return least - tolerance, most + tolerance, tolerance


@kernel
def reach_of(person: Person, box: Box, track: int) -> tuple[float, float, float]:
    """The range of a follower over a box, and how far rounding may carry it."""
    start, still = person.start[track], person.still[track]
    forgiven = SEARCH_TOLERANCE + SEARCH_ROUNDING * max(abs(still), abs(start))
    return reach(person.effect[track], start, still, forgiven, person.fact, box.low, box.high)


@kernel
def tighten_bounds(
    problem: CompiledProblem, person: Person, curves: Curves, budget: float, box: Box, planes: Planes
) -> bool:
    """Tighten a box by its budget, branching bounds and planes, in place; False when nothing is left."""
    low, high = box.low, box.high
    for _ in range(3):
        changed = False
        if budget < np.inf and not _tighten_to_budget(person, curves, budget, low, high):
            return False
        for at in range(person.followers):
            slot = person.slots[at]
            if box.floor[slot] == -np.inf and box.roof[slot] == np.inf:
                continue
            track = problem.tracks[slot]
            start, still = person.start[track], person.still[track]
            forgiven = SEARCH_TOLERANCE + SEARCH_ROUNDING * max(abs(still), abs(start))
            told = _tighten_to_row(
                person.effect[track], start, still, forgiven, box.floor[slot], box.roof[slot], person.fact, low, high
            )
            if told < 0:
                return False
            changed = changed or told > 0
        for k in range(planes.count[0]):
            told = _tighten_to_row(planes.rows[k], 0.0, 0.0, 0.0, planes.low[k], np.inf, person.fact, low, high)
            if told < 0:
                return False
            changed = changed or told > 0
        for j in range(low.shape[0]):
            if problem.whole[j]:
                low[j], high[j] = np.ceil(low[j]), np.floor(high[j])
            if low[j] > high[j]:
                return False
        if not changed:
            break
    return True


@kernel
def _tighten_to_budget(person: Person, curves: Curves, budget: float, low: Floats, high: Floats) -> bool:
    """Tighten a box to what a budget pays for, in place; False if it pays for nothing there."""
    if curves.bends:
        return tighten_to_curves(curves, person.row, person.fact, budget, low, high)
    fact, least = person.fact, 0.0
    for j in range(low.shape[0]):
        if low[j] > fact[j]:
            least += person.up[j] * (low[j] - fact[j])
        elif high[j] < fact[j]:
            least += person.down[j] * (fact[j] - high[j])
    spare = budget - least + ALIKE * (1.0 + budget)
    if spare < 0.0:
        return False
    for j in range(low.shape[0]):
        rise, fall = spare / person.up[j], spare / person.down[j]
        above, below = max(low[j], fact[j]) + rise, min(high[j], fact[j]) - fall
        high[j] = min(high[j], above + OUTWARDS * (abs(above) + rise))
        low[j] = max(low[j], below - OUTWARDS * (abs(below) + fall))
    return True


@kernel
def _tighten_to_row(
    weights: Floats,
    start: float,
    still: float,
    forgiven: float,
    floor: float,
    roof: float,
    fact: Floats,
    low: Floats,
    high: Floats,
) -> int:
    """Tighten a box to floor <= start + weights . (z - fact) <= roof: -1 nothing is left, 1 much is gone, else 0."""
    least, most, tolerance = reach(weights, start, still, forgiven, fact, low, high)
    if least > roof or most < floor:
        return -1
    if least >= floor and most <= roof:
        return 0
    told = 0
    for j in range(low.shape[0]):
        weight = weights[j]
        if weight == 0.0 or low[j] == high[j]:
            continue
        a, b = weight * (low[j] - fact[j]), weight * (high[j] - fact[j])
        if weight < 0.0:
            a, b = b, a
        # What the others allow; without an end of their own there is none here either.
        under = floor - (most - b) - tolerance if b < np.inf and most < np.inf else -np.inf
        over = roof - (least - a) + tolerance if a > -np.inf and least > -np.inf else np.inf
        if b == np.inf and most == np.inf and floor > -np.inf:
            under = floor - _others(weights, start, j, fact, low, high, 1.0) - tolerance
        if a == -np.inf and least == -np.inf and roof < np.inf:
            over = roof - _others(weights, start, j, fact, low, high, -1.0) + tolerance
        if weight < 0.0:
            under, over = over, under
        under, over = under / weight, over / weight
        new_low = fact[j] + under - OUTWARDS * (abs(fact[j]) + abs(under))
        new_high = fact[j] + over + OUTWARDS * (abs(fact[j]) + abs(over))
        much = 0.1 * (high[j] - low[j])
        if new_low > low[j] + much or new_high < high[j] - much:
            told = 1
        if new_low > low[j] or new_high < high[j]:
            low[j], high[j] = max(low[j], new_low), min(high[j], new_high)
            if low[j] > high[j]:
                return -1
            least, most, tolerance = reach(weights, start, still, forgiven, fact, low, high)
    return told


@kernel
def _others(weights: Any, start: float, skip: int, fact: Any, low: Any, high: Any, side: float) -> float:
    """How far the actions but one carry a row at most (side 1) or at least (-1)."""
    total = start
    for j in range(low.shape[0]):
        if weights[j] != 0.0 and j != skip:
            a, b = weights[j] * (low[j] - fact[j]), weights[j] * (high[j] - fact[j])
            total += max(a, b) if side > 0.0 else min(a, b)
    return total


@kernel
def cell_of(problem: CompiledProblem, person: Person, space: Space) -> None:
    """The range of every track over the box at hand under its branching bounds."""
    box, cell_low, cell_high = space.box, space.cell.low, space.cell.high
    copy(person.start, cell_low)
    copy(person.start, cell_high)
    for j in range(box.low.shape[0]):
        if person.set_[j]:
            cell_low[problem.actions[j]], cell_high[problem.actions[j]] = box.low[j], box.high[j]
    for at in range(person.followers):
        slot = person.slots[at]
        track = problem.tracks[slot]
        least, most, _ = reach_of(person, box, track)
        least, most = max(least, box.floor[slot]), min(most, box.roof[slot])
        cell_low[track], cell_high[track] = min(least, most), max(least, most)


@kernel
def cheapest(
    problem: CompiledProblem, person: Person, curves: Curves, box: Box, z: Floats, space: Space
) -> tuple[int, float]:
    """(how it ended, lower bound): the least cost in a box under its branching bounds and planes, levels not counted.

    Where costs bend and rows bind, each action is charged by a line below its cost.
    """
    total = 0.0
    for j in range(z.shape[0]):
        z[j] = min(max(person.fact[j], box.low[j]), box.high[j])
        space.base[j] = z[j] - person.fact[j]
        total += price_at(person, curves, j, z[j])
    rows = _rows(problem, person, box, space)
    space.sizes[0] = rows
    if rows <= 0:
        return (SOLVED, total) if rows == 0 else (EMPTY, np.inf)
    columns = _columns(person, curves, box, z, rows, space)
    space.sizes[1] = columns
    state, value = dual_simplex(space.program, rows, columns)
    if state == EMPTY:
        return EMPTY, np.inf
    for at in range(columns):
        space.base[space.action[at]] += space.sign[at] * space.program.t[at]
    for j in range(z.shape[0]):
        z[j] = min(max(person.fact[j] + space.base[j], box.low[j]), box.high[j])
    return state, total + value


@kernel
def _rows(problem: CompiledProblem, person: Person, box: Box, space: Space) -> int:
    """The rows that a box may break: how many; 0 if its end nearest to the fact keeps all, -1 if one cannot be kept.

    Their weights are left in the program's table, to be turned into columns.
    """
    program, planes, n, rows, kept = space.program, space.planes, box.low.shape[0], 0, True
    for at in range(person.followers + planes.count[0]):
        if at < person.followers:
            slot = person.slots[at]
            floor, roof, track = box.floor[slot], box.roof[slot], problem.tracks[slot]
            if floor == -np.inf and roof == np.inf:
                continue
            weights, here = person.effect[track], person.start[track]
            least, most, tolerance = reach_of(person, box, track)
        else:
            weights, here = planes.rows[at - person.followers], 0.0
            floor, roof = planes.low[at - person.followers], np.inf
            least, most, tolerance = reach(weights, 0.0, 0.0, 0.0, person.fact, box.low, box.high)
        if least >= floor and most <= roof:
            continue
        if least > roof or most < floor:
            return -1
        for j in range(n):
            program.table[rows, j] = weights[j]
            if weights[j] != 0.0:
                here += weights[j] * space.base[j]
        program.low[rows], program.high[rows] = floor - here, roof - here
        if at < person.followers:
            program.tolerance[rows] = max(tolerance, SUMMED + SEARCH_ROUNDING * abs(here))
        else:
            program.tolerance[rows] = tolerance + SUMMED * abs(floor)
        kept = kept and floor <= here <= roof
        rows += 1
    return 0 if kept else rows


@kernel
def _columns(person: Person, curves: Curves, box: Box, z: Floats, rows: int, space: Space) -> int:
    """A column for each way that an action can go on from the end nearest to the fact; returns how many."""
    program, columns = space.program, 0
    for j in range(z.shape[0]):
        for side in range(2):
            far = box.high[j] if side == 0 else box.low[j]
            sign = 1.0 if side == 0 else -1.0
            width = sign * (far - z[j])
            if not width > 0.0:
                continue
            for r in range(rows):
                program.matrix[r, columns] = sign * program.table[r, j]
            price = person.up[j] if side == 0 else person.down[j]
            if curves.bends:
                price = slope_below(curves, person.row, j, z[j], far)
            program.price[columns] = program.cost[columns] = price
            if curves.bends and (price == 0.0 or price * width <= FREE):
                program.price[columns], program.cost[columns] = 1.0 / width if width < np.inf else 1.0, 0.0
            program.width[columns] = width
            space.action[columns], space.sign[columns] = j, sign
            columns += 1
    return columns
