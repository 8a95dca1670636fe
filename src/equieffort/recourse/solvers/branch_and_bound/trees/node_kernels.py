"""Nodes of the search, compiled: how they are kept in the pool, where one is split, and how its children are made."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.recourse.solvers.branch_and_bound.trees.box_kernels import Person
from equieffort.recourse.solvers.branch_and_bound.trees.ensemble_kernels import Grove, choose_split
from equieffort.recourse.solvers.branch_and_bound.trees.root_kernels import CompiledProblem
from equieffort.recourse.solvers.kernels.compiled import inner
from equieffort.recourse.solvers.kernels.cost_curves import Curves, most_underpaid


class Split(NamedTuple):
    """How a node is split: by the atoms of a clause, or a track (for a whole number its action) at a value."""

    children: Any
    clause: Any
    whole: Any
    track: Any
    cut: float


@inner
def no_split() -> Split:
    """What a node has before it is looked at, and one that cannot be split."""
    return Split(np.int64(0), np.int64(-1), np.int64(-1), np.int64(-1), 0.0)


@inner
def store(row: Any, root: int, low: Any, high: Any, floor: Any, roof: Any) -> None:
    """Keep a node in a row of the pool."""
    n, f = low.shape[0], floor.shape[0]
    row[0] = root
    for j in range(n):
        row[1 + j], row[1 + n + j] = low[j], high[j]
    for slot in range(f):
        row[1 + 2 * n + slot], row[1 + 2 * n + f + slot] = floor[slot], roof[slot]


@inner
def load(row: Any, low: Any, high: Any, floor: Any, roof: Any) -> int:
    """Take a node from the pool; returns its root."""
    n, f = low.shape[0], floor.shape[0]
    for j in range(n):
        low[j], high[j] = row[1 + j], row[1 + n + j]
    for slot in range(f):
        floor[slot], roof[slot] = row[1 + 2 * n + slot], row[1 + 2 * n + f + slot]
    return int(row[0])


@inner
def narrow(
    action: int, slot: int, start: float, least: float, most: float, low: Any, high: Any, floor: Any, roof: Any
) -> bool:
    """Confine a track to a range: a set value by its box, a follower by its branching bound. False if nothing is left.

    `action` or `slot` is -1 unless the track is one that is set, or one that follows; `start` is its value if neither.
    """
    if action >= 0:
        low[action], high[action] = max(low[action], least), min(high[action], most)
        return low[action] <= high[action]
    if slot >= 0:
        floor[slot], roof[slot] = max(floor[slot], least), min(roof[slot], most)
        return floor[slot] <= roof[slot]
    return least <= start <= most


@inner
def keeps_clause(first: int, last: int, atom_track: Any, atom_low: Any, atom_high: Any, low: Any, high: Any) -> bool:
    """Whether an atom from first to last - 1 holds in the whole cell, so that splitting by it leads nowhere."""
    for a in range(first, last):
        k = atom_track[a]
        if low[k] >= atom_low[a] and high[k] <= atom_high[a]:
            return True
    return False


@inner
def make_child(
    compiled: CompiledProblem, split: Split, child: int, root: int, starts: Any, atom_low: Any, atom_high: Any,
    low: Any, high: Any, floor: Any, roof: Any,
) -> bool:  # fmt: skip
    """Narrow a node that was loaded to one of its children; False if nothing is left."""
    if split.clause >= 0:
        atom = compiled.clause_start[split.clause] + child
        column, least, largest = np.int64(compiled.atom_track[atom]), atom_low[atom], atom_high[atom]
    else:
        column = split.track if split.whole < 0 else np.int64(compiled.actions[split.whole])
        least = -np.inf
        largest = split.cut
        if child == 1:
            least, largest = split.cut + 1.0 if split.whole >= 0 else np.nextafter(split.cut, np.inf), np.inf
    interventions = compiled.root_pattern[root]
    action = np.int64(compiled.action_of[column])
    if action >= 0 and not compiled.set_[interventions, action]:
        action = np.int64(-1)
    slot = np.int64(compiled.slot_of[interventions, column])
    return narrow(action, slot, starts[root, column], least, largest, low, high, floor, roof)


@inner
def choose(
    compiled: CompiledProblem, person: Person, curves: Curves, set_: Any, clause: int, is_good: bool, worth: float,
    atom_low: Any, atom_high: Any, cell_low: Any, cell_high: Any, low: Any, high: Any, z: Any, point: Any, grove: Grove,
    count: int, tops: Any, gain: Any, shares: Any, votes: Any, weights: Any,
) -> Split:  # fmt: skip
    """Where to split: a clause that the cheapest point breaks, a threshold, a fraction, a bend of the cost.

    A bend comes first where the point is good but dearer than its bound; only what is underpaid by more than `worth`
    counts. Without children the node cannot be split.
    """
    none = np.int64(-1)
    if clause >= 0:
        begin, end = compiled.clause_start[clause], compiled.clause_start[clause + 1]
        if not keeps_clause(begin, end, compiled.atom_track, atom_low, atom_high, cell_low, cell_high):
            return Split(np.int64(end - begin), clause, none, none, 0.0)
    bend: Any = none
    knot = 0.0
    if curves.bends:
        best, knot, most = most_underpaid(curves, person.row, person.fact, low, high, z)
        if most <= worth:
            best, knot, most = most_underpaid(curves, person.row, person.fact, low, high, point)
        if most > worth:
            bend = np.int64(best)
    if count > 0 and not (is_good and bend >= 0):
        track, cut = choose_split(grove, count, tops, gain, shares, votes, weights)
        return Split(np.int64(2), none, none, np.int64(track), cut)
    if not (is_good and bend >= 0):
        for j in range(z.shape[0]):
            if compiled.whole[j] and set_[j] and z[j] != np.floor(z[j]):
                return Split(np.int64(2), none, np.int64(j), none, np.floor(z[j]))
    if bend >= 0 and compiled.whole[bend]:
        return Split(np.int64(2), none, bend, none, np.floor(knot))
    if bend >= 0:
        return Split(np.int64(2), none, none, np.int64(compiled.actions[bend]), knot)
    return no_split()
