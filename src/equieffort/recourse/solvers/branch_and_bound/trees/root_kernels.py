"""What the compiled search knows of a problem and of people, and what it does with roots, points, clauses and ranges.

A root is a set of interventions, a level for each actionable category and a goal of the classifier. Tracks are the
encoded columns and, behind them, virtual ones: weighted sums of columns that rules between features speak of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.tolerances import ROUNDING, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.trees.box_kernels import (
    GIVE,
    ROUNDS,
    Person,
    Space,
    change_to,
    cheapest,
    reach,
)
from equieffort.recourse.solvers.kernels.compiled import inner
from equieffort.recourse.solvers.kernels.cost_curves import Curves
from equieffort.recourse.solvers.kernels.simplex import EMPTY


class CompiledProblem(NamedTuple):
    """What is the same for everybody.

    p intervention sets, t tracks, n numeric actions, c categories, r roots, f followers.
    """

    effect: Any
    """(p, t, n)"""
    shift: Any
    """(p, c, t, level)"""
    set_: Any
    """(p, n) which actions are set."""
    fixed: Any
    """(p, t) tracks that must not move."""
    limited: Any
    """(p, t) tracks that must stay in their range although nobody sets them."""
    slots: Any
    """(p, f) the followers of each intervention set, the first `counts` of them."""
    counts: Any
    tracks: Any
    """(f) the track of each follower."""
    actions: Any
    """(n) the track of each numeric action."""
    categories: Any
    """(c) the track of each actionable category."""
    slot_of: Any
    """(p, t) which follower a track is under an intervention set, or -1."""
    action_of: Any
    """(t) which numeric action a track is, or -1."""
    codes: Any
    """(t) which actionable category a track is, or -1."""
    whole: Any
    root_pattern: Any
    root_level: Any
    """(r, c) -1 keeps the level."""
    root_price: Any
    root_goal: Any
    goal_start: Any
    goal_margin: Any
    clause_start: Any
    """A clause holds if one of its atoms does: atoms clause_start[q] to clause_start[q + 1]."""
    atom_track: Any


class TreeBatch(NamedTuple):
    """A row a person."""

    x: Any
    """(person, track)"""
    low: Any
    """(person, action) the values that may be set."""
    high: Any
    up: Any
    down: Any
    range_low: Any
    """(person, track) the range of what follows."""
    range_high: Any
    budget: Any
    """(person) the first budget; infinite for none."""
    atom_low: Any
    """(person, atom) a clause that is not asked of somebody has an atom without ends."""
    atom_high: Any
    allowed: Any
    """(person, category, level) which changes of a category are allowed."""
    curves: Curves


@inner
def open_root(
    compiled: CompiledProblem,
    people: TreeBatch,
    i: int,
    root: int,
    start: Any,
    low: Any,
    high: Any,
    floor: Any,
    roof: Any,
) -> bool:
    """Fill a root's start, box and branching bounds; False where it is no use for this person."""
    interventions = compiled.root_pattern[root]
    x = people.x[i]
    for c in range(compiled.categories.shape[0]):
        level = compiled.root_level[root, c]
        if level >= 0 and (level == x[compiled.categories[c]] or not people.allowed[i, c, level]):
            return False
    for k in range(x.shape[0]):
        start[k] = x[k]
        for c in range(compiled.categories.shape[0]):
            level = compiled.root_level[root, c]
            if level >= 0:
                before = int(x[compiled.categories[c]])
                start[k] += compiled.shift[interventions, c, k, level] - compiled.shift[interventions, c, k, before]
    for c in range(compiled.categories.shape[0]):
        if compiled.root_level[root, c] >= 0:
            start[compiled.categories[c]] = compiled.root_level[root, c]
    for j in range(low.shape[0]):
        k = compiled.actions[j]
        is_free = compiled.set_[interventions, j] and not compiled.fixed[interventions, k]
        low[j] = people.low[i, j] if is_free else x[k]
        high[j] = people.high[i, j] if is_free else x[k]
    for slot in range(floor.shape[0]):
        floor[slot], roof[slot] = -np.inf, np.inf
    for at in range(compiled.counts[interventions]):
        slot = compiled.slots[interventions, at]
        k = compiled.tracks[slot]
        if compiled.fixed[interventions, k]:
            floor[slot] = roof[slot] = x[k]
        elif compiled.limited[interventions, k]:
            floor[slot], roof[slot] = people.range_low[i, k], people.range_high[i, k]
        else:
            continue
        movers, last = 0, -1
        for j in range(low.shape[0]):
            if compiled.effect[interventions, k, j] != 0.0:
                movers += 1
                last = j
        if movers == 0:
            tolerance = TOLERANCE + ROUNDING * abs(x[k])
            if start[k] < floor[slot] - tolerance or start[k] > roof[slot] + tolerance:
                return False
            floor[slot], roof[slot] = -np.inf, np.inf
        elif movers == 1 and compiled.fixed[interventions, k] and start[k] == x[k]:
            # The only action that moves it must stand still, to the last bit.
            low[last] = high[last] = x[compiled.actions[last]]
            floor[slot], roof[slot] = -np.inf, np.inf
    for j in range(low.shape[0]):
        if compiled.whole[j]:
            low[j], high[j] = np.ceil(low[j]), np.floor(high[j])
        if low[j] > high[j]:
            return False
    return True


@inner
def is_allowed(person: Person, fixed: Any, limited: Any, range_low: Any, range_high: Any, low: Any, high: Any) -> bool:
    """Whether the followers of a placed point stay in their declared ranges, rounding forgiven."""
    for at in range(person.followers):
        k = person.tracks[person.slots[at]]
        x = person.still[k]
        tolerance = TOLERANCE + ROUNDING * abs(x)
        middle = 0.5 * (low[k] + high[k])
        if fixed[k]:
            if abs(middle - x) > tolerance:
                return False
        elif limited[k] and (middle < range_low[k] - tolerance or middle > range_high[k] + tolerance):
            return False
    return True


@inner
def broken_clause(clause_start: Any, atom_track: Any, atom_low: Any, atom_high: Any, low: Any, high: Any) -> int:
    """The first clause that a placed point does not keep, rounding of followers forgiven, or -1."""
    for q in range(clause_start.shape[0] - 1):
        holds = False
        for a in range(clause_start[q], clause_start[q + 1]):
            k = atom_track[a]
            if high[k] >= atom_low[a] and low[k] <= atom_high[a]:
                holds = True
                break
        if not holds:
            return q
    return -1


@inner
def candidate(
    person: Person, curves: Curves, firmly: bool, fixed: Any, limited: Any, range_low: Any, range_high: Any,
    atom_track: Any, atom_low: Any, atom_high: Any, low: Any, high: Any, floor: Any, roof: Any, cell_low: Any,
    cell_high: Any, row_low: Any, row_high: Any, point: Any, space: Space,
) -> bool:  # fmt: skip
    """The cheapest point of a node, a little inside the branching bounds that splits have made.

    Declared ends (of ranges and rules) stay where they are, since they are allowed. Firmly: a little inside of all.
    """
    for at in range(person.followers):
        slot = person.slots[at]
        k = person.tracks[slot]
        least, most = floor[slot], roof[slot]
        # The program lets a follower pass its ends by this much, so the step inside must be larger.
        forgiven = 2.0 * (GIVE + ROUNDS * abs(person.still[k]))
        keep_low, keep_high = fixed[k], fixed[k]
        if firmly and not fixed[k]:
            least, most = cell_low[k], cell_high[k]
        elif not fixed[k]:
            keep_low = limited[k] and least == range_low[k]
            keep_high = limited[k] and most == range_high[k]
            for a in range(atom_track.shape[0]):
                if atom_track[a] == k:
                    keep_low = keep_low or least == atom_low[a]
                    keep_high = keep_high or most == atom_high[a]
        if not keep_low and least > -np.inf:
            least += 2.0 * (TOLERANCE + ROUNDING * abs(least)) + forgiven
        if not keep_high and most < np.inf:
            most -= 2.0 * (TOLERANCE + ROUNDING * abs(most)) + forgiven
        if least > most:
            least = most = 0.5 * (least + most)
        row_low[slot], row_high[slot] = least, most
    state, _ = cheapest(person, curves, low, high, row_low, row_high, point, space)
    return state != EMPTY


@inner
def place(
    person: Person, actions: Any, set_: Any, low: Any, high: Any, box_low: Any, box_high: Any, point: Any, change: Any,
    point_low: Any, point_high: Any,
) -> bool:  # fmt: skip
    """Turn a point into changes that floating point reproduces, and into a range for each track.

    Box is what may be set at all: whoever reads the table clips fact + change into it. False if no change leads into
    the node.
    """
    for j in range(low.shape[0]):
        if not set_[j]:
            change[j], point[j] = 0.0, person.fact[j]
            continue
        z = point[j]
        if person.whole[j]:
            z = min(max(np.rint(z), low[j]), high[j])
        step = change_to(person.fact[j], z, low[j], high[j])
        if np.isnan(step):
            return False
        change[j] = step
        point[j] = min(max(person.fact[j] + step, box_low[j]), box_high[j])
    for k in range(point_low.shape[0]):
        point_low[k] = point_high[k] = person.start[k]
    for j in range(low.shape[0]):
        if set_[j]:
            point_low[actions[j]] = point_high[actions[j]] = point[j]
    for at in range(person.followers):
        k = person.tracks[person.slots[at]]
        least, most, _ = reach(person, point, point, k)
        middle = 0.5 * (least + most)
        # An action counts only if followers may differ by what replay forgives without changing the label.
        rounding_error = TOLERANCE + ROUNDING * abs(middle) if most > least else 0.0
        point_low[k], point_high[k] = middle - rounding_error, middle + rounding_error
    return True
