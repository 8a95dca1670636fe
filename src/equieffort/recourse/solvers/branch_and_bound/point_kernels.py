"""Points of a node that are tried: changes that floating point reproduces, and whether rules and ranges allow them."""

from __future__ import annotations

import numpy as np

from equieffort.foundations.jit import kernel
from equieffort.foundations.tolerances import ROUNDING, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.arrays import (
    COST,
    DROPPED,
    Best,
    Cell,
    CompiledProblem,
    Person,
    Space,
)
from equieffort.recourse.solvers.branch_and_bound.box_kernels import copy, reach


@kernel
def change_to(fact: float, z: float, low: float, high: float) -> float:
    """The change that leads from the fact into [low, high] next to z, in floating point; NaN if there is none."""
    change = z - fact
    step = 1
    for _ in range(60):
        value = fact + change
        if low <= value <= high:
            return change
        for _ in range(step):
            change = np.nextafter(change, np.inf if value < low else -np.inf)
        step = min(2 * step, 64)
    return np.nan


@kernel
def place(problem: CompiledProblem, person: Person, space: Space) -> bool:
    """Turn the point's values into changes that floating point reproduces, and into a range for each track.

    What may be set at all is the person's: whoever reads the table clips fact + change into it. False if no change
    leads into the node.
    """
    point, cell, box = space.point, space.point.cell, space.box
    copy(person.start, cell.low)
    copy(person.start, cell.high)
    for j in range(point.z.shape[0]):
        k, fact = problem.actions[j], person.fact[j]
        if not person.set_[j]:
            point.change[j], point.z[j] = 0.0, fact
            continue
        z = min(max(np.rint(point.z[j]), box.low[j]), box.high[j]) if problem.whole[j] else point.z[j]
        point.change[j] = change_to(fact, z, box.low[j], box.high[j])
        if np.isnan(point.change[j]):
            return False
        low, high = (fact, fact) if person.fixed[k] else (person.low[j], person.high[j])
        point.z[j] = min(max(fact + point.change[j], low), high)
        cell.low[k] = cell.high[k] = point.z[j]
    for at in range(person.followers):
        k = problem.tracks[person.slots[at]]
        least, most, forgiven = reach(
            person.effect[k], person.start[k], person.still[k], TOLERANCE, person.fact, point.z, point.z
        )
        middle = 0.5 * (least + most)
        # An action counts only if followers may differ by what replay forgives without changing the label. Beside a
        # large value that may be too little to show in the range itself.
        rounding_error = TOLERANCE + ROUNDING * abs(middle) if forgiven > 0.0 else 0.0
        cell.low[k], cell.high[k] = middle - rounding_error, middle + rounding_error
    return True


@kernel
def is_allowed(problem: CompiledProblem, person: Person, space: Space) -> bool:
    """Whether the followers of a placed point stay in their declared ranges, rounding forgiven."""
    for at in range(person.followers):
        k = problem.tracks[person.slots[at]]
        x = person.still[k]
        tolerance = TOLERANCE + ROUNDING * abs(x)
        middle = 0.5 * (space.point.cell.low[k] + space.point.cell.high[k])
        if person.fixed[k]:
            if abs(middle - x) > tolerance:
                return False
        elif person.limited[k] and not (person.range_low[k] - tolerance <= middle <= person.range_high[k] + tolerance):
            return False
    return True


@kernel
def broken_clause(problem: CompiledProblem, person: Person, cell: Cell) -> int:
    """The first clause that a placed point does not keep, rounding of followers forgiven, or -1."""
    for q in range(problem.clause_start.shape[0] - 1):
        holds = False
        for a in range(problem.clause_start[q], problem.clause_start[q + 1]):
            k = problem.atom_track[a]
            holds = holds or (cell.high[k] >= person.atom_low[a] and cell.low[k] <= person.atom_high[a])
        if not holds:
            return q
    return -1


@kernel
def keeps_clause(problem: CompiledProblem, person: Person, clause: int, cell: Cell) -> bool:
    """Whether an atom holds in the whole cell, so that splitting by the clause leads nowhere."""
    for a in range(problem.clause_start[clause], problem.clause_start[clause + 1]):
        k = problem.atom_track[a]
        if cell.low[k] >= person.atom_low[a] and cell.high[k] <= person.atom_high[a]:
            return True
    return False


@kernel
def near(gap: float, cost: float) -> float:
    """How far below a cost a bound may lie and still prove it: half of what `is_closed` allows, with room for what
    replay adds."""
    return 0.5 * max(gap, TOLERANCE) * cost if cost < np.inf else 0.0


@kernel
def keep(best: Best, person: Person, cost: float, space: Space) -> None:
    """Keep a placed point, an action, if it is the cheapest so far."""
    if cost < best.cost[COST]:
        best.cost[COST], best.root[0] = cost, person.root
        copy(space.point.change, best.change)


@kernel
def drop(best: Best, bound: float) -> None:
    """A node is dropped for its cost: what it might hold costs as much as that."""
    best.cost[DROPPED] = min(best.cost[DROPPED], bound)
