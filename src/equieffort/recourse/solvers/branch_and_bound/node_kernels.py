"""Nodes of the search: a person at a root, the box a root opens with, and its children."""

from __future__ import annotations

import numpy as np

from equieffort.foundations.arrays import Floats
from equieffort.foundations.jit import kernel
from equieffort.foundations.tolerances import ROUNDING, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.arrays import (
    COUNT,
    Box,
    CompiledBatch,
    CompiledProblem,
    Memo,
    Person,
    Space,
    Split,
)
from equieffort.recourse.solvers.branch_and_bound.box_kernels import copy, reach_of


@kernel
def person_at(problem: CompiledProblem, people: CompiledBatch, i: int, root: int, space: Space) -> Person:
    """Person i at a root."""
    p, goal = problem.root_set[root], problem.root_goal[root]
    return Person(
        i, root, p, price_of(problem, people, i, root), problem.counts[p], space.fact, people.low[i], people.high[i],
        people.up[i], people.down[i], problem.set_[p], people.x[i], space.starts[root], problem.effect[p],
        problem.slots[p], problem.fixed[p], problem.limited[p], people.range_low[i], people.range_high[i],
        people.atom_low[i], people.atom_high[i],
        problem.goal_margin[problem.goal_start[goal] : problem.goal_start[goal + 1]],
    )  # fmt: skip


@kernel
def price_of(problem: CompiledProblem, people: CompiledBatch, i: int, root: int) -> float:
    """What the levels of a root cost a person; infinite where one is not allowed."""
    price = 0.0
    for c in range(problem.categories.shape[0]):
        if problem.root_level[root, c] >= 0:
            price += people.level_price[i, c, problem.root_level[root, c]]
    return price


@kernel
def open_root(problem: CompiledProblem, people: CompiledBatch, i: int, root: int, start: Floats, box: Box) -> bool:
    """Fill a root's start, box and branching bounds; False where it is no use for this person."""
    p, x = problem.root_set[root], people.x[i]
    if not _start_at(problem, people, i, root, start):
        return False
    for j in range(box.low.shape[0]):
        k = problem.actions[j]
        is_free = problem.set_[p, j] and not problem.fixed[p, k]
        box.low[j] = people.low[i, j] if is_free else x[k]
        box.high[j] = people.high[i, j] if is_free else x[k]
    for slot in range(box.floor.shape[0]):
        box.floor[slot], box.roof[slot] = -np.inf, np.inf
    for at in range(problem.counts[p]):
        slot = problem.slots[p, at]
        k = problem.tracks[slot]
        if not problem.fixed[p, k] and not problem.limited[p, k]:
            continue
        least, most = (x[k], x[k]) if problem.fixed[p, k] else (people.range_low[i, k], people.range_high[i, k])
        movers, last = 0, -1
        for j in range(box.low.shape[0]):
            if problem.effect[p, k, j] != 0.0:
                movers += 1
                last = j
        if movers == 0:
            tolerance = TOLERANCE + ROUNDING * abs(x[k])
            if start[k] < least - tolerance or start[k] > most + tolerance:
                return False
        elif movers == 1 and problem.fixed[p, k] and start[k] == x[k]:
            # The only action that moves it must stand still, to the last bit.
            box.low[last] = box.high[last] = x[problem.actions[last]]
        else:
            box.floor[slot], box.roof[slot] = least, most
    for j in range(box.low.shape[0]):
        if problem.whole[j]:
            box.low[j], box.high[j] = np.ceil(box.low[j]), np.floor(box.high[j])
        if box.low[j] > box.high[j]:
            return False
    return True


@kernel
def _start_at(problem: CompiledProblem, people: CompiledBatch, i: int, root: int, start: Floats) -> bool:
    """The tracks when levels have changed but no number has; False where a level is the fact's own or not allowed."""
    p, x = problem.root_set[root], people.x[i]
    copy(x, start)
    for c in range(problem.categories.shape[0]):
        level, before = problem.root_level[root, c], int(x[problem.categories[c]])
        if level < 0:
            continue
        if level == before or people.level_price[i, c, level] == np.inf:
            return False
        for k in range(x.shape[0]):
            start[k] += problem.shift[p, c, k, level] - problem.shift[p, c, k, before]
    for c in range(problem.categories.shape[0]):
        if problem.root_level[root, c] >= 0:
            start[problem.categories[c]] = problem.root_level[root, c]
    return True


@kernel
def no_split(children: int, bound: float) -> Split:
    """What becomes of a node that is not split."""
    none = np.int64(-1)
    return Split(np.int64(children), none, none, none, none, 0.0, bound)


@kernel
def split_clause(problem: CompiledProblem, clause: int, bound: float) -> Split:
    """A node that is split by the atoms of a clause."""
    atoms = problem.clause_start[clause + 1] - problem.clause_start[clause]
    return Split(np.int64(atoms), np.int64(clause), np.int64(-1), np.int64(-1), np.int64(-1), 0.0, bound)


@kernel
def split_track(track: int, cut: float, bound: float) -> Split:
    """A node that is split where a track passes a value."""
    return Split(np.int64(2), np.int64(-1), np.int64(-1), np.int64(track), np.int64(-1), cut, bound)


@kernel
def split_action(problem: CompiledProblem, j: int, cut: float, bound: float) -> Split:
    """A node that is split where an action passes a value: a whole number between two of them."""
    if problem.whole[j]:
        return Split(np.int64(2), np.int64(-1), np.int64(j), np.int64(-1), np.int64(-1), np.floor(cut), bound)
    return split_track(problem.actions[j], cut, bound)


@kernel
def split_mark(mark: int, bound: float) -> Split:
    """A node that is split by something only its oracle knows."""
    none = np.int64(-1)
    return Split(np.int64(2), none, none, none, np.int64(mark), 0.0, bound)


@kernel
def make_child(problem: CompiledProblem, person: Person, split: Split, child: int, box: Box, memo: Memo) -> bool:
    """Narrow a node that was loaded to one of its children; False if nothing is left."""
    if split.mark >= 0:
        memo.marks[int(memo.numbers[COUNT])] = 2 * split.mark + child
        memo.numbers[COUNT] += 1.0
        return True
    if split.clause >= 0:
        return choose_atom(problem, person, problem.clause_start[split.clause] + child, box)
    track = split.track if split.whole < 0 else np.int64(problem.actions[split.whole])
    if child == 0:
        return _narrow(problem, person, track, -np.inf, split.cut, box)
    least = split.cut + 1.0 if split.whole >= 0 else np.nextafter(split.cut, np.inf)
    return _narrow(problem, person, track, least, np.inf, box)


@kernel
def choose_atom(problem: CompiledProblem, person: Person, atom: int, box: Box) -> bool:
    """Confine a box to an atom of a clause; False if nothing is left."""
    track = np.int64(problem.atom_track[atom])
    return _narrow(problem, person, track, person.atom_low[atom], person.atom_high[atom], box)


@kernel
def _narrow(problem: CompiledProblem, person: Person, track: int, least: float, most: float, box: Box) -> bool:
    """Confine a track to a range: a set value by its box, a follower by its branching bound; False if none is left."""
    action, slot = problem.action_of[track], problem.slot_of[person.group, track]
    if action >= 0 and person.set_[action]:
        box.low[action], box.high[action] = max(box.low[action], least), min(box.high[action], most)
        return box.low[action] <= box.high[action]
    if slot >= 0:
        box.floor[slot], box.roof[slot] = max(box.floor[slot], least), min(box.roof[slot], most)
        return box.floor[slot] <= box.roof[slot]
    return least <= person.start[track] <= most


@kernel
def settle_clauses(problem: CompiledProblem, person: Person, box: Box) -> bool:
    """Unit propagation: where one atom of a clause is left that can hold in a box, the box is confined to it.

    False where none is left.
    """
    for q in range(problem.clause_start.shape[0] - 1):
        left, last = 0, np.int64(-1)
        for a in range(problem.clause_start[q], problem.clause_start[q + 1]):
            least, most = _range_of(problem, person, problem.atom_track[a], box)
            if person.atom_low[a] <= least and most <= person.atom_high[a]:
                # It holds everywhere: nothing is to be settled.
                left = 2
                break
            if person.atom_low[a] <= most and least <= person.atom_high[a]:
                left, last = left + 1, np.int64(a)
        if left == 0 or (left == 1 and not choose_atom(problem, person, last, box)):
            return False
    return True


@kernel
def _range_of(problem: CompiledProblem, person: Person, track: int, box: Box) -> tuple[float, float]:
    """The range of a track over a box."""
    action, slot = problem.action_of[track], problem.slot_of[person.group, track]
    if action >= 0 and person.set_[action]:
        return box.low[action], box.high[action]
    if slot >= 0:
        least, most, _ = reach_of(person, box, track)
        return max(least, box.floor[slot]), min(most, box.roof[slot])
    return person.start[track], person.start[track]
