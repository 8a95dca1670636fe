"""What a sum of trees can reach within a budget, compiled: trees are charged for the moves that their leaves ask for.

The largest leaf of each tree, one by one, may ask for more moves than all together may cost. A tree whose largest leaf
lies beyond a split of some action gains by it only if that action is moved past the threshold. What moves gain, by
action and by cost, makes a multiple-choice knapsack, whose linear relaxation bounds the sum (Sinha and Zoltners, "The
multiple-choice knapsack problem", 1979).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.foundations.jit import hot, kernel
from equieffort.foundations.tolerances import ALIKE, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.arrays import COUNT, Cell, Person, Search
from equieffort.recourse.solvers.branch_and_bound.box_kernels import price_at
from equieffort.recourse.solvers.branch_and_bound.trees.ensemble_kernels import BINS, Grove, goes, largest


@kernel
def pays_enough(search: Search, person: Person, limit: float) -> bool:
    """Whether what a limit leaves for moves within the box at hand may give the margins of a goal what they need.

    Beside what `most_of` left in the grove. Costs are rounded down to bins, so nothing that the limit allows is lost.
    """
    forest, box, point, left = search.oracle, search.space.box, search.space.point.cell.low, limit - person.price
    for j in range(box.low.shape[0]):
        z = min(max(person.fact[j], box.low[j]), box.high[j])
        point[search.problem.actions[j]] = z
        left -= price_at(person, search.people.curves, j, z)
    left += ALIKE * (1.0 + limit)
    if not 0.0 < left < np.inf:
        return True
    for g in range(person.members.shape[0]):
        m = person.members[g]
        lack = forest.need[m] - forest.rounding_error[m] - _fill_bins(search, person, g, left)
        if _most_within(search.tools.grove.bins, lack) < lack - TOLERANCE * (1.0 + abs(lack)):
            return False
    return True


@kernel
def _fill_bins(search: Search, person: Person, g: int, left: float) -> float:
    """What moves gain for a margin, by action and cost; returns what there is without them."""
    grove, memo, curves, point = search.tools.grove, search.memo, search.people.curves, search.space.point.cell.low
    bins, total, column = grove.bins, memo.numbers[person.members[g]], 1 + person.members[g]
    for j in range(bins.shape[0]):
        for at in range(BINS + 1):
            bins[j, at] = 0.0
    for at in range(int(memo.numbers[COUNT])):
        most = grove.most[g, at]
        v, rest = _without_move(grove, np.int64(memo.marks[at]), search.space.cell, point, column, most)
        total += rest
        if rest == most:
            continue
        track = grove.link[v, 0]
        j = search.problem.action_of[track]
        if j < 0 or not person.set_[j]:
            # What follows moves with others, for what these cost.
            total += most - rest
            continue
        cost = price_at(person, curves, j, grove.value[v, 0]) - price_at(person, curves, j, point[track])
        if cost <= left:
            bins[j, min(int(BINS * (cost / left)), BINS - 1)] += most - rest
    return total


@hot
def _without_move(grove: Grove, v: Any, cell: Cell, point: Any, m: int, most: float) -> tuple[int, float]:
    """The split beyond which a tree's largest leaf lies, as seen from a point, and the largest leaf on this side."""
    rest = -np.inf
    while grove.link[v, 0] >= 0:
        side = goes(grove, v, cell)
        here, there = v + 1, np.int64(grove.link[v, 1])
        if side > 0 or (side == 0 and point[grove.link[v, 0]] > grove.value[v, 0]):
            here, there = there, here
        if side == 0:
            near = max(rest, largest(grove, here, cell, m))
            if near < most:
                return v, near
            rest = max(rest, largest(grove, there, cell, m))
            if rest >= most:
                break
        v = here
    return v, most


@kernel
def _most_within(bins: Any, enough: float) -> float:
    """The most that moves gain within the budget, fractions of moves included; no more than shows that it is enough."""
    total, left = 0.0, float(BINS)
    for j in range(bins.shape[0]):
        total += bins[j, 0]
    while left > 0.0 and total < enough:
        best, end, slope = -1, 0, 0.0
        for j in range(bins.shape[0]):
            gain, start = 0.0, int(bins[j, BINS])
            for at in range(start + 1, BINS):
                gain += bins[j, at]
                if gain > slope * (at - start):
                    best, end, slope = j, at, gain / (at - start)
        if best < 0:
            break
        spent = min(left, end - bins[best, BINS])
        total += slope * spent
        left -= spent
        bins[best, BINS] = end
    return total
