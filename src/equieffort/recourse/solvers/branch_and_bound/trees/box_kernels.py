"""Boxes of set values and branching bounds on what follows, compiled: bound tightening, ranges, the least cost inside.

Feasibility-based bound tightening by the budget and by what followers must keep (Belotti et al., "Feasibility-based
bounds tightening via fixed points", 2010).

Under an intervention set every track is linear in the changes that are set: x' = xb + effect . (z - fact). A node
of the search holds a box for z and branching bounds, ranges that some followers must keep. Cuts round outwards:
nothing allowed is lost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.tolerances import ALIKE, OUTWARDS, PRUNING, ROUNDING, SUMMED, TOLERANCE
from equieffort.recourse.solvers.kernels.compiled import inner
from equieffort.recourse.solvers.kernels.cost_curves import Curves, cost_at, slope_below, tighten_to_budget
from equieffort.recourse.solvers.kernels.simplex import EMPTY, SOLVED, UNSURE, dual_simplex

GIVE, ROUNDS = PRUNING * TOLERANCE, PRUNING * ROUNDING
"""How far rounding may carry a follower past a branching bound: a tenth of what replay forgives."""


FREE = 1e-12
"""What a whole column may cost and still be left free in a program: less than it proves anyway."""


class Person(NamedTuple):
    """One person under one intervention set and choice of levels; arrays over actions (n) or tracks (t)."""

    fact: Any
    """(n) the factual value of each action."""
    up: Any
    down: Any
    whole: Any
    still: Any
    """(t) the factual value of each track."""
    start: Any
    """(t) its value under the chosen levels when no number is set otherwise."""
    effect: Any
    """(t, n) its change a unit of each action."""
    slots: Any
    """Followers of this intervention set as positions in the list of all followers, the first `followers` of them."""
    followers: int
    tracks: Any
    """The track of each follower."""
    row: int
    """Which of the people it is."""


class Space(NamedTuple):
    """Work space of the small program."""

    matrix: Any
    price: Any
    width: Any
    low: Any
    high: Any
    tolerance: Any
    table: Any
    reduced: Any
    ends: Any
    place: Any
    held: Any
    t: Any
    column_of: Any
    base: Any


@inner
def make_space(actions: int, followers: int) -> Space:
    """Room for two columns an action and a row a follower."""
    n, m = max(2 * actions, 1), max(followers, 1)
    return Space(
        np.empty((m, n)), np.empty(n), np.empty(n), np.empty(m), np.empty(m), np.empty(m), np.empty((m, n)),
        np.empty(n), np.empty((m + n, 3)), np.empty(m + n, dtype=np.int32), np.empty(n), np.empty(n),
        np.empty(n, dtype=np.int32), np.empty(max(actions, 1)),
    )  # fmt: skip


@inner
def cost_of(person: Person, curves: Curves, z: Any) -> float:
    """What setting these values costs."""
    total = 0.0
    for j in range(z.shape[0]):
        change = z[j] - person.fact[j]
        if curves.bends:
            total += cost_at(curves, person.row, j, z[j]) if change != 0.0 else 0.0
        else:
            total += person.up[j] * change if change > 0.0 else -person.down[j] * change
    return total


@inner
def reach(person: Person, low: Any, high: Any, track: int) -> tuple[float, float, float]:
    """The range of a follower over a box, and how far rounding may carry it."""
    least = most = person.start[track]
    size = 0.0
    moved = person.start[track] != person.still[track]
    for j in range(low.shape[0]):
        weight = person.effect[track, j]
        if weight == 0.0:
            continue
        a, b = weight * (low[j] - person.fact[j]), weight * (high[j] - person.fact[j])
        if weight < 0.0:
            a, b = b, a
        if a != 0.0 or b != 0.0:
            moved = True
        least += a
        most += b
        far = max(abs(a), abs(b))
        if far < np.inf:
            size += far
    tolerance = GIVE + ROUNDS * abs(person.still[track]) + SUMMED * size if moved else 0.0
    return least - tolerance, most + tolerance, tolerance


@inner
def tighten_bounds(
    person: Person, curves: Curves, budget: float, low: Any, high: Any, branching_low: Any, branching_high: Any
) -> bool:
    """Tighten a box by its budget and by the branching bounds, in place; False when nothing is left."""
    n = low.shape[0]
    for _ in range(3):
        changed = False
        if budget < np.inf and curves.bends:
            if not tighten_to_budget(curves, person.row, person.fact, budget, low, high):
                return False
        elif budget < np.inf:
            least = 0.0
            for j in range(n):
                if low[j] > person.fact[j]:
                    least += person.up[j] * (low[j] - person.fact[j])
                elif high[j] < person.fact[j]:
                    least += person.down[j] * (person.fact[j] - high[j])
            spare = budget - least + ALIKE * (1.0 + budget)
            if spare < 0.0:
                return False
            for j in range(n):
                rise, fall = spare / person.up[j], spare / person.down[j]
                above = max(low[j], person.fact[j]) + rise
                below = min(high[j], person.fact[j]) - fall
                above += OUTWARDS * (abs(above) + rise)
                below -= OUTWARDS * (abs(below) + fall)
                if above < high[j]:
                    high[j] = above
                if below > low[j]:
                    low[j] = below
        for at in range(person.followers):
            slot = person.slots[at]
            floor, roof = branching_low[slot], branching_high[slot]
            if floor == -np.inf and roof == np.inf:
                continue
            track = person.tracks[slot]
            least, most, tolerance = reach(person, low, high, track)
            if least > roof or most < floor:
                return False
            if least >= floor and most <= roof:
                continue
            for j in range(n):
                weight = person.effect[track, j]
                if weight == 0.0 or low[j] == high[j]:
                    continue
                a, b = weight * (low[j] - person.fact[j]), weight * (high[j] - person.fact[j])
                if weight < 0.0:
                    a, b = b, a
                # What the others allow; without an end of their own there is none here either.
                under = floor - (most - b) - tolerance if b < np.inf and most < np.inf else -np.inf
                over = roof - (least - a) + tolerance if a > -np.inf and least > -np.inf else np.inf
                if b == np.inf and most == np.inf and floor > -np.inf:
                    under = _other_end(person, low, high, track, j, floor, tolerance, True)
                if a == -np.inf and least == -np.inf and roof < np.inf:
                    over = _other_end(person, low, high, track, j, roof, tolerance, False)
                if weight < 0.0:
                    under, over = over, under
                under, over = under / weight, over / weight
                new_low = person.fact[j] + under - OUTWARDS * (abs(person.fact[j]) + abs(under))
                new_high = person.fact[j] + over + OUTWARDS * (abs(person.fact[j]) + abs(over))
                if new_low > low[j]:
                    changed = changed or new_low > low[j] + 0.1 * (high[j] - low[j])
                    low[j] = new_low
                if new_high < high[j]:
                    changed = changed or new_high < high[j] - 0.1 * (high[j] - low[j])
                    high[j] = new_high
                if low[j] > high[j]:
                    return False
                least, most, tolerance = reach(person, low, high, track)
        for j in range(n):
            if person.whole[j]:
                low[j], high[j] = np.ceil(low[j]), np.floor(high[j])
            if low[j] > high[j]:
                return False
        if not changed:
            break
    return True


@inner
def _other_end(
    person: Person, low: Any, high: Any, track: int, skip: int, end: float, tolerance: float, upper: bool
) -> float:
    """How far one unbounded action must (upper) or may carry a follower, given the furthest that the others do."""
    total = person.start[track]
    for j in range(low.shape[0]):
        weight = person.effect[track, j]
        if weight == 0.0 or j == skip:
            continue
        a, b = weight * (low[j] - person.fact[j]), weight * (high[j] - person.fact[j])
        total += max(a, b) if upper else min(a, b)
    return end - total - tolerance if upper else end - total + tolerance


@inner
def cell_of(
    person: Person, low: Any, high: Any, branching_low: Any, branching_high: Any, actions: Any, set_: Any,
    cell_low: Any, cell_high: Any,
) -> None:  # fmt: skip
    """The range of every track over a box under its branching bounds."""
    for k in range(cell_low.shape[0]):
        cell_low[k] = cell_high[k] = person.start[k]
    for j in range(low.shape[0]):
        if set_[j]:
            cell_low[actions[j]], cell_high[actions[j]] = low[j], high[j]
    for at in range(person.followers):
        slot = person.slots[at]
        track = person.tracks[slot]
        least, most, _ = reach(person, low, high, track)
        least, most = max(least, branching_low[slot]), min(most, branching_high[slot])
        cell_low[track], cell_high[track] = min(least, most), max(least, most)


@inner
def cheapest(
    person: Person, curves: Curves, low: Any, high: Any, row_low: Any, row_high: Any, z: Any, space: Space
) -> tuple[int, float]:
    """(how it ended, lower bound): the least cost in a box with followers between row_low and row_high (by slot).

    Where costs bend and rows bind, each action is charged by a line below its cost.
    """
    n = low.shape[0]
    total = 0.0
    for j in range(n):
        z[j] = min(max(person.fact[j], low[j]), high[j])
        change = z[j] - person.fact[j]
        space.base[j] = change
        if curves.bends:
            total += cost_at(curves, person.row, j, z[j]) if change != 0.0 else 0.0
        else:
            total += person.up[j] * change if change > 0.0 else -person.down[j] * change
    rows = np.int64(0)
    for at in range(person.followers):
        slot = person.slots[at]
        if row_low[slot] == -np.inf and row_high[slot] == np.inf:
            continue
        track = person.tracks[slot]
        least, most, tolerance = reach(person, low, high, track)
        if least >= row_low[slot] and most <= row_high[slot]:
            continue
        if least > row_high[slot] or most < row_low[slot]:
            return EMPTY, np.inf
        here = person.start[track]
        for j in range(n):
            if person.effect[track, j] != 0.0:
                here += person.effect[track, j] * space.base[j]
        space.low[rows], space.high[rows] = row_low[slot] - here, row_high[slot] - here
        space.tolerance[rows] = max(tolerance, SUMMED + ROUNDS * abs(here))
        space.column_of[rows] = track
        rows += 1
    fine = True
    for r in range(rows):
        if space.low[r] > 0.0 or space.high[r] < 0.0:
            fine = False
    if fine:
        return SOLVED, total
    columns = np.int64(0)
    for j in range(n):
        rise = high[j] - person.fact[j] if space.base[j] == 0.0 else high[j] - z[j] if space.base[j] > 0.0 else 0.0
        fall = person.fact[j] - low[j] if space.base[j] == 0.0 else z[j] - low[j] if space.base[j] < 0.0 else 0.0
        for side in range(2):
            width = rise if side == 0 else fall
            if width > 0.0:
                sign = 1.0 if side == 0 else -1.0
                for r in range(rows):
                    space.matrix[r, columns] = sign * person.effect[space.column_of[r], j]
                space.price[columns] = person.up[j] if side == 0 else person.down[j]
                space.width[columns] = width
                space.reduced[columns] = 1.0
                if curves.bends:
                    far = high[j] if side == 0 else low[j]
                    slope = slope_below(curves, person.row, j, z[j], far)
                    space.price[columns] = slope
                    if slope == 0.0 or slope * width <= FREE:
                        space.price[columns] = 1.0 / width if width < np.inf else 1.0
                        space.reduced[columns] = 0.0
                columns += 1
    state, value = dual_simplex(
        rows, columns, space.matrix, space.price, space.width, space.low, space.high, space.tolerance, space.table,
        space.reduced, space.ends, space.place, space.held, space.t,
    )  # fmt: skip
    if state == EMPTY:
        return EMPTY, np.inf
    at = 0
    for j in range(n):
        rise = high[j] - person.fact[j] if space.base[j] == 0.0 else high[j] - z[j] if space.base[j] > 0.0 else 0.0
        fall = person.fact[j] - low[j] if space.base[j] == 0.0 else z[j] - low[j] if space.base[j] < 0.0 else 0.0
        change = space.base[j]
        if rise > 0.0:
            change += space.t[at]
            at += 1
        if fall > 0.0:
            change -= space.t[at]
            at += 1
        z[j] = min(max(person.fact[j] + change, low[j]), high[j])
    return (SOLVED if state == SOLVED else UNSURE), total + value


@inner
def change_to(fact: float, z: float, low: float, high: float) -> float:
    """The change that leads from the fact into [low, high] next to z, in floating point; NaN if there is none."""
    change = z - fact
    step = 1
    for _ in range(60):
        value = fact + change
        if value < low:
            for _ in range(step):
                change = np.nextafter(change, np.inf)
        elif value > high:
            for _ in range(step):
                change = np.nextafter(change, -np.inf)
        else:
            return change
        step = min(2 * step, 64)
    return np.nan
