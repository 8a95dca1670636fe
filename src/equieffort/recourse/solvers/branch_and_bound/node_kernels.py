"""Nodes of the search: a person at a root, the box a root opens with, its children, and the pool that keeps them.

The pool is an array of rows that grows, with a binary heap over it: the least bound comes first, and ties are broken
by the number of the push, so that the order depends on nothing but the search itself. Freed rows are used again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.jit import kernel, maker
from equieffort.foundations.tolerances import ROUNDING, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.arrays import (
    Box,
    CompiledBatch,
    CompiledProblem,
    Memo,
    Person,
    Space,
    Split,
)
from equieffort.recourse.solvers.branch_and_bound.box_kernels import copy, reach_of

MOST_MARKS = 25_000_000
"""Room for the marks of waiting nodes, in numbers of four bytes; later nodes begin anew."""
SIZE, USED, SPARE, TURN = range(4)


@kernel
def person_at(problem: CompiledProblem, people: CompiledBatch, i: int, root: int, space: Space) -> Person:
    """Person i at a root."""
    p, goal = problem.root_set[root], problem.root_goal[root]
    return Person(
        i, root, problem.root_price[root], problem.counts[p], space.fact, people.low[i], people.high[i],
        people.up[i], people.down[i], problem.set_[p], people.x[i], space.starts[root], problem.effect[p],
        problem.slots[p], problem.fixed[p], problem.limited[p], people.range_low[i], people.range_high[i],
        people.atom_low[i], people.atom_high[i],
        problem.goal_margin[problem.goal_start[goal] : problem.goal_start[goal + 1]],
    )  # fmt: skip


@kernel
def open_root(problem: CompiledProblem, people: CompiledBatch, i: int, root: int, start: Any, box: Box) -> bool:
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
def _start_at(problem: CompiledProblem, people: CompiledBatch, i: int, root: int, start: Any) -> bool:
    """The tracks when levels have changed but no number has; False where a level is the fact's own or not allowed."""
    p, x = problem.root_set[root], people.x[i]
    copy(x, start)
    for c in range(problem.categories.shape[0]):
        level, before = problem.root_level[root, c], int(x[problem.categories[c]])
        if level < 0:
            continue
        if level == before or not people.allowed[i, c, level]:
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
    return Split(np.int64(children), none, none, none, 0.0, bound)


@kernel
def make_child(problem: CompiledProblem, person: Person, split: Split, child: int, box: Box) -> bool:
    """Narrow a node that was loaded to one of its children; False if nothing is left."""
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
    action, slot = problem.action_of[track], problem.slot_of[problem.root_set[person.root], track]
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
    action, slot = problem.action_of[track], problem.slot_of[problem.root_set[person.root], track]
    if action >= 0 and person.set_[action]:
        return box.low[action], box.high[action]
    if slot >= 0:
        least, most, _ = reach_of(person, box, track)
        return max(least, box.floor[slot]), min(most, box.roof[slot])
    return person.start[track], person.start[track]


class Pool(NamedTuple):
    """Nodes and a heap over them."""

    rows: Any
    """(node, ...): root, box, branching bounds, and the numbers of the memo."""
    marks: Any
    """(node, mark): those of the memo; nodes beyond the last row keep none."""
    keys: Any
    """The heap: bounds, the numbers of the pushes, and the nodes."""
    turns: Any
    ids: Any
    free: Any
    """Nodes that can be used again."""
    counts: Any
    """How large the heap is, how many nodes were ever used, how many are free, how many were pushed."""


@maker
def make_pool(width: int, marks: int) -> Pool:
    """Room for a first few nodes."""
    size = 256
    return Pool(
        np.empty((size, width)), np.empty((size, marks), dtype=np.int32), np.empty(size),
        np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64),
        np.zeros(4, dtype=np.int64),
    )  # fmt: skip


@maker
def with_room(pool: Pool) -> Pool:
    """The pool, twice as large if it is full."""
    if pool.counts[USED] < pool.keys.shape[0]:
        return pool
    marks = pool.marks if pool.marks.size >= MOST_MARKS else np.concatenate((pool.marks, pool.marks))
    return Pool(
        np.concatenate((pool.rows, pool.rows)), marks, np.concatenate((pool.keys, pool.keys)),
        np.concatenate((pool.turns, pool.turns)), np.concatenate((pool.ids, pool.ids)),
        np.concatenate((pool.free, pool.free)), pool.counts,
    )  # fmt: skip


@kernel
def store(pool: Pool, node: int, root: int, space: Space, memo: Memo, known: bool) -> None:
    """Keep a node, with what is known of it or without."""
    box, row, at = space.box, pool.rows[node], 1
    row[0] = root
    for part in (box.low, box.high, box.floor, box.roof, memo.numbers):
        for j in range(part.shape[0]):
            row[at + j] = part[j]
        at += part.shape[0]
    if known and node < pool.marks.shape[0]:
        for j in range(int(memo.numbers[0])):
            pool.marks[node, j] = memo.marks[j]
    else:
        row[at - memo.numbers.shape[0]] = -1.0


@kernel
def load(pool: Pool, node: int, space: Space, memo: Memo) -> int:
    """Take a node from the pool; returns its root."""
    box, row, at = space.box, pool.rows[node], 1
    for part in (box.low, box.high, box.floor, box.roof, memo.numbers):
        for j in range(part.shape[0]):
            part[j] = row[at + j]
        at += part.shape[0]
    for j in range(int(memo.numbers[0])):
        memo.marks[j] = pool.marks[node, j]
    return int(row[0])


@kernel
def keep_node(pool: Pool, key: float, root: int, space: Space, memo: Memo, known: bool) -> None:
    """Put the node at hand into the pool and the heap; there must be room."""
    node = _take_place(pool)
    store(pool, node, root, space, memo, known)
    _push(pool, key, node)


@kernel
def _take_place(pool: Pool) -> int:
    """A node to be used. The one freed last still waits for its children to be made, and is not given away."""
    counts, free = pool.counts, pool.free
    if counts[SPARE] > 1:
        counts[SPARE] -= 1
        last = counts[SPARE]
        node = free[last - 1]
        free[last - 1] = free[last]
        return node
    counts[USED] += 1
    return counts[USED] - 1


@kernel
def _before(pool: Pool, a: int, b: int) -> bool:
    return pool.keys[a] < pool.keys[b] or (pool.keys[a] == pool.keys[b] and pool.turns[a] < pool.turns[b])


@kernel
def _swap(pool: Pool, a: int, b: int) -> None:
    keys, turns, ids = pool.keys, pool.turns, pool.ids
    keys[a], keys[b] = keys[b], keys[a]
    turns[a], turns[b] = turns[b], turns[a]
    ids[a], ids[b] = ids[b], ids[a]


@kernel
def _push(pool: Pool, key: float, node: int) -> None:
    """Put a node into the heap; there must be room."""
    at = pool.counts[SIZE]
    pool.keys[at], pool.turns[at], pool.ids[at] = key, pool.counts[TURN], node
    pool.counts[SIZE] += 1
    pool.counts[TURN] += 1
    while at > 0:
        up = (at - 1) >> 1
        if not _before(pool, at, up):
            break
        _swap(pool, at, up)
        at = up


@kernel
def pop(pool: Pool) -> tuple[int, float]:
    """Take the node with the least bound from the heap, and free it: (node, bound)."""
    pool.counts[SIZE] -= 1
    size, at = pool.counts[SIZE], np.int64(0)
    _swap(pool, at, size)
    while True:
        least = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and _before(pool, child, least):
                least = child
        if least == at:
            break
        _swap(pool, at, least)
        at = least
    node = pool.ids[size]
    pool.free[pool.counts[SPARE]] = node
    pool.counts[SPARE] += 1
    return node, pool.keys[size]
